from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import ConflictError, Stale
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import LOCK
from agentmem_cli.storage.memory import MemoryStore
from agentmem_cli.storage.seen import check_seen, refuse_busy, see, times

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> DirStore:
    made = DirStore.open(tmp_path / "s")
    made.append_log("a", 0, b"one\n")
    made.write_file("plugins/p", b"x" * 10_000)
    return made


def rewritten_in_place(store: DirStore) -> None:
    path = store.path / "files" / "plugins" / "p"
    path.write_bytes(b"y" + b"x" * 9_999)
    os.utime(path, ns=(1, 1))


def added(store: DirStore) -> None:
    (store.path / "files" / "new").write_bytes(b"")


def grown(store: DirStore) -> None:
    with (store.path / "logs" / "a.jsonl").open("ab") as log:
        log.write(b"two\n")


def gone(store: DirStore) -> None:
    (store.path / "logs" / "a.jsonl").unlink()


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (rewritten_in_place, "files/plugins/p"),
        (added, "files/new"),
        (grown, "logs/a"),
        (gone, "logs/a"),
    ],
)
def test_a_session_is_known_again_until_anything_of_it_changes(
    store: DirStore, change: Callable[[DirStore], None], where: str
) -> None:
    seen = see(store)
    before = times(store)
    check_seen(store, seen)
    change(store)

    with pytest.raises(Stale) as caught:
        check_seen(store, seen)

    assert caught.value.where == where
    assert caught.value.exit_code == 4
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    after = times(store)
    assert {key for key in before | after if before.get(key) != after.get(key)} == {where}


def test_a_store_without_times_is_known_by_sizes_and_ends() -> None:
    store = MemoryStore()
    store.append_log("a", 0, b"one\n")
    seen = see(store)
    check_seen(store, seen)
    store.append_log("a", 4, b"two\n")

    assert times(store) == {}
    with pytest.raises(Stale, match="logs/a"):
        check_seen(store, seen)
    refuse_busy(store, 60_000, 0)


@pytest.mark.parametrize(
    ("ago_ms", "refused"), [(-5_000, True), (0, True), (999, True), (1_000, False)]
)
def test_another_program_s_log_is_left_alone_until_it_is_idle(
    store: DirStore, ago_ms: int, refused: bool
) -> None:
    now_ms = 2_000_000_000_000
    at_ns = (now_ms - ago_ms) * 1_000_000
    os.utime(store.path / "logs" / "a.jsonl", ns=(at_ns, at_ns))
    os.utime(store.path / LOCK, ns=(at_ns - 1, at_ns - 1))

    if refused:
        with pytest.raises(ConflictError, match="another program wrote"):
            refuse_busy(store, 1_000, now_ms)
    else:
        refuse_busy(store, 1_000, now_ms)
    refuse_busy(store, None, now_ms)
    os.utime(store.path / LOCK, ns=(at_ns, at_ns))
    refuse_busy(store, 1_000, now_ms)
    (store.path / LOCK).unlink()
    assert store.written_by_others() == ["a"]
