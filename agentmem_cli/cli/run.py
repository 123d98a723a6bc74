"""One run of the command tree, with nothing of Typer's own error handling."""

from __future__ import annotations

import gc
import sys

import typer

from agentmem_cli.cli import waiting
from agentmem_cli.cli.app import app

PROGRAM = "agentmem"

_COLLECT_AFTER = 100_000
"""Objects made before the collector looks for cycles among them."""


def run(arguments: list[str]) -> int:
    """Run the command that *arguments* name.

    Typer's `main` is passed by: it would turn a closed pipe into status 1 and
    print errors in its own way.

    Returns:
        What the command returned as its exit status; None counts as 0.

    Raises:
        BaseException: Whatever ended the command, for `cli.failure.report`.
    """
    group = typer.main.get_command(app)
    gc.freeze()
    # Why: a fold makes hundreds of thousands of objects that all stay, and no
    # cycles; looking through them every 700 costs it a tenth of its time.
    gc.set_threshold(_COLLECT_AFTER)
    gc.enable()
    try:
        with group.make_context(PROGRAM, arguments) as context:
            status: object = group.invoke(context)
    except typer.Exit as end:
        status = end.exit_code
    finally:
        waiting.end()
    if sys.stdout is not None:
        sys.stdout.flush()
    return status if isinstance(status, int) else 0
