"""The words that many commands share: arguments, options and the filters over sessions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.settings import Settings

SessionArg = Annotated[
    str,
    typer.Argument(
        metavar="SESSION",
        help="A session: its path, its name or the beginning of it, or @last.",
    ),
]
SessionsArg = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SESSION]...",
        help="Sessions: paths, names or beginnings of them, or @last; none means all.",
    ),
]
AgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="ID",
        help="The agent, or the beginning of its id; without it the main agent.",
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON, one object a line, with its schema.")
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", "-n", help="Print what would be done; change nothing.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
ForceOption = Annotated[
    bool, typer.Option("--force", "-f", help="Write over a file that is already there.")
]
PlaceArg = Annotated[
    str,
    typer.Argument(
        metavar="PLACE",
        help="A place: N, mN, ~N, an address, a time (a day is its start), before-compaction, "
        "start, now.",
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option("--since", metavar="TIME", help="Only sessions updated at this time or later."),
]
UntilOption = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="TIME", help="Only sessions updated before; a day is included."
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option("--model", metavar="TEXT", help="Only sessions whose model has this in its name."),
]
LabelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="KEY[=VALUE]",
        help="Only sessions with this label, of any value without one; repeatable.",
    ),
]
TitleOption = Annotated[
    str | None,
    typer.Option("--title", metavar="REGEX", help="Only sessions whose title matches."),
]
LargerOption = Annotated[
    str | None,
    typer.Option("--larger", metavar="SIZE", help="Only sessions larger than this, like 10MB."),
]
OlderOption = Annotated[
    str | None,
    typer.Option("--older", metavar="LENGTH", help="Only sessions not updated for this long: 30d."),
]

_SIZE_UNITS: Final = {
    "": 1,
    "b": 1,
    "k": 10**3,
    "kb": 10**3,
    "kib": 1 << 10,
    "m": 10**6,
    "mb": 10**6,
    "mib": 1 << 20,
    "g": 10**9,
    "gb": 10**9,
    "gib": 1 << 30,
    "t": 10**12,
    "tb": 10**12,
    "tib": 1 << 40,
}


class Filters(NamedTuple):
    """Which sessions are meant; None stands for any.

    Attributes:
        since_ms: Updated at this time or later, milliseconds since 1970 in UTC.
        until_ms: Updated before this time; the earlier one of --until and --older.
        model: Part of the model's name, case folded.
        labels: Keys and values that must all be there; a value of None: any.
        title: Found anywhere in the title, whatever the case.
        larger_bytes: The session takes more bytes than this.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    model: str | None = None
    labels: tuple[tuple[str, str | None], ...] = ()
    title: re.Pattern[str] | None = None
    larger_bytes: int | None = None


def filters(
    settings: Settings,
    *,
    since: str | None = None,
    until: str | None = None,
    model: str | None = None,
    label: Sequence[str] | None = None,
    title: str | None = None,
    larger: str | None = None,
    older: str | None = None,
) -> Filters:
    """Read the filters as they were written.

    Raises:
        UsageError: One of them cannot be read; the message names it.
    """
    given = {
        "--since": since,
        "--until": until,
        "--model": model,
        "--title": title,
        "--larger": larger,
        "--older": older,
    }
    for option, words in given.items():
        if words == "":
            # Why: a script whose variable is not set does not mean all sessions.
            message = f"{option} is empty"
            raise UsageError(message)
    ends = []
    since_ms = None
    if since or until or older:
        # Why here: most runs filter by no time and need no calendar.
        from agentmem_cli.cli import clock

        now_ms, zone = settings.now_ms, settings.zone
        if since:
            since_ms = clock.parse_time(since, now_ms=now_ms, zone=zone)
        if until:
            ends.append(clock.parse_time(until, now_ms=now_ms, zone=zone, end=True))
        if older:
            ends.append(now_ms - clock.parse_length(older))
    return Filters(
        since_ms=since_ms,
        until_ms=min(ends, default=None),
        model=model.casefold() if model else None,
        labels=tuple(parse_label(each) for each in label or ()),
        title=parse_pattern(title) if title else None,
        larger_bytes=parse_size(larger) if larger else None,
    )


def parse_path(word: str) -> Path:
    """Return *word* as a path.

    Raises:
        UsageError: It is empty, which a path would take for the current folder.
    """
    if not word:
        msg = "an empty word is no file"
        raise UsageError(msg, hint="Write . for the current folder.")
    return Path(word)


def parse_label(words: str) -> tuple[str, str | None]:
    """Read ``KEY=VALUE``, or ``KEY`` alone for any value.

    Raises:
        UsageError: There is no key.
    """
    key, sign, value = words.partition("=")
    if not key:
        message = f"{words!r} is no label"
        raise UsageError(message, hint="Labels look like KEY=VALUE.")
    return key, value if sign else None


def parse_pattern(words: str) -> re.Pattern[str]:
    """Read a regular expression that is to be found whatever the case.

    Raises:
        UsageError: It is no regular expression.
    """
    from agentmem_cli.operations.expressions import compiled

    try:
        return compiled(words, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        message = f"{words!r} is no regular expression: {error}"
        raise UsageError(message) from None


def parse_size(words: str) -> int:
    """Read a size (``10MB``, ``1.5GiB``, ``300``) as bytes.

    Raises:
        UsageError: It is no size.
    """
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([a-z]*)", words.strip().lower())
    unit = _SIZE_UNITS.get(match[2]) if match else None
    if match is None or unit is None:
        message = f"{words!r} is no size"
        raise UsageError(message, hint="Sizes look like 300, 20kB, 10MB or 1.5GiB.")
    return int(float(match[1]) * unit)
