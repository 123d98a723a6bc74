"""Commands that read many sessions: those that are named, or all, as far as the filters go."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.cli.options import filters
from agentmem_cli.cli.output import warn
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.catalog import Found
    from agentmem_cli.storage.directory import DirStore


class Filtered(NamedTuple):
    """The filters as they were written; None stands for any."""

    since: str | None = None
    until: str | None = None
    model: str | None = None
    label: Sequence[str] | None = None
    title: str | None = None
    larger: str | None = None
    older: str | None = None
    project: str | None = None

    def is_any(self) -> bool:
        """Whether no session is left out."""
        return all(each in (None, [], ()) for each in self)


def sessions_to_read(
    settings: Settings, named: Sequence[str] | None, given: Filtered
) -> list[Found]:
    """Return the sessions that are named, or all under the root, which the filters fit.

    Raises:
        UsageError: A filter cannot be read.
        NotFoundError: A name fits none.
    """
    from agentmem_cli.cli.opening import find_shown
    from agentmem_cli.operations.catalog import Found, find_all

    found = list(dict.fromkeys(find_shown(settings, words) for words in named or ()))
    if given.is_any():
        return found or find_all(settings.root, ())
    from agentmem_cli.operations.listing import matching, row_of, rows
    from agentmem_cli.operations.projects import Project

    words = given.project
    if words == "":
        raise UsageError("--project is empty")
    wanted = filters(
        settings, **{key: each for key, each in given._asdict().items() if key != "project"}
    )
    project = None if words is None else Project(words)
    root = str(settings.root)
    if not named:
        everything = ((row, f"{root}/{row.id}") for row in rows(root))
    else:
        known = ((row_of(one.id, one.path), one.path) for one in found)
        everything = ((row, path) for row, path in known if row is not None)
    paths = {row.id: (row, path) for row, path in everything}
    fitting = matching([row for row, _ in paths.values()], wanted, None, project)
    return [Found(row.id, paths[row.id][1]) for row in fitting]


def open_to_read(settings: Settings, found: Found) -> DirStore | None:
    """Open one of many sessions to look at it; None: it cannot be read, which is told.

    A change that was cut short is seen as finished. Nothing is written, and no lock is taken.
    """
    from agentmem_cli.errors import ConflictError, SessionError
    from agentmem_cli.operations.catalog import open_finished, open_session

    try:
        try:
            return open_finished(found, lock_wait_s=settings.lock_wait_s)
        except ConflictError as error:
            warn(f"{found.id}: a change was cut short; it is read as it lies there: {error}")
            return open_session(found, lock_wait_s=settings.lock_wait_s, finish=False)
    except (SessionError, OSError) as error:
        warn(f"{found.id}: {error}")
        return None


def agents_to_read(store: DirStore, agent: str | None) -> list[str]:
    """Return the logs of the agents whose ids begin with *agent*; None: all of them."""
    from agentmem_cli.session.keys import SESSION

    return [
        log for log in store.logs() if log != SESSION and (agent is None or log.startswith(agent))
    ]
