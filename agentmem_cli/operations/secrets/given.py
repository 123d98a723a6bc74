"""What the user names as secret: values, expressions, and files of variables.

They come from files or standard input, never from the command line, where they
would stay in the shell's history.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.expressions import compiled
from agentmem_cli.operations.secrets.words import is_shaped

LITERAL: Final = "literal"
PATTERN: Final = "pattern"
VARIABLE: Final = "env"


class Given(NamedTuple):
    """What the user named."""

    literals: tuple[tuple[str, str], ...] = ()
    """Values that are masked wherever they stand, each with its kind."""
    patterns: tuple[re.Pattern[str], ...] = ()
    """What matches one of these is masked; the group ``secret`` of it, if it has that."""
    beside: tuple[tuple[str, str], ...] = ()
    """Names and values: plain words, which are masked only beside their name."""
    empty_lines: int = 0
    """Lines that said nothing and were passed over; never a value that is everywhere."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not (self.literals or self.patterns or self.beside)


def together(*every: Given) -> Given:
    """Return what all of *every* name."""
    return Given(
        tuple(dict.fromkeys(each for one in every for each in one.literals)),
        tuple(dict.fromkeys(each for one in every for each in one.patterns)),
        tuple(dict.fromkeys(each for one in every for each in one.beside)),
        sum(one.empty_lines for one in every),
    )


def read_literals(text: str, name: str) -> Given:
    """Read values, one a line; an empty line is passed over and counted.

    Raises:
        UsageError: A value has fewer than four characters: it would stand nearly everywhere.
    """
    literals: list[tuple[str, str]] = []
    lines = _lines(text)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if len(line) < LITERAL_MIN:
            raise UsageError(
                f"{name}, line {number}: a value of fewer than {LITERAL_MIN} characters",
                hint="It would be masked in the middle of words; use an expression with \\b.",
            )
        literals.append((line, LITERAL))
    return Given(tuple(dict.fromkeys(literals)), empty_lines=len(lines) - len(literals))


LITERAL_MIN: Final = 4
"""Characters of the shortest value that is masked wherever it stands."""


def read_patterns(text: str, name: str) -> Given:
    """Read expressions of Python's ``re``, one a line; an empty line is passed over.

    Raises:
        UsageError: A line is no expression, or one that matches nothing at all; its number is told.
    """
    patterns: list[re.Pattern[str]] = []
    empty = 0
    for number, line in enumerate(_lines(text), 1):
        if not line.strip():
            empty += 1
            continue
        try:
            pattern = compiled(line)
        except (re.error, OverflowError, RecursionError) as error:
            # Why without its words: they can repeat a part of the expression.
            at = getattr(error, "pos", None)
            told = "" if at is None else f" (at character {at + 1} of it)"
            raise UsageError(f"{name}, line {number}: not an expression{told}") from None
        if any(found.end() == found.start() for found in pattern.finditer(_SAMPLE)):
            raise UsageError(
                f"{name}, line {number}: matches the empty text",
                hint="It would put a mask between all characters; end it with + instead of *.",
            )
        patterns.append(pattern)
    return Given(patterns=tuple(patterns), empty_lines=empty)


_SAMPLE: Final = "a B_1-2 .\n"
"""In this an expression that may match nothing does so somewhere."""


def _lines(text: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


_VARIABLE: Final = re.compile(
    r"""[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*[=:][ \t]*
    (?: "((?:[^"\\]|\\.)*)" | '([^']*)' | `([^`]*)` | ((?:(?![ \t]\#)[^\r\n])*) )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t"}


def read_env(text: str, name: str) -> Given:
    """Read a file of variables: ``KEY=value``, ``export``, quotes, comments, several lines.

    Values that are no plain words are masked wherever they stand, the others
    beside their name only. References (``${OTHER}``) and empty values are none.

    Raises:
        UsageError: A line is neither; its number is told.
    """
    literals: list[tuple[str, str]] = []
    beside: list[tuple[str, str]] = []
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    at, empty = 0, 0
    while at < len(text):
        end = text.find("\n", at)
        line = text[at : end if end >= 0 else len(text)]
        if not line.strip() or line.lstrip()[:1] == "#":
            empty += not line.strip()
            at += len(line) + 1
            continue
        found = _VARIABLE.match(text, at)
        if found is None:
            number = text.count("\n", 0, at) + 1
            raise UsageError(f"{name}, line {number}: not KEY=value")
        key, value = found[1], _value_of(found)
        _file(key, value, literals, beside)
        end = text.find("\n", found.end())
        at = len(text) if end < 0 else end + 1
    return Given(
        tuple(dict.fromkeys(literals)), (), tuple(dict.fromkeys(beside)), empty_lines=empty
    )


def _value_of(found: re.Match[str]) -> str:
    if found[2] is not None:
        return _ESCAPED.sub(lambda each: _ESCAPES.get(each[1], each[1]), found[2])
    for quoted in (found[3], found[4]):
        if quoted is not None:
            return quoted
    bare: str = found[5]
    return bare.strip()


_REFERENCE: Final = re.compile(
    r"\$\{?\w+\}?|true|false|yes|no|on|off|null|none|\d{1,7}", re.IGNORECASE
)


def _file(
    key: str, value: str, literals: list[tuple[str, str]], beside: list[tuple[str, str]]
) -> None:
    if not value or _REFERENCE.fullmatch(value):
        return
    if is_shaped(value, "password"):
        literals.append((value, VARIABLE))
    else:
        beside.append((key, value))
