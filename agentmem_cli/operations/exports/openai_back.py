"""Messages that were imported from chat completions, written as they were.

It is the inverse of `imports.openai_messages`; docs/messages-mapping.md says
which field tells what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.exports.callids import ids_of
from agentmem_cli.operations.exports.content import is_blank, text_of
from agentmem_cli.operations.exports.openai import from_result, part_of
from agentmem_cli.operations.exports.openai_fit import fit, fit_call, fit_function
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
    {"type", "id", "function", "call_type", "id_as", "name_as", "type_as"}
    | {"arguments_as", "arguments_text"}
)


def openai_back(turns: Iterable[Turn], left: Left) -> Iterator[Object]:
    """Yield the messages of *turns* as the source had them; each call has its result.

    What the API would refuse of them is put otherwise: `openai_fit`.
    """
    for number, turn in enumerate(turns):
        role = turn.value.get("role")
        if role == "system":
            yield fit(_system(turn.value), left)[0]
        elif role == "user":
            parts = [_part(part) for part in turn.parts]
            message = _with_content({"role": role}, turn.value, parts, "text", _MARKS)
            yield fit(message, left)[0]
        elif role == "assistant":
            yield from _group(turn, number, left)
        elif not is_blank(text := text_of(turn.value)):
            left.mended += 1
            yield {"role": "user", "content": text}


def _group(turn: Turn, number: int, left: Left) -> Iterator[Object]:
    """Yield a reply and the results of its calls."""
    calls = [part for part in turn.parts if part.get("type") == "toolcall"]
    ids = ids_of(calls, number)
    legacy = len(calls) == 1 and calls[0].get("call_type") == "function_call"
    reply = fit(_reply(turn, ids, left, legacy=legacy), left)[0]
    if reply.keys() == {"role", "content"} and reply["content"] is None and turn.value.get("stop"):
        # Why: one that was aborted before it said a word.
        return
    yield reply
    shown: list[JSON] = []
    for answered in turn.answered:
        id_ = ids[id(answered.call)]
        message = _answer_to_function(answered, reply) if legacy else _result(answered, id_)
        told, media = fit(message, left)
        yield told
        if media:
            shown += from_result(id_, media)
    if shown:
        yield {"role": "user", "content": shown}


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
    # Why: what is no part of the source's (it was appended here) is as of any session.
    return part_of(part) or part


_MEDIA: Final = frozenset({"type", "data", "media_type", "mimeType", "data_prefix"})


def _address(part: Object) -> str | None:
    data = part.get("data")
    if not isinstance(data, dict) or not isinstance(value := data.get("value"), str):
        return None
    if data.get("type") != "base64":
        return value
    prefix = part.get("data_prefix")
    return (prefix if isinstance(prefix, str) else data_prefix(part)) + value


def _reply(turn: Turn, ids: dict[int, str], left: Left, *, legacy: bool) -> Object:
    """Return a reply; *legacy*: its call is one from before calls had ids."""
    value = turn.value
    said: list[JSON] = []
    calls: list[JSON] = []
    more: Object = {}
    for part in turn.parts:
        kind = part.get("type")
        if kind == "toolcall" and legacy:
            called = _function(part)
            more["function_call"] = fit_function(called)
            left.mended += called != more["function_call"]
        elif kind == "toolcall":
            calls.append(fit_call(_call(part), ids[id(part)], left))
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
        call["id"] = "" if part.get("id_as") == "empty" else part.get("id")
    kind = part.get("call_type", "function")
    kind = "function" if kind == "function_call" else kind
    if part.get("type_as") != "absent":
        call["type"] = kind
    if kind == "custom":
        call["custom"] = _custom(part)
    elif kind == "function":
        call["function"] = _function(part)
    return {**call, **rest(part, _CALL_MARKS)}


def _told(part: Object) -> Object:
    """Return what is called, without the name that stands for one that the source has not."""
    function = part.get("function")
    told = function if isinstance(function, dict) else {}
    return {**told, "name": ""} if "name_as" in part else told


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


def _result(answered: Answered, id_: str) -> Object:
    """Return the message of the tool that answers the call called *id_*."""
    part, value = answered.result, answered.message
    message: Object = {"role": "tool", "tool_call_id": id_}
    if part is None or value is None:
        return {**message, "content": UNANSWERED}
    if "name_told" in value:
        message["name"] = value["name_told"]
    return _with_content(message, value, _items(part), "text", _RESULT_MARKS)


def _answer_to_function(answered: Answered, reply: Object) -> Object:
    """Return the message of the function that *reply* called."""
    called = reply.get("function_call")
    name = called.get("name") if isinstance(called, dict) else None
    part, value = answered.result, answered.message
    message: Object = {"role": "function", "name": name}
    if part is None or value is None:
        return {**message, "content": UNANSWERED}
    told = "name_as" not in part and value.get("name_as") != "absent"
    if told and isinstance(own := part.get("name"), str) and own:
        message["name"] = own
    if "tool_call_id" in value:
        message["tool_call_id"] = value["tool_call_id"]
    return _with_content(message, value, _items(part), "text", _RESULT_MARKS)


def _items(part: Object) -> list[JSON]:
    """Return what a result holds, as the source had it."""
    content = part.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    items = content if isinstance(content, list) else []
    return [_part(item) if isinstance(item, dict) else item for item in items]
