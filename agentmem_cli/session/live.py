"""A writer that an agent's host keeps open: it logs changes as they happen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli import errors
from agentmem_cli.session.change import ChangeRecord
from agentmem_cli.session.clock import fresh_lineage, now_ms
from agentmem_cli.session.codec import dumps, loads, same
from agentmem_cli.session.fold import Cut, LogFold
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.lines import scan
from agentmem_cli.session.pairing import Waiting
from agentmem_cli.session.reader import fold_log, open_log, read_session
from agentmem_cli.session.record import (
    CHANGES,
    LogRecord,
    Retired,
    Saved,
    decode_header,
    encode_header,
)
from agentmem_cli.session.session import Session, TornTail, standing_agents
from agentmem_cli.session.source import LogSource
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.session.storing import stored_records
from agentmem_cli.session.writer import (
    Encoder,
    LogEnd,
    changes_of,
    fold_end,
    last_n,
    to_save,
    write_lines,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.lines import Line
    from agentmem_cli.storage.store import Store


class Writer:
    """Logs a session's changes as they happen.

    Each call that writes has written when it returns. Nothing is logged
    before `start`, and nothing after a write failed: `failure` tells why, and
    `flush` raises it. A writer without a store logs nothing at all.

    Source: DESIGN.md, "Writing".
    """

    def __init__(self, store: Store | None = None) -> None:
        """Write to *store*; None: log nothing. Use `open` to read the session with it."""
        self._store = store
        self._ends: dict[str, LogEnd] = {}
        self._parents: dict[str, str] = {}
        self._started = False
        self._written = False
        self._failure: errors.AgentMemError | OSError | None = None

    @classmethod
    def open(cls, store: Store) -> tuple[Writer, Session]:
        """Read *store* strictly, set torn tails aside, and return a writer for it.

        Returns:
            The writer, not started, and the session without retired agents
            and those they spawned.

        Raises:
            errors.SessionError: A log does not read. Nothing was written.
            errors.Busy: The lock was not free in time.
        """
        writer = cls(store)
        repairs: list[TornTail] = []
        # Why: once without the lock, so that damage is found before anything is written.
        session = read_session(store)
        with changes_of(store, SESSION) as batch:
            for log in store.logs():
                _, end, tail = fold_end(store, log)
                if end.size != end.keep:
                    torn = write_lines(batch, end, [], tail)
                    assert torn is not None
                    repairs.append(torn)
                    end.size = end.keep
                writer._ends[log] = end
        aside = {torn.log: torn for torn in repairs}
        session.repairs = [
            aside.get(repair.log, repair) if isinstance(repair, TornTail) else repair
            for repair in session.repairs
        ]
        standing = standing_agents(
            [(agent.id, agent.parent, agent.retired) for agent in session.agents]
        )
        session.agents = [agent for agent in session.agents if agent.id in standing]
        return writer, session

    def start(self) -> None:
        """Begin logging."""
        self._started = True

    def is_live(self) -> bool:
        """Whether what is saved now is logged."""
        return self._store is not None and self._started and self._failure is None

    def failure(self) -> errors.AgentMemError | OSError | None:
        """Return why logging ended; None: it has not."""
        return self._failure

    def has_written(self) -> bool:
        """Whether anything was logged."""
        return self._written

    def open_log(self, log: str, parent: str | None = None) -> None:
        """Say that the agent *log* was spawned by *parent*; its header will.

        The log itself is started by the first change or saved value.
        """
        if parent is not None:
            self._parents[log] = parent

    def save(self, log: str, conversation: Conversation) -> None:
        """Log a conversation's unsaved changes, which are then saved.

        A log without changes takes any conversation, as it does in
        `agentmem_cli.session.writer.save`.
        """
        if not self.is_live():
            return
        try:
            records = to_save(self._ends.get(log) or LogEnd(log), conversation)
        except errors.Changed as error:
            self._failure = error
            return
        if records and self._write(log, records):
            conversation.take_unsaved()
            conversation.lineage = self._ends[log].lineage
            conversation.changes = self._ends[log].changes

    def set_value(self, log: str, key: str, value: JSON) -> None:
        """Log a saved value; the same one again is not written."""
        end = self._ends.get(log)
        before = None if end is None else end.saved.get(key)
        if self.is_live() and not same(before, value) and self._write(log, [Saved(key, value)]):
            # Why: a copy, since a caller may go on changing what it handed in.
            self._ends[log].saved[key] = loads(dumps(value))

    def retire(self, log: str) -> None:
        """Log that the agent is gone for good; nothing where it has no log."""
        if self.is_live() and log in self._ends:
            self._write(log, [Retired()])

    def fork_log(self, source: str, target: str, through: int | None = None) -> bool:
        """Start the log *target* as a copy of *source*, stamps kept.

        It reaches through the last record after which the conversation is at
        rest (owes no reply, no open call) and holds nothing after the message
        *through* (an entry's id; None: anything). Its header has its own name
        and a fresh lineage.

        Returns:
            Whether there was a place at rest to fork from.

        Raises:
            errors.SessionError: The source does not read; logging goes on.
            errors.ConflictError: The target is there already; logging goes on.
            FileNotFoundError: There is no such source; logging goes on.
        """
        if not self.is_live():
            return False
        assert self._store is not None
        return self._fork(self._store, source, target, through)

    def flush(self) -> None:
        """Return when everything is on the disk, which it is; raise what ended logging.

        Raises:
            errors.AgentMemError: A write failed.
            OSError: A write failed.
        """
        if self._failure is not None:
            raise self._failure

    def _write(self, log: str, records: Sequence[LogRecord]) -> bool:
        assert self._store is not None
        end = self._ends.get(log) or LogEnd(log)
        try:
            with changes_of(self._store, log) as batch:
                first = max(last_n(self._store), end.n) + 1
                encoder = Encoder(end, first, self._parents.get(log))
                for record in stored_records(records, batch):
                    at = record.at if isinstance(record, ChangeRecord) else now_ms()
                    encoder.add(record, at)
                batch.append_log(log, end.size, b"".join(encoder.lines))
        except (errors.AgentMemError, OSError) as error:
            self._failure = error
            return False
        size = end.size + sum(map(len, encoder.lines))
        changes = sum(isinstance(record, ChangeRecord) for record in records)
        self._ends[log] = LogEnd(
            log,
            size,
            size,
            end.seq + len(encoder.lines),
            encoder.n - 1,
            encoder.lineage,
            end.changes + changes,
            end.saved,
            self._parents.get(log, end.parent),
        )
        self._written = True
        return True

    def _fork(self, store: Store, source: str, target: str, through: int | None) -> bool:
        ready = False
        try:
            with changes_of(store, target) as batch:
                if target in store.logs():
                    msg = f"log {target!r} is there already"
                    raise errors.ConflictError(msg)
                # Why: under the lock, so that the source is not replaced between the two.
                place = rest_place(store, source, through)
                if place is None:
                    return False
                data = forked_bytes(store, source, target, place.end)
                batch.append_log(target, 0, data)
                ready = True
        except (errors.AgentMemError, OSError) as error:
            if ready:
                self._failure = error
            raise
        fold = fold_log(store, target)
        self._ends[target] = LogEnd.of(fold, target, fold.source.log.size)
        self._written = True
        return True


class RestPlace(NamedTuple):
    """A place of a log where its conversation is at rest."""

    n: int
    """The ``n`` of the last record before it."""
    end: int
    """Bytes of the log up to it."""


def rest_place(
    store: Store, log: str, through: int | None = None, before: int | None = None
) -> RestPlace | None:
    """Find the last place of a log where its conversation is at rest.

    Args:
        store: Where the log is.
        log: Its name.
        through: The id of the last message it may hold; None: any.
        before: Only records with a smaller ``n`` count; None: all.

    Returns:
        None where there is no such place.

    Raises:
        errors.SessionError: The log does not read.
        FileNotFoundError: There is no such log.
    """
    finder = _RestFinder(through)
    fold_log(store, log, cut=None if before is None else Cut(n=before), on_record=finder.look)
    return finder.place


class _RestFinder:
    """Follows a fold and remembers the last place at rest."""

    def __init__(self, through: int | None) -> None:
        self.place: RestPlace | None = None
        self._through = through
        self._waiting = Waiting()
        self._fed = 0
        self._last: str | None = None
        self._past = False
        self._at: int | None = None

    def look(self, line: Line, fold: LogFold) -> None:
        kind = line.fields.get("type")
        entries = fold.conversation.entries
        if kind in CHANGES:
            self._follow(kind == "push", fold)
        if self._past or self._waiting.open or self._last not in (None, "assistant"):
            return
        if entries or kind != "header":
            n = line.fields["n"]
            assert isinstance(n, int)
            self.place = RestPlace(n, line.offset + line.length + 1)

    def _follow(self, pushed: bool, fold: LogFold) -> None:  # noqa: FBT001 - private
        entries = fold.conversation.entries
        if not pushed:
            self._waiting = Waiting()
            self._fed = 0
            self._last = None
        added = entries[self._fed :]
        for entry in added:
            value = entry.stored.value
            self._waiting.feed(value)
            role = value.get("role")
            if role != "system":
                self._last = role if isinstance(role, str) else ""
        self._fed = len(entries)
        if self._through is not None:
            self._past = self._holds_more(self._through, added, fold, pushed=pushed)

    def _holds_more(
        self, through: int, added: Sequence[Entry], fold: LogFold, *, pushed: bool
    ) -> bool:
        """Whether anything stands after the message *through* (where it is out: a newer one)."""
        if not pushed:
            self._at = fold.conversation.index_of(through)
        elif self._at is None:
            before = len(fold.conversation) - len(added)
            places = (before + at for at, entry in enumerate(added) if entry.id == through)
            self._at = next(places, None)
        if self._at is not None:
            return self._at < len(fold.conversation) - 1
        return (pushed and self._past) or any(entry.id > through for entry in added)


def forked_bytes(store: Store, source: str, target: str, end: int) -> bytes:
    """Return a log's records up to byte *end* as the log *target*: a new header, the rest as it is.

    Raises:
        errors.SessionError: The header does not read.
    """
    opened = open_log(store, source)

    def refuse(damage: object) -> None:
        raise errors.Record(source, 1, str(damage))

    first = next(iter(scan(opened, refuse)), None)
    assert first is not None
    header = decode_header(LogSource(opened, store).exact(first.offset, first.length))
    n, t = first.fields["n"], first.fields["t"]
    assert isinstance(n, int)
    assert isinstance(t, int)
    made = replace(header, log=target, lineage=fresh_lineage())
    begin = first.offset + first.length + 1
    return encode_header(Stamp(n, 0, t), made) + opened.read_at(begin, end - begin)
