"""The commands that add, and keep the past: new, append, import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentmem_cli.cli.options import JsonOption, SessionArg, parse_label
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from agentmem_cli.operations.append import Added
    from agentmem_cli.session.author import Author
    from agentmem_cli.session.message import Message


def new(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="What to call it; without it the time and a number."),
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="What a listing shows.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="KEY=VALUE", help="A label; repeatable."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Start an empty session and print its name."""
    from agentmem_cli.cli.output import warn
    from agentmem_cli.cli.text import one_line
    from agentmem_cli.operations.append import new as start

    settings = Settings.of(context)
    labels = {}
    for words in label or ():
        key, value = parse_label(words)
        if value is None:
            msg = f"--label: {words!r} has no value"
            raise UsageError(msg, hint="Write KEY=VALUE.")
        labels[key] = value
    started = start(
        settings.root,
        name,
        title=title,
        labels=labels,
        now_ms=settings.now_ms,
        lock_wait_s=settings.lock_wait_s,
    )
    with settings.output() as out:
        if json:
            out.object(
                "agentmem.new/1",
                {"id": started.found.id, "name": started.name, "path": started.found.path},
            )
        else:
            out.line(one_line(started.found.id))
    if started.name != started.found.id:
        warn(_renamed(started.name, f"the session is called {started.found.id}"))


def _renamed(name: str, instead: str) -> str:
    from agentmem_cli.cli.text import cell

    return f"{cell(repr(name), 80)} is no file name on every system; {instead}"


def append(
    context: typer.Context,
    session: SessionArg,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="What to read; - is standard input.")
    ] = "-",
    role: Annotated[
        str | None,
        typer.Option(
            "--role",
            metavar="ROLE",
            help="Take all of it as one message of plain text: user, assistant or system.",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="ID", help="The agent, started where it is not there yet."),
    ] = None,
    author: Annotated[
        str | None,
        typer.Option("--author", metavar="NAME", help="Say that this plugin or program wrote it."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Append messages to a session.

    Without --role it reads JSON lines, one message each: an object with role
    and content. All of them become one record, or none.
    """
    from agentmem_cli.cli.opening import open_to_change
    from agentmem_cli.cli.output import talk, warn
    from agentmem_cli.cli.render import count
    from agentmem_cli.cli.text import one_line
    from agentmem_cli.operations.append import agent_to_append
    from agentmem_cli.operations.append import append as add

    settings = Settings.of(context)
    found, store = open_to_change(settings, session)
    log, name = agent_to_append(store, agent)
    is_new = agent is not None and log not in store.logs()
    messages = _messages(file, role)
    added = add(store, log, messages, author=_author(author), name=name, at_ms=settings.now_ms)
    if name is not None:
        warn(_renamed(name, f"the agent's log is called {log}"))
    _tell_aside(found.id, added)
    if json:
        with settings.output() as out:
            out.object(
                "agentmem.append/1",
                {
                    "session": found.id,
                    "agent": added.agent,
                    "ids": list(added.ids),
                    "first_n": added.first_n,
                    "last_n": added.last_n,
                    "set_aside": None if added.torn is None else added.torn.set_aside,
                    "meta_set_aside": added.meta.set_aside,
                },
            )
    else:
        told = count(len(added.ids), "message")
        who = f"{'new ' if is_new else ''}agent {one_line(added.agent)}"
        talk(f"{told} added to {one_line(found.id)}, {who}")


def _tell_aside(session: str, added: Added) -> None:
    """Say what an append found out of order, and where that went."""
    from agentmem_cli.cli.output import warn

    torn, meta = added.torn, added.meta
    if torn is not None:
        warn(
            f"{session}/logs/{torn.log}.jsonl: {torn.cut} torn bytes at byte {torn.kept} "
            f"were set aside in files/{torn.set_aside}"
        )
    if meta.set_aside is not None:
        lost = "; labels, if it had any, are lost" if meta.labels_lost else ""
        warn(
            f"{session}/files/meta.json: {meta.why}; it was set aside as "
            f"files/{meta.set_aside} and made anew from the logs{lost}"
        )
    if added.meta_error is not None:
        warn(f"{session}: the meta was not written ({added.meta_error}); list goes by the logs")


def _messages(file: str, role: str | None) -> list[Message]:
    from agentmem_cli.operations.given import messages_of_lines, text_message

    where = "standard input" if file == "-" else file
    data = _read(file)
    if role is not None:
        return [text_message(role, data, where)]
    return messages_of_lines(data, where)


def _read(file: str) -> bytes:
    import sys

    from agentmem_cli.storage.named import read_bounded, read_named

    if file != "-":
        return read_named(file)
    if sys.stdin.isatty():
        from agentmem_cli.cli.output import talk

        talk("Reading standard input; end it with Ctrl-D.")
    return read_bounded(sys.stdin.buffer, "standard input")


def _author(name: str | None) -> Author | None:
    if name is None:
        return None
    from agentmem_cli.session.author import Author

    return Author.plugin(name)
