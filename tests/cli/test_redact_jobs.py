"""`redact --jobs`: what fails in another process is told as it is without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.secrets import engine
from tests.cli.running import header, join, run, said, write
from tests.secrets_made import StandIn, token

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


def test_a_damaged_log_is_told_with_its_hint_and_kind(root: Path) -> None:
    told = []
    for jobs in ("1", "2"):
        for name in ("one", "two"):
            cut = b'{"seq":2,"' if name == "one" else said(2, "x")
            lines = [header(), said(1, f"use {token()}"), cut, said(3, "y")]
            write(root, name, "main", join(lines))
        done = run("redact", "--all", "--yes", "--force", "--json", "--jobs", jobs)
        errors = [each["error"] for each in done.objects if each.get("error")]
        told.append((done.status, errors))

    assert told[0] == told[1]
    assert "--damaged as-text" in str(told[0])
