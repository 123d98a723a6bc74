"""Several programs on one session at once: ours, others that take the lock, others that do not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import Changed
from agentmem_cli.session.codec import loads_object
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import load, read_session
from agentmem_cli.session.writer import save
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import ok, run, said
from tests.e2e.crowd import check, run_crowd

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(os.name == "nt", reason="there is no flock there"),
]

PYTHON = """
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | (fcntl.LOCK_NB if sys.argv[2] == "try" else 0))
except BlockingIOError:
    print("busy", flush=True)
    sys.exit(1)
print("held", flush=True)
sys.stdin.readline()
"""
PERL = """
use Fcntl qw(:DEFAULT :flock);
$| = 1;
sysopen(my $lock, $ARGV[0], O_RDWR | O_CREAT, 0600) or die $!;
flock($lock, LOCK_EX | ($ARGV[1] eq "try" ? LOCK_NB : 0)) or do { print "busy\\n"; exit 1 };
print "held\\n";
<STDIN>;
"""
OTHERS = {
    "python": (sys.executable, "-c", PYTHON),
    "perl": (shutil.which("perl") or "", "-e", PERL),
}
FOUND = [name for name, words in OTHERS.items() if words[0]]


@pytest.fixture
def session(root: Path) -> Path:
    ok("new", "one")
    ok("append", "one", "--role", "user", "--agent", "main", stdin=b"first")
    return root / "one"


class Holder:
    """Another program that takes the session's lock by its own means."""

    def __init__(self, name: str, session: Path, how: str = "wait") -> None:
        self.running = subprocess.Popen(
            [*OTHERS[name], str(session / ".rig-memory.lock"), how],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Holder:
        return self

    def __exit__(self, *_: object) -> None:
        self.running.communicate(timeout=30)

    def told(self) -> bytes:
        assert self.running.stdout is not None
        return self.running.stdout.readline().strip()


@pytest.mark.slow
def test_what_nine_processes_were_told_is_done_is_there_once(tmp_path: Path) -> None:
    notes = run_crowd(tmp_path, 9, 3)
    counts = check(tmp_path, notes)

    assert sum(counts.values()) >= 9 * 3
    assert counts["read done"] == 2 * 3
    assert counts["append done"] + counts["append lost"] == 3 * 3


@pytest.mark.parametrize("other", FOUND)
def test_another_program_s_lock_is_waited_for_and_its_end_is_told(
    session: Path, other: str
) -> None:
    before = (session / "logs/main.jsonl").read_bytes()
    with Holder(other, session) as holder:
        assert holder.told() == b"held"
        refused = run("--lock-wait", "0.1", "append", "one", "--role", "user", stdin=b"no")
        shown = run("show", "one")

    done = run("--lock-wait", "5", "append", "one", "--role", "user", stdin=b"yes")
    after = (session / "logs/main.jsonl").read_bytes()
    assert refused.status == 4
    assert ".rig-memory.lock" in refused.err
    assert shown.status == 0
    assert done.status == 0
    assert after.startswith(before)
    assert b'"no"' not in after


@pytest.mark.parametrize("other", FOUND)
def test_another_program_waits_for_our_lock(session: Path, other: str) -> None:
    store = DirStore.open(session)
    with store.lock():
        with Holder(other, session, "try") as tries:
            told = tries.told()
        waits = Holder(other, session)
        store.append_log("more", 0, b"x\n")

    with waits as holder:
        assert holder.told() == b"held"
    assert told == b"busy"


@pytest.mark.parametrize("other", FOUND)
def test_what_a_program_at_work_has_not_put_away_yet_is_no_damage(
    session: Path, other: str
) -> None:
    part = session / "files/.agentmem-0123456789abcdef0123456789abcdef.rig-part"
    part.touch(0o600)
    (session / ".agentmem.redo").touch(0o600)
    with Holder(other, session) as holder:
        assert holder.told() == b"held"
        during = run("verify", "one", "--json")
    after = run("verify", "one", "--json")

    assert during.status == 0
    assert [found["kind"] for found in during.object["findings"]] == ["in-use"]
    assert after.status == 1
    assert "files/" + part.name in [found["where"] for found in after.object["findings"]]


def _add_unasked(session: Path) -> bytes:
    """Append a record as a program does that takes no lock; return its line."""
    path = session / "logs/main.jsonl"
    last = loads_object(path.read_bytes().splitlines()[-1])
    seq, n = last["seq"], last["n"]
    assert isinstance(seq, int)
    assert isinstance(n, int)
    line = said(seq + 1, "unasked", n=n + 1, id_=seq) + b"\n"
    with path.open("ab") as log:
        log.write(line)
    return line


def _redact(session: Path) -> int:
    words = ("redact", "one", "--yes", "--no-rules", "--literals", "-")
    return run(*words, stdin=b"first").status


def _append(session: Path) -> int:
    return run("append", "one", "--role", "assistant", stdin=b"ours").status


@pytest.mark.parametrize(("act", "status"), [(_redact, 4), (_append, 0)], ids=["redact", "append"])
def test_what_a_program_that_takes_no_lock_added_is_noticed_and_stays(
    session: Path, act: Callable[[Path], int], status: int
) -> None:
    line = _add_unasked(session)
    noticed = DirStore.open(session).written_by_others()

    assert act(session) == status
    assert noticed == ["main"]
    assert line in (session / "logs/main.jsonl").read_bytes()
    read_session(DirStore.open(session))


def test_a_value_that_does_not_know_what_was_added_unasked_is_not_saved(session: Path) -> None:
    store = DirStore.open(session)
    conversation = load(store, "main")
    line = _add_unasked(session)
    conversation.push(Message.user("stale"))

    with pytest.raises(Changed):
        save(store, "main", conversation)
    assert (session / "logs/main.jsonl").read_bytes().endswith(line)


def test_what_is_added_unasked_in_the_middle_of_a_change_refuses_the_change(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentmem_cli.storage.batch import DirBatch

    added: list[bytes] = []
    real = DirBatch.commit

    def overtaken(batch: DirBatch) -> None:
        if not added:
            added.append(_add_unasked(session))
        real(batch)

    monkeypatch.setattr(DirBatch, "commit", overtaken)
    before = (session / "logs/main.jsonl").read_bytes()

    assert _append(session) == 4
    assert (session / "logs/main.jsonl").read_bytes() == before + added[0]
    assert DirStore.open(session).leftovers() == []


def test_an_append_that_fails_cuts_off_nothing_that_another_program_added(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = DirStore.open(session)
    path = session / "logs/main.jsonl"
    before = path.read_bytes()
    real = os.fsync

    def overtaken(descriptor: int) -> None:
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            with path.open("ab") as log:
                log.write(b"unasked\n")
            raise OSError(5, "broken disk")
        real(descriptor)

    monkeypatch.setattr("os.fsync", overtaken)

    with pytest.raises(OSError, match="broken disk") as caught:
        store.append_log("main", len(before), b"ours\n")
    assert path.read_bytes() == before + b"ours\nunasked\n"
    assert "another program" in caught.value.__notes__[0]
