"""What is done around a change: leftovers removed, the lock file's time set."""

from __future__ import annotations

import contextlib
import stat
from typing import TYPE_CHECKING

from agentmem_cli.storage.layout import REDO, is_staged, log_of, split
from agentmem_cli.storage.listing import leftovers, staged_parts
from agentmem_cli.storage.trees import remove_tree

if TYPE_CHECKING:
    from agentmem_cli.storage.files import Folder
    from agentmem_cli.storage.session_lock import SessionLock


def mark(root: Folder, lock: SessionLock, paths: list[str]) -> None:
    """Set the lock file's time to that of the newest log among *paths*, if there is one."""
    newest = 0
    for path in paths:
        if log_of(path) is None:
            continue
        folders, name = split(path)
        with contextlib.suppress(OSError), root.walk(folders) as folder:
            newest = max(newest, folder.lstat(name).st_mtime_ns)
    if newest:
        lock.mark(newest)


def sweep(root: Folder, live: set[str], *, strictly: bool = False) -> None:
    """Remove staged part files in the session directory *root* but those named in *live*.

    Raises:
        OSError: They cannot be listed or, if *strictly*, one cannot be removed.
    """
    for path in staged_parts(root):
        folders, name = split(path)
        if name in live:
            continue
        assert is_staged(name)
        with contextlib.suppress(*() if strictly else (OSError,)), root.walk(folders) as folder:
            folder.remove(name)


def clear(root: Folder, live: set[str]) -> None:
    """Remove the part files and the trash of any program but the parts named in *live*.

    Raises:
        OSError: The system refused.
    """
    for path in leftovers(root):
        folders, name = split(path)
        if name in live or path == REDO:
            continue
        with root.walk(folders) as folder:
            if stat.S_ISDIR(folder.lstat(name).st_mode):
                remove_tree(folder, name)
            else:
                # Why a link, too: it goes, and what it leads to stays.
                folder.remove(name)
