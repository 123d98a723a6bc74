"""What lies in a session directory: one walk, never through a link."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from agentmem_cli.storage.layout import (
    BLOBS,
    FILES,
    LOCK,
    LOG_END,
    LOGS,
    PLUGINS,
    REDO,
    TRASH,
    is_leftover,
    is_staged,
)
from agentmem_cli.storage.names import is_log_name, is_name
from agentmem_cli.storage.streams import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.storage.folder import Place


def log_names(root: Place) -> list[str]:
    """Return the names of the logs in the session directory *root*, sorted.

    Raises:
        OSError: The folder of the logs is a link, or the system refused.
    """
    try:
        folder = root.child(LOGS)
    except FileNotFoundError:
        return []
    with folder:
        names = [
            entry.name[: -len(LOG_END)]
            for entry in folder.entries()
            if entry.name.endswith(LOG_END) and entry.is_file(follow_symlinks=False)
        ]
    return sorted(filter(is_log_name, names))


def file_names(root: Place) -> list[str]:
    """Return the names of the files in the session directory *root*, sorted.

    Raises:
        OSError: The folder of the files is a link, or the system refused.
    """
    try:
        folder = root.child(FILES)
    except FileNotFoundError:
        return []
    with folder:
        return names_below(folder)


def names_below(folder: Place) -> list[str]:
    """Return the names of the regular files below *folder*, sorted; leftovers are none."""
    found = (path for path, entry in walk(folder) if entry.is_file(follow_symlinks=False))
    return sorted(path for path in found if is_name(path))


def staged_parts(root: Place) -> list[str]:
    """Return the relative paths of staged part files in the session directory *root*."""
    return [path for path in leftovers(root) if is_staged(path.rpartition("/")[2])]


def leftovers(root: Place) -> list[str]:
    """Return the relative paths of part files, trash and a redo file in *root*, sorted.

    A folder that is called as a part file is somebody's own: no program leaves one.
    """
    found = [
        path
        for path, entry in _session(root)
        if path == REDO
        or path.endswith(TRASH)
        or (is_leftover(path) and not entry.is_dir(follow_symlinks=False))
    ]
    return sorted(found)


def loose(root: Place) -> list[str]:
    """Return the relative paths of what group or others may get at, sorted; ``.`` is *root*.

    What lies in a folder that keeps them out is not named.
    """
    if not _lets_in(root.lstat(".").st_mode):
        return []
    found = ["."]
    shut: list[str] = []
    for path, entry in _session(root):
        if path.startswith(tuple(shut)) or entry.is_symlink():
            continue
        if _lets_in(entry.stat(follow_symlinks=False).st_mode):
            found.append(path)
        elif entry.is_dir(follow_symlinks=False):
            shut.append(f"{path}/")
    return sorted(found)


def _lets_in(mode: int) -> bool:
    return bool(mode & (stat.S_IRWXG | stat.S_IRWXO))


def _session(root: Place) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield what belongs to a session: the top, and all below the two folders it has."""
    for entry in root.entries():
        yield entry.name, entry
        if entry.name in {LOGS, FILES} and entry.is_dir(follow_symlinks=False):
            with root.child(entry.name) as folder:
                for path, inner in walk(folder, leftovers_too=True):
                    yield f"{entry.name}/{path}", inner


def astray(root: Place, own: set[str]) -> Iterator[str]:
    """Yield the relative paths below *root* that are not among its *own*; no link is followed.

    A folder is told with a slash at its end, and only where it is empty; a lock only where it
    is not.
    """
    waiting = [""]
    while waiting:
        above = waiting.pop()
        try:
            here = root.walk(above.split("/")[:-1])
        except FileNotFoundError:
            continue  # removed since it was seen
        is_empty = bool(above) and above not in _ITS_FOLDERS
        with here:
            for entry in here.entries():
                is_empty = False
                path = above + entry.name
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{path}/")
                elif path not in own and not _is_empty_lock(path, entry):
                    yield path
        if is_empty:
            yield above


_ITS_FOLDERS = {f"{LOGS}/", f"{FILES}/", f"{FILES}/{BLOBS}", f"{FILES}/{PLUGINS}"}


def _is_empty_lock(path: str, entry: os.DirEntry[str]) -> bool:
    if path != LOCK or not entry.is_file(follow_symlinks=False):
        return False
    return entry.stat(follow_symlinks=False).st_size == 0


def walk(folder: Place, *, leftovers_too: bool = False) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield each entry below *folder* with its relative path, folders before what they hold.

    Args:
        folder: Where to begin.
        leftovers_too: Also part files and trash, though not what trash holds.
    """
    waiting = [""]
    while waiting:
        above = waiting.pop()
        try:
            here = folder.walk(above.split("/")[:-1])
        except FileNotFoundError:
            continue  # removed since it was seen
        with here:
            for entry in here.entries():
                if is_leftover(entry.name) and not leftovers_too:
                    continue
                path = above + entry.name
                yield path, entry
                if entry.is_dir(follow_symlinks=False) and not entry.name.endswith(TRASH):
                    waiting.append(f"{path}/")


def sha256(folder: Place, name: str) -> str:
    """Return the SHA-256 of the file *name* in *folder*, read in pieces, as hex digits."""
    import hashlib

    digest = hashlib.sha256()
    with folder.opened(name) as descriptor:
        for chunk in chunks(descriptor, 0, os.fstat(descriptor).st_size):
            digest.update(chunk)
    return digest.hexdigest()
