"""Lines that are no JSON, looked at together, and what is found parted among them again."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agentmem_cli.operations.secrets.looking import Found
from agentmem_cli.operations.secrets.marks import Spot, Streamed, event_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.operations.secrets.findings import Finding

TEXT_BYTES: Final = 256 << 10
"""Bytes of lines of a text that are looked at together."""

TEXT_OVERLAP: Final = 16 << 10
"""Bytes that two such looks have in common: more than any key on several lines."""


class Text(NamedTuple):
    """Lines that are looked at together; ``line`` is the number of the first."""

    line: int
    raw: bytes
    skip: int
    """Bytes at the beginning that were looked at already."""


Seen: TypeAlias = "tuple[bytes, Found]"
"""An event's key, and what it holds."""


class Gathering:
    """Lines that are no JSON, gathered so that what stands on several of them is seen whole.

    Attributes:
        next: The number of the line that goes on with them; another begins anew.
    """

    def __init__(self) -> None:
        self.next = 0
        self._lines: list[bytes] = []
        self._first = 0
        self._size = 0
        self._skip = 0

    def add(self, number: int, raw: bytes) -> Text | None:
        """Take a line; return a text that is long enough to be looked at."""
        if not self._lines:
            self._first = number
        self.next = number + 1
        self._lines.append(raw)
        self._size += len(raw) + 1
        if self._size < TEXT_BYTES + self._skip:
            return None
        text = Text(self._first, b"\n".join(self._lines), self._skip)
        self._keep_end()
        return text

    def _keep_end(self) -> None:
        size = count = 0
        for line in reversed(self._lines):
            # Why the last one even if it is longer: what begins in it may end in the next.
            if size + len(line) >= (TEXT_OVERLAP if count else TEXT_BYTES):
                break
            size += len(line) + 1
            count += 1
        self._first += len(self._lines) - count
        self._lines = self._lines[len(self._lines) - count :]
        self._size = self._skip = size

    def flush(self) -> Text | None:
        """Return what is left; None: nothing, or blank lines only."""
        lines, self._lines = self._lines, []
        skip, self._skip, self._size = self._skip, 0, 0
        if len(lines) == 0 or not any(map(bytes.strip, lines)):
            return None
        text = b"\n".join(lines)
        return Text(self._first, text, skip) if len(text) > skip else None


def by_line(text: Text, found: Found) -> Iterator[Seen]:
    """Part what was found in a text among its lines, since these are masked one by one.

    What stands on several lines is masked in the first, and goes from the
    others; these are known by their numbers, since such a line alone says nothing.
    """
    lines = text.raw.split(b"\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    spots = iter(found.spots)
    for row in found.rows:
        spot = next(spots) if row.fate == "mask" else None
        pieces = _pieces(lines, starts, row)
        own = Found.none()
        index, start, end = pieces[0]
        place = row.place._replace(line=text.line + index)
        if row.end > text.skip:
            own.rows.append(row._replace(place=place, start=start, end=end))
        if spot is not None and len(pieces) == 1:
            own.spots.append(Spot(0, start, end, spot.mask))
        elif spot is not None:
            masks = [spot.mask, *("" for _ in pieces[1:])]
            for (at, first, last), mask in zip(pieces, masks, strict=True):
                where = (row.place.name, text.line + at)
                own.lines.setdefault(where, []).append(Streamed((), first, last, mask))
        if spot is not None:
            own.probes.extend(lines[at][x:y].decode("utf-8", "replace") for at, x, y in pieces)
        yield event_key(lines[index]), own
    yield b"", found._replace(rows=[], spots=[], probes=[])


def _pieces(lines: list[bytes], starts: list[int], row: Finding) -> list[tuple[int, int, int]]:
    """Return the lines that a finding in their text covers: the index, and bytes of it."""
    pieces: list[tuple[int, int, int]] = []
    index = bisect_right(starts, row.start) - 1
    while index < len(lines) and starts[index] < row.end:
        start = max(row.start - starts[index], 0)
        end = min(row.end - starts[index], len(lines[index]))
        if start < end:
            pieces.append((index, start, end))
        index += 1
    return pieces
