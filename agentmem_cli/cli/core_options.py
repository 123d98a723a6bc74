"""What the verbs of core memory share: their words, and how a session is opened for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.operations.core.changing import Request
    from agentmem_cli.operations.core.looking import Seen
    from agentmem_cli.operations.places import Place
    from agentmem_cli.session.core_memory import MemoryBlockType
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.storage.directory import DirStore

TYPES: Final = ("system", "persona", "human", "facts", "goals", "scratch")
_HASH_DIGITS: Final = 64


def _offered(incomplete: str) -> list[str]:
    return [name for name in TYPES if name.startswith(incomplete.lower())]


TypeArg = Annotated[
    str,
    typer.Argument(
        metavar="TYPE",
        help="system, persona, human, facts, goals or scratch.",
        autocompletion=_offered,
    ),
]
AnyTypeArg = Annotated[
    str | None,
    typer.Argument(
        metavar="[TYPE]",
        help="One block: system, persona, human, facts, goals or scratch; all if not given.",
        autocompletion=_offered,
    ),
]
TextArg = Annotated[
    str | None,
    typer.Argument(metavar="[TEXT]", help="The text; - or nothing is standard input."),
]
LogOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="ID",
        help="The blocks of this agent, or of the beginning of its id; else of the session.",
    ),
]
AsOfOption = Annotated[
    str | None,
    typer.Option("--as-of", metavar="PLACE", help="As it was at this place in time."),
]
ReasonOption = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="Say why; it is kept.")
]
ByOption = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Say who changes it; user if not given."),
]
MatchOption = Annotated[
    str | None,
    typer.Option(
        "--if-match",
        metavar="HASH",
        help="Only if the block still has this hash, from get --hash; none: it is not there.",
    ),
]
MatchAllOption = Annotated[
    str | None,
    typer.Option(
        "--if-match",
        metavar="HASH",
        help="Only if what a model sees still has this hash, from render --digest.",
    ),
]
MergeOption = Annotated[
    bool,
    typer.Option("--merge", help="With --if-match: merge it where others changed other lines."),
]
ForceOption = Annotated[
    bool,
    typer.Option("--force", "-f", help="Replace what another program put that is no block."),
]


class Open(NamedTuple):
    """A session whose core memory is meant."""

    settings: Settings
    id: str
    store: DirStore
    log: str

    @property
    def agent(self) -> str | None:
        """The agent whose blocks are meant; None: those of the session."""
        from agentmem_cli.session.keys import SESSION

        return None if self.log == SESSION else self.log


def open_core(
    context: typer.Context, session: str, agent: str | None, *, change: bool = False
) -> Open:
    """Find a session and the log that holds its core memory."""
    from agentmem_cli.cli.opening import open_to_change, open_to_look
    from agentmem_cli.operations.core.looking import log_of

    settings = Settings.of(context)
    found, store = (open_to_change if change else open_to_look)(settings, session)
    return Open(settings, found.id, store, log_of(store, agent))


def look_at(opened: Open, words: str | None) -> Seen:
    """Read core memory at the place that *words* name, and warn of what cannot be used."""
    (seen,) = look_at_each(opened, words)
    return seen


def look_at_each(opened: Open, *places: str | None) -> list[Seen]:
    """Read core memory at each place, and warn once of what cannot be used."""
    from agentmem_cli.cli.output import warn
    from agentmem_cli.operations.core.looking import look

    all_seen: list[Seen] = []
    told: list[str] = []
    for words in places:
        seen = look(opened.store, opened.log, None if words is None else place_at(opened, words))
        over = seen.values.over_bytes
        told += [f"{key} is left out: {why}" for key, why in seen.values.bad.items()]
        told += [f"{key} is too large: {why}" for key, why in seen.values.large.items()]
        told += [f"core memory is {over} bytes larger than it may be"] if over else []
        all_seen.append(seen)
    for each in dict.fromkeys(told):
        warn(f"{opened.id}/logs/{opened.log}.jsonl: {each}")
    warn_damages(opened, [damage for seen in all_seen for damage in seen.damages])
    return all_seen


def warn_damages(opened: Open, damages: Iterable[Damage]) -> None:
    """Warn of what of the log could not be used, of each once."""
    found = list(dict.fromkeys(damages))
    if found:
        from agentmem_cli.cli.shown import warn_of

        warn_of(opened.id, opened.log, found)


def place_at(opened: Open, words: str) -> Place:
    """Resolve a place in time, which may be a message's address."""
    from agentmem_cli.cli.addressed import local
    from agentmem_cli.cli.clock import parse_time
    from agentmem_cli.operations.core.looking import place_of

    settings = opened.settings
    at = local(opened.id, opened.store, opened.agent, words)
    log, words = at or (opened.log, words)

    def read_time(given: str) -> int:
        return parse_time(given, now_ms=settings.now_ms, zone=settings.zone)

    return place_of(opened.store, log, words, now_ms=settings.now_ms, read_time=read_time)


def type_of(words: str) -> MemoryBlockType:
    """Read a type of a block.

    Raises:
        BadBlockType: There is none of this name.
    """
    from agentmem_cli.session.core_memory import MemoryBlockType

    return MemoryBlockType.parse(words)


def request_of(
    settings: Settings,
    *,
    by: str | None = None,
    reason: str | None = None,
    match: str | None = None,
    merge: bool | None = None,
    force: bool | None = None,
    dry_run: bool = False,
) -> Request:
    """Return how a change is to be made.

    Raises:
        UsageError: A hash is none, or --merge stands alone, or a name is empty.
    """
    from agentmem_cli.operations.core.changing import Request
    from agentmem_cli.operations.core.looking import NONE

    if by is not None and not by.strip():
        raise UsageError("--by is empty")
    for option, text in (("--by", by), ("--reason", reason)):
        check_text(text, option)
    if match is not None:
        match = match.lower()
        is_hash = len(match) == _HASH_DIGITS and not match.strip("0123456789abcdef")
        if match != NONE and not is_hash:
            hint = (
                "agentmem core get SESSION TYPE --hash prints the hash of a block, "
                "agentmem core render SESSION --digest that of all."
            )
            raise UsageError(f"--if-match: {match!r} is no hash", hint=hint)
    if merge and match is None:
        raise UsageError("--merge needs --if-match", hint="The hash says what was edited.")
    return Request(
        settings.now_ms, by, reason or None, match, merge=merge, force=force, dry_run=dry_run
    )


def text_of(words: str | None, what: str = "TEXT") -> str:
    """Return a text: the word itself, or standard input for ``-`` and for nothing.

    Raises:
        UsageError: It is not UTF-8.
    """
    if words not in (None, "-"):
        assert words is not None
        check_text(words, what, hint="Give it on standard input.")
        return words
    from agentmem_cli.operations.core.exchange import decode
    from agentmem_cli.storage.named import read_bounded

    if sys.stdin.isatty():
        from agentmem_cli.cli.output import talk

        talk("Reading standard input; end it with Ctrl-D.")
    return decode(read_bounded(sys.stdin.buffer, "standard input"), "standard input")


def check_text(words: str | None, what: str, *, hint: str | None = None) -> None:
    """See that a text from the command line, if one was given, is UTF-8.

    Raises:
        UsageError: It is not; *hint* says what to do.
    """
    # Python hands in bytes that are no UTF-8 as halves of surrogate pairs.
    try:
        (words or "").encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} is not UTF-8", hint=hint) from None
