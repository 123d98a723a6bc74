from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem_cli.cli.output import Output, Paged
from agentmem_cli.cli.settings import Settings

if TYPE_CHECKING:
    import pytest


class Terminal:
    """A stream that says it is a terminal."""

    def __init__(self) -> None:
        self.buffer = self

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        pass


def test_the_root_is_the_option_then_the_environment_then_the_users_folder() -> None:
    option = Settings(root=Path("/option"), environ={"AGENTMEM_ROOT": "/environment"})
    environment = Settings(environ={"AGENTMEM_ROOT": "/environment"})
    empty = Settings(environ={"AGENTMEM_ROOT": ""})

    assert option.root == Path("/option")
    assert environment.root == Path("/environment")
    assert empty.root.is_absolute()
    assert empty.root.name == "sessions"


def test_a_root_below_the_home_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    assert Settings(root=Path("~/mine"), environ={}).root == tmp_path / "mine"


def test_the_zone_is_the_machines_unless_utc_is_asked_for() -> None:
    assert Settings(environ={}).zone is None
    assert str(Settings(utc=True, environ={}).zone) == "UTC"


def test_the_time_of_a_run_is_read_once() -> None:
    settings = Settings(environ={})

    assert settings.now_ms > 1_700_000_000_000
    assert settings.now_ms is settings.now_ms


def test_off_a_terminal_nothing_is_cut_coloured_paged_or_asked() -> None:
    settings = Settings(environ={"TERM": "xterm", "PAGER": "less"})

    assert settings.columns is None
    assert settings.colour is False
    assert settings.talks is False
    assert settings.asks is False
    assert type(settings.output(paged=True)) is Output


def test_on_a_terminal_the_screen_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\n")
    pager.chmod(0o700)
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, Terminal())
    monkeypatch.setenv("COLUMNS", "77")
    environ = {"TERM": "xterm", "PAGER": str(pager)}

    settings = Settings(environ=environ)
    forbidden = Settings(environ=environ, no_pager=True, no_colour=True)

    assert settings.columns == 77
    assert settings.colour is True
    assert settings.talks is True
    assert settings.asks is True
    assert type(settings.output(paged=True)) is Paged
    assert type(settings.output()) is Output
    assert type(forbidden.output(paged=True)) is Output
    assert forbidden.colour is False


def test_streams_that_are_closed_are_no_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with Path("/dev/null").open() as closed:
        pass
    monkeypatch.setattr(sys, "stderr", closed)

    settings = Settings(environ={})

    assert settings.asks is False
    assert settings.talks is False
