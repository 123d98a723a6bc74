"""Files that a person gives a command: read once, never named on the command line by content."""

from __future__ import annotations

import sys
from pathlib import Path

from agentmem_cli.errors import UsageError


def read_given(file: str, option: str) -> tuple[bytes, str]:
    """Return the bytes of *file* (``-``: standard input), and what it is called in messages.

    Raises:
        UsageError: Standard input is a terminal, or nothing is named.
        OSError: It cannot be read.
    """
    if not file:
        msg = f"{option} is empty"
        raise UsageError(msg)
    if file != "-":
        return Path(file).read_bytes(), file
    if sys.stdin.isatty():
        from agentmem_cli.cli.output import talk

        talk(f"Reading {option} from standard input; end it with Ctrl-D.")
    return sys.stdin.buffer.read(), "standard input"
