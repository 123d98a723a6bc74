"""Estimating tokens: of a message, of a tool, of the next request.

An estimate goes by UTF-8 bytes and bounds nothing that a provider charges.

Source: DESIGN.md, "Tokens".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from agentmem_cli.session.codec import dumps
from agentmem_cli.session.message import Message, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.conversation import Conversation

ATTACHMENT_TOKENS: Final = 1_200
"""Tokens that an image or another attachment counts, whatever its size."""

OUTPUT_MARGIN: Final = 4_096
"""Tokens of a window that are kept free, since the input is only estimated."""

_BYTES_PER_TOKEN: Final = 4.0
_ANTHROPIC_BYTES_PER_TOKEN: Final = 3.5
_PER_MESSAGE: Final = 4

# Why no set: a part's type comes from JSON, and an array has no hash.
_ATTACHMENTS: Final = ("image", "audio", "video", "document")


class TokenCounter(Protocol):
    """Counts a message's tokens; a plain function will do."""

    def __call__(self, message: Message, /) -> int:
        """Return how many tokens *message* takes."""
        ...


class HeuristicTokenCounter:
    """An estimate by UTF-8 bytes, each text rounded up by itself.

    Source: DESIGN.md, "Tokens".
    """

    __slots__ = ("bytes_per_token", "per_attachment", "per_message")

    def __init__(
        self,
        bytes_per_token: float = _BYTES_PER_TOKEN,
        per_message: int = _PER_MESSAGE,
        per_attachment: int = ATTACHMENT_TOKENS,
    ) -> None:
        """Keep the costs; *bytes_per_token* that is not finite, or less than 1, is 1."""
        sound = math.isfinite(bytes_per_token) and bytes_per_token >= 1.0
        self.bytes_per_token: Final = float(bytes_per_token) if sound else 1.0
        self.per_message: Final = per_message
        """Tokens of a message besides its parts."""
        self.per_attachment: Final = per_attachment
        """Tokens of an image, a sound, a video or a document."""

    @classmethod
    def anthropic(cls) -> HeuristicTokenCounter:
        """Return a counter with 3.5 bytes a token."""
        return cls(_ANTHROPIC_BYTES_PER_TOKEN)

    def __call__(self, message: Message, /) -> int:
        """Return the estimate of *message*, as `count` does."""
        return self.count_value(message.value)

    def count(self, message: Message) -> int:
        """Return the estimate of *message*."""
        return self.count_value(message.value)

    def count_value(self, value: Object) -> int:
        """Return the estimate of the message whose JSON is *value*."""
        content = value.get("content")
        if type(content) is list and len(content) == 1:
            part = content[0]
            if type(part) is dict:
                # Why apart: most messages are one part, and a log has many messages.
                text = part.get("text")
                if type(text) is str and part.get("type") == "text":
                    size = len(text) if text.isascii() else size_of(text)
                    return self.per_message - int(-size // self.bytes_per_token)
                if part.get("type") == "toolresult":
                    return self.per_message + self.count_result(part)
        return self.count_values((value,))

    def count_values(self, values: Iterable[Object]) -> int:
        """Return the estimate of the messages whose JSON are *values*, together."""
        each = self.bytes_per_token
        per_message = self.per_message
        whole = 0
        for value in values:
            whole += per_message
            content = value.get("content")
            if type(content) is str:
                # Why not `_tokens`: this loop runs over 100,000 messages at a time.
                size = len(content) if content.isascii() else size_of(content)
                whole -= int(-size // each)
            elif type(content) is list:
                for part in content:
                    if type(part) is not dict:
                        continue
                    text = part.get("text")
                    if type(text) is str and part.get("type") == "text":
                        size = len(text) if text.isascii() else size_of(text)
                        whole -= int(-size // each)
                    else:
                        whole += self._part(part)
        return whole

    def count_tool(self, tool: Object) -> int:
        """Return the estimate of a tool's definition: name, description and schema, no overhead.

        Args:
            tool: ``name``, ``description`` and ``parameters`` (the schema, any JSON).
        """
        schema = tool.get("parameters")
        size = sum(
            size_of(text) for key in ("name", "description") if (text := _text(tool.get(key)))
        )
        return self._tokens(size + (0 if schema is None else len(dumps(schema))))

    def _tokens(self, size: int) -> int:
        return -int(-size // self.bytes_per_token)

    def _part(self, part: Object) -> int:
        kind = part.get("type")
        if kind == "toolcall":
            function = part.get("function")
            return self._call(function) if isinstance(function, dict) else 0
        if kind == "toolresult":
            return self.count_result(part)
        if kind in _ATTACHMENTS:
            return self.per_attachment
        if kind == "reasoning":
            return sum(self._tokens(size_of(text)) for text in reasoning_texts(part))
        if kind == "text":
            return 0
        # Why: a part of a newer program is sent too, and costs about what its JSON does.
        return self._tokens(len(dumps(part)))

    def _call(self, function: Object) -> int:
        name = function.get("name")
        size = size_of(name) if isinstance(name, str) else 0
        if "arguments" in function:
            size += len(dumps(function["arguments"]))
        return self._tokens(size)

    def count_result(self, part: Object) -> int:
        """Return the estimate of a tool's result: the sum of its parts."""
        content = part.get("content")
        if type(content) is list and len(content) == 1 and type(content[0]) is dict:
            text = content[0].get("text")
            if type(text) is str and content[0].get("type") == "text":
                return self._tokens(size_of(text))
        whole = 0
        for inner in parts_of(part):
            kind, text = inner.get("type"), inner.get("text")
            if kind == "text":
                whole += self._tokens(size_of(text)) if isinstance(text, str) else 0
            elif kind == "json":
                whole += self._tokens(len(dumps(inner.get("value"))))
            elif kind in _ATTACHMENTS:
                whole += self.per_attachment
            else:
                whole += self._tokens(len(dumps(inner)))
        return whole


DEFAULT_COUNTER: Final = HeuristicTokenCounter()
"""The counter that is used where none is given."""


def estimate_tokens(messages: Iterable[Message]) -> int:
    """Return the sum of *messages* by the default counter."""
    return DEFAULT_COUNTER.count_values(message.value for message in messages)


def output_room(window: int | None, most: int | None, estimate: int) -> int | None:
    """Return how many tokens may be asked for as output.

    Args:
        window: The model's window in tokens; None: not known.
        most: The most that the model puts out; None: not known.
        estimate: What the request is estimated to take.

    Returns:
        None where neither is known; 0: compact first.
    """
    if window is None:
        return most
    left = max(0, window - estimate - OUTPUT_MARGIN)
    return left if most is None else min(most, left)


class Anchor(NamedTuple):
    """What a provider reported for a request."""

    usage: int
    """Tokens of all input, cached ones too, and of the output."""
    through: int
    """The id of the last message that these count: the reply."""


class RequestStart(NamedTuple):
    """What a request began with, to see whether another begins so."""

    model: str
    prompt: str | None
    tools: bytes
    messages: tuple[tuple[int, int | None, bytes], ...]
    """Of each message its id, made time and a digest of its content."""

    def begins(self, other: RequestStart) -> bool:
        """Whether *other* is the same but for messages added at its end."""
        return self[:3] == other[:3] and self.messages == other.messages[: len(self.messages)]


class Prepared(NamedTuple):
    """A request as it would be sent."""

    model: str
    prompt: str | None
    """The system prompt; None: there is none."""
    tools: Sequence[Object]
    """Definitions: ``name``, ``description``, ``parameters``."""
    history: Conversation

    def start(self) -> RequestStart:
        """Return what this request begins with."""
        tools: JSON = list(self.tools)
        messages = tuple(
            (entry.id, entry.made, _digest(entry.message.raw)) for entry in self.history.entries
        )
        return RequestStart(self.model, self.prompt, _digest(dumps(tools)), messages)

    def whole_tokens(self) -> int:
        """Return the estimate of all of it: prompt, tools, each once, and messages."""
        prompt = 0 if self.prompt is None else DEFAULT_COUNTER(Message.system(self.prompt))
        tools = sum(DEFAULT_COUNTER.count_tool(tool) for tool in self.tools)
        return prompt + tools + estimate_tokens(_stored(self.history))


def next_request_tokens(
    prepared: Prepared, anchor: Anchor | None = None, sent: RequestStart | None = None
) -> int:
    """Return the estimate of the next request, by the last usage where that still holds.

    It holds while the message it reaches through is still there and the
    request begins exactly as the one that was *sent*; what stands between its
    end and that message is to be the reply alone. Else all of it is estimated.
    """
    if anchor is not None and sent is not None:
        history = prepared.history
        at = history.index_of(anchor.through)
        if at is not None and at >= len(sent.messages) - 1 and sent.begins(prepared.start()):
            replies = _stored(history, len(sent.messages), at + 1)
            if all(message.role == "assistant" for message in replies):
                return anchor.usage + estimate_tokens(_stored(history, at + 1))
    return prepared.whole_tokens()


def reasoning_texts(part: Object) -> list[str]:
    """Return the texts of a reasoning part, whichever of its forms it has."""
    found: list[str] = []
    todo: list[JSON] = [part.get("content", part.get("text")), part.get("summary")]
    while todo:
        value = todo.pop(0)
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            todo[:0] = value
        elif isinstance(value, dict):
            todo[:0] = [value.get("text"), value.get("content"), value.get("summary")]
    return [text for text in found if text]


def _stored(history: Conversation, start: int = 0, stop: int | None = None) -> Iterable[Message]:
    # Why as stored: a picture counts the same, and need not be read from its blob.
    return (entry.stored for entry in history.entries[start:stop])


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""


def size_of(text: str) -> int:
    """Return how many bytes *text* has as UTF-8; half of a surrogate pair has three."""
    if text.isascii():
        return len(text)
    try:
        # Why without a handler first: with one it takes half as long again.
        return len(text.encode())
    except UnicodeEncodeError:
        return len(text.encode("utf-8", "surrogatepass"))


def _digest(data: bytes) -> bytes:
    import hashlib

    return hashlib.sha256(data).digest()
