"""What Claude Code's records tell beside messages: forks, compactions, the ends of tasks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.adapter import MAIN, Kept, Noted
from agentmem_cli.operations.imports.claude_messages import KIND
from agentmem_cli.operations.imports.naming import session_name
from agentmem_cli.operations.imports.parts import rest
from agentmem_cli.session.codec import loads
from agentmem_cli.session.keys import FORKED_FROM

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.operations.imports.adapter import Item
    from agentmem_cli.session.codec import JSON, Object

_NOTED: Final = {
    "microcompact_boundary": "import.microcompaction",
    "api_error": "import.error",
    "away_summary": "import.away_summary",
    "informational": "import.informational",
    "scheduled_task_fire": "import.scheduled_task_fire",
}
"""Subtypes of ``system`` records, beside compaction, that become asides: of which kind."""

_TREE_KEYS: Final = frozenset(
    {
        "type",
        "subtype",
        "uuid",
        "parentUuid",
        "logicalParentUuid",
        "sessionId",
        "timestamp",
        "cwd",
        "version",
        "gitBranch",
        "isSidechain",
        "userType",
        "isMeta",
        "slug",
        "entrypoint",
        "agentId",
        "level",
    }
)
"""Fields that every record of the tree has."""

_TASK = re.compile(r"<task-id>([^<]+)</task-id>")
_TASK_CALL = re.compile(r"<tool-use-id>([^<]+)</tool-use-id>")


class Fork:
    """The copied records at a fork's head: their ``sessionId`` is still that of their session."""

    def __init__(self, session: str | None) -> None:
        """Look for records that are not of *session*; None: there are none."""
        self._session = session
        self._parent: str | None = None
        self._lines = 0
        self._first = 1
        self.over = session is None
        """Whether nothing more can be told."""

    def sees(self, value: Object) -> bool:
        """Look at a record; return whether it is the first of the fork's own."""
        session = value.get("sessionId")
        # Why: newer versions give a copy the fork's own id, and say in each where it is from.
        origin = value.get("forkedFrom")
        if isinstance(origin, dict):
            session = origin.get("sessionId", session)
        if not isinstance(session, str):
            return False
        if session == self._session:
            self.over = self._parent is None
            return not self.over
        self._parent = session
        self._lines += 1
        return False

    def told(self, count: int, raw: str, agent: str) -> list[Item]:
        """Return what is to be told: after *count* messages, the last one of the id *raw*."""
        if self.over or self._parent is None:
            return []
        self.over = True
        session = session_name(KIND, self._parent)
        fork: Object = {
            "from": self._parent,
            "at": count,
            "lines": self._lines,
            "text": f"forked from {self._parent} at {count}",
        }
        value: Object = {"session": session, "agent": MAIN, "at": count}
        return [
            Noted(self._first, None, "import.fork", fork, raw, agent),
            Kept(self._first, None, FORKED_FROM, value, raw, agent),
        ]


class Rewritten:
    """Prompts and results by content and time: a compaction can write them again under new ids."""

    def __init__(self) -> None:
        """Know none yet."""
        self._seen: set[int] = set()
        self.compacted = False
        """Whether there was a compaction."""

    def again(self, value: Object, agent: str, key: int) -> bool:
        """Whether the record *value*, whose content has the *key*, was there before it."""
        time = value.get("timestamp")
        if not isinstance(time, str):
            return False
        mark = hash((time, agent, key))
        if mark in self._seen:
            return self.compacted
        self._seen.add(mark)
        return False


class Sides:
    """The agents whose records stand inside the main file."""

    def __init__(self) -> None:
        """Know none yet."""
        self._agents: dict[str, str] = {}
        self._last = ""

    def agent(self, value: Object, knows: Callable[[JSON], bool]) -> str:
        """Return whose record *value* is: by its id, by its parent's, or a new one's.

        Args:
            value: The record.
            knows: Whether a record of an id was there before, of any agent.
        """
        named = value.get("agentId")
        if isinstance(named, str) and named:
            return f"agent-{MAIN}" if named == MAIN else named
        uuid, parent = value.get("uuid"), value.get("parentUuid")
        side = self._agents.get(parent) if isinstance(parent, str) else None
        if side is None:
            # Why known: a first record can hang on the call that spawned its agent.
            is_first = parent is None or not self._last or knows(parent)
            begins = isinstance(uuid, str) and is_first
            side = f"side-{str(uuid)[:8]}" if begins else self._last or "side"
        self._last = side
        if isinstance(uuid, str):
            self._agents[uuid] = side
        return side


def system_note(value: Object, subtype: str) -> tuple[str, Object] | None:
    """Return the aside that a ``system`` record becomes, its kind and its value; None: none."""
    if subtype == "compact_boundary":
        return "import.compaction", _compaction(value)
    kind = _NOTED.get(subtype)
    return None if kind is None else (kind, rest(value, _TREE_KEYS))


def _compaction(value: Object) -> Object:
    """Return what a boundary tells; of the messages that were preserved only their number."""
    told: Object = {}
    metadata = value.get("compactMetadata")
    if isinstance(metadata, dict):
        told.update(rest(metadata, {"preservedMessages"}))
        preserved = metadata.get("preservedMessages")
        uuids = preserved.get("uuids") if isinstance(preserved, dict) else None
        if isinstance(uuids, list):
            told["preserved"] = len(uuids)
    if isinstance(value.get("content"), str):
        told["content"] = value["content"]
    return told


def task_of(content: str) -> tuple[str | None, JSON]:
    """Return the agent and the call that a queued notice is about; (None, None): a prompt."""
    task, call = _TASK.search(content), _TASK_CALL.search(content)
    if task is not None and content.lstrip().startswith("<"):
        return task[1], None if call is None else call[1]
    if content.lstrip().startswith("{"):
        try:
            value = loads(content.encode("utf-8", "surrogatepass"))
        except ValueError:
            return None, None
        if isinstance(value, dict) and isinstance(agent := value.get("task_id"), str):
            return agent, value.get("tool_use_id")
    return None, None
