r"""What a search looks for, and the bytes that a log has to have where it can be found.

A text can stand in a log in many spellings: any character may be written by its
number (``\u0068``), a slash with a backslash before it, and all of that again
inside JSON that stands in a string. Of what is looked for, the longest *run* is
taken whose characters JSON writes either as they are or by their numbers. Where
that stands in any spelling, there are the bytes of the whole run, or the number
of one of its characters. So only lines with one of these are decoded; what is
found in a line is always found in the decoded text, never in its bytes.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.expressions import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.operations.secrets.literals import Automaton

_VARIANTS_MAX: Final = 16
"""Spellings of a run in small and great letters that are searched for at once."""

_PIECE_MAX: Final = 48
"""Characters of a run that is searched for; more tell little more, and have more spellings."""

_FOLDED_MAX: Final = 5
"""Characters of a run that is searched for whatever its case; more tell little more."""

_TASTE_BYTES: Final = 32 << 10
"""Bytes of a block in which numbers are looked for before all of it."""

_FEW: Final = 4
"""Places in a text up to which each one is looked for, rather than all its lines cut apart."""

_MANY_CASES: Final = frozenset("ksi")
"""Letters that other letters than their own great ones match (the Kelvin sign and others)."""

_RARE: Final = "etaonrhldcumwfgpybvxjqz"
"""Letters of English, the most frequent first; those of `_MANY_CASES` are not used."""

_SPLIT: Final = re.compile('[\x00-\x1f"\\\\/\ud800-\udfff\ufffd]+')
"""What JSON writes in a way of its own, and what a reader puts for bytes that are no text."""


class Needle:
    """A pattern, ready to be looked for.

    Attributes:
        pattern: It as an expression; a plain text is one that is escaped.
        probes: What finds the lines worth decoding; None: every line is.
    """

    def __init__(
        self, pattern: re.Pattern[str], plain: str | None, probes: Probes | None, *, in_line: bool
    ) -> None:
        """Keep the parts.

        Args:
            pattern: The expression.
            plain: The text, where case counts and no expression is meant.
            probes: What finds the lines of a log.
            in_line: Whether it never goes on over the end of a line.
        """
        self.pattern = pattern
        self.probes = probes
        self._plain = plain
        self._in_line = in_line

    def is_in(self, text: str) -> bool:
        """Whether it stands in *text*."""
        if self._plain is not None:
            return self._plain in text
        return self.pattern.search(text) is not None

    def lines(self, text: str) -> list[int]:
        """Return which lines of *text* it stands in, or goes on over, counted from 0."""
        if self._in_line:
            plain = self._plain
            split = text.split("\n")
            if plain is not None:
                return [at for at, line in enumerate(split) if plain in line]
            search = self.pattern.search
            return [at for at, line in enumerate(split) if search(line)]
        found: list[int] = []
        number = at = 0
        while at <= len(text) and (match := self.pattern.search(text, at)) is not None:
            first = number + text.count("\n", at, match.start())
            # Why one less: a line that a match ends with is not gone on over.
            last = first + text.count("\n", match.start(), max(match.start(), match.end() - 1))
            found.extend(range(max(first, found[-1] + 1 if found else 0), last + 1))
            end = text.find("\n", max(match.start(), match.end() - 1))
            if end < 0:
                break
            number, at = last + 1, end + 1
        return found

    def matching(self, text: str) -> list[str]:
        """Return the lines of *text* that `lines` counts."""
        plain = self._plain
        if not self._in_line or plain is None:
            lines = text.split("\n")
            return [lines[at] for at in self.lines(text)]
        if text.count(plain) > _FEW:
            return [line for line in text.split("\n") if plain in line]
        found = []
        at = text.find(plain)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            found.append(text[text.rfind("\n", 0, at) + 1 : end])
            at = text.find(plain, end)
        return found

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return where it stands in one *line*, from the left; nothing where that is nothing."""
        return [match.span() for match in self.pattern.finditer(line) if match.group()]


def needle_of(words: str, *, fixed: bool, ignore_case: bool) -> Needle:
    """Make ready what *words* look for.

    Args:
        words: A regular expression, or a plain text.
        fixed: They are a plain text.
        ignore_case: Small and great letters are the same.

    Raises:
        UsageError: They are no expression, empty, or no text in UTF-8.
    """
    if not words:
        raise UsageError("the pattern is empty, which stands everywhere")
    try:
        words.encode()
    except UnicodeEncodeError:
        hint = "Where it is, the locale says otherwise: LC_ALL=C.UTF-8, or PYTHONUTF8=1."
        raise UsageError("the pattern is not UTF-8", hint=hint) from None
    try:
        flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
        pattern = compiled(re.escape(words) if fixed else words, flags)
    except (re.error, OverflowError, RecursionError) as error:
        hint = "With -F it is looked for as plain text."
        raise UsageError(f"{words!r} is no regular expression: {error}", hint=hint) from None
    literal = words if fixed else required_text(words)
    probes = probes_for(literal, ignore_case=ignore_case) if literal else None
    plain = words if fixed and not ignore_case else None
    return Needle(pattern, plain, probes, in_line=fixed and "\n" not in words)


# -- bytes ---------------------------------------------------------------------


class Probes:
    """Bytes, of which some stand on each line where a text is.

    Args:
        cases: Each character of the text, in the forms in which it may stand.
        inside: Whether it may stand in JSON that stands in a string.
    """

    def __init__(self, cases: Sequence[Sequence[str]], *, inside: bool = True) -> None:
        self.plain = ["".join(each).encode() for each in product(*cases)]
        # Why the last: by its number may stand what a number inside is written with.
        more = [each for one in _OF_NUMBERS for each in numbers_of(one)] if inside else []
        self.numbered = sorted({*_numbered(cases), *more})
        # Why a mark: most logs have no character by its number, and a single text is
        # found at the speed of memory, where several take three times as long.
        mark = b"\\u00" if all(b"\\u00" in each for each in self.numbered) else b"\\u"
        self._plain = _automaton(self.plain)
        self._mark = _automaton([mark])
        self._numbered: Automaton | None = None

    def places(self, block: memoryview) -> list[int]:
        """Return where in *block* they stand, rising."""
        found = [start for _, start, _ in self._plain.find_matches_as_indexes(block)]
        if self._has_numbers(block):
            if self._numbered is None:
                self._numbered = _automaton(self.numbered)
            found += [start for _, start, _ in self._numbered.find_matches_as_indexes(block)]
            found.sort()
        return found

    def _has_numbers(self, block: memoryview) -> bool:
        # Why the beginning first: where there are numbers at all there are many.
        find = self._mark.find_matches_as_indexes
        return bool(find(block[:_TASTE_BYTES]) or find(block))


def _numbered(cases: Sequence[Sequence[str]]) -> Iterator[bytes]:
    """Yield what stands where a character is written by its number.

    With it goes the next character, as it is or by its number too; with the
    last one the one before, and the backslashes that JSON in JSON puts between.
    """
    for at, case in enumerate(cases):
        numbers = [each for one in case if one != '"' for each in numbers_of(one)]
        if at + 1 < len(cases):
            ends = [*(one.encode() for one in cases[at + 1]), b"\\"]
            yield from (number + end for number in numbers for end in ends)
        elif at:
            begins = [one.encode() + more for one in cases[at - 1] for more in _BACKSLASHES]
            yield from (begin + number for number in numbers for begin in begins)
        else:
            yield from numbers


_OF_NUMBERS: Final = "\\u0123456789abcdefABCDEF"
"""What a number is written with. No writer that is known gives numbers to these."""

_BACKSLASHES: Final = tuple(b"\\" * more for more in (0, 1, 3, 7))
"""What stands before the backslash of a number in JSON, in JSON in JSON, and so on."""


def _automaton(patterns: list[bytes]) -> Automaton:
    from agentmem_cli.operations.secrets.literals import automaton

    return automaton(patterns, overlapping=False)


def probes_for(text: str, *, ignore_case: bool) -> Probes | None:
    """Return what finds each line that can hold *text*; None: any line can."""
    runs = [run for run in _SPLIT.split(text) if run]
    if not runs:
        # Why only slashes: a quote that stands in JSON as it is, is on every line.
        return Probes([["/"]]) if set(text) == {"/"} else None
    find = _window if ignore_case else _piece
    window = max((each for run in runs if (each := find(run))), key=_worth, default=None)
    if window is None:
        return None
    return Probes([sorted({one.lower(), one.upper()}) if ignore_case else [one] for one in window])


def _piece(run: str) -> str:
    """Return the most telling piece of a run that is not too long."""
    starts = range(max(1, len(run) - _PIECE_MAX + 1))
    return max((run[at : at + _PIECE_MAX] for at in starts), key=_worth)


def _window(run: str) -> str | None:
    """Return the most telling piece of a run whose spellings in any case are few and known."""
    found: list[str] = []
    for start in range(len(run)):
        spellings = 1
        end = start
        while end < len(run) and end - start < _FOLDED_MAX and _is_simple(run[end]):
            spellings *= 1 if run[end].lower() == run[end].upper() else 2
            if spellings > _VARIANTS_MAX:
                break
            end += 1
        found.append(run[start:end])
    return max(found, key=_worth, default=None) or None


def _is_simple(one: str) -> bool:
    """Whether *one* matches itself and its other case and nothing else, whatever the case."""
    if one.isascii():
        return one.lower() not in _MANY_CASES
    return one.lower() == one == one.upper() == one.casefold()


def _worth(window: str) -> tuple[int, int]:
    rare = sum(_RARE.find(one.lower()) if one.lower() in _RARE else len(_RARE) for one in window)
    return rare, len(window)


def numbers_of(one: str) -> list[bytes]:
    """Return how a character (of two units: their first) is written by its number."""
    unit = one.encode("utf-16-be")[:2].hex()
    digits = [sorted({digit.lower(), digit.upper()}) for digit in unit]
    return [b"\\u" + "".join(each).encode() for each in product(*digits)]


# -- expressions ---------------------------------------------------------------


class _Unit(NamedTuple):
    """One thing of an expression: a character that must stand there, or anything else."""

    text: str
    """Empty: not known."""
    end: int


def required_text(expression: str) -> str:
    """Return the longest text that stands in everything *expression* matches; empty: unknown.

    It is careful, not clever: what is in brackets or parentheses, may be left
    out, or stands beside an alternative counts as unknown.
    """
    if re.search(r"\(\?[a-zA-Z-]*[aiLmsux-]", expression):
        return ""  # flags inside change what a character means
    runs: list[str] = []
    run = ""
    at = 0
    while at < len(expression):
        unit = _unit(expression, at)
        if unit is None:
            return ""
        at = unit.end
        text, again = unit.text, False
        if at < len(expression) and expression[at] in "*?+{":
            again = True
            if expression[at] != "+":
                text = ""
            at = _after_quantifier(expression, at)
        if text:
            run += text
        if not text or again:
            runs.append(run)
            # Why: of `ab+c` both "ab" and "bc" must stand there.
            run = text if again else ""
    return max([*runs, run], key=len)


def _unit(expression: str, at: int) -> _Unit | None:  # noqa: PLR0911 - one a kind
    """Return what begins at *at*; None: an alternative, which makes everything unknown."""
    one = expression[at]
    if one == "|":
        return None
    if one == "\\":
        return _escaped(expression, at)
    if one == "[":
        return _Unit("", _after_class(expression, at))
    if one == "(":
        return _Unit("", _after_group(expression, at))
    if one in "^$.":
        return _Unit("", at + 1)
    if one == "{":
        # Alone it is a brace or the like; behind something it was read with that.
        return _Unit("", at + 1)
    return _Unit(one, at + 1)


def _escaped(expression: str, at: int) -> _Unit:
    following = expression[at + 1 : at + 2]
    if following and not following.isalnum():
        return _Unit(following, at + 2)
    sized = {"x": 4, "u": 6, "U": 10}.get(following)
    if sized is not None:
        return _Unit("", at + sized)
    if following == "N":
        return _Unit("", expression.find("}", at) + 1 or len(expression))
    end = at + 2
    while following.isdigit() and expression[end : end + 1].isdigit():
        end += 1
    return _Unit("", end)


def _after_class(expression: str, at: int) -> int:
    at += 1
    if expression[at : at + 1] == "^":
        at += 1
    if expression[at : at + 1] == "]":
        at += 1
    while at < len(expression) and expression[at] != "]":
        at += 2 if expression[at] == "\\" else 1
    return at + 1


def _after_group(expression: str, at: int) -> int:
    depth = 0
    while at < len(expression):
        one = expression[at]
        if one == "\\":
            at += 2
            continue
        if one == "[":
            at = _after_class(expression, at)
            continue
        depth += (one == "(") - (one == ")")
        at += 1
        if depth == 0:
            break
    return at


def _after_quantifier(expression: str, at: int) -> int:
    if expression[at] == "{":
        found = re.compile(r"\{[0-9]*,?[0-9]*\}").match(expression, at)
        at = found.end() if found else at + 1
    else:
        at += 1
    return at + (expression[at : at + 1] in ("?", "+") and at < len(expression))
