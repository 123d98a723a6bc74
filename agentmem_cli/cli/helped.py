"""Help on a terminal: drawn by rich; everywhere else it stays the plain text that Typer writes."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    # Typer's copy of Click has no public names for these.
    from typer._click import Command
    from typer._click.formatting import HelpFormatter
else:
    HelpFormatter = typer.Context.formatter_class

Row = tuple[str, str]


class Section:
    """What stands below one heading of a help, or above all of them.

    Attributes:
        title: The heading; an empty text above the first one.
        rows: Words, and what is told about them.
    """

    def __init__(self, title: str) -> None:
        """Begin a section without rows."""
        self.title = title
        self.rows: list[Row] = []


class DrawnHelp(HelpFormatter):
    """Takes the parts of a help as Typer hands them in, and draws them in the end."""

    def __init__(self, **sizes: Any) -> None:  # noqa: ANN401 - as Typer gives them
        """Take the sizes, which rich finds out itself."""
        super().__init__(**sizes)
        self.usage = ""
        self.texts: list[str] = []
        self.sections = [Section("")]

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:  # noqa: ARG002 - Typer's hook
        """Keep how the command is called."""
        self.usage = f"{prog} {args}"

    def write_text(self, text: str) -> None:
        """Keep a text."""
        self.texts.append(text)

    def write_dl(self, rows: Sequence[Row], col_max: int = 30, col_spacing: int = 2) -> None:  # noqa: ARG002 - Typer's hook
        """Keep words and what is told about them."""
        self.sections[-1].rows += rows

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """Begin a section."""
        self.sections.append(Section(name))
        yield

    def getvalue(self) -> str:
        """Draw it all."""
        from agentmem_cli.cli.render import drawn_help

        boxes = [(each.title, each.rows) for each in self.sections if each.rows]
        return drawn_help(self.usage, self.texts, boxes, coloured="--no-color" not in sys.argv)


class HelpContext(typer.Context):
    """Context of a command, whose help is drawn where a person reads it."""

    def make_formatter(self) -> HelpFormatter:
        """Choose by where standard output goes."""
        return DrawnHelp() if is_drawn() else super().make_formatter()


def is_drawn() -> bool:
    """Whether standard output is a terminal that shows boxes."""
    if os.environ.get("TERM", "") in ("", "dumb") or sys.stdout is None:
        return False
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    return sys.stdout.isatty() and encoding == "utf8"


def with_drawn_help(command: Command) -> Command:
    """Let a command, and the commands in it, draw their help."""
    command.context_class = HelpContext
    inner = getattr(command, "commands", None)
    if isinstance(inner, dict):
        for each in inner.values():
            with_drawn_help(each)
    return command
