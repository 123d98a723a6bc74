"""A secret's place in some bytes, and how many places become one."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

Confidence = Literal["high", "medium", "low"]
RANK: dict[Confidence, int] = {"high": 2, "medium": 1, "low": 0}


class Span(NamedTuple):
    """A secret in some bytes.

    ``start`` and ``end`` are offsets in bytes; ``kind`` is a short name that
    stays the same between versions; ``rule`` is the rule that found it.
    """

    start: int
    end: int
    kind: str
    confidence: Confidence
    rule: str


class Spans(list[Span]):
    """Spans in their order, none overlapping another.

    Attributes:
        capped: Matches that were not judged, because there were more than
            `limits.FINDINGS_MAX` in one call.
    """

    capped: int = 0


def merged(found: Iterable[Span]) -> Spans:
    """Sort *found* and join what overlaps; the surest, then the widest, gives the name.

    A weak span (``low``) that overlaps a sure one goes: it must not widen it.
    """
    every = sorted(found)
    sure = _joined(each for each in every if each.confidence != "low")
    weak = _joined(each for each in every if each.confidence == "low")
    if weak:
        ends = [each.end for each in sure]
        free = [each for each in weak if not _overlaps(each, sure, ends)]
        sure.extend(free)
        sure.sort()
    return Spans(sure)


def _joined(every: Iterable[Span]) -> list[Span]:
    spans: list[Span] = []
    for each in every:
        if not spans or each.start >= spans[-1].end:
            spans.append(each)
            continue
        last = spans[-1]
        name = max(last, each, key=_weight)
        end = max(last.end, each.end)
        spans[-1] = Span(last.start, end, name.kind, name.confidence, name.rule)
    return spans


_VAGUE = frozenset({"model-provider-key", "payment-key", "platform-key", "secret", "jwt"})
"""Kinds that name less than others that may overlap them."""


def _weight(each: Span) -> tuple[int, bool, int, bool]:
    """Order spans by how much their names tell; a rule of our own goes before the catalogue's."""
    width = each.end - each.start
    own = each.rule.startswith("agentmem.")
    return RANK[each.confidence], each.kind not in _VAGUE, width, own


def _overlaps(each: Span, others: list[Span], ends: list[int]) -> bool:
    at = bisect_left(ends, each.start + 1)
    return at < len(others) and others[at].start < each.end
