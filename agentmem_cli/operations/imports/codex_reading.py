"""One way through a rollout, record by record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.adapter import CWD, Kept, Noted, Said, any_ms
from agentmem_cli.operations.imports.codex_messages import Messages
from agentmem_cli.operations.imports.codex_notes import header_items, note_of
from agentmem_cli.operations.imports.codex_parts import (
    COMPACTIONS,
    ITEMS,
    OUTPUTS,
    REPLIES,
    content_parts,
    injected,
    kind_of,
    role_told,
)
from agentmem_cli.operations.imports.codex_tree import Origin, header_of, is_header
from agentmem_cli.operations.imports.codex_turns import Doubles, Step, Turns
from agentmem_cli.operations.imports.parts import Unusable
from agentmem_cli.session.keys import MODEL, TITLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.operations.imports.adapter import Item, Line, Tally
    from agentmem_cli.operations.imports.codex_notes import Around
    from agentmem_cli.session.codec import JSON, Object

RECORDS: Final = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
)
"""The types of a rollout's lines that are known; there are more."""

_TURNS: Final = frozenset(
    {"task_started", "task_complete", "turn_started", "turn_complete", "turn_aborted"}
)
_SPOKEN: Final = {"user_message": "user", "agent_message": "assistant"}

_ASIDES: Final = {
    "turn_aborted": "import.aborted",
    "thread_rolled_back": "import.rollback",
    "error": "import.error",
    "collab_agent_spawn_end": "import.spawn",
    "context_compacted": "import.compaction",
}

_COUNTED: Final = frozenset(
    {
        "token_count",
        "agent_reasoning",
        "agent_reasoning_raw_content",
        "agent_reasoning_section_break",
        "exec_command_begin",
        "exec_command_end",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "patch_apply_begin",
        "patch_apply_end",
        "web_search_begin",
        "web_search_end",
        "turn_diff",
    }
)
"""Events that only tell how what stands in response items came about."""

EVENTS: Final = _TURNS | _ASIDES.keys() | _SPOKEN.keys() | _COUNTED
"""Events that are known by name; the others are counted by theirs."""

QUIET: Final = frozenset(
    {
        "session_meta",
        "turn_context",
        "state",
        "world_state",
        "response_item/ghost_snapshot",
        *(f"event_msg/{kind}" for kind in (_TURNS | _COUNTED) - {"agent_reasoning"}),
        "event_msg/background_event",
        "event_msg/deprecation_notice",
        "event_msg/error",
        "event_msg/mcp_startup_complete",
        "event_msg/mcp_startup_update",
        "event_msg/plan_update",
        "event_msg/session_configured",
        "event_msg/shutdown_complete",
        "event_msg/stream_error",
        "event_msg/thread_name_updated",
        "event_msg/thread_rolled_back",
        "event_msg/thread_settings_applied",
        "event_msg/warning",
    }
)
"""What a rollout can hold before its first message, as tallies have it."""


class Reading:
    """One way through a rollout, and what has to be remembered on it."""

    def __init__(self, tally: Tally, around: Around) -> None:
        """Start before the first line; *around* is what lies around the rollout."""
        self._tally = tally
        self._around = around
        self._turns = Turns()
        self._messages = Messages(self._turns)
        self._doubles = Doubles()
        self._header: Origin | None = None
        self._held: list[Item] = []
        self._begun: int | None = None
        self._model: str | None = None
        self._compacted = False
        self._takes = {
            "response_item": self._response,
            "event_msg": self._event,
            "session_meta": self._meta,
            "turn_context": self._context,
            "compacted": self._compaction,
        }

    def items(self, lines: Iterable[Line]) -> Iterator[Item]:
        """Yield what the records are."""
        found = self._turns.found
        for line in lines:
            try:
                self._line(line)
            except Unusable as error:
                self._tally.flaw(line.number, line.byte, str(error), lost=True)
            if found:
                yield from self._dated(found)
                found.clear()
        waits = self._doubles.waits
        self._end_turn(open_=True)
        if waits:
            _reopen(found)
        self._release(None)
        yield from self._dated(found)

    def _dated(self, found: list[Item]) -> list[Item]:
        """Give the first item the header's time where its own record has none."""
        if found and self._begun is not None:
            if found[0].time is None:
                found[0] = found[0]._replace(time=self._begun)
            self._begun = None
        return found

    def _line(self, line: Line) -> None:
        value = line.value
        item = value.get("payload")
        kind = value.get("type")
        if type(item) is not dict:
            self._flat(line, kind)
            return
        if kind == "event_msg" and not self._held and kind_of(item) in _COUNTED:
            # Why first: every second line of a rollout is one of these.
            self._count(item)
            return
        time = any_ms(value.get("timestamp"))
        if self._held and kind != "session_meta":
            self._release(time)
        take = self._takes.get(kind if isinstance(kind, str) else _told(item))
        if take is None:
            self._tally.leave(kind if isinstance(kind, str) else "?")
        else:
            take(line, time, item)

    def _flat(self, line: Line, kind: JSON) -> None:
        """Take a line without a payload: old rollouts have nothing else."""
        value = line.value
        if self._header is None and is_header(value):
            self._meta(line, any_ms(value.get("timestamp")), value)
        elif kind_of(value) in ITEMS:
            time = any_ms(value.get("timestamp"))
            if self._held:
                self._release(time)
            self._response(line, time, value)
        elif isinstance(kind, str):
            self._tally.leave(kind)
        else:
            state = value.get("record_type")
            self._tally.leave(state if isinstance(state, str) else "?")

    def _meta(self, line: Line, time: int | None, item: Object) -> None:
        if self._header is not None:
            # Why: a fork or a child may repeat its parent's header; the first is the file's own.
            self._tally.leave("session_meta")
            return
        self._tally.types["session_meta"] += 1
        self._header = header_of(item)
        if time is None:
            time = any_ms(item.get("timestamp"))
        self._begun = time
        self._held = header_items(line.number, time, item, self._around)
        cwd = item.get("cwd")
        self._messages.cwd = cwd if isinstance(cwd, str) and cwd else None
        self._name_model(line.number, time, item.get("model"), self._held)

    def _release(self, first: int | None) -> None:
        """Pass on what the header told; one younger than the first record takes its time."""
        if first is not None:
            self._begun = None
        for item in self._held:
            late = first is not None and item.time is not None and item.time > first
            self._turns.spoken(item._replace(time=None) if late else item)
        self._held = []

    def _context(self, line: Line, time: int | None, item: Object) -> None:
        self._tally.types["turn_context"] += 1
        cwd = item.get("cwd")
        told: list[Item] = []
        if isinstance(cwd, str) and cwd and cwd != self._messages.cwd:
            self._messages.cwd = cwd
            told.append(Kept(line.number, time, CWD, cwd))
        self._name_model(line.number, time, item.get("model"), told)
        for each in told:
            self._beside(each)

    def _name_model(self, line: int, time: int | None, model: JSON, told: list[Item]) -> None:
        if not isinstance(model, str) or not model:
            return
        provider = "openai" if self._header is None else self._header.provider
        name = f"{provider}/{model}"
        if name != self._model:
            self._model = name
            told.append(Kept(line, time, MODEL, name))
            self._turns.origin = {"provider": provider, "model": model}

    def _compaction(self, line: Line, time: int | None, item: Object) -> None:
        self._tally.types["compacted"] += 1
        self._end_turn()
        self._compacted = True
        told = note_of(item, "compacted")
        self._turns.spoken(Noted(line.number, time, "import.compaction", told))

    def _response(self, line: Line, time: int | None, item: Object) -> None:
        kind = kind_of(item)
        self._tally.types[f"response_item/{kind}"] += 1
        step = Step(line.number, time, kind, item)
        if kind == "message":
            self._message(step)
        elif kind in REPLIES or kind in OUTPUTS:
            if self._doubles.waits:
                self._use(self._doubles.answered())
                self._feed(step)
            else:
                self._messages.take(step)
        elif kind in COMPACTIONS or kind == "agent_message":
            self._feed(step)
        else:
            self._tally.left[f"response_item/{kind}"] += 1

    def _message(self, step: Step) -> None:
        content = step.item.get("content")
        parts = content_parts(content)
        role = step.item.get("role")
        if not isinstance(role, str):
            role = role_told(content)
        texts = [
            text.strip()
            for part in parts
            if type(part) is dict and isinstance(text := part.get("text"), str)
        ]
        if role == "assistant" or (role == "user" and not (parts and injected(parts[-1]))):
            step.role = role
            step.text = (texts[0],) if len(texts) == 1 else ("\n".join(texts), *texts)
        step.item = {**step.item, "role": role, "content": parts}
        self._feed(step)

    def _event(self, line: Line, time: int | None, item: Object) -> None:
        kind = item.get("type")
        kind = kind if isinstance(kind, str) else "?"
        name = f"event_msg/{kind}"
        if kind in _COUNTED:
            self._count(item)
            return
        self._tally.types[name] += 1
        if kind in _SPOKEN:
            step = Step(line.number, time, kind, item)
            text = item.get("message")
            step.role, step.event = _SPOKEN[kind], True
            step.text = (text.strip() if isinstance(text, str) else "",)
            self._feed(step)
            return
        if kind == "turn_aborted":
            self._use(self._doubles.end())
            self._turns.aborted()
            self._turns.flush()
        if not self._noted(line, time, kind, item):
            self._tally.left[name] += 1
        if kind in _TURNS:
            self._end_turn()

    def _noted(self, line: Line, time: int | None, kind: str, item: Object) -> bool:
        """Make an aside or a saved value of an event; return whether it is one of those."""
        if kind == "thread_name_updated":
            title = item.get("thread_name", item.get("name"))
            if not isinstance(title, str) or not title:
                return False
            self._beside(Kept(line.number, time, TITLE, title))
            return True
        aside = _ASIDES.get(kind)
        if kind == "context_compacted" and self._compacted:
            # Why: the event of the compaction that was told just before.
            self._compacted = False
            return False
        if aside is not None:
            self._beside(Noted(line.number, time, aside, note_of(item, kind)))
        return aside is not None

    def _count(self, item: Object) -> None:
        """Count an event that nothing is made of; the tokens it tells are the reply's."""
        kind = item["type"]
        self._tally.leave(f"event_msg/{kind}")
        if kind == "token_count" and isinstance(info := item.get("info"), dict):
            usage = info.get("last_token_usage")
            if isinstance(usage, dict):
                self._turns.used(usage)

    def _end_turn(self, *, open_: bool = False) -> None:
        self._use(self._doubles.end())
        self._turns.flush(open_=open_)

    def _beside(self, item: Item) -> None:
        if self._doubles.waits:
            # Why: it stands behind what waits. A step of its own carries it.
            step = Step(item.line, item.time, "", {})
            step.carried = item
            self._use(self._doubles.feed(step))
        else:
            self._turns.beside(item)

    def _feed(self, step: Step) -> None:
        self._use(self._doubles.feed(step))
        for dropped in self._doubles.dropped:
            name = "event_msg" if dropped.event else "response_item"
            self._tally.left[f"{name}/{dropped.kind}"] += 1
        self._doubles.dropped.clear()

    def _use(self, steps: list[Step]) -> None:
        for step in steps:
            if step.carried is not None:
                self._turns.beside(step.carried)
            else:
                self._messages.take(step)


def _told(item: Object) -> str:
    """Return the type of a line that has none, by what its payload is."""
    if kind_of(item) in EVENTS and "recipient" not in item:
        return "event_msg"
    if kind_of(item) in ITEMS:
        return "response_item"
    if "cwd" in item and "id" in item:
        return "session_meta"
    if "model" in item and "cwd" in item:
        return "turn_context"
    return "compacted" if "replacement_history" in item else ""


def _reopen(found: list[Item]) -> None:
    """What stands behind an event that may yet turn out to be a double can still change."""
    for index, item in enumerate(found):
        if isinstance(item, Said):
            found[index] = item._replace(open=True)
