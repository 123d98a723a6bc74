"""A session as it grows: what comes to its logs, record by record.

Nothing is locked. A log is folded once, and then on from where that ended,
each time it has changed. A last line that is not whole yet waits for its end.
Where a log is no longer what was folded (a rewrite, another file in its
place) it is folded anew, which is said.
"""

from __future__ import annotations

from heapq import merge
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import NotFoundError
from agentmem_cli.operations.damage import causes
from agentmem_cli.operations.transcript import Call, Note, Turn, transcript, window
from agentmem_cli.session.fold import LogFold
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.lines import TORN
from agentmem_cli.session.message import parts_of
from agentmem_cli.session.source import LogSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.lines import Damage, Line
    from agentmem_cli.session.source import OpenLog
    from agentmem_cli.storage.directory import DirStore, Stat

CHANGED: Final = "changed"
"""Messages were replaced, taken out or put back."""
REWRITTEN: Final = "rewritten"
"""The log has another past now; where its messages are others, they come from the start."""
STARTED: Final = "started"
"""An agent's log begins."""
RETIRED: Final = "retired"
"""The agent is gone for good."""
GONE: Final = "gone"
"""An agent's log is not there any more."""
DAMAGED: Final = "damaged"
"""Something in the log cannot be used."""

_MARK_BYTES: Final = 4 << 10
"""Bytes at both ends of what was folded, by which it is known again."""


class Event(NamedTuple):
    """One thing that came."""

    n: int
    """The ``n`` of the record that brought it."""
    agent: str
    """The log it came to."""
    item: Turn | Note | None = None
    """The message or side record; None: something else happened, which ``kind`` says."""
    kind: str = ""
    """One of this module's constants."""
    why: str | None = None
    gone: tuple[int, ...] = ()
    """Ids of messages that stand no longer."""
    edited: tuple[int, ...] = ()
    """Ids of messages that say something else now."""
    back: tuple[int, ...] = ()
    """Ids of messages that stand again."""


class Tail:
    """One agent's log, followed."""

    def __init__(self, store: DirStore, log: str, *, asides: bool) -> None:
        """Fold the log as it is.

        Args:
            store: The session.
            log: The agent's log.
            asides: Whether side records are wanted.

        Raises:
            FileNotFoundError: There is no such log.
            OSError: It cannot be read.
        """
        self.log = log
        self._store = store
        self._asides = asides
        self._seen = store.log_stat(log)
        self.fold = self._folded(store.open_log(log))
        self._told = len(self._damages())

    def _folded(self, opened: OpenLog) -> LogFold:
        source = LogSource(opened, self._store)
        fold = LogFold(self.log, source, strict=False).run()
        self._marks = self._marks_of(opened, fold.end)
        return fold

    @staticmethod
    def _marks_of(log: OpenLog, end: int) -> tuple[bytes, bytes]:
        begin = max(0, end - _MARK_BYTES)
        return log.read_at(0, min(end, _MARK_BYTES)), log.read_at(begin, end - begin)

    def shown(self, *, from_id: int | None, last: int | None) -> Iterator[Event]:
        """Yield what stands: the messages from *from_id* on, the *last* of them."""
        conversation = self.fold.conversation
        wanted = window(conversation, from_id=from_id, last=last)
        for item in transcript(self._store, conversation, wanted, asides=self._asides):
            yield Event(self.fold.last_n, self.log, self._waiting(item))

    def poll(self) -> Iterator[Event]:
        """Yield what came since the last time.

        Raises:
            FileNotFoundError: The log is gone.
            OSError: It cannot be read.
        """
        seen = self._store.log_stat(self.log)
        if not self._differs(seen):
            return
        opened = self._store.open_log(self.log)
        end = self.fold.end
        if opened.size < end or self._marks_of(opened, end) != self._marks:
            yield from self._anew(opened)
        else:
            yield from self._added(opened)
        yield from self._damaged()
        # Why last: what is not read to its end is looked at again.
        self._seen = seen

    def _differs(self, seen: Stat) -> bool:
        return (seen.size, seen.mtime_ns) != (self._seen.size, self._seen.mtime_ns)

    def _added(self, opened: OpenLog) -> Iterator[Event]:
        fold = self.fold
        conversation = fold.conversation
        before = (len(conversation), conversation.next_message, conversation.changes)
        for line in fold.go_on(opened):
            kind = line.fields.get("type")
            if kind == "retired":
                yield Event(fold.last_n, self.log, kind=RETIRED)
            elif conversation.changes > before[2]:
                yield from self._change(line, kind, before[0], before[1])
            before = (len(conversation), conversation.next_message, conversation.changes)
        self._marks = self._marks_of(opened, fold.end)

    def _change(self, line: Line, kind: object, length: int, next_id: int) -> Iterator[Event]:
        """Yield what one change brought; *length* and *next_id* are those from before it."""
        conversation = self.fold.conversation
        if kind == "push":
            yield from self._turns(range(length, len(conversation)))
        elif kind == "splice":
            fields = line.fields
            put = [_id_of(entry) for entry in _array(fields.get("with"))]
            removed = [id_ for id_ in _array(fields.get("removed")) if type(id_) is int]
            standing, taken = set(put), set(removed)
            old = [id_ for id_ in put if id_ < next_id]
            yield Event(
                self.fold.last_n,
                self.log,
                kind=CHANGED,
                gone=tuple(id_ for id_ in removed if id_ not in standing),
                edited=tuple(id_ for id_ in old if id_ in taken),
                back=tuple(id_ for id_ in old if id_ not in taken),
            )
            start = fields.get("from")
            assert type(start) is int, "it applied"
            for index in range(start, start + len(put)):
                if conversation.entries[index].id >= next_id:
                    yield from self._turns(range(index, index + 1))
        elif kind == "reset":
            why = f"the conversation was replaced; it has {len(conversation)} messages now"
            yield Event(self.fold.last_n, self.log, kind=CHANGED, why=why)
            yield from self._from(next_id)
        elif kind == "aside" and self._asides:
            id_ = line.fields.get("id")
            aside = conversation.asides.get(id_) if type(id_) is int else None
            if aside is not None and type(id_) is int:
                yield Event(self.fold.last_n, self.log, Note(id_, aside))

    def _anew(self, opened: OpenLog) -> Iterator[Event]:
        """Fold the log again, and yield what is other than it was."""
        old = self.fold
        ids = {entry.id: None for entry in old.conversation.entries}
        self.fold = self._folded(opened)
        self._told = 0 if old.conversation.lineage != self._lineage else self._told
        conversation = self.fold.conversation
        n = self.fold.last_n
        if conversation.next_message < old.conversation.next_message:
            why = f"it is another conversation now, of {len(conversation)} messages"
            yield Event(n, self.log, kind=REWRITTEN, why=why)
            yield from self._from(0)
            return
        if self._lineage != old.conversation.lineage:
            why = "its past was replaced, as a redaction does"
            yield Event(n, self.log, kind=REWRITTEN, why=why)
        standing = {entry.id for entry in conversation.entries}
        next_id = old.conversation.next_message
        gone = tuple(id_ for id_ in ids if id_ not in standing)
        back = tuple(
            each.id for each in conversation.entries if each.id < next_id and each.id not in ids
        )
        if gone or back:
            yield Event(n, self.log, kind=CHANGED, gone=gone, back=back)
        yield from self._from(next_id)

    @property
    def _lineage(self) -> int:
        return self.fold.conversation.lineage

    def _from(self, id_: int) -> Iterator[Event]:
        entries = self.fold.conversation.entries
        for index in range(len(entries)):
            if entries[index].id >= id_:
                yield from self._turns(range(index, index + 1))

    def _turns(self, wanted: range) -> Iterator[Event]:
        for item in transcript(self._store, self.fold.conversation, wanted):
            yield Event(self.fold.last_n, self.log, self._waiting(item))

    def _waiting(self, item: Turn | Note) -> Turn | Note:
        """Return a turn whose calls may be answered yet as one that lacks nothing."""
        if isinstance(item, Note) or _is_past(self.fold.conversation.entries, item.place):
            return item
        parts = [
            part._replace(answered=True) if isinstance(part, Call) else part for part in item.parts
        ]
        return item._replace(parts=tuple(parts))

    def _damages(self) -> list[Damage]:
        # Why not a torn end: it is what a record looks like that is being written.
        return causes(damage for damage in self.fold.damages if damage.kind != TORN)

    def _damaged(self) -> Iterator[Event]:
        found = self._damages()
        for damage in found[self._told :]:
            why = f"line {damage.line}, byte {damage.offset}: {damage.why}"
            yield Event(self.fold.last_n, self.log, kind=DAMAGED, why=why)
        self._told = len(found)


class Following:
    """One agent of a session, or all of them, followed.

    Attributes:
        tails: Those that are followed, by their logs.
    """

    def __init__(self, store: DirStore, agent: str | None, *, asides: bool) -> None:
        """Begin with what stands.

        Args:
            store: The session.
            agent: The log of the one that is followed; None: all, those that come too.
            asides: Whether side records are wanted.

        Raises:
            NotFoundError: There is no such log.
            OSError: A log cannot be read.
        """
        self._store = store
        self._agent = agent
        self._asides = asides
        self.tails: dict[str, Tail] = {}
        for log in self._logs():
            try:
                self.tails[log] = Tail(store, log, asides=asides)
            except FileNotFoundError:
                raise self._missing(log) from None

    def _logs(self) -> list[str]:
        if self._agent is not None:
            return [self._agent]
        return [log for log in self._store.logs() if log != SESSION]

    def _missing(self, log: str) -> NotFoundError:
        if not self._store.path.is_dir():
            msg = f"{self._store.path}: the session is gone; it was removed, or has another name"
            return NotFoundError(msg, hint="agentmem list shows what there is.")
        msg = (
            f"{self._store.path.name}: the agent {log!r} is gone; it has another name now, or none"
        )
        return NotFoundError(msg, hint="agentmem list --tree shows the agents.")

    def shown(self, *, from_id: int | None, last: int | None) -> list[Event]:
        """Return what stands, in the order it was made; see `Tail.shown`."""
        if len(self.tails) == 1:
            (tail,) = self.tails.values()
            return [*tail.shown(from_id=from_id, last=last)]
        dated = [
            _dated(tail.shown(from_id=from_id, last=last)) for _, tail in sorted(self.tails.items())
        ]
        found = [event for _, event in merge(*dated, key=lambda pair: pair[0])]
        return found if last is None else found[len(found) - min(last, len(found)) :]

    def poll(self) -> Iterator[Event]:
        """Yield what came since the last time, in the order of its records.

        Raises:
            NotFoundError: The session is gone, or the only agent that is followed.
            OSError: A log cannot be read.
        """
        for log in self._logs():
            if log not in self.tails:
                yield from self._begun(log)
        polled = [self._polled(tail) for tail in [*self.tails.values()]]
        if len(polled) == 1:
            yield from polled[0]
        else:
            yield from merge(*polled, key=lambda event: event.n)
        if not self.tails and not self._store.path.is_dir():
            raise self._missing("")

    def _begun(self, log: str) -> Iterator[Event]:
        try:
            tail = Tail(self._store, log, asides=self._asides)
        except FileNotFoundError:
            return  # it was there a moment ago
        self.tails[log] = tail
        yield Event(tail.fold.header_n, log, kind=STARTED)
        yield from tail.shown(from_id=None, last=None)

    def _polled(self, tail: Tail) -> Iterator[Event]:
        try:
            yield from tail.poll()
        except FileNotFoundError:
            error = self._missing(tail.log)
            if self._agent is not None or not self._store.path.is_dir():
                raise error from None
            del self.tails[tail.log]
            yield Event(tail.fold.last_n, tail.log, kind=GONE)


def _dated(events: Iterator[Event]) -> Iterator[tuple[int, Event]]:
    """Yield *events* with times that never go back, so that each log's order stays."""
    latest = 0
    for event in events:
        made = event.item.made_ms if isinstance(event.item, Turn) else None
        latest = max(latest, made or 0)
        yield latest, event


def _is_past(entries: Sequence[Entry], place: int) -> bool:
    """Whether no result can come any more for the calls of the entry at *place*."""
    for index in range(place + 1, len(entries)):
        value = entries[index].stored.value
        if value.get("role") == "system":
            continue
        if value.get("role") != "user":
            return True
        if any(part.get("type") != "toolresult" for part in parts_of(value)):
            return True
    return False


def _array(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _id_of(entry: object) -> int:
    id_ = entry.get("id") if isinstance(entry, dict) else None
    return id_ if type(id_) is int else -1
