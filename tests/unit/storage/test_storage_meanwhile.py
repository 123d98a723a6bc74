"""A program without the lock adds to a log at the worst moment of a change: it stays."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import ConflictError, LogChanged
from agentmem_cli.storage.directory import DirStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD = b"old one\n"
THEIRS = b"by another program\n"
NEW = b"new one\n"


@pytest.fixture
def store(tmp_path: Path) -> DirStore:
    made = DirStore.open(tmp_path / "s")
    made.append_log("a", 0, OLD)
    made.append_log("b", 0, OLD)
    made.write_file("f", b"old")
    return made


def _together(store: DirStore) -> None:
    with store.batch() as batch:
        batch.replace_log("b", len(OLD), NEW)
        batch.replace_log("a", len(OLD), NEW)
        batch.write_file("f", b"new")


def _removing(store: DirStore) -> None:
    with store.batch() as batch:
        batch.remove_file("f")
        batch.replace_log("a", len(OLD), NEW)


def _alone(store: DirStore) -> None:
    store.replace_log("a", len(OLD), NEW)


def _state(store: DirStore) -> tuple[bytes, bytes, bytes]:
    return store.read_log("a"), store.read_log("b"), store.read_file("f")


def _add(store: DirStore) -> None:
    with (store.path / "logs/a.jsonl").open("ab") as log:
        log.write(THEIRS)


@pytest.mark.parametrize("change", [_together, _alone])
def test_what_comes_while_new_bytes_are_staged_is_not_written_over(
    store: DirStore, change: Callable[[DirStore], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync
    added: list[int] = []

    def fsync(descriptor: int) -> None:
        if not added:
            added.append(descriptor)
            _add(store)
        real(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", fsync)
        with pytest.raises((ConflictError, LogChanged)):
            change(store)

    assert _state(store) == (OLD + THEIRS, OLD, b"old")
    assert not store.pending()
    assert store.leftovers() == []


@pytest.mark.parametrize("change", [_together, _alone])
@pytest.mark.parametrize("by", ["name", "descriptor"])
def test_what_comes_in_the_moment_of_the_swap_itself_is_brought_back(
    store: DirStore, by: str, change: Callable[[DirStore], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace
    log = os.open(store.path / "logs/a.jsonl", os.O_WRONLY | os.O_APPEND)

    def replace(source: str, target: str, **named: int | None) -> None:
        swaps = target == "a.jsonl" and os.fstat(log).st_size == len(OLD)
        if swaps and by == "name":
            _add(store)
        real(source, target, src_dir_fd=named["src_dir_fd"], dst_dir_fd=named["dst_dir_fd"])
        if swaps and by == "descriptor":
            os.write(log, THEIRS)  # by who has the log open, and knows nothing of the new one

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", replace)
        with pytest.raises(ConflictError, match=r"a\.jsonl: a program that takes no lock"):
            change(store)
    os.close(log)

    assert _state(store) == (OLD + THEIRS, OLD, b"old")
    assert not store.pending()
    assert store.leftovers() == []


def test_a_removed_file_that_grew_in_that_moment_comes_back(
    store: DirStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.unlink
    file = os.open(store.path / "files/f", os.O_WRONLY | os.O_APPEND)

    def unlink(name: str, **named: int | None) -> None:
        real(name, dir_fd=named.get("dir_fd"))
        if name == "f":
            os.write(file, b" and more")

    with monkeypatch.context() as patched:
        patched.setattr("os.unlink", unlink)
        with pytest.raises(ConflictError):
            _removing(store)
    os.close(file)

    assert _state(store) == (OLD, OLD, b"old and more")
    assert not store.pending()
