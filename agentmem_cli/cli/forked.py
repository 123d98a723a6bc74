"""The command fork."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli.options import AgentOption, JsonOption, SessionArg
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from agentmem_cli.operations.forking import Forked

SCHEMA: Final = "agentmem.fork/1"
"""A fork that was made."""


def fork(
    context: typer.Context,
    session: SessionArg,
    new: Annotated[
        str | None,
        typer.Argument(metavar="[NEW]", help="What the new session is to be called."),
    ] = None,
    at: Annotated[
        str,
        typer.Option("--at", metavar="PLACE", help="Fork it as it was at this place; now if not."),
    ] = "now",
    agent: AgentOption = None,
    as_agent: Annotated[
        str | None,
        typer.Option(
            "--as-agent", metavar="NAME", help="Make it an agent of this name in the same session."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Start a new session that begins as another stood at a place.

    It ends at the last place before where the conversation is at rest: no
    reply is owed, and no call waits for its result. The saved values of the
    session and the images that are named come along. The name of the new
    session is printed.
    """
    from agentmem_cli.cli.look import open_place
    from agentmem_cli.cli.opening import find_shown
    from agentmem_cli.operations.forking import fork_agent, fork_session

    settings = Settings.of(context)
    if new is not None and as_agent is not None:
        raise UsageError("NEW is a session, and --as-agent stays in this one")
    opened = open_place(settings, session, agent, at, change=True)
    found = find_shown(settings, session)
    if as_agent is not None:
        done = fork_agent(
            found, opened.store, opened.agent, opened.place, as_agent, now_ms=settings.now_ms
        )
    else:
        done = fork_session(
            settings.root,
            found,
            opened.store,
            opened.agent,
            opened.place,
            new=new,
            now_ms=settings.now_ms,
            lock_wait_s=settings.lock_wait_s,
        )
    _tell(settings, opened.id, done, json=json, inside=as_agent is not None)


def _tell(settings: Settings, source: str, done: Forked, *, json: bool, inside: bool) -> None:
    from agentmem_cli.cli.output import talk, warn
    from agentmem_cli.cli.render import count
    from agentmem_cli.cli.text import one_line

    if done.meta_error is not None:
        warn(f"{done.found.id}: the meta was not written ({done.meta_error}); list goes by logs")
    if done.lost:
        lost = count(len(done.lost), "blob")
        warn(f"{done.found.id}: {lost} that it names were missing; agentmem blobs lists them")
    with settings.output() as out:
        if json:
            out.object(
                SCHEMA,
                {
                    "session": done.found.id,
                    "path": done.found.path,
                    "agent": done.agent,
                    "forked_from": {"session": source, "at": done.messages},
                    "source_agent": done.source_agent,
                    "n": done.n,
                    "left": done.left,
                    "blobs": done.blobs,
                    "missing_blobs": list(done.lost),
                },
            )
        else:
            out.line(one_line(done.agent if inside else done.found.id))
    if not json:
        told = f"{count(done.messages, 'message')} of {one_line(source)}, up to n {done.n}"
        if done.left:
            told += f"; {count(done.left, 'message')} behind the place at rest stayed out"
        talk(told)
