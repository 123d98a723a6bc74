from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.memory import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.storage.store import Store


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Return an empty store: what holds for one holds for the other."""
    return MemoryStore() if request.param == "memory" else DirStore.open(tmp_path / "session")
