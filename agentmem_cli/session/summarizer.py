"""Asking a model for a summary, and reading its answer.

Nothing here talks to a model: it makes the request's text, and judges the
answer's.

Source: DESIGN.md, "Compaction".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session import prompts
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.counting import DEFAULT_COUNTER, reasoning_texts
from agentmem_cli.session.message import Message, parts_of
from agentmem_cli.session.refusals import CalledTool, Empty, TooLong, Truncated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.codec import JSON, Object

_CHARACTERS_PER_TOKEN: Final = 4
_TOO_LONG: Final = 2
"""How many times the tokens that were asked for an answer may take: estimates are rough."""

_CUT_STOPS: Final = frozenset(
    {"length", "max_tokens", "maxtokens", "max_output_tokens", "incomplete"}
)


@dataclass(frozen=True, slots=True)
class SummaryPrompts:
    """What a model is asked, in texts that can be replaced one by one."""

    system: str = prompts.SYSTEM
    """Who it is to be, where the conversation is given as text."""
    initial: str = prompts.INITIAL
    """What it is to do with the first part of a conversation."""
    update: str = prompts.UPDATE
    """What it is to do where there is an earlier summary."""
    format: str = prompts.FORMAT
    """How the summary is to look."""
    in_place: str = prompts.IN_PLACE
    """What it is to do where it is asked at the end of the conversation itself."""
    notes: str = prompts.NOTES
    """What it is to note before tool outputs are cleared (see `ClearPlan.apply`)."""


@dataclass(frozen=True, slots=True)
class SummaryLimits:
    """Sizes that a summary and its request keep to."""

    reserve: int = 16_384
    """Tokens of the window to keep free."""
    summary_tokens: int = 12_000
    """The most that a summary is asked to take."""
    snippet_chars: int = 2_000
    """Characters of one tool's arguments or output that are shown."""
    unknown_window_chars: int = 400_000
    """Characters of the conversation that are given where the window is not known."""


class SummaryRequest(NamedTuple):
    """What is sent to a model to get a summary."""

    system: str
    message: Message
    """The one user message."""
    max_tokens: int
    """The most that the answer may take."""

    @property
    def text(self) -> str:
        """The user message's text."""
        return self.message.text


@dataclass(frozen=True, slots=True)
class Summarizer:
    """Makes requests for summaries, and reads the answers."""

    prompts: SummaryPrompts = field(default_factory=SummaryPrompts)
    limits: SummaryLimits = field(default_factory=SummaryLimits)

    def max_tokens(self, window: int | None = None) -> int:
        """Return the most that a summary is asked to take: half of the room at most."""
        most = self.limits.summary_tokens
        return most if window is None else max(1, min(most, self._room(window) // 2))

    def request(
        self,
        older: Sequence[Message],
        previous: str = "",
        focus: str = "",
        window: int | None = None,
    ) -> SummaryRequest:
        """Return the request for a summary of *older*, built on the *previous* one.

        Args:
            older: The messages that are not summarized yet.
            previous: The earlier summary; empty: there is none.
            focus: What to keep above all; may be empty.
            window: The model's window in tokens; None: not known.
        """
        most = self.max_tokens(window)
        room = self.limits.unknown_window_chars
        if window is not None:
            room = max(0, self._room(window) - most) * _CHARACTERS_PER_TOKEN
        task = self.prompts.update if previous.strip() else self.prompts.initial
        ending = [task, *self._focus(focus), self.prompts.format, _length(most)]
        head = (
            [f"<earlier_notes>\n{previous.strip()}\n</earlier_notes>"] if previous.strip() else []
        )
        fixed = "\n\n".join([*head, *ending])
        talk = self._talk(older, max(0, room - len(fixed) - len(self.prompts.system)))
        text = "\n\n".join([*head, f"<record>\n{talk}\n</record>", *ending])
        return SummaryRequest(self.prompts.system, Message.user(text), most)

    def instruction(self, focus: str = "") -> str:
        """Return what asks for a summary at the end of the conversation itself."""
        return "\n\n".join([self.prompts.in_place, *self._focus(focus), self.prompts.format])

    def read_answer(self, answer: Message | str, max_tokens: int | None = None) -> str:
        """Return the summary that an *answer* gives.

        Args:
            answer: The model's reply, or its text alone.
            max_tokens: What it was asked to keep to; None: what the limits say.

        Raises:
            CalledTool: It calls a tool.
            Truncated: It was cut off.
            Empty: It holds no text.
            TooLong: It is more than twice as long as was asked for.
        """
        if isinstance(answer, Message):
            for part in answer.parts:
                if part.get("type") == "toolcall":
                    function = part.get("function")
                    name = function.get("name") if isinstance(function, dict) else None
                    raise CalledTool(name if isinstance(name, str) else None)
            if _is_cut(answer.value.get("stop")):
                raise Truncated
            text = answer.text.strip()
        else:
            text = answer.strip()
        if not text:
            raise Empty
        most = self.limits.summary_tokens if max_tokens is None else max_tokens
        tokens = DEFAULT_COUNTER(Message.user(text))
        if tokens > _TOO_LONG * most:
            raise TooLong(tokens, most)
        return text

    def _room(self, window: int) -> int:
        return max(window - self.limits.reserve, window // 2)

    def _focus(self, focus: str) -> list[str]:
        return [f"Above all, keep what concerns this: {focus.strip()}"] if focus.strip() else []

    def _talk(self, messages: Sequence[Message], room: int) -> str:
        """Return the messages as labelled text of *room* characters at most, the newest whole.

        The first message stays where there is room, since it says what all is about.
        """
        told = [told for message in messages if (told := self._labelled(message.value))]
        size = sum(len(text) + 2 for text in told)
        if size <= room:
            return "\n\n".join(told)
        first = snippet(told[0], max(room // 4, 0))
        left = room - len(first) - _MARK_CHARACTERS
        kept: list[str] = []
        for text in reversed(told[1:]):
            if len(text) + 2 > left:
                break
            left -= len(text) + 2
            kept.append(text)
        gone = len(told) - 1 - len(kept)
        if not kept and left > _MARK_CHARACTERS:
            kept.append(snippet(told[-1], left))
            gone -= 1
        mark = f"[{gone} messages between were left out, since there is no room]"
        return "\n\n".join([first, mark, *reversed(kept)])[: max(room, 0)]

    def _labelled(self, value: Object) -> str:
        role = value.get("role")
        label = _LABELS.get(role, role) if isinstance(role, str) else "?"
        parts = (self._part(part, str(label)) for part in parts_of(value))
        return "\n".join(text for text in parts if text)

    def _part(self, part: Object, label: str) -> str:
        kind, most = part.get("type"), self.limits.snippet_chars
        if kind == "text":
            text = part.get("text")
            return f"{label}: {text.strip()}" if isinstance(text, str) and text.strip() else ""
        if kind == "toolcall":
            function = part.get("function")
            if not isinstance(function, dict):
                return ""
            arguments = snippet(_text_of(function.get("arguments")), most)
            return f"{label} calls {function.get('name')}: {arguments}"
        if kind == "toolresult":
            failed = " (failed)" if part.get("is_error") is True else ""
            inner = "\n".join(_inner(item) for item in parts_of(part))
            return f"Result of {part.get('name') or 'a tool'}{failed}: {snippet(inner, most)}"
        if kind == "reasoning":
            text = "\n".join(reasoning_texts(part)).strip()
            return f"{label} thinks: {snippet(text, most)}" if text else ""
        return f"{label}: [{kind}]"


_LABELS: Final = {"user": "User", "assistant": "Agent", "system": "System"}
_MARK_CHARACTERS: Final = 80


def snippet(text: str, most: int) -> str:
    """Return *text*, or its beginning and its end with how many characters were cut between."""
    if len(text) <= most:
        return text
    mark = f" [... {len(text) - most} characters cut ...] "
    head = most * 2 // 3
    tail = most - head
    return text[:head] + mark + (text[-tail:] if tail else "")


def _inner(part: Object) -> str:
    text = part.get("text")
    if part.get("type") == "text" and isinstance(text, str):
        return text
    if part.get("type") == "json":
        return _text_of(part.get("value"))
    return f"[{part.get('type')}]"


def _text_of(value: JSON) -> str:
    return dumps(value).decode("utf-8")


def _length(most: int) -> str:
    return f"Keep to {most} tokens, about {most * 3 // 4} words, at most."


def _is_cut(stop: JSON) -> bool:
    if isinstance(stop, dict):
        stop = stop.get("kind") or stop.get("type") or next(iter(stop), None)
    return isinstance(stop, str) and stop.lower() in _CUT_STOPS
