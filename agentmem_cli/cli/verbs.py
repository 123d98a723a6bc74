"""Groups of a few verbs: `agentmem value VERB`, `agentmem meta VERB`."""

from __future__ import annotations

import typer

from agentmem_cli.errors import UsageError


def group(name: str, about: str) -> typer.Typer:
    """Return the app of a group, to which verbs are added; called without one it says so.

    Args:
        name: The group's name.
        about: Its help; the first line stands in the help of all commands.
    """
    app = typer.Typer(
        name=name,
        help=about,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True, help=about)
    def no_verb(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            message = f"no verb given to {name}"
            raise UsageError(message, hint=f"agentmem {name} --help lists them.")

    return app
