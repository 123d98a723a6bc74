"""Removing a whole session: renamed first, so that no half of one is ever there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentmem_cli.errors import ConflictError
from agentmem_cli.storage.files import remove_tree, rename_folder
from agentmem_cli.storage.layout import TRASH
from agentmem_cli.storage.streams import token

if TYPE_CHECKING:
    from agentmem_cli.storage.session_lock import SessionLock


def destroy(place: str, lock: SessionLock | None) -> None:
    """Remove the session directory at *place* with all it holds; links inside are not followed.

    Killed, it leaves ``<name>.rig-trash`` beside it.

    Args:
        place: The directory itself, no link to it.
        lock: Its lock, which is held; None: it cannot be while the folder is moved (Windows).

    Raises:
        ConflictError: Something else was put in its place; that stays.
        OSError: The system refused.
    """
    trash = f"{place}{TRASH}"
    if os.path.lexists(trash):
        trash = f"{place}.{token()}{TRASH}"
    # Whoever waits at the lock finds its file gone, and so the session.
    rename_folder(place, trash)
    if lock is not None and not lock.is_of(trash):
        rename_folder(trash, place)
        msg = f"{place}: something else was put in its place meanwhile"
        raise ConflictError(msg, hint="Nothing was removed; look what stands there.")
    try:
        remove_tree(trash)
    except (OSError, KeyboardInterrupt) as error:
        error.add_note(f"the session is removed; what is left stands in {trash} (gc --all)")
        raise
