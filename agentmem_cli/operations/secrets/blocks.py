"""A source as blocks of whole lines, read once and never held."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from agentmem_cli.limits import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future


class Readable(Protocol):
    """What can be read in pieces: an open file."""

    def read(self, size: int, /) -> bytes:
        """Return up to *size* bytes; none at the end."""
        ...


class ReadsAt(Protocol):
    """What can be read at any place: an open log."""

    size: int

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to *length* bytes from *offset* on."""
        ...


class Reader:
    """Reads an open log from its beginning to its end."""

    def __init__(self, log: ReadsAt) -> None:
        self._log = log
        self._at = 0

    def read(self, size: int, /) -> bytes:
        """Return the next bytes."""
        data = self._log.read_at(self._at, size)
        self._at += len(data)
        return data


class Block(NamedTuple):
    """Whole lines, each with its end; the last of a source may lack its own."""

    line: int
    """The number of the first, from 1."""
    data: bytes


BLOCK_BYTES: Final = CHUNK_BYTES

BOM: Final = b"\xef\xbb\xbf"
"""A byte order mark, which is no part of the first line."""


def blocks(source: Readable) -> Iterator[Block]:
    r"""Yield *source* in blocks of some 1 MiB, cut behind ``\n``; a longer line is one block."""
    line = 1
    held: list[bytes] = []
    while data := source.read(BLOCK_BYTES):
        cut = data.rfind(b"\n") + 1
        if not cut:
            held.append(data)
            continue
        # Why a view: the bytes are copied once, not twice.
        whole = b"".join((*held, memoryview(data)[:cut]))
        held = [data[cut:]] if cut < len(data) else []
        yield Block(line, whole)
        line += whole.count(b"\n")
    if held:
        yield Block(line, b"".join(held))


def lines_of(data: bytes) -> Iterator[bytes]:
    r"""Yield the lines of a block, each without its end."""
    lines = data.removeprefix(BOM).split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return iter(lines)


def searched(
    source: Readable, find: Callable[[bytes], list[int]], threads: int
) -> Iterator[tuple[Block, list[int]]]:
    """Yield the blocks of *source*, each with what *find*, on other threads, finds in it."""
    with ThreadPoolExecutor(max(1, threads), "agentmem-search") as pool:
        waiting: deque[tuple[Block, Future[list[int]]]] = deque()
        for block in blocks(source):
            waiting.append((block, pool.submit(find, block.data)))
            if len(waiting) > AHEAD_MAX:
                first, hits = waiting.popleft()
                yield first, hits.result()
        while waiting:
            first, hits = waiting.popleft()
            yield first, hits.result()


AHEAD_MAX: Final = 4
"""Blocks that wait or are searched; more would only hold memory."""
