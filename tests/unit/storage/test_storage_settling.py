"""A log whose last line another program is writing: readers wait for the line's end."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.verify import PROBLEM, verify
from agentmem_cli.session.reader import read_session
from agentmem_cli.storage import settling
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import join, run, said, turns, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs flock")


@pytest.fixture
def session(root: Path) -> Path:
    write(root, "one", "main", join(turns(2)))
    return root / "one"


class Writing(threading.Thread):
    """Holds the session's lock, writes half a line and, after a while, the rest."""

    def __init__(self, session: Path, seconds: float) -> None:
        super().__init__()
        self.session = session
        self.seconds = seconds
        self.begun = threading.Event()
        self.over = threading.Event()

    def run(self) -> None:
        line = said(3, "text 3") + b"\n"
        with (
            DirStore.open(self.session).held(),
            (self.session / "logs/main.jsonl").open("ab") as log,
        ):
            log.write(line[:40])
            log.flush()
            self.begun.set()
            self.over.wait(self.seconds)
            log.write(line[40:])

    def __enter__(self) -> Writing:
        self.start()
        self.begun.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()


def test_a_reader_waits_for_the_end_of_a_line_that_is_being_written(session: Path) -> None:
    with Writing(session, 0.1):
        read = read_session(DirStore.open(session))

    assert len(read.agents[0].conversation) == 3
    assert not read.repairs


def test_what_a_stopped_program_left_is_not_waited_for(session: Path) -> None:
    path = session / "logs/main.jsonl"
    path.write_bytes(path.read_bytes() + b'{"seq":')
    begun = time.monotonic()

    with DirStore.open(session).open_log("main") as log:
        assert log.size == path.stat().st_size

    assert time.monotonic() - begun < settling.WAIT_S
    assert [each.kind for each in verify(DirStore.open(session)).findings][:1] == ["torn-tail"]


def test_a_line_that_takes_too_long_is_read_as_it_is_and_no_damage(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "WAIT_S", 0.01)
    with Writing(session, 60):
        found = verify(DirStore.open(session)).findings
        shown = run("verify", "one", "--json")

    assert [(each.level, each.kind) for each in found] == [("notice", "in-use")]
    assert shown.status == 0
    assert not [each for each in verify(DirStore.open(session)).findings if each.level == PROBLEM]


def test_who_holds_the_lock_waits_for_nobody(session: Path) -> None:
    path = session / "logs/main.jsonl"
    path.write_bytes(path.read_bytes() + b'{"seq":')
    store = DirStore.open(session)
    begun = time.monotonic()

    with store.held(), store.open_log("main") as log:
        assert not log.is_ended()

    assert time.monotonic() - begun < settling.WAIT_S
