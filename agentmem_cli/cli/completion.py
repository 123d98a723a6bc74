"""The command completion: a script that lets a shell complete words on TAB."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from agentmem_cli.cli.options import JsonOption
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

SCHEMA: Final = "agentmem.completion/1"
"""The script, in JSON."""

SHELLS: Final = ("bash", "zsh", "fish")


def _offered(incomplete: str) -> list[str]:
    return [shell for shell in SHELLS if shell.startswith(incomplete)]


def completion(
    context: typer.Context,
    shell: Annotated[
        str,
        typer.Argument(metavar="SHELL", help="bash, zsh or fish.", autocompletion=_offered),
    ],
    json: JsonOption = False,
) -> None:
    """Print a script by which a shell completes words on TAB.

    Packages that install agentmem for all users bring it along. To have it
    from the next shell on:

    \b
    bash  agentmem completion bash > ~/.local/share/bash-completion/completions/agentmem
    zsh   agentmem completion zsh > a folder of $fpath, as _agentmem
    fish  agentmem completion fish > ~/.config/fish/completions/agentmem.fish

    Or at once, in this shell only:

    \b
    bash  source <(agentmem completion bash)
    zsh   source <(agentmem completion zsh)
    fish  agentmem completion fish | source
    """  # noqa: D301 - Click leaves lines behind a real backspace as they are
    from agentmem_cli.cli.shellscripts import script

    if shell not in SHELLS:
        message = f"{shell!r} is none of {', '.join(SHELLS)}"
        raise UsageError(message)
    settings = Settings.of(context)
    with settings.output() as out:
        if json:
            out.object(SCHEMA, {"shell": shell, "script": script(shell)})
        else:
            out.write(script(shell))
