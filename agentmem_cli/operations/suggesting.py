"""The name that somebody may have meant, where there is none of the words that were typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMPARED_MAX: Final = 5_000
"""Names that are compared letter by letter; of more, those with the most promise."""

_SLIP_LETTERS: Final = 1

_INSIDE_LETTERS: Final = 3
"""Letters that say something where they stand inside of a name."""

_SHORT_LETTERS: Final = 6
"""Of fewer letters the first must be the same, where they are compared with beginnings."""

_CUTOFF: Final = 0.7
"""How much of two names must be the same, from 0 to 1."""


def near(words: str, names: Sequence[str]) -> str | None:
    """Return the one of *names* that *words* may have been meant to be; None: none is like it.

    Words may be the beginning of a name with a slip in it, or stand in one.
    """
    from difflib import get_close_matches

    lower = words.casefold()
    if not lower:
        return None
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.casefold(), name)
    inside = [name for name in folded if lower in name and len(lower) >= _INSIDE_LETTERS]
    if inside:
        return folded[min(inside, key=len)]
    likely = list(folded)
    if len(likely) > _COMPARED_MAX:
        # Why: a slip is seldom in the first letter, and seldom changes the length by much.
        likely = [
            name
            for name in likely
            if name[:1] == lower[0] or abs(len(name) - len(lower)) <= _SLIP_LETTERS
        ][:_COMPARED_MAX]
    whole = get_close_matches(lower, likely, n=1, cutoff=_CUTOFF)
    if whole:
        return folded[whole[0]]
    beginnings: dict[str, str] = {}
    for name in likely:
        if len(lower) < _SHORT_LETTERS and name[:1] != lower[0]:
            continue  # Why: a few letters are like the beginning of almost anything.
        beginnings.setdefault(name[: len(lower)], name)
    begun = get_close_matches(lower, beginnings, n=1, cutoff=_CUTOFF)
    return folded[beginnings[begun[0]]] if begun else None
