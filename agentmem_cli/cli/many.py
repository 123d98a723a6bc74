"""Commands over many sessions: which ones are meant, and how they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentmem_cli.cli import complete
from agentmem_cli.cli.options import filters
from agentmem_cli.cli.output import talk
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.catalog import Found

NamedArg = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SESSION]...",
        help="Sessions: paths, names or beginnings of them, or @last.",
        autocompletion=complete.sessions,
    ),
]
AllOption = Annotated[
    bool, typer.Option("--all", help="All sessions under the root, or those that filters leave.")
]
IdleOption = Annotated[
    str,
    typer.Option(
        "--if-idle",
        metavar="LENGTH",
        help="How long another program must have left it alone; 60s if not given.",
    ),
]
BusyForceOption = Annotated[
    bool,
    typer.Option("--force", "-f", help="Do it though another program may be writing to it."),
]


class Sought:
    """The filters of ``--all`` as they were written.

    Attributes:
        given: Whether there is any.
    """

    def __init__(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        model: str | None = None,
        label: Sequence[str] | None = None,
        title: str | None = None,
        larger: str | None = None,
        older: str | None = None,
        agent: str | None = None,
        project: str | None = None,
    ) -> None:
        """Keep them; they are read by `chosen`."""
        self._filters = {"since": since, "until": until, "model": model, "title": title}
        self._filters |= {"larger": larger, "older": older}
        self._label = label
        self._agent = agent
        self._project = project
        several = (*self._filters.values(), label or None, agent, project)
        self.given = any(each is not None for each in several)

    def chosen(self, settings: Settings) -> list[Found]:
        """Return the sessions under the root that all filters fit, by name.

        Raises:
            UsageError: A filter cannot be read.
        """
        from agentmem_cli.operations.catalog import Found
        from agentmem_cli.operations.listing import matching, rows
        from agentmem_cli.operations.projects import Project

        for option, words in (("--agent", self._agent), ("--project", self._project)):
            if words == "":
                msg = f"{option} is empty"
                raise UsageError(msg)
        wanted = filters(
            settings,
            since=self._filters["since"],
            until=self._filters["until"],
            model=self._filters["model"],
            label=self._label,
            title=self._filters["title"],
            larger=self._filters["larger"],
            older=self._filters["older"],
        )
        project = None if self._project is None else Project(self._project)
        root = str(settings.root)
        found = matching(rows(root), wanted, self._agent, project)
        return [Found(row.id, f"{root}/{row.id}") for row in found]


def sessions_meant(
    settings: Settings, named: Sequence[str] | None, sought: Sought, *, everything: bool
) -> list[Found]:
    """Return the sessions that a command is to work on.

    Raises:
        UsageError: None is named and there is no ``--all``, or both; or filters without it.
        NotFoundError: A name fits none.
    """
    from agentmem_cli.cli.opening import find_shown

    if named and everything:
        msg = "sessions are named, and --all means all of them"
        raise UsageError(msg, hint="Leave one of them out.")
    if sought.given and not everything:
        msg = "filters choose among all sessions, and --all is not given"
        raise UsageError(msg, hint="Add --all, or leave the filters out.")
    if not named and not everything:
        msg = "no session is named"
        raise UsageError(msg, hint="Name one, @last, or give --all.")
    if everything:
        return sought.chosen(settings)
    return list(dict.fromkeys(find_shown(settings, words) for words in named or ()))


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
