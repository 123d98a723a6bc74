"""What a summary holds: its text, and sets of values that outlive every compaction.

Source: DESIGN.md, "Compaction".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.aside import Aside
from agentmem_cli.session.author import Author
from agentmem_cli.session.change import Push, Splice
from agentmem_cli.session.codec import same

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentmem_cli.session.change import Change
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.message import Message

COMPACTED: Final = "compacted"
"""The kind of the side record that says what a summary stands for."""

_KIND: Final[JSON] = {"plugin": "compaction"}

_OPENING: Final = "The earlier part of this conversation was compacted. This is what it came to."

_CLOSING: Final = "The newest request of the user stands below, word for word."


def summary_author() -> Author:
    """Return the author of summaries."""
    return Author(_KIND)


def is_summary(entry: Entry) -> bool:
    """Whether an entry is a compaction's summary."""
    return entry.author is not None and same(entry.author.kind, _KIND)


class TrackArgument(NamedTuple):
    """A rule: an argument of a tool whose values are kept track of."""

    tool: str
    argument: str
    set: str
    """The name of the set that the values go into."""


class TrackedSet(NamedTuple):
    """Values that are kept track of, sorted."""

    name: str
    values: tuple[str, ...] = ()


class SummaryState(NamedTuple):
    """A summary, and the sets that grow with every compaction.

    The default is the state before the first compaction.
    """

    summary: str = ""
    tracked: tuple[TrackedSet, ...] = ()

    def message(self) -> str | None:
        """Return the text that stands for the summarized messages; None: no summary yet.

        A value shows only in the last set that holds it, so that a file that
        was read and then changed shows as changed.
        """
        if not self.summary.strip():
            return None
        parts = [f"{_OPENING}\n\n<summary>\n{_closed(self.summary)}\n</summary>"]
        later: set[str] = set()
        shown: list[str] = []
        for name, values in reversed(self.tracked):
            lines = [_escaped(value) for value in values if value not in later]
            later.update(values)
            if lines:
                tag = _escaped(name).replace(" ", "&#32;")
                shown.append("\n".join([f"<{tag}>", *lines, f"</{tag}>"]))
        return "\n\n".join([*parts, *reversed(shown)])

    def track(self, messages: Iterable[Message], rules: Sequence[TrackArgument]) -> SummaryState:
        """Return the state with what *rules* name of the calls in *messages* added.

        Sets come in the order they were first tracked, new ones in that of the rules.
        """
        found = (pair for message in messages for pair in tracked_in(message.value, rules))
        return self.tracking(found, rules)

    def tracking(
        self, found: Iterable[tuple[str, str]], rules: Sequence[TrackArgument]
    ) -> SummaryState:
        """Return the state with what was *found* (set and value) added; see `track`."""
        sets = {name: set(values) for name, values in self.tracked}
        for rule in rules:
            sets.setdefault(rule.set, set())
        for name, value in found:
            sets.setdefault(name, set()).add(value)
        return self._replace(
            tracked=tuple(TrackedSet(name, tuple(sorted(values))) for name, values in sets.items())
        )

    def to_value(self) -> Object:
        """Return its JSON."""
        tracked: list[JSON] = [
            {"name": name, "values": list(values)} for name, values in self.tracked
        ]
        return {"summary": self.summary, "tracked": tracked}

    @classmethod
    def of(cls, value: JSON) -> SummaryState:
        """Read a state from its JSON; what has another shape counts as not there."""
        if not isinstance(value, dict):
            return cls()
        summary, tracked = value.get("summary"), value.get("tracked")
        sets: list[TrackedSet] = []
        for item in tracked if isinstance(tracked, list) else ():
            if isinstance(item, dict) and isinstance(name := item.get("name"), str):
                values = item.get("values")
                texts = [text for text in _items(values) if isinstance(text, str)]
                sets.append(TrackedSet(name, tuple(sorted(set(texts)))))
        return cls(summary if isinstance(summary, str) else "", tuple(sets))


def tracked_in(value: Object, rules: Sequence[TrackArgument]) -> list[tuple[str, str]]:
    """Return what *rules* name of the calls in the message *value*, as set and value."""
    content = value.get("content")
    if not rules or type(content) is not list:
        return []
    found: list[tuple[str, str]] = []
    for part in content:
        if type(part) is not dict or part.get("type") != "toolcall":
            continue
        function = part.get("function")
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if not isinstance(function, dict) or not isinstance(arguments, dict):
            continue
        tool = function.get("name")
        for name, argument, set_name in rules:
            if name == tool and isinstance(item := arguments.get(argument), str):
                found.append((set_name, item))
    return found


class Compacted(NamedTuple):
    """What a compaction's side record says."""

    summary: int
    """The id of the summary's entry."""
    replaced: tuple[int, ...]
    """The ids of the entries that it stands for."""
    state: SummaryState

    @classmethod
    def of(cls, conversation: Conversation) -> list[Compacted]:
        """Return the compactions of *conversation* that are not undone, oldest first."""
        return [compacted for _, compacted in standing(conversation)]

    @classmethod
    def of_aside(cls, aside: Aside) -> Compacted | None:
        """Read a side record; None: it is no compaction's."""
        value = aside.value
        if aside.kind != COMPACTED or not isinstance(value, dict):
            return None
        summary = value.get("summary")
        ids = [id_ for id_ in _items(value.get("replaced")) if type(id_) is int]
        if type(summary) is not int:
            return None
        return cls(summary, tuple(ids), SummaryState.of(value.get("state")))

    def to_aside(self) -> Aside:
        """Return the side record, standing after the summary."""
        value: Object = {
            "summary": self.summary,
            "replaced": list(self.replaced),
            "state": self.state.to_value(),
        }
        return Aside(COMPACTED, summary_author(), value, self.summary)


def standing(conversation: Conversation) -> list[tuple[int, Compacted]]:
    """Return the compactions that are not undone with their side records' ids, oldest first."""
    found = ((id_, Compacted.of_aside(aside)) for id_, aside in conversation.asides.items())
    return sorted((id_, compacted) for id_, compacted in found if compacted is not None)


def summarized_prefix(conversation: Conversation) -> int:
    """Return how many of the first entries are summaries, which a new one builds on."""
    count = 0
    for entry in conversation.entries:
        if not is_summary(entry):
            break
        count += 1
    return count


def summary_in(change: Change) -> Entry | None:
    """Return the summary that *change* puts into a conversation; None: it puts none."""
    entries: tuple[Entry, ...] = ()
    if isinstance(change, Splice):
        entries = change.with_
    elif isinstance(change, Push):
        entries = change.entries
    return next((entry for entry in entries if is_summary(entry)), None)


def summary_state(conversation: Conversation) -> SummaryState:
    """Return the state that the next compaction builds on.

    It is that of the newest summary at the beginning. Where its side record
    is gone, it is the entry's text, and no set.
    """
    prefix = summarized_prefix(conversation)
    if not prefix:
        return SummaryState()
    newest = conversation.entries[prefix - 1]
    for _, compacted in reversed(standing(conversation)):
        if compacted.summary == newest.id:
            return compacted.state
    parts = newest.stored.parts
    text = parts[0].get("text") if parts else None
    return SummaryState(text if isinstance(text, str) else "")


def summary_parts(state: SummaryState, request: Sequence[Object]) -> list[Object] | None:
    """Return the parts of a summary's entry; None: there is no summary.

    Args:
        state: Its text and its sets.
        request: The parts of the user's newest request, which follow as they
            are; none where it stays in the conversation.
    """
    text = state.message()
    if text is None:
        return None
    if request:
        text = f"{text}\n\n{_CLOSING}"
    return [{"type": "text", "text": text}, *request]


def request_of(entry: Entry) -> list[Object] | None:
    """Return the parts of what *entry* asks for; None: it is no request.

    A request is what a user or another agent wrote, tools' results aside. A
    summary passes the one on that it was made with.
    """
    if is_summary(entry):
        return entry.message.parts[1:] or None
    author = entry.author
    if author is not None and author.kind not in ("user", "agent"):
        return None
    if entry.stored.role != "user":
        return None
    parts = [part for part in entry.message.parts if part.get("type") != "toolresult"]
    told = any(part.get("type") != "text" or str(part.get("text") or "").strip() for part in parts)
    return parts if told else None


def newest_request(
    entries: Sequence[Entry], cut: int, may: Sequence[bool] | None = None
) -> list[Object]:
    """Return the parts of the newest request where it lies before *cut*; else none.

    Args:
        entries: All of them.
        cut: Where the kept part begins.
        may: Which of them may be one, where that is known; None: all.
    """
    for index in range(len(entries) - 1, -1, -1):
        if may is not None and not may[index]:
            continue
        parts = request_of(entries[index])
        if parts is not None:
            return parts if index < cut else []
    return []


_END: Final = re.compile(r"<(?=\s*/\s*summary\b)", re.IGNORECASE)


def _closed(text: str) -> str:
    """Return a summary that cannot end its own tag."""
    return _END.sub("&lt;", text.strip())


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("\n", "&#10;").replace("\r", "&#13;")


def _items(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []
