"""A log's bytes to its lines, with every damage named.

Source: DESIGN.md, "Torn and damaged lines".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from agentmem_cli.session.codec import TooDeep, loads, loads_fast, scan_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.session.codec import JSON, Object

NOT_JSON: Final = "not-json"
"""The line is no JSON: cut short, overwritten, or never written whole."""
WELDED: Final = "welded"
"""A cut record and a whole one, or two whole ones, share a line."""
ZEROED: Final = "zeroed"
"""A run of NUL bytes, as a power cut leaves it."""
BYTE_ORDER_MARK: Final = "byte-order-mark"
"""The log begins with U+FEFF, as some editors save it; its records are read all the same."""
NOT_UTF8: Final = "not-utf8"
"""A byte that is not UTF-8; the record is read with U+FFFD in its place."""
TOO_DEEP: Final = "too-deep"
"""Nested deeper than can be walked: whole JSON perhaps, but not checked."""
NO_RECORD: Final = "no-record"
"""JSON, but no record: no object, or without stamp and type."""
TORN: Final = "torn-tail"
"""The log's end was cut off while it was written."""


class Bytes(Protocol):
    """An opened log, as much of it as scanning needs."""

    size: int

    def lines(self, start: int = 0) -> Iterator[bytes]:
        """Yield the lines with their ends; what was added since opening may come too."""
        ...


class Damage(NamedTuple):
    """A damaged place of a log."""

    line: int
    """The line, counted from 1."""
    offset: int
    """Where the damaged bytes begin, in bytes from the log's beginning."""
    length: int
    """How many bytes are damaged."""
    kind: str
    """One of this module's constants, or of the fold's."""
    why: str
    """What a person reads."""


class Line(NamedTuple):
    """One whole record of a log."""

    number: int
    """The line it stands in, counted from 1."""
    offset: int
    """Where it begins, in bytes from the log's beginning."""
    length: int
    """Its bytes, without the line's end."""
    fields: Object
    """The record, decoded fast: numbers may be inexact beyond 64 bits."""


def scan(
    log: Bytes, report: Callable[[Damage], None], *, start: int = 0, number: int = 1
) -> Iterator[Line]:
    """Yield every whole record of *log*, and *report* everything else.

    Whole records are salvaged from damaged lines. To read strictly, let
    *report* raise. A torn tail is reported last, with the kind `TORN`; blank
    lines are no damage. Scanning can begin at byte *start*, where the line of
    that *number* does.
    """
    offset = start
    size = log.size
    # Why: a NamedTuple's own constructor is a Python function; this loop runs for every record.
    made = tuple.__new__
    for number, line in enumerate(log.lines(start), number):  # noqa: B020, PLR1704 - its first
        after = offset + len(line)
        if after > size or line[-1] != LINE_END:
            if offset < size:
                report(torn_line(number, offset, size - offset))
            return
        try:
            fields = loads_fast(line)
        except ValueError:
            if line.strip():
                yield from _hard(line[:-1], number, offset, report, last=after == size)
        else:
            if type(fields) is dict:
                yield made(Line, (number, offset, len(line) - 1, fields))
            else:
                report(Damage(number, offset, len(line) - 1, NO_RECORD, _no_object(fields)))
        offset = after


LINE_END: Final = 10
"""The byte that ends a line; nothing else does (not CR, not U+2028)."""


def torn_line(number: int, offset: int, length: int) -> Damage:
    """Return the damage of a last line that was cut off."""
    return Damage(number, offset, length, TORN, f"the last line is cut off ({length} bytes)")


def odd_line(
    line: bytes, number: int, offset: int, report: Callable[[Damage], None], *, last: bool
) -> Iterator[Line]:
    """Yield the whole records of one line with its end, as `scan` does.

    Args:
        line: It.
        number: Its number, from 1.
        offset: Where it begins in the log, in bytes.
        report: Gets its damages.
        last: Whether the log ends with it.
    """
    if not line.strip():
        return
    try:
        fields = loads_fast(line)
    except ValueError:
        yield from _hard(line[:-1], number, offset, report, last=last)
        return
    if isinstance(fields, dict):
        yield Line(number, offset, len(line) - 1, fields)
    else:
        report(Damage(number, offset, len(line) - 1, NO_RECORD, _no_object(fields)))


def _no_object(value: JSON) -> str:
    names = {list: "an array", str: "a string", type(None): "null", bool: "true or false"}
    return f"{names.get(type(value), 'a number')}, not a record"


def _hard(
    line: bytes, number: int, offset: int, report: Callable[[Damage], None], *, last: bool
) -> Iterator[Line]:
    """What orjson would not read: exact JSON, or damage with what can be salvaged."""
    try:
        fields = loads(line)
    except TooDeep:
        why = "nested too deeply to be checked; kept as it is"
        report(Damage(number, offset, len(line), TOO_DEEP, why))
        return
    except UnicodeDecodeError as error:
        yield from _salvage(line, number, offset, report, bad_byte=error.start, last=last)
        return
    except ValueError:
        yield from _salvage(line, number, offset, report, bad_byte=None, last=last)
        return
    if isinstance(fields, dict):
        yield Line(number, offset, len(line), fields)
    else:
        report(Damage(number, offset, len(line), NO_RECORD, _no_object(fields)))


def _salvage(
    line: bytes,
    number: int,
    offset: int,
    report: Callable[[Damage], None],
    *,
    bad_byte: int | None,
    last: bool,
) -> Iterator[Line]:
    found = list(whole_records(line))
    if not found and last:
        report(Damage(number, offset, len(line) + 1, TORN, "the last line is not JSON"))
        return
    for damage in _gaps(line, number, offset, found):
        report(damage)
    if bad_byte is not None and any(at <= bad_byte < at + long for at, long, _ in found):
        where = offset + bad_byte
        report(Damage(number, where, 1, NOT_UTF8, f"byte {where} is not UTF-8"))
    for at, long, fields in found:
        yield Line(number, offset + at, long, fields)


def _gaps(
    line: bytes, number: int, offset: int, found: list[tuple[int, int, Object]]
) -> Iterator[Damage]:
    """Yield what stands between and around the records *found* in a line."""
    ends = [0, *(at + long for at, long, _ in found)]
    starts = [*(at for at, _, _ in found), len(line)]
    named = False
    for start, stop in zip(ends, starts, strict=True):
        gap = line[start:stop]
        if not gap.strip():
            continue
        named = True
        yield Damage(number, offset + start, len(gap), *_kind_of(gap, alone=not found))
    if len(found) > 1 and not named:
        why = f"{len(found)} whole records share a line"
        yield Damage(number, offset, len(line), WELDED, why)


def _kind_of(gap: bytes, *, alone: bool) -> tuple[str, str]:
    if not gap.strip(b"\0 \t\r"):
        return ZEROED, f"{len(gap)} bytes, NULs all of them"
    if gap == _UTF8_MARK:
        return BYTE_ORDER_MARK, "a byte order mark, which a log does not have"
    encoding = next((name for mark, name in _OTHER_MARKS if gap.startswith(mark)), None)
    if alone and encoding is not None:
        return NOT_JSON, f"{encoding} by its byte order mark; a log is UTF-8"
    if alone:
        return NOT_JSON, f"{len(gap)} bytes that are not JSON"
    return WELDED, f"{len(gap)} bytes of a cut record share a line with a whole one"


_UTF8_MARK: Final = b"\xef\xbb\xbf"
_OTHER_MARKS: Final = (
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
"""How files of other encodings begin; the longer mark first, since one begins as the other."""

_RECORD_START = re.compile(r'\{[ \t]*"(?:seq|n|t|by|type)"')
_ATTEMPTS_MAX: Final = 1_000
_TRIED_MAX: Final = 256 << 10
_TRIED_TIMES: Final = 16
"""Characters that attempts which come to nothing may read: these, and the line so many times."""

_DEEP_MAX: Final = 8
"""Attempts that end too deep, after which a line is given up: each costs a millisecond or more."""


def whole_records(line: bytes) -> Iterator[tuple[int, int, Object]]:
    """Find the whole records inside a damaged *line*.

    Yields:
        Where each begins in the line, its bytes, and the record; bytes that
        are not UTF-8 are read as U+FFFD.
    """
    # Why: surrogateescape keeps one character a bad byte, so offsets stay exact.
    text = line.decode("utf-8", "surrogateescape")
    at = 0
    deep = 0
    left = _TRIED_MAX + _TRIED_TIMES * len(text)
    for _ in range(_ATTEMPTS_MAX):
        begin = _RECORD_START.search(text, at)
        if begin is None:
            return
        start = begin.start()
        try:
            value, end = scan_text(text, start)
        except ValueError as error:
            at = start + 1
            deep += isinstance(error, TooDeep)
            left -= len(text) - start
            if deep == _DEEP_MAX or left < 0:
                return
            continue
        at = end
        if isinstance(value, dict) and _stamped(value):
            before = len(text[:start].encode("utf-8", "surrogateescape"))
            raw = text[start:end].encode("utf-8", "surrogateescape")
            fields = loads(raw.decode("utf-8", "replace").encode())
            assert isinstance(fields, dict)
            yield before, len(raw), fields


def _stamped(value: Object) -> bool:
    stamp = (value.get("seq"), value.get("n"), value.get("t"))
    return all(type(item) is int for item in stamp) and isinstance(value.get("type"), str)
