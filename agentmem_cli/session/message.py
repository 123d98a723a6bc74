"""Messages: the JSON inside entries, kept as it is.

Only the fields named in DESIGN.md, "Messages", are relied on; roles, parts
and fields that this version does not know are kept and written back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.session.codec import dumps, loads_object, same

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.session.codec import JSON, Object

    Content = str | Iterable[Object]


class Message:
    """One message, as its JSON.

    It is made from the JSON's bytes or from its value, and makes the other
    when asked. Two are equal when they are the same JSON value.
    """

    __slots__ = ("_raw", "_value")

    def __init__(self, raw: bytes | None = None, value: Object | None = None) -> None:
        """Keep *raw* (UTF-8 JSON of an object), *value*, or both if they agree."""
        assert raw is not None or value is not None
        self._raw = raw
        self._value = value

    @classmethod
    def of(cls, value: Object) -> Message:
        """Make a message of any JSON object. *value* must not change afterwards."""
        return cls(value=value)

    @classmethod
    def system(cls, text: str) -> Message:
        """Make a system message."""
        return cls(value={"role": "system", "content": text})

    @classmethod
    def user(cls, content: Content) -> Message:
        """Make a user message of a text or of parts."""
        return cls(value={"role": "user", "content": _parts(content)})

    @classmethod
    def assistant(cls, content: Content, **extra: JSON) -> Message:
        """Make an assistant message of a text or of parts; *extra* such as ``stop``, ``origin``."""
        return cls(value={"role": "assistant", "content": _parts(content), **extra})

    @classmethod
    def tool_result(
        cls, call: JSON, name: str, content: Content, *, is_error: bool = False
    ) -> Message:
        """Make the user message that answers the call with the id *call*."""
        part: Object = {
            "type": "toolresult",
            "call": call,
            "name": name,
            "content": _parts(content),
        }
        if is_error:
            part["is_error"] = True
        return cls(value={"role": "user", "content": [part]})

    @property
    def raw(self) -> bytes:
        """Its JSON, UTF-8; the very bytes it was read from where there were any."""
        if self._raw is None:
            assert self._value is not None
            self._raw = dumps(self._value)
        return self._raw

    @property
    def value(self) -> Object:
        """Its JSON value, decoded exactly. Not to be changed in place."""
        if self._value is None:
            assert self._raw is not None
            self._value = loads_object(self._raw)
        return self._value

    @property
    def role(self) -> str:
        """``system``, ``user``, ``assistant``, or whatever stands there; empty if no string."""
        role = self.value.get("role")
        return role if isinstance(role, str) else ""

    @property
    def content(self) -> JSON:
        """What stands in ``content``: a string, a list of parts, or what a newer writer put."""
        return self.value.get("content")

    @property
    def parts(self) -> list[Object]:
        """The content as parts: a plain string is one text part, what is no object is left out."""
        return parts_of(self.value)

    @property
    def text(self) -> str:
        """The text parts, joined by line ends."""
        texts = (part.get("text") for part in self.parts if part.get("type") == "text")
        return "\n".join(text for text in texts if isinstance(text, str))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        if self._raw is not None and self._raw == other._raw:
            return True
        return same(self.value, other.value)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        text = self.text
        shown = text if len(text) <= 40 else text[:39] + "…"  # noqa: PLR2004 - one short line
        return f"Message({self.role!r}, {len(self.parts)} parts, {shown!r})"


def parts_of(value: Object) -> list[Object]:
    """Return the content of the message *value* as parts, as `Message.parts` does."""
    content = value.get("content")
    if isinstance(content, list):
        return [part for part in content if isinstance(part, dict)]
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return []


def call_id(value: JSON) -> str | None:
    """Return the inner string of a call id: a bare string or a one-key object."""
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    return value if isinstance(value, str) else None


def _parts(content: Content) -> list[JSON]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content)
