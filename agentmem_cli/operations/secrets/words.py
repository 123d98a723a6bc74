"""Which values are telling enough to be searched for everywhere."""

from __future__ import annotations

from collections import Counter
from math import log2
from typing import Final

LENGTH_MIN: Final = 8
ENTROPY_MIN: Final = 3.0


def entropy(value: str) -> float:
    """Return the bits a character of *value* tells, by how often each occurs in it."""
    size = len(value)
    return -sum(n / size * log2(n / size) for n in Counter(value).values())


def is_shaped(value: str, kind: str) -> bool:
    """May *value* be searched for everywhere, as it stands, without hitting plain words?"""
    return len(value) >= LENGTH_MIN and entropy(value) >= ENTROPY_MIN and kind != "word"
