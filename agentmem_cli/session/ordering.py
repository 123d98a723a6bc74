"""A log whose records stand out of order, read as if they stood in it.

Nothing is moved here: what is made is a view, which is mended like a log. Lines
keep their bytes. A line that is no record stays behind the one that it stood
behind; a cut record goes to the place that it still names.

Source: DESIGN.md, "Repairing".
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.damaged import pieces, stamp_of, worth_of
from agentmem_cli.session.lines import Line
from agentmem_cli.session.placing import Found, sorted_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.session.damaged import Piece
    from agentmem_cli.session.source import OpenLog


class _Unit(NamedTuple):
    """One line of the view."""

    key: float
    """Where it goes; what has the same stays in its order."""
    offset: int
    """Where it lies in the log, in bytes."""
    length: int
    ended: bool
    """Whether the line's end is among its bytes; else one is put behind it."""


class Reordered:
    """A log as its lines would stand in order; as much of a log as is read."""

    def __init__(self, log: OpenLog, units: Sequence[_Unit], moved: int) -> None:
        """Look at *log* through *units*."""
        self._log = log
        self._units = units
        self._starts: list[int] = []
        self.moved = moved
        """How many records stand elsewhere."""
        self.size = 0
        """Bytes of all lines."""
        for unit in units:
            self._starts.append(self.size)
            self.size += unit.length + (not unit.ended)

    def lines(self, start: int = 0) -> Iterator[bytes]:
        """Yield the lines from byte *start* on, with their ends."""
        first = bisect_right(self._starts, start) - 1 if start else 0
        for index in range(first, len(self._units)):
            line = self._line(index)
            yield line[start - self._starts[index] :] if self._starts[index] < start else line

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to *length* bytes from *offset* on."""
        found: list[bytes] = []
        index = bisect_right(self._starts, offset) - 1
        while length > 0 and 0 <= index < len(self._units):
            unit = self._units[index]
            begin = offset - self._starts[index]
            data = self._log.read_at(unit.offset + begin, min(length, unit.length - begin))
            if not unit.ended and len(data) < length:
                data += b"\n"
            found.append(data)
            offset += len(data)
            length -= len(data)
            index += 1
        return b"".join(found)

    def _line(self, index: int) -> bytes:
        unit = self._units[index]
        return self._log.read_at(unit.offset, unit.length) + (b"" if unit.ended else b"\n")


def in_order(log: OpenLog) -> Reordered | None:
    """Return *log* with its records in the order of their stamps; None: they are in it.

    Memory grows with the number of records.
    """
    found = Found()
    lines: list[tuple[Piece, int]] = []
    for piece in pieces(log):
        lines.append((_light(piece), len(found.seqs)))
        for part in piece.parts:
            if type(part) is Line:
                seq, n, _ = stamp_of(part.fields)
                is_header = part.fields.get("type") == "header"
                found.add(seq, n, worth=worth_of(piece, part), header=is_header)
    run = sorted_run(found)
    if run is None:
        return None
    chosen, moved = run
    units: list[_Unit] = []
    for piece, index in lines:
        units += _units(log, piece, index, found.seqs, chosen, units[-1].key if units else -1.0)
    in_turn = sorted(units, key=lambda unit: unit.key)
    if in_turn == units:
        return None
    return Reordered(log, in_turn, moved)


def _light(piece: Piece) -> Piece:
    """Return a piece without what its records say: only where they lie is needed."""
    parts = tuple(
        part._replace(fields=_NOTHING) if type(part) is Line else part for part in piece.parts
    )
    return piece._replace(parts=parts)


def _units(
    log: OpenLog, piece: Piece, index: int, seqs: Sequence[int], chosen: set[int], key: float
) -> Iterator[_Unit]:
    """Yield the lines that one line becomes; *index* is that of its first record."""
    if piece.torn:
        yield _Unit(float("inf"), piece.offset, piece.length, ended=True)
        return
    records = [part for part in piece.parts if type(part) is Line]
    if len(piece.parts) == 1 and records:
        key = seqs[index] if index in chosen else key
        yield _Unit(key, piece.offset, piece.length, ended=True)
        return
    at = piece.offset
    for place, record in enumerate(records, index):
        if place in chosen:
            yield from _rest(log, at, record.offset, key)
            key = seqs[place]
            yield _Unit(key, record.offset, record.length, ended=False)
            at = record.offset + record.length
    if at == piece.offset:
        told = _stub_key(log, at, piece.length)
        yield _Unit(key if told is None else told, at, piece.length, ended=True)
    else:
        yield from _rest(log, at, piece.offset + piece.length - 1, key)


def _rest(log: OpenLog, start: int, end: int, key: float) -> Iterator[_Unit]:
    """Yield what stands between records of a line, unless it is white space."""
    if end > start and log.read_at(start, end - start).strip():
        told = _stub_key(log, start, end - start)
        yield _Unit(key if told is None else told, start, end - start, ended=False)


def _stub_key(log: OpenLog, offset: int, length: int) -> float | None:
    """Return the place before the record whose stamp a cut one begins with."""
    found = _STUB.match(log.read_at(offset, min(length, _STUB_BYTES)))
    return None if found is None else int(found[1]) - 0.5


_NOTHING: Final = {}  # type: ignore[var-annotated]
_STUB_BYTES: Final = 256
_STUB: Final = re.compile(rb'[\0\s]*\{"seq":([0-9]{1,15}),')
