"""A session that is not there yet appears whole, whatever fails and wherever the process dies."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from agentmem_cli.errors import Appeared, Io
from agentmem_cli.operations.catalog import names
from agentmem_cli.storage import fresh, redo
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import LOCK, STAGES, is_leftover
from tests.unit.storage.faults import Faults, calls_of, die_at, interrupt, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.storage.batch import DirBatch

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sessions are made in place there")

BLOB = b"image" * 250_000
WHOLE = {
    "files/blobs/a.png": BLOB,
    "files/meta.json": b"{}",
    "files/plugins/import/a.jsonl": b"source",
    "logs/main.jsonl": b"header\nrecord\n",
}


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sync in this thread alone, so that calls have numbers, and spare the disk."""
    monkeypatch.setattr(fresh, "_SYNCS", 1)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def fill(batch: DirBatch) -> None:
    batch.write_file("meta.json", b"{")
    batch.open_log_new("main", 0).write(b"header\n")
    batch.append_log("main", 7, b"record\n")
    batch.write_file("blobs/a.png", BLOB)
    batch.open_file("plugins/import/a.jsonl").write(b"source")
    batch.write_file("meta.json", b"{}")


def make(target: Path) -> None:
    with DirStore.open(target).beginning() as batch:
        fill(batch)


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files of a session that are read, by their relative paths."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)
    read = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
    return {path: data for path, data in read.items() if not is_leftover(path)}


def leftovers(root: Path) -> list[str]:
    return DirStore.open(root / "s").leftovers()


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_nothing_is_there_before_the_block_ends_and_all_of_it_after(tmp_path: Path) -> None:
    target = tmp_path / "s"
    with DirStore.open(target).beginning() as batch:
        fill(batch)
        before = target.exists(), names(str(tmp_path)), batch.files()
        meta = batch.read_file("meta.json")

    assert meta == b"{}"
    assert before == (False, [], ["blobs/a.png", "meta.json", "plugins/import/a.jsonl"])
    assert tree(target) == WHOLE
    assert entries(tmp_path) == ["s"]
    assert entries(target) == [LOCK, "files", "logs"]


def test_nothing_is_hashed_for_a_session_that_appears_whole(tmp_path: Path) -> None:
    counted = [
        patch.object(redo, name, side_effect=getattr(redo, name))
        for name in ("digest_of", "tail_digest_of", "empty_digest")
    ]
    with counted[0] as whole, counted[1] as tail, counted[2] as empty:
        make(tmp_path / "s")
        fresh_calls = [each.call_count for each in (whole, tail, empty)]
        with DirStore.open(tmp_path / "s").batch() as batch:
            batch.append_log("main", 14, b"more\n")
            batch.write_file("meta.json", b"{1}")
            batch.remove_file("blobs/a.png")

    assert fresh_calls == [0, 0, 0]
    # Old and new bytes of the meta, old ones of the blob, new ones of what is appended.
    assert [each.call_count for each in (whole, tail, empty)] == [4, 1, 1]


def test_what_is_staged_for_it_is_read_back(tmp_path: Path) -> None:
    with DirStore.open(tmp_path / "s").beginning() as batch:
        fill(batch)
        batch.write_file("gone", b"gone")
        batch.remove_file("gone")
        with batch.open_staged_log("main") as log, batch.open_staged_file("blobs/a.png") as blob:
            staged = log.read_at(0, log.size), blob.read_at(0, blob.size)
        with pytest.raises(FileNotFoundError):
            batch.open_staged_file("gone")

    assert staged == (WHOLE["logs/main.jsonl"], BLOB)
    assert tree(tmp_path / "s") == WHOLE


def test_the_root_is_made_where_it_is_missing(tmp_path: Path) -> None:
    make(tmp_path / "sessions" / "mine" / "s")

    assert tree(tmp_path / "sessions" / "mine" / "s") == WHOLE


def test_a_session_that_is_there_is_changed_in_place(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    store.append_log("main", 0, b"header\n")
    with store.beginning() as batch:
        batch.append_log("main", 7, b"more\n")
        there = (tmp_path / STAGES).exists()

    assert not there
    assert store.read_log("main") == b"header\nmore\n"


def test_nothing_staged_makes_no_session(tmp_path: Path) -> None:
    with DirStore.open(tmp_path / "s").beginning() as batch:
        batch.append_log("main", 0, b"")

    assert entries(tmp_path) == []


def test_a_root_of_which_nothing_came_goes_again(tmp_path: Path) -> None:
    def fail() -> None:
        with DirStore.open(tmp_path / "root" / "s").beginning() as batch:
            fill(batch)
            refuse()

    with pytest.raises(OSError, match="broken disk"):
        fail()

    assert entries(tmp_path) == []


def test_its_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        make(tmp_path / "s")
    finally:
        os.umask(old)

    found = {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "s").rglob("*")}
    assert found == {0o600, 0o700}
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700


def test_the_lock_has_the_log_s_time_and_the_meta_is_not_older(tmp_path: Path) -> None:
    make(tmp_path / "s")
    store = DirStore.open(tmp_path / "s")

    assert store.written_by_others() == []
    assert store.file_stat("meta.json").mtime_ns >= store.log_stat("main").mtime_ns


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs the names of descriptors")
def test_everything_is_synced_before_it_appears_and_its_name_after(tmp_path: Path) -> None:
    synced: list[str] = []
    at_rename: list[set[str]] = []
    real, rename = os.fsync, os.rename

    def fsync(descriptor: int) -> None:
        synced.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    def renamed(old: str, new: str) -> None:
        at_rename.append({path.removeprefix(f"{old}/") for path in synced if path != old})
        at_rename.append({path for path in synced if path == old})
        synced.clear()
        rename(old, new)

    with patch("os.fsync", fsync), patch("os.rename", renamed):
        make(tmp_path / "s")

    folders = {"files", "files/blobs", "files/plugins", "files/plugins/import", "logs"}
    assert at_rename[0] == {*WHOLE, *folders}
    assert len(at_rename[1]) == 1
    assert synced == [str(tmp_path)]


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("act", [refuse, interrupt])
@pytest.mark.parametrize("after", [False, True])
def test_a_failure_at_any_call_leaves_all_or_nothing(
    tmp_path: Path, act: Callable[[], None], after: bool
) -> None:
    calls = calls_of(lambda: make(tmp_path / "counted"))
    made = []
    for at in range(len(calls)):
        root = tmp_path / f"root-{at}"
        root.mkdir()
        with Faults(act, at, after=after).active():
            try:
                make(root / "s")
            except (OSError, Io, KeyboardInterrupt):
                raised = True
            else:
                raised = False
        found = (root / "s").exists()
        assert not found or tree(root / "s") == WHOLE
        assert not leftovers(root) or calls[at] in {"unlink", "open"}
        assert raised or found
        made.append(found)
        # Why: a call that fails on the way out leaves what the next one takes away.
        make(root / "next")
        assert entries(root) == (["next", "s"] if found else ["next"])

    assert made.count(False) > len(calls) / 2
    assert True in made


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("after", [False, True])
def test_a_kill_at_any_call_leaves_all_or_nothing_and_the_next_one_tidies(
    tmp_path: Path, after: bool
) -> None:
    count = len(calls_of(lambda: make(tmp_path / "counted")))
    made = []
    for at in range(count):
        root = tmp_path / f"root-{at}"
        root.mkdir()
        target = root / "s"
        assert die_at(at, lambda target=target: make(target), after=after)  # type: ignore[misc]
        found = target.exists()
        assert not found or tree(target) == WHOLE
        assert leftovers(root) == []
        assert names(str(root)) == (["s"] if found else [])
        make(root / "next")
        assert entries(root) == (["next", "s"] if found else ["next"])
        made.append(found)

    assert made == sorted(made)
    assert set(made) == {False, True}


def test_a_sync_that_fails_in_another_thread_fails_the_change(tmp_path: Path) -> None:
    count = 0
    real = os.fsync

    def fsync(descriptor: int) -> None:
        nonlocal count
        count += 1
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            refuse()
        real(descriptor)

    with patch("os.fsync", fsync), pytest.raises(OSError, match="broken disk"):
        make(tmp_path / "s")

    assert count > 0
    assert entries(tmp_path) == []


def test_a_session_that_appears_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")

    def late() -> None:
        with store.beginning() as batch:
            fill(batch)
            store.append_log("main", 0, b"theirs\n")

    with pytest.raises(Appeared, match="s: a session stands here"):
        late()

    assert tree(tmp_path / "s") == {"logs/main.jsonl": b"theirs\n"}
    assert entries(tmp_path) == ["s"]


def test_two_that_are_made_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    with DirStore.open(tmp_path / "one").beginning() as batch:
        fill(batch)
        make(tmp_path / "two")
        between = entries(tmp_path)

    assert between == [STAGES, "two"]
    assert entries(tmp_path) == ["one", "two"]
    assert tree(tmp_path / "one") == tree(tmp_path / "two") == WHOLE


def test_what_links_in_a_stage_lead_to_is_left_when_it_is_taken_away(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_bytes(b"x")
    left = tmp_path / STAGES / ("0" * 32)
    left.mkdir(parents=True)
    (left / "link").symlink_to(kept)

    make(tmp_path / "s")

    assert entries(tmp_path) == ["kept", "s"]
    assert entries(kept) == ["file"]
