"""The sign of life: shown after a second of silence, gone before anything else is printed."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem_cli._entry import main
from agentmem_cli.cli import waiting
from agentmem_cli.cli.settings import Settings
from agentmem_cli.cli.waiting import Waiting
from agentmem_cli.storage.watching import WATCH
from tests.cli.running import join, turns, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLEAR = "\r\x1b[K"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A clock that stands until it is set."""
    now = [100.0]
    monkeypatch.setattr(waiting, "monotonic", lambda: now[0])

    def later(seconds: float) -> None:
        now[0] += seconds

    return later


def test_nothing_is_shown_in_the_first_second(clock: Callable[[float], None]) -> None:
    shown = io.StringIO()
    sign = Waiting(shown)

    clock(0.9)
    sign.read(10**8, 0)
    sign.clear()

    assert shown.getvalue() == ""


def test_what_was_read_is_shown_ten_times_a_second_and_taken_away(
    clock: Callable[[float], None],
) -> None:
    shown = io.StringIO()
    sign = Waiting(shown)
    for _ in range(10):
        clock(0.26)
        for _ in range(1_000):
            sign.read(1_000, 1)
    sign.clear()
    sign.clear()

    told = shown.getvalue().split(CLEAR)
    assert told[1] == "reading: 3,001 sessions, 3.0 MB"
    assert len(told) == 9
    assert told[-1] == ""


def test_after_something_was_printed_the_silence_begins_anew(
    clock: Callable[[float], None],
) -> None:
    shown = io.StringIO()
    sign = Waiting(shown)
    clock(5)
    sign.clear()

    clock(0.9)
    sign.read(10**8, 0)

    assert shown.getvalue() == ""


def test_a_bar_of_its_own_is_shown_alone(clock: Callable[[float], None]) -> None:
    shown = io.StringIO()
    sign = Waiting(shown)

    with sign.hold():
        clock(5)
        sign.read(10**8, 0)

    assert shown.getvalue() == ""


def test_a_terminal_that_has_gone_ends_nothing(clock: Callable[[float], None]) -> None:
    shown = io.StringIO()
    sign = Waiting(shown)
    shown.close()
    clock(5)

    sign.read(10**8, 0)
    sign.clear()

    assert shown.closed


class _Terminal(io.TextIOWrapper):
    """A terminal that nobody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("show", "one"),
        ("log", "one"),
        ("as-of", "one", "now"),
        ("diff", "one", "start"),
        ("grep", "zzz"),
        ("verify",),
        ("export", "one", "--as", "jsonl"),
        ("export", "one", "--as", "messages"),
        ("undo", "one"),
        ("compact", "one", "--dry-run"),
        ("clear", "one", "--dry-run"),
        ("restore", "one", "start"),
        ("splice", "one", "0:1"),
        ("fork", "one"),
        ("meta", "refresh", "one"),
        ("value", "list", "one"),
        ("core", "history", "one", "--agent", "main"),
        ("blobs", "one"),
    ],
)
def test_every_command_that_reads_much_shows_that_it_does(
    root: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    write(root, "one", "main", join(turns(4)))
    monkeypatch.setattr(waiting, "AFTER_S", 0)
    monkeypatch.setattr("agentmem_cli.cli.render.BAR_AFTER_S", 0)
    monkeypatch.setenv("TERM", "xterm")
    held = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", _Terminal(held, "utf-8", write_through=True))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))

    main([*words])

    told = held.getvalue().decode()
    assert "reading: " in told or "━" in told
    assert WATCH.tell is None


@pytest.mark.parametrize("term", ["", "dumb"])
def test_a_terminal_without_escapes_gets_none(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    waiting.begin({"TERM": term})

    assert WATCH.tell is None
    assert Settings(environ={"TERM": term}).colour is False


def test_where_nobody_looks_on_nothing_is_counted(root: Path) -> None:
    write(root, "one", "main", join(turns(1)))

    main(["list"])

    assert WATCH.tell is None
