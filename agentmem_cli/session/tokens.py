"""The string tokens of a JSON line: where each stands, and edits that touch nothing else.

A line is edited here by replacing bytes of single strings. Numbers, spaces,
the order of keys, the losers among duplicate keys and the spelling of every
character outside the edited spans stay as they are. Nothing is decoded that
nobody asks for, and no depth of nesting costs stack.

Source: DESIGN.md, "Rewriting".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agentmem_cli.limits import JSON_DEPTH_MAX
from agentmem_cli.session.codec import TooDeep, dumps, loads

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Edit: TypeAlias = "tuple[int, int, bytes]"
"""Bytes from one offset to another, and what is to stand there."""

Path: TypeAlias = "tuple[str | int, ...]"
"""The keys and indices that lead to a value."""


class Token(NamedTuple):
    """One string of a line, a key or a value."""

    start: int
    """Its first byte in the line: the quote."""
    end: int
    """The byte behind its closing quote."""
    is_key: bool
    path: Path
    """Where it stands. Of a key: its object's path and the key itself."""


_TOKEN: Final = re.compile(
    rb'[ \t\r\n]*+(?:("[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+")'
    rb"|([\[{])|([\]}])|(,)|(:)"
    rb"|(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null))"
)
_STRING, _OPEN, _CLOSE, _COMMA, _COLON = range(1, 6)
_CLOSES: Final = {b"{": b"}", b"[": b"]"}

_ESCAPE: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)"
)
"""What stands for one character of the text."""

_GAP: Final = re.compile(rb"[ \t\r\n]*")

# What may come next.
_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _BETWEEN, _AFTER = range(6)


class _Scan:
    """The state of a walk along a line's tokens."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.found: list[Token] = []
        self.next = _VALUE
        self._open: list[bytes] = []
        self._path: list[str | int] = []

    def string(self, start: int, end: int) -> None:
        if self.next in {_KEY, _KEY_OR_END}:
            self._path[-1] = _text(self.raw[start:end])
            self.found.append(Token(start, end, True, tuple(self._path)))  # noqa: FBT003
            self.next = _BETWEEN
        else:
            self._value()
            self.found.append(Token(start, end, False, tuple(self._path)))  # noqa: FBT003

    def other(self, found: re.Match[bytes]) -> None:
        group = found.lastindex
        if group is None:
            self._value()
        elif group == _COMMA:
            self._comma()
        elif group == _COLON:
            self._colon()
        elif group == _OPEN:
            self._enter(found[_OPEN])
        else:
            self._leave(found[_CLOSE])

    def _value(self) -> None:
        if self.next not in {_VALUE, _VALUE_OR_END}:
            raise ValueError(_NOT_JSON)
        self.next = _AFTER

    def _enter(self, bracket: bytes) -> None:
        self._value()
        self._open.append(bracket)
        if len(self._open) > JSON_DEPTH_MAX:
            raise TooDeep
        is_object = bracket == b"{"
        self._path.append("" if is_object else 0)
        self.next = _KEY_OR_END if is_object else _VALUE_OR_END

    def _leave(self, bracket: bytes) -> None:
        if not self._open or _CLOSES[self._open.pop()] != bracket:
            raise ValueError(_NOT_JSON)
        if self.next not in {_AFTER, _KEY_OR_END, _VALUE_OR_END}:
            raise ValueError(_NOT_JSON)
        self._path.pop()
        self.next = _AFTER

    def _comma(self) -> None:
        if self.next != _AFTER or not self._open:
            raise ValueError(_NOT_JSON)
        if self._open[-1] == b"{":
            self.next = _KEY
            return
        index = self._path[-1]
        assert isinstance(index, int)
        self._path[-1] = index + 1
        self.next = _VALUE

    def _colon(self) -> None:
        if self.next != _BETWEEN:
            raise ValueError(_NOT_JSON)
        self.next = _VALUE

    def end(self) -> list[Token]:
        if self.next != _AFTER or self._open:
            raise ValueError(_NOT_JSON)
        return self.found


_NOT_JSON: Final = "not one JSON value"


def string_tokens(raw: bytes) -> list[Token]:
    """Return all strings of the JSON value *raw*, keys and values, in their order.

    Raises:
        TooDeep: It is nested deeper than `limits.JSON_DEPTH_MAX`.
        ValueError: It is not one JSON value in UTF-8.
    """
    if not raw.isascii():
        raw.decode()
    scan = _Scan(raw)
    at, stop = 0, len(raw.rstrip(b" \t\r\n"))
    while at < stop:
        found = _TOKEN.match(raw, at, stop)
        if found is None:
            raise ValueError(_NOT_JSON)
        at = found.end()
        if found.lastindex == _STRING:
            scan.string(found.start(_STRING), at)
        else:
            scan.other(found)
    return scan.end()


def text_of(raw: bytes, token: Token) -> str:
    """Return what a string says; half of a surrogate pair is kept as Python keeps it."""
    return _text(raw[token.start : token.end])


def _text(quoted: bytes) -> str:
    if b"\\" not in quoted:
        return quoted[1:-1].decode()
    text = loads(quoted)
    assert isinstance(text, str)
    return text


def encode_text(text: str) -> bytes:
    """Return *text* as it stands inside a JSON string, without the quotes."""
    return dumps(text)[1:-1]


def spans_to_edits(raw: bytes, token: Token, spans: Iterable[tuple[int, int, str]]) -> list[Edit]:
    """Return the edits that replace spans of a string, and leave its other bytes alone.

    Args:
        raw: The line.
        token: The string.
        spans: Characters of `text_of` from one to another, in order and not
            overlapping, with the text that is to stand there.
    """
    wanted = list(spans)
    bounds = [at for start, end, _ in wanted for at in (start, end)]
    assert bounds == sorted(bounds)
    places = _places(raw[token.start + 1 : token.end - 1], bounds)
    base = token.start + 1
    return [
        (base + places[2 * index], base + places[2 * index + 1], encode_text(new))
        for index, (_, _, new) in enumerate(wanted)
    ]


def _places(inside: bytes, bounds: Sequence[int]) -> list[int]:
    """Return where, in the bytes of a string's inside, the characters at *bounds* begin."""
    if b"\\" not in inside and inside.isascii():
        return list(bounds)
    source = inside.decode()
    one_byte_each = inside.isascii()
    places: list[int] = []
    escapes = _ESCAPE.finditer(source)
    escape = next(escapes, None)
    # What was passed: characters of the text, characters of the source, and its bytes.
    text_at = source_at = bytes_at = 0
    for bound in bounds:
        while True:
            run = (len(source) if escape is None else escape.start()) - source_at
            if bound <= text_at + run:
                step = bound - text_at
                passed = source[source_at : source_at + step]
                bytes_at += step if one_byte_each else len(passed.encode())
                source_at += step
                text_at = bound
                break
            assert escape is not None
            size = escape.end() - source_at
            passed = source[source_at : escape.end()]
            bytes_at += size if one_byte_each else len(passed.encode())
            text_at += run + 1
            source_at = escape.end()
            escape = next(escapes, None)
        places.append(bytes_at)
    return places


def removal(raw: bytes, key: Token, value_end: int) -> Edit:
    """Return the edit that takes a member out of its object, and one comma with it.

    Args:
        raw: The line.
        key: The member's key.
        value_end: The byte behind its value.
    """
    gap = _GAP.match(raw, value_end)
    assert gap is not None
    after = gap.end()
    if raw[after : after + 1] == b",":
        gap = _GAP.match(raw, after + 1)
        assert gap is not None
        return key.start, gap.end(), b""
    before = len(raw[: key.start].rstrip(b" \t\r\n"))
    start = before - 1 if raw[before - 1 : before] == b"," else key.start
    return start, value_end, b""


def apply_edits(raw: bytes, edits: Iterable[Edit]) -> bytes:
    """Return *raw* with *edits* made; *raw* itself where there are none.

    Args:
        raw: The line.
        edits: In any order. None overlaps another.
    """
    pieces: list[bytes] = []
    at = 0
    for start, end, new in sorted(edits):
        assert at <= start <= end
        pieces += (raw[at:start], new)
        at = end
    if not pieces:
        return raw
    pieces.append(raw[at:])
    return b"".join(pieces)
