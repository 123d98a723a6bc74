"""JSON text an index at a time: where things begin, and the loop that no depth exhausts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.limits import JSON_DEPTH_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON, Object

DEPTH_MAX: Final = JSON_DEPTH_MAX
"""Nested arrays and objects that are read: orjson's own bound, kept by every reader here."""


class TooDeep(ValueError):
    """The arrays and objects are nested deeper than `DEPTH_MAX`."""


def is_too_deep(text: str, start: int, end: int) -> bool:
    """Whether the JSON from *start* to *end* is nested too deeply."""
    opened = text.count("[", start, end) + text.count("{", start, end)
    if opened <= DEPTH_MAX:
        return False
    depth = 0
    for found in _BRACKET.finditer(text, start, end):
        mark = found[0]
        if mark in "[{":
            depth += 1
            if depth > DEPTH_MAX:
                return True
        elif mark in "]}":
            depth -= 1
    return False


_BRACKET = re.compile(r'[\[\]{}]|"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def walk(text: str, at: int, scalar: Callable[[str, int], tuple[JSON, int]]) -> tuple[JSON, int]:
    """Decode the value at *at* by a loop, with *scalar* for what is no array and no object.

    Returns:
        The value and the index just after it.

    Raises:
        TooDeep: Nested too deeply.
        ValueError: No JSON value stands there.
    """
    opened: list[list[JSON] | Object] = []
    keys: list[str] = []
    while True:
        mark = text[at : at + 1]
        if mark not in ("{", "["):
            value, at = scalar(text, at)
        else:
            if len(opened) == DEPTH_MAX:
                msg = f"nested more than {DEPTH_MAX} deep"
                raise TooDeep(msg)
            value = {} if mark == "{" else []
            at = after_space(text, at + 1)
            if text[at : at + 1] != _CLOSE[mark]:
                opened.append(value)
                at = _key(text, at, keys) if mark == "{" else at
                continue
            at += 1
        ended, value, at = _climb(text, at, value, opened, keys)
        if ended:
            return value, at


_CLOSE = {"{": "}", "[": "]"}


def _climb(
    text: str, at: int, value: JSON, opened: list[list[JSON] | Object], keys: list[str]
) -> tuple[bool, JSON, int]:
    """Put a value into what it stands in, and close what ends with it."""
    while opened:
        parent = opened[-1]
        at = after_space(text, at)
        more = text[at : at + 1] == ","
        if isinstance(parent, dict):
            parent[keys.pop()] = value
            if more:
                return False, None, _key(text, after_space(text, at + 1), keys)
            expect(text, at, "}")
        else:
            parent.append(value)
            if more:
                return False, None, after_space(text, at + 1)
            expect(text, at, "]")
        at += 1
        value = opened.pop()
    return True, value, at


def _key(text: str, at: int, keys: list[str]) -> int:
    """Read a key and what parts it from its value; return where the value begins."""
    key, at = string_at(text, at)
    keys.append(key)
    at = after_space(text, at)
    expect(text, at, ":")
    return after_space(text, at + 1)


def string_at(text: str, at: int) -> tuple[str, int]:
    """Decode the string at *at*; return it and the index just after it."""
    from json.decoder import scanstring  # type: ignore[attr-defined]  # there, undocumented

    expect(text, at, '"')
    key, end = scanstring(text, at + 1, True)  # noqa: FBT003 - its own signature
    return key, end


_SPACE = re.compile(r"[ \t\r\n]*")


def after_space(text: str, at: int) -> int:
    """Return the first index from *at* on that is no white space."""
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def expect(text: str, at: int, character: str) -> None:
    """Raise ``ValueError`` unless *character* stands at *at*."""
    if text[at : at + 1] != character:
        msg = f"expected {character!r} at character {at}"
        raise ValueError(msg)
