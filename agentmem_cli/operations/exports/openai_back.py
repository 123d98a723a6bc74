"""Messages that were imported from chat completions, written as they were.

It is the inverse of `imports.openai_messages`; docs/messages-mapping.md says
which field tells what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.exports.turns import UNANSWERED
from agentmem_cli.operations.imports.openai_messages import PDF_PREFIX
from agentmem_cli.operations.imports.parts import data_prefix, rest
from agentmem_cli.session.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentmem_cli.operations.exports.turns import Answered, Left, Turn
    from agentmem_cli.session.codec import JSON, Object

_PLAIN: Final = frozenset({"type", "text"})
_MARKS: Final = frozenset({"role", "content", "source_role", "source_content", "source_refusal"})
_RESULT_MARKS: Final = _MARKS | {"name_told", "name_as", "call_as", "tool_call_id"}
_CALL_MARKS: Final = frozenset(
    {"type", "id", "function", "call_type", "id_as", "type_as", "arguments_as", "arguments_text"}
)


def openai_back(turns: Iterable[Turn], left: Left) -> Iterator[Object]:
    """Yield the messages of *turns* as the source had them; each call has its result."""
    for turn in turns:
        role = turn.value.get("role")
        if role == "system":
            yield _system(turn.value)
        elif role == "user":
            parts = [_part(part) for part in turn.parts]
            yield _with_content({"role": role}, turn.value, parts, "text", _MARKS)
        elif role == "assistant":
            yield _reply(turn.value, turn.parts, left)
            for answered in turn.answered:
                yield _result(answered)
        else:
            yield turn.value


def _system(value: Object) -> Object:
    message: Object = {"role": value.get("source_role", "system")}
    how = value.get("source_content")
    parts = value.get("parts")
    if how == "parts":
        message["content"] = parts
    elif how == "value" and isinstance(parts, list) and parts and isinstance(parts[0], dict):
        message["content"] = parts[0].get("value")
    elif how == "null":
        message["content"] = None
    elif how != "absent":
        message["content"] = value.get("content")
    return {**message, **rest(value, _MARKS | {"parts"})}


def _with_content(
    message: Object, value: Object, parts: Sequence[JSON], usual: str, marks: frozenset[str]
) -> Object:
    """Put the content of *value*, its *parts* translated, and its other fields into *message*."""
    how = value.get("source_content")
    if how == "absent":
        pass
    elif how == "null" or (how is None and not parts and usual == "null"):
        message["content"] = None
    elif how == "value":
        message["content"] = parts[0] if parts else None
    elif how is None and len(parts) == 1 and (text := _plain(parts[0])) is not None:
        message["content"] = text
    else:
        message["content"] = [*parts]
    return {**message, **rest(value, marks)}


def _plain(part: JSON) -> JSON:
    if isinstance(part, dict) and part.keys() == _PLAIN and part["type"] == "text":
        return part["text"]
    return None


def _part(part: Object) -> JSON:
    """Return a part as the source had it."""
    match part.get("type"):
        case "json" if part.keys() == {"type", "value"}:
            return part["value"]
        case "image" if (address := _address(part)) is not None:
            extra = rest(part, _MEDIA)
            if extra.pop("image_url_as", None) == "text":
                return {"type": "image_url", "image_url": address, **extra}
            return {"type": "image_url", "image_url": {"url": address, **extra}}
        case "audio" if isinstance(data := part.get("data"), dict):
            audio: Object = {"data": data.get("value")}
            if "media_type" in part:
                audio["format"] = part["media_type"]
            return {"type": "input_audio", "input_audio": {**audio, **rest(part, _MEDIA)}}
        case "document" if isinstance(data := part.get("data"), dict):
            file: Object = {}
            if data.get("type") == "fileId":
                file["file_id"] = data.get("value")
            else:
                prefix = part.get("data_prefix", PDF_PREFIX)
                file["file_data"] = f"{prefix}{data.get('value') or ''}"
            return {"type": "file", "file": {**file, **rest(part, _MEDIA)}}
    return part


_MEDIA: Final = frozenset({"type", "data", "media_type", "mimeType", "data_prefix"})


def _address(part: Object) -> str | None:
    data = part.get("data")
    if not isinstance(data, dict) or not isinstance(value := data.get("value"), str):
        return None
    if data.get("type") != "base64":
        return value
    prefix = part.get("data_prefix")
    return (prefix if isinstance(prefix, str) else data_prefix(part)) + value


def _reply(value: Object, parts: Sequence[Object], left: Left) -> Object:
    said: list[JSON] = []
    calls: list[JSON] = []
    more: Object = {}
    for part in parts:
        kind = part.get("type")
        if kind == "toolcall" and part.get("call_type") == "function_call":
            more["function_call"] = _function(part)
        elif kind == "toolcall":
            calls.append(_call(part))
        elif kind == "reasoning":
            left.parts["reasoning"] += 1
        else:
            said.append(_part(part))
    if value.get("source_refusal") == "field":
        more["refusal"] = _last_refusal(said)
    message = _with_content({"role": "assistant"}, value, said, "null", _MARKS)
    if calls:
        message["tool_calls"] = calls
    return {**message, **more}


def _last_refusal(said: list[JSON]) -> JSON:
    """Take the last refusal out of the parts: it stood beside them."""
    for at in range(len(said) - 1, -1, -1):
        part = said[at]
        if isinstance(part, dict) and part.get("type") == "refusal":
            del said[at]
            return part.get("refusal")
    return None


def _call(part: Object) -> Object:
    call: Object = {}
    if part.get("id_as") != "absent":
        call["id"] = part.get("id")
    kind = part.get("call_type", "function")
    if part.get("type_as") != "absent":
        call["type"] = kind
    if kind == "custom":
        call["custom"] = _custom(part)
    elif kind == "function":
        call["function"] = _function(part)
    return {**call, **rest(part, _CALL_MARKS)}


def _told(part: Object) -> Object:
    function = part.get("function")
    return function if isinstance(function, dict) else {}


def _custom(part: Object) -> Object:
    told = _told(part)
    arguments = told.get("arguments")
    given = arguments.get("input") if isinstance(arguments, dict) else arguments
    return {"name": told.get("name"), "input": given, **rest(told, ("name", "arguments"))}


def _function(part: Object) -> Object:
    told = _told(part)
    function: Object = {"name": told.get("name")}
    how, arguments = part.get("arguments_as"), told.get("arguments", {})
    if isinstance(text := part.get("arguments_text"), str):
        function["arguments"] = text
    elif how == "value" or isinstance(arguments, str):
        function["arguments"] = arguments
    elif how != "absent":
        function["arguments"] = dumps(arguments).decode()
    return {**function, **rest(told, ("name", "arguments"))}


def _result(answered: Answered) -> Object:
    part, value = answered.result, answered.message
    if part is None or value is None:
        return _missing(answered.call)
    content = part.get("content")
    items = content if isinstance(content, list) else []
    parts = [_part(item) if isinstance(item, dict) else item for item in items]
    message: Object
    if value.get("source_role") == "function":
        message = {"role": "function"}
        if value.get("name_as") != "absent":
            message["name"] = part.get("name")
        if "tool_call_id" in value:
            message["tool_call_id"] = value["tool_call_id"]
    else:
        message = {"role": "tool"}
        if value.get("call_as") != "absent":
            message["tool_call_id"] = part.get("call")
        if "name_told" in value:
            message["name"] = value["name_told"]
    return _with_content(message, value, parts, "text", _RESULT_MARKS)


def _missing(call: Object) -> Object:
    if call.get("call_type") == "function_call":
        return {"role": "function", "name": _told(call).get("name"), "content": UNANSWERED}
    return {"role": "tool", "tool_call_id": call.get("id"), "content": UNANSWERED}
