"""A change of several files that fails half-way is taken back, whatever it had done already."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import REDO
from agentmem_cli.storage.store import batch_of
from tests.conformance import CHANGED, change, contents, fill

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="paths are relative to descriptors")


@pytest.fixture
def store(tmp_path: Path) -> DirStore:
    fill(DirStore.open(tmp_path / "s"))
    return DirStore.open(tmp_path / "s")


def commit(store: DirStore) -> None:
    with batch_of(store) as batch:
        change(batch)


class Refusing:
    """Lets a call fail for ever once it was made a number of times."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, name: str, passes: int, number: int = errno.EIO
    ) -> None:
        self.left = passes
        self.refused = 0
        real = getattr(os, name)

        def call(*words: object, **named: object) -> object:
            if self.left == 0:
                self.refused += 1
                raise OSError(number, "broken disk")
            self.left -= 1
            return real(*words, **named)

        monkeypatch.setattr(os, name, call)


def swaps_of_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often a whole change renames, the redo file's own rename among them."""
    fill(DirStore.open(tmp_path / "counted"))
    with monkeypatch.context() as patched:
        counting = Refusing(patched, "replace", 1_000)
        commit(DirStore.open(tmp_path / "counted"))
    return 1_000 - counting.left


def test_a_swap_that_is_refused_after_others_were_made_takes_them_back(
    store: DirStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(store)
    swaps = swaps_of_commit(tmp_path, monkeypatch)
    assert swaps > 3
    real = os.replace
    for passes in range(1, swaps):
        done = 0

        def replace(*words: object, passes: int = passes, **named: object) -> None:
            nonlocal done
            done += 1
            if done == passes + 1:
                raise OSError(errno.EIO, "broken disk")
            real(*words, **named)  # type: ignore[arg-type]

        with monkeypatch.context() as patched:
            patched.setattr("os.replace", replace)
            with pytest.raises(OSError, match="broken disk"):
                commit(store)

        assert contents(store) == before
        assert not store.pending()
        assert store.leftovers() == []
        assert store.written_by_others() == []


def test_what_cannot_be_taken_back_is_told_and_finished_by_the_next(
    store: DirStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swaps = swaps_of_commit(tmp_path, monkeypatch)
    with monkeypatch.context() as patched:
        refusing = Refusing(patched, "replace", swaps - 1)
        with pytest.raises(OSError, match="broken disk") as caught:
            commit(store)

    assert refusing.refused > 1
    assert "the next command on this session finishes it" in caught.value.__notes__[-1]
    assert store.pending()
    store.append_file("probe", b"x")
    store.remove_file("probe")
    assert contents(store) == CHANGED


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.EMLINK])
def test_a_disk_without_hard_links_takes_the_change_all_the_same(
    store: DirStore, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*words: object, **named: object) -> None:
        raise OSError(number, "no links here")

    monkeypatch.setattr("os.link", refuse)
    commit(store)

    assert contents(store) == CHANGED
    assert store.leftovers() == []


def test_without_hard_links_what_was_begun_waits_to_be_finished(
    store: DirStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swaps = swaps_of_commit(tmp_path, monkeypatch)
    with monkeypatch.context() as patched:
        Refusing(patched, "link", 0, errno.EPERM)
        Refusing(patched, "replace", swaps - 1)
        with pytest.raises(OSError, match="broken disk") as caught:
            commit(store)

    assert "the next command on this session finishes it" in caught.value.__notes__[-1]
    assert store.recover()
    assert contents(store) == CHANGED
    assert store.leftovers() == []


def test_a_disk_that_refuses_to_keep_the_old_leaves_the_old(
    store: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(store)
    with monkeypatch.context() as patched:
        Refusing(patched, "link", 0)
        with pytest.raises(OSError, match="broken disk"):
            commit(store)

    assert contents(store) == before
    assert not store.pending()
    assert store.leftovers() == []


def test_what_was_cut_off_before_an_append_that_failed_is_put_back(
    store: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(store)
    real = os.write
    log = (store.path / "logs" / "cut.jsonl").stat().st_ino
    refused: list[int] = []

    def write(descriptor: int, data: bytes) -> int:
        if os.fstat(descriptor).st_ino == log and not refused:
            refused.append(real(descriptor, data[:2]))
            raise OSError(errno.ENOSPC, "full disk")
        return real(descriptor, data)

    def work() -> None:
        with batch_of(store) as batch:
            batch.write_file("recovered/x.part", b"tor")
            batch.cut_log("cut", 9, 6)
            batch.append_log("cut", 6, b"more\n")

    monkeypatch.setattr("os.write", write)
    with pytest.raises(OSError, match="full disk"):
        work()

    assert refused == [2]
    assert contents(store) == before
    assert not store.pending()
    assert store.leftovers() == []


def test_the_parts_that_keep_the_old_are_gone_when_the_change_is_made(
    store: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    links: list[str] = []
    real = os.link

    def link(source: str, target: str, **named: int) -> None:
        links.append(target)
        real(source, target, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("os.link", link)
    commit(store)

    assert len(links) >= 3
    assert store.leftovers() == []


def test_a_log_with_another_name_is_added_to_without_that_one(
    store: DirStore, tmp_path: Path
) -> None:
    log = store.path / "logs" / "added.jsonl"
    (tmp_path / "copy").hardlink_to(log)
    before = log.read_bytes()
    store.append_log("added", len(before), b"more\n")
    store.append_file("log.txt", b"more")

    assert (tmp_path / "copy").read_bytes() == before
    assert log.read_bytes() == before + b"more\n"
    assert log.stat().st_nlink == 1


def test_a_redo_file_that_is_another_file_as_well_is_not_emptied(
    store: DirStore, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_bytes(b"what stands outside")
    (store.path / REDO).hardlink_to(tmp_path / "outside")
    store.append_file("probe", b"x")

    assert (tmp_path / "outside").read_bytes() == b"what stands outside"
    assert not store.pending()
