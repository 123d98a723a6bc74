"""A disk on which nothing more has room: what was there stays, and goes on when there is room."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from agentmem_cli.session.reader import read_session
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import ok, tree

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.name == "nt", reason="there is no such limit there"),
]

PROJECT = Path(__file__).resolve().parents[2]
TEXT = b"word " * 2_000


def _within(room: int, *words: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run a command that may make no file larger than *room* bytes."""
    return subprocess.run(
        [sys.executable, "-m", "agentmem_cli", *words],
        input=stdin,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
        timeout=50,
        check=False,
    )


def test_when_there_is_no_room_nothing_is_lost_and_the_next_append_works(root: Path) -> None:
    ok("new", "one")
    for number in range(8):
        ok("append", "one", "--role", "user" if number % 2 else "assistant", stdin=TEXT)
    log = root / "one/logs/main.jsonl"
    before = tree(root / "one")
    room = log.stat().st_size + 100

    told = [
        _within(room, "append", "one", "--role", "user", stdin=TEXT),
        _within(room, "compact", "one", "--keep", "1", "--summary-file", "-", stdin=TEXT[:5_000]),
        _within(room // 2, "rewrite", "one", "--yes", "--replace-file", "-", stdin=b"word ==> w2"),
    ]

    for done in told:
        assert done.returncode == 2, done
        assert b"File too large" in done.stderr
        assert str(root / "one").encode() in done.stderr
    after = tree(root / "one")
    assert {name: data for name, (*_, data) in after.items()} == {
        name: data for name, (*_, data) in before.items()
    }
    ok("append", "one", "--role", "user", stdin=TEXT)
    assert len(read_session(DirStore.open(root / "one")).agents[0].conversation.entries) == 9
    assert ok("verify", "one", "--json").object["problems"] == 0
