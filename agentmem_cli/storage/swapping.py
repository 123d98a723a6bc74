"""Changing a file that is not ours: a transcript of another program, where it stands.

The new bytes go to a part file beside it, which takes its place only if the
file is still the one that was read: the same inode, size and time. Mode,
owner and times are kept; agents go by the time. A link is never followed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.storage.files import Folder, sync_file
from agentmem_cli.storage.logfile import OpenLog
from agentmem_cli.storage.streams import chunks, pread, token, write_whole

if TYPE_CHECKING:
    from types import TracebackType
    from typing import BinaryIO, Self

    from _typeshed import WriteableBuffer

PART: Final = re.compile(r"\.agentfile-[0-9a-f]{32}\.rig-part")
"""How part files of ours are called that stand beside a file of others."""

_OLD_S: Final = 3600
"""Seconds after which a part file was left by a run that was killed, where no lock can tell."""


class Seen(NamedTuple):
    """A file as the disk shows it; two are equal when nobody wrote in between."""

    device: int
    inode: int
    size: int
    """Bytes."""
    mtime_ns: int
    """When it was changed, nanoseconds since 1970."""


def seen(found: os.stat_result) -> Seen:
    """Return what tells whether a file was changed."""
    return Seen(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


class Swap:
    """A file that is open to be replaced. Use it in a ``with``; without `install` nothing changes.

    ``size`` is its bytes when it was opened.
    """

    def __init__(self, path: str) -> None:
        """Open the file at *path*.

        Raises:
            FileNotFoundError: It is not there.
            OSError: A link or another thing stands there, or the system refused.
        """
        folder, self._name = os.path.split(os.path.abspath(path))
        self._part = ""
        self._written = -1
        self._waiting = bytearray()
        self._folder = Folder.at(folder)
        try:
            self._source = self._folder.open(self._name, os.O_RDONLY)
        except BaseException:
            self._folder.close()
            raise
        self._stat = os.fstat(self._source)
        self.seen = seen(self._stat)
        self.size = self.seen.size

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Let go of the file; what was staged and not installed goes."""
        if self._written >= 0:
            os.close(self._written)
            self._folder.discard(self._part)
        os.close(self._source)
        self._folder.close()

    @property
    def links(self) -> int:
        """How many names the file has; the others would keep the old bytes."""
        return self._stat.st_nlink

    def opened(self) -> OpenLog:
        """Open the file as it was when this was made; close it when done."""
        return OpenLog(os.dup(self._source))

    def reader(self) -> BinaryIO:
        """Return the file, as long as it was when this was made, as a stream that can seek."""
        return _stream(self._source, self.size)

    def staged(self) -> OpenLog:
        """Open what was staged; close it when done."""
        assert self._written >= 0
        self._flush()
        return OpenLog(os.dup(self._written))

    def staged_reader(self) -> BinaryIO:
        """Return what was staged as a stream that can seek."""
        assert self._written >= 0
        self._flush()
        return _stream(self._written, os.fstat(self._written).st_size)

    def write(self, data: bytes) -> int:
        """Stage *data* behind what was staged before; return its length."""
        if self._written < 0:
            self._sweep()
            self._begin()
        self._waiting += data
        if len(self._waiting) >= CHUNK_BYTES:
            self._flush()
        return len(data)

    def install(self) -> bool:
        """Put what was staged in the file's place; return whether the file was still as read.

        Bytes that another program added at the very last moment are added here, too, so
        that none is lost; then the answer is no, and the file is to be looked at again.

        Raises:
            OSError: The system refused; the file is as it was.
        """
        assert self._written >= 0
        self._flush()
        self._keep_marks()
        sync_file(self._written)
        if not self._is_unchanged():
            return False
        self._folder.replace(self._part, self._name)
        late = os.fstat(self._source).st_size - self.size
        for chunk in chunks(self._source, self.size, self.size + max(0, late)):
            write_whole(self._written, chunk)
        if late <= 0:
            times = self._stat.st_atime_ns, self._stat.st_mtime_ns
            os.utime(self._written if os.utime in os.supports_fd else self._path, ns=times)
        sync_file(self._written)
        self._folder.sync()
        os.close(self._written)
        self._written = -1
        return late <= 0

    @property
    def _path(self) -> str:
        return self._folder.where(self._name)

    def _is_unchanged(self) -> bool:
        if seen(os.fstat(self._source)) != self.seen:
            return False
        try:
            return seen(self._folder.lstat(self._name)) == self.seen
        except FileNotFoundError:
            return False

    def _flush(self) -> None:
        if self._waiting:
            write_whole(self._written, self._waiting)
            self._waiting.clear()

    def _keep_marks(self) -> None:
        """Give the part file the owner, the attributes and the mode of the file."""
        if os.name == "nt":
            return
        made = os.fstat(self._written)
        if (made.st_uid, made.st_gid) != (self._stat.st_uid, self._stat.st_gid):
            os.fchown(self._written, self._stat.st_uid, self._stat.st_gid)
        if hasattr(os, "listxattr"):
            names: list[str] = []
            with contextlib.suppress(OSError):  # not every disk has them
                names = os.listxattr(self._source)
            for name in names:
                with contextlib.suppress(OSError):  # one that only the system may set
                    os.setxattr(self._written, name, os.getxattr(self._source, name))
        os.fchmod(self._written, stat.S_IMODE(self._stat.st_mode))

    def _begin(self) -> None:
        """Make the part file, locked for as long as it is written."""
        while True:
            self._part = f".agentfile-{token()}.rig-part"
            self._written = self._folder.open(self._part, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            # Why looked at: another run may have taken it away before it was locked.
            if _locked(self._written) is not False and self._is_there(self._part):
                return
            os.close(self._written)
            self._written = -1
            self._folder.discard(self._part)

    def _is_there(self, name: str) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return seen(self._folder.lstat(name))[:2] == seen(os.fstat(self._written))[:2]
        return False

    def _sweep(self) -> None:
        """Remove part files that a killed run left beside the file."""
        with contextlib.suppress(OSError):
            for entry in list(self._folder.entries()):
                if PART.fullmatch(entry.name):
                    _take_away(self._folder, entry.name)


def is_left(path: str) -> bool:
    """Whether a part file was left by a run that was killed: none writes to it any more."""
    with contextlib.suppress(OSError):
        folder, name = os.path.split(os.path.abspath(path))
        with contextlib.closing(Folder.at(folder)) as opened:
            return _take_away(opened, name, looks_only=True)
    return False


def take_away(path: str) -> bool:
    """Remove a part file that a killed run left; False: one writes to it, or it stays.

    Such a file holds what its run was to mask, as far as it stood outside of the masks, and
    perhaps all of it: what a run has written is proven only when it is whole.
    """
    with contextlib.suppress(OSError):
        folder, name = os.path.split(os.path.abspath(path))
        with contextlib.closing(Folder.at(folder)) as opened:
            return _take_away(opened, name)
    return False


def _take_away(folder: Folder, name: str, *, looks_only: bool = False) -> bool:
    descriptor = folder.open(name, os.O_RDWR)
    try:
        if not _is_free(descriptor):
            return False
        if not looks_only:
            if os.name == "nt":
                os.close(descriptor)
                descriptor = -1
            folder.discard(name)
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    return True


def _is_free(descriptor: int) -> bool:
    """Does no run write to an open part file any more?"""
    locked = _locked(descriptor)
    if locked is not None:
        return locked
    newest_s = time.time() - _OLD_S  # noqa: TID251 - compared with the disk's times
    return os.fstat(descriptor).st_mtime < newest_s


def _locked(descriptor: int) -> bool | None:
    """Lock an open file; False: another run has it; None: this system, or this disk, cannot.

    The lock goes with the descriptor.
    """
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


class _Bounded(io.RawIOBase):
    """The first bytes of an open file; the descriptor stays its owner's."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), max(0, self._size - self._at))
        data = pread(self._descriptor, wanted, self._at) if wanted else b""
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


def _stream(descriptor: int, size: int) -> BinaryIO:
    return io.BufferedReader(_Bounded(descriptor, size), CHUNK_BYTES)
