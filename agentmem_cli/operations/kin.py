"""Which sessions beside one hold messages of it too: forks, agents by themselves, copies."""

# ruff: noqa: PTH118 - every session is looked at; Path costs ten times a join

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.imports.naming import safe_name
from agentmem_cli.operations.imports.unchanged import headers_of
from agentmem_cli.operations.listing import is_held, rows
from agentmem_cli.storage.directory import DirStore

if TYPE_CHECKING:
    from agentmem_cli.operations.listing import Row

_NUMBER = re.compile(r"-[0-9]+\Z")


def kin_of(root: str, session: str, run_ms: int) -> list[str]:
    """Return the sessions beside one that hold messages of it too, as far as they say so.

    That are its forks and those that were forked from where it was; the session that it is
    an agent of and its agents that are sessions by themselves; and what ``--again`` made of
    the same sources. The session that it was forked from is not among them.

    Args:
        root: The folder that it stands in.
        session: Its name there.
        run_ms: When the command began: in one run the folder is looked through once.
    """
    others = _rows(root, run_ms)
    own = next((row for row in others if row.id == session), None)
    origin = None if own is None or own.forked_from is None else own.forked_from[0]
    found = {row.id for row in others if _is_kin(row, session, origin)}
    if own is not None and own.part_of is not None and is_held(root, own.part_of):
        found.add(safe_name(own.part_of[0]))
    found |= _copies(root, session, others)
    return sorted(found - {session, origin})


def _is_kin(row: Row, session: str, origin: str | None) -> bool:
    if row.part_of is not None and safe_name(row.part_of[0]) == session:
        return True
    return row.forked_from is not None and row.forked_from[0] in (session, origin)


@lru_cache(maxsize=1)
def _rows(root: str, _: int) -> tuple[Row, ...]:
    return tuple(rows(root))


def _copies(root: str, session: str, others: tuple[Row, ...]) -> set[str]:
    """Return the sessions that were made of the same sources, told by where these stood."""
    base = _NUMBER.sub("", session)
    named = [row.id for row in others if row.id in (session, base) or _is_numbered(row.id, base)]
    if len(named) < 2:  # noqa: PLR2004 - itself
        return set()
    mine = _places(root, session)
    return {name for name in named if name != session and mine & _places(root, name)}


def _is_numbered(name: str, base: str) -> bool:
    return name.startswith(f"{base}-") and _NUMBER.sub("", name) == base


def _places(root: str, name: str) -> set[str]:
    try:
        store = DirStore.open(Path(os.path.join(root, name)))
        return {header.path for header in headers_of(store).values() if header.path}
    except (AgentMemError, OSError):
        return set()  # Why: this is only told; what is wrong with it is told by verify.
