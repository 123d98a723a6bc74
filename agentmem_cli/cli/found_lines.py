"""How grep prints the lines that match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.cli.text import ELLIPSIS, one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.needles import Needle
    from agentmem_cli.operations.searching import Hit, Limits

MATCH: Final = "agentmem.match/1"
"""One line of a text that matches."""

_ADDRESS_COLUMNS: Final = 48
"""Columns of a screen that an address may take before less of the line is shown."""


class Wanted(NamedTuple):
    """What is looked for, and how it is to be printed.

    Attributes:
        needle: The pattern.
        limits: Which messages are searched.
        agent: The beginning of the agents' ids; None: all of them.
        before: Lines of context before each one that matches.
        after: Lines behind it.
        json: As JSON.
        short: Counts or names only.
    """

    needle: Needle
    limits: Limits
    agent: str | None
    before: int
    after: int
    json: bool
    short: bool


def address(session: str, hit: Hit) -> str:
    """Return where a hit is: the session, its agent, the message."""
    return f"{session}:{hit.log}:m{hit.id}"


def show_words(session: str, hit: Hit) -> list[str]:
    """Return the words that make `agentmem` show a hit."""
    words = ["--agent", hit.log, "--from", f"m{hit.id}"]
    if not hit.stands and hit.n is not None:
        words += ["--as-of", str(hit.n + 1)]
    # Why: behind -- a name that begins with a dash is no option.
    return ["show", *words, "--", session] if session[0] == "-" else ["show", session, *words]


class Printer:
    """Prints the lines of hits."""

    def __init__(self, settings: Settings, wanted: Wanted, out: Output, session: str) -> None:
        self._settings = settings
        self._wanted = wanted
        self._out = out
        self._session = session
        self._any = False
        self._log = ""
        self._prefix = ""
        self._plain = not (settings.colour or settings.columns or wanted.json) and not (
            wanted.before or wanted.after
        )

    def hit(self, hit: Hit) -> int:
        """Print the lines of a hit; return how many match."""
        if self._plain:
            return self._print_plain(hit)
        numbers = self._wanted.needle.lines(hit.text)
        lines = hit.text.split("\n")
        if self._wanted.json:
            for number in numbers:
                self._print_json(hit, lines, number)
        else:
            self._print_text(hit, lines, numbers)
        return len(numbers)

    def _print_plain(self, hit: Hit) -> int:
        """Print matching lines and nothing else, as fast as can be."""
        matching = self._wanted.needle.matching(hit.text)
        told = visible("\n".join(matching))
        if hit.log != self._log:
            self._log = hit.log
            self._prefix = one_line(f"{self._session}:{hit.log}:m")
        prefix = f"{self._prefix}{hit.id}:"
        self._out.line(prefix + told.replace("\n", f"\n{prefix}"))
        return len(matching)

    def _print_json(self, hit: Hit, lines: Sequence[str], number: int) -> None:
        from agentmem_cli.cli.clock import utc_time

        before = max(0, number - self._wanted.before)
        self._out.object(
            MATCH,
            {
                "session": self._session,
                "agent": hit.log,
                "id": hit.id,
                "address": address(self._session, hit),
                "show": list(show_words(self._session, hit)),
                "n": hit.n,
                "made": None if hit.made_ms is None else utc_time(hit.made_ms),
                "role": hit.role,
                "part": hit.part,
                "tool": hit.tool,
                "stands": hit.stands,
                "line": number + 1,
                "text": lines[number],
                "before": list(lines[before:number]),
                "after": list(lines[number + 1 : number + 1 + self._wanted.after]),
            },
        )

    def _print_text(self, hit: Hit, lines: Sequence[str], numbers: Sequence[int]) -> None:
        from agentmem_cli.cli.render import styled

        place = one_line(address(self._session, hit))
        separate = bool(self._wanted.before or self._wanted.after)
        last = -1
        for number, matches in self._with_context(len(lines), numbers):
            if separate and self._any and (last < 0 or number != last + 1):
                self._out.line(styled("--", "dim", self._settings))
            sign = ":" if matches else "-"
            told = self._line(lines[number], matches=matches, taken=len(place) + 1)
            self._out.line(styled(place, "cyan", self._settings) + sign + told)
            self._any = True
            last = number

    def _with_context(self, count: int, numbers: Sequence[int]) -> Iterator[tuple[int, bool]]:
        matching = frozenset(numbers)
        done = -1
        for number in numbers:
            first = max(done + 1, number - self._wanted.before)
            for at in range(first, min(count, number + 1 + self._wanted.after)):
                yield at, at in matching
                done = at

    def _line(self, line: str, *, matches: bool, taken: int) -> str:
        """Return a line safe for the screen, what matches in colour, cut to what fits."""
        from agentmem_cli.cli.render import styled

        spans = self._wanted.needle.spans(line) if matches else []
        start, end = 0, len(line)
        columns = self._settings.columns
        if columns is not None:
            room = max(columns - taken, columns - _ADDRESS_COLUMNS, 16)
            if len(line) > room:
                first = spans[0][0] if spans else 0
                start = max(0, min(first - room // 3, len(line) - room))
                end = start + room
        told = [ELLIPSIS] if start else []
        at = start
        for begin, stop in spans:
            begin, stop = max(begin, start), min(stop, end)  # noqa: PLW2901 - the part in sight
            if begin >= stop:
                continue
            told.append(visible(line[at:begin]))
            told.append(styled(visible(line[begin:stop]), "red", self._settings))
            at = stop
        told.append(visible(line[at:end]))
        if end < len(line):
            told.append(ELLIPSIS)
        return "".join(told)
