"""Regular expressions that someone else wrote."""

from __future__ import annotations

import re
import warnings


def compiled(words: str, flags: int = 0) -> re.Pattern[str]:
    """Compile *words* without a word of what a later Python may make of them.

    Raises:
        re.error: They are no expression.
        OverflowError: They count too far.
        RecursionError: They are nested too deep.
    """
    with warnings.catch_warnings():
        # Why: `[[` is a set today; the warning would be printed beside what was asked for.
        warnings.simplefilter("ignore", FutureWarning)
        return re.compile(words, flags)
