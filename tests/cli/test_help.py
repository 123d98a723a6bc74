"""The help: drawn on a terminal, plain everywhere else."""

from __future__ import annotations

import re

import pytest

from agentmem_cli.cli import helped, render
from agentmem_cli.cli.tree import Told, commands
from tests.cli.running import ok
from tests.cli.terminal import on_terminal


def words_of(text: str) -> set[str]:
    return set(re.findall(r"[^\s│╭╮╰╯─]+", text))


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.name or "agentmem")
def test_a_drawn_help_says_what_the_plain_one_says(
    command: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = ok(*command.path, "--help").out
    monkeypatch.setattr(helped, "is_drawn", lambda: True)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(render, "HELP_COLUMNS_MAX", 300)

    drawn = ok(*command.path, "--help").out

    headings = {f"{word}:" for word in words_of(drawn)} | {"Usage:"}
    assert words_of(plain) - words_of(drawn) <= headings
    assert drawn.startswith("Usage: agentmem")
    assert "╭─ Options " in drawn
    assert "╭" not in plain


def test_on_a_terminal_it_is_drawn_and_fits() -> None:
    lines = on_terminal(["show", "--help"], columns=40, rows=100)

    assert any(line.startswith("╭─ Options") for line in lines)
    assert max(map(len, lines)) <= 40


@pytest.mark.parametrize(("term", "encoding"), [("dumb", "utf-8"), ("xterm", "ascii")])
def test_a_terminal_that_shows_no_boxes_gets_it_plain(term: str, encoding: str) -> None:
    lines = on_terminal(["value", "--help"], columns=80, TERM=term, PYTHONIOENCODING=encoding)

    assert "Options:" in lines
    assert "\n".join(lines).isascii()


def test_it_is_in_colour_unless_that_is_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(*, coloured: bool) -> str:
        return render.drawn_help("a b", ["One [x].\n\n\b\nkept  so"], [], coloured=coloured)

    monkeypatch.setenv("TERM", "xterm")
    usual, forbidden = drawn(coloured=True), drawn(coloured=False)
    monkeypatch.setenv("NO_COLOR", "1")

    assert "\x1b[33m" in usual
    assert "\x1b[33m" not in forbidden + drawn(coloured=True)
    assert "One [x]." in usual
    assert "kept  so" in usual


def test_what_is_told_in_brackets_is_no_markup() -> None:
    told = render.drawn_help(
        "a [OPTIONS]", [], [("Box [b]", [("[SESSION]...", "[red]")])], coloured=False
    )

    assert {"[OPTIONS]", "[b]", "[SESSION]...", "[red]"} <= words_of(
        re.sub(r"\x1b\[[0-9;]*m", "", told)
    )
