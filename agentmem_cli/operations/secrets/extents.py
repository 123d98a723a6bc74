"""Where a value ends that a rule found the beginning of."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

VALUE_BYTES_MAX: Final = 8_192
_QUOTES: Final = b"\"'`"
_BARE: Final = re.compile(rb"[^\s\"'`<>\x00-\x1f]+")
_STOP: Final = re.compile(
    rb";|,(?=$|\s|\\|[\w.-]+\s?[=:])|&(?=$|&|[\w.%-]+=|amp;)|\\(?=[nrtu\"'\\]|$)|\|(?=$|\||\s)"
)
_BACKSLASH: Final = 0x5C
_CLOSING: Final = {0x29: b"(", 0x5D: b"[", 0x7D: b"{"}


class Value(NamedTuple):
    """A value's place in bytes, and whether it stands in quotes."""

    start: int
    end: int
    quoted: bool


def value_at(data: bytes, start: int) -> Value:
    """Return the whole of the value that begins at *start*.

    In quotes it goes to the closing one (a backslash before the opening one, as in JSON
    within JSON, belongs to the closing one too); else to a space or what parts values.
    """
    before = data[start - 1 : start]
    if before and before in _QUOTES:
        end = _closing(data, start, before, escaped=data[start - 2 : start - 1] == b"\\")
        if end is not None:
            return Value(start, end, quoted=True)
    return Value(start, bare_end(data, start), quoted=False)


def bare_end(data: bytes, start: int) -> int:
    """Return where a value without quotes ends that begins at *start*."""
    match = _BARE.match(data, start, min(len(data), start + VALUE_BYTES_MAX))
    if match is None:
        return start
    stop = _STOP.search(data, start, match.end())
    signs = b",;:.*\\" if data[start - 1 : start] == b"*" else b",;:.\\"
    return trimmed(data, start, stop.start() if stop else match.end(), signs)


def trimmed(data: bytes, start: int, end: int, signs: bytes = b",;:.\\") -> int:
    """Take what ends a sentence, and brackets that close what the value did not open, off."""
    while end > start:
        last = data[end - 1]
        opening = _CLOSING.get(last)
        if opening is not None:
            inside = data[start : end - 1]
            if inside.count(opening) > inside.count(bytes([last])):
                break
        elif last not in signs:
            break
        end -= 1
    return end


def _closing(data: bytes, start: int, quote: bytes, *, escaped: bool) -> int | None:
    limit = min(len(data), start + VALUE_BYTES_MAX)
    line = data.find(b"\n", start, limit)
    limit = line if line >= 0 else limit
    at = start
    while True:
        at = data.find(quote, at, limit)
        if at < 0:
            return None
        slashes = 0
        while at - slashes > start and data[at - slashes - 1] == _BACKSLASH:
            slashes += 1
        if escaped and slashes == 1:
            return at - 1
        if escaped and slashes == 0:
            return at
        if not escaped and slashes % 2 == 0:
            return at
        at += 1
