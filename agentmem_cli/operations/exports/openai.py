"""Messages as OpenAI's chat completions take them.

Source: the public API reference of chat completions, 2026.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.exports.callids import function_name, ids_of
from agentmem_cli.operations.exports.content import (
    Media,
    arguments_of,
    is_blank,
    media_of,
    result_parts,
    text_of,
)
from agentmem_cli.operations.exports.turns import EMPTY, UNANSWERED
from agentmem_cli.session.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.operations.exports.turns import Answered, Left, Turn
    from agentmem_cli.session.codec import JSON, Object

_AUDIO: Final = ("wav", "mp3")
"""The formats of sound that there are."""


def openai(turns: Iterable[Turn], left: Left) -> Iterator[Object]:
    """Yield the messages of *turns*; what has no place in them is counted in *left*."""
    for number, turn in enumerate(turns):
        role = turn.value.get("role")
        if role == "assistant":
            yield from _Reply(turn, number, left).messages()
        elif role == "user":
            content = _content(turn.parts, left)
            if content:
                yield {"role": "user", "content": content}
        else:
            text = text_of(turn.value)
            if not is_blank(text):
                known = role if role in ("system", "developer") else "user"
                yield {"role": known, "content": text}


class _Reply:
    """An assistant's message and the results behind it."""

    def __init__(self, turn: Turn, number: int, left: Left) -> None:
        self._turn = turn
        self._left = left
        self._calls = [part for part in turn.parts if part.get("type") == "toolcall"]
        self._ids = ids_of(self._calls, number)

    def messages(self) -> Iterator[Object]:
        message: Object = {"role": "assistant", "content": self._content()}
        if self._calls:
            message["tool_calls"] = [self._call(part) for part in self._calls]
        elif message["content"] is None:
            return
        yield message
        shown: list[JSON] = []
        for answered in self._turn.answered:
            id_ = self._ids[id(answered.call)]
            text, media = _result(answered)
            yield {"role": "tool", "tool_call_id": id_, "content": text}
            if media:
                shown.extend(from_result(id_, media))
        if shown:
            # Why: a tool's message holds text only.
            yield {"role": "user", "content": shown}

    def _content(self) -> JSON:
        texts: list[str] = []
        for part in self._turn.parts:
            kind = part.get("type")
            text = part.get("text")
            if kind == "text":
                if isinstance(text, str) and not is_blank(text):
                    texts.append(text)
            elif (media := media_of(part)) is not None:
                texts.append(media.words)
            elif kind != "toolcall":
                self._left.parts[str(kind)] += 1
        if len(texts) > 1:
            return [{"type": "text", "text": text} for text in texts]
        return texts[0] if texts else None

    def _call(self, part: Object) -> Object:
        arguments = arguments_of(part)
        text = arguments if isinstance(arguments, str) else dumps(arguments).decode()
        function: Object = {"name": function_name(part), "arguments": text}
        return {"id": self._ids[id(part)], "type": "function", "function": function}


def from_result(id_: str, media: list[JSON]) -> list[JSON]:
    """Return the attachments of a result with the words that say whose they are."""
    return [{"type": "text", "text": f"From the result of {id_}:"}, *media]


def _result(answered: Answered) -> tuple[str, list[JSON]]:
    """Return what a tool's message says, and the attachments that stand behind it."""
    if answered.result is None:
        return UNANSWERED, []
    texts: list[str] = []
    shown: list[JSON] = []
    for each in result_parts(answered.result):
        if isinstance(each, str):
            texts.append(each)
        else:
            texts.append(each.words)
            part = _media(each)
            if part is not None:
                shown.append(part)
    return "\n".join(texts) or EMPTY, shown


def _content(parts: Iterable[Object], left: Left) -> JSON:
    found: list[JSON] = []
    for part in parts:
        text = part.get("text")
        if part.get("type") == "text":
            if isinstance(text, str) and not is_blank(text):
                found.append({"type": "text", "text": text})
        elif (shown := part_of(part)) is not None:
            found.append(shown)
        else:
            left.parts[str(part.get("type"))] += 1
    if len(found) == 1 and isinstance(only := found[0], dict) and only["type"] == "text":
        return only["text"]
    return found


def part_of(part: Object) -> Object | None:
    """Return an attachment of a session as a part there; None: it is no attachment."""
    media = media_of(part)
    return None if media is None else _media(media) or {"type": "text", "text": media.words}


def _media(media: Media) -> Object | None:
    """Return the part of an attachment; None: there is nothing to show, or no place for it."""
    data = media.base64
    if media.kind == "image":
        return _image(media)
    if media.kind == "audio" and data is not None:
        if media.word not in ("", *_AUDIO):
            return None
        audio: Object = {"data": data, "format": media.word or "wav"}
        return {"type": "input_audio", "input_audio": audio}
    return _file(media) if media.kind == "document" else None


def _image(media: Media) -> Object | None:
    data = media.base64
    url = media.url if data is None else f"data:{media.mime or 'image/png'};base64,{data}"
    if url is None:
        return None
    image: Object = {"url": url}
    if isinstance(detail := media.part.get("detail"), str):
        image["detail"] = detail
    return {"type": "image_url", "image_url": image}


def _file(media: Media) -> Object | None:
    if (text := media.text) is not None:
        return {"type": "text", "text": text or media.words}
    if media.file is not None:
        return {"type": "file", "file": {"file_id": media.file}}
    if media.base64 is None:
        return None
    address = f"data:{media.mime or 'application/octet-stream'};base64,{media.base64}"
    return {"type": "file", "file": {"file_data": address}}
