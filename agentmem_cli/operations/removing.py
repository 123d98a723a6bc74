"""`rm` and `prune`: whole sessions, with all that lies in their folders.

A session goes by one rename under its lock; what is removed after that is no
session any more. Nothing outside of its folder is touched.
"""

# ruff: noqa: PTH114, PTH118, PTH120, PTH208 - names under the root are text

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.facts import seen_in
from agentmem_cli.operations.kin import kin_of
from agentmem_cli.operations.listing import row_of
from agentmem_cli.session.heads import read_head
from agentmem_cli.session.images import BLOB_FOLDER
from agentmem_cli.session.keys import SESSION
from agentmem_cli.storage.layout import FILES, LOCK, LOGS, REDO, is_leftover
from agentmem_cli.storage.seen import IDLE_MS, refuse_busy
from agentmem_cli.storage.survey import survey

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentmem_cli.operations.catalog import Found
    from agentmem_cli.storage.directory import DirStore


class Goes(NamedTuple):
    """A session that is to be removed, and what goes with it."""

    found: Found
    title: str | None
    updated_ms: int | None
    """The time of its newest record; None: not known."""
    agents: int
    logs: int
    blobs: int
    files: int
    """Files but logs and blobs: meta, kept sources, what was set aside."""
    size: int
    """Bytes of all of it."""
    kin: tuple[str, ...]
    """Sessions beside it that hold messages of it too, and stay."""
    damaged: bool
    """Whether it cannot be read as it is."""


def goes_with(found: Found, store: DirStore, now_ms: int) -> Goes:
    """Return what removing a session takes along; nothing is changed.

    Raises:
        UsageError: A link leads to it.
        OSError: It cannot be read.
    """
    check_is_itself(found)
    row = row_of(found.id, found.path)
    folder, name = os.path.split(found.path)
    files = store.files()
    blobs = [each for each in files if each.startswith(BLOB_FOLDER)]
    logs = store.logs()
    return Goes(
        found,
        None if row is None else row.title,
        None if row is None else row.updated_ms,
        len([log for log in logs if log != SESSION]),
        len(logs),
        len(blobs),
        len(files) - len(blobs),
        sum(_sizes(found.path)),
        tuple(kin_of(folder, name, now_ms)),
        row is not None and row.problem is not None,
    )


def check_is_itself(found: Found) -> None:
    """See that a session is a folder, and no link to one.

    Raises:
        UsageError: It is a link: what it leads to may be somebody else's.
    """
    if os.path.islink(found.path):
        msg = f"{found.path} is a link to {os.path.realpath(found.path)}, which is not removed"
        raise UsageError(msg, hint="Name the folder that it leads to, or unlink it by hand.")


def check_is_session(root: Path, found: Found, store: DirStore) -> None:
    """See that a folder is a session and nothing more, since all of it is to go.

    Args:
        root: The folder of the sessions.
        found: The session.
        store: It, open.

    Raises:
        UsageError: Something else stands in it, or nothing says that it is a session.
        OSError: A folder in it is one that nothing may be removed from.
    """
    check_is_itself(found)
    known = (LOGS, FILES, LOCK, REDO)
    others = sorted(
        name for name in os.listdir(found.path) if name not in known and not is_leftover(name)
    )
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        msg = f"{found.path} holds {others[0]!r}{more}, which is no part of a session"
        raise UsageError(msg, hint="Nothing is removed; move that elsewhere first.")
    _check_open(found.path)
    above = os.path.realpath(os.path.dirname(found.path))
    if above == os.path.realpath(root):
        return
    if not any(read_head(store, log).header is not None for log in store.logs()):
        msg = f"{found.path}: no log in it begins as a session does, and it is not under {root}"
        raise UsageError(msg, hint="Nothing is removed.")


def _check_open(path: str) -> None:
    """See that all below *path* can be removed, before any of it is."""
    folders = [path]
    for above, names, _ in os.walk(path):
        inner = (os.path.join(above, name) for name in names)
        folders += [each for each in inner if not os.path.islink(each)]
    for folder in folders:
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)


def newest_ms(found: Found) -> int | None:
    """Return the time of a session's newest record as its logs' ends tell it; None: none does.

    A meta may say otherwise: it is a cache, and no reason to remove anything.
    """
    seen = survey(found.path)
    times = [each.updated_ms for each in seen_in(found.path, seen.logs).values()]
    return max((time for time in times if time is not None), default=None)


def remove(found: Found, store: DirStore, *, now_ms: int, if_idle_ms: int | None = IDLE_MS) -> None:
    """Remove a session with all it holds.

    Raises:
        UsageError: A link leads to it.
        errors.ConflictError: Another program is writing to it.
        errors.Busy: The lock was not free in time.
        OSError: The system refused. Once it is renamed it is gone for every command, and
            `gc` removes the rest.
    """
    check_is_itself(found)
    refuse_busy(store, if_idle_ms, now_ms, locked=False)
    with store.lock():
        refuse_busy(store, if_idle_ms, now_ms)
        if os.name != "nt":
            store.destroy()
            return
    store.destroy()  # Windows does not move a folder with an open file in it


def _sizes(path: str) -> Iterator[int]:
    """Yield the bytes of every file below *path*; links are not followed."""
    for above, _, names in os.walk(path):
        for name in names:
            try:
                yield os.lstat(os.path.join(above, name)).st_size
            except OSError:
                continue
