"""How a conversation is compacted: what is kept, what is asked, what is kept track of.

Source: DESIGN.md, "Compaction".
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from agentmem_cli.errors import UsageError
from agentmem_cli.session.clearing import ClearToolOutputs, NearWindow
from agentmem_cli.session.cutting import find_cut, shape_of
from agentmem_cli.session.summaries import (
    SummaryState,
    TrackArgument,
    summarized_prefix,
    summary_state,
)
from agentmem_cli.session.summarizer import (
    Summarizer,
    SummaryLimits,
    SummaryPrompts,
    SummaryRequest,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.entry import Entry


T = TypeVar("T")


class Asked(NamedTuple):
    """Somebody asked for it."""

    focus: str = ""
    """What to keep above all; may be empty."""


class Threshold(NamedTuple):
    """The next request would leave less of the window free than is to be."""


class Overflow(NamedTuple):
    """A model refused a request as too long."""


CompactReason: TypeAlias = Asked | Threshold | Overflow
"""Why a conversation is compacted."""


class SummaryCut(NamedTuple):
    """Where to cut, for a summary that is asked for at the end of the conversation itself."""

    keep_from: int
    """The id of the first message that stays."""
    state: SummaryState
    """The earlier summary, and the sets with what the messages before the cut add."""
    read: tuple[Entry, ...] = ()
    """All that the summary is to stand for, as it was; see `apply_summary`."""


class SummaryPlan(NamedTuple):
    """Where to cut, and what to ask."""

    keep_from: int
    """The id of the first message that stays."""
    state: SummaryState
    """The earlier summary, and the sets with what the messages before the cut add."""
    request: SummaryRequest
    read: tuple[Entry, ...] = ()
    """All that the summary is to stand for, as it was; see `apply_summary`."""


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """How a conversation is compacted."""

    summarizer: Summarizer = field(default_factory=Summarizer)
    """Its prompts and limits stand beside the other fields in JSON."""
    tracked: tuple[TrackArgument, ...] = ()
    keep_recent: int = 20_000
    """Tokens of the newest messages that stay where nobody asked; a quarter of the window
    at most."""
    keep_asked: int = 0
    """Tokens that stay where somebody asked for a compaction."""
    clearing: ClearToolOutputs = field(default_factory=ClearToolOutputs)
    near_window: NearWindow = NearWindow.SUMMARIZE
    """What a host does first when the window nears."""

    @classmethod
    def from_json(cls, value: JSON) -> CompactionPolicy:
        """Read a policy from one flat table; a missing field has its default.

        Raises:
            UsageError: A field is not known, or has another shape.
        """
        table = _table(value, "the policy")
        known = {"prompts", "limits", "tracked", "clearing", "near_window"}
        _refuse_unknown(table, known | {"keep_recent", "keep_asked"}, "the policy")
        limits = SummaryLimits(**_read(table, "limits", SummaryLimits, _a_size))
        if limits.summary_tokens < 1:
            msg = "limits.summary_tokens is 1 or more"
            raise UsageError(msg)
        return cls(
            Summarizer(SummaryPrompts(**_read(table, "prompts", SummaryPrompts, _a_text)), limits),
            tuple(_tracked(item) for item in _a_list(table.get("tracked", []), "tracked")),
            _a_size(table.get("keep_recent", cls().keep_recent), "keep_recent"),
            _a_size(table.get("keep_asked", cls().keep_asked), "keep_asked"),
            ClearToolOutputs(**_read(table, "clearing", ClearToolOutputs, _a_size)),
            _near(table.get("near_window", NearWindow.SUMMARIZE.value)),
        )

    def over_threshold(self, tokens: int, window: int | None) -> bool:
        """Whether *tokens* leave less of a known *window* free than the reserve."""
        return window is not None and tokens > window - self.summarizer.limits.reserve

    def keep(self, reason: CompactReason, window: int | None = None) -> int:
        """Return how many tokens of the newest messages stay."""
        if isinstance(reason, Asked):
            return self.keep_asked
        return self.keep_recent if window is None else min(self.keep_recent, window // 4)

    def cut_summary(
        self, conversation: Conversation, reason: CompactReason, window: int | None = None
    ) -> SummaryCut | None:
        """Say where to cut; None: there is nothing to do. Nothing changes.

        Args:
            conversation: What is to be compacted.
            reason: Why.
            window: The model's window in tokens; None: not known.
        """
        entries = conversation.entries
        start = summarized_prefix(conversation)
        shapes = [shape_of(entry.stored.value) for entry in entries]
        forced = not isinstance(reason, Threshold)
        cut = find_cut(shapes, start, self.keep(reason, window), forced=forced)
        if cut is None:
            return None
        older = [entry.stored for entry in entries[start:cut]]
        state = summary_state(conversation).track(older, self.tracked)
        return SummaryCut(entries[cut].id, state, tuple(entries[:cut]))

    def plan_summary(
        self, conversation: Conversation, reason: CompactReason, window: int | None = None
    ) -> SummaryPlan | None:
        """Say where to cut and what to ask a model; None: there is nothing to do."""
        found = self.cut_summary(conversation, reason, window)
        if found is None:
            return None
        start = summarized_prefix(conversation)
        older = [entry.stored for entry in found.read[start:]]
        focus = reason.focus if isinstance(reason, Asked) else ""
        request = self.summarizer.request(older, found.state.summary, focus, window)
        return SummaryPlan(found.keep_from, found.state, request, found.read)


def _table(value: JSON, where: str) -> Object:
    if not isinstance(value, dict):
        msg = f"{where} is a JSON object"
        raise UsageError(msg)
    return value


def _refuse_unknown(table: Object, known: set[str], where: str) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        msg = f"{where} has no field {unknown[0]!r}"
        raise UsageError(msg, hint=f"Its fields: {', '.join(sorted(known))}.")


def _read(table: Object, name: str, made: type, read: Callable[[JSON, str], T]) -> dict[str, T]:
    inner = _table(table.get(name, {}), name)
    _refuse_unknown(inner, {each.name for each in fields(made)}, name)
    return {key: read(item, f"{name}.{key}") for key, item in inner.items()}


def _a_text(value: JSON, where: str) -> str:
    if not isinstance(value, str):
        msg = f"{where} is a text"
        raise UsageError(msg)
    return value


def _a_size(value: JSON, where: str) -> int:
    if type(value) is not int or value < 0:
        msg = f"{where} is a whole number, 0 or more"
        raise UsageError(msg)
    return value


def _a_list(value: JSON, where: str) -> list[JSON]:
    if not isinstance(value, list):
        msg = f"{where} is an array"
        raise UsageError(msg)
    return value


def _tracked(value: JSON) -> TrackArgument:
    table = _table(value, "an item of tracked")
    _refuse_unknown(table, set(TrackArgument._fields), "an item of tracked")
    texts = [_a_text(table.get(name), f"tracked.{name}") for name in TrackArgument._fields]
    return TrackArgument(*texts)


def _near(value: JSON) -> NearWindow:
    try:
        return NearWindow(_a_text(value, "near_window"))
    except ValueError:
        told = ", ".join(each.value for each in NearWindow)
        msg = f"near_window: {value!r} is none of {told}"
        raise UsageError(msg) from None
