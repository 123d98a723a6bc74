"""Items to records: stamps, ids and lines of the logs an import writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.adapter import MAIN
from agentmem_cli.operations.imports.maplines import Placed
from agentmem_cli.operations.imports.naming import safe_name
from agentmem_cli.session.aside import Aside
from agentmem_cli.session.author import Author
from agentmem_cli.session.change import ChangeRecord, SetAside, Splice
from agentmem_cli.session.clock import fresh_lineage
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.message import Message
from agentmem_cli.session.record import Header, Saved, encode_header, encode_record
from agentmem_cli.session.session import TornTail
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.storage.layout import recovered_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.storage.store import Batch, Sink, Store

IMPORTER: Final = Author.plugin("import")
"""Who puts the asides."""


_WAITING_BYTES: Final = 64 << 10
"""Bytes of records that wait for one write, for each log."""


class LogOut:
    """One agent's log, being written."""

    def __init__(self, name: str, parent: str | None, fold: LogFold | None) -> None:
        """Begin the log *name*, or go on after what *fold* has read of it."""
        self.name = name
        self.parent = parent
        self.fold = fold
        self.sink: Sink | None = None
        self.waiting: list[bytes] = []
        self.waiting_bytes = 0
        self.seq = 0 if fold is None else fold.last_seq + 1
        self.next_entry = 0 if fold is None else fold.conversation.next_message
        self.next_aside = 0 if fold is None else fold.conversation.next_aside
        self.entries = 0 if fold is None else len(fold.conversation)
        self.last_entry: int | None = None
        if fold is not None and self.entries:
            self.last_entry = fold.conversation.entries[-1].id
        self.started: int | None = None
        """When it was begun, ms since 1970-01-01 UTC; None: it was there."""
        self.updated: int | None = None if fold is None else fold.last_t
        self.size = 0 if fold is None else fold.end
        """Bytes of the log, what waits included; without a torn tail."""
        self.last_n = -1 if fold is None else fold.last_n
        self.inserted: list[int] = []
        """Where lost entries were put back, as the conversation was counted before."""


class SessionOut:
    """The logs of a session, being written in one batch."""

    def __init__(self, batch: Batch, store: Store, folds: Mapping[str, LogFold]) -> None:
        """Write through *batch* to *store*, whose logs are *folds*."""
        self._batch = batch
        self._store = store
        # Why: a log without a header is begun anew, by whoever has something for it.
        self._bare = {name: fold for name, fold in folds.items() if not fold.records}
        self._logs = {
            name: LogOut(name, _parent(fold), fold) for name, fold in folds.items() if fold.records
        }
        self.set_aside: list[TornTail] = []
        """Torn tails that were moved out of the way."""
        self._names: dict[str, str] = {MAIN: MAIN}
        self._n = 1 + max((fold.last_n for fold in folds.values()), default=-1)

    @property
    def logs(self) -> Mapping[str, LogOut]:
        """The logs by name, those too that nothing was added to."""
        return self._logs

    def log_name(self, agent: str) -> str:
        """Return the log of *agent*; two agents never share one, on no system."""
        name = self._names.get(agent)
        if name is None:
            taken = {other.casefold() for other in self._names.values()} | {SESSION}
            name = safe_name(agent)
            if name.casefold() in taken:
                # Why: the blank makes the name unsafe, so that a digest is added.
                name = safe_name(f"{agent} ")
            self._names[agent] = name
        return name

    def log(self, agent: str, parent: str | None) -> LogOut:
        """Return the log of *agent*, spawned by the agent *parent* where there is one."""
        name = self.log_name(agent)
        out = self._logs.get(name)
        if out is None:
            above = None if parent is None else self.log_name(parent)
            out = self._logs[name] = LogOut(name, above, self._bare.get(name))
        return out

    def push(self, out: LogOut, t: int, body: bytes, author: Author | None) -> Placed:
        """Add an entry.

        Args:
            out: The log.
            t: When it was made, ms since 1970-01-01 UTC.
            body: The message's JSON.
            author: Who wrote it; None: by its role.
        """
        n = self._ready(out, t)
        who = b"" if author is None else b',"author":' + dumps(author.to_value())
        entry = out.next_entry
        # Why by hand: this is what a large import spends its time on.
        self._write(
            out,
            b'{"seq":%d,"n":%d,"t":%d,"type":"push","entries":[{"message":%b%b,"id":%d}]}\n'
            % (out.seq, n, t, body, who, entry),
        )
        out.next_entry += 1
        out.entries += 1
        out.last_entry = entry
        return Placed(out.name, n, entry)

    def put_aside(self, out: LogOut, t: int, kind: str, value: Object) -> Placed:
        """Put an aside after the last entry; *t* as in `push`."""
        aside = Aside(kind, IMPORTER, value, out.last_entry)
        number = out.next_aside
        out.next_aside += 1
        n = self._record(out, t, ChangeRecord(SetAside(number, aside), None, t))
        return Placed(out.name, n, number)

    def set_value(self, out: LogOut, t: int, key: str, value: JSON) -> Placed:
        """Put a saved value; *t* as in `push`."""
        return Placed(out.name, self._record(out, t, Saved(key, value)), 0)

    def edit(self, out: LogOut, t: int, entry: int, body: bytes) -> Placed | None:
        """Replace the message of the entry with the id *entry* by *body*.

        Returns:
            None where the conversation does not hold that entry any more.
        """
        index = None if out.fold is None else out.fold.conversation.index_of(entry)
        if out.fold is None or index is None:
            return None
        old = out.fold.conversation.entries[index]
        new = Entry(entry, Message(body), old.author, t)
        index += sum(place <= index for place in out.inserted)
        splice = Splice(index, index + 1, (entry,), (new,))
        return Placed(out.name, self._record(out, t, ChangeRecord(splice, None, t)), entry)

    def insert(
        self,
        out: LogOut,
        t: int,
        entry: int,
        body: bytes,
        author: Author | None,
        after: int | None,
    ) -> Placed | None:
        """Put a lost entry back behind the entry with the id *after*; None: before the first.

        Returns:
            None where the conversation does not hold that entry any more, or holds the lost one.
        """
        if out.fold is None or out.fold.conversation.index_of(entry) is not None:
            return None
        before = -1 if after is None else out.fold.conversation.index_of(after)
        if before is None:
            return None
        index = before + 1
        place = index + sum(other <= index for other in out.inserted)
        out.inserted.append(index)
        out.entries += 1
        splice = Splice(place, place, (), (Entry(entry, Message(body), author, t),))
        return Placed(out.name, self._record(out, t, ChangeRecord(splice, None, t)), entry)

    def _record(self, out: LogOut, t: int, record: ChangeRecord | Saved) -> int:
        n = self._ready(out, t)
        self._write(out, encode_record(Stamp(n, out.seq, t), record))
        return n

    def _write(self, out: LogOut, line: bytes) -> None:
        out.seq += 1
        out.size += len(line)
        out.waiting.append(line)
        out.waiting_bytes += len(line)
        if out.waiting_bytes >= _WAITING_BYTES:
            _flush(out)

    def finish(self) -> None:
        """Hand everything that waits to the batch, and mend the logs' torn ends."""
        for out in self._logs.values():
            if out.sink is None:
                self._mend(out)
            _flush(out)

    def _ready(self, out: LogOut, t: int) -> int:
        """Open the log's sink if it is not, and return the next ``n``."""
        if out.sink is None:
            out.sink = self._opened(out, t)
        out.updated = t
        n = out.last_n = self._n
        self._n += 1
        return n

    def _opened(self, out: LogOut, t: int) -> Sink:
        fold = out.fold
        if fold is not None and fold.records:
            self._mend(out)
            return self._batch.open_append(out.name, fold.end)
        length = 0
        if fold is not None:
            length = self._set_torn_aside(fold) or fold.end
        sink = self._batch.open_log_new(out.name, length)
        line = encode_header(Stamp(self._n, 0, t), Header(out.name, fresh_lineage(), out.parent))
        sink.write(line)
        self._n += 1
        out.started = t
        out.seq = 1
        out.size = len(line)
        return sink

    def _mend(self, out: LogOut) -> None:
        """Cut a torn tail off; it goes under ``recovered/``."""
        if out.fold is not None and (length := self._set_torn_aside(out.fold)):
            self._batch.cut_log(out.name, length, out.fold.end)

    def _set_torn_aside(self, fold: LogFold) -> int:
        """Copy a torn tail under ``recovered/`` and return the log's length; 0: it has none."""
        import hashlib

        torn = fold.torn
        if torn is None:
            return 0
        with self._store.open_log(fold.log) as log:
            cut = log.read_at(torn.offset, torn.length)
        name = recovered_name(fold.log, hashlib.sha256(cut).hexdigest())
        self._batch.write_file(name, cut)
        self.set_aside.append(TornTail(fold.log, torn.offset, torn.length, name))
        return torn.offset + torn.length


def _flush(out: LogOut) -> None:
    if out.waiting:
        assert out.sink is not None
        out.sink.write(b"".join(out.waiting))
        out.waiting.clear()
        out.waiting_bytes = 0


def _parent(fold: LogFold) -> str | None:
    return None if fold.header is None else fold.header.parent
