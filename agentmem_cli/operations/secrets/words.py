"""What a value looks like: words, an identifier, a path, a reference; or nothing that one writes."""

from __future__ import annotations

import re
from collections import Counter
from math import log2
from typing import Final

LENGTH_MIN: Final = 8
ENTROPY_MIN: Final = 3.0

_PAIRS: Final = frozenset(
    [
        "th",
        "he",
        "in",
        "er",
        "an",
        "re",
        "nd",
        "at",
        "on",
        "nt",
        "ha",
        "es",
        "st",
        "en",
        "ed",
        "to",
        "it",
        "ou",
        "ea",
        "hi",
        "is",
        "or",
        "ti",
        "as",
        "te",
        "et",
        "ng",
        "of",
        "al",
        "de",
        "se",
        "le",
        "sa",
        "si",
        "ar",
        "ve",
        "ra",
        "ld",
        "ur",
        "ro",
        "ic",
        "ne",
        "me",
        "li",
        "co",
        "ma",
        "el",
        "ri",
        "om",
        "us",
        "io",
        "ce",
        "nc",
        "ch",
        "ta",
        "la",
        "ec",
        "ho",
        "no",
        "il",
        "pr",
        "ct",
        "ss",
        "ot",
        "tr",
        "ge",
        "ut",
        "ll",
        "em",
        "po",
        "ns",
        "id",
        "ai",
        "ac",
        "ag",
        "am",
        "ap",
        "av",
        "ab",
        "ad",
        "be",
        "bl",
        "bo",
        "br",
        "bu",
        "ca",
        "ck",
        "cl",
        "cr",
        "cu",
        "da",
        "di",
        "do",
        "ee",
        "ef",
        "ei",
        "ep",
        "ev",
        "ex",
        "fa",
        "fe",
        "fi",
        "fo",
        "fr",
        "fu",
        "ga",
        "gi",
        "go",
        "gr",
        "ie",
        "if",
        "ig",
        "ir",
        "iv",
        "ke",
        "ki",
        "lo",
        "lu",
        "ly",
        "mb",
        "mi",
        "mo",
        "mp",
        "mu",
        "my",
        "na",
        "ni",
        "nu",
        "ob",
        "od",
        "og",
        "ol",
        "oo",
        "op",
        "os",
        "ov",
        "ow",
        "pa",
        "pe",
        "ph",
        "pi",
        "pl",
        "pp",
        "pu",
        "qu",
        "rs",
        "rt",
        "ru",
        "ry",
        "sc",
        "sh",
        "so",
        "sp",
        "su",
        "sy",
        "tt",
        "tu",
        "ty",
        "ub",
        "uc",
        "ue",
        "ul",
        "um",
        "un",
        "up",
        "va",
        "vi",
        "vo",
        "wa",
        "we",
        "wh",
        "wi",
        "wo",
        "ey",
        "ay",
        "ks",
        "sk",
        "ok",
        "ws",
        "ew",
        "oa",
        "yp",
        "ys",
        "au",
        "ui",
        "ug",
        "ib",
        "ff",
        "ft",
        "gh",
        "ht",
        "rd",
        "rk",
        "rm",
        "rn",
        "rv",
        "ts",
        "ms",
        "ds",
        "ls",
        "ps",
    ]
)
"""Pairs of letters that words are made of: nine of ten in a text, three of ten by chance."""

_RUN: Final = re.compile(r"[^\W\d_]{2,}")
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
    digits = _DIGITS.findall(value)
    if len(digits) > 2 + len(value) // 24 or sum(map(len, digits)) > 2 + len(value) // 6:
        return False
    return likeness(value) >= (0.66 if len(value) < 16 else 0.6)


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
