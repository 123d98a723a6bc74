"""Giving an unfinished change up, keeping its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.storage import listing, redo
from agentmem_cli.storage.layout import FILES, RECOVERED, REDO, split

if TYPE_CHECKING:
    from agentmem_cli.storage.files import Folder

_DIGEST_CHARACTERS = 32


def kept_names(root: Folder, live: set[str]) -> list[tuple[str, str]]:
    """Return what `give_up` sets aside, and the names that it gets; nothing is changed.

    Args:
        root: The session directory.
        live: Names of part files that are being written.
    """
    names: list[tuple[str, str]] = []
    for path in listing.staged_parts(root):
        if split(path)[1] not in live:
            digest = redo.digest_of(root, path, b"")[:_DIGEST_CHARACTERS]
            names.append((path, f"{RECOVERED}unfinished-{digest}.part"))
    found = root.found(REDO)
    if found is not None and found.st_size:
        names.append((REDO, f"{RECOVERED}redo-{listing.sha256(root, REDO)}.part"))
    return names


def give_up(root: Folder, live: set[str]) -> list[str]:
    """Set an unfinished change aside: its staged bytes, and then the redo file.

    Each staged part file goes to ``recovered/unfinished-<its digest>.part``:
    the bytes that were to be added, or the whole new content. The redo file
    goes to ``recovered/redo-<its SHA-256>.part``; an empty one is removed.

    Args:
        root: The session directory, its lock held.
        live: Names of part files that are being written.

    Returns:
        The names of the files set aside, sorted.

    Raises:
        OSError: The system refused; a later try goes on.
    """
    names = kept_names(root, live)
    for path, new in names:
        folders, name = split(path)
        with (
            root.walk(folders) as source,
            root.reach((FILES, RECOVERED.rstrip("/"))) as target,
        ):
            source.move(name, target, split(new)[1])
            target.sync()
            source.sync()
    redo.disarm(root)
    return sorted(new for _, new in names)
