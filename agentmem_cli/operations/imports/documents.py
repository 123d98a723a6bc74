"""A foreign file that is one JSON document, cut into its records.

An array is read as a stream: of its elements only one is held at a time, so
an array of 100 MB costs no more than its largest element. Several arrays one
behind the other (JSON lines of arrays) are read too; a record
``{"messages": []}`` of our own making stands where another one begins.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DOCUMENT_BYTES_MAX: Final = 256 << 20
"""Bytes of an object spread over several lines that is still read whole."""

_BETWEEN = re.compile(rb"[^\s,]")
_INSIDE = re.compile(rb'["\[\]{}]')
_STRING = re.compile(rb'(?s)[^"\\]*+(?:\\.[^"\\]*+)*+"')
"""The rest of a string, its end included."""
_SCALAR = re.compile(rb"[,\]\s]")


class Piece(NamedTuple):
    """One element, as it stands in the source."""

    line: int
    """The line it begins on, counted from 1."""
    offset: int
    """Where it begins, in bytes from 0."""
    data: bytes
    """Its bytes. Empty: here another array begins."""
    ended: bool
    """Whether it is whole as far as its brackets tell."""


class Elements:
    """The elements of top-level arrays, cut out of a stream of bytes."""

    def __init__(self) -> None:
        """Start before the first byte."""
        self.lines = 0
        """Lines seen, a last one without a newline included."""
        self._newlines = 0
        self._counted = 0
        self._base = 0
        self._arrays = 0
        self._in_array = False
        self._depth = 0
        self._state = _BETWEEN
        self._skip = 0
        self._parts: list[bytes] = []
        self._at = (1, 0)

    def cut(self, chunks: Iterable[bytes]) -> Iterator[Piece]:
        """Yield the elements of *chunks* in their order."""
        last = b""
        for chunk in chunks:
            yield from self._chunk(chunk)
            self._count(chunk, len(chunk))
            self._base += len(chunk)
            self._counted = 0
            last = chunk or last
        self.lines = self._newlines + (bool(last) and not last.endswith(b"\n"))
        if self._state is not _BETWEEN:
            yield Piece(*self._at, b"".join(self._parts), ended=False)

    def _chunk(self, chunk: bytes) -> Iterator[Piece]:
        start = at = min(self._skip, len(chunk))
        self._skip -= at
        if self._state is not _BETWEEN:
            start = 0
        while (found := self._next(chunk, at)) is not None:
            at = found.start()
            if self._state is _BETWEEN:
                begun = self._begin(chunk, at)
                if begun is not None:
                    yield begun
                start = at
                # Why at once: a bracket that closes nothing would end where it begins, forever.
                at += 1
                continue
            last = found.end() - 1
            at = last + (self._state is not _SCALAR)
            if self._step(chunk[last]):
                yield self._whole(chunk[start:at])
                start = at
        if self._state is not _BETWEEN:
            self._parts.append(chunk[start:])

    def _next(self, chunk: bytes, at: int) -> re.Match[bytes] | None:
        """Find the next byte that matters, or the string's end."""
        if self._state is not _STRING:
            return self._state.search(chunk, at)
        found = _STRING.match(chunk, at)
        if found is None:
            # Why: a backslash at the chunk's end takes the next chunk's first byte.
            tail = chunk[at:]
            self._skip = (len(tail) - len(tail.rstrip(b"\\"))) % 2
        return found

    def _begin(self, chunk: bytes, at: int) -> Piece | None:
        """Take the first byte of an element or array, or the end of one."""
        byte = chunk[at : at + 1]
        self._count(chunk, at)
        if byte == b"[" and not self._in_array:
            self._in_array = True
            self._arrays += 1
            # Why only from the second one on: the first needs no telling apart.
            return (
                None if self._arrays == 1 else Piece(self._line, self._base + at, b"", ended=True)
            )
        if byte == b"]" and self._in_array:
            self._in_array = False
            return None
        self._at = (self._line, self._base + at)
        self._depth = 1 if byte in b"[{" else 0
        self._state = _STRING if byte == b'"' else _INSIDE if self._depth else _SCALAR
        return None

    def _step(self, byte: int) -> bool:
        """Take a byte that matters inside an element; return whether the element ends there."""
        if self._state is _STRING:
            if self._depth:
                self._state = _INSIDE
            return not self._depth
        if self._state is _SCALAR:
            return True
        if byte == _QUOTE:
            self._state = _STRING
            return False
        self._depth += 1 if byte in b"[{" else -1
        return self._depth == 0

    def _whole(self, end: bytes) -> Piece:
        self._parts.append(end)
        data = b"".join(self._parts)
        self._parts = []
        self._state = _BETWEEN
        self._skip = 0
        return Piece(*self._at, data, ended=True)

    @property
    def _line(self) -> int:
        return self._newlines + 1

    def _count(self, chunk: bytes, end: int) -> None:
        self._newlines += chunk.count(b"\n", self._counted, end)
        self._counted = end


_QUOTE: Final = 0x22


def spread(first_line: bytes) -> bool:
    """Whether an object that begins so goes on over several lines."""
    return first_line.lstrip().startswith(b"{") and first_line.rstrip().endswith((b"{", b"[", b","))
