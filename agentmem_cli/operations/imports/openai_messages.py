"""One chat-completions message as a message of a session here.

Everything is kept so that the message can be written again as it was: where
something did not stand there in the usual way, a field of its own says how.

Source: docs/messages-mapping.md, which names those fields.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.parts import (
    Unusable,
    image_of_url,
    readable,
    rest,
    text_part,
    tool_name,
)
from agentmem_cli.session.codec import dumps, loads

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

PDF_PREFIX: Final = "data:application/pdf;base64,"
"""How the data of a file usually begins."""

_BASE: Final = frozenset({"role", "content"})
_TOOL: Final = _BASE | {"tool_call_id", "name"}
_PLAIN: Final = frozenset({"type", "text"})


class Asked:
    """The calls that wait for a result."""

    __slots__ = ("_begins", "_calls", "_unnamed", "made")

    def __init__(self, made: int = 0) -> None:
        """Start without one, where *made* ids have been made up in the file before."""
        self._calls: list[tuple[str, str]] = []
        self._unnamed: deque[str] = deque()
        self._begins = True
        self.made = made
        """How many ids have been made up."""

    def begin(self) -> None:
        """A reply begins: of calls without an id those of the last reply that has some wait."""
        self._begins = True

    def add(self, call: str, name: str) -> str:
        """Note a call by its id (empty: it has none) and its tool's name; return its id here."""
        self._calls.append((call, name))
        if call:
            return call
        if self._begins:
            self._unnamed.clear()
            self._begins = False
        self._unnamed.append(self._made_up())
        return self._unnamed[-1]

    def answered(self, call: str | None, name: JSON) -> tuple[str, str]:
        """Return the id here, and the name (empty: it has none), of the call that a result answers.

        Args:
            call: The id that the result names; None: none.
            name: The tool that the result names; None: none.
        """
        told, tool = call or "", ""
        for index, waiting in enumerate(self._calls):
            named = call is None and (not isinstance(name, str) or waiting[1] == name)
            if named or waiting[0] == call:
                told, tool = self._calls.pop(index)
                break
        if told:
            return told, tool
        return (self._unnamed.popleft() if self._unnamed else self._made_up()), tool

    def _made_up(self) -> str:
        self.made += 1
        return f"unnamed-{self.made}"


def message_of(value: Object, asked: Asked) -> Object | None:
    """Return what a message is here.

    Args:
        value: The message.
        asked: The waiting calls; kept up to date.

    Returns:
        None for an unknown role with nothing to read.

    Raises:
        Unusable: It has no role.
    """
    role = value.get("role")
    match role:
        case "system" | "developer":
            return _system(value, role)
        case "user":
            parts, how = _content(value, "text")
            return _told({"role": role, "content": parts}, how, rest(value, _BASE))
        case "assistant":
            return _reply(value, asked)
        case "tool" | "function":
            return _result(value, role, asked)
        case str():
            return {**value} if readable(value.get("content")) else None
        case _:
            msg = "a message without a role"
            raise Unusable(msg)


def _told(message: Object, how: str | None, extra: Object) -> Object:
    if how is not None:
        message["source_content"] = how
    return {**message, **extra}


def _system(value: Object, role: str) -> Object:
    content = value.get("content")
    extra = rest(value, _BASE)
    message: Object = {"role": "system", "content": content if isinstance(content, str) else ""}
    if role != "system":
        message["source_role"] = role
    if isinstance(content, str):
        return {**message, **extra}
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        message["content"] = "\n".join(text for text in texts if isinstance(text, str))
        message["parts"] = content
        return _told(message, "parts", extra)
    if content is not None:
        message["parts"] = [{"type": "json", "value": content}]
        return _told(message, "value", extra)
    return _told(message, "null" if "content" in value else "absent", extra)


def _content(value: Object, usual: str) -> tuple[list[JSON], str | None]:
    """Return the content as parts, and how it stood there (None: in the usual way).

    Args:
        value: The message.
        usual: What an empty content usually is: ``text`` (it is not empty) or ``null``.
    """
    content = value.get("content")
    if isinstance(content, str):
        return [text_part(content)], None
    if isinstance(content, list):
        parts = [_part(item) for item in content]
        plain = len(parts) == 1 and isinstance(parts[0], dict) and parts[0].keys() == _PLAIN
        shown_as_text = plain and isinstance(parts[0], dict) and parts[0]["type"] == "text"
        return parts, "parts" if shown_as_text or not parts else None
    if content is not None:
        return [{"type": "json", "value": content}], "value"
    how = "null" if "content" in value else "absent"
    return [], None if how == usual else how


def _part(item: JSON) -> JSON:
    if not isinstance(item, dict):
        return {"type": "json", "value": item}
    match item.get("type"):
        case "image_url":
            return _image(item)
        case "input_audio" if isinstance(audio := item.get("input_audio"), dict):
            return _audio(item, audio)
        case "file" if isinstance(file := item.get("file"), dict):
            return _document(item, file)
    return item


def _image(item: Object) -> Object:
    told = item.get("image_url")
    extra = rest(item, ("type", "image_url"))
    if isinstance(told, str):
        return image_of_url(told, {"image_url_as": "text", **extra})
    if not isinstance(told, dict) or not isinstance(told.get("url"), str):
        return item
    return image_of_url(told["url"], {**rest(told, ("url",)), **extra})


def _audio(item: Object, audio: Object) -> Object:
    data = audio.get("data")
    if not isinstance(data, str):
        return item
    made: Object = {"type": "audio", "data": {"type": "base64", "value": data}}
    if "format" in audio:
        made["media_type"] = audio["format"]
    made.update(rest(audio, ("data", "format")))
    return {**made, **rest(item, ("type", "input_audio"))}


def _document(item: Object, file: Object) -> Object:
    made: Object = {"type": "document"}
    data, id_ = file.get("file_data"), file.get("file_id")
    if isinstance(data, str) and "file_id" not in file:
        comma = data.find(";base64,", 0, 200)
        prefix = data[: comma + len(";base64,")] if data.startswith("data:") and comma > 0 else ""
        made["data"] = {"type": "base64", "value": data[len(prefix) :]}
        if prefix == PDF_PREFIX:
            made["media_type"] = "pdf"
        else:
            made["data_prefix"] = prefix
    elif isinstance(id_, str) and "file_data" not in file:
        made["data"] = {"type": "fileId", "value": id_}
    else:
        return item
    made.update(rest(file, ("file_data", "file_id")))
    return {**made, **rest(item, ("type", "file"))}


def _reply(value: Object, asked: Asked) -> Object:
    asked.begin()
    parts, how = _content(value, "null")
    extra = rest(value, _BASE)
    refusal = value.get("refusal")
    if isinstance(refusal, str) and refusal:
        parts = [*parts, {"type": "refusal", "refusal": refusal}]
        extra["source_refusal"] = "field"
        del extra["refusal"]
    calls = value.get("tool_calls")
    if isinstance(calls, list) and calls and all(isinstance(each, dict) for each in calls):
        parts = [*parts, *(_call(each, asked) for each in calls if isinstance(each, dict))]
        del extra["tool_calls"]
    legacy = value.get("function_call")
    if isinstance(legacy, dict):
        parts = [*parts, _called(legacy, asked)]
        del extra["function_call"]
    return _told({"role": "assistant", "content": parts}, how, extra)


def _call(call: Object, asked: Asked) -> Object:
    """Return an element of ``tool_calls`` as a part."""
    kind = call.get("type", "function")
    key = kind if kind in ("function", "custom") and isinstance(kind, str) else ""
    told = call.get(key)
    known = isinstance(told, dict)
    told = told if isinstance(told, dict) else {}
    part, function = _begun(call.get("id"), told.get("name"), asked)
    if known and key == "custom":
        function["arguments"] = {"input": told.get("input")}
        function.update(rest(told, ("name", "input")))
    else:
        part.update(_arguments(told, function))
    if kind != "function":
        # Why any: a kind of its own; what answers it can still be told by its id.
        part["call_type"] = kind
    if "type" not in call:
        part["type_as"] = "absent"
    part.update(rest(call, ("id", "type", key) if known else ("id", "type")))
    return part


def _begun(id_: JSON, name: JSON, asked: Asked) -> tuple[Object, Object]:
    """Return the beginning of a call's part, and what it calls: id and name are never empty."""
    given = (id_ if isinstance(id_, str) else "", name if isinstance(name, str) else "")
    function: Object = {"name": tool_name(name)}
    part: Object = {"type": "toolcall", "id": asked.add(*given), "function": function}
    for field, text, told in (("id_as", id_, given[0]), ("name_as", name, given[1])):
        if not told:
            part[field] = "empty" if text == "" else "absent"
    return part, function


def _called(told: Object, asked: Asked) -> Object:
    """Return a legacy ``function_call`` as a part; it has no id."""
    part, function = _begun(None, told.get("name"), asked)
    part["call_type"] = "function_call"
    part.update(_arguments(told, function))
    return part


def _arguments(told: Object, function: Object) -> Object:
    """Put the arguments into *function*; return the fields that say how they stood there."""
    text = told.get("arguments")
    marks: Object = {}
    if isinstance(text, str):
        value = _object(text)
        function["arguments"] = text if value is None else value
        if value is not None and dumps(value) != text.encode("utf-8", "surrogatepass"):
            marks["arguments_text"] = text
    elif "arguments" in told:
        function["arguments"] = text
        marks["arguments_as"] = "value"
    else:
        function["arguments"] = {}
        marks["arguments_as"] = "absent"
    function.update(rest(told, ("name", "arguments")))
    return marks


def _object(text: str) -> Object | None:
    try:
        value = loads(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _result(value: Object, role: str, asked: Asked) -> Object:
    call, name = value.get("tool_call_id"), value.get("name")
    told = call if isinstance(call, str) else "" if role == "function" else None
    id_, tool = asked.answered(told, name)
    parts, how = _content(value, "text")
    named = isinstance(name, str) and name != ""
    part: Object = {
        "type": "toolresult",
        "call": id_,
        "name": tool_name(own := name if named and (role == "function" or not tool) else tool),
        "content": parts,
    }
    if not own:
        part["name_as"] = "absent"
    message: Object = {"role": "user", "content": [part]}
    if role != "tool":
        message["source_role"] = role
        if not named:
            message["name_as"] = "absent"
    elif "name" in value:
        message["name_told"] = name
    if not isinstance(call, str) and role == "tool":
        message["call_as"] = "absent"
    elif isinstance(call, str) and role == "function":
        message["tool_call_id"] = call
    return _told(message, how, rest(value, _TOOL))
