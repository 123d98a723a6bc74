"""The lock of one session directory, as this process has it."""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem_cli.errors import Busy, ConflictError, Io
from agentmem_cli.storage.files import FOLDER_MODE, Folder, make_folders
from agentmem_cli.storage.folder import FILE_MODE
from agentmem_cli.storage.identity import identity_of
from agentmem_cli.storage.layout import LOCK

if TYPE_CHECKING:
    from collections.abc import Callable

    from filelock import BaseFileLock

    from agentmem_cli.storage.identity import Identity

_POLL_S = 0.01
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL})
# Where the call itself is refused, no other program can have the lock of a file that was not there.
_NOBODYS = _NO_LOCKS | {errno.EPERM, None}
_NO_LOCKS_HINT = (
    "This file system has no file locks, so nothing is written to it; "
    "keep the sessions on a local disk, or copy this one there first."
)
_REFUSED_HINT = "Nothing was written; check who owns the session's folder and its lock file."


class SessionLock:
    """The lock of one session directory in this process.

    ``depth`` counts the holds of the thread that has it; ``live`` are the
    names of the part files that batches of this process have staged. While it
    is held its folder is open: what is put in the folder's place meanwhile is
    not what is locked.
    """

    __slots__ = (
        "__weakref__",
        "_descriptor",
        "_file",
        "_made",
        "_owner",
        "_place",
        "_thread",
        "depth",
        "folder",
        "live",
    )

    def __init__(self, folder: str) -> None:
        """Stand for the lock of the directory *folder*, a real path."""
        self.folder = folder
        self.depth = 0
        self.live: set[str] = set()
        self._thread = threading.RLock()
        self._file: BaseFileLock | None = None
        self._descriptor = -1
        self._made = False
        self._owner = 0
        self._place: Folder | None = None

    @property
    def path(self) -> str:
        """The lock file's path."""
        return os.path.join(self.folder, LOCK)

    def acquire(self, wait_s: float, known: Identity | None = None) -> None:
        """Take the lock, making the directory where it is missing.

        Args:
            wait_s: Seconds to wait.
            known: The directory that is meant; it is not made anew, and no other one locked.

        Raises:
            Busy: It was not free within *wait_s* seconds.
            ConflictError: The directory that is meant stands there no more.
            Io: It cannot be taken at all; nothing was written.
        """
        start_s = time.monotonic()
        if not self._thread.acquire(timeout=min(wait_s, threading.TIMEOUT_MAX)):
            raise self._busy(wait_s)
        try:
            if self.depth == 0:
                self._take(start_s + wait_s, wait_s, known)
            else:
                self._check(known, self.identity)
            self.depth += 1
            self._owner = threading.get_ident()
        except BaseException:
            self._thread.release()
            raise

    def release(self) -> None:
        """Give one hold back; the last one frees the lock."""
        self.depth -= 1
        try:
            if self.depth == 0:
                self._free()
        finally:
            self._thread.release()

    @property
    def is_mine(self) -> bool:
        """Whether this very thread holds it."""
        return self.depth > 0 and self._owner == threading.get_ident()

    def opened(self, called: str) -> Folder:
        """Open the folder that is locked, whatever stands at its path by now.

        Args:
            called: Its path, for messages.
        """
        assert self._place is not None
        descriptor = self._place.fd
        return Folder(called, None if descriptor is None else os.dup(descriptor))

    @property
    def identity(self) -> Identity | None:
        """What tells the folder that is locked from another; None: it is not locked."""
        if self._place is None:
            return None
        descriptor = self._place.fd
        return identity_of(self.folder if descriptor is None else descriptor)

    def is_of(self, above: Folder, name: str) -> bool:
        """Whether what stands in the folder *above* as *name*, itself, is the one locked."""
        return self._is_it(lambda: above.lstat(name))

    def _is_it(self, look: Callable[[], os.stat_result]) -> bool:
        if self._place is None or self._place.fd is None:
            return True  # Windows, where an open file in it keeps it in its place
        try:
            return os.path.samestat(look(), os.fstat(self._place.fd))
        except FileNotFoundError:
            return False

    def mark(self, mtime_ns: int) -> None:
        """Set the lock file's modification time: what the newest log of ours has."""
        assert self.depth > 0
        place: int | str = self._descriptor if os.utime in os.supports_fd else self.path
        # It only serves to notice other programs' writes; no reason to fail a change that is made.
        with suppress(OSError):
            os.utime(place, ns=(mtime_ns, mtime_ns))

    def _reach(self, known: Identity | None) -> None:
        """Make the folder where it is missing; one that is *known* must be there still."""
        if known is None:
            self._made = make_folders(self.folder) or self._made
        else:
            self._check(known, identity_of(self.folder))

    def _check(self, known: Identity | None, found: Identity | None) -> None:
        if known not in (None, found):
            msg = f"{self.folder}: it was moved or removed while this waited for its lock"
            hint = "Nothing was written. agentmem list shows what there is."
            raise ConflictError(msg, hint=hint)

    def _busy(self, wait_s: float) -> Busy:
        from pathlib import Path

        return Busy(Path(self.path), wait_s)

    def _take(self, deadline_s: float, wait_s: float, known: Identity | None) -> None:
        while True:
            self._reach(known)
            try:
                self._take_once(deadline_s, wait_s)
            except FileNotFoundError:
                self._close_place()
                if time.monotonic() >= deadline_s:
                    raise self._busy(wait_s) from None
                continue  # the folder was destroyed while we waited at its door
            except BaseException:
                self._let_go()  # who has the lock has the folder too
                raise
            if self._holds(known):
                return
            self._close_place()
            self._make_private()
            if time.monotonic() >= deadline_s:
                raise self._busy(wait_s)

    def _take_once(self, deadline_s: float, wait_s: float) -> None:
        self._open_place()
        fresh = self._look()
        try:
            self._take_file(max(deadline_s - time.monotonic(), 0.0), wait_s)
        except FileNotFoundError:
            raise
        except OSError as error:
            if fresh and error.errno in _NOBODYS:
                self._take_back(lock_file=True)
            raise self._refused(error) from error

    def _open_place(self) -> None:
        """Open the folder itself: a link that was put in its place is refused."""
        try:
            self._place = Folder.at(self.folder, linked=False)
        except FileNotFoundError:
            raise
        except OSError as error:
            if os.path.islink(self.folder):
                msg = f"{self.folder}: a link was put in the session's place; it is not followed"
                raise Io(msg, hint="Nothing was written.") from error
            raise self._refused(error) from error

    def _close_place(self) -> None:
        place, self._place = self._place, None
        if place is not None:
            place.close()

    def _let_go(self) -> None:
        self._made = False
        self._close_place()

    def _look(self) -> bool:
        """Return whether there is no lock file yet; refuse what is none.

        It is made here where folders are reached by descriptors: by its path it might be made in
        another folder that was put in this one's place.
        """
        assert self._place is not None
        try:
            found = self._place.lstat(LOCK)
        except FileNotFoundError:
            if self._place.fd is not None:
                with suppress(OSError):  # what it is will be told by who locks it
                    os.close(self._place.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL))
            return True
        if not stat.S_ISREG(found.st_mode):
            told = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "no regular file"
            raise Io(f"{self.path}: this is {told}, so it is not used as a lock")
        return False

    def _file_lock(self) -> BaseFileLock:
        if self._file is None:
            from filelock import FileLock

            self._file = FileLock(
                self.path,
                mode=FILE_MODE,
                thread_local=False,
                poll_interval=_POLL_S,
                fallback_to_soft=False,
                preserve_lock_file=True,
                on_acquired=self._note,
            )
        return self._file

    def _note(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def _take_file(self, left_s: float, wait_s: float) -> None:
        from filelock import Timeout

        try:
            self._file_lock().acquire(timeout=left_s)
        except Timeout:
            raise self._busy(wait_s) from None
        except RuntimeError as error:  # this thread holds another filelock on the same file
            raise self._busy(wait_s) from error

    def _holds(self, known: Identity | None) -> bool:
        """Whether what was locked is the lock of the folder that stands here; else it is freed."""
        in_place = False
        try:
            in_place = self._is_in_place() and known in (None, self.identity)
            if not in_place and known is not None:
                self._unmake()
        except BaseException:
            self._let_go()
            raise
        finally:
            if not in_place:
                self._file_lock().release()
        return in_place

    def _unmake(self) -> None:
        """Remove a folder of a lock alone, which filelock made where a session was moved away."""
        with suppress(OSError):
            ours = os.path.samestat(os.fstat(self._descriptor), os.lstat(self.path))
            if ours and os.listdir(self.folder) == [LOCK]:
                os.unlink(self.path)
                os.rmdir(self.folder)

    def _is_in_place(self) -> bool:
        # A session destroyed and begun anew has another file; holding the old one holds nothing.
        # So has a folder that was put in the place of the one that is open.
        assert self._place is not None
        try:
            there = self._place.lstat(LOCK)
        except FileNotFoundError:
            return False
        is_ours = os.path.samestat(os.fstat(self._descriptor), there)
        return is_ours and self._is_it(lambda: os.lstat(self.folder))

    def _make_private(self) -> None:
        """Close a folder that holds a lock file alone: filelock made it anew, for all to read."""
        with suppress(OSError, Io):
            self._open_place()
            assert self._place is not None
            if self._place.fd is not None and os.listdir(self._place.fd) == [LOCK]:
                os.fchmod(self._place.fd, FOLDER_MODE)
        self._close_place()

    def _refused(self, error: OSError) -> Io:
        why = error.strerror or str(error) or type(error).__name__
        hint = _NO_LOCKS_HINT if error.errno in _NO_LOCKS else _REFUSED_HINT
        return Io(f"{self.path}: the lock cannot be taken: {why}", hint=hint)

    def _free(self) -> None:
        try:
            if self._made:
                self._take_back(lock_file=False)
        finally:
            self._let_go()
            self._descriptor = -1
            self._file_lock().release()

    def _take_back(self, *, lock_file: bool) -> None:
        """Remove what taking the lock made, where nothing came of it.

        A folder that this hold made and that holds the lock file alone is no
        session. Only while the lock is held (whoever waits at the removed
        file notices), or where it can be nobody's: then *lock_file* goes too.
        """
        assert self._place is not None
        with suppress(OSError):
            if lock_file or [entry.name for entry in self._place.entries()] == [LOCK]:
                self._place.remove(LOCK)
            if self._made:
                os.rmdir(self.folder)
