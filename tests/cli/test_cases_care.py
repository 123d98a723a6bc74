"""What other programs, disks and names do to repair, gc, rm and prune: cases 10 to 13, 51, 52, 70.

The numbers are those of `test_cases`; each test says what is right by itself.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, ok, run, said, tree, turns, write
from tests.cli.terminal import PROJECT
from tests.cli.test_gc import blob

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CARE = {
    "repair": ("repair", "one", "--force"),
    "gc": ("gc", "one", "--yes", "--force"),
    "rm": ("rm", "one", "--yes", "--force"),
    "prune": ("prune", "--older", "1d", "--yes", "--force"),
}
MENDING = ("repair", "gc")
REMOVING = ("rm", "prune")
LINE = said(6, "added by another program", id_=5, t=1_767_225_700_000)

posix = pytest.mark.skipif(os.name == "nt", reason="there is no flock there")


def _session(root: Path, name: str = "one") -> Path:
    """Write a session with something for each of the commands to do; return its log."""
    lines = turns(5)
    log = write(root, name, "main", join([*lines[:3], b"junk", *lines[3:]]))
    if name == "one":
        blob(root, b"nobody names it")
    return log


def _mended(root: Path) -> Path:
    """Write one that gc takes, since nothing in it is damaged."""
    log = write(root, "one", "main", join(turns(5)))
    for data in (b"nobody names it", b"nor this"):
        blob(root, data)
    return log


def _begin(root: Path, command: str) -> Path:
    return _mended(root) if command == "gc" else _session(root)


# -- 10: somebody appends meanwhile -------------------------------------------------------------


@pytest.mark.parametrize("command", MENDING)
def test_case_10_what_a_program_without_the_lock_adds_at_any_moment_is_there_afterwards(
    root: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open
    at = hit = 0
    statuses: set[int] = set()
    wrong: list[str] = []
    while hit == at:
        at += 11
        count = 0
        for path in sorted(root.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        log = _begin(root, command)

        def opening(*words: object, **named: object) -> int:
            nonlocal count, hit
            count += 1
            if count == at:  # noqa: B023 - used within the round
                hit = at  # noqa: B023
                descriptor = real(log, os.O_WRONLY | os.O_APPEND)  # noqa: B023
                os.write(descriptor, LINE + b"\n")
                os.close(descriptor)
            return real(*words, **named)  # type: ignore[arg-type]

        with monkeypatch.context() as patched:
            patched.setattr("os.open", opening)
            done = run(*CARE[command])
        statuses.add(done.status)
        if hit == at and LINE not in log.read_bytes():
            wrong.append(f"at {at}: it is gone ({done.status})")
        if done.status not in {0, 4}:
            wrong.append(f"at {at}: {done.status}, {done.err}")
        after = run(*CARE["repair"])
        if hit == at and "added by another program" not in run("show", "one").out:
            wrong.append(f"at {at}: a repair lost it: {after.out}")

    assert wrong == []
    assert 0 in statuses
    assert at > 44


APPEND = """
import sys
from agentmem_cli._entry import main
print("begun", flush=True)
sys.exit(main(["--lock-wait", "30", "append", "one", "--role", "assistant"]))
"""


@posix
@pytest.mark.parametrize("command", CARE)
def test_case_10_a_program_that_takes_the_lock_waits_and_its_record_is_not_lost(
    root: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _begin(root, command)
    real = os.replace
    running: list[subprocess.Popen[bytes]] = []

    def moving(*words: object, **named: object) -> None:
        if not running:
            environ = {**os.environ, "PYTHONPATH": str(PROJECT)}
            program = [sys.executable, "-c", APPEND]
            # Closed by communicate, behind the command.
            other = subprocess.Popen(
                program,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environ,
            )
            running.append(other)
            assert other.stdout is not None
            assert other.stdout.readline() == b"begun\n"
        real(*words, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(f"os.{real.__name__}", moving)
        done = run(*CARE[command])
    (other,) = running
    _, told = other.communicate(b"what comes next", 30)

    assert done.status == 0
    if command in MENDING:
        assert other.returncode == 0, told
        assert ok("verify", "one", "--json").object["problems"] == 0
        assert "what comes next" in ok("show", "one").out
    else:
        # It is told that the session is gone, or was there in time to begin it anew: no record
        # is acknowledged and not there.
        there = "what comes next" in run("show", "one").out
        assert (other.returncode == 0) == there


@pytest.mark.parametrize("command", MENDING)
def test_case_10_two_at_once_use_no_name_twice(
    root: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _begin(root, command)
    parts: list[str] = []
    real = os.open

    def opening(path: str, flags: int, *words: int, **named: int) -> int:
        if flags & os.O_CREAT and str(path).endswith(".rig-part"):
            parts.append(str(path))
        return real(path, flags, *words, **named)

    monkeypatch.setattr("os.open", opening)
    for _ in range(2):
        for path in sorted(root.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        _begin(root, command)
        ok(*CARE[command])

    assert parts
    assert len(parts) == len({*parts})


# -- 12: a lock that cannot be taken ---------------------------------------------------------


REFUSALS = {
    "ENOLCK": (OSError(errno.ENOLCK, "No locks available"), 2, "no file locks"),
    "EOPNOTSUPP": (OSError(errno.EOPNOTSUPP, "Operation not supported"), 2, "no file locks"),
    "EPERM": (PermissionError(errno.EPERM, "Operation not permitted"), 2, "cannot be taken"),
    "EACCES": (PermissionError(errno.EACCES, "Permission denied"), 4, "locked"),
}


@posix
@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("command", CARE)
def test_case_12_without_a_lock_nothing_is_changed_and_everything_is_shown(
    root: Path, command: str, refusal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error, status, told = REFUSALS[refusal]
    _begin(root, command)
    ok("meta", "refresh", "one")
    before = tree(root)

    def refused(*_: object) -> None:
        raise error

    monkeypatch.setattr("fcntl.flock", refused)
    done = run("--lock-wait", "0.02", *CARE[command])
    planned = run(*[word for word in CARE[command] if word != "--yes"], "--dry-run")
    shown = ok("show", "one")

    assert done.status == status
    assert ".rig-memory.lock" in done.err
    assert told in done.err
    assert tree(root) == before
    assert planned.status == 0
    assert "text 5" in shown.out


@posix
@pytest.mark.parametrize("owner", [b"999999999\n", b"1@another-host\n", b'{"pid":1,"host":"b"}'])
@pytest.mark.parametrize("command", CARE)
def test_case_12_what_a_lock_file_says_of_an_owner_is_neither_believed_nor_touched(
    root: Path, command: str, owner: bytes
) -> None:
    _begin(root, command)
    lock = root / "one" / ".rig-memory.lock"
    lock.write_bytes(owner)
    lock.chmod(0o600)

    done = run(*CARE[command])

    assert done.status == 0
    if command in MENDING:
        assert lock.read_bytes() == owner
    else:
        assert not (root / "one").exists()


# -- 13: a rename that is refused while any program has the file open ---------------------------


@pytest.fixture
def refusals(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[float]]:
    """Refuse the next renames, as Windows does; return how long was waited between them."""

    def begin(count: int) -> list[float]:
        left = [count]
        waits: list[float] = []

        def refusing(real: Callable[..., None]) -> Callable[..., None]:
            def rename(*words: object, **named: object) -> None:
                if left[0]:
                    left[0] -= 1
                    waits.append(0)
                    raise PermissionError(errno.EACCES, "in use by another program")
                real(*words, **named)

            return rename

        for name in ("replace", "rename"):
            monkeypatch.setattr(f"os.{name}", refusing(getattr(os, name)))
        return waits

    monkeypatch.setattr("agentmem_cli.storage.files.RETRY_WAITS_S", (0.001,) * 5)
    return begin


@pytest.mark.parametrize("command", CARE)
def test_case_13_a_refusal_that_passes_is_waited_out(
    root: Path, command: str, refusals: Callable[[int], list[float]]
) -> None:
    _begin(root, command)
    waits = refusals(3)

    done = run(*CARE[command])

    assert done.status == 0
    assert len(waits) == 3
    if command in MENDING:
        assert ok("verify", "one", "--json").object["problems"] == 0
    else:
        assert list(root.iterdir()) == []


@pytest.mark.parametrize("command", CARE)
def test_case_13_a_refusal_that_stays_leaves_all_as_it_was(
    root: Path,
    command: str,
    refusals: Callable[[int], list[float]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _begin(root, command)
    ok("meta", "refresh", "one")
    before = {name: seen[3] for name, seen in tree(root).items()}
    refusals(1_000_000)

    done = run(*CARE[command])
    after = {name: seen[3] for name, seen in tree(root).items()}
    monkeypatch.undo()

    assert done.status == 2
    assert "in use by another program" in done.err
    assert after == before


@pytest.mark.parametrize("what", ["link", "folder"])
def test_case_13_a_place_that_cannot_be_cleared_at_once_is_cleared_a_little_later(
    root: Path, what: str, refusals: Callable[[int], list[float]]
) -> None:
    _session(root)
    place = root / "one" / "files" / "meta.json"
    if what == "link":
        place.symlink_to("elsewhere")
    else:
        place.mkdir(mode=0o700)
    waits = refusals(3)

    done = run(*CARE["repair"])

    assert done.status == 0
    assert len(waits) == 3
    assert place.is_file()


# -- 51: names that differ in case alone ----------------------------------------------------


def test_case_51_agents_and_sessions_of_one_name_but_its_case_are_mended_each_by_itself(
    root: Path,
) -> None:
    for session in ("one", "One"):
        for log in ("alpha", "Alpha"):
            write(root, session, log, join([header(log), said(1, f"{session} {log}")]) + b"torn")
    logs = sorted(root.rglob("*.jsonl"))
    if len(logs) != 4:  # a disk without case: what is there is one session of one agent
        assert len(logs) == 1
        return

    ok("repair", "--all", "--force")
    ok("gc", "--all", "--yes", "--force")
    texts = [ok("show", path.parts[-3], "--agent", path.stem).out for path in logs]
    ok("rm", "One", "--yes", "--force")

    assert [
        f"{path.parts[-3]} {path.stem}" in text for path, text in zip(logs, texts, strict=True)
    ] == [True] * 4
    assert [path.name for path in root.iterdir()] == ["one"]
    kept = {path.name.partition("-")[0] for path in root.rglob("recovered/*")}
    assert kept == {"alpha", "Alpha"}


# -- 52: names that no disk likes --------------------------------------------------------------


@pytest.mark.parametrize("how", ["repair", "append", "tighten", "redact"])
@pytest.mark.parametrize("name", ["NUL", "con.txt", "a:b", "x.", "..", "é" * 300, "a/b", "a\nb"])
def test_case_52_a_torn_log_of_any_agent_is_set_aside_and_mended(
    root: Path, name: str, how: str
) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", "--agent", name, stdin=b"hello")
    (log,) = (root / "one" / "logs").iterdir()
    log.write_bytes(log.read_bytes() + b'{"seq":2,"n":2')
    words: dict[str, tuple[str, ...]] = {
        "repair": ("repair", "one", "--force"),
        "append": ("append", "one", "--role", "assistant", "--agent", name),
        "tighten": ("repair", "one", "--force", "--tighten"),
        "redact": ("redact", "one", "--yes", "--force", "--no-rules", "--literals", "-"),
    }

    done = run(*words[how], stdin=b"hello")

    assert done.status == 0, done
    assert ok("verify", "one", "--json").object["problems"] == 0
    assert len(list((root / "one/files/recovered").iterdir())) == 1
    assert ok("gc", "one", "--yes", "--force", "--json").object["removed"] == []


@pytest.mark.parametrize("size", [200, 249])
@pytest.mark.parametrize("how", ["repair", "append"])
def test_case_52_the_longest_name_that_a_log_may_have_is_no_trouble(
    root: Path, size: int, how: str
) -> None:
    name = "x" * size
    write(root, "one", name, join([header(name), said(1, "hello")]) + b"torn")
    words = ("repair", "one", "--force") if how == "repair" else ("append", "one", "--role", "user")

    ok(*words, stdin=b"more")

    (kept,) = (root / "one/files/recovered").iterdir()
    assert kept.read_bytes() == b"torn"
    assert kept.name.startswith("x" * 180 + "-")
    assert ok("verify", "one", "--json").object["problems"] == 0


# -- 70: nothing goes that nobody asked for ------------------------------------------------


@pytest.mark.parametrize("command", MENDING)
def test_case_70_care_of_old_sessions_removes_none(root: Path, command: str) -> None:
    log = _begin(root, command)
    for path in root.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    texts = ok("show", "one").out

    ok(*CARE[command])

    assert log.exists()
    assert ok("show", "one").out.splitlines()[:4] == texts.splitlines()[:4]
    assert [row["id"] for row in ok("list", "--json").objects] == ["one"]
