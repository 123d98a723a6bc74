r"""Searching raw lines for words that may be what is looked for, as fast as memory is read.

A plain sign can be written by its number in JSON (``\u0068``), so a place where
one is counts as a hit too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

_NUMBERED: Final = b"\\u00"
_PLAIN: Final = b"234567"
_FEW: Final = 8
"""Words up to which a search for each is faster than one for all at once."""


class Probes:
    """Words to be searched for; made once, used by any thread."""

    def __init__(self, words: Collection[bytes], *, any_case: bool = False) -> None:
        """Search for *words*; an empty one fits everywhere."""
        self._everywhere = b"" in words
        self._words = tuple(sorted(words))
        pattern = b"|".join(map(re.escape, self._words))
        several = any_case or len(self._words) > _FEW
        self._any = re.compile(pattern, re.IGNORECASE if any_case else 0) if several else None

    def hits(self, block: bytes) -> list[int] | None:
        """Return the offsets at which a word may stand; None: it may be anywhere."""
        if self._everywhere:
            return None
        if self._any is not None:
            found = [match.start() for match in self._any.finditer(block)]
        else:
            found = [at for word in self._words for at in _places(block, word)]
        numbered = _places(block, _NUMBERED)
        return found + [at for at in numbered if block[at + 4 : at + 5] in _SIGNS]


_SIGNS: Final = frozenset(_PLAIN[at : at + 1] for at in range(len(_PLAIN)))


def _places(block: bytes, word: bytes) -> list[int]:
    found = []
    at = block.find(word)
    while at >= 0:
        found.append(at)
        at = block.find(word, at + len(word))
    return found
