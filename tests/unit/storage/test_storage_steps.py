from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage.directory import DirStore
from tests.unit.storage.faults import calls_of, die_at

if TYPE_CHECKING:
    from pathlib import Path

LARGE = 3 << 20


def change(store: DirStore) -> None:
    with store.batch() as batch:
        batch.open_log_new("a", LARGE).write(b"new a\n" * (LARGE // 6))
        batch.write_file("b", b"new b\n" * (LARGE // 6))
        batch.append_log("c", 4, b"new\n")
        batch.remove_file("d")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_was_hashed_on_several_threads_is_known_again_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    stores = [DirStore.open(tmp_path / name) for name in ("measured", "killed")]
    for store in stores:
        store.append_log("a", 0, b"x" * LARGE)
        store.append_log("c", 0, b"old\n")
        store.write_file("b", b"y" * LARGE)
        store.write_file("d", b"z" * LARGE)
    measured, killed = stores
    redo = calls_of(lambda: change(measured)).index("replace")

    assert die_at(redo, lambda: change(killed), after=True)
    assert killed.pending()
    assert killed.recover()

    assert killed.read_log("a") == measured.read_log("a") == b"new a\n" * (LARGE // 6)
    assert killed.read_log("c") == b"old\nnew\n"
    assert killed.files() == measured.files() == ["b"]
    assert killed.read_file("b") == measured.read_file("b")
