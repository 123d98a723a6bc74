"""What a disk and other programs seldom do: nothing is lost, and what went wrong is told."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import Busy, ConflictError, LogChanged
from agentmem_cli.storage import care, extending, files, fresh, recovery, redo, root, streams
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.files import Folder, write_atomically
from agentmem_cli.storage.layout import REDO, STAGES
from agentmem_cli.storage.locks import held
from agentmem_cli.storage.memory import MemoryStore
from agentmem_cli.storage.session_lock import SessionLock
from agentmem_cli.storage.staging import staged
from agentmem_cli.storage.swapping import Swap, take_away
from tests.unit.storage.test_storage_extending import HEADS, LINES, OLD

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def store(tmp_path: Path) -> DirStore:
    made = DirStore.open(tmp_path / "session")
    made.append_log("a", 0, OLD)
    made.write_file("kept.txt", b"kept")
    return made


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


# -- other programs, at the wrong moment -----------------------------------


def test_a_file_that_another_program_writes_meanwhile_is_not_written_over(store: DirStore) -> None:
    path = store.path / "files" / "kept.txt"

    def change() -> None:
        with store.batch() as batch:
            batch.write_file("kept.txt", b"ours")
            batch.append_log("a", len(OLD), b"more\n")
            path.write_bytes(b"theirs, longer")

    with pytest.raises(ConflictError, match=r"kept\.txt: another program") as raised:
        change()

    assert "run the command again" in str(raised.value.hint)
    assert path.read_bytes() == b"theirs, longer"
    assert store.read_log("a") == OLD
    assert store.leftovers() == []


def test_what_another_program_adds_to_a_write_that_fails_is_not_cut_off(
    store: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.path / "logs" / "a.jsonl"

    def sync(_: int) -> None:
        with path.open("ab") as stream:
            stream.write(b'{"theirs":1}\n')
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(files, "sync_file", sync)
    with pytest.raises(OSError, match="broken disk") as raised:
        store.append_log("a", len(OLD), b"ours\n")

    assert any("another program added" in note for note in raised.value.__notes__)
    assert path.read_bytes() == OLD + b'ours\n{"theirs":1}\n'


def test_a_write_that_can_not_be_cut_back_says_so(
    store: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(files, "sync_file", refuse)
    monkeypatch.setattr(os, "ftruncate", refuse)
    with pytest.raises(OSError, match="broken disk") as raised:
        store.append_log("a", len(OLD), b"ours\n")

    assert any(
        f"could not be cut back to {len(OLD)} bytes" in note for note in raised.value.__notes__
    )


def test_a_file_that_appeared_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "out" / "page.html"
    path.parent.mkdir()
    path.write_bytes(b"theirs")

    with pytest.raises(FileExistsError):
        write_atomically(path, [b"ours"], over=False)

    assert path.read_bytes() == b"theirs"
    assert names(path.parent) == ["page.html"]


def test_a_destroyed_session_leaves_what_an_earlier_one_left_in_its_way(store: DirStore) -> None:
    trash = Path(f"{store.path}.rig-trash")
    trash.mkdir()
    (trash / "old").write_bytes(b"old")

    store.destroy()

    assert names(store.path.parent) == ["session.rig-trash"]
    assert (trash / "old").read_bytes() == b"old"


def test_a_lock_that_another_lock_of_this_thread_holds_is_busy(store: DirStore) -> None:
    from filelock import FileLock

    hasty = DirStore.open(store.path, lock_wait_s=0)
    with FileLock(store.path / ".rig-memory.lock"), pytest.raises(Busy):
        hasty.write_file("kept.txt", b"ours")

    assert store.read_file("kept.txt") == b"kept"


def test_a_lock_file_that_goes_just_after_it_was_taken_is_taken_again(
    store: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.path / ".rig-memory.lock"
    real = SessionLock._take_file
    gone: list[bool] = []

    def take(self: SessionLock, left_s: float, wait_s: float) -> None:
        real(self, left_s, wait_s)
        if not gone:
            gone.append(True)
            path.unlink()

    monkeypatch.setattr(SessionLock, "_take_file", take)
    with store.lock():
        found = path.stat()

    assert gone
    assert path.stat().st_ino == found.st_ino


def test_a_folder_that_goes_again_and_again_is_busy_in_the_end(
    store: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(*_: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "gone")

    monkeypatch.setattr(SessionLock, "_take_file", take)
    with pytest.raises(Busy), held(str(store.path), 0.0):
        raise AssertionError

    assert store.read_file("kept.txt") == b"kept"


def test_a_folder_of_stages_that_goes_meanwhile_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.mkdir
    tries: list[str] = []

    def mkdir(path: str, *words: int, **named: int) -> None:
        if Path(path).parent.name == STAGES:
            tries.append(path)
            if len(tries) == 1:
                (tmp_path / "root" / STAGES).rmdir()
        real(path, *words, **named)

    monkeypatch.setattr(os, "mkdir", mkdir)
    with fresh.fresh_batch(str(tmp_path / "root" / "one")) as made:
        made.append_log("a", 0, OLD)

    assert len(tries) > 1
    assert DirStore.open(tmp_path / "root" / "one").read_log("a") == OLD


# -- what is left of a stopped command -------------------------------------


def test_a_link_in_the_place_of_what_was_left_goes_and_what_it_leads_to_stays(
    tmp_path: Path,
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").write_bytes(b"kept")
    (tmp_path / "one.rig-trash").symlink_to(other)

    gone = care.remove_left(str(tmp_path), "one.rig-trash")

    assert gone
    assert not (tmp_path / "one.rig-trash").is_symlink()
    assert (other / "kept").read_bytes() == b"kept"
    assert care.remove_left(str(tmp_path), "never.rig-trash")


def test_a_stage_that_this_thread_is_making_is_not_removed(tmp_path: Path) -> None:
    stage = tmp_path / STAGES / "made"
    stage.mkdir(parents=True)

    with held(str(stage), 1.0):
        gone = care.remove_left(str(tmp_path), f"{STAGES}/made")
        listed = [each.name for each in care.left_in_root(str(tmp_path))]

    assert not gone
    assert stage.is_dir()
    assert listed == []


def test_a_link_in_the_place_of_the_stages_is_not_looked_into(tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "made").mkdir(parents=True)
    root_ = tmp_path / "root"
    root_.mkdir()
    (root_ / STAGES).symlink_to(other)

    assert [each.name for each in care.left_in_root(str(root_))] == [STAGES]


def test_a_part_file_that_is_a_link_is_not_taken_away(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(b"kept")
    part = tmp_path / f".agentfile-{'0' * 32}.rig-part"
    part.symlink_to(kept)

    assert not take_away(str(part))
    assert kept.read_bytes() == b"kept"
    assert part.is_symlink()


@pytest.mark.parametrize("age_s", [10, 100_000])
def test_where_a_disk_has_no_locks_the_age_of_a_part_file_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age_s: int
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(OLD)
    part = tmp_path / f".agentfile-{'0' * 32}.rig-part"
    part.write_bytes(b"half")
    made_ns = part.stat().st_mtime_ns - age_s * 1_000_000_000
    os.utime(part, ns=(made_ns, made_ns))

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with Swap(str(path)) as swap:
        swap.write(b"new\n")
        assert swap.install()

    assert path.read_bytes() == b"new\n"
    assert part.exists() == (age_s < 3600)


# -- files of others -------------------------------------------------------


def test_a_file_keeps_its_owner_and_each_attribute_that_may_be_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(OLD)
    given: dict[str, bytes] = {}
    owners: list[tuple[int, int]] = []
    real = os.fstat

    def theirs(descriptor: int) -> os.stat_result:
        found = real(descriptor)
        if found.st_size != len(OLD):
            return found
        return os.stat_result([*found[:4], found.st_uid + 7, found.st_gid + 7, *found[6:]])

    def give(_: int, name: str, value: bytes) -> None:
        if name.startswith("security."):
            raise PermissionError(errno.EPERM, "not yours to set")
        given[name] = value

    listed = ["security.ima", "user.note", "user.tag"]
    monkeypatch.setattr(os, "listxattr", lambda _: listed, raising=False)
    monkeypatch.setattr(os, "getxattr", lambda _, name: name.encode(), raising=False)
    monkeypatch.setattr(os, "setxattr", give, raising=False)
    monkeypatch.setattr(os, "fchown", lambda _, user, group: owners.append((user, group)))
    monkeypatch.setattr(os, "fstat", theirs)
    with Swap(str(path)) as swap:
        swap.write(b"new\n")
        swap._flush()
        swap._keep_marks()

    assert given == {"user.note": b"user.note", "user.tag": b"user.tag"}
    assert owners == [(os.getuid() + 7, os.getgid() + 7)]


def test_times_are_kept_where_they_are_set_by_the_path_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(OLD)
    os.utime(path, ns=(10**18, 10**18))
    monkeypatch.setattr(os, "supports_fd", frozenset())

    with Swap(str(path)) as swap:
        swap.write(b"new\n")
        assert swap.install()

    assert path.read_bytes() == b"new\n"
    assert path.stat().st_mtime_ns == 10**18


# -- a large append --------------------------------------------------------


@pytest.fixture
def large(store: DirStore, monkeypatch: pytest.MonkeyPatch) -> DirStore:
    """A session in which each append is too large to be held, each line written by a thread."""
    monkeypatch.setattr(extending, "HELD_BYTES", 0)
    monkeypatch.setattr(extending, "THREAD_BYTES", 0)
    return store


def extend(store: DirStore) -> None:
    with store.batch() as batch:
        batch.append_lines("a", len(OLD), LINES, HEADS)


def pending(store: DirStore, found: bytes) -> None:
    """Leave a redo file as a kill does, and *found* behind the log."""
    with store.batch() as batch, Folder.at(str(store.path)) as top:
        step = extending.step_of(top, batch._log("a", len(OLD)), HEADS, batch.key)
        data = redo.encode(redo.Redo(batch.key, (step,)))
    (store.path / REDO).write_bytes(data)
    with (store.path / "logs" / "a.jsonl").open("ab") as stream:
        stream.write(found)


def test_an_interrupt_while_a_line_is_written_is_heard_and_nothing_is_left(
    large: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = threading.Thread.join
    tries: list[bool] = []

    def join(self: threading.Thread, timeout: float | None = None) -> None:
        if not tries and self.daemon:
            tries.append(True)
            real(self, timeout)
            raise KeyboardInterrupt
        real(self, timeout)

    alive = threading.Thread.is_alive
    monkeypatch.setattr(threading.Thread, "join", join)
    monkeypatch.setattr(
        threading.Thread, "is_alive", lambda self: alive(self) or (self.daemon and not tries)
    )
    with pytest.raises(KeyboardInterrupt):
        extend(large)

    assert tries
    assert large.read_log("a") == OLD
    assert not large.pending()


def test_a_part_of_a_large_append_is_given_to_the_disk_while_it_is_made(
    large: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(extending, "CHUNK_BYTES", 2 * len(LINES[0]))
    monkeypatch.setattr(extending, "start_writing", lambda _, start, end: told.append((start, end)))

    extend(large)

    size = 2 * len(LINES[0])
    assert told == [
        (len(OLD), len(OLD) + size),
        (len(OLD) + size, len(OLD) + 2 * size),
    ]
    assert large.read_log("a") == OLD + b"".join(LINES)


def test_asking_a_disk_to_begin_writing_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 5000)
    with path.open("r+b") as file:
        streams.start_writing(file.fileno(), 0, 5000)

    assert path.read_bytes() == b"x" * 5000


def test_logs_that_went_with_an_unfinished_append_leave_nothing_to_take_back(
    large: DirStore,
) -> None:
    pending(large, LINES[0])
    (large.path / "logs" / "a.jsonl").unlink()
    (large.path / "logs").rmdir()

    large.recover()

    assert not large.pending()
    assert large.logs() == []


def test_what_cannot_be_set_aside_is_not_cut_off(
    large: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    pending(large, LINES[0][:30] + b"\0" * 60)
    real = Folder.replace

    def refuse(self: Folder, source: str, target: str) -> None:
        if target.startswith("a-"):
            raise OSError(errno.EIO, "broken disk")
        real(self, source, target)

    with monkeypatch.context() as patched:
        patched.setattr(Folder, "replace", refuse)
        with pytest.raises(OSError, match="broken disk"):
            large.recover()
    found = large.read_log("a")
    large.recover()

    assert found == OLD + LINES[0][:30] + b"\0" * 60
    assert large.read_log("a") == OLD
    assert [large.read_file(name) for name in large.files() if name != "kept.txt"] == [
        LINES[0][:30] + b"\0" * 60
    ]


def test_what_becomes_of_an_unfinished_append_is_told_and_nothing_changes(large: DirStore) -> None:
    pending(large, LINES[0])

    with Folder.at(str(large.path)) as top:
        told = recovery.outlook(top).kind

    assert told == recovery.WHOLE
    assert large.pending()
    assert large.read_log("a") == OLD + LINES[0]


# -- steps whose folders are gone ------------------------------------------


@pytest.mark.parametrize(
    ("kind", "becomes"), [("remove", recovery.WHOLE), ("replace", recovery.FOREIGN)]
)
def test_a_step_in_a_folder_that_is_gone_is_done_if_it_removes_and_foreign_if_not(
    store: DirStore, kind: str, becomes: str
) -> None:
    key = b"k" * 32
    part = "files/gone/.agentmem-0123456789abcdef0123456789abcdef.rig-part"
    staged_part = part if kind == "replace" else ""
    digest = redo.empty_digest(key)
    size = 3 if staged_part else 0
    step = redo.Step(kind, "files/gone/x", 5, 0, digest, staged_part, size, digest)
    (store.path / REDO).write_bytes(redo.encode(redo.Redo(key, (step,))))

    with Folder.at(str(store.path)) as top:
        told = recovery.outlook(top).kind
    store.recover()

    assert told == becomes
    assert not store.pending()
    assert store.read_file("kept.txt") == b"kept"


def test_a_log_that_was_cut_is_whole_again_where_the_change_fails_later(
    store: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append_log("a", len(OLD), b'{"seq":1,"torn')
    whole = store.read_log("a")
    real = redo._apply_one

    def fail(folder: Folder, name: str, step: redo.Step, begun: list[redo.Step]) -> None:
        if step.kind == "replace":
            begun.append(step)
            raise OSError(errno.EIO, "broken disk")
        real(folder, name, step, begun)

    def change(name: str) -> None:
        with store.batch() as batch:
            batch.cut_log("a", len(whole), len(OLD))
            batch.write_file(name, b"ours")

    monkeypatch.setattr(redo, "_apply_one", fail)
    for ranked in ("kept.txt", "meta.json"):
        with pytest.raises(OSError, match="broken disk"):
            change(ranked)

        assert store.read_log("a") == whole
        assert not store.pending()


# -- small things ----------------------------------------------------------


def test_a_system_that_writes_nothing_is_an_error_and_no_endless_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "write", lambda *_: 0)

    with pytest.raises(OSError, match="writes nothing"):
        streams.write_whole(1, b"x")


def test_a_read_that_comes_in_pieces_is_whole(
    store: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pread
    monkeypatch.setattr(
        "agentmem_cli.storage.folder.pread", lambda descriptor, _, at: real(descriptor, 2, at)
    )

    assert store.read_file("kept.txt") == b"kept"


@pytest.mark.parametrize(
    ("variable", "default"),
    [("XDG_CACHE_HOME", root.cache_root), ("XDG_CONFIG_HOME", root.config_root)],
)
def test_the_folders_of_a_user_are_those_that_the_system_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    default: Callable[[], Path],
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv(variable, str(tmp_path / "given"))

    assert default() == tmp_path / "given" / "agentmem"
    assert not (tmp_path / "given").exists()


def test_a_staged_log_that_is_emptied_before_it_is_made_is_not_there() -> None:
    with staged(MemoryStore()) as batch:
        batch.open_log_new("a", 0)
        with pytest.raises(FileNotFoundError):
            batch.open_staged_log("a")


def test_a_log_in_memory_that_grew_meanwhile_is_changed_by_nothing() -> None:
    store = MemoryStore()
    store.append_log("a", 0, OLD)

    def change() -> None:
        with staged(store) as batch:
            batch.append_log("a", len(OLD), b"ours\n")
            batch.write_file("kept.txt", b"ours")
            store.append_log("a", len(OLD), b"theirs\n")

    with pytest.raises(LogChanged):
        change()

    assert store.read_log("a") == OLD + b"theirs\n"
    assert store.files() == []
