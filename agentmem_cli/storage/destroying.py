"""Removing a whole session: renamed first, so that no half of one is ever there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentmem_cli.storage.files import Folder
from agentmem_cli.storage.layout import TRASH
from agentmem_cli.storage.streams import token
from agentmem_cli.storage.trees import remove_tree, rename_own

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
    folder, name = os.path.split(place)
    # Why it stays open: another one may come in its place, with a folder of the same name in it.
    with Folder.at(folder) as above:
        trash = f"{name}{TRASH}"
        if os.path.lexists(above.where(trash)):
            trash = f"{name}.{token()}{TRASH}"
        # Whoever waits at the lock finds its file gone, and so the session.
        rename_own(above, name, trash, lock)
        try:
            remove_tree(above, trash)
        except (OSError, KeyboardInterrupt) as error:
            where = above.where(trash)
            error.add_note(f"the session is removed; what is left stands in {where} (gc --all)")
            raise
