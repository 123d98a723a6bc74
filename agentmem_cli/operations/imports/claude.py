"""Claude Code's sessions: JSON lines that form a tree, with agents in files of their own.

A session is its main file with the files of its agents. An agent's file whose
main file is gone is a session of its own. What stands in which module:
`claude_files` finds files, `claude_reading` goes through one, `claude_replies`
puts replies together, `claude_messages` translates, `claude_tree` tells what
is missing or was left.

Source: public descriptions of its files as of 2026 (versions 1.0 to 2.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.adapter import MAIN, Kept, Noted, Said, Transcript
from agentmem_cli.operations.imports.claude_files import (
    AGENT_FILE,
    UUID,
    Child,
    Family,
    Files,
    Outputs,
    child_at,
    main_file,
    own_folders,
)
from agentmem_cli.operations.imports.claude_messages import KIND
from agentmem_cli.operations.imports.claude_reading import Own, Reading
from agentmem_cli.operations.imports.naming import session_name
from agentmem_cli.operations.imports.opening import is_plain
from agentmem_cli.session.keys import TITLE
from agentmem_cli.session.message import Message
from agentmem_cli.session.meta import title_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Item, Line, Stream, Tally
    from agentmem_cli.session.codec import JSON, Object

SPAWNED: Final = "agentmem.spawned_by"
"""The saved value (in an agent's log) of the call that began it: ``{"call", "type"}``."""

_CERTAIN: Final = 2
_POSSIBLE: Final = 1

_IN_TREE: Final = frozenset({"user", "assistant", "system", "attachment", "progress"})
_LOOSE: Final = {
    "summary": "summary",
    "file-history-snapshot": "snapshot",
    "queue-operation": "operation",
    "custom-title": "customTitle",
    "ai-title": "aiTitle",
    "last-prompt": "lastPrompt",
    "permission-mode": "permissionMode",
    "attribution-snapshot": "fileStates",
    "speculation-accept": "timeSavedMs",
}
"""Records outside of the tree by their type, and a field that they have."""

_QUIET: Final = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "ai-title",
        "atis-latch",
        "attachment",
        "attribution-snapshot",
        "bridge-session",
        "content-replacement",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "meta.json",
        "mode",
        "permission-mode",
        "pr-link",
        "progress",
        "queue-operation",
        "speculation-accept",
        "summary",
        "system",
        "tag",
        "task-summary",
        "worktree-state",
    }
)


class ClaudeAdapter:
    """The adapter of Claude Code's transcripts."""

    kind = KIND
    quiet = _QUIET

    def __init__(self) -> None:
        """Know no folder yet."""
        self._files = Files()

    def recognises(self, value: Object) -> int:
        """How sure a record makes it, as `Adapter.recognises` says."""
        kind = value.get("type")
        if not isinstance(kind, str) or "payload" in value:
            return 0
        if kind in _IN_TREE:
            if not isinstance(value.get("uuid"), str) and "sessionId" not in value:
                return _POSSIBLE if _speaks(value, kind) else 0
            return _CERTAIN if _speaks(value, kind) or "parentUuid" in value else _POSSIBLE
        return _POSSIBLE if _LOOSE.get(kind, "sessionId") in value else 0

    def open(self, path: Path, head: tuple[Object, ...]) -> Transcript:
        """Return the session at *path*; of an agent's file the one that it belongs to."""
        main = self._files.main_of(path)
        if main is not None:
            return self._session(main, main.stem)
        named = AGENT_FILE.fullmatch(path.name)
        if named is not None and any(value.get("isSidechain") is True for value in head):
            return _orphan(path)
        return self._session(path, _session_id(path, head))

    def has_agents(self, path: Path) -> bool:
        """Whether the file *path*, whatever it holds, stands where a session with agents has it."""
        if path.suffix != ".jsonl" or AGENT_FILE.fullmatch(path.name) or path.is_symlink():
            return False
        return bool(self._files.children(path, path.stem))

    def _session(self, path: Path, session: str) -> Transcript:
        children = self._files.children(path, session)
        main = ClaudeStream(path, Own(MAIN, session, Outputs(path, session)), path.name)
        streams = (main, *_agents(path, session, children))
        return Transcript(KIND, session, streams, beside=own_folders(path, session))


def _speaks(value: Object, kind: str) -> bool:
    return kind in ("user", "assistant") and isinstance(value.get("message"), dict)


def _session_id(path: Path, head: Sequence[Object]) -> str:
    """Return a session's id: its file's name where that can be, else what its records say.

    A fork's records begin with those of the session it was copied from.
    """
    told = [
        session for value in head if isinstance(session := value.get("sessionId"), str) and session
    ]
    if path.stem in told or UUID.fullmatch(path.stem) or not told:
        return path.stem
    return told[-1]


def _agents(main: Path, session: str, children: Sequence[Child]) -> Iterator[Stream]:
    """Yield the files of the agents of a *session* whose own file is (or would be) *main*."""
    family = Family(children)
    outputs = Outputs(main, session)
    for child in children:
        name = child.path.relative_to(main.parent).as_posix()
        own = Own(child.agent, None, outputs, is_child=True)
        yield ClaudeStream(child.path, own, name, child, family)
        if is_plain(child.meta):
            meta = child.meta.relative_to(main.parent).as_posix()
            yield MetaStream(child, family, meta)


def _orphan(path: Path) -> Transcript:
    child = child_at(path)
    told: Object = {"agent": child.agent, "session": child.session}
    main = main_file(path, child.session)
    if main is None or child.session is None:
        return Transcript(KIND, _alone(child), (OrphanStream(path, told),))
    told["part_of"] = session_name(KIND, child.session)
    whole = Transcript(KIND, child.session, tuple(_agents(main, child.session, [child])))
    return Transcript(KIND, _alone(child), (OrphanStream(path, told),), whole=whole)


def _alone(child: Child) -> str:
    """Return the id of the session that an agent's file is where its session's is not there."""
    agent = f"agent-{child.agent}"
    return agent if child.session is None else f"{child.session}-{agent}"


class ClaudeStream:
    """A transcript: the main one, or an agent's."""

    def __init__(
        self,
        path: Path,
        own: Own,
        name: str,
        child: Child | None = None,
        family: Family | None = None,
    ) -> None:
        """Read *path* for *own*; an agent's comes with what is known of it."""
        self.path = path
        self.name = name
        self.agent = own.agent
        self.begins = None if child is None else child.begins
        self.alone = None if child is None else _alone(child)
        self._own = own
        self._family = family

    @property
    def parent(self) -> str | None:
        """The agent that spawned it."""
        return None if self._family is None else self._family.parent(self.agent)

    def accepts(self, value: Object) -> bool:
        """Whether *value*, salvaged from a damaged line, is a record."""
        kind = value.get("type")
        if not isinstance(kind, str):
            return False
        if kind in _IN_TREE:
            return "uuid" in value or "sessionId" in value
        return _LOOSE.get(kind, "sessionId") in value

    def finds(self, told: str) -> bool:
        """Whether the output that the transcript calls *told* is to be had."""
        outputs = self._own.outputs
        return outputs is not None and outputs.find(told)[0] is not None

    def items(self, lines: Iterable[Line], tally: Tally) -> Iterator[Item]:
        """Yield what the records are, as `Stream.items` says."""
        return Reading(tally, self._own).items(lines)


class OrphanStream(ClaudeStream):
    """An agent's transcript whose session is not there."""

    def __init__(self, path: Path, told: Object) -> None:
        """Read *path*; *told* is what is known of its session."""
        super().__init__(path, Own(MAIN, None, None, is_child=True), path.name)
        self._told = told

    def items(self, lines: Iterable[Line], tally: Tally) -> Iterator[Item]:
        """Yield a note that the session is not there, then what the records are.

        Its title is its task, unless a record gives one before: nobody typed it.
        """
        yield Noted(1, None, "import.orphan", self._told)
        titled = False
        for item in super().items(lines, tally):
            yield item
            if titled:
                continue
            if isinstance(item, Kept):
                titled = item.key == TITLE
            elif isinstance(item, Said) and (text := Message.of(item.message).text.strip()):
                titled = True
                yield Kept(item.line, item.time, TITLE, title_of(text), item.raw)


class MetaStream:
    """What stands beside an agent's transcript: its description, its kind, its call."""

    anew = True
    """Whether the file can be replaced by another one."""

    def __init__(self, child: Child, family: Family, name: str) -> None:
        """Read the description of *child*, kept as *name*."""
        self.path = child.meta
        self.name = name
        self.agent = child.agent
        self.begins = child.begins
        self._family = family

    @property
    def parent(self) -> str | None:
        """The agent that spawned it."""
        return self._family.parent(self.agent)

    def accepts(self, value: Object) -> bool:
        """Whether *value*, salvaged from a damaged line, is a description."""
        return "agentType" in value or "toolUseId" in value

    def items(self, lines: Iterable[Line], tally: Tally) -> Iterator[Item]:
        """Yield the saved values that it tells, at the time of the agent's beginning."""
        for line in lines:
            tally.types["meta.json"] += 1
            value = line.value
            if not (self.accepts(value) or "description" in value):
                tally.flaw(line.number, line.byte, "no description of an agent", lost=True)
                continue
            told: Object = {"call": value.get("toolUseId"), "type": value.get("agentType")}
            yield Kept(line.number, self.begins, SPAWNED, told, "", self.agent)
            title: JSON = value.get("description")
            if isinstance(title, str) and title:
                yield Kept(line.number, self.begins, TITLE, title, "", self.agent)
        if not (tally.records or tally.lost or tally.torn):
            tally.flaw(1, 0, "empty, no description of an agent", lost=True)
