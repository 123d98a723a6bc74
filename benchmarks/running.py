"""How a row of the table is made and run: its programs, their corpora, its bounds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.measure import Program

if TYPE_CHECKING:
    from collections.abc import Callable

HERE: Final = Path(__file__).resolve().parent
PROJECT: Final = HERE.parent


class Row(NamedTuple):
    """One line of the table."""

    name: str
    task: str
    against: str
    factor: float
    make: Callable[[Bench], Pair]
    with_startup: bool = True
    """Whether the start-up of ``import typer`` is added to the bound."""
    extra_s: float = 0.0
    """Seconds that are added to the bound besides."""
    peak_mb_max: int | None = None
    """Megabytes (millions of bytes) that the command may hold at its peak."""
    flat_against: str | None = None
    """A smaller row of the same task, whose peak this one must not leave behind."""


class Pair(NamedTuple):
    """A command and its yardstick, ready to run."""

    command: Program
    yardstick: Program


class Bench:
    """Where corpora lie, how large they are, and how commands are started."""

    def __init__(self, folder: Path, *, quick: bool, source: Path | None) -> None:
        """Keep the *folder* for corpora and the *source* transcript; *quick*: small ones."""
        self.folder = folder
        self.quick = quick
        self.source = source
        self._agentmem = _agentmem(folder)

    def corpus(self, kind: str, **sizes: int) -> tuple[Path, dict[str, str | int]]:
        """Make a corpus unless it is cached; give its folder and what it holds."""
        words = [kind]
        for name, size in sizes.items():
            words += [f"--{name}", str(size)]
        folder = self.folder / "-".join(word.lstrip("-") for word in words)
        if kind == "pi" and self.source is not None:
            words += ["--source", str(self.source)]
            folder = folder.with_name(folder.name + "-given")
        made = [sys.executable, "-m", "benchmarks.make_corpus", str(folder), *words]
        subprocess.run(made, check=True, env=environment())
        facts = json.loads((folder / "corpus.json").read_bytes())["facts"]
        return folder, facts

    def sized(self, full: int, quick: int) -> int:
        """Choose a size by whether this is a quick run."""
        return quick if self.quick else full

    def agentmem(self, *words: str, root: Path) -> Program:
        """Prepare an agentmem command on the sessions below *root*."""
        return Program([*self._agentmem, *words], environment(root))

    def empty_root(self) -> Path:
        """Give a folder without sessions."""
        root = self.folder / "empty"
        root.mkdir(parents=True, exist_ok=True)
        return root


def environment(root: Path | None = None) -> dict[str, str]:
    """Give the environment that each measured program gets."""
    found = {**os.environ, "PYTHONPATH": str(PROJECT), "COLUMNS": "120", "TZ": "UTC"}
    for unwanted in ("PYTHONSTARTUP", "PYTHONDONTWRITEBYTECODE", "PYTHONPROFILEIMPORTTIME"):
        found.pop(unwanted, None)
    if root is not None:
        found["AGENTMEM_ROOT"] = str(root)
    return found


def python(*words: str) -> Program:
    """Prepare the interpreter that runs this program."""
    return Program([sys.executable, *words], environment())


def yardstick(name: str, *words: object) -> Program:
    """Prepare one of the small programs in yardsticks/."""
    script = HERE / "yardsticks" / f"{name}.py"
    return python(str(script), *(str(word) for word in words))


def _agentmem(folder: Path) -> list[str]:
    """Give the words that start agentmem: the installed program, or what pip would install."""
    installed = Path(sys.executable).with_name("agentmem")
    if installed.is_file():
        return [str(installed)]
    folder.mkdir(parents=True, exist_ok=True)
    launcher = folder / "agentmem.py"
    # Why `re`: the program that pip writes imports it, which --version pays for.
    launcher.write_text(
        "import re, sys\nfrom agentmem_cli._entry import command\n"
        "if __name__ == '__main__':\n    command()\n",
        encoding="utf-8",
    )
    return [sys.executable, str(launcher)]
