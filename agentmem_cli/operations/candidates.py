"""The lines of a log that may hold what is looked for, found in its bytes."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.operations.needles import Probes

_BLOCK_BYTES: Final = 512 << 10
"""Bytes read at once: what stays in a processor's cache between two looks at it."""

_DENSE: Final = 2
"""Where more than one line in so many is a candidate, the bytes tell nothing."""

_DENSE_BLOCKS: Final = 15
"""Blocks that are decoded whole before the bytes are tried again."""


class Readable(Protocol):
    """An opened log, as much of it as this needs; ``read_into`` is used where there is one."""

    size: int

    def read_at(self, offset: int, length: int) -> bytes:
        """Return *length* bytes from *offset*."""
        ...


class Block:
    """Whole lines of a log.

    Attributes:
        offset: Where they begin in the log, in bytes.
        lines: Those that may hold what is looked for, each with its offset.
        whole: Whether these are all of them.
    """

    def __init__(self, offset: int, data: memoryview, probes: Sequence[Probes] | None) -> None:
        """Look at *data* once; without *probes* every line is wanted."""
        self.offset = offset
        self.size = len(data)
        self.whole = probes is None
        self._data = data
        self.lines: list[tuple[int, bytes]]
        if probes is None:
            self.lines = _all_lines(offset, bytes(data))
        else:
            self.lines = self.lines_with(*probes)

    def lines_with(self, *probes: Probes) -> list[tuple[int, bytes]]:
        """Return the lines that may hold what any of *probes* is for."""
        places = [place for each in probes for place in each.places(self._data)]
        if len(probes) > 1:
            places.sort()
        return _lines_at(self.offset, bytes(self._data), places) if places else []

    @property
    def is_dense(self) -> bool:
        """Whether so many of the lines were wanted that their bytes tell nothing."""
        return len(self.lines) > 1 and len(self.lines) * _DENSE > bytes(self._data).count(b"\n")


def candidates(log: Readable, probes: Sequence[Probes] | None, start: int = 0) -> Iterator[Block]:
    """Yield *log* from byte *start* on in blocks, each good until the next one is asked for."""
    passed = 0
    for offset, data in blocks(log, start):
        block = Block(offset, data, None if passed else probes)
        passed = passed - 1 if passed else _DENSE_BLOCKS if block.is_dense else 0
        yield block


def _all_lines(offset: int, data: bytes) -> list[tuple[int, bytes]]:
    found = []
    # Why not splitlines: nothing but a newline ends a line.
    for line in BytesIO(data):
        found.append((offset, line))
        offset += len(line)
    return found


def _lines_at(offset: int, data: bytes, places: list[int]) -> list[tuple[int, bytes]]:
    found = []
    end = 0
    for place in places:
        if place >= end:
            begin = data.rfind(b"\n", end, place) + 1 or end
            end = data.find(b"\n", place) + 1 or len(data)
            found.append((offset + begin, data[begin:end]))
    return found


def blocks(log: Readable, start: int = 0) -> Iterator[tuple[int, memoryview]]:
    """Yield *log* in blocks of whole lines, each with its offset; only the last may be cut off.

    A block is good until the next one is asked for.
    """
    buffer = bytearray(_BLOCK_BYTES)
    kept = 0
    at = start
    while True:
        if kept == len(buffer):
            buffer = bytearray(buffer) + bytes(len(buffer))
        view = memoryview(buffer)
        read = _fill(log, view[kept:], at + kept)
        if not read:
            if kept:
                yield at, view[:kept]
            return
        filled = kept + read
        end = buffer.rfind(b"\n", kept, filled) + 1
        if end:
            yield at, view[:end]
            buffer[: filled - end] = bytes(view[end:filled])
            at += end
            kept = filled - end
        else:
            kept = filled


def _fill(log: Readable, view: memoryview, offset: int) -> int:
    read_into = getattr(log, "read_into", None)
    if read_into is not None:
        return int(read_into(view, offset))
    data = log.read_at(offset, len(view))
    view[: len(data)] = data
    return len(data)
