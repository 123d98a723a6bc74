"""The session's lock, which every change takes; other programs take it too.

It is ``flock`` on one file of the session, by way of filelock. One lock
object stands for one real path in a process: threads queue at it first, and
the one that has it can take it again. Reads take no lock.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from agentmem_cli.errors import Io
from agentmem_cli.storage.session_lock import SessionLock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.storage.identity import Identity

_known: WeakValueDictionary[str, SessionLock] = WeakValueDictionary()
_guard = threading.Lock()


def lock_of(folder: str, *, linked: bool = True) -> SessionLock:
    """Return this process's one lock object for the directory *folder*.

    Args:
        folder: Its path.
        linked: Whether a link may stand for the folder itself, not only for those above it.
    """
    above, name = os.path.split(os.path.abspath(folder))
    real = os.path.realpath(folder) if linked else os.path.join(os.path.realpath(above), name)
    with _guard:
        lock = _known.get(real)
        if lock is None:
            lock = _known[real] = SessionLock(real)
        return lock


@contextmanager
def held(
    folder: str,
    wait_s: float,
    *,
    look_only: bool = False,
    linked: bool = True,
    known: Identity | None = None,
) -> Iterator[SessionLock]:
    """Hold the lock of the session directory *folder* for the block; re-entrant.

    Args:
        folder: Its path.
        wait_s: Seconds to wait.
        look_only: Whether it is not to be changed.
        linked: As for `lock_of`.
        known: As for `SessionLock.acquire`.

    Raises:
        Busy: It was not free within *wait_s* seconds.
        ConflictError: The directory that is meant stands there no more.
        Io: It cannot be taken at all, or *look_only* is set, as a link stands for the session;
            nothing was written.
    """
    if look_only:
        real = os.path.realpath(folder)
        msg = f"{folder} is a link to {real}, which is looked at and not changed"
        raise Io(msg, hint="Name the folder that it leads to.")
    _refuse_nowhere(folder)
    with holding(lock_of(folder, linked=linked), wait_s, known) as lock:
        yield lock


@contextmanager
def holding(
    lock: SessionLock, wait_s: float, known: Identity | None = None
) -> Iterator[SessionLock]:
    """Hold *lock* for the block, once more where it is held; it raises as `held` does."""
    lock.acquire(max(wait_s, 0.0), known)
    owner = os.getpid()
    try:
        yield lock
    finally:
        if os.getpid() == owner:  # a forked child must not give back what its parent holds
            lock.release()


def _refuse_nowhere(folder: str) -> None:
    """See that no link on the way leads nowhere: what is made there may be on another disk.

    Raises:
        Io: One does.
    """
    place = folder
    while not os.path.isdir(place) and place != os.path.dirname(place):
        if os.path.islink(place):
            msg = f"{place} is a link, and there is no folder where it leads"
            raise Io(msg, hint="Make that folder first, or remove the link.")
        place = os.path.dirname(place)


def _forget() -> None:
    # In a forked child: its parent's locks are not its own.
    global _guard, _known  # noqa: PLW0603
    _guard = threading.Lock()
    _known = WeakValueDictionary()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
