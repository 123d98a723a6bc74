"""Putting a summary where messages stood, and taking it back.

Source: DESIGN.md, "Compaction".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli import errors
from agentmem_cli.session.clock import now_ms
from agentmem_cli.session.counting import DEFAULT_COUNTER
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.message import Message
from agentmem_cli.session.refusals import (
    Load,
    Nothing,
    NotInLog,
    NotSmaller,
    SummaryGone,
    SummaryStale,
)
from agentmem_cli.session.summaries import (
    Compacted,
    SummaryState,
    newest_request,
    standing,
    summary_author,
    summary_parts,
    summary_state,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.author import Author
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.storage.store import Store


def apply_summary(
    conversation: Conversation,
    keep_from: int | None,
    state: SummaryState,
    *,
    read: Sequence[Entry] | None = None,
    at: int | None = None,
) -> Compacted | None:
    """Put the summary of *state* where everything before *keep_from* stands.

    It is one splice, earlier summaries included, and a side record that says
    what was replaced. The newest request of the user follows the summary word
    for word where it is among what goes.

    Args:
        conversation: What is compacted.
        keep_from: The id of the first message that stays; None: none stays.
        state: The summary, and the sets that are kept track of.
        read: What the summary was made of; None: that is not looked at.
        at: When, ms since 1970-01-01 UTC; None: now.

    Returns:
        What was done; None, and nothing changed, where *keep_from* is gone or
        there is no summary, or nothing stands before it.

    Raises:
        SummaryStale: What goes is not what was *read*.
        NotSmaller: The summary is estimated to take as much.
    """
    entries = conversation.entries
    cut = len(entries) if keep_from is None else conversation.index_of(keep_from)
    if not cut:
        return None
    if read is not None:
        check_read(read, entries[:cut])
    entry = summary_entry(conversation, cut, state, at)
    if entry is None:
        return None
    before = DEFAULT_COUNTER.count_values(each.stored.value for each in entries[:cut])
    return put_summary(conversation, cut, state, entry, before)


def summary_entry(
    conversation: Conversation,
    cut: int,
    state: SummaryState,
    at: int | None = None,
    may: Sequence[bool] | None = None,
) -> Entry | None:
    """Return the entry of a summary of what stands before the index *cut*; None: no summary.

    Args:
        conversation: What is compacted.
        cut: Where the kept part begins.
        state: The summary.
        at: When, ms since 1970-01-01 UTC; None: now.
        may: Which entries may be a request, where that is known.
    """
    if not state.summary.strip():
        return None
    parts = summary_parts(state, newest_request(conversation.entries, cut, may))
    assert parts is not None
    made = now_ms() if at is None else at
    return Entry(conversation.next_message, Message.user(parts), summary_author(), made)


def put_summary(
    conversation: Conversation, cut: int, state: SummaryState, entry: Entry, before: int
) -> Compacted:
    """Put the summary's *entry* where the first *cut* entries stand, which take *before* tokens.

    Raises:
        NotSmaller: The entry takes as much.
    """
    after = DEFAULT_COUNTER(entry.message)
    if after >= before:
        raise NotSmaller(before, after)
    by, at = summary_author(), entry.made
    gone = conversation.restore(0, cut, [entry], by=by, at=at)
    compacted = Compacted(entry.id, tuple(each.id for each in gone), state)
    conversation.put_aside(compacted.to_aside(), by=by, at=at)
    return compacted


def check_read(read: Sequence[Entry], found: Sequence[Entry]) -> None:
    """See that what is *found* is what was *read*.

    Raises:
        SummaryStale: It is not.
    """
    if len(read) != len(found):
        msg = f"there were {len(read)} messages, and there are {len(found)}"
        raise SummaryStale(msg)
    for old, new in zip(read, found, strict=True):
        if old.id != new.id:
            msg = f"message {new.id} stands where message {old.id} stood"
            raise SummaryStale(msg)
        if old is not new and old != new:
            msg = f"message {old.id} has another content"
            raise SummaryStale(msg)


class Uncompacted(NamedTuple):
    """A compaction that was undone."""

    restored: tuple[int, ...]
    """The ids of the entries that were put back."""
    state: SummaryState
    """What the next compaction builds on now."""


def undo_summary(
    conversation: Conversation,
    store: Store,
    log: str,
    by: Author | None = None,
    *,
    at: int | None = None,
) -> Uncompacted:
    """Undo the newest compaction of *conversation* that is not undone yet.

    The entries that it replaced are read from the saved log, as they were just
    before it, and put back in the summary's place with their ids and made
    times; its side record goes. What came later stays.

    Args:
        conversation: The conversation, a live value of the log's.
        store: Where the log is.
        log: Its name.
        by: Who makes the change.
        at: When, ms since 1970-01-01 UTC; None: now.

    Raises:
        Nothing: No compaction is left.
        SummaryGone: The newest one's summary is not there any more.
        NotInLog: The log does not hold what it replaced.
        Load: The log could not be read.
    """
    from agentmem_cli.session.journal import read_journal
    from agentmem_cli.session.takeback import restore_in_parts

    compactions = standing(conversation)
    if not compactions:
        raise Nothing
    aside, newest = compactions[-1]
    place = conversation.index_of(newest.summary)
    if place is None:
        raise SummaryGone(newest.summary)
    try:
        journal = read_journal(store, log)
    except FileNotFoundError:
        raise NotInLog(log, newest.summary) from None
    except errors.SessionError as error:
        raise Load(error) from error
    removed = journal.replaced_by(newest.summary)
    if removed is None:
        raise NotInLog(log, newest.summary)
    restore_in_parts(conversation, place, place + 1, removed, by=by, at=at)
    conversation.remove_aside(aside, by=by, at=at)
    return Uncompacted(tuple(entry.id for entry in removed), summary_state(conversation))
