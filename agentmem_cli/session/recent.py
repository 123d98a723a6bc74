"""Recent messages: which newest messages a request sends.

Source: DESIGN.md, "Recent messages".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from agentmem_cli.session.counting import DEFAULT_COUNTER
from agentmem_cli.session.pairing import UNASKED, Waiting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.counting import TokenCounter
    from agentmem_cli.session.message import Message


class Recent(Protocol):
    """Says where the newest messages begin that are to be kept."""

    def start(self, messages: Sequence[Message]) -> int:
        """Return the index of the first message to keep, at most ``len(messages)``."""
        ...


class LastMessages(NamedTuple):
    """The newest *n* messages."""

    n: int

    def start(self, messages: Sequence[Message]) -> int:
        """Return the index of the first of them."""
        return max(0, len(messages) - max(0, self.n))


class TokenBudget(NamedTuple):
    """The newest messages that fit *max_tokens*, up to the first that does not."""

    max_tokens: int
    counter: TokenCounter = DEFAULT_COUNTER

    def start(self, messages: Sequence[Message]) -> int:
        """Return the index of the oldest message that fits."""
        left = self.max_tokens
        for index in range(len(messages) - 1, -1, -1):
            left -= self.counter(messages[index])
            if left < 0:
                return index + 1
        return 0


def view(messages: Sequence[Message], recent: Recent) -> Sequence[Message]:
    """Return the newest messages that *recent* keeps, none of them an orphan result.

    The beginning moves forward past every result whose call it cut off, and
    past results that nobody asked for where it would begin with one. What is
    left may be empty.
    """
    return messages[whole_start(messages, recent.start(messages)) :]


def whole_start(messages: Sequence[Message], start: int) -> int:
    """Move *start* forward until no result after it answers a call before it."""
    start = max(0, start)
    asked = start - 1
    while asked >= 0 and messages[asked].role != "assistant":
        asked -= 1
    waiting = Waiting()
    # Why from the last reply: a reply ends the waiting of all calls before it.
    for index in range(max(asked, 0), len(messages)):
        message = messages[index]
        if index >= start and (message.role == "assistant" or not waiting.open):
            break
        before = len(waiting.open)
        waiting.feed(message.value)
        if index >= start and len(waiting.open) < before and _answers(message):
            start = index + 1
    while start < len(messages) and _is_orphan(messages[start]):
        start += 1
    return start


def _answers(message: Message) -> bool:
    return any(part.get("type") == "toolresult" for part in message.parts)


def _is_orphan(message: Message) -> bool:
    """Whether a window that begins with *message* begins with a result nobody asked for."""
    waiting = Waiting()
    waiting.feed(message.value)
    return any(problem.kind == UNASKED for problem in waiting.problems)
