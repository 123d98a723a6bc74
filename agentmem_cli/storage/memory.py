"""A store in memory: for tests, for trying a change out, for programs without a disk."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

from agentmem_cli.errors import Busy, LogChanged
from agentmem_cli.limits import LOCK_WAIT_S
from agentmem_cli.storage.logfile import BytesLog
from agentmem_cli.storage.names import check_log_name, check_name
from agentmem_cli.storage.staging import StagedBatch

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Contents:
    """What the copies of a store share."""

    __slots__ = ("files", "lock", "logs")

    def __init__(self) -> None:
        """Begin with nothing."""
        self.logs: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {}
        self.lock = RLock()


class MemoryStore:
    """A `Store` in memory, safe to use from several threads.

    Copies (``copy.copy(store)``, ``MemoryStore(store)``) share the contents.
    """

    __slots__ = ("_contents",)

    def __init__(self, other: MemoryStore | None = None) -> None:
        """Begin empty, or share the contents of *other*."""
        self._contents: _Contents = _Contents() if other is None else other._contents  # noqa: SLF001

    def logs(self) -> list[str]:
        """Return the names of all logs, sorted."""
        with self._contents.lock:
            return sorted(self._contents.logs)

    def read_log(self, name: str) -> bytes:
        """Return the whole log; ``FileNotFoundError`` where there is none."""
        check_log_name(name)
        with self._contents.lock:
            return _get(self._contents.logs, name)

    def open_log(self, name: str) -> BytesLog:
        """Open the log as it is now; ``FileNotFoundError`` where there is none."""
        return BytesLog(self.read_log(name))

    def append_log(self, name: str, length: int, data: bytes) -> None:
        """Put *data* at the end of a log of *length* bytes; else ``LogChanged``."""
        with self._contents.lock:
            old = self._checked(name, length)
            if data:
                self._contents.logs[name] = old + data

    def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Put *data* in the place of a log of *length* bytes; else ``LogChanged``."""
        with self._contents.lock:
            self._checked(name, length)
            self._contents.logs[name] = bytes(data)

    def _checked(self, name: str, length: int) -> bytes:
        check_log_name(name)
        old = self._contents.logs.get(name, b"")
        if len(old) != length:
            raise LogChanged(name, length, len(old))
        return old

    def write_file(self, name: str, data: bytes) -> None:
        """Put *data* at *name*."""
        check_name(name)
        with self._contents.lock:
            self._contents.files[name] = bytes(data)

    def append_file(self, name: str, data: bytes) -> None:
        """Put *data* at the end of *name*, which is made where missing."""
        check_name(name)
        with self._contents.lock:
            self._contents.files[name] = self._contents.files.get(name, b"") + data

    def read_file(self, name: str) -> bytes:
        """Return the content of *name*; ``FileNotFoundError`` where there is none."""
        check_name(name)
        with self._contents.lock:
            return _get(self._contents.files, name)

    def remove_file(self, name: str) -> None:
        """Remove *name*; one that is absent is fine."""
        check_name(name)
        with self._contents.lock:
            self._contents.files.pop(name, None)

    def files(self) -> list[str]:
        """Return the names of all files, sorted."""
        with self._contents.lock:
            return sorted(self._contents.files)

    def destroy(self) -> None:
        """Forget everything."""
        with self._contents.lock:
            self._contents.logs.clear()
            self._contents.files.clear()

    @contextmanager
    def lock(self, wait_s: float | None = None) -> Iterator[None]:
        """Hold the contents; other threads wait. Re-entrant.

        Raises:
            Busy: Another thread held them for *wait_s* seconds.
        """
        wait_s = LOCK_WAIT_S if wait_s is None else max(wait_s, 0)
        if not self._contents.lock.acquire(timeout=wait_s):
            from pathlib import Path

            raise Busy(Path("(memory)"), wait_s)
        try:
            yield
        finally:
            self._contents.lock.release()

    @contextmanager
    def batch(self, *, wait_s: float | None = None) -> Iterator[StagedBatch]:
        """Make changes together: all of them when the block ends well, or none.

        Raises:
            Busy: Another thread held the contents for *wait_s* seconds.
        """
        with self.lock(wait_s):
            batch = StagedBatch(self)
            yield batch
            batch.apply()


def _get(contents: dict[str, bytes], name: str) -> bytes:
    try:
        return contents[name]
    except KeyError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name) from None
