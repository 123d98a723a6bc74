"""Messages as Anthropic's messages API takes them.

Roles take turns, the first is the user's, results come first in the message
behind their calls, ids of calls are unique and of letters, digits, ``_`` and
``-``. The system's text is no message there but a field of the request; in a
list of messages it becomes a text of the user's that says what it is.

Source: the public API reference of the messages API, 2026.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.exports.content import (
    Media,
    arguments_of,
    is_blank,
    media_of,
    result_parts,
    text_of,
    tool_name,
)
from agentmem_cli.operations.exports.turns import EMPTY, UNANSWERED
from agentmem_cli.operations.imports.naming import safe_name
from agentmem_cli.session.message import call_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.operations.exports.turns import Answered, Left, Turn
    from agentmem_cli.session.codec import JSON, Object

BEGINNING: Final = "[agentmem] The conversation begins with the assistant."
"""What the user says where nobody speaks before the assistant."""

_SHOWN: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


def anthropic(turns: Iterable[Turn], left: Left) -> Iterator[Object]:
    """Yield the messages of *turns*; what has no place in them is counted in *left*."""
    held: Object | None = None
    blocks: list[JSON] = []
    for role, found in _pieces(turns, _Ids(), left):
        if held is None and role == "assistant":
            yield {"role": "user", "content": [_text(BEGINNING)]}
        if held is None or held["role"] != role:
            if held is not None:
                yield held
            blocks = []
            held = {"role": role, "content": blocks}
        blocks.extend(found)
    if held is not None:
        yield held


class _Ids:
    """The ids of calls, each once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def give(self, call: Object) -> str:
        told = call_id(call.get("id")) or "call"
        base = told if _ID.fullmatch(told) else re.sub(r"[^\w-]", "_", safe_name(told))[-50:]
        base = base if base.isascii() else "call"
        id_ = base
        number = 1
        while id_ in self._given:
            number += 1
            id_ = f"{base[:50]}-{number}"
        self._given.add(id_)
        return id_


def _pieces(turns: Iterable[Turn], ids: _Ids, left: Left) -> Iterator[tuple[str, list[JSON]]]:
    """Yield whose blocks come next, and the blocks; never none."""
    for turn in turns:
        role = turn.value.get("role")
        if role == "assistant":
            given = {
                id(part): ids.give(part) for part in turn.parts if part.get("type") == "toolcall"
            }
            own = _reply(turn, given, left)
            if own:
                yield "assistant", own
            if given:
                yield "user", [_result(each, given[id(each.call)]) for each in turn.answered]
        elif role == "user":
            said = _user(turn.parts, left)
            if said:
                yield "user", said
        elif not is_blank(text := text_of(turn.value)):
            left.system += 1
            yield "user", [_text(f"<{role}>\n{text}\n</{role}>")]


def _text(text: str) -> Object:
    return {"type": "text", "text": text}


def _reply(turn: Turn, ids: dict[int, str], left: Left) -> list[JSON]:
    blocks: list[JSON] = []
    for part in turn.parts:
        block = _block(part, turn.value, ids)
        if block is not None:
            blocks.append(block)
        elif part.get("type") != "text":
            left.parts[str(part.get("type"))] += 1
    # Why: a message must not end in thinking.
    while blocks and isinstance(last := blocks[-1], dict) and "thinking" in str(last["type"]):
        left.parts["reasoning"] += 1
        blocks.pop()
    return blocks


def _block(part: Object, message: Object, ids: dict[int, str]) -> Object | None:
    """Return a part of a reply as a block; None: it is empty, or has no place there."""
    kind = part.get("type")
    if kind == "text":
        text = part.get("text")
        return _text(text) if isinstance(text, str) and not is_blank(text) else None
    if kind == "refusal" and not is_blank(refusal := part.get("refusal")):
        return _text(str(refusal))
    if kind == "toolcall":
        return _call(part, ids[id(part)])
    if kind == "reasoning":
        return _thinking(part, message)
    if kind == "redacted_thinking" and isinstance(data := part.get("data"), str) and data:
        return {"type": kind, "data": data}
    media = media_of(part)
    return None if media is None else _text(media.words)


def _thinking(part: Object, message: Object) -> Object | None:
    """Return a thinking block; None: the part has no signature of this provider's."""
    signature = part.get("signature")
    content = part.get("content")
    if not isinstance(signature, str) or not signature or signature.startswith("{"):
        return None
    origin = message.get("origin")
    if isinstance(origin, dict) and not _is_claude(origin):
        return None
    items = content if isinstance(content, list) else [{"text": content}]
    texts = [item.get("text") for item in items if isinstance(item, dict)]
    text = "\n".join(each for each in texts if isinstance(each, str))
    return {"type": "thinking", "thinking": text, "signature": signature}


def _is_claude(origin: Object) -> bool:
    told = " ".join(str(origin.get(key) or "") for key in ("provider", "model", "api")).lower()
    return not told.strip() or "anthropic" in told or "claude" in told


def _call(part: Object, id_: str) -> Object:
    name = tool_name(part)
    if not _NAME.fullmatch(name):
        name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:128] or "tool"
    arguments = arguments_of(part)
    if arguments is None or arguments == "":
        arguments = {}
    given: Object = arguments if isinstance(arguments, dict) else {"arguments": arguments}
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def _result(answered: Answered, id_: str) -> Object:
    block: Object = {"type": "tool_result", "tool_use_id": id_}
    result = answered.result
    if result is None:
        return {**block, "content": [_text(UNANSWERED)], "is_error": True}
    found: list[JSON] = [
        _text(each) if isinstance(each, str) else _media(each) for each in result_parts(result)
    ]
    block["content"] = found or [_text(EMPTY)]
    if result.get("is_error") is True:
        block["is_error"] = True
    return block


def _user(parts: Iterable[Object], left: Left) -> list[JSON]:
    blocks: list[JSON] = []
    for part in parts:
        if part.get("type") == "text":
            if isinstance(text := part.get("text"), str) and not is_blank(text):
                blocks.append(_text(text))
        elif (media := media_of(part)) is not None:
            blocks.append(_media(media))
        else:
            left.parts[str(part.get("type"))] += 1
    return blocks


def _media(media: Media) -> Object:
    source: Object | None = None
    known = media.kind == "image" or media.mime == "application/pdf"
    if media.base64 is not None and (media.mime in _SHOWN or media.mime == "application/pdf"):
        source = {"type": "base64", "media_type": media.mime, "data": media.base64}
    elif media.url is not None and known:
        source = {"type": "url", "url": media.url}
    elif media.file is not None and known:
        source = {"type": "file", "file_id": media.file}
    elif (text := media.text) is not None and not is_blank(text):
        source = {"type": "text", "media_type": "text/plain", "data": text}
    if source is None:
        return _text(media.words)
    return {"type": "image" if media.kind == "image" else "document", "source": source}
