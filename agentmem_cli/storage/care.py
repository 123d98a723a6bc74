"""What lies about beside and in sessions, and making them private."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.storage.files import Folder
from agentmem_cli.storage.layout import STAGES, TRASH, is_leftover, split
from agentmem_cli.storage.listing import leftovers, loose
from agentmem_cli.storage.locks import held
from agentmem_cli.storage.recovery import WHOLE, outlook
from agentmem_cli.storage.rescue import kept_names
from agentmem_cli.storage.settling import is_held
from agentmem_cli.storage.swapping import PART
from agentmem_cli.storage.sweeping import clear
from agentmem_cli.storage.trees import remove_tree

if TYPE_CHECKING:
    from agentmem_cli.storage.directory import DirStore


class Left(NamedTuple):
    """What a command that was stopped left under the root, or is called as that is."""

    name: str
    """Its path below the root, with slashes."""
    why: str


_STAGE = "a session that an import had not finished when it was stopped"
_ODD = "it is called as what a stopped command leaves, and is no folder"
_TRASH = "a session that was being removed when the command was stopped"


def left_in_root(root: str) -> list[Left]:
    """Return what stands under *root* of sessions half made or half removed, sorted.

    A stage whose lock is held is one that is being made. What is called as such
    and is no folder (a link, a pipe, a file) is named, too. Nothing is changed,
    and nothing is locked for longer than the look.
    """
    found = [Left(name, _TRASH) for name in _names(root, folders=True) if name.endswith(TRASH)]
    # Why not those of a file that is written here (an export): they go with who makes them.
    found += [
        Left(name, _ODD)
        for name in _names(root, folders=False)
        if is_leftover(name) and not PART.fullmatch(name)
    ]
    stages = os.path.join(root, STAGES)
    if not os.path.islink(stages):
        found += [
            Left(f"{STAGES}/{name}", _STAGE)
            for name in _names(stages, folders=True)
            if not is_held(os.path.join(stages, name))
        ]
        found += [Left(f"{STAGES}/{name}", _ODD) for name in _names(stages, folders=False)]
    return sorted(found)


def remove_left(root: str, name: str) -> bool:
    """Remove what `left_in_root` named; return whether it is gone now.

    Raises:
        OSError: The system refused; a part of it may be gone.
    """
    folders, last = split(name)
    with suppress(FileNotFoundError), Folder.at(root) as top, top.walk(folders) as folder:
        if not stat.S_ISDIR(folder.lstat(last).st_mode):
            folder.remove(last)  # a link goes, and what it leads to stays
            return True
        if name.endswith(TRASH):
            remove_tree(folder, last)
            return True
        with held(os.path.join(root, name), 0.0) as lock:
            if lock.depth > 1 or not lock.is_of(folder, last):
                return False  # this very thread is making it, or it is another one by now
            remove_tree(folder, last)
        top.remove_folder(STAGES)
    return True


def _names(path: str, *, folders: bool) -> list[str]:
    """Return the names in a folder, of the *folders* there or of what is none."""
    try:
        with os.scandir(path) as entries:
            return [
                entry.name for entry in entries if entry.is_dir(follow_symlinks=False) == folders
            ]
    except OSError:
        return []


def at_work(store: DirStore) -> bool:
    """Return whether anybody holds the session's lock now; nothing is locked for longer than that.

    Where a system or a disk has no ``flock`` the answer is no.
    """
    return is_held(str(store.path))


def unfinished(store: DirStore) -> tuple[str, list[str]]:
    """Return what becomes of an unfinished change, and the files that giving it up would make.

    Nothing is changed. The first is the kind of a `recovery.Outlook`.

    Raises:
        ConflictError: The redo file is of another format.
        OSError: The system refused.
    """
    with store.folder() as root:
        found = outlook(root).kind
        return found, [] if found == WHOLE else sorted(new for _, new in kept_names(root, set()))


def clear_leftovers(store: DirStore) -> list[str]:
    """Remove part files and trash of any program in a session; return what was there.

    Raises:
        Busy: The lock was not free in time.
        OSError: The system refused.
    """
    with store.held() as lock, lock.opened(str(store.path)) as root:
        found = [path for path in leftovers(root) if split(path)[1] not in lock.live]
        if found:
            clear(root, lock.live)
    return found


def tighten(store: DirStore) -> list[str]:
    """Take from group and others what they may do with a session; return what was loose.

    Raises:
        Busy: The lock was not free in time.
        OSError: The system refused.
    """
    with store.held() as lock, lock.opened(str(store.path)) as root:
        found = loose(root)
        # Why the outermost last: a folder that keeps others out hides what it holds from a look.
        for path in reversed(found):
            _close(root, path)
    return found


def _close(root: Folder, path: str) -> None:
    """Keep group and others out of one file or folder; nothing behind a link changes."""
    folders, name = split(path)
    with root.walk(folders) as folder:
        found = folder.lstat(name).st_mode
        mode = stat.S_IMODE(found) & ~(stat.S_IRWXG | stat.S_IRWXO)
        if stat.S_ISDIR(found):
            with folder.walk([name] if name != "." else []) as inner:
                assert inner.fd is not None
                os.fchmod(inner.fd, mode)
        elif stat.S_ISREG(found):
            with folder.opened(name) as descriptor:
                os.fchmod(descriptor, mode)
