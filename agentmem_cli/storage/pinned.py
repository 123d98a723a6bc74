"""A session's folder: what stands at its path or, while its lock is held, the one locked."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentmem_cli.storage.files import Folder
from agentmem_cli.storage.identity import identity_of
from agentmem_cli.storage.layout import REDO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentmem_cli.storage.session_lock import SessionLock


class Pinned:
    """What a store in a directory knows of where it is.

    ``lock_wait_s`` is how many seconds a change waits for the lock; where
    ``look_only`` is set every change is refused.
    """

    __slots__ = ("_held", "_known", "_linked", "_root", "lock_wait_s", "look_only")

    def __init__(self, root: str, lock_wait_s: float) -> None:
        """Use the directory *root* unchecked; it may be a link if it is one now."""
        self._root = root
        self._linked = os.path.islink(root)
        self._known = identity_of(root)
        self._held: SessionLock | None = None
        self.lock_wait_s = lock_wait_s
        self.look_only = False

    @property
    def path(self) -> Path:
        """The session directory."""
        from pathlib import Path

        return Path(self._root)

    @contextmanager
    def held(self, wait_s: float | None = None) -> Iterator[SessionLock]:
        """Hold the lock and finish nothing; Io where the session is only looked at.

        Until it is let go all is read and changed in the folder that is locked, whatever is put
        in its place. A session that was there is not begun anew where it was moved or removed.
        """
        from agentmem_cli.storage.locks import held, holding

        wait_s = self.lock_wait_s if wait_s is None else wait_s
        looks, linked, known = self.look_only, self._linked, self._known
        with (
            # Why not by its path: that may lead elsewhere by now, to another lock.
            holding(self._held, wait_s)
            if self._held and self._held.is_mine
            else held(self._root, wait_s, look_only=looks, linked=linked, known=known)
        ) as lock:
            before, self._held = self._held, lock
            try:
                yield lock
            finally:
                self._held = before
        if self._known is None and not lock.depth:
            self._known = identity_of(self._root)

    def folder(self) -> Folder:
        """Open the session directory: the one that it was opened on, whatever its path leads to.

        Raises:
            FileNotFoundError: Nothing stands there.
            OSError: Another one was put in its place, or the system refused.
        """
        lock = self._held
        if lock and lock.is_mine:
            return lock.opened(self._root)
        found = Folder.at(self._root)
        if found.fd is not None and self._known not in (None, identity_of(found.fd)):
            found.close()
            why = "another folder was put in the session's place"
            raise OSError(errno.ESTALE, why, self._root)
        return found

    def pending(self) -> bool:
        """Return whether a change of several files is under way, or was cut short."""
        if not (self._held and self._held.is_mine):
            return os.path.lexists(os.path.join(self._root, REDO))
        with self.folder() as root:
            try:
                root.lstat(REDO)
            except FileNotFoundError:
                return False
        return True

    @contextmanager
    def _top(self) -> Iterator[Folder | None]:
        """Open the session directory; None where it does not exist yet.

        Raises:
            FileNotFoundError: It was there, and is no more.
            OSError: The system refused.
        """
        try:
            root = self.folder()
        except FileNotFoundError:
            if self._known is not None:
                raise
            yield None
            return
        with root:
            yield root
