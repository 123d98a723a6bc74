"""A session as it will be: what a dry run reads after what it staged.

So a dry run can look at what is left with the very checks that look at a session
on the disk, and a reader sees a change that was cut short as finished, or as not
begun, though only the next change makes it so.
"""

from __future__ import annotations

import hashlib
import time
import weakref
from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import Busy
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.storage import recovery
from agentmem_cli.storage.care import at_work
from agentmem_cli.storage.directory import DirStore, Stat
from agentmem_cli.storage.layout import LOCK, META, file_path, log_of, recovered_name, split
from agentmem_cli.storage.streams import chunks
from agentmem_cli.storage.trial import TrialBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.storage.files import Folder
    from agentmem_cli.storage.logfile import OpenLog
    from agentmem_cli.storage.store import Sink
    from agentmem_cli.storage.survey import Survey


class TrialStore(DirStore):
    """A session on the disk as a `TrialBatch` would leave it; nothing in it can be changed.

    What a stopped program left counts as cleared away.
    """

    __slots__ = ("__weakref__", "_batch", "_store", "is_tight")

    def __init__(self, store: DirStore, batch: TrialBatch) -> None:
        """Look at *store* through *batch*.

        Where ``is_tight`` is set then, others are taken to be kept out.
        """
        super().__init__(str(store.path), store.lock_wait_s)
        self.look_only = True
        self._store = store
        self._batch = batch
        self.is_tight = False

    def pending(self) -> bool:
        """Return that no change is under way."""
        return False

    def logs(self) -> list[str]:
        """Return the names of all logs, sorted."""
        return self._batch.logs()

    def open_log(self, name: str) -> OpenLog:
        """Open the log; ``FileNotFoundError`` where there is none."""
        return self._batch.open_staged_log(name)

    def read_log(self, name: str) -> bytes:
        """Return the whole log; ``FileNotFoundError`` where there is none."""
        with self.open_log(name) as opened:
            return opened.read_at(0, opened.size)

    def files(self) -> list[str]:
        """Return the names of all files, sorted."""
        return self._batch.files()

    def open_file(self, name: str) -> OpenLog:
        """Open a file to read it in pieces; ``FileNotFoundError`` where there is none."""
        return self._batch.open_staged_file(name)

    def read_file(self, name: str) -> bytes:
        """Return the content of *name*; ``FileNotFoundError`` where there is none."""
        return self._batch.read_file(name)

    def file_sha256(self, name: str) -> str:
        """Return the SHA-256 of a file's bytes, read in pieces, as hex digits."""
        digest = hashlib.sha256()
        with self.open_file(name) as opened:
            for data in _pieces(opened):
                digest.update(data)
        return digest.hexdigest()

    def file_stat(self, name: str) -> Stat:
        """Return what the disk would say of a file; ``FileNotFoundError`` where there is none."""
        if self._batch.holds_file(name):
            with self.open_file(name) as opened:
                return Stat(opened.size, time.time_ns(), 0o600)
        return self._store.file_stat(name)

    def log_stat(self, name: str) -> Stat:
        """Return what the disk would say of a log; ``FileNotFoundError`` where there is none."""
        if self._batch.holds_log(name):
            with self.open_log(name) as opened:
                return Stat(opened.size, time.time_ns(), 0o600)
        return self._store.log_stat(name)

    def leftovers(self) -> list[str]:
        """Return that nothing is left over."""
        return []

    def loose(self) -> list[str]:
        """Return the relative paths of what group or others may get at, sorted."""
        return [] if self.is_tight else [path for path in self._store.loose() if self._stays(path)]

    def survey(self) -> Survey:
        """Return what a listing would see."""
        seen = self._store.survey()._replace(unfinished=False)
        logs = []
        for name in self.logs():
            found = self.log_stat(name)
            logs.append((name, found.size, found.mtime_ns))
        seen = seen._replace(logs=logs)
        if not self._batch.holds_file(META):
            return seen
        data = self.read_file(META) if META in self.files() else None
        size = 0 if data is None else len(data)
        return seen._replace(meta=data, meta_size=size, meta_mtime_ns=time.time_ns())

    def _stays(self, path: str) -> bool:
        """Whether an entry at *path* is there afterwards, and the one that is there now."""
        log = log_of(path)
        if log is not None:
            return not self._batch.renews_log(log)
        folder, _, name = path.partition("/")
        return file_path(name) != path or not folder or not self._batch.holds_file(name)


def as_finished(store: DirStore, wait_s: float) -> DirStore:
    """Return *store* as it is when its unfinished change is made; itself where there is none.

    Nothing is changed and no lock is taken. While a program is at work its change is waited for,
    where what it does cannot be seen whole.

    Args:
        store: The session.
        wait_s: Seconds to wait.

    Raises:
        ConflictError: The change can be neither finished nor dropped, or is of another format.
        OSError: The system refused.
    """
    end = time.monotonic() + wait_s
    while store.pending():
        batch = TrialBatch(store)
        try:
            found = finish(store, batch)
        except FileNotFoundError:
            found = None  # it was made meanwhile
        if found is not None and found.kind == recovery.WHOLE:
            view = TrialStore(store, batch)
            weakref.finalize(view, batch.close)
            return view
        batch.close()
        if found is not None and not at_work(store):
            if found.conflict is not None:
                raise found.conflict
            return store  # nothing of it was made
        if time.monotonic() > end:
            raise Busy(store.path / LOCK, wait_s)
        time.sleep(_WAIT_S)
    return store


def finish(store: DirStore, batch: TrialBatch) -> recovery.Outlook:
    """Stage in *batch* what finishing an unfinished change of *store* does; tell what it is.

    Raises:
        FileNotFoundError: There is none.
        ConflictError: The redo file is of another format.
        OSError: The system refused.
    """
    with store.folder() as root:
        found = recovery.outlook(root)
        for each in found.changes:
            _stage(root, batch, each)
    return found


_WAIT_S: Final = 0.02


def _stage(root: Folder, batch: TrialBatch, each: recovery.Outcome) -> None:
    step = each.step
    log, name = log_of(step.target), step.target.partition("/")[2]
    if step.kind == "remove":
        batch.remove_log(log) if log is not None else batch.remove_file(name)
        return
    old = [] if step.kind == "replace" or not each.keep else [(step.target, 0, each.keep)]
    if each.aside is not None and log is not None:
        _put_aside(root, batch, log, (step.target, *each.aside))
    new = [(step.part, 0, step.size)] if step.part else []
    sink = batch.open_log_new(log, 0) if log is not None else batch.open_file(name)
    _copy(root, [*old, *new], sink)


def _put_aside(root: Folder, batch: TrialBatch, log: str, piece: tuple[str, int, int]) -> None:
    digest = hashlib.sha256()
    for data in _read(root, piece):
        digest.update(data)
    _copy(root, [piece], batch.open_file(recovered_name(log, digest.hexdigest())))


def _copy(root: Folder, pieces: list[tuple[str, int, int]], sink: Sink) -> None:
    for piece in pieces:
        for data in _read(root, piece):
            sink.write(data)


def _read(root: Folder, piece: tuple[str, int, int]) -> Iterator[bytes]:
    """Yield the bytes of a file between two places."""
    path, start, end = piece
    folders, name = split(path)
    with root.walk(folders) as folder, folder.opened(name) as descriptor:
        yield from chunks(descriptor, start, end)


def _pieces(opened: OpenLog) -> Iterator[bytes]:
    for at in range(0, opened.size, CHUNK_BYTES):
        yield opened.read_at(at, CHUNK_BYTES)
