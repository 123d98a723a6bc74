"""The command tree: global options, and every command by its name.

A command is named in `COMMANDS` by the module and function it lives in, and
made only when it is asked for: a run imports the module of its own command, and
builds the parameters of that one. The help reads the docstrings of all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from typer.core import TyperGroup

from agentmem_cli.cli.helped import HelpContext, with_drawn_help
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError
from agentmem_cli.limits import LOCK_WAIT_S

if TYPE_CHECKING:
    # Typer's copy of Click has no public names for what its hooks are given.
    from typer._click import Command
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter

SECTIONS: Final[dict[str, dict[str, str]]] = {
    "Look": {
        "list": "agentmem_cli.cli.look:list_sessions",
        "show": "agentmem_cli.cli.look:show",
        "log": "agentmem_cli.cli.look:log",
        "as-of": "agentmem_cli.cli.look:as_of",
        "diff": "agentmem_cli.cli.diffed:diff",
        "grep": "agentmem_cli.cli.found:grep",
        "stats": "agentmem_cli.cli.counted:stats",
        "blobs": "agentmem_cli.cli.blobs:blobs",
        "scan": "agentmem_cli.cli.scan:scan",
        "export": "agentmem_cli.cli.exported:export",
    },
    "Change, with the past kept": {
        "new": "agentmem_cli.cli.change:new",
        "append": "agentmem_cli.cli.change:append",
        "splice": "agentmem_cli.cli.undone:splice",
        "compact": "agentmem_cli.cli.compact:compact",
        "clear": "agentmem_cli.cli.compact:clear",
        "undo": "agentmem_cli.cli.undone:undo",
        "redo": "agentmem_cli.cli.undone:redo",
        "restore": "agentmem_cli.cli.undone:restore",
        "core": "agentmem_cli.cli.core:app",
        "value": "agentmem_cli.cli.valued:app",
        "meta": "agentmem_cli.cli.labelled:app",
        "fork": "agentmem_cli.cli.forked:fork",
        "import": "agentmem_cli.cli.brought:import_sources",
        "rename": "agentmem_cli.cli.rewritten:rename",
    },
    "Change, with the past replaced": {
        "redact": "agentmem_cli.cli.redact:redact",
        "rewrite": "agentmem_cli.cli.rewritten:rewrite",
        "remap": "agentmem_cli.cli.rewritten:remap",
    },
    "Care": {
        "verify": "agentmem_cli.cli.care:verify",
        "repair": "agentmem_cli.cli.mended:repair",
        "gc": "agentmem_cli.cli.collected:gc",
        "prune": "agentmem_cli.cli.removed:prune",
        "rm": "agentmem_cli.cli.removed:rm",
        "schema": "agentmem_cli.cli.schema:schema",
        "completion": "agentmem_cli.cli.completion:completion",
    },
}
"""Section of the help -> command -> ``module:name`` of its function, or of its Typer
app where it has commands of its own."""

COMMANDS: Final = {name: place for section in SECTIONS.values() for name, place in section.items()}

EXIT_STATUS: Final = (
    (0, "done, clean, same, matched"),
    (1, "findings, differences, problems, no match"),
    (2, "usage, or any trouble not listed"),
    (3, "not found, or ambiguous"),
    (4, "conflict, busy, changed"),
    (5, "damaged"),
    (6, "a limit"),
    (130, "interrupted"),
)


class Commands(MutableMapping[str, "Command"]):
    """The commands by name, each made when it is first looked up."""

    def __init__(self, places: dict[str, str]) -> None:
        """Take the *places* that commands are to be made from."""
        self._places = places
        self._made: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._made:
            self._made[name] = with_drawn_help(_make(name, self._places[name]))
        return self._made[name]

    def __setitem__(self, name: str, command: Command) -> None:
        self._made[name] = command
        self._places.setdefault(name, "")

    def __delitem__(self, name: str) -> None:
        del self._places[name]
        self._made.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class LazyGroup(TyperGroup):
    """The main group: knows its commands by name, makes them when asked."""

    context_class = HelpContext

    def __init__(self, **attributes: object) -> None:
        """Take what Typer gives, but the commands, which are in `COMMANDS`."""
        attributes.pop("commands", None)
        super().__init__(**attributes)  # type: ignore[arg-type]
        self.commands = Commands(dict(COMMANDS))

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002 - Typer's hook
        """List the commands by section, from their docstrings alone."""
        indent = max(map(len, COMMANDS)) + 4
        for section, places in SECTIONS.items():
            rows = [
                (name, summary(place, formatter.width - indent)) for name, place in places.items()
            ]
            with formatter.section(section):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002 - Typer's hook
        """End the help with what a program needs to know."""
        with formatter.section("EXIT STATUS"):
            formatter.write_dl([(str(status), told) for status, told in EXIT_STATUS])


app = typer.Typer(
    name="agentmem",
    cls=LazyGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    # The command `completion` prints scripts of our own: Typer's start it on every TAB.
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    root: Annotated[
        str | None,
        typer.Option(
            "--root",
            metavar="DIR",
            help="The folder of the sessions; without it AGENTMEM_ROOT, then the user data folder.",
        ),
    ] = None,
    lock_wait: Annotated[
        float,
        typer.Option(
            "--lock-wait",
            metavar="SECONDS",
            min=0,
            help="How long to wait for a session that another program writes to.",
        ),
    ] = LOCK_WAIT_S,
    no_color: Annotated[bool, typer.Option("--no-color", help="Print without colour.")] = False,
    no_pager: Annotated[bool, typer.Option("--no-pager", help="Print without a pager.")] = False,
    utc: Annotated[
        bool, typer.Option("--utc", help="Read and show times in UTC, not in local time.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the program an error came up.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Look at, change and take care of the saved sessions of AI agents."""
    if version:
        from agentmem_cli import __version__

        typer.echo(f"agentmem {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        message = "no command given"
        raise UsageError(message, hint="agentmem --help lists the commands.")
    if not math.isfinite(lock_wait):
        message = f"--lock-wait: {lock_wait} is no number of seconds"
        raise UsageError(message)
    if root == "":
        message = "--root is empty"
        raise UsageError(message)
    context.obj = settings = Settings(
        root=Path(root) if root else None,
        lock_wait_s=lock_wait,
        no_colour=no_color,
        no_pager=no_pager,
        utc=utc,
        debug=debug,
    )
    if settings.talks:
        from agentmem_cli.cli import waiting

        waiting.begin(settings.environ)


def _target(place: str) -> object:
    module_name, _, name = place.partition(":")
    return getattr(import_module(module_name), name)


def _make(name: str, place: str) -> Command:
    """Make the command *name* out of the function or the Typer app at *place*."""
    target = _target(place)
    if isinstance(target, typer.Typer):
        command = typer.main.get_command(target)
        command.name = name
        return command
    assert callable(target), place
    alone = typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    alone.command(name)(target)
    return typer.main.get_command(alone)


def summary(place: str, columns: int) -> str:
    """Return the first line of the docstring at *place*, without its full stop."""
    target = _target(place)
    told = target.info.help if isinstance(target, typer.Typer) else target.__doc__
    line = str(told or "").strip().split("\n", maxsplit=1)[0]
    return line.rstrip(".")[: max(columns, 20)]
