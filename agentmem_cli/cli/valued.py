"""The commands of saved values: `agentmem value get|set|unset|list`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from agentmem_cli.cli.options import JsonOption, SessionArg
from agentmem_cli.cli.settings import Settings
from agentmem_cli.cli.verbs import group
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from agentmem_cli.operations.saved import Changed, Held
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.directory import DirStore

VALUE: Final = "agentmem.value/1"
"""One saved value."""

CHANGE: Final = "agentmem.value-change/1"
"""What a change of one came to."""

_CELL_CHARACTERS: Final = 4_000
_CELL_COLUMNS: Final = 200

LogOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="ID",
        help="The agent, or the beginning of its id; session: the values of the session itself.",
    ),
]
KeyArg = Annotated[str, typer.Argument(metavar="KEY", help="The key of the value.")]
TextOption = Annotated[bool, typer.Option("--text", help="A string as plain text, not as JSON.")]
GuardOption = Annotated[
    bool,
    typer.Option("--force", "-f", help="Change a key that rig, agentmem or core memory rely on."),
]

app = group(
    "value",
    """Saved values: look at them, set and remove them.

    They are the values of the main agent, or with --agent of another one, or
    of the session itself (--agent session). What was there before stays in
    the log.""",
)


class _Opened(NamedTuple):
    settings: Settings
    id: str
    store: DirStore
    log: str


def _open(
    context: typer.Context, session: str, agent: str | None, *, change: bool = False
) -> _Opened:
    from agentmem_cli.cli.opening import open_to_change, open_to_look
    from agentmem_cli.operations.saved import log_of

    settings = Settings.of(context)
    if agent == "":
        raise UsageError("--agent is empty")
    found, store = (open_to_change if change else open_to_look)(settings, session)
    return _Opened(settings, found.id, store, log_of(store, agent))


@app.command("list")
def list_values(
    context: typer.Context,
    session: SessionArg,
    agent: LogOption = None,
    json: JsonOption = False,
) -> None:
    """List the saved values, in the order in which they were written."""
    from agentmem_cli.cli.output import talk
    from agentmem_cli.cli.render import Column, count, table
    from agentmem_cli.cli.shown import warn_of
    from agentmem_cli.cli.text import cell
    from agentmem_cli.operations.saved import values_of
    from agentmem_cli.session.codec import dumps

    opened = _open(context, session, agent)
    settings = opened.settings
    values = values_of(opened.store, opened.log)
    with settings.output(paged=not json) as out:
        if json:
            for held in values.held:
                out.object(VALUE, _fields(opened, held))
        elif values.held:
            columns = [Column("KEY", least=12, style="cyan"), Column("VALUE", least=8)]
            rows = []
            for held in values.held:
                told = dumps(held.value)[:_CELL_CHARACTERS].decode("utf-8", "replace")
                rows.append([held.key, cell(told, _CELL_COLUMNS)])
            table(out, columns, rows, settings)
    warn_of(opened.id, opened.log, values.damages)
    if not json:
        talk(count(len(values.held), "value"))


@app.command("get")
def get(
    context: typer.Context,
    session: SessionArg,
    key: KeyArg,
    agent: LogOption = None,
    text: TextOption = False,
    json: JsonOption = False,
) -> None:
    """Print one saved value, as JSON on one line."""
    from agentmem_cli.cli.shown import warn_of
    from agentmem_cli.cli.text import one_line, visible
    from agentmem_cli.operations.saved import value_of, values_of
    from agentmem_cli.session.codec import dumps

    opened = _open(context, session, agent)
    values = values_of(opened.store, opened.log)
    warn_of(opened.id, opened.log, values.damages)
    held = value_of(values, key)
    if text and not isinstance(held.value, str):
        raise UsageError(f"{key!r} is no string", hint="Without --text it is printed as JSON.")
    with opened.settings.output() as out:
        if json:
            out.object(VALUE, _fields(opened, held))
        elif isinstance(held.value, str) and text:
            # Why as it is through a pipe: whoever asks for the text wants its characters.
            out.line(visible(held.value) if out.is_terminal else held.value)
        else:
            told = dumps(held.value)
            out.write_bytes(one_line(told.decode()).encode() if out.is_terminal else told)
            out.write_bytes(b"\n")


@app.command("set")
def set_(
    context: typer.Context,
    session: SessionArg,
    key: KeyArg,
    value: Annotated[
        str | None,
        typer.Argument(metavar="[JSON]", help="The value; - or nothing is standard input."),
    ] = None,
    agent: LogOption = None,
    text: TextOption = False,
    force: GuardOption = False,
    json: JsonOption = False,
) -> None:
    """Save a value; the same one again changes nothing.

    Keys of rig (rig::...), of agentmem (agentmem....) and of core memory
    (core_memory....) need --force, since programs rely on what stands there.
    Secrets go on standard input, where no list of processes shows them.
    """
    from agentmem_cli.operations.saved import change_value, check_key

    check_key(key, force=force)
    opened = _open(context, session, agent, change=True)
    wanted = _read(value, text=text)
    done = change_value(
        opened.store, opened.log, key, wanted, force=force, now_ms=opened.settings.now_ms
    )
    _tell(opened, done, json=json)


@app.command("unset")
def unset(
    context: typer.Context,
    session: SessionArg,
    key: KeyArg,
    agent: LogOption = None,
    force: GuardOption = False,
    json: JsonOption = False,
) -> None:
    """Remove a saved value; its past stays."""
    from agentmem_cli.operations.saved import change_value, check_key

    check_key(key, force=force)
    opened = _open(context, session, agent, change=True)
    done = change_value(
        opened.store, opened.log, key, None, force=force, now_ms=opened.settings.now_ms
    )
    _tell(opened, done, json=json)


def _read(words: str | None, *, text: bool) -> JSON:
    """Read a value from *words*, or from standard input."""
    from agentmem_cli.session.codec import loads
    from agentmem_cli.storage.named import read_bounded

    if words in (None, "-"):
        if sys.stdin.isatty():
            from agentmem_cli.cli.output import talk

            talk("Reading standard input; end it with Ctrl-D.")
        data, where = read_bounded(sys.stdin.buffer, "standard input"), "standard input"
    else:
        assert words is not None
        data, where = words.encode("utf-8", "surrogateescape"), "the value"
    try:
        told = data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{where}: byte {error.start} is not UTF-8") from None
    if text:
        return told.removesuffix("\n").removesuffix("\r") if where == "standard input" else told
    try:
        value = loads(told.encode())
    except ValueError as error:
        hint = "A string has double quotes in JSON; --text takes words as they are."
        raise UsageError(f"{where} is not JSON: {error}", hint=hint) from None
    if value is None:
        raise UsageError("null is no value: in a log it removes one", hint="agentmem value unset")
    return value


def _fields(opened: _Opened, held: Held) -> dict[str, JSON]:
    from agentmem_cli.cli.clock import utc_time

    return {
        "session": opened.id,
        "agent": opened.log,
        "key": held.key,
        "value": held.value,
        "n": held.n,
        "time": utc_time(held.t),
    }


def _tell(opened: _Opened, done: Changed, *, json: bool) -> None:
    from agentmem_cli.cli.output import talk, warn
    from agentmem_cli.cli.text import cell, one_line

    if done.torn is not None:
        warn(
            f"{opened.id}/logs/{done.torn.log}.jsonl: {done.torn.cut} torn bytes were set aside "
            f"in files/{done.torn.set_aside}"
        )
    if done.meta_error is not None:
        warn(f"{opened.id}: the meta was not written ({done.meta_error}); list goes by the logs")
    if json:
        with opened.settings.output() as out:
            out.object(
                CHANGE,
                {
                    "session": opened.id,
                    "agent": done.log,
                    "key": done.key,
                    "before": done.before,
                    "value": done.value,
                    "changed": done.n is not None,
                    "n": done.n,
                    "set_aside": None if done.torn is None else done.torn.set_aside,
                },
            )
        return
    where = f"{one_line(opened.id)}, agent {one_line(done.log)}"
    what = "removed" if done.value is None else "saved"
    told = what if done.n is not None else "was so already"
    talk(f"{where}: {cell(done.key, 80)} {told}")
