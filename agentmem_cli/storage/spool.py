"""Bytes on their way to one target of a batch: in memory, then in a part file."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Final, Protocol

from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.storage.layout import beside, split, staged_name
from agentmem_cli.storage.streams import token

if TYPE_CHECKING:
    from agentmem_cli.storage.files import Folder

BUDGET_BYTES: Final = 8 * CHUNK_BYTES
"""Bytes that all spools of a batch hold in memory together, whatever their number."""


class Stage(Protocol):
    """What spools share: the batch they belong to."""

    waiting_bytes: int

    def folder(self, path: str) -> Folder:
        """Open, and make where missing, the folder of the relative *path*."""

    def part_made(self, path: str) -> None:
        """Note that the part file at the relative *path* is about to exist."""

    def relieve(self) -> None:
        """Move what all spools hold to their part files."""


class Spool:
    """A `Sink` whose bytes become the target's, or are dropped, when the batch ends.

    ``part`` is the relative path of its part file, empty while there is
    none. ``size`` counts all bytes taken. No descriptor stays open between
    calls, so a batch can have thousands of targets.
    """

    __slots__ = ("_buffer", "_stage", "closed", "part", "size", "target")

    def __init__(self, stage: Stage, target: str) -> None:
        """Take bytes for the relative path *target*."""
        self._stage = stage
        self._buffer = bytearray()
        self.target = target
        self.part = ""
        self.size = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Take *data* whole and return its length.

        Raises:
            ValueError: The batch has ended, or the target was given other content.
            OSError: The disk refused the part file.
        """
        if self.closed:
            raise ValueError(f"the batch's bytes for {self.target} are no longer wanted")
        size = len(data)
        self.size += size
        if size >= CHUNK_BYTES:
            self.flush()
            self._add(data)  # as it is: a copy of something large would cost its size again
            return size
        self._buffer += data
        stage = self._stage
        stage.waiting_bytes += size
        if len(self._buffer) > CHUNK_BYTES:
            self.flush()
        elif stage.waiting_bytes > BUDGET_BYTES:
            stage.relieve()
        return size

    @property
    def waits(self) -> bool:
        """Whether it holds bytes in memory."""
        return bool(self._buffer)

    @property
    def small(self) -> bytes | None:
        """All bytes taken, while they are in memory; else None."""
        return None if self.part else bytes(self._buffer)

    def flush(self) -> None:
        """Move what is in memory to the part file, which is made if need be."""
        if self._buffer or not self.part:
            self._add(self._buffer)
            self._stage.waiting_bytes -= len(self._buffer)
            self._buffer = bytearray()

    def _add(self, data: bytes | bytearray) -> None:
        new = not self.part
        if new:
            self.part = beside(self.target, staged_name(token()))
            self._stage.part_made(self.part)
        with self._stage.folder(self.part) as folder:
            folder.add(split(self.part)[1], data, new=new)

    def complete(self) -> None:
        """Have all bytes in the part file; to sync it is the caller's.

        Raises:
            OSError: The disk refused, now or earlier, when the caller went on regardless.
        """
        self.flush()
        self.closed = True
        name = split(self.part)[1]
        with self._stage.folder(self.part) as folder:
            if folder.lstat(name).st_size != self.size:
                raise OSError(errno.EIO, "an earlier write of it failed", folder.where(name))

    def finish(self) -> None:
        """Have all bytes in the part file, durably and with the target's mode.

        Raises:
            OSError: As `complete`.
        """
        self.complete()
        name = split(self.part)[1]
        with self._stage.folder(self.part) as folder:
            folder.sync_contents(name)
            folder.match_mode(name, split(self.target)[1])

    def drop(self) -> None:
        """Take no more; the part file is the batch's to remove."""
        self.closed = True
        self._stage.waiting_bytes -= len(self._buffer)
        self._buffer = bytearray()

    def content(self) -> bytes:
        """Return all bytes taken."""
        if not self.part:
            return bytes(self._buffer)
        with self._stage.folder(self.part) as folder:
            return folder.read(split(self.part)[1]) + bytes(self._buffer)
