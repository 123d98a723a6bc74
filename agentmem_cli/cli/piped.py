"""A source of an import that comes through a pipe: it is kept in a private file meanwhile."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentmem_cli.cli.output import talk
from agentmem_cli.errors import AgentMemError, UsageError
from agentmem_cli.limits import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.operations.imports.report import Outcome

STANDARD: Final = Path("-")
CALLED: Final = Path("standard input")
_NAME: Final = "stdin.jsonl"
"""What it is called in the session; which kind it is of is told by what stands in it."""


@contextmanager
def spooled(sources: Sequence[Path], *, watch: bool = False) -> Iterator[list[Path]]:
    """Give the sources, standard input as a file that only we may read, and that goes again.

    Raises:
        UsageError: It is named twice, or watched.
        OSError: It cannot be read, or there is no room for it.
    """
    if STANDARD not in sources:
        yield [*sources]
        return
    if list(sources).count(STANDARD) > 1:
        raise UsageError("standard input is named twice")
    if watch:
        raise UsageError("--watch looks again and again, and standard input comes once")
    import tempfile

    with tempfile.TemporaryDirectory(prefix="agentmem-import-") as folder:
        path = Path(folder).resolve() / _NAME
        _spool(path)
        yield [path if each == STANDARD else each for each in sources]


def _spool(path: Path) -> None:
    if sys.stdin.isatty():
        talk("Reading standard input; end it with Ctrl-D.")
    path.touch(mode=0o600)
    with path.open("wb") as file:
        while chunk := sys.stdin.buffer.read(CHUNK_BYTES):
            file.write(chunk)


def named(outcome: Outcome) -> Outcome:
    """Return what became of a source, with standard input called so."""
    path, error = outcome.source, outcome.error
    if path.name != _NAME or not path.parent.name.startswith("agentmem-import-"):
        return outcome
    if isinstance(error, AgentMemError) and error.args:
        error.args = (str(error.args[0]).replace(str(path), str(CALLED)), *error.args[1:])
    report = outcome.report and replace(outcome.report, source=CALLED)
    return replace(outcome, source=CALLED, report=report)
