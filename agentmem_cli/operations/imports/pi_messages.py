"""pi's messages, role by role, as messages of a session here.

What pi's fields say in another word is translated; fields that have no
counterpart are kept under their own names, except for a message's own
``timestamp``, which only repeats the line's.

Source: pi's docs/session.md and its version 1 and 3 session files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.imports.parts import (
    Unusable,
    image_part,
    readable,
    rest,
    text_part,
    tool_name,
)
from agentmem_cli.session.author import Author

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object


class Bash(NamedTuple):
    """A command that the user ran and kept from the model."""

    value: Object
    """Its fields as pi wrote them."""


class Spoken(NamedTuple):
    """A message and who wrote it (None: by its role)."""

    message: Object
    author: Author | None = None


class Calls:
    """The calls that still wait for a result: for records that lack a call's id."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        """Start without one."""
        self._waiting: list[tuple[JSON, JSON]] = []

    def begin(self) -> None:
        """Forget the calls of earlier replies."""
        self._waiting = []

    def add(self, call: JSON, name: JSON) -> None:
        """Note a call by its id and its tool's name."""
        self._waiting.append((call, name))

    def answered(self, call: JSON, name: JSON) -> JSON:
        """Return the id of the call that a result answers: *call*, else the first that waits.

        Returns:
            None where no call waits and the result names none.
        """
        for index, (waiting, tool) in enumerate(self._waiting):
            if waiting == call or (call is None and name in (None, tool)):
                del self._waiting[index]
                return waiting
        return call


_TEXT: Final = frozenset({"type", "text"})
_IMAGE: Final = frozenset({"type", "data", "mimeType"})
_THINKING: Final = frozenset({"type", "thinking", "thinkingSignature"})
_CALL: Final = frozenset({"type", "id", "name", "arguments"})
_USER: Final = frozenset({"role", "content", "timestamp"})
_ASSISTANT: Final = _USER | {"provider", "model", "api", "stopReason"}
_RESULT: Final = _USER | {"toolCallId", "toolName", "isError"}
_BASH: Final = frozenset({"role", "timestamp", "output", "excludeFromContext"})
_SUMMARY: Final = frozenset({"role", "timestamp", "summary"})


def message_of(message: Object, role: str, line: int, calls: Calls) -> Spoken | Bash | None:
    """Return what a pi message is here.

    Args:
        message: The ``message`` of a message entry.
        role: What `role_of` says of it.
        line: The source line, from 1; names calls that have no id.
        calls: The waiting calls; kept up to date.

    Returns:
        None for an unknown role with nothing to read.

    Raises:
        Unusable: Its shape is not one of a message.
    """
    found: Spoken | Bash | None
    match role:
        case "user":
            spoken: Object = {"role": role, "content": _user_parts(message)}
            found = Spoken({**spoken, **rest(message, _USER)})
        case "assistant":
            found = Spoken(_assistant(message, line, calls))
        case "toolResult":
            found = Spoken(_tool_result(message, line, calls))
        case "bashExecution":
            found = _bash(message)
        case "custom" | "hookMessage":
            found = custom_of(rest(message, {"role"}))
        case "branchSummary" | "compactionSummary":
            found = _summary(message, role)
        case _:
            found = _other(message, role)
    return found


def role_of(message: Object) -> str:
    """Return the role, or the one that the fields speak of where there is none.

    Raises:
        Unusable: There is none, and the fields do not tell.
    """
    role = message.get("role")
    if isinstance(role, str):
        return role
    if role is None:
        if "toolCallId" in message:
            return "toolResult"
        if "command" in message and "output" in message:
            return "bashExecution"
        if "stopReason" in message or "model" in message:
            return "assistant"
    msg = "a message without a role"
    raise Unusable(msg)


def custom_of(message: Object) -> Spoken:
    """Return what an extension of pi put into the context.

    Raises:
        Unusable: Its content has no known shape.
    """
    name = message.get("customType")
    known = {"type", "id", "parentId", "timestamp", "content", "customType"}
    spoken: Object = {"role": "user", "content": _user_parts(message), **rest(message, known)}
    return Spoken(spoken, Author.plugin(name if isinstance(name, str) and name else "pi"))


def _assistant(message: Object, line: int, calls: Calls) -> Object:
    calls.begin()
    parts: list[JSON] = []
    for part in _listed(message):
        if type(part) is not dict:
            parts.append(_plain(part))
            continue
        match part.get("type"):
            case "toolCall":
                parts.append(_call(part, line, len(parts), calls))
            case "thinking":
                parts.append(_thinking(part))
            case _:
                parts.append(_user_part(part))
    spoken: Object = {"role": "assistant", "content": parts}
    origin: Object = {
        key: message[key] for key in ("provider", "model", "api") if message.get(key) is not None
    }
    if origin:
        spoken["origin"] = origin
    if message.get("stopReason") is not None:
        spoken["stop"] = message["stopReason"]
    spoken.update(rest(message, _ASSISTANT))
    return spoken


def _call(part: Object, line: int, index: int, calls: Calls) -> Object:
    name = part.get("name")
    call = part.get("id")
    if call in (None, ""):
        call = f"line-{line}-{index}"
    calls.add(call, name)
    function: Object = {
        "name": tool_name(name),
        "arguments": part.get("arguments", {}),
    }
    return {"type": "toolcall", "id": call, "function": function, **rest(part, _CALL)}


def _thinking(part: Object) -> Object:
    text = part.get("thinking")
    content: list[JSON] = [text_part(text)] if isinstance(text, str) else []
    made: Object = {"type": "reasoning", "content": content}
    if "thinkingSignature" in part:
        made["signature"] = part["thinkingSignature"]
    made.update(rest(part, _THINKING))
    return made


def _tool_result(message: Object, line: int, calls: Calls) -> Object:
    name = message.get("toolName")
    call = calls.answered(message.get("toolCallId") or None, name)
    content: list[JSON] = []
    for part in _listed(message):
        if isinstance(part, dict) and part.get("type") in ("text", "image"):
            content.append(_user_part(part))
        elif isinstance(part, str):
            content.append(text_part(part))
        else:
            content.append({"type": "json", "value": part})
    result: Object = {
        "type": "toolresult",
        "call": f"line-{line}" if call is None else call,
        "name": tool_name(name),
        "content": content,
    }
    if message.get("isError") is True:
        result["is_error"] = True
    result.update(rest(message, _RESULT))
    return {"role": "user", "content": [result]}


def _bash(message: Object) -> Spoken | Bash:
    if message.get("excludeFromContext") is True:
        return Bash(rest(message, {"role", "timestamp"}))
    command, output = message.get("command"), message.get("output")
    text = f"$ {command if isinstance(command, str) else ''}"
    if isinstance(output, str) and output:
        text += f"\n{output}"
    status = message.get("exitCode")
    if status not in (None, 0):
        text = f"{text.rstrip()}\n[exit status {status}]"
    for key in ("cancelled", "truncated"):
        if message.get(key) is True:
            text = f"{text.rstrip()}\n[{key}]"
    spoken: Object = {"role": "user", "content": [text_part(text)], "bash": rest(message, _BASH)}
    return Spoken(spoken, Author.user(title="bash"))


def _summary(message: Object, role: str) -> Spoken:
    summary = message.get("summary")
    if not isinstance(summary, str):
        msg = f"a {role} without a summary"
        raise Unusable(msg)
    spoken: Object = {"role": "user", "content": [text_part(summary)]}
    return Spoken({**spoken, **rest(message, _SUMMARY)}, Author.plugin(role))


def _other(message: Object, role: str) -> Spoken | None:
    content = message.get("content")
    if not readable(content):
        return None
    if role == "system" and not isinstance(content, str):
        texts = [part.get("text") for part in _user_parts(message) if isinstance(part, dict)]
        content = "\n".join(text for text in texts if isinstance(text, str))
    elif role != "system":
        content = _user_parts(message)
    return Spoken({"role": role, "content": content, **rest(message, _USER)})


def _user_parts(message: Object) -> list[JSON]:
    return [
        _user_part(part) if isinstance(part, dict) else _plain(part) for part in _listed(message)
    ]


def _user_part(part: Object) -> Object:
    """Return a text or an image; a part of another type stays as it is."""
    kind = part.get("type")
    if kind == "image":
        return image_part(part.get("data"), part.get("mimeType"), rest(part, _IMAGE))
    if kind == "text" and not isinstance(part.get("text"), str):
        return {"type": "text", "text": "", **rest(part, _TEXT)}
    return part


def _listed(message: Object) -> list[JSON]:
    """Return the content as a list; a text is one text part, nothing is no part.

    Raises:
        Unusable: It is something else.
    """
    content = message.get("content")
    if isinstance(content, list):
        return content
    if isinstance(content, str):
        return [text_part(content)]
    if content is None:
        return []
    msg = "a message whose content is neither text nor parts"
    raise Unusable(msg)


def _plain(part: JSON) -> Object:
    return text_part(part) if isinstance(part, str) else {"type": "json", "value": part}
