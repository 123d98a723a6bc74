from __future__ import annotations

from typing import TYPE_CHECKING, cast

import typer

from agentmem_cli.cli import complete
from agentmem_cli.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path


def _context(words: list[str]) -> typer.Context:
    group = typer.main.get_command(app)
    context = group.make_context("agentmem", words, resilient_parsing=True)
    # Typer gives its functions the class that this one is made of.
    return cast("typer.Context", context)


def test_the_sessions_that_begin_so_are_offered(root: Path) -> None:
    for name in ("pi-2", "pi-1", "other", ".hidden", "pi-3.rig-trash", "pi-\x1b"):
        (root / name).mkdir(parents=True)
    (root / "pi-file").touch()

    assert complete.sessions(_context([]), "pi") == ["pi-1", "pi-2"]
    assert complete.sessions(_context([]), "") == ["@last", "other", "pi-1", "pi-2"]
    assert complete.sessions(_context([]), "@") == ["@last"]


def test_the_root_of_the_line_counts(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "mine").mkdir(parents=True)

    context = _context(["--root", str(tmp_path / "elsewhere"), "list"])

    assert complete.sessions(context, "m") == ["mine"]


def test_not_too_many_are_offered(root: Path) -> None:
    for number in range(250):
        (root / f"s{number}").mkdir(parents=True)

    assert len(complete.sessions(_context([]), "s")) == complete.OFFERED_MAX


def test_trouble_offers_nothing(root: Path) -> None:
    root.write_text("not a folder")

    assert complete.sessions(_context([]), "s") == []
    assert complete.sessions(_context(["--root", "a\0b", "list"]), "s") == []
