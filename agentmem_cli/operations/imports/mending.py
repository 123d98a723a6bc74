"""What can still be read of a damaged line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.codec import TooDeep, loads_text, scan_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentmem_cli.operations.imports.adapter import Tally
    from agentmem_cli.session.codec import JSON, Object

DEPTH_MAX: Final = 450
"""Nested arrays and objects in a source's line. What becomes of a line lies a few levels
deeper in its record, and must stay well within what CPython's own parser reads."""

_TRIES_MAX: Final = 2_000
"""Places in one line at which a whole record is looked for."""

_TRIED_MAX: Final = 1 << 20
_TRIED_TIMES: Final = 64
"""Characters that those which come to nothing may read: these, and the line so many times. A cut
record is nested less deeply."""

_NULS = re.compile(rb"\x00+")
_START = re.compile(r'\{[ \t]*"')
_SPACE = re.compile(r"[ \t\r\n]*")
_MARK: Final = "\ufeff"


class Place(NamedTuple):
    """Where a line stands."""

    line: int
    """Counted from 1."""
    offset: int
    """Where it begins, in bytes from 0."""
    ended: bool
    """Whether it ended in a newline."""
    exact: bool
    """Whether *offset* counts the source's own bytes."""


def mend(
    piece: bytes, place: Place, accepts: Callable[[Object], bool], tally: Tally
) -> Iterator[Object]:
    """Yield the records that can be read of the line *piece*, and count what is wrong with it.

    Whole records are taken wherever they stand: after a run of NULs, after
    one another, after the beginning of a record that was cut off. A record
    with bytes that are not UTF-8 is read with U+FFFD in their place.

    Args:
        piece: The line without its end.
        place: Where it stands. What is wrong at the end of a line that did
            not end is a torn end, not a flaw.
        accepts: Whether an object that stands behind a stub is a record (and
            not a piece of the cut one).
        tally: Where flaws are counted.
    """
    if not piece.strip():
        return
    spans = _between_nuls(piece)
    if len(spans) != 1 or spans[0] != (0, len(piece)):
        yield from _around_nuls(piece, spans, place, accepts, tally)
        return
    yield from _segment(piece, place, accepts, tally)


def _between_nuls(piece: bytes) -> list[tuple[int, int]]:
    """Return where something other than NUL stands, as (start, end)."""
    spans = []
    start = 0
    for run in _NULS.finditer(piece):
        spans.append((start, run.start()))
        start = run.end()
    spans.append((start, len(piece)))
    return [(start, end) for start, end in spans if piece[start:end].strip()]


def _around_nuls(
    piece: bytes,
    spans: list[tuple[int, int]],
    place: Place,
    accepts: Callable[[Object], bool],
    tally: Tally,
) -> Iterator[Object]:
    tail = spans[-1][1] if spans else 0
    if not place.ended and tail < len(piece):
        # Why: blocks that were given to the file and never filled are a torn end.
        tally.torn = (place.line, _byte(place, tail), len(piece) - tail)
    if place.ended or tail == len(piece):
        count = piece.count(0)
        tally.flaw(place.line, _byte(place, piece.index(0)), f"{count} NUL bytes", lost=not spans)
    for start, end in spans:
        ended = place.ended or end < len(piece)
        inner = Place(place.line, place.offset + start, ended=ended, exact=place.exact)
        yield from _segment(piece[start:end], inner, accepts, tally)


def _segment(
    piece: bytes, place: Place, accepts: Callable[[Object], bool], tally: Tally
) -> Iterator[Object]:
    text, bad = _decoded(piece)
    found, stub, why = _objects(text, accepts)
    if found and bad is not None:
        tally.flaw(place.line, _byte(place, bad), "not UTF-8", lost=False)
    if stub is None:
        if len(found) > 1:
            why = f"{len(found)} records on one line"
        if why:
            tally.flaw(place.line, _byte(place, 0), why, lost=False)
    else:
        start, end = (_bytes_before(text, at, bad, piece) for at in stub)
        if not place.ended and end == len(piece) and why != _DEEP:
            tally.torn = (place.line, _byte(place, start), end - start)
        else:
            tally.flaw(place.line, _byte(place, start), f"{end - start} bytes: {why}", lost=True)
    yield from found


_DEEP: Final = "nested too deeply"
_CUT: Final = "not a whole record"


def _decoded(piece: bytes) -> tuple[str, int | None]:
    """Return the text and where its first bad byte stands (None: it is UTF-8)."""
    try:
        return piece.decode("utf-8"), None
    except UnicodeDecodeError as error:
        return piece.decode("utf-8", "replace"), error.start


def _bytes_before(text: str, at: int, bad: int | None, piece: bytes) -> int:
    if at >= len(text):
        return len(piece)
    before = len(text[:at].encode("utf-8", "surrogatepass"))
    # Why: each bad byte is three bytes long as U+FFFD, so behind one this is only near.
    return before if bad is None or before <= bad else min(before, len(piece))


def _byte(place: Place, at: int) -> int | None:
    return place.offset + at if place.exact else None


def _objects(
    text: str, accepts: Callable[[Object], bool]
) -> tuple[list[Object], tuple[int, int] | None, str]:
    """Find the whole objects of a line.

    Returns:
        The objects; where the part that could not be used stands, in
        characters (None: there is none); why it could not be used.
    """
    at = _start_of(text)
    try:
        found, at, why = _chain(text, at)
        if at == len(text):
            return found, None, ""
        salvaged = _salvage(text, at, accepts)
    except TooDeep:
        return [], (0, len(text)), _DEEP
    if salvaged is not None:
        start, objects = salvaged
        return found + objects, (at, start), _CUT
    lenient = _lenient(text) if not found else None
    if lenient is not None:
        return [lenient], None, "raw control characters"
    return found, (at, len(text)), why


def _start_of(text: str) -> int:
    found = _SPACE.match(text, 1 if text.startswith(_MARK) else 0)
    assert found is not None
    return found.end()


def _chain(text: str, at: int) -> tuple[list[Object], int, str]:
    """Read objects one after another from *at*.

    Returns:
        The objects, where the reading stopped, and why.
    """
    found: list[Object] = []
    while at < len(text):
        try:
            value, end = scan_text(text, at)
        except TooDeep:
            raise
        except ValueError:
            return found, at, _CUT
        if not isinstance(value, dict):
            return found, at, f"{_name(value)}, not an object"
        if _too_deep(value):
            raise TooDeep(_DEEP)
        found.append(value)
        after = _SPACE.match(text, end)
        assert after is not None
        at = after.end()
    return found, at, ""


def _salvage(
    text: str, after: int, accepts: Callable[[Object], bool]
) -> tuple[int, list[Object]] | None:
    """Find the first place behind *after* from which whole records reach the end."""
    left = _TRIED_MAX + _TRIED_TIMES * len(text)
    for tries, start in enumerate(_START.finditer(text, after + 1)):
        if tries == _TRIES_MAX or left < 0:
            return None
        try:
            found, end, _ = _chain(text, start.start())
        except TooDeep:
            found, end = [], 0
        if not found:
            left -= len(text) - start.start()
        elif end == len(text) and all(accepts(value) for value in found):
            return start.start(), found
    return None


def _lenient(text: str) -> Object | None:
    """Read an object whose strings hold raw control characters; None: it is none."""
    escaped = _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text.strip())
    try:
        value = loads_text(escaped)
    except ValueError:
        return None
    return value if isinstance(value, dict) and not _too_deep(value) else None


_CONTROL = re.compile(r"[\x01-\x1f]")


def _too_deep(value: JSON) -> bool:
    return depth(value) > DEPTH_MAX


def depth(value: JSON) -> int:
    """Return how deeply arrays and objects are nested in *value*; 0 for a scalar."""
    deepest = 0
    todo: list[tuple[JSON, int]] = [(value, 1)]
    while todo:
        item, level = todo.pop()
        inner: Iterable[JSON]
        if isinstance(item, dict):
            inner = item.values()
        elif isinstance(item, list):
            inner = item
        else:
            continue
        deepest = max(deepest, level)
        todo.extend((each, level + 1) for each in inner if isinstance(each, dict | list))
    return deepest


def _name(value: JSON) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a string"
    return "an array" if isinstance(value, list) else "a number"
