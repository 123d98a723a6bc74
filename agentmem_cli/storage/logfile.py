"""An open log: a snapshot of what it was when it was opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.storage.streams import chunks, pread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType
    from typing import Self


class OpenLog:
    """A log read through the descriptor that opening it made.

    It goes on giving the log it opened when that is replaced underneath, and
    nothing that is appended later. ``size`` is its bytes at opening.
    """

    __slots__ = ("_descriptor", "size")

    def __init__(self, descriptor: int) -> None:
        """Own *descriptor*, an open regular file."""
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to *length* bytes from *offset* on; none past ``size``.

        Raises:
            OSError: The disk refused.
        """
        end = min(self.size, offset + length)
        if offset >= end:
            return b""
        data = pread(self._descriptor, end - offset, offset)
        if len(data) == end - offset:
            return data
        return data + b"".join(chunks(self._descriptor, offset + len(data), end))

    def lines(self, start: int = 0) -> Iterator[bytes]:
        r"""Yield the lines from byte *start* on, split on ``\n`` alone and without it.

        The last one may lack its newline: then the lengths, one more for each
        newline, add up to one more than ``size``. Nothing follows a final newline.

        Raises:
            OSError: The disk refused.
        """
        return split_lines(chunks(self._descriptor, start, self.size))

    def close(self) -> None:
        """Close the descriptor; a second time does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def __del__(self) -> None:
        """Close what nobody closed."""
        try:
            self.close()
        except (AttributeError, OSError):
            return  # never opened, or nothing that could be done about it here


class BytesLog:
    """The same over bytes in memory."""

    __slots__ = ("_data", "size")

    def __init__(self, data: bytes) -> None:
        """Read from *data*."""
        self._data = data
        self.size = len(data)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to *length* bytes from *offset* on."""
        return self._data[offset : offset + length]

    def lines(self, start: int = 0) -> Iterator[bytes]:
        r"""Yield the lines from byte *start* on, split on ``\n`` alone and without it."""
        data = self._data
        places = range(start, len(data), CHUNK_BYTES)
        return split_lines(data[place : place + CHUNK_BYTES] for place in places)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Do nothing."""


def split_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield the lines of a text that comes in *pieces*, split on ``\n`` alone."""
    waiting: list[bytes] = []  # of a line longer than a piece; joined once, not again and again
    for piece in pieces:
        lines = piece.split(b"\n")
        last = lines.pop()
        if lines:
            if waiting:
                waiting.append(lines[0])
                lines[0] = b"".join(waiting)
                waiting.clear()
            yield from lines
        if last:
            waiting.append(last)
    if waiting:
        yield b"".join(waiting)
