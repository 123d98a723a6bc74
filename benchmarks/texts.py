"""Texts to fill corpora with, put together from the words below."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import random

FRAGMENTS: Final = 2_048
"""Different texts in a corpus."""

STRIDE: Final = 797
"""From one text to the next; prime to FRAGMENTS, so that each gets its turn."""

VOCABULARY: Final = (
    "the a this that of to in for with on as at from before after when where which while "
    "session log record header stamp entry message splice aside halt reset fold line byte "
    "file folder lock store blob meta title label agent model tool call result answer reply "
    "read write append replace check verify repair list show search compact redact import "
    "parser reader writer cursor offset length digest lineage branch parent child newest "
    "test failure error warning limit retry timeout network server client request response "
    "please now then next again first last only whole empty missing broken torn clean slow "
    "function class module package argument value number string list index count size path"
)
WORDS: Final = VOCABULARY.split()

CODE: Final = (
    'def {0}_{1}({2}: int) -> str:\n    return {3}["{4}"]\n',
    '    if {0} is None or {1} > {2}:\n\t\traise ValueError(f"{3}: {{{4}!r}}")\n',
    '$ grep -rn "{0}_{1}" src/{2}/{3}.py | head -20\nsrc/{2}/{3}.py:118: {4}\n',
    '{{"{0}": "{1}", "{2}": [1, 2, 3], "{3}": {{"{4}": null}}}}\n',
    "- C:\\work\\{0}\\{1}.txt and /home/dev/{2}/{3}/{4}.md\n",
)

FOREIGN: Final = ("naïve", "größer", "→", "“quoted”", "日本語", "✅", "Ελλάδα", "…")


def fragments(dice: random.Random, size: int) -> list[bytes]:
    """Return FRAGMENTS texts of about *size* bytes, escaped as JSON strings without the quotes."""
    return [_fragment(dice, size * dice.randint(85, 115) // 100) for _ in range(FRAGMENTS)]


def _fragment(dice: random.Random, size: int) -> bytes:
    pieces: list[str] = []
    length = 0
    while length < size:
        words = dice.choices(WORDS, k=14)
        kind = dice.randrange(8)
        if kind == 0:
            words[0] = dice.choice(FOREIGN)
        piece = dice.choice(CODE).format(*words) if kind > 4 else " ".join(words) + ".\n"  # noqa: PLR2004
        pieces.append(piece)
        length += len(piece)
    return dumped("".join(pieces)[:size])[1:-1]


def dumped(value: object) -> bytes:
    """Return *value* as compact JSON in UTF-8."""
    # Why: the package's codec is what is measured, so its input is not made by it.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()  # noqa: TID251
