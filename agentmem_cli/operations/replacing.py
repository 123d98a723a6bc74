r"""The file of ``rewrite --replace-file``: what is to be replaced by what.

A line is ``literal ==> new``. The blanks around both sides do not count; empty
lines, and lines that begin with ``#``, do not either. A side in double quotes
is a JSON string, which can hold line ends and blanks at its ends. Otherwise
every sign stands for itself, a backslash too, but for ``\==>``, which is the
signs ``==>``. ``literal:`` before a literal is left out, so that one can begin
with ``#``, a quote or ``regex:``.

``regex:expression ==> new`` is an expression of Python's ``re``; ``new`` may
hold ``\1`` and ``\g<name>``. The literals are replaced first, in one pass, the
longest where several fit; then the expressions, one after the other.

Nothing of a line is ever repeated in an error: what is replaced may be secret.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.expressions import compiled
from agentmem_cli.session.rewriting import Strings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.operations.secrets.literals import Automaton

_ARROW: Final = re.compile(r"(?<!\\)==>")
_REGEX: Final = "regex:"
_LITERAL: Final = "literal:"
_HINT: Final = "A line is: literal ==> new, or regex:expression ==> new."


class Literal(NamedTuple):
    """A text and what is to stand in its place."""

    old: str
    new: str


class Pattern(NamedTuple):
    """An expression and the template of what is to stand in its place."""

    old: re.Pattern[str]
    new: str


class Replacements:
    """What a file asks for. Call `text` for each text, and `hits` for blocks of raw lines."""

    def __init__(self, literals: Sequence[Literal], patterns: Sequence[Pattern]) -> None:
        """Replace *literals* (no two alike), then *patterns* in their order."""
        assert literals or patterns
        self.literals = tuple(literals)
        self.patterns = tuple(patterns)
        self._new = {literal.old: literal.new for literal in literals}
        longest_first = sorted(self._new, key=len, reverse=True)
        self._any = re.compile("|".join(map(re.escape, longest_first))) if literals else None
        self._probe: Automaton | None = None

    def text(self, text: str) -> str:
        """Return *text* with everything replaced."""
        if self._any is not None:
            text = self._any.sub(lambda found: self._new[found[0]], text)
        for pattern in self.patterns:
            text = pattern.old.sub(pattern.new, text)
        return text

    def hits(self, block: bytes) -> list[int] | None:
        """Return where in raw lines something may stand; None: it may be anywhere.

        An expression can fit anything, so that with one every line is looked at.
        """
        if self.patterns:
            return None
        # Why here: it imports the package that searches for secrets' values.
        from agentmem_cli.operations.secrets.literals import (
            NUMBERED,
            automaton,
            places,
            probes_of,
        )

        if self._probe is None:
            forms = (literal.old.encode("utf-8", "surrogatepass") for literal in self.literals)
            probes = {probe for form in forms for probe in probes_of(form)}
            self._probe = automaton(sorted({*probes, *NUMBERED}), overlapping=False)
        return places(self._probe, block)


class Replacing(Strings):
    """The `Rewrite` that does what a file of replacements asks for."""

    def __init__(self, wanted: Replacements) -> None:
        """Replace what is *wanted* in every string."""
        super().__init__(wanted.text)
        self._wanted = wanted

    def hits(self, block: bytes) -> Sequence[int] | None:
        """Return where in *block* a line may have to change."""
        return self._wanted.hits(block)


def parse_replacements(data: bytes, where: str) -> Replacements:
    """Read a file of replacements.

    Args:
        data: Its bytes, UTF-8; a mark at its beginning is passed by.
        where: What it is called, for messages.

    Raises:
        UsageError: A line cannot be read, or there is none; the message names
            the line and no word of it.
    """
    literals: list[Literal] = []
    patterns: list[Pattern] = []
    lines: dict[str, int] = {}
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        place = f"{where}, line {number}"
        try:
            line = raw.decode().strip()
        except UnicodeDecodeError:
            raise UsageError(f"{place}: not UTF-8") from None
        if not line or line.startswith("#"):
            continue
        old, new = _sides(line, place)
        if old.startswith(_REGEX):
            patterns.append(_pattern(old.removeprefix(_REGEX).lstrip(), new, place))
            continue
        literal = _literal(old, new, place)
        if literal.old in lines:
            msg = f"{place}: the same literal as in line {lines[literal.old]}"
            raise UsageError(msg)
        lines[literal.old] = number
        literals.append(literal)
    if not literals and not patterns:
        raise UsageError(f"{where}: nothing to replace is in it", hint=_HINT)
    return Replacements(literals, patterns)


def _sides(line: str, place: str) -> tuple[str, str]:
    arrows = list(_ARROW.finditer(line))
    if not arrows:
        raise UsageError(f"{place}: no ==> in it", hint=_HINT)
    if len(arrows) > 1:
        msg = f"{place}: {len(arrows)} times ==> in it"
        raise UsageError(msg, hint=r"Write \==> where the signs themselves are meant.")
    old, new = line[: arrows[0].start()].strip(), line[arrows[0].end() :].strip()
    return old.replace(r"\==>", "==>"), new.replace(r"\==>", "==>")


def _literal(old: str, new: str, place: str) -> Literal:
    as_it_is = old.startswith(_LITERAL)
    old = old.removeprefix(_LITERAL).lstrip() if as_it_is else _unquoted(old, place)
    if not old:
        raise UsageError(f"{place}: nothing stands before ==>", hint=_HINT)
    new = _unquoted(new, place)
    if old == new:
        raise UsageError(f"{place}: both sides are the same")
    return Literal(old, new)


def _unquoted(side: str, place: str) -> str:
    """Return what a side says: the text of a JSON string, or the side itself."""
    if not side.startswith('"'):
        return side
    from agentmem_cli.session.codec import loads

    try:
        text = loads(side.encode())
    except ValueError:
        text = None
    if not isinstance(text, str):
        msg = f"{place}: it begins with a quote and is no JSON string"
        raise UsageError(msg, hint='A text that begins with a quote is written "\\"so".')
    return text


def _pattern(old: str, new: str, place: str) -> Pattern:
    try:
        pattern = compiled(old)
    except re.error as error:
        # Why without its words: they would repeat a part of the expression.
        at = "" if error.pos is None else f" (at character {error.pos + 1} of it)"
        raise UsageError(f"{place}: no regular expression{at}") from None
    except (OverflowError, RecursionError):
        raise UsageError(f"{place}: no regular expression") from None
    if pattern.search("") is not None:
        raise UsageError(f"{place}: the expression fits an empty text, so it would fit everywhere")
    new = _unquoted(new, place)
    try:
        compiled(f"{pattern.pattern}|", pattern.flags).sub(new, "")
    except (re.error, IndexError):
        raise UsageError(
            f"{place}: what is to stand there names a group that is not there"
        ) from None
    return Pattern(pattern, new)
