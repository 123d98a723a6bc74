"""Giving an unfinished change up, keeping its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.storage import redo
from agentmem_cli.storage.layout import FILES, RECOVERED, split
from agentmem_cli.storage.listing import staged_parts

if TYPE_CHECKING:
    from agentmem_cli.storage.files import Folder
    from agentmem_cli.storage.locks import SessionLock

_DIGEST_CHARACTERS = 32


def give_up(root: Folder, lock: SessionLock) -> list[str]:
    """Set the staged bytes of an unfinished change aside and remove the redo file.

    Each staged part file goes to ``recovered/unfinished-<its digest>.part``:
    the bytes that were to be added, or the whole new content.

    Args:
        root: The session directory.
        lock: Its lock, held.

    Returns:
        The names of the files set aside, sorted.

    Raises:
        OSError: The system refused; a later try goes on.
    """
    aside = []
    for path in staged_parts(root):
        folders, name = split(path)
        if name in lock.live:
            continue
        digest = redo.digest_of(root, path, b"")[:_DIGEST_CHARACTERS]
        new = f"{RECOVERED}unfinished-{digest}.part"
        with (
            root.walk(folders) as source,
            root.reach((FILES, RECOVERED.rstrip("/"))) as target,
        ):
            source.move(name, target, split(new)[1])
            target.sync()
            source.sync()
        aside.append(new)
    redo.disarm(root)
    return sorted(aside)
