"""The agents of a session, each under the one that spawned it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.facts import seen_in
from agentmem_cli.session.keys import NAME, SESSION, TITLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentmem_cli.operations.facts import Seen
    from agentmem_cli.session.codec import JSON

FOLD_BYTES_MAX: Final = 16 << 20
"""Bytes of a log that is still read whole to count its messages; a tree stays quick."""


class AgentRow(NamedTuple):
    """One agent in a listing."""

    id: str
    """Its log's name."""
    depth: int
    """How many agents stand above it in the tree."""
    parent: str | None
    """The agent that spawned it, whether or not that one is there."""
    children: int
    """Agents that it spawned itself."""
    name: str | None
    """What it was called where its log had to be called otherwise."""
    title: str | None
    """Its title: the saved one, or the first words that were said to it."""
    messages: int | None
    """Messages of its conversation; None: its log is too large to be counted on the way."""
    size_bytes: int
    """Bytes of its log."""
    started_ms: int | None
    updated_ms: int | None
    retired: bool


def agents_of(path: str, main_messages: int | None) -> list[AgentRow]:
    """Return the agents of the session at *path*, parents before their children.

    Args:
        path: The session directory.
        main_messages: What the listing knows of the main agent's messages.

    Raises:
        OSError: A log cannot be read.
    """
    from agentmem_cli.storage.survey import survey

    logs = [log for log in survey(path).logs if log[0] != SESSION]
    sizes = {log: size for log, size, _ in logs}
    seen = seen_in(path, logs)
    below: dict[str | None, list[str]] = {}
    for log, one in seen.items():
        # Why: an agent whose parent is not there stands at the top, and is not lost.
        above = one.parent if one.parent in seen and one.parent != log else None
        below.setdefault(above, []).append(log)
    found: list[AgentRow] = []
    placed: set[str] = set()

    def place(log: str, depth: int) -> None:
        if log in placed:
            return
        placed.add(log)
        under = _in_order(below.get(log, ()), seen)
        messages = _messages(path, seen[log], sizes[log])
        if messages is None and len(below.get(None, ())) == 1 and depth == 0:
            messages = main_messages
        found.append(_row(seen[log], depth, len(under), messages, sizes[log]))
        for child in under:
            place(child, depth + 1)

    for log in (*_in_order(below.get(None, ()), seen), *_in_order(seen, seen)):
        place(log, 0)
    return found


def _in_order(logs: Iterable[str], seen: dict[str, Seen]) -> Sequence[str]:
    return sorted(logs, key=lambda log: (seen[log].started_ms or 0, log))


def _messages(path: str, seen: Seen, size: int) -> int | None:
    if seen.messages is not None or size > FOLD_BYTES_MAX:
        return seen.messages
    from agentmem_cli.errors import AgentMemError
    from agentmem_cli.session.reader import fold_log
    from agentmem_cli.storage.directory import DirStore

    try:
        return len(fold_log(DirStore(path, 0), seen.log, strict=False).conversation)
    except (AgentMemError, OSError):
        return None


def _row(seen: Seen, depth: int, children: int, messages: int | None, size: int) -> AgentRow:
    from agentmem_cli.session.meta import title_of

    first = None if seen.first_text is None else title_of(seen.first_text)
    return AgentRow(
        seen.log,
        depth,
        seen.parent,
        children,
        _text(seen.saved.get(NAME)),
        _text(seen.saved.get(TITLE)) or first,
        messages,
        size,
        seen.started_ms,
        seen.updated_ms,
        seen.retired,
    )


def _text(value: JSON) -> str | None:
    return value if isinstance(value, str) else None
