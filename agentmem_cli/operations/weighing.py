"""A conversation read for a compaction: folded and weighed in one pass over its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.session.cutting import Shape, shape_of
from agentmem_cli.session.fold import LogFold
from agentmem_cli.session.reader import open_log, reading
from agentmem_cli.session.source import LogSource
from agentmem_cli.session.summaries import tracked_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.lines import Line
    from agentmem_cli.session.summaries import TrackArgument
    from agentmem_cli.storage.store import Store


class Weighed:
    """A log's conversation, and what of each entry a compaction depends on."""

    def __init__(self, rules: Sequence[TrackArgument] = ()) -> None:
        """Keep track of what *rules* name."""
        self.rules = tuple(rules)
        self.shapes: list[Shape] = []
        """Of each entry."""
        self.tracked: list[list[tuple[str, str]]] = []
        """Of each entry what it adds to the sets: set and value."""
        self._fold: LogFold | None = None

    @classmethod
    def read(cls, store: Store, log: str, rules: Sequence[TrackArgument] = ()) -> Weighed:
        """Fold a log strictly, and weigh what stands.

        Raises:
            FileNotFoundError: There is no such log.
            SessionError: It does not read.
        """
        made = cls(rules)
        fold = _WeighedFold(log, LogSource(open_log(store, log), store), made)
        with reading(f"log {log!r}"):
            made._fold = fold.run()
        assert len(made.shapes) == len(made.conversation)
        return made

    @property
    def fold(self) -> LogFold:
        """The fold."""
        assert self._fold is not None
        return self._fold

    @property
    def conversation(self) -> Conversation:
        """The conversation as the log tells it."""
        return self.fold.conversation

    @property
    def tokens(self) -> int:
        """The estimate of all of it."""
        return sum(shape.tokens for shape in self.shapes)

    def may_ask(self) -> list[bool]:
        """Say of each entry whether it may be a request of the user."""
        return [shape.role == "user" and not shape.only_results for shape in self.shapes]

    def put_plain(self, fields: Object) -> None:
        """Weigh the only entry of a plain push, whose record holds *fields*."""
        # Why with no look at what they are: the fold has looked.
        value: Object = fields["entries"][0]["message"]  # type: ignore[index, call-overload, assignment]
        shape = shape_of(value)
        self.shapes.append(shape)
        self.tracked.append(tracked_in(value, self.rules) if shape.asked else _NONE)

    def put(self, fields: Object) -> None:
        """Weigh what a change that was applied puts; its record holds *fields*."""
        kind = fields.get("type")
        if kind == "push":
            self._put(len(self.shapes), len(self.shapes), fields.get("entries"))
        elif kind == "splice":
            from_, to = fields["from"], fields["to"]
            assert isinstance(from_, int)
            assert isinstance(to, int)
            self._put(from_, to, fields.get("with"))
        elif kind == "reset":
            state = fields.get("state")
            self._put(0, len(self.shapes), state.get("entries") if isinstance(state, dict) else [])

    def _put(self, from_: int, to: int, entries: JSON) -> None:
        values = [_message(item) for item in entries] if isinstance(entries, list) else []
        self.shapes[from_:to] = [shape_of(value) for value in values]
        self.tracked[from_:to] = [tracked_in(value, self.rules) for value in values]


class _WeighedFold(LogFold):
    """A strict fold whose entries are weighed while they are decoded."""

    def __init__(self, log: str, source: LogSource, weighed: Weighed) -> None:
        super().__init__(log, source, strict=True)
        self._weighed = weighed

    def _push_plain(self, entry: Entry, fields: Object, offset: int, size: int) -> None:  # noqa: ARG002 - as the fold calls it
        self.conversation.push_new(entry)
        self._weighed.put_plain(fields)

    def _take(self, line: Line) -> None:
        super()._take(line)
        self._weighed.put(line.fields)


_NONE: Final[list[tuple[str, str]]] = []


def _message(item: JSON) -> Object:
    message = item.get("message") if isinstance(item, dict) else None
    return message if isinstance(message, dict) else {}
