"""Bytes on their way to one target of a batch: in memory, then in a part file."""

from __future__ import annotations

import errno
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Protocol

from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.storage.layout import beside, split, staged_name
from agentmem_cli.storage.streams import token

if TYPE_CHECKING:
    from threading import Thread

    from agentmem_cli.storage.files import Folder

BUDGET_BYTES: Final = 8 * CHUNK_BYTES
"""Bytes that all spools of a batch hold in memory together, whatever their number."""

THREAD_BYTES: Final = CHUNK_BYTES
"""Bytes from which hashing them is worth a thread."""

DIGEST_BYTES: Final = 32
"""Bytes of a keyed digest."""


class Stage(Protocol):
    """What spools share: the batch they belong to."""

    key: bytes
    hashes: bool
    """Whether anybody asks for the digests of its spools."""
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

    __slots__ = ("_buffer", "_digest", "_stage", "_thread", "closed", "part", "size", "target")

    def __init__(self, stage: Stage, target: str) -> None:
        """Take bytes for the relative path *target*."""
        self._stage = stage
        self._buffer = bytearray()
        self._digest = blake2b(key=stage.key, digest_size=DIGEST_BYTES)
        self._thread: Thread | None = None
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
        self._hash(data)

    def _hash(self, data: bytes | bytearray) -> None:
        """Hash *data*, which nobody changes any more; a large one while the caller goes on."""
        if not self._stage.hashes:
            return
        self._settle()
        if len(data) < THREAD_BYTES:
            self._digest.update(data)
            return
        from threading import Thread

        # Why: hashing lets go of the interpreter, and a large import hashes all it writes.
        self._thread = Thread(target=self._digest.update, args=(data,), daemon=True)
        self._thread.start()

    def _settle(self) -> None:
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def complete(self) -> None:
        """Have all bytes in the part file; to sync it is the caller's.

        Raises:
            OSError: The disk refused, now or earlier, when the caller went on regardless.
        """
        self.flush()
        self._settle()
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
        self._settle()
        self._stage.waiting_bytes -= len(self._buffer)
        self._buffer = bytearray()

    def content(self) -> bytes:
        """Return all bytes taken."""
        if not self.part:
            return bytes(self._buffer)
        with self._stage.folder(self.part) as folder:
            return folder.read(split(self.part)[1]) + bytes(self._buffer)

    def digest(self) -> str:
        """Return the keyed digest of the part file's bytes, in hex."""
        assert not self._buffer
        assert self._stage.hashes
        self._settle()
        return self._digest.hexdigest()
