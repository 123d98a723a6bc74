"""Changing files and folders, the careful way: the one place that renames and fsyncs.

New files are 0600 and new folders 0700 from the moment they exist. What a
disk keeps after a power cut is what it was told by ``fsync`` to keep, on a
disk that honours it (macOS is told by ``F_FULLFSYNC``).
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import ConflictError
from agentmem_cli.storage.folder import FILE_MODE, Place
from agentmem_cli.storage.owning import make_folder
from agentmem_cli.storage.streams import pread, token, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Self

FOLDER_MODE: Final = 0o700
"""Mode of a new folder."""

RETRY_WAITS_S: Final = (0.01, 0.03, 0.1, 0.2, 0.4)
"""Seconds between tries of a rename that was refused; a virus scanner lets go within these."""

_MAKE_TRIES: Final = 4

_NO_FOLDER_SYNC: Final = frozenset({errno.EINVAL, errno.ENOTSUP})


class Folder(Place):
    """A `Place` in which files and folders may be made, changed and removed."""

    __slots__ = ()

    @classmethod
    def made(cls, path: str) -> Self:
        """Open the directory at *path*; it and those above it are made where missing.

        Raises:
            OSError: Something else stands there, or the system refused.
        """
        make_folders(path)
        return cls.at(path)

    def reach(
        self,
        folders: Sequence[str],
        made: list[tuple[str, ...]] | None = None,
        *,
        durably: bool = True,
    ) -> Self:
        """Open the folder that *folders* lead to; it and those above it are made where missing.

        Args:
            folders: One after the other, from here.
            made: Gets the way to each folder that is new, outermost first.
            durably: Whether the names of new ones are synced.

        Raises:
            OSError: A link or another thing stands on the way, or the system refused.
        """
        here = self.walk(())
        for count, name in enumerate(folders, 1):
            with here:
                if here.make(name):
                    if made is not None:
                        made.append(tuple(folders[:count]))
                    if durably:
                        here.sync()
                here = here.child(name)
        return here

    def make(self, name: str) -> bool:
        """Make the folder *name* and return whether it is new; `sync` is the caller's."""
        try:
            make_folder(self._at(name), FOLDER_MODE, dir_fd=self.fd)
        except FileExistsError:
            return False
        return True

    def remove_folder(self, name: str) -> bool:
        """Remove the folder *name* if it is empty; return whether it went."""
        try:
            os.rmdir(self._at(name), dir_fd=self.fd)
        except OSError:
            return False
        return True

    def sync(self) -> None:
        """Make the names in here durable.

        Raises:
            OSError: The disk refused.
        """
        if self.fd is None:
            return  # Windows cannot open a folder for this
        try:
            os.fsync(self.fd)
        except OSError as error:
            # Some network file systems have no fsync of a folder; there is nothing to do about it.
            if error.errno not in _NO_FOLDER_SYNC:
                raise

    def write_new(self, name: str, data: bytes | bytearray) -> None:
        """Make the file *name*, which is not there yet, with *data* in it.

        Raises:
            OSError: It is there, or the system refused; then it is gone again.
        """
        descriptor = self.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            try:
                write_whole(descriptor, data)
                sync_file(descriptor)
            finally:
                os.close(descriptor)
        except BaseException:
            self.discard(name)
            raise

    def add(self, name: str, data: bytes | bytearray, *, new: bool) -> None:
        """Put *data* at the end of the file *name*, which is made if *new*; not synced.

        Only for files that nobody reads yet: a failure leaves a part of *data*.
        """
        making = os.O_CREAT | os.O_EXCL if new else 0
        with self.opened(name, os.O_WRONLY | os.O_APPEND | making) as descriptor:
            write_whole(descriptor, data)

    def sync_contents(self, name: str) -> None:
        """Make what is in the file *name* durable."""
        with self.opened(name, os.O_RDWR) as descriptor:
            sync_file(descriptor)

    def append(self, name: str, length: int, data: bytes | bytearray) -> int:
        """Put *data* at the end of the file *name*, of *length* bytes, with one write, durably.

        A short write is completed. Whatever goes wrong, the file is cut back to *length*.
        What is returned is its modification time, nanoseconds since the epoch.

        Raises:
            ConflictError: It has another size; nothing was written.
            OSError: The system refused; the file is as it was.
        """
        with self.opened(name, os.O_RDWR | os.O_APPEND) as descriptor:
            self.expect(name, os.fstat(descriptor).st_size, length)
            try:
                write_whole(descriptor, data)
                sync_file(descriptor)
            except BaseException as error:
                cut_back(descriptor, length, error, data)
                raise
            return os.fstat(descriptor).st_mtime_ns

    def expect(self, name: str, size: int, *sizes: int) -> None:
        """Refuse to go on unless *size*, of the file *name*, is one of *sizes*.

        Raises:
            ConflictError: It is not: someone wrote without taking the lock.
        """
        if size not in sizes:
            raise ConflictError(
                f"{self.where(name)}: a program that takes no lock changed it just now",
                hint="Stop that program, then run the command again.",
            )

    def cut(self, name: str, length: int) -> int:
        """Cut the file *name* to *length* bytes, durably; return its time in nanoseconds."""
        with self.opened(name, os.O_WRONLY) as descriptor:
            os.ftruncate(descriptor, length)
            sync_file(descriptor)
            return os.fstat(descriptor).st_mtime_ns

    def replace(
        self, source: str, target: str, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Put the file *source* in the place of *target*; `sync` is the caller's.

        Where a refusal can be a passing one (Windows, while any program has the
        file open) it is tried again a few times; *sleep* waits seconds.

        Raises:
            OSError: It was refused to the end; both files are as they were.
        """
        self.move(source, self, target, sleep=sleep)

    def move(
        self, name: str, target: Folder, new: str, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Move the file *name* to *target* as *new*, as `replace` does; syncing is the caller's."""
        old, place = self._at(name), target._at(new)
        _patiently(lambda: os.replace(old, place, src_dir_fd=self.fd, dst_dir_fd=target.fd), sleep)

    def link(self, name: str, new: str) -> None:
        """Give the file *name* the second name *new* in here; no link is followed."""
        names = self._at(name), self._at(new)
        os.link(*names, src_dir_fd=self.fd, dst_dir_fd=self.fd, follow_symlinks=False)

    def match_mode(self, source: str, target: str) -> None:
        """Give *source* the tighter mode of *target*, which it is to replace.

        Group and others get nothing, whatever *target* allowed them.
        """
        found = self.found(target)
        if found is None:
            return
        mode = stat.S_IMODE(found.st_mode) & FILE_MODE
        if mode != FILE_MODE and os.name != "nt":
            os.chmod(self._at(source), mode, dir_fd=self.fd)

    def touch(self, name: str) -> None:
        """Set the modification time of *name* to now."""
        os.utime(self._at(name), dir_fd=self.fd)

    def remove(self, name: str) -> bool:
        """Remove the file *name*; return whether it was there. `sync` is the caller's."""
        try:
            os.unlink(self._at(name), dir_fd=self.fd)
        except FileNotFoundError:
            return False
        return True

    def discard(self, name: str) -> None:
        """Remove the file *name* as far as it goes; used on the way out of a failure."""
        with contextlib.suppress(OSError):
            self.remove(name)


def _patiently(rename: Callable[[], None], sleep: Callable[[float], None] = time.sleep) -> None:
    for wait_s in RETRY_WAITS_S:
        try:
            return rename()
        except PermissionError:
            sleep(wait_s)
    return rename()


def make_folders(path: str) -> bool:
    """Make the directory at *path* and those above it; return whether it is new.

    Raises:
        OSError: The system refused, or something else stands there.
    """
    # Why again: others make and remove folders here at the same time. Why not for ever: some
    # file systems (proc) go on saying that what is above is not there.
    for left in reversed(range(_MAKE_TRIES)):
        try:
            make_folder(path, FOLDER_MODE)
        except FileExistsError:
            if os.path.isdir(path):
                return False
            if os.path.lexists(path) or not left:
                raise
        except FileNotFoundError:
            above = os.path.dirname(path)
            if above in {"", path} or not left:
                raise
            make_folders(above)
        else:
            break
    sync_folder_of(path)
    return True


def sync_folder_of(path: str) -> None:
    """Make the name of *path* durable in the folder that holds it."""
    with Folder.at(os.path.dirname(os.path.abspath(path))) as folder:
        folder.sync()


def replace_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Put *data* at *path* whole, or not at all.

    A reader sees the old bytes or the new ones, never a mixture. When this
    returns the new ones are on the disk. A link at *path* is refused; a mode
    tighter than 0600 is kept, a looser one is not.

    Args:
        path: The file to write. Its folder must exist.
        data: The whole new content.

    Raises:
        OSError: A step failed. *path* holds the old bytes, or (only where the
            last step, the folder's fsync, failed) the new ones: never a part.
    """
    folder, name = os.path.split(os.path.abspath(path))
    with Folder.at(folder) as place:
        put(place, name, data, f".agentfile-{token()}.rig-part")


def write_atomically(path: str | os.PathLike[str], pieces: Iterable[bytes], *, over: bool) -> int:
    """Put *pieces* at *path* one after the other, whole or not at all.

    As `replace_atomically`, but for content that is never all in memory.

    Args:
        path: The file to write. Its folder is made where missing.
        pieces: The content.
        over: Whether a file that is there already is replaced.

    Returns:
        The bytes written.

    Raises:
        FileExistsError: One is there and *over* is false; nothing was written.
        OSError: A step failed; *path* is as it was.
    """
    folder, name = os.path.split(os.path.abspath(path))
    part = f".agentfile-{token()}.rig-part"
    size = 0
    with Folder.made(folder) as place:
        if place.found(name) is not None and not over:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place.where(name))
        place.add(part, b"", new=True)
        try:
            for piece in pieces:
                place.add(part, piece, new=False)
                size += len(piece)
            place.sync_contents(part)
            place.match_mode(part, name)
            place.replace(part, name)
        except BaseException:
            place.discard(part)
            raise
        place.sync()
    return size


def put(folder: Folder, name: str, data: bytes, part: str) -> None:
    """Do `replace_atomically` for *name* in *folder*, by the part file named *part*."""
    folder.found(name)  # a link is refused before anything is written
    folder.write_new(part, data)
    try:
        folder.match_mode(part, name)
        folder.replace(part, name)
    except BaseException:
        folder.discard(part)
        raise
    folder.sync()


def rename_folder(source: str, target: str) -> None:
    """Rename the directory *source* to *target* beside it, durably; `OSError`: nothing changed."""
    _patiently(lambda: os.rename(source, target))
    try:
        sync_folder_of(target)
    except OSError as error:
        os.rename(target, source)  # who is told that it failed looks for it there
        raise OSError(error.errno, error.strerror, source) from error


def remove_tree(path: str) -> None:
    """Remove the directory at *path* with all it holds; links inside are not followed.

    Raises:
        OSError: The system refused; a part of it may be gone.
    """
    import shutil

    shutil.rmtree(path)
    sync_folder_of(path)


def sync_file(descriptor: int) -> None:
    """Make what was written to *descriptor* durable."""
    if sys.platform == "darwin":
        import fcntl

        # Plain fsync stops at the drive's own cache there; not every disk knows this call.
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def cut_back(
    descriptor: int, length: int, error: BaseException, ours: bytes | bytearray | None = None
) -> None:
    """Cut an open file back to *length* bytes on the way out of *error*; a note says if not.

    It is left as it is where something else than the first of *ours* stands there.
    """
    try:
        more = max(0, os.fstat(descriptor).st_size - length)
        if ours is not None and pread(descriptor, more, length) != ours[:more]:
            error.add_note("another program added to the file meanwhile, so nothing was cut off")
            return
        os.ftruncate(descriptor, length)
        sync_file(descriptor)
    except OSError as second:
        error.add_note(f"the file could not be cut back to {length} bytes: {second}")
