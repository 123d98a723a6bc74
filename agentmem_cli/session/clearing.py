"""Clearing old tool outputs: the calls stay, and what they gave back becomes a short note.

Source: DESIGN.md, "Clearing".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.counting import DEFAULT_COUNTER
from agentmem_cli.session.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeGuard

    from agentmem_cli.session.author import Author
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.entry import Entry

PLACEHOLDER: Final = "[cleared: this output was old and took room; call the tool again to see it]"
"""What stands where an output was."""


class NearWindow(StrEnum):
    """What is done first when a conversation nears the model's window."""

    SUMMARIZE = "summarize"
    CLEAR = "clear"


class Cleared(NamedTuple):
    """What a clearing takes out."""

    results: int = 0
    """How many outputs."""
    tokens: int = 0
    """What they were estimated to take."""


@dataclass(frozen=True, slots=True)
class ClearPlan:
    """Which outputs of a conversation are to be cleared."""

    cleared: Cleared = field(default_factory=Cleared)
    """What applying it takes out."""
    through: int | None = None
    """The id of the newest message that holds one of them; None: nothing is cleared."""
    places: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """The parts by message id, each counted from 0 in the message's content."""

    def results(self, conversation: Conversation) -> Iterator[Object]:
        """Yield the result parts of *conversation* that it clears, oldest first."""
        for entry in conversation.entries:
            for place in sorted(self.places.get(entry.id, ())):
                part = _result_at(entry.stored.value, place)
                if part is not None:
                    yield part

    def apply(
        self,
        conversation: Conversation,
        notes: str | None = None,
        by: Author | None = None,
        *,
        at: int | None = None,
    ) -> Cleared:
        """Clear them, as one splice; a message that is gone meanwhile is left out.

        Args:
            conversation: What is edited.
            notes: A text that is put after the outputs of the message `through`;
                where results of the same reply's calls follow it, after those.
            by: Who makes the change.
            at: When, ms since 1970-01-01 UTC; None: now.

        Returns:
            What it was planned to take out.
        """
        edited: dict[int, Entry] = {}
        for index, entry in enumerate(conversation.entries):
            places = self.places.get(entry.id)
            message = None if places is None else _without(entry.message, places)
            if message is not None:
                edited[index] = entry.with_message(message)
        if edited and notes:
            index = _end_of_results(conversation.entries, max(edited))
            entry = edited.get(index, conversation.entries[index])
            edited[index] = entry.with_message(_with_note(entry.message, notes))
        if edited:
            first, last = min(edited), max(edited)
            old = conversation.entries[first : last + 1]
            new = [edited.get(first + place, entry) for place, entry in enumerate(old)]
            conversation.restore(first, last + 1, new, by=by, at=at)
        return self.cleared


@dataclass(frozen=True, slots=True)
class ClearToolOutputs:
    """How much of tools' outputs is kept: the newest, errors, and what is short."""

    keep_tokens: int = 40_000
    """Tokens of the newest outputs that stay."""
    keep_under: int = 200
    """An output of fewer tokens stays, since clearing it gives little."""

    def clear(self, messages: list[Message]) -> Cleared:
        """Clear old outputs of *messages* in place."""
        places, cleared = self._walk([message.value for message in messages])
        for index, parts in places.items():
            message = _without(messages[index], parts)
            assert message is not None
            messages[index] = message
        return cleared

    def plan(self, conversation: Conversation) -> ClearPlan:
        """Say what is to be cleared; change nothing."""
        entries = conversation.entries
        places, cleared = self._walk([entry.stored.value for entry in entries])
        by_id = {entries[index].id: parts for index, parts in places.items()}
        through = entries[max(places)].id if places else None
        return ClearPlan(cleared, through, by_id)

    def _walk(self, values: Sequence[Object]) -> tuple[dict[int, tuple[int, ...]], Cleared]:
        """Return the parts to clear by message, walking back from the last but one."""
        found: dict[int, tuple[int, ...]] = {}
        running = results = tokens = 0
        for index in range(len(values) - 2, -1, -1):
            parts: list[int] = []
            for place, part in reversed(list(enumerate(_items(values[index])))):
                if not _is_output(part):
                    continue
                size = DEFAULT_COUNTER.count_result(part)
                running += size
                if running > self.keep_tokens and size >= self.keep_under:
                    parts.append(place)
                    tokens += size
            if parts:
                found[index] = tuple(reversed(parts))
                results += len(parts)
        return found, Cleared(results, tokens)


def _is_output(part: JSON) -> TypeGuard[Object]:
    """Whether *part* is a result that may be cleared: no error, and not cleared before."""
    if not isinstance(part, dict) or part.get("type") != "toolresult":
        return False
    return part.get("is_error") is not True and part.get("content") != _PLACE


_PLACE: Final[list[JSON]] = [{"type": "text", "text": PLACEHOLDER}]


def _without(message: Message, places: Sequence[int]) -> Message | None:
    """Return *message* with the outputs at *places* cleared; None: there are none."""
    value = message.value
    items = list(_items(value))
    found = False
    for place in places:
        part = _result_at(value, place)
        if part is not None and _is_output(part):
            # Why: a provider's own copy of the part would hold the output still.
            kept = {key: item for key, item in part.items() if key != "native"}
            items[place] = {**kept, "content": _PLACE}
            found = True
    return Message.of({**value, "content": items}) if found else None


def _with_note(message: Message, notes: str) -> Message:
    items = list(_items(message.value))
    last = max(place for place in range(len(items)) if _result_at(message.value, place))
    items.insert(last + 1, {"type": "text", "text": notes})
    return Message.of({**message.value, "content": items})


def _end_of_results(entries: Sequence[Entry], index: int) -> int:
    """Return the last message of results that belongs to those of the message *index*.

    A text beside results ends the waiting of calls, so it goes where none waits.
    """
    end = index
    for later in range(index + 1, len(entries)):
        value = entries[later].stored.value
        if value.get("role") == "assistant":
            break
        if any(_result_at(value, place) for place in range(len(_items(value)))):
            end = later
        elif value.get("role") == "user":
            break
    return end


def _items(value: Object) -> list[JSON]:
    content = value.get("content")
    return content if isinstance(content, list) else []


def _result_at(value: Object, place: int) -> Object | None:
    items = _items(value)
    part = items[place] if place < len(items) else None
    return part if isinstance(part, dict) and part.get("type") == "toolresult" else None
