"""JSON in and out, without losing a bit of it.

orjson reads a log about five times as fast as the standard library, but it
refuses a lone surrogate, and turns an integer above 2**64-1 into a float, a
``-0`` into ``0`` and a ``1.10`` into ``1.1`` without a word. So it reads
where it loses nothing, and the standard library reads the rest, with every
number that Python would print otherwise kept as it was written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

import orjson

from agentmem_cli.session.scanning import (
    DEPTH_MAX,
    TooDeep,
    after_space,
    expect,
    is_too_deep,
    string_at,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from json import JSONDecoder

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
"""What a JSON text decodes to."""

Object: TypeAlias = "dict[str, JSON]"
"""A JSON object."""

loads_fast: Callable[[bytes], JSON] = orjson.loads
"""Decode where numbers do not matter to the last bit: orjson, as it is.

Raises:
    ValueError: Not JSON, or JSON that only `loads` reads.
"""

# Why: what orjson would change. Inside a string these are false alarms, which
# cost time and nothing else.
_INEXACT = re.compile(rb"[0-9]{16}|[0-9]\.[0-9]|[0-9][eE]|-0")

_LONG_BYTES = 64 << 10


class Number(float):
    """A number that `dumps` would write otherwise than it was written.

    It is the nearest float (so ``1e400`` is infinite), and ``text`` is what
    stood in the JSON.
    """

    __slots__ = ("text",)

    text: str

    def __new__(cls, text: str) -> Number:
        """Keep *text*, a JSON number."""
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Number):
            return self.text == other.text
        return float(self) == other

    def __ne__(self, other: object) -> bool:
        # Why: float has a comparison of its own, which knows no spelling.
        return not self == other

    def __hash__(self) -> int:
        return super().__hash__()

    def __reduce__(self) -> tuple[type[Number], tuple[str]]:
        return (Number, (self.text,))


def loads(data: bytes) -> JSON:
    """Decode *data* (UTF-8 JSON) exactly.

    Returns:
        The value; a number that `dumps` would write otherwise is a `Number`.

    Raises:
        TooDeep: Nested too deeply.
        ValueError: Not JSON, or not UTF-8 (then a ``UnicodeDecodeError``).
    """
    # Why by length: the search costs 25 ns a byte, a walk over what a long text comes to far less.
    is_long = len(data) > _LONG_BYTES
    if is_long or _INEXACT.search(data) is None:
        try:
            value = loads_fast(data)
            if not is_long or is_exact(value):
                return value
        except ValueError:
            pass  # Why: a lone surrogate is fine; the exact reader decides.
    return loads_text(data.decode("utf-8"))


def loads_text(text: str) -> JSON:
    """Decode *text* exactly, as `loads` does."""
    value, end = scan_text(text, after_space(text, 0))
    rest = after_space(text, end)
    if rest != len(text):
        msg = f"something follows the value at character {rest}"
        raise ValueError(msg)
    return value


def is_exact(value: JSON) -> bool:
    """Whether *value*, decoded fast, can be nothing but what stood there.

    orjson changes floats, and whole numbers only into a float or into 0.
    """
    todo: list[JSON] = [value]
    while todo:
        item = todo.pop()
        if type(item) is dict:
            todo.extend(item.values())
        elif type(item) is list:
            todo.extend(item)
        elif type(item) is float or (type(item) is int and item == 0):
            return False
    return True


def loads_object(data: bytes) -> Object:
    """Decode *data* exactly; anything but an object is a ``ValueError``."""
    value = loads(data)
    if not isinstance(value, dict):
        msg = "not a JSON object"
        raise ValueError(msg)  # noqa: TRY004 - one error for every malformed text
    return value


def scan_text(text: str, start: int) -> tuple[JSON, int]:
    """Decode the JSON value that begins at *start* of *text*.

    Returns:
        The value and the index just after it. What follows is not looked at.

    Raises:
        TooDeep: Nested too deeply.
        ValueError: No JSON value stands there.
    """
    try:
        value, end = _exact_decoder().raw_decode(text, start)
    except RecursionError:
        # Why: how deep the standard library goes depends on who calls it, and on
        # the version of Python. What orjson reads must be readable everywhere.
        return walk(text, start, _exact_decoder().raw_decode)
    except ValueError:
        # Why: so that text which is too deep and broken too has one name everywhere.
        if is_too_deep(text, start, len(text)):
            return walk(text, start, _exact_decoder().raw_decode)
        raise
    if end - start > 2 * DEPTH_MAX and is_too_deep(text, start, end):
        return walk(text, start, _exact_decoder().raw_decode)
    return value, end


def dumps(value: JSON) -> bytes:
    """Encode *value* as UTF-8 JSON without spaces, keys in their order.

    A `Number` is written as it was read, a lone surrogate as its escape.

    Raises:
        TypeError: Something in *value* has no JSON form.
    """
    try:
        return orjson.dumps(value, _as_written)
    except TypeError:
        return _dumps_exact(value)


def _as_written(item: object) -> orjson.Fragment:
    """Give orjson what it does not know: a `Number`, as its own text."""
    if isinstance(item, Number):
        return orjson.Fragment(item.text)
    raise TypeError


def same(one: JSON, other: JSON) -> bool:
    """Whether two values are the same JSON: ``1``, ``1.0`` and ``true`` differ.

    The order of an object's keys does not count.
    """
    todo: list[tuple[JSON, JSON]] = [(one, other)]
    while todo:
        left, right = todo.pop()
        if left is right:
            continue
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            todo.extend((item, right[key]) for key, item in left.items())
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            todo.extend(zip(left, right, strict=True))
        elif not _same_scalar(left, right):
            return False
    return True


def _same_scalar(left: JSON, right: JSON) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return _scalar(left) == _scalar(right)
    return type(left) is type(right) and left == right


def members(text: str) -> dict[str, tuple[int, int]]:
    """Where the values of the JSON object *text* stand.

    Returns:
        For each key the start and end of its value, in characters. Of a key
        that stands twice the last one counts, as it does in decoding.

    Raises:
        ValueError: *text* is not an object.
    """
    spans: dict[str, tuple[int, int]] = {}
    at = after_space(text, 0)
    expect(text, at, "{")
    at = after_space(text, at + 1)
    while text[at : at + 1] != "}":
        key, at = string_at(text, at)
        at = after_space(text, at)
        expect(text, at, ":")
        start = after_space(text, at + 1)
        _, end = scan_text(text, start)
        spans[key] = (start, end)
        at = after_space(text, end)
        if text[at : at + 1] == ",":
            at = after_space(text, at + 1)
        elif text[at : at + 1] != "}":
            expect(text, at, "}")
    return spans


def elements(text: str, start: int) -> list[tuple[int, int]]:
    """Where the elements of the JSON array at *start* of *text* stand.

    Raises:
        ValueError: No array stands there.
    """
    spans: list[tuple[int, int]] = []
    expect(text, start, "[")
    at = after_space(text, start + 1)
    while text[at : at + 1] != "]":
        _, end = scan_text(text, at)
        spans.append((at, end))
        at = after_space(text, end)
        if text[at : at + 1] == ",":
            at = after_space(text, at + 1)
        elif text[at : at + 1] != "]":
            expect(text, at, "]")
    return spans


_decoder: JSONDecoder | None = None


def _exact_decoder() -> JSONDecoder:
    # Why: made once; `json` itself is only imported when orjson will not do.
    global _decoder  # noqa: PLW0603
    if _decoder is None:
        import json

        _decoder = json.JSONDecoder(
            parse_float=_exact_float, parse_int=_exact_int, parse_constant=_refuse_constant
        )
    return _decoder


def _exact_float(text: str) -> float:
    value = float(text)
    return value if _scalar(value) == text else Number(text)


def _exact_int(text: str) -> int | float:
    # Why: CPython refuses to convert more than 4,300 digits.
    if text == "-0" or len(text) > 4_000:  # noqa: PLR2004 - said above
        return Number(text)
    return int(text)


def _refuse_constant(text: str) -> JSON:
    msg = f"{text} is not JSON"
    raise ValueError(msg)


def _dumps_exact(value: JSON) -> bytes:  # noqa: C901 - one branch a JSON type
    """Encode what orjson refuses; a loop, so that depth costs no stack."""
    from json.encoder import encode_basestring

    out: list[str] = []
    todo: list[tuple[bool, object]] = [(False, value)]
    while todo:
        ready, item = todo.pop()
        if ready:
            assert isinstance(item, str)
            out.append(item)
        elif isinstance(item, str):
            out.append(encode_basestring(item))
        elif isinstance(item, dict):
            todo.append((True, "}"))
            for key in reversed(item):
                if not isinstance(key, str):
                    msg = f"a key that is no string: {key!r}"
                    raise TypeError(msg)
                todo.append((False, item[key]))
                todo.append((True, encode_basestring(key) + ":"))
                todo.append((True, ","))
            _open(todo, out, "{", empty=not item)
        elif isinstance(item, list | tuple):
            todo.append((True, "]"))
            for element in reversed(item):
                todo.append((False, element))
                todo.append((True, ","))
            _open(todo, out, "[", empty=not item)
        else:
            out.append(_scalar(item))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", "".join(out)).encode()


_SURROGATE = re.compile("[\ud800-\udfff]")


def _open(todo: list[tuple[bool, object]], out: list[str], bracket: str, *, empty: bool) -> None:
    if not empty:
        todo.pop()  # Why: no comma before the first.
    out.append(bracket)


def _scalar(item: object) -> str:
    if item is None:
        return "null"
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, Number):
        return item.text
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float):
        return orjson.dumps(float(item)).decode()
    msg = f"no JSON form: {type(item).__name__}"
    raise TypeError(msg)


__all__ = [
    "JSON",
    "Number",
    "Object",
    "TooDeep",
    "dumps",
    "elements",
    "loads",
    "loads_fast",
    "loads_object",
    "loads_text",
    "members",
    "same",
    "scan_text",
]
