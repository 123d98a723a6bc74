"""Another name for an agent: for its log, and wherever a session says it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import ConflictError, UsageError
from agentmem_cli.operations.imports.adapter import MAIN
from agentmem_cli.operations.imports.maps import FOLDER, MAP_END, OldMap, body_digest
from agentmem_cli.operations.lost_logs import LOST_LOGS
from agentmem_cli.operations.metas import is_current, refresh
from agentmem_cli.operations.renaming import check_plain
from agentmem_cli.operations.rewrites import TOOL
from agentmem_cli.session.clock import fresh_lineage
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.heads import main_log
from agentmem_cli.session.keys import CURRENT, LOST, SESSION
from agentmem_cli.session.meta import META
from agentmem_cli.session.record import Saved
from agentmem_cli.session.refiling import copied
from agentmem_cli.session.rewriting import Rewrite
from agentmem_cli.session.writer import append_records
from agentmem_cli.storage.batch import DirBatch
from agentmem_cli.storage.layout import recovered_stem
from agentmem_cli.storage.seen import refuse_busy

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.rewriting import How, Place, Record
    from agentmem_cli.session.staged import Staged
    from agentmem_cli.storage.directory import DirStore


class RenamedAgent(NamedTuple):
    """What a rename of an agent changed."""

    old: str
    new: str
    logs: tuple[str, ...]
    """Other logs that named it."""
    files: tuple[str, ...]
    """Files that named it, by the names they have now."""


def rename_agent(
    store: DirStore, old: str, new: str, *, if_idle_ms: int | None, now_ms: int
) -> RenamedAgent:
    """Give an agent's log another name, and that name to whatever says the old one.

    The header says it, those of the agents it spawned, authors, the saved value of
    the agent that is talked to, the meta, maps of imports, and files that were set
    aside. All of it happens, or nothing: it is one change with a redo file.

    Args:
        store: The session.
        old: The agent's log.
        new: What it is to be called.
        if_idle_ms: For how long another program must have left the session alone.
        now_ms: The time now.

    Raises:
        UsageError: *new* is no name that every system takes.
        ConflictError: An agent is called so; or it is the main one of an import.
        SessionError: A log does not read.
    """
    check_plain(new, "agent")
    if SESSION in (new, old):
        msg = f"{SESSION!r} is the session's own log"
        raise UsageError(msg)
    taken = {log.casefold(): log for log in store.logs() if log != old}
    if new.casefold() in taken or new == old:
        msg = f"an agent is called {taken.get(new.casefold(), new)!r} already"
        raise ConflictError(msg, hint="Choose another name.")
    if old == MAIN and any(name.startswith(FOLDER) for name in store.files()):
        msg = f"{MAIN!r} is what imports call the main agent, and this session was imported"
        raise ConflictError(msg, hint="Its messages can be had under another name by a fork.")
    from agentmem_cli.operations.rewriting import rewrite_session

    headers = _Finish(old, new)
    refuse_busy(store, if_idle_ms, now_ms, locked=False)
    with store.lock():
        refuse_busy(store, if_idle_ms, now_ms)
        _keep_main(store, old, new, now_ms)
        done = rewrite_session(
            store,
            TOOL,
            _Mentions(old, new),
            finish=headers,
            if_idle_ms=if_idle_ms,
            now_ms=now_ms,
        )
    logs = {log.log for log in done.logs} | headers.logs
    return RenamedAgent(old, new, tuple(sorted(logs - {old, new})), tuple(sorted(headers.files)))


def _keep_main(store: DirStore, old: str, new: str, now_ms: int) -> None:
    """Save which agent is talked to, where the new name would make it another one.

    It says no more than what was true before, so a crash after it does no harm.
    """
    main = main_log(store)
    if main is None or main_log(store, renamed=(old, new)) == (new if main == old else main):
        return
    current = is_current(store)
    append_records(store, SESSION, lambda _: [Saved(CURRENT, main)], at=now_ms)
    refresh(store, lambda meta: meta, current=current)


class _Mentions(Rewrite):
    """Renames an agent in authors, and where it is the one that is talked to."""

    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new

    def author(self, at: Record, author: Object) -> bool:  # noqa: ARG002 - as in `Rewrite`
        if author.get("kind") != "agent" or author.get("from") != self._old:
            return False
        author["from"] = self._new
        return True

    def value(self, at: Place, key: str, value: JSON) -> tuple[JSON, bool]:  # noqa: ARG002 - as above
        return (self._new, True) if key == CURRENT and value == self._old else (value, False)

    def aside(self, at: Record, aside: Object) -> bool:  # noqa: ARG002 - as above
        told = aside.get("value")
        if not isinstance(told, dict):
            return False
        if aside.get("kind") == "import.agent" and told.get("agent") == self._old:
            told["agent"] = self._new
            return True
        file = told.get("file")
        if aside.get("kind") != LOST or not isinstance(file, str):
            return False
        told["file"] = recovered_as(file, self._old, self._new)
        return told["file"] != file

    def reading(self, name: str, head: bytes) -> How:  # noqa: ARG002 - as above
        return "skip"


class _Finish:
    """Stages what a rewrite may not do: the log under its new name, and headers that name it."""

    def __init__(self, old: str, new: str) -> None:
        self._old = old
        self._new = new
        self.logs: set[str] = set()
        self.files: set[str] = set()

    def __call__(self, staged: Staged) -> None:
        for log in staged.logs():
            self._log(staged, log)
        for name in staged.files():
            self._file(staged, name)

    def _log(self, staged: Staged, log: str) -> None:
        with staged.open_log(log) as opened:
            first = next(iter(opened.lines()), b"")
            header = loads_object(first)
            renamed = self._header(header, staged)
            if log != self._old and not renamed:
                return
            self.logs.add(log)
            target = self._new if log == self._old else log
            size = 0 if log == self._old else opened.size
            sink = staged.batch.open_log_new(target, size)
            sink.write(dumps(header) + b"\n")
            for data in copied(opened, len(first), opened.size):
                sink.write(data)
        if log == self._old:
            batch = staged.batch
            assert isinstance(batch, DirBatch), "a rename is of a directory"
            batch.remove_log(log)

    def _header(self, header: Object, staged: Staged) -> bool:
        """Rename the agent in a header, and say that this was done."""
        fields = [key for key in ("log", "parent") if header.get(key) == self._old]
        for key in fields:
            header[key] = self._new
        if fields:
            note_rewrite(header, staged)
        return bool(fields)

    def _file(self, staged: Staged, name: str) -> None:
        if name == META:
            self._meta(staged)
        elif (target := recovered_as(name, self._old, self._new)) != name:
            staged.move_file(name, target)
            self.files.add(target)
        elif name.startswith(FOLDER) and name.endswith(MAP_END):
            self._map(staged, name)

    def _meta(self, staged: Staged) -> None:
        try:
            meta = loads_object(staged.read_file(META))
        except ValueError:
            return
        listed = meta.get("listed")
        if not isinstance(listed, dict):
            return
        ours = listed.get("agentmem")
        ours = ours if isinstance(ours, dict) else {}
        for holder in (listed.get("names"), ours.get("logs"), ours.get(LOST_LOGS)):
            if isinstance(holder, dict) and self._old in holder:
                holder[self._new] = holder.pop(self._old)
        sizes = ours.get("logs")
        for log in (self._new, *self.logs - {self._old}):
            if isinstance(sizes, dict) and log in sizes:
                with staged.open_log(log) as opened:
                    sizes[log] = opened.size
        staged.write_file(META, dumps(meta))

    def _map(self, staged: Staged, name: str) -> None:
        """Rename the agent in the map of an import."""
        data = staged.read_file(name)
        old = OldMap(name.removesuffix(MAP_END), data)
        rest = data.partition(b"\n")[2]
        lines = [self._map_line(line) for line in rest.split(b"\n")]
        body = b"\n".join(lines)
        digest = body_digest()
        digest.update(body)
        header = old.header
        agent = self._new if header.agent == self._old else header.agent
        ends = {self._new if log == self._old else log: end for log, end in header.ends.items()}
        whole = old.is_whole
        fresh = header._replace(
            agent=agent, ends=ends, body=digest.hexdigest() if whole else header.body
        )
        new = fresh.encode() + body
        if new != data:
            staged.write_file(name, new)
            self.files.add(name)

    def _map_line(self, line: bytes) -> bytes:
        if b'"log":' not in line:
            return line
        try:
            fields = loads_object(line)
        except ValueError:
            return line
        if fields.get("log") != self._old:
            return line
        fields["log"] = self._new
        return dumps(fields)


def recovered_as(name: str, old: str, new: str) -> str:
    """Return what a file of bytes that were set aside of the log *old* is called for *new*.

    Any other one keeps its name: that of a log whose name only begins like *old*, too.
    """
    begin, digest = recovered_stem(old), name.rpartition("-")[2]
    is_of_it = name == begin + digest and _DIGEST.fullmatch(digest) is not None
    return recovered_stem(new) + digest if is_of_it else name


_DIGEST: Final = re.compile(r"[0-9a-f]{64}\.part")


def note_rewrite(header: Object, staged: Staged) -> None:
    """Give a header a fresh lineage and a note of who rewrote it."""
    told = header.get("rewrites")
    earlier = told if isinstance(told, list) else []
    item: Object = {"t": staged.now_ms}
    if staged.by is not None:
        item["by"] = staged.by.to_value()
    header["lineage"] = fresh_lineage()
    if not (earlier and earlier[-1] == item):
        header["rewrites"] = [*earlier, item]
