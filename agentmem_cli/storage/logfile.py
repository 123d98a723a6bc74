"""An open log: a snapshot of what it was when it was opened."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from agentmem_cli.storage.streams import chunks, pread, pread_into
from agentmem_cli.storage.watching import WATCH

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from _typeshed import WriteableBuffer


class OpenLog:
    """A log read through the descriptor that opening it made.

    It goes on giving the log it opened when that is replaced underneath, and
    nothing that is appended later. ``size`` is its bytes at opening.
    """

    __slots__ = ("descriptor", "size")

    def __init__(self, descriptor: int) -> None:
        """Own *descriptor*, an open regular file."""
        self.descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to *length* bytes from *offset* on; none past ``size``.

        Raises:
            OSError: The disk refused.
        """
        end = min(self.size, offset + length)
        if offset >= end:
            return b""
        data = pread(self.descriptor, end - offset, offset)
        if WATCH.tell is not None:
            WATCH.tell(len(data), 0)
        if len(data) == end - offset:
            return data
        return data + b"".join(chunks(self.descriptor, offset + len(data), end))

    def read_into(self, view: memoryview, offset: int) -> int:
        """Fill *view* with the bytes from *offset* on; return how many came, none past ``size``.

        It costs no new memory, which of a large log is half of what reading costs.

        Raises:
            OSError: The disk refused.
        """
        wanted = min(len(view), self.size - offset)
        if wanted <= 0:
            return 0
        size = pread_into(self.descriptor, view[:wanted], offset)
        if WATCH.tell is not None:
            WATCH.tell(size, 0)
        return size

    def is_ended(self) -> bool:
        """Whether its last byte ends a line, as it does where nobody is writing one.

        Raises:
            OSError: The disk refused.
        """
        return not self.size or pread(self.descriptor, 1, self.size - 1) == b"\n"

    def lines(self, start: int = 0) -> Iterator[bytes]:
        r"""Yield the lines from byte *start* on, split on ``\n`` alone, each with its end.

        Only the last one may lack its newline. Iterations do not disturb one
        another, and run at the speed of Python's own buffered files.

        Raises:
            OSError: The disk refused.
        """
        return iter(io.BufferedReader(_Bounded(self, start), _BUFFER_BYTES))

    def stream(self) -> io.FileIO:
        """Return its bytes from the start on, unbuffered, for one reader at a time.

        What is appended meanwhile is read too. It lives no longer than this.
        """
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        return io.FileIO(self.descriptor, "rb", closefd=False)

    def close(self) -> None:
        """Close the descriptor; a second time does nothing."""
        descriptor, self.descriptor = self.descriptor, -1
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

    def read_into(self, view: memoryview, offset: int) -> int:
        """Fill *view* with the bytes from *offset* on; return how many came."""
        data = self._data[offset : offset + len(view)]
        view[: len(data)] = data
        return len(data)

    def lines(self, start: int = 0) -> Iterator[bytes]:
        r"""Yield the lines from byte *start* on, split on ``\n`` alone, each with its end."""
        stream = io.BytesIO(self._data)
        stream.seek(start)
        return iter(stream)

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


class _Bounded(io.RawIOBase):
    """The bytes of an open log from an offset on, with a position of its own."""

    def __init__(self, log: OpenLog, start: int) -> None:
        # Why: it holds the log, so that the descriptor lives as long as the iteration.
        self._log = log
        self._position = start

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        wanted = min(len(view), self._log.size - self._position)
        if wanted <= 0:
            return 0
        data = pread(self._log.descriptor, wanted, self._position)
        view[: len(data)] = data
        self._position += len(data)
        if WATCH.tell is not None:
            WATCH.tell(len(data), 0)
        return len(data)


_BUFFER_BYTES = 256 << 10
"""Bytes read at once; more was no faster (DESIGN.md, "Figures")."""
