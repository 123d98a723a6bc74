"""An open directory, and reading below it without following links.

On POSIX everything below a `Place` is reached by its descriptor, one part at
a time and never through a symbolic link; on Windows, which has no such calls,
each part is looked at (``lstat``) before it is used.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import TYPE_CHECKING, Final

from agentmem_cli.storage.owning import give_file
from agentmem_cli.storage.streams import chunks, pread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Self

FILE_MODE: Final = 0o600
"""Mode of a new file: sessions hold secrets."""

USES_DESCRIPTORS: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether folders are reached by descriptors (POSIX) or by checked paths (Windows)."""

_GUARD: Final = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO must not make us wait for its other end
    | getattr(os, "O_NOCTTY", 0)  # nor a terminal become ours
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_FOLDER_FLAGS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_FOLDER_SYNC: Final = frozenset({errno.EINVAL, errno.ENOTSUP})


class Place:
    """An open directory and what can be read in it.

    ``path`` is its path as text, for messages; ``fd`` its descriptor, None
    where the system has none. Use it as a context manager, or close it.
    """

    __slots__ = ("fd", "path")

    def __init__(self, path: str, fd: int | None) -> None:
        """Own the descriptor *fd* of the directory at *path*."""
        self.path = path
        self.fd = fd

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the descriptor; a second time does nothing."""
        descriptor, self.fd = self.fd, None
        if descriptor is not None:
            os.close(descriptor)

    def where(self, name: str) -> str:
        """Return the full path of *name* in here, for messages."""
        return os.path.join(self.path, name)

    def _at(self, name: str) -> str:
        return name if self.fd is not None else self.where(name)

    @classmethod
    def at(cls, path: str, *, linked: bool = True) -> Self:
        """Open the directory at *path*, which links may lead to.

        Args:
            path: Where it stands.
            linked: Whether it may be a link itself.

        Raises:
            FileNotFoundError: It is not there.
            OSError: It is no directory, or the system refused.
        """
        if USES_DESCRIPTORS:
            flags = _FOLDER_FLAGS if linked else _FOLDER_FLAGS | os.O_NOFOLLOW
            return cls(path, os.open(path, flags))
        if not stat.S_ISDIR((os.stat if linked else os.lstat)(path).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return cls(path, None)

    def child(self, name: str) -> Self:
        """Open the folder *name* in here; a link is refused.

        Raises:
            FileNotFoundError: It is not there.
            OSError: A link or another thing stands there, or the system refused.
        """
        if self.fd is None:
            found = self.lstat(name)
            if not stat.S_ISDIR(found.st_mode):
                raise self._refusal(name, found)
            return type(self)(self.where(name), None)
        flags = _FOLDER_FLAGS | os.O_NOFOLLOW
        try:
            return type(self)(self.where(name), os.open(name, flags, dir_fd=self.fd))
        except OSError as error:
            raise self._told(name, error) from error

    def walk(self, folders: Sequence[str]) -> Self:
        """Open the folder that *folders* lead to, one after the other, from here.

        Raises:
            OSError: As for `child`.
        """
        here = type(self)(self.path, None if self.fd is None else os.dup(self.fd))
        for name in folders:
            with here:
                here = here.child(name)
        return here

    def entries(self) -> Iterator[os.DirEntry[str]]:
        """Yield what the folder holds, in no order; use it while the folder is open."""
        place: int | str = self.path if self.fd is None else self.fd
        with os.scandir(place) as found:
            yield from found

    def lstat(self, name: str) -> os.stat_result:
        """Return what stands at *name* itself, link or not.

        Raises:
            FileNotFoundError: Nothing does.
        """
        try:
            return os.stat(self._at(name), dir_fd=self.fd, follow_symlinks=False)
        except OSError as error:
            raise self._told(name, error) from error

    def found(self, name: str) -> os.stat_result | None:
        """Return what stands at *name*, a regular file; None where nothing does.

        Raises:
            OSError: A link or another thing stands there.
        """
        try:
            found = self.lstat(name)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found.st_mode):
            raise self._refusal(name, found)
        return found

    def open(self, name: str, flags: int) -> int:
        """Open the regular file *name* and return its descriptor.

        Args:
            name: One part, no folder.
            flags: Of ``os.open``; the ones that guard against links and FIFOs are added.

        Raises:
            FileNotFoundError: It is not there.
            OSError: A link or another thing stands there, or the system refused.
        """
        if self.fd is None and not flags & os.O_EXCL:
            self.found(name)
        try:
            descriptor = os.open(self._at(name), flags | _GUARD, FILE_MODE, dir_fd=self.fd)
        except OSError as error:
            raise self._told(name, error) from error
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise self._refusal(name, found)
        if flags & os.O_EXCL:
            give_file(descriptor, self.fd)
        return descriptor

    @contextlib.contextmanager
    def opened(self, name: str, flags: int = os.O_RDONLY) -> Iterator[int]:
        """Open the regular file *name* as `open` does, and close it afterwards.

        What the system refuses in between is told of this file, where it names none.
        """
        descriptor = self.open(name, flags)
        try:
            yield descriptor
        except OSError as error:
            if error.errno is not None and error.filename is None:
                error.filename = self.where(name)
            raise
        finally:
            os.close(descriptor)

    def read(self, name: str) -> bytes:
        """Return the whole of the file *name*.

        Raises:
            FileNotFoundError: It is not there.
            OSError: As for `open`.
        """
        with self.opened(name) as descriptor:
            size = os.fstat(descriptor).st_size
            data = pread(descriptor, size, 0)
            if len(data) == size:
                return data
            return data + b"".join(chunks(descriptor, len(data), size))

    def _told(self, name: str, error: OSError) -> OSError:
        """Return *error* with the full path in it, and plainer where a link is the cause."""
        if error.errno is None:
            return error
        if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.EMLINK}:
            with contextlib.suppress(OSError):
                found = os.stat(self._at(name), dir_fd=self.fd, follow_symlinks=False)
                return self._refusal(name, found)
        return OSError(error.errno, error.strerror, self.where(name))

    def _refusal(self, name: str, found: os.stat_result) -> OSError:
        if stat.S_ISLNK(found.st_mode):
            why = "a symbolic link stands here; it is not followed"
            return OSError(errno.ELOOP, why, self.where(name))
        if stat.S_ISREG(found.st_mode):
            return NotADirectoryError(errno.ENOTDIR, "a file stands here", self.where(name))
        return OSError(errno.EINVAL, "this is not a regular file", self.where(name))
