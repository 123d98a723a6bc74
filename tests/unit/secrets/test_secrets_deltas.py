from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.secrets.deltas import joined, pieces_of
from agentmem_cli.session.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON

FORMS: dict[str, Callable[[str], JSON]] = {
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
    lines = [dumps(FORMS[form](text)) for text in ("abc", "def", "ghi")]

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


def test_a_number_of_each_record_does_not_part_a_message() -> None:
    lines = [
        dumps({"seq": n, "type": "aside", "id": n, "aside": {"value": FORMS["anthropic"](text)}})
        for n, text in enumerate(("abc", "def"))
    ]

    runs = list(joined(enumerate(lines, 1)))

    assert [run.text for run in runs] == ["abcdef"]


LISTS: dict[str, Callable[[list[str]], JSON]] = {
    "typed": lambda texts: {"deltas": [{"type": "delta", "text": each} for each in texts]},
    "typed, elsewhere": lambda texts: {"a": {"b": [FORMS["anthropic"](each) for each in texts]}},
    "without a type": lambda texts: {"chunks": [{"text": each} for each in texts]},
    "texts": lambda texts: {"deltas": [*texts]},
    "with an id each": lambda texts: {
        "events": [{"id": f"e{n}", "delta": each} for n, each in enumerate(texts)]
    },
    "at the top": lambda texts: [FORMS["chat chunk"](each) for each in texts],
}


@pytest.mark.parametrize("form", LISTS)
def test_pieces_in_one_record_are_joined(form: str) -> None:
    runs = list(joined([(1, dumps(LISTS[form](["abc", "def"])))]))

    assert [run.text for run in runs] == ["abcdef"]


def test_answers_beside_one_another_are_not_joined() -> None:
    choices: JSON = [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]
    raw = dumps({"object": "chat.completion.chunk", "choices": choices})

    runs = list(joined([(1, raw), (2, raw)]))

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
