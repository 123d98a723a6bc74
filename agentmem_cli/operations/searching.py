"""Searching logs for a text: raw bytes first, and decoded only what may match.

A log is read in blocks of whole lines. Lines that have the bytes which a needle
asks for (`needles`) are decoded, and what they say is searched: the texts of
messages, the arguments of calls, the results of tools, and JSON inside of these.
Whether a message that was found still stands is asked only then, and only of a
log in which something was ever taken out or replaced.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import Io
from agentmem_cli.operations.candidates import candidates
from agentmem_cli.operations.needles import Probes
from agentmem_cli.operations.pieces import texts_with
from agentmem_cli.session.codec import dumps, loads, loads_fast, same
from agentmem_cli.session.lines import LINE_END, odd_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.operations.needles import Needle
    from agentmem_cli.operations.pieces import Piece
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.storage.store import LogFile, Store


class Limits(NamedTuple):
    """Which messages are searched; None stands for any.

    Attributes:
        roles: Of these roles; `TOOL` is what tools answered, and no user's or model's words.
        tools: Only calls to these tools, and their results.
        since_ms: Made at this time or later, milliseconds since 1970 in UTC.
        until_ms: Made before this time.
        past: Those too that were taken out or replaced.
    """

    roles: frozenset[str] | None = None
    tools: frozenset[str] | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    past: bool = False

    def takes(self, piece: Piece) -> bool:
        """Whether a piece of a message is searched."""
        if self.roles is not None and piece.role not in self.roles:
            return False
        return self.tools is None or piece.tool in self.tools


class Hit(NamedTuple):
    """A text in which the needle stands."""

    log: str
    id: int
    """The message's number."""
    n: int | None
    """The ``n`` of the record that it stands in."""
    made_ms: int | None
    role: str
    part: str
    tool: str | None
    stands: bool
    """Whether the message is part of the conversation now, as it is here."""
    text: str
    """In which the needle stands, somewhere."""


def search_log(
    store: Store,
    log: str,
    needle: Needle,
    limits: Limits,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Hit]:
    """Yield where *needle* stands in a log, in the log's order.

    Damage is passed over: whole records in damaged lines are searched, other
    bytes are not. Of two records that number their messages alike (two writers
    of one log) both are searched, where nothing was ever taken out.

    Args:
        store: The session.
        log: Its log.
        needle: What is looked for.
        limits: Which messages are searched.
        progress: Called with the bytes passed since the last call.

    Raises:
        FileNotFoundError: There is no such log.
        SessionError: The operating system refused.
    """
    try:
        opened = store.open_log(log)
        yield from _Search(store, log, opened, needle, limits).run(progress)
    except FileNotFoundError:
        raise
    except OSError as error:
        msg = f"log {log!r}: {error.strerror or error}"
        raise Io(msg) from error


class _Search:
    """A search of one log under way.

    Whether what was found stands is known at the end of the log, or as soon
    as an edit is seen, when the log is folded. Until then hits are held.
    """

    def __init__(
        self, store: Store, log: str, opened: LogFile, needle: Needle, limits: Limits
    ) -> None:
        self._store = store
        self._log = log
        self._opened = opened
        self._needle = needle
        self._wanted = None if needle.probes is None else (needle.probes,)
        self._limits = limits
        chosen = limits.roles is not None or limits.tools is not None
        self._is_wanted = limits.takes if chosen else None
        self._held: list[_Found] = []
        self._decided = False
        self._fold: LogFold | None = None
        self._places: dict[int, int] = {}

    def run(self, progress: Callable[[int], None] | None) -> Iterator[Hit]:
        for block in candidates(self._opened, self._wanted):
            self._look_at(block.lines)
            if not self._decided and self._held:
                # Why only now: what was taken out before cannot be what was found here.
                lines = block.lines if block.whole else block.lines_with(*_structure())
                if not self._see_edits(lines) and len(self._held) > _HELD_MAX:
                    self._look_ahead(block.offset + block.size)
            if self._decided:
                yield from self._release()
            if progress is not None:
                progress(block.size)
        yield from self._release()

    def _look_at(self, lines: list[tuple[int, bytes]]) -> None:
        for offset, line in lines:
            try:
                fields = loads_fast(line)
            except ValueError:
                fields = None
            if type(fields) is dict:
                self._look(offset, fields)
                continue
            for record in self._records(offset, line):
                self._look(record.offset, record.fields)

    def _records(self, offset: int, line: bytes) -> Iterator[Record]:
        return records_of(line, offset, last=offset + len(line) >= self._opened.size)

    def _release(self) -> Iterator[Hit]:
        held, self._held = self._held, []
        return self._told(held)

    def _see_edits(self, lines: list[tuple[int, bytes]]) -> bool:
        """Fold the log where one of *lines* takes something out; return whether it did."""
        for offset, line in lines:
            for record in self._records(offset, line):
                if record.fields.get("type") in _STRUCTURE:
                    self._read()
                    return True
        return False

    def _look_ahead(self, offset: int) -> None:
        """Look for edits behind *offset*."""
        for block in candidates(self._opened, _structure(), offset):
            if self._see_edits(block.lines):
                return
        self._decided = True

    def _read(self) -> None:
        """Fold the log, which tells what stands."""
        # Why here: most searches fold nothing, and these are a third of their start.
        from agentmem_cli.session.fold import LogFold
        from agentmem_cli.session.source import LogSource

        self._decided = True
        fold = LogFold(self._log, LogSource(self._opened, self._store), strict=False).run()
        self._fold = fold
        located = ((entry.id, entry.located()) for entry in fold.conversation.entries)
        self._places = {id_: place[0] for id_, place in located if place is not None}

    def _look(self, offset: int, fields: Object) -> None:
        """Hold the messages of a record in which the needle stands."""
        limits, needle = self._limits, self._needle
        for entry in entries_of(fields):
            if type(entry) is not dict:
                continue
            message, id_ = entry.get("message"), entry.get("id")
            if type(message) is not dict or type(id_) is not int:
                continue
            made = entry.get("made", fields.get("t"))
            if not _in_time(made, limits):
                continue
            found = texts_with(message, needle, self._is_wanted)
            if found:
                n = fields.get("n")
                when = made if type(made) is int else None
                place = n if type(n) is int else None
                self._held.append(_Found(offset, id_, place, when, message, found))

    def _told(self, found: list[_Found]) -> Iterator[Hit]:
        # Why: a NamedTuple's own constructor is a Python function; this loop can run for all.
        made = tuple.__new__
        log, fold = self._log, self._fold
        for one in found:
            _, id_, n, when, message, texts = one
            stands = fold is None or self._places.get(id_) == one.offset
            if not stands and (not self._limits.past or self._is_again(id_, one.offset, message)):
                continue
            for (role, part, tool, _, _), text in texts:
                yield made(Hit, (log, id_, n, when, role, part, tool, stands, text))

    def _is_again(self, id_: int, offset: int, message: Object) -> bool:
        """Whether the same message stands, as a later record put it there again."""
        assert self._fold is not None
        if self._places.get(id_, -1) <= offset:
            return False
        conversation = self._fold.conversation
        where = conversation.index_of(id_)
        if where is None:
            return False
        return same(conversation.entries[where].stored.value, loads(dumps(message)))


class _Found(NamedTuple):
    """A message in which the needle stands."""

    offset: int
    id: int
    n: int | None
    made_ms: int | None
    message: Object
    texts: list[tuple[Piece, str]]


_STRUCTURE: Final = ("splice", "reset")
"""Types of records that take messages out."""

_HELD_MAX: Final = 200
"""Messages that are held until it is known whether they stand."""


@cache
def _structure() -> tuple[Probes, ...]:
    return tuple(Probes([[one] for one in f'"{word}"'], inside=False) for word in _STRUCTURE)


class Record(NamedTuple):
    """A record, and where it stands in its log, in bytes."""

    offset: int
    length: int
    fields: Object


def records_of(line: bytes, offset: int, *, last: bool) -> Iterator[Record]:
    """Yield the whole records of a line, damaged or not.

    Args:
        line: It, with its end where it has one.
        offset: Where it begins in the log, in bytes.
        last: Whether the log ends with it.
    """
    try:
        fields = loads_fast(line)
    except ValueError:
        found = odd_line(
            line if line[-1] == LINE_END else line + b"\n", 0, offset, _quiet, last=last
        )
        for each in found:
            yield Record(each.offset, each.length, each.fields)
        return
    if type(fields) is dict:
        yield Record(offset, len(line) - (line[-1] == LINE_END), fields)


def _quiet(_: Damage) -> None:
    """Say nothing of damage, which `verify` is for."""


def entries_of(fields: Object) -> list[JSON]:
    """Return the entries that a record puts into the conversation, as JSON."""
    kind = fields.get("type")
    if kind == "push":
        entries = fields.get("entries")
    elif kind == "splice":
        entries = fields.get("with")
    elif kind == "reset":
        state = fields.get("state")
        entries = state.get("entries") if type(state) is dict else None
    else:
        return []
    return entries if type(entries) is list else []


def _in_time(made: JSON, limits: Limits) -> bool:
    if limits.since_ms is None and limits.until_ms is None:
        return True
    if type(made) is not int:
        return False
    return (limits.since_ms is None or made >= limits.since_ms) and (
        limits.until_ms is None or made < limits.until_ms
    )
