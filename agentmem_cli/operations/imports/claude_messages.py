"""Claude Code's messages: its content blocks as parts, and who really wrote a user line.

Fields that have no counterpart here are kept under their own names; blocks
of a type that is not known stay as they are.

Source: the public shape of Anthropic's messages; DESIGN.md, "Imports".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.parts import (
    UNKNOWN,
    Unusable,
    image_part,
    rest,
    text_part,
    tool_name,
)
from agentmem_cli.session.author import Author
from agentmem_cli.session.images import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON, Object

KIND: Final = "claude-code"

_TEXT_KEYS: Final = frozenset({"type", "text"})
_SOURCED: Final = frozenset({"type", "source"})
_SOURCE: Final = frozenset({"type", "data", "url", "file_id", "media_type"})
_THINKING: Final = frozenset({"type", "thinking", "signature"})
_CALL: Final = frozenset({"type", "id", "name", "input"})
_RESULT: Final = frozenset({"type", "tool_use_id", "content", "is_error"})

_DOCUMENTS: Final = {
    "application/pdf": "pdf",
    "text/plain": TEXT,
    "text/html": "html",
    "text/markdown": "markdown",
    "text/csv": "csv",
    "text/xml": "xml",
    "application/xml": "xml",
}

_TAG = re.compile(r"\s*<([a-z][a-z_-]*)[ >]")
_TAGS: Final = {
    "command-name": "command",
    "command-message": "command",
    "command-args": "command",
    "local-command-stdout": "local-command",
    "local-command-stderr": "local-command",
    "local-command-caveat": "local-command",
    "bash-input": "bash",
    "bash-stdout": "bash",
    "bash-stderr": "bash",
    "task-notification": "task-notification",
    "system-reminder": "system-reminder",
    "user-prompt-submit-hook": "hook",
    "session-start-hook": "hook",
    "ide_opened_file": "ide",
    "ide_selection": "ide",
    "teammate-message": "teammate",
}
"""What a text that the program wrote in the user's name begins with, and what that is."""

_BESIDE = re.compile(
    r"\s*<(system-reminder|user-prompt-submit-hook|session-start-hook|ide_opened_file|ide_selection)"
    r"[ >].*?</\1>",
    re.DOTALL,
)
"""What the program puts in front of a prompt, in one text with it."""

_PERSON: Final = frozenset({"user", "human"})
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]\n]*\]")


class Calls:
    """The calls of one agent: their tools' names, and which still wait."""

    __slots__ = ("_names", "_waiting")

    def __init__(self) -> None:
        """Know none yet."""
        self._names: dict[str, str] = {}
        self._waiting: dict[str, None] = {}

    def asked(self, call: JSON, name: str) -> None:
        """Note a call by its id and its tool's name."""
        if isinstance(call, str):
            self._names[call] = name
            self._waiting[call] = None

    def answered(self, call: JSON) -> tuple[JSON, str]:
        """Return the id and the tool's name of the call that a result answers.

        A result without an id answers the first call that waits.
        """
        if call in (None, ""):
            call = next(iter(self._waiting), None)
        if not isinstance(call, str):
            return call, UNKNOWN
        self._waiting.pop(call, None)
        return call, self._names.get(call, UNKNOWN)


def content_of(message: JSON) -> list[JSON]:
    """Return a message's content as blocks; a text is one block, nothing is none.

    Raises:
        Unusable: It is something else.
    """
    content = message.get("content") if isinstance(message, dict) else message
    if isinstance(content, list):
        return content
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if content is None and isinstance(message, dict):
        return []
    if isinstance(content, dict):
        return [content]
    msg = "a message whose content is neither text nor blocks"
    raise Unusable(msg)


def text_of(blocks: list[JSON]) -> str:
    """Return the text of the first block that has one."""
    for block in blocks:
        text = block.get("text") if isinstance(block, dict) else block
        if isinstance(text, str) and text.strip():
            return text
    return ""


def vendored(model: str) -> str:
    """Return a model's name with its vendor's before it."""
    return model if "/" in model else f"anthropic/{model}"


def block_part(block: JSON) -> Object:
    """Return the part that a block is, but for calls and results."""
    if not isinstance(block, dict):
        return text_part(block) if isinstance(block, str) else {"type": "json", "value": block}
    make = _MAKERS.get(str(block.get("type")))
    return block if make is None else make(block)


def call_part(block: Object, line: int, index: int, calls: Calls) -> Object:
    """Return the part of a ``tool_use`` block.

    Args:
        block: The block.
        line: Its source line, from 1; with *index* it names a call without an id.
        index: Its place in the message.
        calls: Where it is noted.
    """
    name = tool_name(block.get("name"))
    call = block.get("id")
    if call in (None, ""):
        call = f"line-{line}-{index}"
    calls.asked(call, name)
    function: Object = {"name": name, "arguments": block.get("input", {})}
    return {"type": "toolcall", "id": call, "function": function, **rest(block, _CALL)}


def result_part(block: Object, line: int, calls: Calls) -> Object:
    """Return the part of a ``tool_result`` block; the arguments are `call_part`'s."""
    call, name = calls.answered(block.get("tool_use_id"))
    content = block.get("content")
    parts: list[JSON] = []
    if isinstance(content, str):
        parts.append(text_part(content))
    elif isinstance(content, list):
        parts.extend(_inner(part) for part in content)
    elif content is not None:
        parts.append({"type": "json", "value": content})
    result: Object = {
        "type": "toolresult",
        "call": f"line-{line}" if call is None else call,
        "name": name,
        "content": parts,
    }
    if block.get("is_error") is True:
        result["is_error"] = True
    result.update(rest(block, _RESULT))
    return result


def _inner(part: JSON) -> Object:
    if isinstance(part, str):
        return text_part(part)
    if isinstance(part, dict) and part.get("type") in ("text", "image", "document"):
        return block_part(part)
    return {"type": "json", "value": part}


def _text(block: Object) -> Object:
    if isinstance(block.get("text"), str):
        return block
    return {"type": "text", "text": "", **rest(block, _TEXT_KEYS)}


def _thinking(block: Object) -> Object:
    text = block.get("thinking")
    content: list[JSON] = [text_part(text)] if isinstance(text, str) else []
    part: Object = {"type": "reasoning", "content": content}
    if "signature" in block:
        part["signature"] = block["signature"]
    part.update(rest(block, _THINKING))
    return part


def _image(block: Object) -> Object:
    source = block.get("source")
    if not isinstance(source, dict):
        return image_part(None, None, rest(block, {"type"}))
    extra = {**rest(block, _SOURCED), **rest(source, _SOURCE)}
    if source.get("type") == "base64":
        return image_part(source.get("data"), source.get("media_type"), extra)
    part = image_part(None, source.get("media_type"), extra)
    part["data"] = _data(source)
    return part


def _document(block: Object) -> Object:
    source = block.get("source")
    if not isinstance(source, dict):
        return block
    part: Object = {"type": "document", "data": _data(source)}
    media = source.get("media_type")
    word = _DOCUMENTS.get(media) if isinstance(media, str) else None
    if word is not None:
        part["media_type"] = word
    elif media is not None:
        part["mimeType"] = media
    part.update(rest(block, _SOURCED))
    return part


_MAKERS: Final[dict[str, Callable[[Object], Object]]] = {
    "text": _text,
    "thinking": _thinking,
    "image": _image,
    "document": _document,
}
"""What makes a part of a block, by the block's type."""


def _data(source: Object) -> Object:
    kinds = {"base64": ("data", "base64"), "url": ("url", "url"), "file": ("file_id", "fileId")}
    key, word = kinds.get(str(source.get("type")), ("", ""))
    value = source.get(key)
    if isinstance(value, str):
        return {"type": word, "value": value}
    # Why kept: a form that is not known here still holds what the user gave.
    return {"type": "unknown", "source": source}


def written_by(value: Object, blocks: list[JSON]) -> Author | None:
    """Return who wrote a line of the type ``user``; None: the user, or a tool answered.

    Args:
        value: The line.
        blocks: Its content; none where it holds results.
    """
    if value.get("isCompactSummary") is True:
        return Author.plugin(KIND, title="compact-summary")
    if not blocks:
        return None
    if value.get("isMeta") is True:
        return Author.plugin(KIND, title="meta")
    origin = value.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    if isinstance(kind, str) and kind not in _PERSON:
        return Author.plugin(KIND, title=kind)
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    authors = [by_text(text) for text in texts if isinstance(text, str) and text.strip()]
    # Why: what the program adds to a prompt stands in blocks of its own beside it.
    return authors[0] if authors and None not in authors else None


def by_text(text: str) -> Author | None:
    """Return who wrote a *text* that stands in the user's name; None: the user."""
    tag = _TAG.match(text)
    title = None if tag is None else _TAGS.get(tag[1])
    if title is not None and (beside := _BESIDE.match(text)) and text[beside.end() :].strip():
        return by_text(text[beside.end() :])
    if title is None and _INTERRUPTED.fullmatch(text.strip()):
        title = "interrupted"
    return None if title is None else Author.plugin(KIND, title=title)
