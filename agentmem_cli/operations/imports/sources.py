"""One source file on its way into a session: its bytes, its map, what is known of it."""

from __future__ import annotations

import errno
import heapq
import os
import stat
from collections import Counter
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import ConflictError
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.imports.adapter import Kept, Noted, Said, Tally
from agentmem_cli.operations.imports.foreign import ForeignFile, new_digest, read_lines
from agentmem_cli.operations.imports.maplines import is_print, map_line
from agentmem_cli.operations.imports.maps import (
    MAP_END,
    MapHeader,
    OldMap,
    body_digest,
    new_key,
    source_name,
)

if TYPE_CHECKING:
    import hashlib
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Item, Stream
    from agentmem_cli.operations.imports.maplines import Placed
    from agentmem_cli.operations.imports.maps import Known
    from agentmem_cli.storage.store import Batch, Sink, Store

TIMELESS_MAX: Final = 4_096
"""Items that wait for the source's first time; beyond them the file's own time is taken."""

_ASIDE_BYTES: Final = CHUNK_BYTES
"""Bytes from which hashing them is worth a thread."""

_ASIDE_CHUNKS: Final = 16
"""Chunks that wait for being hashed, at most."""

_SPOOL_BYTES: Final = 8 * CHUNK_BYTES
"""Bytes of a new map held in memory; its header, which stands first, is known last."""


class Timed(NamedTuple):
    """An item with the time it gets."""

    item: Item
    t: int
    """Milliseconds since 1970-01-01 UTC."""
    told: str
    """Where it was taken from; empty: the source says it."""


class SourceIn:
    """A source file being imported."""

    def __init__(self, stream: Stream, kind: str, old: OldMap | None) -> None:
        """Prepare the file of *stream*; *old* is the map of an earlier import of it."""
        self.stream = stream
        self.kind = kind
        self.tally = Tally()
        self.old = old
        self.name = source_name(stream.name) if old is None else old.name
        self.key_hex = new_key() if old is None else old.header.key
        self.key = bytes.fromhex(self.key_hex)
        self.file = ForeignFile(stream.path)
        self.same_prefix = old is not None and self._begins_as(old.header)
        """Whether the bytes that were read earlier stand there unchanged."""
        self.kept_whole = old is not None and old.header.kept == old.header.size
        """Whether the session holds all bytes that were read earlier."""
        self.bytes_read = 0
        self._known = iter(()) if old is None else old.known()
        self._hashing = _Hashing(new_digest(self.key))
        from tempfile import SpooledTemporaryFile

        self._body = SpooledTemporaryFile(_SPOOL_BYTES)  # noqa: SIM115 - see close
        self._body_digest = body_digest()
        self._items = 0
        self._made: Counter[type] = Counter()
        self.logs: set[str] = set()
        """The logs that its things are in, as far as they were noted."""

    def close(self) -> None:
        """Let go of the file and of the map's bytes."""
        self._hashing.settled()
        self.file.close()
        self._body.close()

    def _begins_as(self, header: MapHeader) -> bool:
        return self.file.digest(self.key, header.size) == header.digest

    @property
    def unchanged(self) -> bool:
        """Whether the file is, byte for byte, what was read earlier."""
        return self.same_prefix and self.old is not None and self.file.size == self.old.header.size

    @property
    def is_shorter(self) -> bool:
        """Whether the file has fewer bytes than were read earlier."""
        return self.old is not None and self.file.size < self.old.header.size

    @property
    def told(self) -> MapHeader:
        """The header of an earlier import's map, with the numbers of what was made."""
        assert self.old is not None
        return self.old.header._replace(made=self.old.counts())

    def items(self, sink: Sink | None, progress: Callable[[int], None]) -> Iterator[Timed]:
        """Yield the file's items with their times; its bytes go to *sink* on the way.

        Args:
            sink: Where the source is kept; None: nowhere.
            progress: Called with the number of bytes just read.
        """
        chunks = self._teed(sink, progress)
        lines = read_lines(chunks, self.stream.accepts, self.tally)
        yield from _timed(self.stream.items(lines, self.tally), self.file.modified_ms)
        # Why: an adapter may stop before the end; what is kept is the whole file.
        for _ in chunks:
            pass

    def next_known(self) -> Known | None:
        """Return the next thing that was imported earlier; None: from here on all is new."""
        return next(self._known, None)

    def trusts(self, known: Known, item: Item) -> bool:
        """Whether *item* is, unseen, what was imported as *known*: its bytes are the same."""
        return (
            self.same_prefix
            and not (known.open or has_come(known, item))
            and known.line == item.line
        )

    def count(self, item: Item) -> None:
        """Count an item by what it becomes."""
        self._made[type(item)] += 1

    def note(
        self, item: Item, placed: Placed, print_: str, told: str, blobs: Sequence[str] = ()
    ) -> None:
        """Add an item's line to the map; the arguments are `maps.map_line`'s."""
        self._write(map_line(item, placed, print_, told, blobs), placed.log)

    def note_again(self, known: Known) -> None:
        """Add the line of a thing that was imported earlier to the map."""
        self._write(known.map_line + b"\n", known.log)

    def _write(self, line: bytes, log: str) -> None:
        self._body.write(line)
        self._body_digest.update(line)
        self._items += 1
        self.logs.add(log)

    def is_print(self, known: Known, kind: str, time_ms: int, body: bytes) -> bool:
        """Whether *known* was an item of this kind, source time and body."""
        return is_print(self.key, known, kind, time_ms, body)

    def finish(
        self, batch: Batch, now_ms: int, kept: int, ends: Mapping[str, tuple[int, int]]
    ) -> None:
        """Write the map.

        Args:
            batch: Where to.
            now_ms: The time now.
            kept: How many bytes of the source are in the session.
            ends: Where the logs end now, as `MapHeader.ends` says it.
        """
        torn = self.tally.torn
        # Why: in UTF-16 nobody counted the source's own bytes.
        cut = 0 if torn is None or torn[1] is None else torn[2]
        header = MapHeader(
            self.kind,
            self.stream.name,
            self.stream.agent,
            self.bytes_read,
            self.bytes_read - cut,
            self.tally.lines,
            self._items,
            kept,
            self.key_hex,
            self._hashing.settled().hexdigest(),
            now_ms,
            {log: ends[log] for log in sorted(self.logs) if log in ends},
            self._body_digest.hexdigest(),
            self.file.seen,
            (self._made[Said], self._made[Noted], self._made[Kept]),
            os.path.realpath(self.stream.path),
        )
        sink = batch.open_file(self.name + MAP_END)
        sink.write(header.encode())
        self._body.seek(0)
        while block := self._body.read(CHUNK_BYTES):
            sink.write(block)

    def _teed(self, sink: Sink | None, progress: Callable[[int], None]) -> Iterator[bytes]:
        for chunk in self.file.chunks():
            self._check_prefix(chunk)
            self._hashing.update(chunk)
            self.bytes_read += len(chunk)
            if sink is not None:
                sink.write(chunk)
            progress(len(chunk))
            yield chunk
        self._hashing.settled()  # a session can have more files than a process threads

    def _check_prefix(self, chunk: bytes) -> None:
        """See that the bytes read now are those that were compared before."""
        if self.old is None or not self.same_prefix:
            return
        left = self.old.header.size - self.bytes_read
        if not 0 < left <= len(chunk):
            return
        hasher = self._hashing.settled().copy()
        hasher.update(chunk[:left])
        if hasher.hexdigest() != self.old.header.digest:
            msg = f"{self.stream.path}: it was rewritten while it was read"
            raise ConflictError(msg, hint="Run the command again.")


class _Hashing:
    """A hash of chunks in their order; large ones are hashed on a thread while others come."""

    def __init__(self, hasher: hashlib.blake2b) -> None:
        self._hasher = hasher
        self._chunks: SimpleQueue[bytes | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._room = Semaphore(_ASIDE_CHUNKS)

    def update(self, chunk: bytes) -> None:
        """Take the next *chunk*."""
        if self._thread is None:
            if len(chunk) < _ASIDE_BYTES:
                self._hasher.update(chunk)
                return
            # Why: hashing lets go of the interpreter, and it is a tenth of an import's time.
            self._thread = Thread(target=self._work, daemon=True)
            self._thread.start()
        self._room.acquire()
        self._chunks.put(chunk)

    def _work(self) -> None:
        while (chunk := self._chunks.get()) is not None:
            self._hasher.update(chunk)
            self._room.release()

    def settled(self) -> hashlib.blake2b:
        """Return the hash of all chunks so far."""
        if self._thread is not None:
            self._chunks.put(None)
            self._thread.join()
            self._thread = None
        return self._hasher


def _timed(items: Iterable[Item], file_ms: int) -> Iterator[Timed]:
    """Give every item a time: its own, that of the one before, or of the first that has one."""
    waiting: list[Item] = []
    last: int | None = None
    for item in items:
        if item.time is not None:
            for earlier in waiting:
                yield Timed(earlier, item.time, "after")
            waiting = []
            last = item.time
            yield Timed(item, last, "")
        elif last is not None:
            yield Timed(item, last, "before")
        else:
            waiting.append(item)
            if len(waiting) == TIMELESS_MAX:
                last = file_ms
                for earlier in waiting:
                    yield Timed(earlier, last, "file")
                waiting = []
    for earlier in waiting:
        yield Timed(earlier, file_ms, "file")


def merged(
    streams: Sequence[Iterator[Timed]], begins: Sequence[int | None] = ()
) -> Iterator[tuple[int, Timed]]:
    """Merge streams by their times, each one's own order kept.

    Of the streams' next items always the earliest comes; so one whose time
    runs backwards comes right behind the later one before it.

    Args:
        streams: The streams.
        begins: When each begins, ms since 1970 UTC, as far as that is known
            (None: it is not). One is not begun earlier, so that of many files
            few are open at once.

    Yields:
        The stream's index, and the item.
    """
    waiting: list[tuple[int, int, Timed | None]] = []
    for index in range(len(streams)):
        begun = begins[index] if begins else None
        waiting.append((0 if begun is None else begun, index, None))
    heapq.heapify(waiting)
    while waiting:
        _, index, timed = waiting[0]
        if timed is not None:
            yield index, timed
        following = next(streams[index], None)
        if following is None:
            heapq.heappop(waiting)
        else:
            heapq.heapreplace(waiting, (following.t, index, following))


ATTACHED_BYTES_MAX: Final = 256 << 20
"""Bytes of a file beside a transcript that become a blob; they are held in memory at once."""


def has_come(known: Known, item: Item) -> bool:
    """Whether a file that the message *known* refers to was not to be had then, and is now."""
    if not known.awaited or not isinstance(item, Said):
        return False
    # Why: what came then and is gone since would be lost by taking the message anew.
    return set(item.awaited) < set(known.awaited)


def read_beside(path: Path) -> bytes:
    """Return the bytes of a file beside a transcript; it is no link.

    Raises:
        OSError: It cannot be read, is no regular file, or is larger than `ATTACHED_BYTES_MAX`.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as handle:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size > ATTACHED_BYTES_MAX:
            raise OSError(errno.EINVAL, "no regular file, or too large", str(path))
        return handle.read(ATTACHED_BYTES_MAX)


def find_maps(store: Store) -> list[OldMap]:
    """Read every map of a session.

    Raises:
        DamageError: One is damaged.
    """
    from agentmem_cli.operations.imports.maps import FOLDER

    names = [name for name in store.files() if name.startswith(FOLDER) and name.endswith(MAP_END)]
    return [OldMap(name.removesuffix(MAP_END), store.read_file(name)) for name in names]
