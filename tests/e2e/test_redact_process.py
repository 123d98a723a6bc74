"""`redact` and `scan` as processes, with the real detector: several, interrupted, killed."""

from __future__ import annotations

import json
import os
import random
import signal
import string
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.running import header, join, ok, run, said, write
from tests.cli.terminal import in_process

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PROJECT = Path(__file__).resolve().parents[2]


def drawn(seed: int, size: int) -> str:
    chosen = random.Random(seed)
    return "".join(chosen.choice(string.ascii_letters + string.digits) for _ in range(size))


def token(seed: int) -> str:
    """A GitHub token's form, drawn when the test runs."""
    return f"gh{'p'}_{drawn(seed, 36)}"


def two_logs(root: Path, name: str, secret: str, lines: int = 1) -> None:
    """A session in which one log says what a value is and another has it bare."""
    assigned = [said(n, f"export API_TOKEN={secret}") for n in range(1, lines + 1)]
    write(root, name, "main", join([header(), *assigned]))
    bare = [said(n, f"it printed {secret} twice", n=1000 + n) for n in range(1, lines + 1)]
    write(root, name, "aide", join([header("aide", n=1000), *bare]))


def everything(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_the_real_detector_masks_a_session_and_asks_no_network(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    secret, password = token(1), drawn(2, 18)
    two_logs(root, "one", password)
    write(root, "two", "main", join([header(), said(1, f"token {secret}")]))
    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)

    scanned = run("scan", "--all", "--json")
    done = run("redact", "--all", "--yes", "--force", "--json")

    assert scanned.status == 1
    assert done.status == 0
    assert secret.encode() not in everything(root)
    assert password.encode() not in everything(root)


def test_several_sessions_are_redacted_in_several_processes(root: Path) -> None:
    secrets = {f"s{number}": token(number) for number in range(4)}
    for name, secret in secrets.items():
        two_logs(root, name, secret)
    write(root, "bad", "main", join([header(), b"junk", said(2, token(9))]))

    words = ["--root", str(root), "redact", "--all", "--yes", "--force", "--json", "--jobs", "2"]
    status, out, err = in_process(words)

    objects = [json.loads(line) for line in out.splitlines()]
    changed = {each["session"] for each in objects if each["schema"] == "agentmem.redact/1"}
    failed = [each["session"] for each in objects if each["schema"] == "agentmem.failed/1"]
    left = everything(root)
    assert status == 5, err
    assert changed == set(secrets)
    assert failed == ["bad"]
    assert not any(secret.encode() in left for secret in secrets.values())
    assert not any(secret in out + err for secret in secrets.values())


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="it is seen in /proc alone")
def test_no_value_stands_in_the_words_of_any_process(root: Path, tmp_path: Path) -> None:
    secret = drawn(4, 20)
    for name in ("a", "b"):
        two_logs(root, name, secret, lines=400)
    values = tmp_path / "values"
    values.write_text(secret)
    words = ["redact", "--all", "--yes", "--force", "--jobs", "2", "--literals", str(values)]
    seen = b""

    with started(root, words) as running:
        while running.poll() is None:
            seen += b"".join(_words_of_processes())
            seen += b"\n".join(str(path).encode() for path in tmp_path.rglob("*"))
            time.sleep(0.02)

    assert running.returncode == 0
    assert b"agentmem_cli" in seen
    assert secret.encode() not in seen


def _words_of_processes() -> list[bytes]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes())
        except OSError:
            continue
    return found


def started(root: Path, words: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "agentmem_cli", "--root", str(root), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )


STEPS = """
import os, signal, sys
count, stop, how = 0, int(sys.argv[1]), getattr(signal, sys.argv[2])

def counted(name):
    real = getattr(os, name)
    def call(*args, **kwargs):
        global count
        count += 1
        if count == stop:
            os.kill(os.getpid(), how)
        return real(*args, **kwargs)
    setattr(os, name, call)

for each in ("replace", "fsync", "unlink", "write", "ftruncate", "mkdir"):
    counted(each)
from agentmem_cli._entry import main
status = main(sys.argv[3:])
sys.stderr.write(f"steps={count}\\n")
sys.exit(status)
"""
"""Runs a command and sends itself a signal at the n-th call that changes the disk."""


REDACT = ("redact", "one", "--yes", "--force", "--no-rules", "--regexes", "-")


def stopped(root: Path, step: int, how: str, words: tuple[str, ...] = REDACT) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", STEPS, str(step), how, "--root", str(root), *words],
        input=b"(?<=API_TOKEN=)\\w+",
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        timeout=50,
        check=False,
    )
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_stopped_at_any_step_nothing_is_left_or_nothing_was_done(
    root: Path, tmp_path: Path, how: str
) -> None:
    secret = drawn(11, 24)
    two_logs(tmp_path / "first", "one", secret)
    _, told = stopped(tmp_path / "first", 0, how)
    steps = int(told.rpartition("steps=")[2])
    ends = {"old": 0, "new": 0}
    for step in range(1, steps + 1):
        place = tmp_path / f"at{step}"
        two_logs(place, "one", secret)

        stopped(place, step, how)
        # The next command that takes the lock: an append by another hand.
        ok("--root", place, "append", "one", "--agent", "main", "--role", "user", stdin=b"next")

        data = everything(place / "one")
        logs = [(place / "one/logs" / f"{name}.jsonl").read_bytes() for name in ("main", "aide")]
        masked = [b"[REDACTED:pattern" in log for log in logs]
        assert masked in ([True, True], [False, False]), step
        assert (secret.encode() in data) == (not masked[0]), step
        assert b"next" in logs[0], step
        ends["new" if masked[0] else "old"] += 1

    assert steps > 5
    assert ends["old"] > 0
    assert ends["new"] > 0


def test_a_redaction_that_is_killed_can_be_done_again(root: Path) -> None:
    secret = drawn(12, 24)
    two_logs(root, "one", secret)

    stopped(root, 6, "SIGKILL")
    stopped(root, 10_000, "SIGKILL")

    assert secret.encode() not in everything(root)
    assert ok("verify", "one", "--json").object["problems"] in (0, 1)


def test_ctrl_c_during_a_run_of_several_processes_leaves_whole_sessions(root: Path) -> None:
    secrets = {f"s{number}": token(20 + number) for number in range(6)}
    for name, secret in secrets.items():
        two_logs(root, name, secret, lines=2_000)

    with started(root, ["redact", "--all", "--yes", "--force", "--jobs", "2"]) as running:
        time.sleep(2.5)
        running.send_signal(signal.SIGINT)
        running.wait(timeout=40)
    for name in secrets:
        ok("append", name, "--role", "user", "--agent", "aide", stdin=b"next")

    for name, secret in secrets.items():
        logs = [(root / name / "logs" / f"{log}.jsonl").read_bytes() for log in ("main", "aide")]
        assert len({secret.encode() in log for log in logs}) == 1, name
    assert running.returncode in (0, 130)


TWICE = """
import os, signal, sys
from agentmem_cli.operations.secrets.crew import Crew
real = Crew._received

def received(self, pipe):
    outcome = real(self, pipe)
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    return outcome

Crew._received = received
from agentmem_cli._entry import command
command()
"""
"""Runs a command that is interrupted twice at once when the first session is done."""


def test_two_interrupts_end_at_once_and_what_was_changed_is_told(
    root: Path, tmp_path: Path
) -> None:
    secret = drawn(31, 24)
    names = [f"s{number}" for number in range(4)]
    for name in names:
        two_logs(root, name, secret, lines=200)
    receipt = tmp_path / "receipt"
    words = ["redact", "--all", "--yes", "--force", "--no-rules", "--regexes", "-", "--jobs", "2"]

    done = subprocess.run(
        [sys.executable, "-c", TWICE, "--root", str(root), *words, "--receipt", str(receipt)],
        input=b"(?<=API_TOKEN=)\\w+",
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        timeout=20,
        check=False,
    )

    told = (done.stdout + done.stderr).decode()
    masked = {name for name in names if secret.encode() not in everything(root / name)}
    says = {line.partition(":")[0] for line in told.splitlines() if _says_masked(line)}
    assert done.returncode == 130
    assert "Traceback" not in told
    assert "Exception ignored" not in told
    assert says == masked
    assert f"Ended early: {len(masked)} of 4 sessions changed" in told
    assert json.loads(receipt.read_bytes())["stopped"] is not None


def _says_masked(line: str) -> bool:
    return "masks (" in line or line.endswith("it is masked")


def test_an_agent_whose_rename_is_killed_has_the_old_name_or_the_new(tmp_path: Path) -> None:
    words = ("rename", "one", "--agent", "aide=helper", "--force")
    two_logs(tmp_path / "first", "one", "x")
    _, told = stopped(tmp_path / "first", 0, "SIGKILL", words)
    names = []
    for step in range(1, int(told.rpartition("steps=")[2]) + 1):
        place = tmp_path / f"at{step}"
        two_logs(place, "one", "x")

        stopped(place, step, "SIGKILL", words)
        ok("--root", place, "append", "one", "--agent", "main", "--role", "user", stdin=b"next")

        logs = {path.stem for path in (place / "one/logs").iterdir()}
        assert logs in ({"main", "aide"}, {"main", "helper"}), step
        other = (logs - {"main"}).pop()
        first = (place / "one/logs" / f"{other}.jsonl").read_bytes().partition(b"\n")[0]
        assert f'"log":"{other}"'.encode() in first, step
        names.append(other)

    assert set(names) == {"aide", "helper"}


@pytest.mark.parametrize("command", [("scan", "one"), ("redact", "one", "--yes", "--force")])
def test_an_expression_that_takes_for_ever_is_ended_by_a_signal(
    root: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    write(root, "one", "main", join([header(), said(1, "a" * 60 + "!")]))
    (tmp_path / "expressions").write_text("(a+)+$\n")
    words = (*command, "--no-rules", "--regexes", str(tmp_path / "expressions"))
    with subprocess.Popen(
        [sys.executable, "-m", "agentmem_cli", *words],
        env={**os.environ, "AGENTMEM_ROOT": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                running.wait(1)
            running.send_signal(signal.SIGTERM)
            status = running.wait(20)
        finally:
            running.kill()
        assert running.stderr is not None
        told = running.stderr.read()

    assert status == 130
    assert b"interrupted" in told
