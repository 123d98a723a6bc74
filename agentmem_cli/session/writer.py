"""Writing to logs: conditional appends, saved conversations, forks.

Source: DESIGN.md, "Writing".
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentmem_cli import errors
from agentmem_cli.session.change import ChangeRecord, Reset, State
from agentmem_cli.session.clock import fresh_lineage, now_ms
from agentmem_cli.session.codec import same
from agentmem_cli.session.conversation import BEGUN
from agentmem_cli.session.fold import LogFold
from agentmem_cli.session.heads import read_head
from agentmem_cli.session.reader import HeldFiles, fold_log
from agentmem_cli.session.record import Header, LogRecord, encode_header, encode_record
from agentmem_cli.session.session import TornTail
from agentmem_cli.session.source import LogSource
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.session.storing import stored_records
from agentmem_cli.storage.layout import recovered_name
from agentmem_cli.storage.logfile import BytesLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.session import SavedAgent, Session
    from agentmem_cli.storage.store import AsyncStore, Batch, Store


@contextmanager
def changing(log: str) -> Iterator[None]:
    """Turn a store's `errors.LogChanged` into `errors.Changed` of *log*."""
    try:
        yield
    except errors.LogChanged as error:
        raise errors.Changed(error.log or log) from error


@contextmanager
def changes_of(store: Store, log: str) -> Iterator[Batch]:
    """Make changes of *store* together, as `batch_of` does; see `changing`."""
    from agentmem_cli.storage.store import batch_of

    with changing(log), batch_of(store) as batch:
        yield batch


@dataclass(slots=True)
class LogEnd:
    """How a log ends, so that records can be appended to it."""

    log: str
    size: int = 0
    """Its bytes, a torn tail too; 0: there is no log yet."""
    keep: int = 0
    """Its bytes up to the last whole record's end."""
    seq: int = -1
    """The last record's ``seq``; -1: there is none."""
    n: int = -1
    """The last record's ``n``."""
    lineage: int = BEGUN
    changes: int = 0
    """How many records are changes of the conversation."""
    saved: dict[str, JSON] = field(default_factory=dict)
    parent: str | None = None

    @classmethod
    def of(cls, fold: LogFold | None, log: str, size: int) -> LogEnd:
        """Return the end of a log that was folded strictly."""
        if fold is None or fold.records == 0:
            keep = 0 if fold is None else fold.end
            return cls(log, size, keep)
        header = fold.header
        assert header is not None
        return cls(
            log,
            size,
            fold.end,
            fold.last_seq,
            fold.last_n,
            header.lineage,
            fold.conversation.changes,
            dict(fold.saved),
            header.parent,
        )


class Encoder:
    """Encodes records for the end of a log, a header first where there is none."""

    def __init__(self, end: LogEnd, first_n: int, parent: str | None = None) -> None:
        """Go on after *end*, numbering from *first_n*."""
        self.end = end
        self.n = first_n
        self.parent = parent
        self.lines: list[bytes] = []
        self.lineage = end.lineage
        self._seq = end.seq + 1

    def add(self, record: LogRecord, t: int) -> None:
        """Encode one record, written at *t* ms."""
        if self._seq == 0:
            self.lineage = fresh_lineage()
            header = Header(self.end.log, self.lineage, self.parent)
            self._put(lambda stamp: encode_header(stamp, header), t)
        self._put(lambda stamp: encode_record(stamp, record), t)

    def _put(self, encode: Callable[[Stamp], bytes], t: int) -> None:
        self.lines.append(encode(Stamp(self.n, self._seq, t)))
        self._seq += 1
        self.n += 1


def write_lines(batch: Batch, end: LogEnd, lines: Sequence[bytes], read: bytes) -> TornTail | None:
    """Put *lines* at the end of a log, a torn tail set aside first.

    Args:
        batch: What the change is part of.
        end: How the log ends.
        lines: Whole records.
        read: The torn tail's bytes; empty without one.

    Returns:
        What was set aside; None: nothing.
    """
    data = b"".join(lines)
    if end.size == end.keep:
        batch.append_log(end.log, end.size, data)
        return None
    import hashlib

    name = recovered_name(end.log, hashlib.sha256(read).hexdigest())
    batch.write_file(name, read)
    batch.cut_log(end.log, end.size, end.keep)
    if data:
        batch.append_log(end.log, end.keep, data)
    return TornTail(end.log, end.keep, end.size - end.keep, name)


def last_n(store: Store) -> int:
    """Return the greatest ``n`` of all logs' last records; -1 without any."""
    stamps = (read_head(store, log).last for log in store.logs())
    return max((stamp.n for stamp in stamps if stamp is not None), default=-1)


def fold_end(store: Store, log: str) -> tuple[LogFold | None, LogEnd, bytes]:
    """Fold a log strictly for an edit.

    Returns:
        The fold (None: there is no log), how it ends, and its torn tail's bytes.

    Raises:
        errors.SessionError: It does not read.
    """
    try:
        fold = fold_log(store, log)
    except FileNotFoundError:
        return None, LogEnd(log), b""
    opened = fold.source.log
    torn = fold.torn
    tail = b"" if torn is None else opened.read_at(torn.offset, opened.size - torn.offset)
    return fold, LogEnd.of(fold, log, opened.size), tail


@dataclass(frozen=True, slots=True)
class Appended:
    """What an append to a log came to."""

    log: str
    first_n: int
    """The ``n`` of the first record written (the header's, where one was)."""
    last_n: int
    records: int
    """Records written, a header among them; 0: nothing was to be written."""
    fold: LogFold | None
    """The log as it was before; None: there was none."""
    torn: TornTail | None
    size: int
    """The log's bytes now."""


def append_records(
    store: Store,
    log: str,
    make: Callable[[LogFold | None], Sequence[LogRecord]],
    *,
    parent: str | None = None,
    at: int | None = None,
) -> Appended:
    """Append what *make* makes of a log as it stands, under the session's lock.

    The other logs are asked for their last stamps only.

    Args:
        store: Where the log is.
        log: Its name; it is started where there is none.
        make: Gets the log's strict fold (None: there is no log) and returns
            the records; nothing is written when there are none.
        parent: The agent that spawned this one, for a header.
        at: When the records are written, in ms; None: now.

    Raises:
        errors.SessionError: The log does not read, or was changed.
        errors.Busy: The lock was not free in time.
        OSError: Nothing was written.
    """
    t = now_ms() if at is None else at
    with changes_of(store, log) as batch:
        fold, end, tail = fold_end(store, log)
        records = stored_records(make(fold), batch)
        if len(records) > 1 and hasattr(batch, "whole"):
            batch.whole = True  # a torn write would leave some of them
        first = max(last_n(store), end.n) + 1
        encoder = Encoder(end, first, parent)
        for record in records:
            encoder.add(record, record.at if isinstance(record, ChangeRecord) else t)
        torn = write_lines(batch, end, encoder.lines, tail) if encoder.lines else None
    size = end.keep + sum(map(len, encoder.lines)) if encoder.lines else end.size
    return Appended(log, first, encoder.n - 1, len(encoder.lines), fold, torn, size)


def save(store: Store, log: str, conversation: Conversation) -> None:
    """Append a conversation's unsaved changes to its log.

    An empty log takes any conversation: its changes where it was begun from
    nothing, else all of it as one reset. ``n`` goes on from this log's last.

    Raises:
        errors.Changed: The log holds changes that this value does not continue.
        errors.SessionError: The log does not read.
        OSError: Nothing was written, and the changes are still unsaved.
    """
    with changes_of(store, log) as batch:
        _, end, tail = fold_end(store, log)
        records = stored_records(to_save(end, conversation), batch)
        if not records:
            return
        encoder = Encoder(end, end.n + 1)
        _encode(encoder, records)
        write_lines(batch, end, encoder.lines, tail)
    _saved(conversation, encoder.lineage, end.changes + len(records))


async def save_async(store: AsyncStore, log: str, conversation: Conversation) -> None:
    """Save to an asynchronous store, as `save` does: new blobs, then one conditional append.

    A torn tail is set aside as a file first; the log is then replaced whole.

    Raises:
        errors.Changed: The log holds changes that this value does not continue.
        errors.SessionError: The log does not read.
    """
    try:
        data = await store.read_log_async(log)
    except FileNotFoundError:
        data = b""
    blobs: dict[str, bytes] = {}
    held = HeldFiles(blobs)
    fold = LogFold(log, LogSource(BytesLog(data), held), strict=True).run() if data else None
    end = LogEnd.of(fold, log, len(data))
    records = stored_records(to_save(end, conversation), held)
    if not records:
        return
    encoder = Encoder(end, end.n + 1)
    _encode(encoder, records)
    for name, blob in blobs.items():
        await store.write_file_async(name, blob)
    added = b"".join(encoder.lines)
    with changing(log):
        if end.size == end.keep:
            await store.append_log_async(log, end.size, added)
        else:
            import hashlib

            torn = data[end.keep :]
            name = recovered_name(log, hashlib.sha256(torn).hexdigest())
            await store.write_file_async(name, torn)
            await store.replace_log_async(log, end.size, data[: end.keep] + added)
    _saved(conversation, encoder.lineage, end.changes + len(records))


def to_save(end: LogEnd, conversation: Conversation) -> list[LogRecord]:
    """Return the records that bring a log up to *conversation*.

    Raises:
        errors.Changed: The log holds changes that it does not continue.
    """
    if end.changes:
        if not conversation.continues(end.lineage, end.changes):
            raise errors.Changed(end.log)
        return list(conversation.unsaved)
    if conversation.lineage == BEGUN or conversation.continues(end.lineage, 0):
        return list(conversation.unsaved)
    state = conversation.state()
    if state == State():
        return []
    return [ChangeRecord(Reset(state), None, now_ms())]


def _encode(encoder: Encoder, records: Sequence[LogRecord]) -> None:
    for record in records:
        encoder.add(record, record.at if isinstance(record, ChangeRecord) else now_ms())


def _saved(conversation: Conversation, lineage: int, changes: int) -> None:
    conversation.take_unsaved()
    conversation.lineage = lineage
    conversation.changes = changes


def save_session(store: Store, session: Session) -> None:
    """Append every agent's unsaved changes and changed values together; see `Session.save`."""
    from agentmem_cli.session.keys import SESSION
    from agentmem_cli.session.record import Saved

    done: list[tuple[Conversation, int, int]] = []
    with changes_of(store, SESSION) as batch:
        next_n = last_n(store) + 1
        agents = sorted(session.agents, key=_depth_of(session), reverse=True)
        parts: list[tuple[str, str | None, dict[str, JSON], Conversation | None]] = [
            (agent.id, agent.parent, dict(agent.saved), agent.conversation) for agent in agents
        ]
        parts.append((SESSION, None, dict(session.saved), None))
        for log, parent, saved, conversation in parts:
            _, end, tail = fold_end(store, log)
            records: list[LogRecord] = []
            for key in {**end.saved, **saved}:
                if not same(end.saved.get(key), saved.get(key)):
                    records.append(Saved(key, saved.get(key)))  # noqa: PERF401
            changes = [] if conversation is None else to_save(end, conversation)
            records = stored_records([*records, *changes], batch)
            if not records:
                continue
            encoder = Encoder(end, next_n, parent)
            _encode(encoder, records)
            next_n = encoder.n
            write_lines(batch, end, encoder.lines, tail)
            if conversation is not None:
                done.append((conversation, encoder.lineage, end.changes + len(changes)))
    for conversation, lineage, count in done:
        _saved(conversation, lineage, count)


def _depth_of(session: Session) -> Callable[[SavedAgent], int]:
    """Return what counts an agent's spawners: a spawned log is written before its parent's."""
    parents = {agent.id: agent.parent for agent in session.agents}

    def depth(agent: SavedAgent) -> int:
        seen: set[str] = set()
        at: str | None = agent.id
        while at is not None and at not in seen:
            seen.add(at)
            at = parents.get(at)
        return len(seen)

    return depth
