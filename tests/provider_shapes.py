"""What the providers' APIs take, told strictly: an oracle for exports.

Written after the public API references of chat completions and of the
messages API, 2026, and apart from the code that exports.
"""

from __future__ import annotations

import base64
import re
from typing import Any

Message = dict[str, Any]

_OPENAI_PARTS = {
    "system": {"text"},
    "developer": {"text"},
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}


def check(shape: str, found: list[Any], *, back: bool = False) -> None:
    """See that *found* is what the API of *shape* takes.

    Args:
        shape: ``openai`` or ``anthropic``.
        found: The exported messages.
        back: Whether they came from OpenAI: names of tools may then be any.
    """
    if shape == "openai":
        _check_openai(found, back=back)
    else:
        _check_anthropic(found)


# -- chat completions ---------------------------------------------------------


def _check_openai(found: list[Any], *, back: bool) -> None:
    waiting: list[str] = []
    function: str | None = None
    for message in found:
        role = message["role"]
        if role == "tool":
            assert message["tool_call_id"] in waiting, message
            waiting.remove(message["tool_call_id"])
            _openai_content(message)
            continue
        if role == "function":
            assert function is not None, message
            assert message["name"]
            assert isinstance(message["name"], str)
            assert isinstance(message["content"], str)
            function = None
            continue
        assert waiting == [], f"calls without a result before {message}"
        assert function is None, f"a function without a result before {message}"
        assert role in _OPENAI_PARTS, message
        if role == "assistant":
            waiting = _openai_calls(message, back=back)
            function = _openai_function(message)
            assert not (waiting and function)
        else:
            assert "tool_calls" not in message
        if "name" in message:
            assert isinstance(message["name"], str)
            assert message["name"]
        _openai_content(message)
    assert waiting == []
    assert function is None


def _openai_calls(message: Message, *, back: bool) -> list[str]:
    if "tool_calls" not in message:
        return []
    calls = message["tool_calls"]
    assert isinstance(calls, list)
    assert calls
    ids = []
    for call in calls:
        assert isinstance(call["id"], str)
        assert 0 < len(call["id"]) <= 40
        ids.append(call["id"])
        assert call["type"] in ("function", "custom")
        called = call[call["type"]]
        name = called["name"]
        assert isinstance(name, str)
        assert name
        if not back:
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
        assert isinstance(called["arguments" if call["type"] == "function" else "input"], str)
    assert len(set(ids)) == len(ids)
    return ids


def _openai_function(message: Message) -> str | None:
    called = message.get("function_call")
    if called is None:
        return None
    assert isinstance(called["name"], str)
    assert called["name"]
    assert isinstance(called["arguments"], str)
    return str(called["name"])


def _openai_content(message: Message) -> None:
    content = message.get("content")
    if content is None:
        assert message["role"] == "assistant", message
        return
    if isinstance(content, str):
        return
    assert isinstance(content, list)
    assert content
    for part in content:
        assert part["type"] in _OPENAI_PARTS[message["role"]], part
        _openai_part(part)


def _openai_part(part: Message) -> None:
    kind = part["type"]
    if kind in ("text", "refusal"):
        assert isinstance(part[kind], str)
    elif kind == "image_url":
        assert isinstance(part["image_url"]["url"], str)
        assert part["image_url"]["url"]
    elif kind == "input_audio":
        assert isinstance(part["input_audio"]["format"], str)
        assert isinstance(part["input_audio"]["data"], str)
        assert part["input_audio"]["data"]
    else:
        assert part["file"].get("file_id") or part["file"].get("file_data")


# -- the messages API -----------------------------------------------------------

_IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


def _check_anthropic(found: list[Any]) -> None:
    waiting: list[str] = []
    used: set[str] = set()
    for number, message in enumerate(found):
        assert set(message) == {"role", "content"}
        assert message["role"] == ("assistant" if number % 2 else "user")
        blocks = message["content"]
        assert isinstance(blocks, list)
        assert blocks
        kinds = [block["type"] for block in blocks]
        if message["role"] == "user":
            results = [block for block in blocks if block["type"] == "tool_result"]
            assert kinds[: len(results)] == ["tool_result"] * len(results)
            assert sorted(block["tool_use_id"] for block in results) == sorted(waiting)
            assert set(kinds) <= {"tool_result", "text", "image", "document"}
            waiting = []
        else:
            assert set(kinds) <= {"text", "thinking", "redacted_thinking", "tool_use"}
            assert kinds[-1] not in ("thinking", "redacted_thinking")
            waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
            assert used.isdisjoint(waiting)
            used.update(waiting)
            assert len(set(waiting)) == len(waiting)
        for block in blocks:
            _block(block)
    assert waiting == []


def _block(block: Message) -> None:
    match block["type"]:
        case "text":
            assert isinstance(block["text"], str)
            assert block["text"].strip()
        case "thinking":
            assert isinstance(block["thinking"], str)
            assert isinstance(block["signature"], str)
            assert block["signature"]
        case "redacted_thinking":
            assert isinstance(block["data"], str)
            assert block["data"]
        case "tool_use":
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", block["id"])
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,128}", block["name"])
            assert isinstance(block["input"], dict)
        case "tool_result":
            _result(block["content"])
        case "image" | "document" as kind:
            _source(kind, block["source"])
        case other:
            raise AssertionError(other)


def _result(content: Any) -> None:  # noqa: ANN401 - any JSON
    assert isinstance(content, list)
    assert content
    for each in content:
        assert each["type"] in ("text", "image", "document")
        _block(each)


def _source(kind: str, source: Message) -> None:
    match source["type"]:
        case "base64":
            assert source["media_type"] in (_IMAGES if kind == "image" else {"application/pdf"})
            assert base64.b64decode(source["data"], validate=True)
        case "url":
            assert re.match(r"(?i)https?://.", source["url"])
        case "file":
            assert source["file_id"]
        case "text":
            assert kind == "document"
            assert source["media_type"] == "text/plain"
            assert source["data"].strip()
        case other:
            raise AssertionError(other)
