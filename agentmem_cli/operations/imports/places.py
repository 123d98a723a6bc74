"""Where a foreign record stands in a session that was imported before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.imports.adapter import MAIN
from agentmem_cli.operations.imports.sources import find_maps
from agentmem_cli.session.codec import dumps, loads
from agentmem_cli.storage.directory import DirStore

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.maps import OldMap


BY_LINE: Final = "line:"
"""How an id begins that is a line of the main agent's source, for formats without ids."""


def place_in(path: Path, raw: str) -> int | None:
    """Return the place behind the foreign record *raw* in the session at *path*.

    Args:
        path: A session's folder.
        raw: The record's id; or `BY_LINE` and a line of the main agent's
            source, counted from 1: then behind what stands up to that line.

    Returns:
        The ``n`` up to which the session was as that record left it (records
        with a smaller ``n``); None where there is no such session or record.
    """
    if not raw or not path.is_dir():
        return None
    found: int | None = None
    try:
        for old in find_maps(DirStore.open(path)):
            if raw.startswith(BY_LINE):
                if old.header.agent == MAIN:
                    found = _behind_line(old, int(raw.removeprefix(BY_LINE))) or found
            else:
                found = _behind_record(old, raw) or found
    except (AgentMemError, OSError, ValueError):
        # Why: a note of where a fork left is no reason to refuse the fork.
        return None
    return found


def _behind_record(old: OldMap, raw: str) -> int | None:
    wanted = dumps(raw)
    found: int | None = None
    for known in old.known():
        # Why: decoding only the lines that can be it.
        if wanted in known.map_line:
            value = loads(known.map_line)
            if isinstance(value, dict) and value.get("raw") == raw:
                n = value.get("n")
                found = n + 1 if isinstance(n, int) else found
    return found


def _behind_line(old: OldMap, line: int) -> int | None:
    found: int | None = None
    for known in old.known():
        if known.line <= line:
            value = loads(known.map_line)
            n = value.get("n") if isinstance(value, dict) else None
            if isinstance(n, int) and (found is None or n >= found):
                found = n + 1
    return found
