"""Which session a source goes into, and which ones it may not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import AgentMemError, ConflictError
from agentmem_cli.operations.imports.adapter import MAIN
from agentmem_cli.operations.imports.beside import rewritten_beside
from agentmem_cli.operations.imports.maps import source_name
from agentmem_cli.operations.imports.unchanged import headers_of
from agentmem_cli.storage.store import open_log_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentmem_cli.operations.imports.maps import OldMap
    from agentmem_cli.storage.directory import DirStore

_FIRST_BYTES: Final = 4 << 10
"""More than a log's first line has."""

_AGAIN_MAX: Final = 10_000
"""Sessions of one source under one root, made by ``--again``."""


def free_name(root: Path, name: str) -> str:
    """Return *name*, or the first of ``name-2``, ``name-3``, … that no session has.

    Raises:
        AgentMemError: Thousands of them are there.
    """
    for number in range(1, _AGAIN_MAX):
        free = _numbered(name, number)
        if not (root / free).exists():
            return free
    msg = f"{root / name}: {_AGAIN_MAX} sessions of this source are there already"
    raise AgentMemError(msg)


def names_there(root: Path, name: str) -> list[str]:
    """Return those of *name*, ``name-2``, ``name-3``, … that are there one after the other.

    The first one is returned in any case.
    """
    found = [name]
    while len(found) < _AGAIN_MAX and (root / _numbered(name, len(found) + 1)).exists():
        found.append(_numbered(name, len(found) + 1))
    return found


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def map_of(name: str, agent: str, maps: Sequence[OldMap]) -> OldMap | None:
    """Find a source's map: by its name, or (the main one, which may have moved) by its agent."""
    wanted = source_name(name)
    for old in maps:
        if old.name == wanted:
            return old
    if agent == MAIN:
        return next((old for old in maps if old.header.agent == MAIN), None)
    return None


def rewritten_part(store: DirStore) -> str | None:
    """Return what of a session was rewritten in place, in words; None: nothing was."""
    for log in store.logs():
        with open_log_of(store, log) as opened:
            first, _, rest = opened.read_at(0, _FIRST_BYTES).partition(b"\n")
        # Why by text first: most headers tell of no rewrite, and reading one exactly costs
        # more than all else that is looked at where nothing is new.
        if rest and not any(mark in first for mark in (b"rewrites", b"\\")):
            continue
        from agentmem_cli.session.heads import read_head

        header = read_head(store, log).header
        if header is not None and header.rewrites:
            return f"log {log!r}"
    for name, source in headers_of(store).items():
        if source.rewritten is not None:
            return f"the kept source files/{name}"
    beside = rewritten_beside(store)
    return None if beside is None else f"what stood beside the source, files/{beside}"


def refuse_rewritten(store: DirStore, path: Path) -> None:
    """See that nothing of a session was rewritten.

    Raises:
        ConflictError: Something was.
    """
    part = rewritten_part(store)
    if part is not None:
        msg = f"{path}: its session was rewritten since ({part}); what went would come back"
        raise ConflictError(msg, hint="Give --again to import it as a session of its own.")


def refuse_without_map(store: DirStore, path: Path) -> None:
    """See that a session without a map is a new one.

    Raises:
        ConflictError: It is not.
    """
    if store.logs():
        msg = f"{path}: a session of its name is there that no import made"
        raise ConflictError(msg, hint="Give --again to import it under another name.")
