"""Finding a session, opening it, and what is to be told about it before anything else."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem_cli.cli.output import warn
from agentmem_cli.cli.text import one_line
from agentmem_cli.errors import (
    AmbiguousError,
    ConflictError,
    NotFoundError,
    OldLayout,
    SessionError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.catalog import Found
    from agentmem_cli.storage.directory import DirStore


def find_shown(settings: Settings, words: str) -> Found:
    """Find a session by *words*, or by its name as a screen shows it, signs and all.

    Raises:
        NotFoundError: No session is named so.
        AmbiguousError: More than one is.
    """
    from agentmem_cli.operations.catalog import find, names

    try:
        return find(settings.root, words)
    except AmbiguousError:
        raise
    except NotFoundError:
        fitting = [name for name in names(str(settings.root)) if one_line(name) == words]
        if len(fitting) != 1:
            raise
        return find(settings.root, fitting[0])


def open_to_look(settings: Settings, words: str) -> tuple[Found, DirStore]:
    """Find a session and open it to be shown.

    What a crash left undone is seen as finished; where that cannot be, it is
    told, and the session is shown as it lies there. Nothing is written.
    """
    from agentmem_cli.operations.catalog import open_finished, open_session

    found = find_shown(settings, words)
    try:
        store = open_finished(found, lock_wait_s=settings.lock_wait_s)
    except OldLayout:
        raise
    except (ConflictError, SessionError, OSError) as error:
        store = open_session(found, lock_wait_s=settings.lock_wait_s, finish=False)
        warn(f"{found.id}: a change was cut short and cannot be finished now: {error}")
    warn_of_readers(found.id, store)
    warn_of_writers(store.path.parent)
    return found, store


def open_to_follow(settings: Settings, words: str) -> tuple[Found, DirStore]:
    """Find a session and open it to see it grow; it is read as it lies there, at each look."""
    from agentmem_cli.operations.catalog import open_session

    found = find_shown(settings, words)
    store = open_session(found, lock_wait_s=settings.lock_wait_s, finish=False)
    if store.pending():
        warn(f"{found.id}: a change was cut short; it is read as it lies there")
    warn_of_readers(found.id, store)
    warn_of_writers(store.path.parent)
    return found, store


def open_to_change(settings: Settings, words: str) -> tuple[Found, DirStore]:
    """Find a session and open it for a change."""
    from agentmem_cli.operations.catalog import open_session

    found = find_shown(settings, words)
    store = open_session(found, lock_wait_s=settings.lock_wait_s)
    warn_of_readers(found.id, store)
    warn_of_writers(store.path.parent)
    return found, store


def warn_of_readers(session: str, store: DirStore) -> bool:
    """Warn where other users of the machine may read a session; return whether they may."""
    try:
        loose = store.loose()
    except OSError:
        return False  # Why: whatever cannot be read here is told where it is needed.
    if loose:
        more = f" and {len(loose) - 1} files and folders in it" if len(loose) > 1 else ""
        warn(
            f"{session}: other users of this machine may get at it{more}; "
            f"chmod -R go= {store.path} keeps them out"
        )
    return bool(loose)


def warn_of_places(settings: Settings, found: Sequence[Found]) -> None:
    """Do `warn_of_writers` for the root and for each folder that sessions stand in, once."""
    places = {settings.root: None, **{Path(each.path).parent: None for each in found}}
    for folder in places:
        warn_of_writers(folder)


def warn_of_writers(folder: Path) -> None:
    """Warn where anyone may put sessions into *folder*, or others in their place."""
    try:
        mode = folder.stat().st_mode
    except OSError:
        return  # Why: what cannot be read is told where it is needed.
    if os.name != "nt" and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        warn(
            f"{folder}: other users of this machine may put sessions in the place of yours; "
            f"chmod o-w {folder} keeps them out"
        )
