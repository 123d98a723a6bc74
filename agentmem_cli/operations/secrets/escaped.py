"""Text without the escapes that a URL or HTML put into it, so that rules know what it says.

In ``https%3A%2F%2Fada%3A...%40host`` stands a password for whoever reads it, and no
rule's sign of one. Lines around such signs are read once more without their
escapes; what is found there is told by the bytes it stands in.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKS: Final = (
    re.compile(rb"%(?:25)?(?:3[ADad]|22|27)"),
    re.compile(rb"&(?:quot|apos|#34|#39|#x2[27]);"),
)
"""An escaped colon, equals sign or quote: without one, no value is beside its name.

Two expressions, since one that begins with a plain byte is looked for ten times as fast.
"""
_ESCAPE: Final = re.compile(rb"%[0-9A-Fa-f]{2}|&(?:quot|apos|amp|lt|gt|#34|#39|#x2[27]);")
_SIGNS: Final = {
    b"quot": b'"', b"apos": b"'", b"amp": b"&", b"lt": b"<", b"gt": b">",
    b"#34": b'"', b"#39": b"'", b"#x22": b'"', b"#x27": b"'",
}  # fmt: skip
AROUND_BYTES: Final = 4 << 10
"""Bytes on each side of a sign that are read with it, where its line is longer."""
TEXT_BYTES: Final = 256 << 10
"""Bytes that are looked at together."""


class Unescaped(NamedTuple):
    """Pieces of a text without their escapes, a line each."""

    data: bytes
    at: list[int]
    """Where each byte of *data* stands in the text; and, last, where it ends."""
    ends: list[int]
    """Where each piece ends in *data*."""

    def place(self, start: int, end: int) -> tuple[int, int] | None:
        """Return where ``data[start:end]`` stands in the text; None: in more than one piece."""
        piece = bisect_right(self.ends, start)
        if piece == len(self.ends) or end > self.ends[piece]:
            return None
        return self.at[start], self.at[end]


def unescaped(data: bytes) -> Iterator[Unescaped]:
    """Yield the lines of *data* that hold escaped signs, as they read without escapes."""
    text, at, ends = bytearray(), [], []  # type: bytearray, list[int], list[int]
    for start, end in _pieces(data):
        passed = start
        for escape in _ESCAPE.finditer(data, start, end):
            text += data[passed : escape.start()]
            at += range(passed, escape.start())
            text += _said(escape[0])
            at.append(escape.start())
            passed = escape.end()
        text += data[passed:end]
        at += range(passed, end)
        ends.append(len(text))
        text += b"\n"
        at.append(end)
        if len(text) >= TEXT_BYTES:
            yield Unescaped(bytes(text), [*at, end], ends)
            text, at, ends = bytearray(), [], []
    if ends:
        yield Unescaped(bytes(text), [*at, at[-1]], ends)


def plainly(value: str) -> str:
    """Return *value* without the escapes of a URL and of HTML."""
    if "%" not in value and "&" not in value:
        return value
    raw = value.encode("utf-8", "surrogatepass")
    plain = _ESCAPE.sub(lambda escape: _said(escape[0]), raw)
    return value if plain == raw else plain.decode("utf-8", "replace")


def _pieces(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where lines with a sign begin and end; of long ones, what is around the sign."""
    done = 0
    for sign in sorted(sign.start() for mark in _MARKS for sign in mark.finditer(data)):
        if sign < done:
            continue
        low, high = max(done, sign - AROUND_BYTES), sign + AROUND_BYTES
        start = data.rfind(b"\n", low, sign) + 1
        if not start:
            # Why not in a word: a value would be found without its beginning.
            blank = data.find(b" ", low, sign) + 1 if low else 0
            start = blank or low
        done = data.find(b"\n", sign, high)
        if done < 0:
            blank = data.rfind(b" ", sign, high) if high < len(data) else -1
            done = blank if blank >= 0 else min(high, len(data))
        yield start, done


def _said(escape: bytes) -> bytes:
    return bytes([int(escape[1:], 16)]) if escape[:1] == b"%" else _SIGNS[escape[1:-1]]
