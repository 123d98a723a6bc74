from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.secrets.deltas import joined, pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS: dict[str, Callable[[str], object]] = {
    "anthropic": lambda text: {
        "type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}
    },
    "stream event": lambda text: {
        "type": "stream_event", "event": {"type": "content_block_delta", "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": text}},
    },
    "chat chunk": lambda text: {
        "object": "chat.completion.chunk", "id": "c1",
        "choices": [{"index": 0, "delta": {"content": text}}],
    },
    "chat call": lambda text: {
        "object": "chat.completion.chunk", "id": "c1",
        "choices": [{"index": 0, "delta": {"tool_calls": [
            {"index": 0, "function": {"arguments": text}}]}}],
    },
    "responses": lambda text: {
        "type": "response.output_text.delta", "item_id": "m1", "delta": text
    },
    "codex": lambda text: {
        "type": "event_msg", "payload": {"type": "agent_message_delta", "delta": text}
    },
    "acp": lambda text: {
        "method": "session/update", "params": {"update": {
            "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}},
    },
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_pieces_of_one_message_are_joined(form: str) -> None:
    lines = [json.dumps(FORMS[form](text)).encode() for text in ("abc", "def", "ghi")]  # noqa: TID251

    runs = list(joined(enumerate(lines, 1)))

    assert [run.text for run in runs] == ["abcdefghi"]
    assert [(part.line, part.start, part.end) for part in runs[0].parts(2, 7)] == [
        (1, 2, 3), (2, 0, 3), (3, 0, 1),
    ]  # fmt: skip


def test_pieces_of_other_messages_are_not_joined() -> None:
    lines = [
        json.dumps({"type": "response.output_text.delta", "item_id": name, "delta": name}).encode()  # noqa: TID251
        for name in ("a", "b", "a", "b")
    ]

    runs = list(joined(enumerate(lines, 1)))

    assert [run.text for run in runs] == ["aa", "bb"]


def test_another_line_ends_a_message() -> None:
    piece = json.dumps({"type": "x_delta", "text": "a"}).encode()  # noqa: TID251

    runs = list(joined(enumerate([piece, piece, b'{"type":"other"}', piece], 1)))

    assert [len(run.pieces) for run in runs] == [2]


@pytest.mark.parametrize(
    "raw", [b"", b'delta"', b"[1]", b'"delta"', b'{"delta":1}', b'{"delta":null}']
)
def test_what_is_no_piece_is_none(raw: bytes) -> None:
    assert pieces_of(1, raw) == []
