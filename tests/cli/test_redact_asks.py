"""`redact` and `remap` where a person can answer, on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import header, join, record, said, write

PROJECT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.e2e

_MOVES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def answered(root: Path, answer: str, *words: str) -> tuple[int, str]:
    """Run a command whose input, output and errors are a terminal on which *answer* is typed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "agentmem_cli", "--root", str(root), *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "TERM": "xterm", "PAGER": "cat"},
    ) as running:
        os.close(theirs)
        told, asked = b"", False
        while True:
            try:
                data = os.read(ours, 65_536)
            except OSError:
                break
            if not data:
                break
            told += data
            if b"[y/N]" in told and not asked:
                asked = True
                os.write(ours, answer.encode() + b"\n")
        running.wait(timeout=50)
    os.close(ours)
    return running.returncode, _MOVES.sub("", told.decode(errors="replace"))


@pytest.fixture
def log(root: Path) -> Path:
    cwd = record(1, "state", key="agentmem.cwd", value="/old/place")
    path = write(root, "one", "main", join([header(), cwd, said(2, "Rosebud-77 it was")]))
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return path


def redact(root: Path, tmp_path: Path, answer: str) -> tuple[int, str]:
    values = tmp_path / "values"
    values.write_text("Rosebud-77\n")
    return answered(root, answer, "redact", "one", "--no-rules", "--literals", str(values))


def test_the_plan_is_shown_and_a_no_changes_nothing(log: Path, root: Path, tmp_path: Path) -> None:
    before = log.read_bytes()

    status, told = redact(root, tmp_path, "n")

    assert status == 1
    assert "literal" in told
    assert "cannot be undone" in told
    assert "Nothing was changed" in told
    assert log.read_bytes() == before
    assert "Rosebud" not in told


def test_a_yes_masks(log: Path, root: Path, tmp_path: Path) -> None:
    status, told = redact(root, tmp_path, "y")

    assert status == 0
    assert "proven" in told
    assert b"Rosebud" not in log.read_bytes()


@pytest.mark.parametrize(("answer", "status"), [("n", 1), ("y", 0)])
def test_remap_asks_likewise(log: Path, root: Path, answer: str, status: int) -> None:
    done, told = answered(root, answer, "remap", "/old/place=/new/place", "one")

    assert done == status
    assert "1 string in 1 record" in told
    assert (b"/new/place" in log.read_bytes()) == (answer == "y")
