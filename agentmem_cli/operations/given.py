"""Messages that a person or a script gives: text, or JSON lines, checked before they are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.errors import UsageError
from agentmem_cli.session.codec import loads_object
from agentmem_cli.session.images import image_parts, referred
from agentmem_cli.session.message import Message, call_id, parts_of

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object

ROLES = ("system", "user", "assistant")
"""The roles that a message can be given in."""


def messages_of_lines(data: bytes, where: str) -> list[Message]:
    """Read messages from JSON lines, one object a line.

    Args:
        data: The lines, UTF-8.
        where: What to call them in an error.

    Raises:
        UsageError: A line is no message; nothing of it may be used.
    """
    found: list[Message] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = loads_object(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line)
        except ValueError as error:
            msg = f"{where}, line {number}: not a JSON object ({error})"
            raise UsageError(msg, hint="Use --role to append plain text.") from None
        fault = _fault(value)
        if fault is not None:
            msg = f"{where}, line {number}: {fault}"
            raise UsageError(msg)
        if value["role"] in ("user", "assistant") and isinstance(value["content"], str):
            value = {**value, "content": [{"type": "text", "text": value["content"]}]}
        found.append(Message.of(value))
    if not found:
        msg = f"{where}: no message"
        raise UsageError(msg, hint="Give one JSON object a line, or plain text with --role.")
    return found


def _fault(value: Object) -> str | None:
    """Say what keeps *value* from being taken as a message; None: nothing does.

    What is read is kept whatever it is; but what is added should be of use to
    whoever reads it next.
    """
    role, content = value.get("role"), value.get("content")
    if role not in ROLES or "content" not in value:
        return f"a message has a role ({', '.join(ROLES)}) and content"
    if isinstance(content, str):
        return None
    if role == "system":
        return "the content of a system message is a string"
    if not isinstance(content, list) or not all(_is_part(part) for part in content):
        return "the content of a message is a string, or an array of objects with a type"
    if any(referred(part.get("data")) is not None for part in image_parts(value)):
        return "an image is given by its data; blob: addresses are made here"
    return next((fault for part in parts_of(value) if (fault := _part_fault(part))), None)


def _is_part(part: object) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str)


def _part_fault(part: Object) -> str | None:
    kind = part.get("type")
    if kind == "text" and not isinstance(part.get("text"), str):
        return "a text part has a text"
    if kind == "toolcall":
        return _call_fault(part)
    return _result_fault(part) if kind == "toolresult" else None


# Why not empty: in rig neither a tool's name nor a call's id ever is, and it reads strictly.
def _call_fault(part: Object) -> str | None:
    function = part.get("function")
    if not call_id(part.get("id")) or not isinstance(function, dict):
        return "a toolcall has an id (not empty) and a function"
    if not _is_told(function.get("name")):
        return "the function of a toolcall has a name (not empty)"
    return None


def _result_fault(part: Object) -> str | None:
    if not call_id(part.get("call")) or not isinstance(part.get("content"), list):
        return "a toolresult has the id of its call (not empty), and content (an array)"
    if not _is_told(part.get("name")):
        return "a toolresult has the name of its tool (not empty)"
    return None


def _is_told(name: object) -> bool:
    return isinstance(name, str) and bool(name)


def text_message(role: str, data: bytes, where: str) -> Message:
    """Make one message of plain text; one line end at its end is dropped.

    Raises:
        UsageError: An unknown role, no text, or no UTF-8.
    """
    if role not in ROLES:
        msg = f"no such role: {role!r}"
        raise UsageError(msg, hint=f"A role is one of {', '.join(ROLES)}.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"{where}: byte {error.start} is not UTF-8"
        raise UsageError(msg) from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text.strip():
        msg = f"{where}: no text"
        raise UsageError(msg)
    if role == "system":
        return Message.system(text)
    return Message.user(text) if role == "user" else Message.assistant(text)
