"""What stands in a session's own places and is none of its files: links, folders, pipes.

A link is kept as a file that says where it led; a pipe or a device holds nothing,
and goes; a folder, and a file where a folder belongs, is renamed. Nothing is
followed, and nothing that a link leads to changes.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.storage.files import put
from agentmem_cli.storage.layout import (
    FILES,
    LOCK,
    LOGS,
    META,
    RECOVERED,
    REDO,
    file_path,
    split,
    staged_name,
)
from agentmem_cli.storage.streams import token

if TYPE_CHECKING:
    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.files import Folder


class Odd(NamedTuple):
    """A thing that is not what belongs in its place."""

    path: str
    """Its place below the session, with slashes."""
    what: str
    """`LINK`, `FOLDER`, `PIPE` or `FILE`."""
    target: str | None
    """The path below the session that its bytes get; None: it has none."""


LINK = "a symbolic link"
FOLDER = "a folder"
PIPE = "a pipe or a device"
FILE = "a file"

_RECOVERED = file_path(RECOVERED.rstrip("/"))
_MOVABLE = (_RECOVERED, file_path(META), REDO)
"""Places that are cleared; the first one first, since the others go into it."""
_NOTHING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL})
_FIXED = (LOCK, LOGS, FILES)
"""Places that a person has to clear: who works by another lock, or on other logs, is not known."""


def fixed_oddities(store: DirStore) -> list[Odd]:
    """Return what keeps a session from being mended at all; a person has to clear it."""
    with store.folder() as root:
        found = [_odd(root, path, folder=path != LOCK) for path in _FIXED]
    return [odd for odd in found if odd is not None]


def oddities(store: DirStore) -> list[Odd]:
    """Return what `clear_oddities` clears; nothing is changed."""
    with store.folder() as root:
        return _movable(root)


def _movable(root: Folder) -> list[Odd]:
    found = [_odd(root, path, folder=path == _RECOVERED) for path in _MOVABLE]
    return [odd for odd in found if odd is not None]


def _odd(root: Folder, path: str, *, folder: bool) -> Odd | None:
    folders, name = split(path)
    try:
        with root.walk(folders) as above:
            mode = above.lstat(name).st_mode
            led = _led(above, name) if stat.S_ISLNK(mode) else b""
    except OSError as error:
        if error.errno not in _NOTHING:
            raise
        return None  # nothing stands there, or what is above it is odd itself
    if stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode):
        return None
    if stat.S_ISLNK(mode):
        return Odd(path, LINK, _free(root, path, "link", led))
    if stat.S_ISDIR(mode):
        return Odd(path, FOLDER, _free(root, path, "folder"))
    return (
        Odd(path, FILE, _free(root, path, "file")) if stat.S_ISREG(mode) else Odd(path, PIPE, None)
    )


def _led(folder: Folder, name: str) -> bytes:
    """Return what is kept of the link *name*."""
    place = name if folder.fd is not None else folder.where(name)
    return os.fsencode(os.readlink(place, dir_fd=folder.fd)) + b"\n"


def _free(root: Folder, path: str, what: str, data: bytes | None = None) -> str:
    """Return a path that nothing has, or just *data*; what lies in ``recovered/`` goes beside it.

    A program that was killed between keeping a link and removing it left that.
    """
    name = split(path)[1].lstrip(".")
    stem = f"{_RECOVERED}.{what}" if path == _RECOVERED else f"{_RECOVERED}/{name}.{what}"
    found = stem
    count = 1
    while _is_there(root, found) and not _holds(root, found, data):
        count += 1
        found = f"{stem}-{count}"
    return found


def _is_there(root: Folder, path: str) -> bool:
    folders, name = split(path)
    try:
        with root.walk(folders) as folder:
            folder.lstat(name)
    except OSError:
        return False
    return True


def _holds(root: Folder, path: str, data: bytes | None) -> bool:
    if data is None:
        return False
    try:
        folders, name = split(path)
        with root.walk(folders) as folder:
            return folder.lstat(name).st_size == len(data) and folder.read(name) == data
    except OSError:
        return False


def clear_oddities(store: DirStore) -> list[Odd]:
    """Clear the session's own places of what does not belong there; return what that was.

    Raises:
        Busy: The lock was not free in time.
        OSError: The system refused; a later try goes on.
    """
    done: list[Odd] = []
    with store.held() as lock, lock.opened(str(store.path)) as root:
        for odd in _movable(root):
            _clear(root, odd)
            done.append(odd)
    return done


def _clear(root: Folder, odd: Odd) -> None:
    folders, name = split(odd.path)
    with root.walk(folders) as folder:
        if odd.target is None:
            folder.remove(name)
            folder.sync()
            return
        above, new = split(odd.target)
        with root.reach(above) as target:
            if odd.what == LINK:
                put(target, new, _led(folder, name), staged_name(token()))
                folder.remove(name)
            else:
                folder.move(name, target, new)
                target.sync()
            folder.sync()
