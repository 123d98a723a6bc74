"""Chat-completions messages: an array, ``{"messages": [...]}``, or JSON lines of either.

Source: OpenAI's public API reference, chat completions; docs/messages-mapping.md.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.adapter import MAIN, Kept, Noted, Said, Transcript
from agentmem_cli.operations.imports.openai_messages import Asked, message_of
from agentmem_cli.operations.imports.parts import Unusable, rest
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.keys import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Item, Line, Tally
    from agentmem_cli.session.codec import JSON, Object

KIND: Final = "openai-messages"

REQUEST_BYTES: Final = 16 << 10
"""Bytes of what stands beside ``messages`` that an aside keeps whole."""

# Why no set: a role comes from JSON, and an array has no hash.
ROLES: Final = ("system", "developer", "user", "assistant", "tool", "function")
_SAYS: Final = frozenset({"content", "tool_calls", "function_call"})
_CERTAIN: Final = 2
_POSSIBLE: Final = 1
_FOREIGN: Final = frozenset(
    {
        "type",
        "payload",
        "message",
        "uuid",
        "sessionId",
        "projectHash",
        "parentId",
        "timestamp",
        "created",
        "record_type",
    }
)
"""Fields of other tools' records."""

_ENDINGS: Final = (".zst", ".jsonl", ".json", ".ndjson")
_DIGEST_BYTES: Final = 5


class OpenAIMessagesAdapter:
    """The adapter of chat-completions messages."""

    kind = KIND
    quiet: frozenset[str] = frozenset()

    def recognises(self, value: Object) -> int:
        """How sure a record makes it, as `Adapter.recognises` says."""
        if not _FOREIGN.isdisjoint(value):
            return 0
        messages = value.get("messages")
        if isinstance(messages, list):
            return _CERTAIN if messages and _is_message(messages[0]) else 0
        if not _is_message(value):
            return 0
        return _CERTAIN if "tool_calls" in value or "tool_call_id" in value else _POSSIBLE

    def open(self, path: Path, head: tuple[Object, ...]) -> Transcript:
        """Return the session at *path*, known by its name and its first message."""
        first: JSON = head[0] if head else None
        if isinstance(first, dict) and isinstance(messages := first.get("messages"), list):
            first = messages[0] if messages else None
        digest = hashlib.blake2b(dumps(first), digest_size=_DIGEST_BYTES).hexdigest()
        stem = path.name
        for ending in _ENDINGS:
            stem = stem.removesuffix(ending)
        return Transcript(KIND, f"{stem or path.name}-{digest}", (OpenAIStream(path),))


class OpenAIStream:
    """A file of messages."""

    agent = MAIN
    parent = None

    def __init__(self, path: Path) -> None:
        """Keep the *path*."""
        self.path = path
        self.name = path.name

    def accepts(self, value: Object) -> bool:
        """Whether *value*, salvaged from a damaged line, is a message or holds some."""
        return _is_message(value) or isinstance(value.get("messages"), list)

    def items(self, lines: Iterable[Line], tally: Tally) -> Iterator[Item]:
        """Yield what the records are, as `Stream.items` says."""
        reading = _Reading(tally)
        for line in lines:
            messages = line.value.get("messages")
            if "role" not in line.value and isinstance(messages, list):
                yield from reading.conversation(line, messages)
            else:
                yield from reading.message(line, line.value)


def _is_message(value: JSON) -> bool:
    """Whether *value* looks like a message."""
    if not isinstance(value, dict) or value.get("role") not in ROLES:
        return False
    return not _SAYS.isdisjoint(value)


class _Reading:
    """One way through a file of messages."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._asked = Asked()
        self._conversations = 0

    def conversation(self, line: Line, messages: list[JSON]) -> Iterator[Item]:
        """Yield a conversation that begins here, and what its record holds."""
        self._asked = Asked(self._asked.made)
        self._conversations += 1
        if self._conversations > 1:
            told: Object = {"conversation": self._conversations}
            yield Noted(line.number, None, "import.conversation", told)
        request = rest(line.value, ("messages",))
        if request:
            small = len(dumps(request)) <= REQUEST_BYTES
            yield Noted(
                line.number, None, "import.request", request if small else {"fields": [*request]}
            )
            model = request.get("model")
            if isinstance(model, str) and model:
                yield Kept(line.number, None, MODEL, model if "/" in model else f"openai/{model}")
        for message in messages:
            if isinstance(message, dict):
                yield from self.message(line, message)
            else:
                self._tally.flaw(line.number, line.byte, "a message that is no object", lost=True)

    def message(self, line: Line, value: Object) -> Iterator[Item]:
        """Yield what a message is."""
        # Why: a file's first array has no record around it.
        self._conversations = self._conversations or 1
        role = value.get("role")
        name = role if isinstance(role, str) else "?"
        self._tally.types[name] += 1
        try:
            message = message_of(value, self._asked)
        except Unusable as error:
            self._tally.flaw(line.number, line.byte, str(error), lost=True)
            return
        if message is None:
            self._tally.left[name] += 1
        else:
            yield Said(line.number, None, message)
