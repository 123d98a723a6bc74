"""The shorter way of a whole fold comes to the same as the one that looks at each record."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli import errors
from agentmem_cli.session.fold import LogFold
from agentmem_cli.session.reader import HeldFiles
from agentmem_cli.session.source import LogSource
from agentmem_cli.storage.logfile import BytesLog
from tests.strategies import Editor, damaged, histories, log_of

if TYPE_CHECKING:
    from agentmem_cli.session.lines import Line
    from tests.strategies import Edit


class Told(NamedTuple):
    """All that a fold comes to."""

    fields: tuple[object, ...]
    error: tuple[object, ...] | None


def told(data: bytes, *, strict: bool, short: bool) -> Told:
    fold = LogFold("main", LogSource(BytesLog(data), HeldFiles({})), strict=strict)

    def look(_: Line, __: LogFold) -> None:
        """Have every record looked at."""

    error: tuple[object, ...] | None = None
    try:
        fold.run(on_record=None if short else look)
    except errors.SessionError as found:
        error = (type(found), str(found))
    conversation = fold.conversation
    entries = [
        (entry.id, entry.made, entry.author, entry.located(), entry.stored.raw)
        for entry in conversation.entries
    ]
    fields = (
        fold.header,
        fold.records,
        (fold.last_seq, fold.last_n, fold.last_t),
        fold.saved,
        fold.retired,
        fold.damages,
        fold.end if error is None else None,
        entries,
        list(conversation.asides.items()),
        conversation.halt,
        (conversation.next_message, conversation.next_aside, conversation.changes),
    )
    return Told(fields, error)


@given(histories(8), st.booleans(), st.data())
def test_both_ways_of_folding_come_to_the_same(
    edits: list[Edit], strict: bool, data: st.DataObject
) -> None:
    log = log_of(Editor().run(edits))
    if data.draw(st.booleans()):
        log = data.draw(damaged(log))

    assert told(log, strict=strict, short=True) == told(log, strict=strict, short=False)
