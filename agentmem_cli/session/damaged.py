"""The lines of a damaged log as a repair takes them: whole records, and bytes that are none."""

from __future__ import annotations

import re
from array import array
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.limits import U64_MAX
from agentmem_cli.session.codec import loads_fast
from agentmem_cli.session.keys import FORMAT
from agentmem_cli.session.lines import LINE_END, TORN, Line, odd_line
from agentmem_cli.session.placing import AMONG, OWN, PART, Found, Place, places
from agentmem_cli.session.record import (
    CHANGES,
    BadRecord,
    decode_change,
    decode_header,
    decode_saved,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.session.source import OpenLog

TYPES: Final = CHANGES | {"header", "state", "retired"}
"""Every type of record that this version knows."""


class Gap(NamedTuple):
    """Bytes of a line that are no record."""

    offset: int
    length: int


class Piece(NamedTuple):
    """One line of a log, its end included."""

    number: int
    offset: int
    length: int
    parts: tuple[Line | Gap, ...]
    """What it holds, in order; white space is left out."""
    mangled: bool = False
    """Whether it holds a byte that is not UTF-8."""
    torn: bool = False
    """Whether it is the log's torn end: then it has no parts."""

    @property
    def is_plain(self) -> bool:
        """Whether it is one record and nothing else."""
        return len(self.parts) == 1 and type(self.parts[0]) is Line and not self.mangled


def pieces(log: OpenLog) -> Iterator[Piece]:
    """Yield the lines of *log*, a torn end last."""
    offset = 0
    size = log.size
    for number, line in enumerate(log.lines(), 1):
        after = offset + len(line)
        if after > size or line[-1] != LINE_END:
            if offset < size:
                yield Piece(number, offset, size - offset, (), torn=True)
            return
        try:
            fields = loads_fast(line)
        except ValueError:
            fields = None
        if type(fields) is dict and is_stamped(fields):
            one = Line(number, offset, len(line) - 1, fields)
            yield Piece(number, offset, len(line), (one,))
        elif not line.strip():
            # Why here: a log may hold a million of them, and is read four times to be mended.
            yield Piece(number, offset, len(line), ())
        else:
            yield _odd(line, number, offset, last=after == size)
        offset = after


def is_stamped(fields: Object) -> bool:
    """Whether a record has a whole stamp, which is what gives it a place."""
    seq, n, t = fields.get("seq"), fields.get("n"), fields.get("t")
    if type(seq) is not int or type(n) is not int or type(t) is not int:
        return False
    # Why bounded: a greater number is none to a reader that has 64 bits.
    return 0 <= seq <= U64_MAX and 0 <= n <= U64_MAX and _TIME_MIN <= t <= U64_MAX


_TIME_MIN: Final = -1 << 63


def stamp_of(fields: Object) -> tuple[int, int, int]:
    """Return ``seq``, ``n`` and ``t`` of a record that `is_stamped`."""
    seq, n, t = fields["seq"], fields["n"], fields["t"]
    assert isinstance(seq, int)
    assert isinstance(n, int)
    assert isinstance(t, int)
    return seq, n, t


def _odd(line: bytes, number: int, offset: int, *, last: bool) -> Piece:
    damages: list[Damage] = []
    found = odd_line(line, number, offset, damages.append, last=last)
    records = [record for record in found if is_stamped(record.fields)]
    if any(damage.kind == TORN for damage in damages):
        return Piece(number, offset, len(line), (), torn=True)
    whole = len(records) == 1 and records[0].length == len(line) - 1
    if not whole:
        # Why: what stands inside of a damaged line may be a piece of what somebody said.
        records = [
            record
            for record in records
            if record.fields.get("type") in TYPES and not _is_inside(line, record, offset)
        ]
    parts: list[Line | Gap] = []
    at = 0
    for record in records:
        parts += _gap(line, at, record.offset - offset, offset)
        parts.append(record)
        at = record.offset - offset + record.length
    parts += _gap(line, at, len(line) - 1, offset)
    return Piece(number, offset, len(line), tuple(parts), mangled=not is_utf8(line))


def _is_inside(line: bytes, record: Line, offset: int) -> bool:
    """Whether what looks like a record is a value in another one, of which more follows."""
    start = record.offset - offset
    before, behind = line[:start].rstrip(), line[start + record.length :].lstrip()
    return before[-1:] in _BEFORE_VALUE and behind[:1] in _BEHIND_VALUE


_BEFORE_VALUE: Final = (b":", b"[", b",")
_BEHIND_VALUE: Final = (b",", b"]", b"}")


def _gap(line: bytes, start: int, end: int, offset: int) -> list[Gap]:
    """Return the bytes of *line* from *start* to *end*, if there are any but white space."""
    return [Gap(offset + start, end - start)] if line[start:end].strip() else []


def is_utf8(line: bytes) -> bool:
    """Whether *line* is UTF-8."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


class Survey(NamedTuple):
    """What a log holds, as far as mending it needs that."""

    places: dict[int, Place]
    """Records that are to stand otherwise than they do, by their index."""
    next_aside: int
    """An id that no side record of the log has, nor any after it."""
    unknown: tuple[str, ...]
    """Types of records that this version does not know, some of them."""
    header: Object | None
    """A header that stands behind other records, where none stands before them."""
    format: str | None
    """The format that the header names where it is another one."""


def worth_of(piece: Piece, record: Line) -> int:
    """Return how much a record in a line is to be trusted, as `placing.Found` knows it."""
    if all(type(part) is Line for part in piece.parts):
        return OWN
    fields = record.fields
    try:
        if fields["type"] == "header":
            decode_header(fields)
        elif fields["type"] == "state":
            decode_saved(fields)
        elif fields["type"] in CHANGES:
            decode_change(fields, 0, None, 0, 0)
    except BadRecord:
        return PART
    return AMONG


_UNKNOWN_MAX: Final = 5


def survey(log: OpenLog) -> Survey:
    """Look through *log* for what its records are and where they belong.

    Memory grows with the number of records, not with their bytes.
    """
    found = Found()
    where: tuple[array[int], array[int]] = (array("Q"), array("Q"))
    next_aside = 0
    unknown: dict[str, None] = {}
    other: str | None = None
    astray: Object | None = None
    for piece in pieces(log):
        for part in piece.parts:
            if type(part) is not Line:
                continue
            fields = part.fields
            kind = fields.get("type")
            if kind == "header" and not found.seqs and fields.get("format") != FORMAT:
                other = str(fields.get("format"))
            if kind == "header" and found.seqs and astray is None:
                astray = fields
            if isinstance(kind, str) and kind not in TYPES and len(unknown) < _UNKNOWN_MAX:
                unknown[kind] = None
            next_aside = max(next_aside, _after_asides(fields))
            seq, n, _ = stamp_of(fields)
            found.add(seq, n, worth=worth_of(piece, part), header=kind == "header")
            where[0].append(part.offset)
            where[1].append(part.length)
    placed = places(found, _said(log, *where))
    return Survey(placed, next_aside, tuple(unknown), astray, other)


def _said(log: OpenLog, offsets: array[int], lengths: array[int]) -> Callable[[int], bytes]:
    def said(index: int) -> bytes:
        data = log.read_at(offsets[index], lengths[index])
        found = _NUMBERS.match(data)
        return sha256(data if found is None else data[found.end() :]).digest()

    return said


def _after_asides(fields: Object) -> int:
    """Return the least id after those of the side records that a record names."""
    kind = fields.get("type")
    ids = [fields.get("id")] if kind == "aside" else []
    state = fields.get("state")
    if kind == "reset" and isinstance(state, dict):
        told = state.get("next_aside")
        ids += [told - 1] if type(told) is int else []
        asides = state.get("asides")
        for item in asides if isinstance(asides, list) else []:
            ids.append(item.get("id") if isinstance(item, dict) else None)
    return max((id_ + 1 for id_ in ids if type(id_) is int), default=0)


_NUMBERS: Final = re.compile(rb'\{"seq":[0-9]{1,20},"n":[0-9]{1,20},')
