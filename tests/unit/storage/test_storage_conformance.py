"""Every store of ours, and a foreign one, through the conformance suite."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.memory import MemoryStore
from tests.conformance import StoreConformance

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conformance import OpenStore


class Foreign:
    """A store as someone else would write it: no batch, no lock, no open_log."""

    def __init__(self) -> None:
        self._inner = MemoryStore()
        for name in (
            *("logs", "read_log", "append_log", "replace_log", "destroy"),
            *("files", "read_file", "write_file", "append_file", "remove_file"),
        ):
            setattr(self, name, getattr(self._inner, name))


class TestMemoryStore(StoreConformance):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        first = MemoryStore()
        handles = iter([first, copy.copy(first)])
        return lambda: next(handles, MemoryStore(first))


class TestDirStore(StoreConformance):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return lambda: DirStore.open(tmp_path / "made" / "session")


class TestDirStoreThroughALink(StoreConformance):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        (tmp_path / "link").symlink_to(tmp_path / "there")
        (tmp_path / "there").mkdir()
        paths = iter([tmp_path / "link" / "s", tmp_path / "there" / "s"])
        return lambda: DirStore.open(next(paths, tmp_path / "link" / "s"))


class TestDirStoreByPaths(StoreConformance):
    """As where the system has no directory descriptors."""

    @pytest.fixture
    def open_store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenStore:
        monkeypatch.setattr("agentmem_cli.storage.folder.USES_DESCRIPTORS", False)
        return lambda: DirStore.open(tmp_path / "s")


class TestForeignStore(StoreConformance):
    @pytest.fixture
    def open_store(self) -> OpenStore:
        store = Foreign()
        return lambda: store  # type: ignore[return-value]  # its methods are set one by one
