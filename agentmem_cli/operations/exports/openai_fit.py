"""What makes a chat-completions message of a source one that the API takes.

A source can hold what no provider does: content that is null where it must
not be, parts without their data, calls without a name. What is right stays
as it is, byte for byte; the rest is put otherwise, and counted.

Source: the public API reference of chat completions, 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.exports.callids import NAMELESS, plain_name
from agentmem_cli.session.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.operations.exports.turns import Left
    from agentmem_cli.session.codec import JSON, Object

_TAKEN: Final = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
    "function": (),
}
"""The types of parts that a role's content can have."""

_SHOWN: Final = _TAKEN["user"][1:]


def fit(message: Object, left: Left) -> tuple[Object, list[JSON]]:
    """Return *message* as the API takes it, and the attachments that its role cannot have.

    Args:
        message: One of a known role; changed.
        left: Where it is counted what was put otherwise or left out.
    """
    role = str(message["role"])
    mended = 0
    beside: list[JSON] = []
    content = message.get("content")
    if isinstance(content, list):
        kept, beside = _parts(content, role, left)
        mended += kept != content or not kept
        message["content"] = [*kept] if kept else _nothing(role)
        if kept and role == "function":
            message["content"] = "\n".join(str(part["text"]) for part in kept)
            mended += 1
    elif content is None:
        if (nothing := _nothing(role)) is not None:
            message["content"] = nothing
            mended += 1
    elif not isinstance(content, str):
        message["content"] = dumps(content).decode("utf-8", "replace")
        mended += 1
    mended += _drop_odd(message)
    left.mended += bool(mended)
    return message, beside


def _nothing(role: str) -> JSON:
    """Return the content of a message that says nothing."""
    return None if role == "assistant" else ""


def _drop_odd(message: Object) -> int:
    """Take away the fields that are there for nothing: an empty list of calls, an empty name."""
    odd = []
    reply = message["role"] == "assistant"
    calls = message.get("tool_calls")
    whole = isinstance(calls, list) and all(isinstance(each, dict) for each in calls)
    if "tool_calls" in message and not (reply and whole and calls):
        odd.append("tool_calls")
    called = message.get("function_call")
    if called is not None and not (reply and isinstance(called, dict)):
        odd.append("function_call")
    name = message.get("name")
    if "name" in message and not (isinstance(name, str) and name):
        odd.append("name")
    for key in odd:
        del message[key]
    return len(odd)


def _parts(content: Sequence[JSON], role: str, left: Left) -> tuple[list[Object], list[JSON]]:
    """Return the parts that stay, and those that a message of the user can have only."""
    kept: list[Object] = []
    beside: list[JSON] = []
    taken = ("text",) if role == "function" else _TAKEN[role]
    for item in content:
        part = _part(item)
        kind = None if part is None else part["type"]
        if part is None:
            told = item.get("type") if isinstance(item, dict) else None
            left.parts[str(told)] += 1
        elif kind in taken:
            kept.append(part)
        elif role == "tool" and kind in _SHOWN:
            beside.append(part)
        else:
            left.parts[str(kind)] += 1
    return kept, beside


def _part(item: JSON) -> Object | None:
    """Return a part as the API takes it; None: it takes none such."""
    if not isinstance(item, dict):
        return {"type": "text", "text": item if isinstance(item, str) else _text(item)}
    kind = item.get("type")
    if kind in ("text", "refusal"):
        whole = isinstance(item.get(str(kind)), str)
    elif kind == "image_url":
        told = item.get("image_url")
        item = {**item, "image_url": {"url": told}} if isinstance(told, str) else item
        whole = _has(item.get("image_url"), "url")
    elif kind == "input_audio":
        told = item.get("input_audio")
        whole = _has(told, "data") and _has(told, "format")
    else:
        told = item.get("file")
        whole = kind == "file" and (_has(told, "file_id") or _has(told, "file_data"))
    return item if whole else None


def _has(value: JSON, key: str) -> bool:
    """Whether *value* is an object with a text of *key* that is not empty."""
    text = value.get(key) if isinstance(value, dict) else None
    return isinstance(text, str) and text != ""


def _text(value: JSON) -> str:
    return dumps(value).decode("utf-8", "replace")


def fit_call(call: Object, id_: str, left: Left) -> Object:
    """Return an element of ``tool_calls`` as the API takes it.

    Args:
        call: What the source had.
        id_: The id that its result names it by.
        left: Where it is counted if something was put otherwise.
    """
    kind = call.get("type")
    own = kind if isinstance(kind, str) and kind else "function"
    value = call.get(own)
    told = value if isinstance(value, dict) else {}
    rest = {key: call[key] for key in call if key not in ("id", "type", own, "function")}
    if own == "custom":
        called = _custom(told)
    else:
        called = fit_function(told, NAMELESS if own == "function" else plain_name(own))
        own = "function"
    made: Object = {"id": id_, "type": own, own: called, **rest}
    left.mended += made != call
    return made


def _custom(told: Object) -> Object:
    name, given = told.get("name"), told.get("input")
    if not isinstance(given, str):
        given = "" if given is None else _text(given)
    return {**told, "name": name if isinstance(name, str) and name else NAMELESS, "input": given}


def fit_function(told: Object, nameless: str = NAMELESS) -> Object:
    """Return what is called, and with what: a name, and arguments that are a text."""
    name, arguments = told.get("name"), told.get("arguments")
    if not isinstance(arguments, str):
        given = {key: told[key] for key in told if key not in ("name", "arguments")}
        other = given if given and "arguments" not in told else {}
        arguments = _text(other if arguments is None else arguments)
        told = {key: told[key] for key in told if key not in other}
    named = name if isinstance(name, str) and name else nameless
    return {**told, "name": named, "arguments": arguments}
