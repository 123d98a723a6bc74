"""A conversation read for a compaction: folded and weighed in one pass over its log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.session.cutting import Shape, shape_of
from agentmem_cli.session.reader import fold_log
from agentmem_cli.session.summaries import tracked_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.fold import LogFold
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
        made._fold = fold_log(store, log, on_record=made._look)
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

    def _look(self, line: Line, _: LogFold) -> None:
        fields = line.fields
        kind = fields.get("type")
        if kind == "push":
            entries = fields.get("entries")
            if type(entries) is list and len(entries) == 1:
                # Why apart: almost every record of a log is one.
                value = _message(entries[0])
                shape = shape_of(value)
                self.shapes.append(shape)
                self.tracked.append(tracked_in(value, self.rules) if shape.asked else _NONE)
            else:
                self._put(len(self.shapes), len(self.shapes), entries)
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


_NONE: Final[list[tuple[str, str]]] = []


def _message(item: JSON) -> Object:
    message = item.get("message") if isinstance(item, dict) else None
    return message if isinstance(message, dict) else {}
