"""Commands for the tests of the frame: what no real command does on demand."""

from __future__ import annotations

import sys
import time

import typer

from agentmem_cli.cli.options import JsonOption, SessionArg
from agentmem_cli.cli.output import warn
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import AmbiguousError, Busy, DamageError

PLACES = {
    name: f"tests.e2e.commands:{name}" for name in ("lines", "wait", "fail", "status", "group")
}

group = typer.Typer(rich_markup_mode=None, help="Commands of a group.")


@group.command()
def inner() -> int:
    """End with the status 1."""
    return 1


@group.command()
def other() -> None:
    """Do nothing."""


def lines(
    context: typer.Context, count: int = 10, wide: bool = False, json: JsonOption = False
) -> None:
    """Print many lines."""
    text = "Grüße ☃" if wide else "line"
    with Settings.of(context).output(paged=True) as out:
        for number in range(count):
            if json:
                out.object("agentmem.line/1", {"n": number})
            else:
                out.line(f"{text} {number}")


def wait() -> None:
    """Say that it waits, and wait."""
    sys.stdout.write("waiting\n")
    sys.stdout.flush()
    time.sleep(30)


def status(context: typer.Context, number: int) -> int:
    """End with a status."""
    settings = Settings.of(context)
    warn(f"{settings.root} {settings.lock_wait_s} {settings.zone} {settings.now_ms > 0}")
    return number


def fail(session: SessionArg, json: JsonOption = False) -> None:
    """Raise the error that is named."""
    from pathlib import Path

    errors: dict[str, BaseException] = {
        "ambiguous": AmbiguousError("'a' fits 2 sessions", ["a1", "a\x1b2"], hint="Write more."),
        "busy": Busy(Path("a/.lock"), 10.0),
        "damaged": DamageError("log 'main', line 3: \x1b[2Jno JSON"),
        "missing": FileNotFoundError(2, "No such file or directory", "there"),
        "denied": PermissionError(13, "Permission denied", "there"),
        "bug": KeyError("place"),
        "memory": MemoryError(),
        "recursion": RecursionError("too deep"),
        "interrupt": KeyboardInterrupt(),
        "abort": typer.Abort(),
        "pipe": BrokenPipeError(32, "Broken pipe"),
        "fifo": BrokenPipeError(32, "Broken pipe", "there/fifo"),
        "parameter": typer.BadParameter("not that"),
        "exit": typer.Exit(1),
        "leave": SystemExit(5),
        "words": SystemExit("words"),
        "leave-quietly": SystemExit(),
    }
    raise errors[session]
