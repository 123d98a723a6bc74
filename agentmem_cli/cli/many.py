"""Commands over many sessions: which ones are meant, and how they are asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli import waiting
from agentmem_cli.cli.options import filters
from agentmem_cli.cli.output import talk
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.catalog import Found

NamedArg = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SESSION]...",
        help="Sessions: paths, names or beginnings of them, or @last.",
    ),
]
AllOption = Annotated[
    bool, typer.Option("--all", help="All sessions under the root, or those that filters leave.")
]
RootOption = Annotated[bool, typer.Option("--all", help="All sessions under the root.")]
EveryOption = Annotated[
    bool, typer.Option("--all", help="All sessions; so it is where none is named.")
]
IdleOption = Annotated[
    str,
    typer.Option(
        "--if-idle",
        metavar="LENGTH",
        help="How long another program must have left it alone.",
    ),
]
BusyForceOption = Annotated[
    bool,
    typer.Option("--force", "-f", help="Do it though another program may be writing to it."),
]


_WITH_FILES: Final = "A file that is no session, or a folder of such, is named with --files."

FILTERS: Final = ("since", "until", "model", "label", "title", "larger", "older", "project")
"""Parameters of commands that choose among all sessions."""


class Sought:
    """The filters of ``--all`` as they were written.

    Attributes:
        given: Whether there is any.
    """

    def __init__(self, given: Mapping[str, object]) -> None:
        """Take them out of what a command was *given*, by its parameters; `chosen` reads them."""
        self._given = {name: given.get(name) for name in FILTERS}
        self.given = any(each not in (None, [], ()) for each in self._given.values())

    def chosen(self, settings: Settings, unread: list[str] | None = None) -> list[Found]:
        """Return the sessions under the root that all filters fit, by name.

        Args:
            settings: Where sessions are.
            unread: Gets what is wrong with those that cannot be read, of which no filter can
                tell; None: they are among the others, and fail where they are opened.

        Raises:
            UsageError: A filter cannot be read.
        """
        from agentmem_cli.operations.catalog import Found
        from agentmem_cli.operations.listing import matching, rows
        from agentmem_cli.operations.projects import Project

        given = dict(self._given)
        words = given.pop("project")
        if words == "":
            msg = "--project is empty"
            raise UsageError(msg)
        wanted = filters(settings, **given)  # type: ignore[arg-type]
        project = Project(words) if isinstance(words, str) else None
        root = str(settings.root)
        every = list(rows(root))
        fitting = {row.id for row in matching(every, wanted, None, project)}
        if unread is not None:
            unread += [f"{row.id}: {row.problem}" for row in every if row.unread]
        return [
            Found(row.id, f"{root}/{row.id}")
            for row in every
            if (unread is None if row.unread else row.id in fitting)
        ]


def check_named(named: Sequence[str] | None, *, everything: bool) -> None:
    """See that not both sessions and all of them are asked for.

    Raises:
        UsageError: They are.
    """
    if named and everything:
        msg = "sessions are named, and --all means all of them"
        raise UsageError(msg, hint="Leave one of them out.")


def sessions_meant(
    settings: Settings,
    named: Sequence[str] | None,
    sought: Sought,
    *,
    everything: bool,
    or_files: bool = False,
) -> list[Found]:
    """Return the sessions that a command is to work on.

    Args:
        settings: Where sessions are.
        named: Words for them.
        sought: Filters.
        everything: All that the filters leave are meant.
        or_files: The command takes files, too, with ``--files``.

    Raises:
        UsageError: None is named and there is no ``--all``, or both; or filters without it.
        NotFoundError: A name fits none.
    """
    check_named(named, everything=everything)
    if sought.given and not everything:
        msg = "filters choose among all sessions, and --all is not given"
        raise UsageError(msg, hint="Add --all, or leave the filters out.")
    if not named and not everything:
        msg = "no session is named"
        raise UsageError(msg, hint="Name one, @last, or give --all.")
    if everything:
        return sought.chosen(settings)
    return list(dict.fromkeys(_found(settings, words, or_files=or_files) for words in named or ()))


def _found(settings: Settings, words: str, *, or_files: bool) -> Found:
    from agentmem_cli.cli.opening import find_shown
    from agentmem_cli.errors import NotFoundError
    from agentmem_cli.storage.layout import LOGS

    there = or_files and os.path.lexists(words)
    try:
        found = find_shown(settings, words)
    except NotFoundError as error:
        if there:
            error.hint = _WITH_FILES
        raise
    if there and not os.path.lexists(f"{found.path}/{LOGS}"):
        msg = f"{words}: a folder of files, or a session of an older layout"
        hint = f"{_WITH_FILES} The program that wrote an older session brings it up to date."
        raise NotFoundError(msg, hint=hint)
    return found


def idle_ms(if_idle: str, *, force: bool) -> int | None:
    """Return for how long another program must have left a session alone; None: it need not.

    Raises:
        UsageError: *if_idle* is no length of time.
    """
    from agentmem_cli.cli.clock import parse_length

    length = parse_length(if_idle)
    return None if force else length


def confirm(settings: Settings, question: str, *, yes: bool) -> bool:
    """Ask before what cannot be undone; return whether it is to be done.

    Raises:
        UsageError: Nobody can be asked, and ``--yes`` is not given.
    """
    if yes:
        return True
    check_asks(settings, yes=yes)
    waiting.clear()
    if typer.confirm(question, err=True):
        return True
    talk("Nothing was changed.")
    return False


def check_asks(settings: Settings, *, yes: bool) -> None:
    """See, before any work, that somebody can be asked or need not be.

    Raises:
        UsageError: Nobody can be asked, and ``--yes`` is not given.
    """
    if not yes and not settings.asks:
        msg = "what is there would be replaced, which cannot be undone, so this needs --yes"
        raise UsageError(msg, hint="--dry-run shows what would be done.")


def check_may_remove(settings: Settings, *, dry_run: bool, yes: bool) -> None:
    """See, before any work, that what is removed for good is meant to be, or somebody can be asked.

    Raises:
        UsageError: Nobody can be asked, and neither ``--yes`` nor ``--dry-run`` is given.
    """
    if not (dry_run or yes or settings.asks):
        msg = "what is removed is gone, so this needs --yes"
        raise UsageError(msg, hint="--dry-run shows what would go.")
