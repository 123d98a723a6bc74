"""Where a foreign record stands in a session that was imported before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.imports.sources import find_maps
from agentmem_cli.session.codec import dumps, loads
from agentmem_cli.storage.directory import DirStore

if TYPE_CHECKING:
    from pathlib import Path


def place_in(path: Path, raw: str) -> int | None:
    """Return the place behind the foreign record *raw* in the session at *path*.

    Returns:
        The ``n`` up to which the session was as that record left it (records
        with a smaller ``n``); None where there is no such session or record.
    """
    if not raw or not path.is_dir():
        return None
    wanted = dumps(raw)
    found: int | None = None
    try:
        for old in find_maps(DirStore.open(path)):
            for known in old.known():
                # Why: decoding only the lines that can be it.
                if wanted not in known.map_line:
                    continue
                value = loads(known.map_line)
                if isinstance(value, dict) and value.get("raw") == raw:
                    n = value.get("n")
                    found = n + 1 if isinstance(n, int) else found
    except (AgentMemError, OSError):
        # Why: a note of where a fork left is no reason to refuse the fork.
        return None
    return found
