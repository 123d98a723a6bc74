"""Codex's response items as parts of messages here.

What Codex says in another word is translated; fields that have no
counterpart are kept under their own names.

Source: Codex CLI's protocol models and recorded rollouts of 2025 and 2026.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.parts import (
    Unusable,
    image_of_url,
    image_part,
    rest,
    text_part,
    tool_name,
)
from agentmem_cli.session.codec import loads

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

CALLS: Final = frozenset(
    {"function_call", "custom_tool_call", "local_shell_call", "tool_search_call"}
)
"""Response items that ask for a result."""

OUTPUTS: Final = frozenset(
    {"function_call_output", "custom_tool_call_output", "tool_search_output"}
)
"""Response items that are one."""

_DONE_THERE: Final = frozenset({"web_search_call", "image_generation_call"})
"""Calls that the provider carries out by itself: nothing answers them."""

REPLIES: Final = CALLS | _DONE_THERE | {"reasoning"}
"""Response items of the model, but for its messages."""

COMPACTIONS: Final = frozenset({"compaction", "compaction_summary", "context_compaction"})

ITEMS: Final = REPLIES | OUTPUTS | COMPACTIONS | {"message", "agent_message", "ghost_snapshot"}
"""Every response item that is known."""

# Why no set: a type comes from JSON, and an array has no hash.
_TEXTS: Final = ("input_text", "output_text", "text")
_TEXT: Final = frozenset({"type", "text"})
_IMAGE: Final = frozenset({"type", "image_url"})

_INJECTED: Final = re.compile(
    r"\s*(?:<(environment_context|permissions instructions|user_instructions|INSTRUCTIONS"
    r"|turn_aborted|user_shell_command|user_shell_command_output|subagent_notification"
    r"|collaboration_mode|model_switch|personality_spec|apps_instructions|skills_instructions"
    r"|plugins_instructions|goal_context|skill|realtime_conversation)>"
    r"|\# (AGENTS\.md) instructions\b)"
)
"""How a text begins that Codex put into the user's mouth."""


class Waiting:
    """The calls that wait for a result, with their tools' names."""

    __slots__ = ("_calls", "_older")

    def __init__(self) -> None:
        """Start without one."""
        self._calls: list[tuple[str, str]] = []
        self._older = 0

    def add(self, call: str, name: str) -> None:
        """Note a call."""
        self._calls.append((call, name))

    def prompted(self) -> None:
        """The user spoke: only a result that names its call answers one from before."""
        self._older = len(self._calls)

    def answer(self, call: str | None) -> tuple[str, str] | None:
        """Return id and name of the call that a result answers: by its id, else the first.

        Returns:
            None where no call waits that it can be.
        """
        calls = self._calls
        if call is None:
            return calls.pop(self._older) if self._older < len(calls) else None
        for index, waiting in enumerate(calls):
            if waiting[0] == call:
                self._older -= index < self._older
                return calls.pop(index)
        return None


def kind_of(item: Object) -> str:
    """Return an item's type, or the one that its fields speak of; empty: they do not tell."""
    kind = item.get("type")
    if isinstance(kind, str):
        return kind
    for wanted, fields in _FIELDS:
        if wanted.issubset(item):
            return fields
    return ""


_FIELDS: Final = (
    (frozenset({"role", "content"}), "message"),
    (frozenset({"call_id", "output"}), "function_call_output"),
    (frozenset({"name", "arguments"}), "function_call"),
    (frozenset({"name", "input"}), "custom_tool_call"),
    (frozenset({"encrypted_content"}), "reasoning"),
    (frozenset({"summary"}), "reasoning"),
)


def role_told(content: JSON) -> str:
    """Return the role of a message that names none, by what its content is called."""
    for item in content if isinstance(content, list) else []:
        if isinstance(item, dict) and item.get("type") in ("output_text", "refusal"):
            return "assistant"
    return "user"


def injected(part: JSON) -> str | None:
    """Return what Codex calls a text that it put in by itself; None: the user's own part."""
    text = part.get("text") if isinstance(part, dict) else None
    found = _INJECTED.match(text, 0, 200) if isinstance(text, str) else None
    return None if found is None else found[1] or found[2]


def content_parts(content: JSON) -> list[JSON]:
    """Return a message's content as parts.

    Raises:
        Unusable: It is neither text nor a list.
    """
    if isinstance(content, str):
        return [text_part(content)]
    if content is None:
        return []
    if not isinstance(content, list):
        msg = "a message whose content is neither text nor a list"
        raise Unusable(msg)
    return [_part(item) for item in content]


def _part(item: JSON) -> JSON:
    if not isinstance(item, dict):
        return text_part(item) if isinstance(item, str) else {"type": "json", "value": item}
    kind = item.get("type")
    text = item.get("text")
    if isinstance(text, str) and (kind in _TEXTS or kind is None):
        return {"type": "text", "text": text, **rest(item, _TEXT)}
    if kind == "input_image":
        url = item.get("image_url")
        if isinstance(url, dict):
            url = url.get("url")
        return image_of_url(url, rest(item, _IMAGE))
    return item


_CALL: Final = frozenset({"type", "call_id", "name", "arguments", "input", "action"})


def call_part(item: Object, kind: str, unnamed: str) -> tuple[Object, str, str]:
    """Return a call as a part, its id and its tool's name.

    Args:
        item: The response item.
        kind: Its type, one of `CALLS`.
        unnamed: The id it gets if it has none.
    """
    call = item.get("call_id")
    if not isinstance(call, str) or not call:
        own = item.get("id")
        call = own if isinstance(own, str) and own and kind == "local_shell_call" else unnamed
    name = item.get("name")
    arguments: JSON
    if kind == "local_shell_call":
        arguments = item.get("action")
    elif kind == "custom_tool_call":
        arguments = {"input": item.get("input")}
    else:
        arguments = parsed(item.get("arguments", {}))
    if kind == "function_call":
        name = tool_name(name)
    elif not isinstance(name, str) or not name:
        name = kind.removesuffix("_call")
    function: Object = {"name": name, "arguments": arguments}
    part: Object = {"type": "toolcall", "id": call, "function": function}
    if kind != "function_call":
        part["call_type"] = kind.removesuffix("_call").removesuffix("_tool")
    return _with(part, rest(item, _CALL)), call, name


def _with(part: Object, extra: Object) -> Object:
    """Add what Codex says besides; where a field has that name already, as ``item_<name>``."""
    for key, value in extra.items():
        if key not in part:
            part[key] = value
        elif part[key] != value:
            part[f"item_{key}"] = value
    return part


def parsed(arguments: JSON) -> JSON:
    """Return arguments that are JSON text as their value, everything else as it is."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return loads(arguments.encode("utf-8", "surrogatepass"))
    except ValueError:
        return arguments


_OUTPUT: Final = frozenset({"type", "call_id", "output"})


def result_part(item: Object, call: str, name: str) -> Object:
    """Return what a call gave as a part that answers *call*, whose tool is *name*."""
    output = item.get("output")
    extra = rest(item, _OUTPUT)
    if item.get("type") == "tool_search_output" and output is None:
        output = extra.pop("tools", None)
    result: Object = {"type": "toolresult", "call": call, "name": name}
    if isinstance(output, dict) and "content" in output:
        # Why: Codex wrote {"content", "success"} for a while.
        if output.get("success") is False:
            result["is_error"] = True
        output = output["content"]
    content: list[JSON] = []
    for inner in output if isinstance(output, list) else [output]:
        part = _part(inner)
        whole = isinstance(part, dict) and part.get("type") in ("text", "image", "json")
        content.append(part if whole else {"type": "json", "value": inner})
    result["content"] = [] if output is None else content
    return _with(result, extra)


_REASONING: Final = frozenset({"type", "summary", "content"})
_IMAGE_CALL: Final = frozenset({"type", "result"})


def reply_part(item: Object, kind: str) -> Object:
    """Return reasoning, or a call that the provider carried out, as a part."""
    if kind == "reasoning":
        texts: list[JSON] = []
        for field in ("summary", "content"):
            told = item.get(field)
            told = told if isinstance(told, list) else [told]
            texts.extend(_thought(each) for each in told if each is not None)
        made: Object = {"type": "reasoning", "content": texts}
        return {**made, **rest(item, _REASONING)}
    result = item.get("result")
    if kind == "image_generation_call" and isinstance(result, str) and result:
        extra: Object = {"call_type": "image_generation", **rest(item, _IMAGE_CALL)}
        if result.startswith("data:"):
            return image_of_url(result, extra)
        return image_part(result, "image/png", extra)
    return {"type": kind, **rest(item, ("type",))}


def _thought(item: JSON) -> JSON:
    if isinstance(item, str):
        return text_part(item)
    if isinstance(item, dict) and isinstance(text := item.get("text"), str):
        return {"type": "text", "text": text, **rest(item, _TEXT)}
    return {"type": "json", "value": item}
