"""Changing an agent's conversation under the session's lock, and the meta after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem_cli.errors import AgentMemError, ConflictError
from agentmem_cli.operations.metas import Refreshed, is_current, refresh
from agentmem_cli.operations.refused import words_of
from agentmem_cli.session.change import ChangeRecord, Push, Reset, Splice
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.record import line_head
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.session.storing import stored_records
from agentmem_cli.session.writer import Encoder, LogEnd, changing, last_n, write_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.meta import SessionMeta
    from agentmem_cli.session.record import LogRecord
    from agentmem_cli.session.session import TornTail
    from agentmem_cli.storage.batch import DirBatch
    from agentmem_cli.storage.directory import DirStore


class Written(NamedTuple):
    """What a change wrote."""

    first_n: int | None = None
    """The ``n`` of the first record; None: nothing was written."""
    last_n: int | None = None
    records: int = 0
    torn: tuple[TornTail, ...] = ()
    """Torn tails that were set aside first."""
    meta: Refreshed = Refreshed()
    """What became of the meta."""
    meta_error: str | None = None
    """Why the meta could not be written; the change is there all the same."""


def change(
    store: DirStore,
    log: str,
    plan: Callable[[], Sequence[tuple[LogFold, Sequence[LogRecord]]]],
    *,
    at_ms: int,
) -> Written:
    """Append what *plan* says to logs, all of it or nothing, under the session's lock.

    Args:
        store: The session.
        log: The agent's log; its conversation is what the meta counts.
        plan: Reads logs strictly and returns each with its records. It is
            called once, with the lock held; nothing is written where all are empty.
        at_ms: When, ms since 1970-01-01 UTC.

    Raises:
        SessionError: A log does not read, or was changed. Nothing was written.
        ConflictError: An agent is retired. Nothing was written.
        Busy: The lock was not free in time.
        OSError: Nothing was written.
    """
    torn: list[TornTail] = []
    with store.lock():
        current = is_current(store)
        with changing(log), store.batch() as batch:
            parts = [(fold, records) for fold, records in plan() if records]
            if not parts:
                return Written()
            # Why: a torn write would leave some of the records without the others.
            batch.whole = True
            first = next_n = last_n(store) + 1
            for fold, records in parts:
                refuse_retired(fold)
                next_n = _append(store, batch, fold, records, next_n, at_ms, torn)
        counts = {fold.log: len(fold.conversation) for fold, _ in parts}
        current = current and not torn
        meta, error = _refresh_meta(
            store, log, counts.get(log), current=current, torn=torn, at_ms=at_ms
        )
    return Written(first, next_n - 1, next_n - first, tuple(torn), meta, error)


def refuse_retired(fold: LogFold) -> None:
    """Refuse to change an agent that is gone for good.

    Raises:
        ConflictError: It is.
    """
    if fold.retired:
        msg = f"agent {fold.log!r} is retired"
        raise ConflictError(msg, hint="Its conversation can be shown, not changed.")


def _append(  # noqa: PLR0913, PLR0917 - one log's part of a change
    store: DirStore,
    batch: DirBatch,
    fold: LogFold,
    records: Sequence[LogRecord],
    first_n: int,
    at_ms: int,
    torn: list[TornTail],
) -> int:
    """Append *records* to one log; return the next free ``n``."""
    opened = fold.source.log
    end = LogEnd.of(fold, fold.log, opened.size)
    encoder = Encoder(end, first_n)
    tail = fold.torn
    if end.size != end.keep:
        assert tail is not None
        cut = write_lines(batch, end, [], opened.read_at(tail.offset, end.size - tail.offset))
        assert cut is not None
        torn.append(cut)
    # Why: a time of its own tells the values of one change from those of the next.
    at_ms += fold.last_t == at_ms
    made: list[tuple[LogRecord, int]] = []
    for record in records:
        # Why one by one: what an undo puts back may be most of a large log.
        stored = [record] if _is_stored(record, store) else stored_records([record], batch)
        made += [(each, each.at if isinstance(each, ChangeRecord) else at_ms) for each in stored]
    heads = _heads(made, first_n, end.seq)
    batch.append_lines(fold.log, end.keep, _lines(encoder, made), heads)
    return first_n + len(heads)


def _lines(encoder: Encoder, made: Sequence[tuple[LogRecord, int]]) -> Iterator[bytes]:
    """Yield the lines of records with their times, each made when it is asked for."""
    for record, t in made:
        encoder.add(record, t)
        yield from encoder.lines
        encoder.lines.clear()


def _heads(made: Sequence[tuple[LogRecord, int]], first_n: int, seq: int) -> list[bytes]:
    """Return how each of the lines begins that follow the record with *seq*."""
    told = [(getattr(record, "by", None), t) for record, t in made]
    if seq < 0:
        told.insert(0, (None, told[0][1]))  # the header
    return [
        line_head(Stamp(first_n + index, seq + 1 + index, t), by)
        for index, (by, t) in enumerate(told)
    ]


def _is_stored(record: LogRecord, store: DirStore) -> bool:
    """Whether all that *record* holds lies in this session already, its images too."""
    if not isinstance(record, ChangeRecord):
        return True
    change = record.change
    if isinstance(change, Reset):
        return False
    if not isinstance(change, Push | Splice):
        return True
    entries = change.entries if isinstance(change, Push) else change.with_
    return all(entry.blob_files is store for entry in entries)


def _refresh_meta(
    store: DirStore,
    log: str,
    count: int | None,
    *,
    current: bool,
    torn: list[TornTail],
    at_ms: int,
) -> tuple[Refreshed, str | None]:
    """Bring the meta up to date; a cache that cannot be written is no failure of the change."""
    from agentmem_cli.session.heads import main_log

    def update(meta: SessionMeta) -> SessionMeta:
        changes: dict[str, Any] = {"updated": max(meta.updated or 0, at_ms)}
        if current and count is not None and main_log(store) == log:
            changes["messages"] = count
        return meta._replace(**changes)

    alone = [each for each in store.logs() if each != SESSION] == [log]
    try:
        damaged = 0 if alone else None
        done = refresh(store, update, current=current, damaged=damaged, torn=(at_ms, torn))
    except (OSError, AgentMemError) as error:
        # Why: the logs are the truth; a listing goes by them until the next change.
        return Refreshed(), words_of(error)
    return done, None


def compared(
    before: Sequence[Entry], after: Sequence[Entry]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the ids of the messages that are gone, that are new, and whose content is another."""
    old = {entry.id: entry for entry in before}
    new = {entry.id: entry for entry in after}
    return (
        tuple(id_ for id_ in old if id_ not in new),
        tuple(id_ for id_ in new if id_ not in old),
        tuple(id_ for id_, entry in new.items() if id_ in old and not alike(old[id_], entry)),
    )


def alike(one: Entry, other: Entry) -> bool:
    """Whether two entries with one id, of the same log, hold the same and were made then."""
    if one is other or one.located() == other.located() is not None:
        return True
    if one.made != other.made:
        return False
    # Why bytes first: what is put back is copied byte for byte.
    return one.stored.raw == other.stored.raw or one == other
