"""One reply of the model, put together from the lines it is spread over.

Claude Code writes a line for each block of a reply, all with the reply's id
and its usage, and at times a line before with less of the same block. Results
of the first calls can stand between the lines of one reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.adapter import Said
from agentmem_cli.operations.imports.claude_messages import block_part, call_part, content_of
from agentmem_cli.operations.imports.parts import rest

if TYPE_CHECKING:
    from agentmem_cli.operations.imports.adapter import Line
    from agentmem_cli.operations.imports.claude_messages import Calls
    from agentmem_cli.session.codec import JSON, Object

SYNTHETIC: Final = "<synthetic>"
"""The model of what the program itself says in the model's place."""

_OWN: Final = frozenset(
    {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"}
)


class Reply:
    """A reply that is being read."""

    __slots__ = (
        "_extra",
        "_line",
        "_stop",
        "_time",
        "_usage",
        "agent",
        "failed",
        "id",
        "keys",
        "known",
        "last_byte",
        "last_count",
        "model",
        "parts",
        "raw",
    )

    def __init__(self, line: Line, time: int | None, agent: str, id_: str | None) -> None:
        """Begin with the first *line* of it; `add` takes its blocks."""
        raw = line.value.get("uuid")
        self.agent = agent
        self.id = id_
        self.raw = raw if isinstance(raw, str) else ""
        self.parts: list[Object] = []
        self.keys: list[int] = []
        """Of its blocks, by `block_key`."""
        self.model: str | None = None
        self.failed = False
        self.known = False
        """Whether earlier lines of it were passed on as a message: its usage is told there."""
        self.last_count = 0
        """How many messages had been read at its newest line."""
        self.last_byte = 0
        """Where its newest line began, in bytes, as far as known."""
        self._line = line.number
        self._time = time
        self._usage: Object | None = None
        self._stop: JSON = None
        self._extra: Object = {}

    def add(self, line: Line, calls: Calls, done: set[int]) -> None:
        """Take a line of it; blocks that are *done* (by `block_key`) stand in another message.

        Raises:
            Unusable: Its content is neither text nor blocks.
        """
        message = line.value.get("message")
        blocks = content_of(message)
        grows = bool(self.parts)
        more = isinstance(message, dict) and self._look(line.value, message)
        for index, block in enumerate(blocks):
            key = block_key(self.id, block)
            if self.known and key in done:
                continue
            self.keys.append(key)
            if isinstance(block, dict) and block.get("type") == "tool_use":
                part = call_part(block, line.number, index, calls)
            else:
                part = block_part(block)
            place = self._place(part, more=more) if grows else -1
            if place < 0:
                self.parts.append(part)
            else:
                self.parts[place] = part

    def _look(self, value: Object, message: Object) -> bool:
        """Take what a line tells beside its blocks; return whether the output has grown."""
        model = message.get("model")
        if isinstance(model, str) and model and model != SYNTHETIC:
            self.model = model
        if message.get("stop_reason") is not None:
            self._stop = message["stop_reason"]
        if message.get("stop_sequence"):
            self._extra["stop_sequence"] = message["stop_sequence"]
        if value.get("isApiErrorMessage") is True:
            self.failed = True
        if not message.keys() <= _OWN:
            self._extra.update(rest(message, _OWN))
        return self._use(message.get("usage"))

    def _use(self, usage: JSON) -> bool:
        """Take a line's usage; return whether the output has grown."""
        if not isinstance(usage, dict):
            return False
        if self._usage is None or usage == self._usage:
            self._usage = usage
            return False
        before = self._usage.get("output_tokens")
        self._usage = largest(self._usage, usage)
        now = usage.get("output_tokens")
        return isinstance(before, int) and isinstance(now, int) and now > before

    def _place(self, part: Object, *, more: bool) -> int:
        """Return where a part like *part* stands that it takes the place of; -1: nowhere."""
        kind = part.get("type")
        for index, old in enumerate(self.parts):
            if old.get("type") != kind:
                continue
            if old == part or (kind == "toolcall" and old.get("id") == part.get("id")):
                return index
            if more and kind in ("text", "reasoning"):
                before, now = _words(old), _words(part)
                if before is not None and now is not None and now.startswith(before):
                    return index
        return -1

    def said(self, *, open_: bool) -> Said:
        """Return it as a message; *open_*: whether later lines may still add to it."""
        message: Object = {"role": "assistant", "content": [*self.parts]}
        if self.model is not None:
            message["origin"] = {"provider": "anthropic", "model": self.model}
        stop = "error" if self.failed else self._stop
        if stop is not None:
            message["stop"] = stop
        if self.id is not None:
            message["id"] = self.id
        if self._usage is not None and not self.known:
            message["usage"] = self._usage
        for key, value in self._extra.items():
            message.setdefault(key, value)
        return Said(self._line, self._time, message, None, self.raw, self.agent, open_)


def _words(part: Object) -> str | None:
    text = part.get("text")
    if part.get("type") == "reasoning":
        content = part.get("content")
        first = content[0] if isinstance(content, list) and content else {"text": ""}
        text = first.get("text") if isinstance(first, dict) else None
    return text if isinstance(text, str) else None


def largest(one: Object, other: Object) -> Object:
    """Return two usages as one: of each number the larger, field by field, inside objects too."""
    both = dict(one)
    for key, value in other.items():
        old = both.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            both[key] = largest(old, value)
        elif _is_number(old) and _is_number(value):
            both[key] = max(old, value)  # type: ignore[type-var]
        elif value is not None:
            both[key] = value
    return both


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def block_key(owner: str | None, block: JSON) -> int:
    """Return a number by which a block of the reply *owner* is known again."""
    if type(block) is dict:
        for key in _TELLING:
            value = block.get(key)
            if type(value) is str:
                content = block.get("content")
                said = _gist(content) if type(content) is str else None
                return hash((owner, key, _gist(value), said))
        source = block.get("source")
        if type(source) is dict and type(data := source.get("data")) is str:
            # Why apart: a text remembers its hash, and a copy as long as an image costs more.
            block = {**block, "source": {**source, "data": None}}
            return hash((owner, repr(block), _gist(data)))
    return hash((owner, repr(block)))


def _gist(text: str) -> str | tuple[int, ...]:
    """Return what a text is known again by; of one as long as an image, samples of it.

    Who asks compares ids or times too, and what is known again is told, and
    stands in the source that is kept.
    """
    size = len(text)
    if size < _LONG_TEXT:
        return text
    step = size // _SAMPLES
    samples = (text[at : at + _SAMPLE] for at in range(0, size, step))
    return (size, hash(text[-_SAMPLE:]), *map(hash, samples))


_LONG_TEXT: Final = 1 << 20
"""Characters from which samples are taken: to hash a text takes as long as to decode it."""

_SAMPLES: Final = 64
_SAMPLE: Final = 4_096
"""Characters of a sample."""


def content_key(blocks: list[JSON]) -> int:
    """Return a number by which a whole content is known again, whoever's it is."""
    return hash(tuple(block_key(None, block) for block in blocks))


_TELLING: Final = ("id", "text", "thinking", "tool_use_id", "data")
"""Fields of which one tells a block from others."""
