"""How much a value looks like words, and like something drawn by a machine."""

from __future__ import annotations

import re
from collections import Counter
from math import log2
from typing import Final

LENGTH_MIN: Final = 8
ENTROPY_MIN: Final = 3.0

_LETTERS: Final = (
    "thheineranrendatonnthaesstenedtoitoueahiisortiasteetngofaldeselesasiarveraldurroicne"
    "melicomaelriomusiocencchtalaechonoilprctssottrgeutllemponsidaiacagamapavabadbeblbobr"
    "bucackclcrcudadidoeeefeiepevexfafefifofrfugagigogrieifigirivkekilolulymbmimompmumyna"
    "ninuobodogoloooposovowpapephpiplpppuqursrtruryscshsospsusytttutyubucueulumunupvavivo"
    "wawewhwiwoeyayksskokwsewoaypysauuiugibffftghhtrdrkrmrnrvtsmsdslsps"
)
_PAIRS: Final = frozenset(_LETTERS[at : at + 2] for at in range(0, len(_LETTERS), 2))
"""Pairs of letters that words are made of: nine of ten in a text, three of ten by chance."""

_RUN: Final = re.compile(r"[^\W\d_]{2,}")
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_a-zA-Z]+")
_DIGITS: Final = re.compile(r"\d+")


def entropy(value: str) -> float:
    """Return the bits a character of *value* tells, by how often each occurs in it."""
    size = len(value)
    return -sum(n / size * log2(n / size) for n in Counter(value).values())


def likeness(value: str) -> float:
    """Return which part of the pairs of letters in *value* words have; 0 where there is none."""
    pairs = common = 0
    for run in _RUN.findall(value.lower()):
        pairs += len(run) - 1
        common += sum(run[at : at + 2] in _PAIRS for at in range(len(run) - 1))
    return common / pairs if pairs else 0.0


def is_wordy(value: str) -> bool:
    """Is *value* put together from words, as names in programs are, with few digits?"""
    letters = sum(len(run) for run in _RUN.findall(value))
    if letters < 0.6 * len(value):
        return False
    words = _WORD.findall(value)
    if letters < 3.4 * len(words):
        return False
    digits = _DIGITS.findall(value)
    if len(digits) > 2 + len(value) // 24 or sum(map(len, digits)) > 2 + len(value) // 6:
        return False
    return likeness(value) >= (0.7 if len(value) < 16 else 0.66)


def is_shaped(value: str, kind: str) -> bool:
    """May *value* be searched for everywhere as it stands, without hitting what is no secret?

    It must be long enough, and either look drawn by a machine or be of a *kind* that a
    vendor's mark makes known. Words, and names put together from words, are found only
    where they were found: ``DB_PASSWORD=postgres`` does not mask every ``postgres``.
    """
    if len(value) < LENGTH_MIN:
        return False
    if kind not in _WEAK:
        return True
    plain = not any(each.isdigit() for each in value) and is_wordy(value)
    return not plain and entropy(value) >= ENTROPY_MIN


_WEAK: Final = frozenset(
    {"password", "url-password", "secret", "passphrase", "cookie", "user-name"}
)
"""Kinds that have no form of their own: their place made them known."""
