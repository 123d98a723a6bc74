"""Files that a person gives a command: read once, never named on the command line by content."""

from __future__ import annotations

import sys

from agentmem_cli.errors import UsageError


def read_given(file: str, option: str) -> tuple[bytes, str]:
    """Return the bytes of *file* (``-``: standard input), and what it is called in messages.

    Raises:
        UsageError: Nothing is named.
        LimitError: It does not end within a bound.
        OSError: It cannot be read.
    """
    from agentmem_cli.storage.named import read_bounded, read_named

    if not file:
        msg = f"{option} is empty"
        raise UsageError(msg)
    if file != "-":
        return read_named(file), file
    if sys.stdin.isatty():
        from agentmem_cli.cli.output import talk

        talk(f"Reading {option} from standard input; end it with Ctrl-D.")
    return read_bounded(sys.stdin.buffer, "standard input"), "standard input"
