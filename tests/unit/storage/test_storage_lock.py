"""The session's lock, among threads, processes and other programs."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from agentmem_cli.errors import Busy, ConflictError, Io, LogChanged
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.files import make_folders
from agentmem_cli.storage.locks import lock_of
from agentmem_cli.storage.memory import MemoryStore
from agentmem_cli.storage.session_lock import SessionLock
from agentmem_cli.storage.store import batch_of
from tests.conformance import Interrupt

if TYPE_CHECKING:
    from pathlib import Path

LOCK = ".rig-memory.lock"

HOLD = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.readline()
"""

APPEND = """
import sys
from agentmem_cli.errors import ConflictError, LogChanged
from agentmem_cli.storage.directory import DirStore
store = DirStore.open(sys.argv[1])
made = 0
while made < int(sys.argv[3]):
    try:
        length = store.log_stat("a").size
    except FileNotFoundError:
        length = 0
    try:
        store.append_log("a", length, (sys.argv[2] * 199 + "\\n").encode())
        made += 1
    except LogChanged:
        pass
"""

posix = pytest.mark.skipif(os.name == "nt", reason="needs flock")


def holder(path: Path) -> subprocess.Popen[str]:
    """Start a program of someone else's that holds the lock with flock alone."""
    program = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "held\n"
    return program


@posix
def test_another_program_s_flock_keeps_us_out_until_it_lets_go(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s", lock_wait_s=0.05)
    store.append_log("a", 0, b"one\n")
    with holder(tmp_path / "s" / LOCK) as program:
        with pytest.raises(Busy) as caught:
            store.append_log("a", 4, b"two\n")
        read = store.read_log("a")
        program.communicate("\n")
    store.append_log("a", 4, b"three\n")

    assert caught.value.path.name == LOCK
    assert caught.value.waited_s == 0.05
    assert LOCK in str(caught.value)
    assert read == b"one\n"
    assert store.read_log("a") == b"one\nthree\n"


@posix
def test_a_flock_of_another_program_is_kept_out_by_ours(tmp_path: Path) -> None:
    import fcntl

    store = DirStore.open(tmp_path / "s")
    with store.batch() as batch:
        batch.append_log("a", 0, b"x")
        descriptor = os.open(tmp_path / "s" / LOCK, os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)

    assert store.read_log("a") == b"x"


def test_the_lock_is_re_entrant_over_all_handles_of_a_session(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "s")
    store = DirStore.open(tmp_path / "s", lock_wait_s=0)
    with store.lock(), DirStore.open(tmp_path / "link", lock_wait_s=0).lock():
        store.append_log("a", 0, b"x")
        with store.batch() as batch:
            batch.replace_log("a", 1, b"yz")
    store.append_log("a", 2, b"!")

    assert store.read_log("a") == b"yz!"
    assert lock_of(str(tmp_path / "s")).depth == 0


@pytest.mark.parametrize("kind", ["directory", "memory"])
def test_a_thread_waits_for_another_and_gives_up_in_time(tmp_path: Path, kind: str) -> None:
    store = DirStore.open(tmp_path / "s") if kind == "directory" else MemoryStore()
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with store.lock():
            inside.set()
            leave.wait()

    worker = threading.Thread(target=hold)
    worker.start()
    inside.wait()
    with pytest.raises(Busy), batch_of(store, wait_s=0.01) as batch:
        batch.append_log("a", 0, b"x")
    leave.set()
    with batch_of(store, wait_s=30) as batch:
        batch.append_log("a", 0, b"y")
    worker.join()

    assert store.read_log("a") == b"y"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOLCK, "No locks available"),
        OSError(errno.EOPNOTSUPP, "Operation not supported"),
        OSError(errno.ENOSYS, "Function not implemented"),
        PermissionError(errno.EPERM, "Operation not permitted"),
        PermissionError("no number"),
    ],
)
@pytest.mark.parametrize("begun", [False, True])
@posix
def test_where_the_lock_cannot_be_taken_nothing_is_written(
    tmp_path: Path, error: OSError, begun: bool
) -> None:
    store = DirStore.open(tmp_path / "s")
    if begun:
        (tmp_path / "s" / "logs").mkdir(parents=True)
        (tmp_path / "s" / "logs" / "a.jsonl").write_bytes(b"by another program\n")

    with patch("fcntl.flock", side_effect=error), pytest.raises(Io) as caught:
        store.append_log("a", 19 if begun else 0, b"x")
    assert LOCK in str(caught.value)
    assert caught.value.hint is not None
    assert caught.value.__cause__ is error
    if begun:
        assert store.read_log("a") == b"by another program\n"
        assert store.files() == []
    else:
        assert not (tmp_path / "s").exists()


@posix
def test_a_lock_call_that_says_no_access_is_refused_in_the_end(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s", lock_wait_s=0.02)
    error = PermissionError(errno.EACCES, "Permission denied")

    with patch("fcntl.flock", side_effect=error), pytest.raises(Busy):
        store.append_log("a", 0, b"x")
    assert store.logs() == store.files() == []


def test_reads_take_no_lock(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("a", 0, b"x")
    store.write_file("f", b"y")
    (tmp_path / "s" / LOCK).unlink()

    assert (store.read_log("a"), store.read_file("f")) == (b"x", b"y")
    assert (store.logs(), store.files()) == (["a"], ["f"])
    assert not (tmp_path / "s" / LOCK).exists()


def test_the_lock_file_stays(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("a", 0, b"x")
    before = (tmp_path / "s" / LOCK).stat().st_ino
    store.replace_log("a", 1, b"y")
    with pytest.raises(Interrupt), store.lock():
        raise Interrupt

    assert (tmp_path / "s" / LOCK).stat().st_ino == before


@pytest.mark.parametrize("length", [1, 99])
def test_a_session_of_which_nothing_came_leaves_no_folder(tmp_path: Path, length: int) -> None:
    store = DirStore.open(tmp_path / "s")
    with pytest.raises(LogChanged):
        store.append_log("a", length, b"x")

    def work() -> None:
        with store.batch() as batch:
            batch.write_file("blobs/x", b"x")
            batch.open_log_new("a", 0).write(b"x" * (2 << 20))
            raise Interrupt

    with pytest.raises(Interrupt):
        work()

    assert list(tmp_path.iterdir()) == []


@posix
def test_a_new_folder_that_another_program_locked_before_us_stays(tmp_path: Path) -> None:
    import fcntl

    store = DirStore.open(tmp_path / "s", lock_wait_s=0.02)
    real = os.open
    others: list[int] = []

    def overtaken(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if str(path).endswith(LOCK) and not others:
            others.append(real(path, os.O_RDWR | os.O_CREAT, 0o600, dir_fd=dir_fd))
            fcntl.flock(others[0], fcntl.LOCK_EX)
        return real(path, flags, mode, dir_fd=dir_fd)

    with patch("os.open", overtaken), pytest.raises(Busy):
        store.append_log("a", 0, b"x")
    assert os.path.samestat(os.fstat(others[0]), (tmp_path / "s" / LOCK).stat())
    os.close(others[0])
    store.append_log("a", 0, b"x")


def test_the_lock_file_s_time_is_that_of_the_newest_log_of_ours(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    with store.batch() as batch:
        batch.write_file("meta.json", b"{}")
        time.sleep(0.02)  # more than a file system's clock needs for its next tick
        batch.append_log("a", 0, b"x")
        batch.append_log("b", 0, b"x")
    ours = store.written_by_others()
    newest = max(store.log_stat("a").mtime_ns, store.log_stat("b").mtime_ns)
    lock_ns = (tmp_path / "s" / LOCK).stat().st_mtime_ns
    meta_ns = store.file_stat("meta.json").mtime_ns
    os.utime(tmp_path / "s" / "logs" / "b.jsonl", ns=(lock_ns + 1, lock_ns + 1))
    theirs = store.written_by_others()
    store.append_log("b", 1, b"y")

    assert ours == []
    assert lock_ns == newest
    assert meta_ns >= newest
    assert theirs == ["b"]
    assert store.written_by_others() == []


def test_a_session_destroyed_while_we_wait_is_not_written_to_by_its_old_lock(
    tmp_path: Path,
) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("a", 0, b"old\n")
    errors: list[Exception] = []

    def append() -> None:
        try:
            DirStore.open(tmp_path / "s").append_log("a", 4, b"late\n")
        except ConflictError as error:
            errors.append(error)

    worker = threading.Thread(target=append)
    with store.lock():
        worker.start()
        time.sleep(0.05)
        store.destroy()
    worker.join()

    assert [type(error) for error in errors] == [ConflictError]
    assert not (tmp_path / "s").exists()


@posix
def test_a_forked_child_does_not_give_back_its_parent_s_lock(tmp_path: Path) -> None:
    import fcntl

    store = DirStore.open(tmp_path / "s")
    ended = child = -1
    descriptor = -1
    try:
        with store.lock():
            child = os.fork()
            if child:
                _, ended = os.waitpid(child, 0)
                descriptor = os.open(tmp_path / "s" / LOCK, os.O_RDWR)
                with pytest.raises(BlockingIOError):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            else:
                with pytest.raises(Busy):
                    DirStore.open(tmp_path / "s", lock_wait_s=0).append_log("a", 0, b"x")
    finally:
        if child == 0:
            os._exit(0 if sys.exc_info()[1] is None else 1)
    os.close(descriptor)
    store.append_log("a", 0, b"y")

    assert os.waitstatus_to_exitcode(ended) == 0
    assert store.read_log("a") == b"y"


@posix
def test_a_lock_file_that_goes_while_it_is_taken_holds_nothing(tmp_path: Path) -> None:
    import fcntl

    store = DirStore.open(tmp_path / "s")  # before there is one: any will do
    DirStore.open(tmp_path / "s").append_log("a", 0, b"old\n")
    real = fcntl.flock

    def overtaken(descriptor: int, operation: int) -> None:
        if not (tmp_path / "moved").exists():
            (tmp_path / "s").rename(tmp_path / "moved")
            (tmp_path / "s").mkdir()
            (tmp_path / "s" / LOCK).touch()
        real(descriptor, operation)

    with patch("fcntl.flock", overtaken), store.lock():
        descriptor = os.open(tmp_path / "s" / LOCK, os.O_RDWR)
        with pytest.raises(BlockingIOError):
            real(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)

    assert (tmp_path / "moved").exists()


@posix
def test_the_lock_of_a_session_that_was_moved_away_meanwhile_holds_nothing(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("a", 0, b"old\n")
    errors: list[Exception] = []

    def append() -> None:
        try:
            store.append_log("a", 4, b"late\n")
        except (ConflictError, OSError) as error:
            errors.append(error)

    worker = threading.Thread(target=append)
    with holder(tmp_path / "s" / LOCK) as program:
        worker.start()
        time.sleep(0.1)
        (tmp_path / "s").rename(tmp_path / "moved")
        program.communicate("\n")
    worker.join()

    assert [type(error) for error in errors] == [ConflictError]
    assert DirStore.open(tmp_path / "moved").read_log("a") == b"old\n"
    assert not (tmp_path / "s").exists()


@posix
def test_a_folder_that_goes_just_before_its_lock_is_taken_comes_back_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = SessionLock._take_file
    old = os.umask(0o022)

    gone: list[Path] = []

    def late(lock: SessionLock, left_s: float, wait_s: float) -> None:
        if not gone:
            gone.append(tmp_path / "s")
            shutil.rmtree(gone[0])
        real(lock, left_s, wait_s)

    monkeypatch.setattr(SessionLock, "_take_file", late)
    try:
        DirStore.open(tmp_path / "s").append_log("a", 0, b"x\n")
    finally:
        os.umask(old)

    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700


@pytest.mark.parametrize("there", [True, False])
def test_folders_that_others_make_and_remove_meanwhile_are_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    real = os.mkdir
    path = tmp_path / "a" / "b"
    errors: list[type[OSError]] = [FileNotFoundError if there else FileExistsError]

    def late(wanted: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if str(wanted) == str(path) and errors:
            error = errors.pop()
            if there:
                path.mkdir(parents=True)
            raise error
        real(wanted, mode, dir_fd=dir_fd)

    monkeypatch.setattr("agentmem_cli.storage.files.os.mkdir", late)

    made = make_folders(str(path))

    assert made is not there
    assert path.is_dir()


def test_of_racing_processes_every_append_lands_whole_and_once(tmp_path: Path) -> None:
    programs = [
        subprocess.Popen([sys.executable, "-c", APPEND, str(tmp_path / "s"), letter, "25"])
        for letter in "abcd"
    ]
    assert [program.wait() for program in programs] == [0, 0, 0, 0]
    lines = DirStore.open(tmp_path / "s").read_log("a").split(b"\n")

    assert lines.pop() == b""
    assert sorted(lines) == sorted(letter.encode() * 199 for letter in "abcd" for _ in range(25))


@posix
def test_a_lock_that_cannot_be_looked_at_is_let_go(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("a", 0, b"x\n")

    def refused(*_: object) -> bool:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    looks = patch.object(SessionLock, "_is_in_place", refused)
    with looks, pytest.raises(OSError, match="error"):
        store.append_log("a", 2, b"y\n")

    store.append_log("a", 2, b"y\n")
    assert store.read_log("a") == b"x\ny\n"
