"""The commands of core memory, `agentmem core VERB`, each made when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import typer
from typer.core import TyperGroup

from agentmem_cli.cli.app import Commands, summary
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    # Typer's copy of Click has no public names for what its hooks are given.
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter

SECTIONS: Final[dict[str, dict[str, str]]] = {
    "Look": {
        "list": "agentmem_cli.cli.core_look:list_blocks",
        "show": "agentmem_cli.cli.core_look:show",
        "get": "agentmem_cli.cli.core_look:get",
        "render": "agentmem_cli.cli.core_look:render",
        "lint": "agentmem_cli.cli.core_look:lint",
    },
    "Change": {
        "set": "agentmem_cli.cli.core_change:set_",
        "append": "agentmem_cli.cli.core_change:append",
        "replace": "agentmem_cli.cli.core_change:replace",
        "insert": "agentmem_cli.cli.core_change:insert",
        "label": "agentmem_cli.cli.core_change:label",
        "remove": "agentmem_cli.cli.core_keep:remove",
        "clear": "agentmem_cli.cli.core_keep:clear",
        "edit": "agentmem_cli.cli.core_edit:edit",
        "protect": "agentmem_cli.cli.core_keep:protect",
        "unprotect": "agentmem_cli.cli.core_keep:unprotect",
        "config": "agentmem_cli.cli.core_keep:config",
    },
    "The past": {
        "history": "agentmem_cli.cli.core_past:history",
        "diff": "agentmem_cli.cli.core_past:diff",
        "blame": "agentmem_cli.cli.core_past:blame",
        "undo": "agentmem_cli.cli.core_past:undo",
        "restore": "agentmem_cli.cli.core_past:restore",
    },
    "In and out": {
        "export": "agentmem_cli.cli.core_files:export",
        "import": "agentmem_cli.cli.core_files:import_",
    },
}
"""Section of the help -> verb -> ``module:name`` of its function."""

VERBS: Final = {name: place for section in SECTIONS.values() for name, place in section.items()}


class CoreGroup(TyperGroup):
    """The group ``core``: knows its verbs by name, makes them when asked."""

    def __init__(self, **attributes: object) -> None:
        """Take what Typer gives, but the commands, which are in `VERBS`."""
        attributes.pop("commands", None)
        super().__init__(**attributes)  # type: ignore[arg-type]
        self.commands = Commands(dict(VERBS))

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002 - Typer's hook
        """List the verbs by section, from their docstrings alone."""
        indent = max(map(len, VERBS)) + 4
        for section, places in SECTIONS.items():
            rows = [
                (name, summary(place, formatter.width - indent)) for name, place in places.items()
            ]
            with formatter.section(section):
                formatter.write_dl(rows)


app = typer.Typer(
    name="core",
    cls=CoreGroup,
    help="Core memory: a few blocks of text that a model always sees.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def core(context: typer.Context) -> None:
    """Core memory: a few blocks of text that a model always sees.

    Types: system, persona, human, facts, goals, scratch. The blocks are saved
    values of the log of the session, or with --agent of an agent, so that
    every change has a past, an author and a reason.
    """
    if context.invoked_subcommand is None:
        raise UsageError("no verb given", hint="agentmem core --help lists the verbs.")
