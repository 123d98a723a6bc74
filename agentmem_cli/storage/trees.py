"""Whole folders: renamed and removed by the open folder that holds them, wherever its path leads.

Links in them are not followed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentmem_cli.errors import ConflictError

if TYPE_CHECKING:
    from agentmem_cli.storage.files import Folder
    from agentmem_cli.storage.session_lock import SessionLock


def rename_own(above: Folder, old: str, new: str, lock: SessionLock | None) -> None:
    """Give the session's folder *old* in *above* the name *new*, durably.

    Args:
        above: The folder that it stands in.
        old: Its name.
        new: A name that nothing has there.
        lock: Its lock, which is held; None: it cannot be while the folder is moved (Windows).

    Raises:
        ConflictError: Something else was put in its place; that stays as it is called.
        OSError: The system refused; nothing changed.
    """
    _check(above, old, old, lock)
    try:
        above.move(old, above, new)
        try:
            # Why again: it may have come between the look and the rename.
            _check(above, new, old, lock)
            above.sync()
        except (ConflictError, OSError):
            above.move(new, above, old)  # who is told that it failed looks for it there
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, above.where(old)) from error


def remove_tree(above: Folder, name: str) -> None:
    """Remove the folder *name* in *above* with all it holds.

    Raises:
        OSError: The system refused; a part of it may be gone.
    """
    import shutil

    place = name if above.fd is not None else above.where(name)
    try:
        shutil.rmtree(place, dir_fd=above.fd)
    except OSError as error:
        if above.fd is not None and isinstance(error.filename, str):
            error.filename = above.where(name)
        raise
    above.sync()


def _check(above: Folder, name: str, called: str, lock: SessionLock | None) -> None:
    """See that the folder *name* is the one that is locked."""
    if lock is not None and not lock.is_of(above, name):
        msg = f"{os.path.join(above.path, called)}: something else was put in its place meanwhile"
        hint = "It was neither renamed nor removed; look what stands there."
        raise ConflictError(msg, hint=hint)
