"""A session in a directory."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import OldLayout
from agentmem_cli.limits import LOCK_WAIT_S
from agentmem_cli.storage import listing
from agentmem_cli.storage.dirfiles import DirFiles, PluginFiles, read_below
from agentmem_cli.storage.files import Folder
from agentmem_cli.storage.layout import (
    LOCK,
    LOG_END,
    file_path,
    log_path,
    recovered_name,
    split,
)
from agentmem_cli.storage.logfile import OpenLog
from agentmem_cli.storage.names import check_log_name, check_name
from agentmem_cli.storage.pinned import Pinned
from agentmem_cli.storage.settling import settled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from agentmem_cli.storage.batch import DirBatch
    from agentmem_cli.storage.session_lock import SessionLock
    from agentmem_cli.storage.survey import Survey

__all__ = ["DirFiles", "DirStore", "PluginFiles", "Stat"]


class Stat(NamedTuple):
    """What the disk says of a file: bytes, nanoseconds since the epoch, permission bits."""

    size: int
    mtime_ns: int
    mode: int


class DirStore(Pinned):
    """A `Store` in a session directory. Make one with `DirStore.open`.

    Reads take no lock. Every change takes the session's, finishes what a
    crash left undone, and is durable when it returns.
    """

    __slots__ = ()

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, lock_wait_s: float = LOCK_WAIT_S) -> Self:
        """Open the session at *path*, which need not exist. Nothing is written.

        Args:
            path: The session directory; links may lead to it, never on from there.
            lock_wait_s: Seconds that a change waits for the session's lock.

        Raises:
            OldLayout: A log stands at its top.
            OSError: It is no directory, or the system refused.
        """
        root = os.path.abspath(path)  # text is all that is needed
        try:
            entries = os.scandir(root)
        except FileNotFoundError:
            return cls(root, lock_wait_s)
        with entries:
            for entry in entries:
                if entry.name.endswith(LOG_END) and entry.is_file(follow_symlinks=False):
                    raise OldLayout(root, entry.name)
        return cls(root, lock_wait_s)

    # -- the lock ----------------------------------------------------------

    @contextmanager
    def lock(self, wait_s: float | None = None) -> Iterator[None]:
        """Hold the session's lock for the block; re-entrant in its thread.

        The first thing done under it is to finish what a crash left undone.
        Taking it makes the directory where it is missing.

        Args:
            wait_s: Seconds to wait; None for ``lock_wait_s``.

        Raises:
            Busy: It was not free in time.
            Io: It cannot be taken at all.
            ConflictError: What a crash left undone cannot be finished.
        """
        with self.held(wait_s) as lock:
            self._finish(lock)
            yield

    @contextmanager
    def batch(self, *, wait_s: float | None = None) -> Iterator[DirBatch]:
        """Make changes together: all of them when the block ends well, or none.

        The lock is held from the block's beginning to its end.

        Raises:
            LogChanged: A log was not as long as was said; nothing was done.
            OSError: The system refused; see `DirBatch.commit`.
        """
        from agentmem_cli.storage.batch import DirBatch

        with self.held(wait_s) as lock:
            self._finish(lock)
            with self.folder() as root:
                batch = DirBatch(root, lock)
                try:
                    yield batch
                    batch.commit()
                finally:
                    batch.close()

    @contextmanager
    def beginning(self, *, wait_s: float | None = None) -> Iterator[DirBatch]:
        """Make changes together, as `batch` does; one that is not there yet appears whole.

        Raises:
            Appeared: It was not there when the block began, and is at its end.
        """
        from agentmem_cli.storage.fresh import fresh_batch

        # Why not there: Windows does not rename a folder with an open lock file in it.
        fresh = os.name != "nt" and not os.path.lexists(self._root)
        with fresh_batch(self._root) if fresh else self.batch(wait_s=wait_s) as batch:
            yield batch

    def recover(self) -> bool:
        """Finish, or drop, what a crash left undone; return whether there was anything.

        Raises:
            ConflictError: It can be neither; the hint says what to do.
        """
        if not self.pending():
            return False
        with self.held() as lock:
            return self._finish(lock)

    def tidy(self) -> None:
        """Finish what a crash left undone, and remove part files of ours that it left.

        Raises:
            Busy: The lock was not free in time.
            ConflictError: What a crash left undone cannot be finished.
        """
        with self.batch() as batch:
            batch.sweep()

    def give_up(self) -> list[str]:
        """Give up an unfinished change that `recover` refuses.

        What of it is done stays; staged bytes that are not in place, and the
        redo file itself, are set aside under ``recovered/``.

        Returns:
            The names of the files that were set aside, sorted.
        """
        from agentmem_cli.storage.rescue import give_up

        if not self.pending():
            return []
        with self.held() as lock, self.folder() as root:
            return give_up(root, lock.live)

    def _finish(self, lock: SessionLock) -> bool:
        # Also inside a longer hold: a change that failed half-way may have left its redo file.
        if not self.pending():
            return False
        from agentmem_cli.storage import recovery, sweeping

        with self.folder() as root:
            steps = recovery.finish(root, lock.live)
            sweeping.mark(root, lock, [step.target for step in steps])
        return True

    # -- logs --------------------------------------------------------------

    def logs(self) -> list[str]:
        """Return the names of all logs, sorted."""
        with self._top() as root:
            return [] if root is None else listing.log_names(root)

    def read_log(self, name: str) -> bytes:
        """Return the whole log; ``FileNotFoundError`` where there is none."""
        check_log_name(name)
        with self.folder() as root:
            return read_below(root, log_path(name))

    def open_log(self, name: str) -> OpenLog:
        """Open the log as it is now; ``FileNotFoundError`` where there is none.

        While a program that holds the session's lock is writing its last line, that is waited for.
        """
        check_log_name(name)
        path = log_path(name)
        log = self._open(path)
        if self._held or log.is_ended():
            return log
        return settled(log, lambda: self._open(path), self._root)

    def append_log(self, name: str, length: int, data: bytes) -> None:
        """Put *data* at the end of a log of *length* bytes; else ``LogChanged``."""
        check_log_name(name)
        with self.batch() as batch:
            batch.append_log(name, length, data)

    def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Put *data* in the place of a log of *length* bytes; else ``LogChanged``."""
        check_log_name(name)
        with self.batch() as batch:
            batch.replace_log(name, length, data)

    def log_stat(self, name: str) -> Stat:
        """Return what the disk says of a log; ``FileNotFoundError`` where there is none."""
        check_log_name(name)
        return self._stat(log_path(name))

    # -- files -------------------------------------------------------------

    def write_file(self, name: str, data: bytes) -> None:
        """Put *data* at *name*: a reader sees the old content or the new, whole."""
        check_name(name)
        with self.batch() as batch:
            batch.write_file(name, data)

    def append_file(self, name: str, data: bytes) -> None:
        """Put *data* at the end of *name*, which is made where missing."""
        check_name(name)
        with self.batch() as batch:
            batch.append_file(name, data)

    def read_file(self, name: str) -> bytes:
        """Return the content of *name*; ``FileNotFoundError`` where there is none."""
        check_name(name)
        with self.folder() as root:
            return read_below(root, file_path(name))

    def open_file(self, name: str) -> OpenLog:
        """Open a file to read it in pieces; ``FileNotFoundError`` where there is none."""
        check_name(name)
        return self._open(file_path(name))

    def remove_file(self, name: str) -> None:
        """Remove *name*; one that is absent is fine."""
        check_name(name)
        if not os.path.isdir(self._root):
            return
        with self.batch() as batch:
            batch.remove_file(name)

    def set_file_aside(self, name: str) -> str:
        """Move the file *name* under ``recovered/``, however large it is; return its name there.

        It is named by the SHA-256 of its bytes, which are read in pieces.

        Raises:
            FileNotFoundError: There is none.
            Busy: The lock was not free in time.
            OSError: The system refused; the file stands where it stood.
        """
        check_name(name)
        folders, last = split(file_path(name))
        with self.lock(), self.folder() as root, root.walk(folders) as folder:
            new = recovered_name(last, listing.sha256(folder, last))
            above, kept = split(file_path(new))
            with root.reach(above) as target:
                folder.move(last, target, kept)
                target.sync()
                folder.sync()
        return new

    def file_sha256(self, name: str) -> str:
        """Return the SHA-256 of a file's bytes, read in pieces, as hex digits.

        Raises:
            FileNotFoundError: There is none.
            OSError: A link stands on the way, or the system refused.
        """
        check_name(name)
        folders, last = split(file_path(name))
        with self.folder() as root, root.walk(folders) as folder:
            return listing.sha256(folder, last)

    def files(self) -> list[str]:
        """Return the names of all files, sorted."""
        with self._top() as root:
            return [] if root is None else listing.file_names(root)

    def file_stat(self, name: str) -> Stat:
        """Return what the disk says of a file; ``FileNotFoundError`` where there is none."""
        check_name(name)
        return self._stat(file_path(name))

    def _open(self, path: str) -> OpenLog:
        folders, last = split(path)
        with self.folder() as root, root.walk(folders) as folder:
            return OpenLog(folder.open(last, os.O_RDONLY))

    def _stat(self, path: str) -> Stat:
        folders, name = split(path)
        with self.folder() as root, root.walk(folders) as folder:
            found = folder.found(name) or folder.lstat(name)
        return Stat(found.st_size, found.st_mtime_ns, stat.S_IMODE(found.st_mode))

    # -- care --------------------------------------------------------------

    def survey(self) -> Survey:
        """Return what a listing sees of it.

        Raises:
            OSError: It is not there, or a folder in it cannot be read.
        """
        from agentmem_cli.storage.survey import survey_in

        with self.folder() as root:
            return survey_in(root)

    def leftovers(self) -> list[str]:
        """Return the relative paths of part files, trash and a redo file, sorted."""
        with self._top() as root:
            return [] if root is None else listing.leftovers(root)

    def astray(self) -> list[str]:
        """Return the relative paths of what is no log, no file and no lock of it, sorted.

        What a stopped program left is among them, and what somebody put there: files, links,
        pipes, and folders in which nothing is, these with a slash at their end; not what this
        very program is writing.
        """
        own = {*map(log_path, self.logs()), *map(file_path, self.files())}
        live = self._held.live if self._held else ()
        with self._top() as root:
            found = [] if root is None else list(listing.astray(root, own))
        return sorted(path for path in found if split(path)[1] not in live)

    def open_astray(self, path: str) -> OpenLog:
        """Open what `astray` named, where it is a file; ``FileNotFoundError`` where it is gone."""
        return self._open(path)

    def loose(self) -> list[str]:
        """Return the relative paths of what group or others may get at, sorted."""
        if os.name == "nt":
            return []  # permission bits say nothing there
        with self._top() as root:
            return [] if root is None else listing.loose(root)

    def written_by_others(self) -> list[str]:
        """Return the names of logs that are newer than the last change of ours, sorted."""
        with self._top() as root:
            if root is None:
                return []
            lock = root.found(LOCK)
            ours_ns = -1 if lock is None else lock.st_mtime_ns
        return [name for name in self.logs() if self.log_stat(name).mtime_ns > ours_ns]

    def move(self, name: str) -> None:
        """Give the session's folder the *name*, beside where it stands; then this store is of it.

        Raises:
            Busy: The lock was not free in time.
            ConflictError: Something else was put in its place; that stays as it is called.
            OSError: The system refused; nothing changed.
        """
        from agentmem_cli.storage.trees import rename_own

        folder, old = os.path.split(self._root)
        with self.held() as lock, Folder.at(folder) as above:
            self._finish(lock)
            rename_own(above, old, name, lock)
        self._root = os.path.join(folder, name)

    def destroy(self) -> None:
        """Remove the session with all it holds; links inside are not followed.

        Raises:
            Busy: The lock was not free in time.
            ConflictError: Something else was put in its place; that stays.
            OSError: The system refused.
        """
        from agentmem_cli.storage.destroying import destroy

        if not os.path.isdir(self._root):
            return
        with self.held() as lock:
            if os.name != "nt":
                destroy(lock.folder, lock)
                self._known = None
                return
        self._known = None
        destroy(lock.folder, None)  # Windows does not move a folder with an open file in it
