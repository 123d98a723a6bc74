"""Where the records of a damaged log belong: which stamps hold, and which places are lost.

Most stamps hold, so those are looked for first: the longest run of records whose
``seq`` grows and between which ``n`` leaves a place for everything that is missing.
What is not among them is put into a hole that it fits, or it is a second record of
a stamp that stands: then both stay, since neither is the better one.

Source: DESIGN.md, "Repairing".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

KEPT: Final = "kept"
"""The record stands at the stamp that is told."""
STAYS: Final = "stays"
"""Its stamp is another record's too; it stays as it is, and is named."""
ASIDE: Final = "aside"
"""It goes out of the log: a copy of one that stands, what fits nowhere, or was no record."""


OWN: Final = 2
"""A record that has a line of its own."""
AMONG: Final = 1
"""A record in a line that was damaged, with all that its type has."""
PART: Final = 0
"""What is JSON by chance, and a part of what a record said."""


class Place(NamedTuple):
    """Where a record is to stand."""

    how: str
    """`KEPT`, `STAYS` or `ASIDE`."""
    seq: int
    n: int
    lost: tuple[tuple[int, int], ...] = ()
    """``seq`` and ``n`` of the places before it that nothing stands in."""


class Found:
    """The records of a log in its order, as far as placing needs them."""

    def __init__(self) -> None:
        """Begin with none."""
        self.seqs: list[int] = []
        self.ns: list[int] = []
        self.worth: list[int] = []
        """How much it is to be trusted: `OWN`, `AMONG` or `PART`."""
        self.header: int | None = None
        """Which of them is the header; None: the log does not begin with one."""
        self.astray: set[int] = set()
        """Headers that stand behind other records."""
        self.renumbered = False
        """Whether the header has a ``seq`` that is not its own."""

    def add(self, seq: int, n: int, *, worth: int, header: bool) -> None:
        """Note the next record."""
        if header and not self.seqs:
            # Why by its place: a header that is not taken for one would get a second beside it.
            self.header = 0
            self.renumbered = seq != 0
            seq = 0
        elif header:
            self.astray.add(len(self.seqs))
        self.seqs.append(seq)
        self.ns.append(n)
        self.worth.append(worth)


def places(found: Found, said: Callable[[int], bytes]) -> dict[int, Place]:
    """Return the records that are to stand otherwise than they do, by their index.

    Args:
        found: All of them.
        said: Tells of one of them, by index, what it says but for its ``seq`` and ``n``: a digest.
    """
    if _is_sound(found):
        return {}
    return _Placing(found, said).run()


def _is_sound(found: Found) -> bool:
    last = -1
    for index, (seq, n) in enumerate(zip(found.seqs, found.ns, strict=True)):
        if seq != index or n <= last:
            return False
        last = n
    return found.header == 0 and not found.renumbered


def sorted_run(found: Found) -> tuple[set[int], int] | None:
    """Return the records whose stamps hold once they stand in the order of their ``seq``.

    Returns:
        Their indexes, and how many more they are than hold as the log stands; None: no
        more of them would.
    """
    if _is_sound(found):
        return None
    holding = set(_holding(found, range(len(found.seqs)), found.header))
    header = found.header if found.header is not None else min(found.astray, default=None)
    # Why those first: of two of one stamp the one stays whose place it is.
    in_turn = sorted(
        range(len(found.seqs)), key=lambda each: (found.seqs[each], each not in holding, each)
    )
    chosen = set(_holding(found, in_turn, header))
    return (chosen, len(chosen) - len(holding)) if len(chosen) > len(holding) else None


def _holding(found: Found, items: Iterable[int], header: int | None) -> list[int]:
    """Return the records whose stamps hold where they stand in the order of *items*."""
    seqs, ns = found.seqs, found.ns
    items = [index for index in items if ns[index] >= seqs[index] > 0 and index != header]
    if header is not None:
        items.insert(0, header)
    room = [ns[index] - seqs[index] for index in items]
    growing = _longest(items, [seqs[index] for index in items], found.worth)
    first = _longest(growing, [ns[index] - seqs[index] for index in growing])
    # Why both ways: of two records of one seq the first may be the one whose n is wrong.
    fitting = _longest(items, room)
    other = _longest(fitting, [seqs[index] for index in fitting], found.worth)
    return other if len(other) > len(first) else first


class _Placing:
    """One log on its way."""

    def __init__(self, found: Found, said: Callable[[int], bytes]) -> None:
        self._found = found
        self._seqs = found.seqs
        self._ns = found.ns
        self._said = said
        self._last = (-1, -1)
        self._least = 1 if found.header is None else 0
        """The least ``seq`` that may be given: the first place is the header's."""
        self._placed: dict[int, Place] = {}

    def run(self) -> dict[int, Place]:
        found = self._found
        holding = _holding(found, range(len(found.seqs)), found.header)
        copies = self._copies(set(holding))
        kept = [index for index in range(len(self._seqs)) if index not in copies]
        self._seqs_twice = _twice(self._seqs[index] for index in kept)
        self._ns_twice = _twice(self._ns[index] for index in kept)
        ahead = iter(holding)
        following = next(ahead, None)
        for index in kept:
            if index == following:
                following = next(ahead, None)
                self._put(index, KEPT, self._seqs[index], self._ns[index])
                continue
            self._fit(index, following)
        for index in copies:
            self._placed[index] = Place(ASIDE, self._seqs[index], self._ns[index])
        return self._placed

    def _copies(self, holding: set[int]) -> set[int]:
        """Return the records that say again what another one says, which stands in its place.

        One number of a copy's stamp may be another: what is damaged is then the stamp.
        """
        copies: set[int] = set()
        for values in (self._seqs, self._ns):
            before: set[tuple[int, bytes]] = set()
            twice = _twice(values)
            again = [index for index, value in enumerate(values) if value in twice]
            # Why those first: of two the one stays whose place it is.
            for index in sorted(again, key=lambda each: (each not in holding, each)):
                if index in copies:
                    continue
                told = values[index], self._said(index)
                if index not in holding and told in before:
                    copies.add(index)
                before.add(told)
        return copies

    def _put(self, index: int, how: str, seq: int, n: int) -> None:
        """Have a record stand at a stamp, behind places for what is lost before it."""
        last_seq, last_n = self._last
        lost: tuple[tuple[int, int], ...] = ()
        if how == KEPT:
            # Why aligned with what follows: a header says when its log was started.
            lost = tuple((each, n - (seq - each)) for each in range(last_seq + 1, seq))
            assert all(last_n < each for _, each in lost)
            self._last = (seq, n)
        renumbered = index == self._found.header and self._found.renumbered
        if lost or renumbered or how != KEPT or (seq, n) != (self._seqs[index], self._ns[index]):
            self._placed[index] = Place(how, seq, n, lost)

    def _fit(self, index: int, following: int | None) -> None:
        seq, n = self._seqs[index], self._ns[index]
        stamp = None if index in self._found.astray else self._stamp(index, following)
        if stamp is not None:
            self._put(index, KEPT, *stamp)
        else:
            stays = self._found.worth[index] == OWN and index not in self._found.astray
            # Why only then: what fits nowhere would keep the log from being read strictly.
            stays = stays and seq >= self._least and seq in self._seqs_twice
            self._put(index, STAYS if stays else ASIDE, seq, n)

    def _stamp(self, index: int, following: int | None) -> tuple[int, int] | None:
        """Return the stamp that a record gets whose own does not hold; None: there is none."""
        seq, n = self._seqs[index], self._ns[index]
        last_seq, last_n = self._last
        upper = None if following is None else (self._seqs[following], self._ns[following])
        if seq >= self._least and self._has_room((seq, n), upper):
            return seq, n
        if self._found.worth[index] != OWN:
            return None
        next_seq = max(last_seq + 1, self._least)
        if max(last_seq, self._least - 1) < seq and (upper is None or seq < upper[0]):
            # Its seq is nobody else's place, so it is the n that is wrong.
            if upper is None and n in self._ns_twice:
                return None
            told = seq, last_n + seq - last_seq
            return told if self._has_room(told, upper) else None
        if n > last_n and not (upper is None and seq in self._seqs_twice):
            least = next_seq if upper is None else max(next_seq, upper[0] - upper[1] + n)
            if self._has_room((least, n), upper):
                return least, n
        told = next_seq, last_n + next_seq - last_seq
        return told if seq not in self._seqs_twice and self._has_room(told, upper) else None

    def _has_room(self, stamp: tuple[int, int], upper: tuple[int, int] | None) -> bool:
        """Whether a stamp fits between the last one and *upper*, with all that is lost."""
        seq, n = stamp
        last_seq, last_n = self._last
        if seq <= last_seq or n - last_n < seq - last_seq:
            return False
        return upper is None or (seq < upper[0] and upper[1] - n >= upper[0] - seq)


def _twice(values: Iterable[int]) -> set[int]:
    """Return the values that stand more than once."""
    seen: set[int] = set()
    twice: set[int] = set()
    for value in values:
        (twice if value in seen else seen).add(value)
    return twice


def _longest(
    items: Sequence[int], values: Sequence[int], worth: Sequence[int] | None = None
) -> list[int]:
    """Return the longest part of *items* whose *values* do not fall.

    With *worth*, by item, they grow: of equal ones the earliest of the most worth counts.
    """
    place = bisect_right if worth is None else bisect_left
    ends: list[int] = []
    which: list[int] = []
    before: list[int] = []
    for index, value in enumerate(values):
        at = place(ends, value)
        before.append(which[at - 1] if at else -1)
        if at == len(ends):
            ends.append(value)
            which.append(index)
        elif value < ends[at] or (
            worth is not None and worth[items[index]] > worth[items[which[at]]]
        ):
            ends[at] = value
            which[at] = index
    found: list[int] = []
    index = which[-1] if which else -1
    while index >= 0:
        found.append(items[index])
        index = before[index]
    return found[::-1]
