from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.counting import (
    ATTACHMENT_TOKENS,
    OUTPUT_MARGIN,
    Anchor,
    HeuristicTokenCounter,
    Prepared,
    estimate_tokens,
    next_request_tokens,
    output_room,
)
from agentmem_cli.session.message import Message
from tests.talks import ask, call, reply

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

COUNT = HeuristicTokenCounter()

IMAGE: Object = {"type": "image", "data": {"type": "base64", "value": "QUJD" * 9_000}}


def tokens(*parts: Object) -> int:
    """What the parts take, without the message around them."""
    return COUNT(Message.user(parts)) - 4


def test_a_message_of_eight_bytes_costs_six() -> None:
    assert COUNT.count(Message.user("12345678")) == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("1", 1), ("1234", 1), ("12345", 2), ("é" * 4, 2), ("日本", 2), ("\ud83d", 1)],
)
def test_bytes_of_utf8_are_counted_and_rounded_up(text: str, expected: int) -> None:
    assert tokens({"type": "text", "text": text}) == expected
    assert COUNT(Message.system(text)) == expected + 4
    assert tokens({"type": "reasoning", "content": [{"type": "text", "text": text}]}) == expected


def test_each_part_is_rounded_up_by_itself_and_the_overhead_counts_once() -> None:
    part: Object = {"type": "text", "text": "1"}

    assert COUNT(Message.user([part] * 3)) == 3 + 4
    assert COUNT(Message.user([])) == 4


def test_a_call_counts_its_name_and_its_compact_arguments_but_not_its_id() -> None:
    short = Message.assistant([_call("x", {"a": [1, 2]})])
    long = Message.assistant([_call("x" * 400, {"a": [1, 2]})])

    assert COUNT(short) == math.ceil(len('read{"a":[1,2]}') / 4) + 4
    assert COUNT(long) == COUNT(short)


def _call(id_: str, arguments: JSON) -> Object:
    return {"type": "toolcall", "id": id_, "function": {"name": "read", "arguments": arguments}}


def test_a_result_counts_the_sum_of_its_parts() -> None:
    parts: list[JSON] = [
        {"type": "text", "text": "12345"},
        {"type": "json", "value": {"a": 1}},
        IMAGE,
    ]
    part: Object = {"type": "toolresult", "call": "x" * 99, "name": "read", "content": parts}

    assert tokens(part) == 2 + 2 + ATTACHMENT_TOKENS


@pytest.mark.parametrize("kind", ["image", "audio", "video", "document"])
def test_an_attachment_costs_the_same_whatever_its_size(kind: str) -> None:
    assert tokens({**IMAGE, "type": kind}) == ATTACHMENT_TOKENS == 1_200


def test_a_part_of_a_newer_program_costs_what_its_json_does() -> None:
    assert tokens({"type": "opaque", "x": "y" * 100}) == math.ceil(
        len('{"type":"opaque","x":""}' + "y" * 100) / 4
    )


@pytest.mark.parametrize("odd", [None, 7, [7, None, {"type": ["text"]}], {"type": "text"}, True])
def test_content_of_any_shape_is_counted(odd: JSON) -> None:
    assert COUNT.count_value({"role": "user", "content": odd}) >= 4


@pytest.mark.parametrize("ratio", [math.inf, math.nan, 0.5, 0, -3])
def test_an_unsound_ratio_is_one(ratio: float) -> None:
    counter = HeuristicTokenCounter(ratio, per_message=0)

    assert counter.bytes_per_token == 1.0
    assert counter(Message.user("12345")) == 5


def test_a_model_of_anthropic_has_three_and_a_half_bytes_a_token() -> None:
    counter = HeuristicTokenCounter.anthropic()

    assert counter(Message.user("1234567")) == 2 + 4
    assert counter(Message.user("12345678")) == 3 + 4
    assert counter.per_attachment == ATTACHMENT_TOKENS


def test_a_tool_counts_name_description_and_schema_without_overhead() -> None:
    tool: Object = {"name": "read", "description": "Reads.", "parameters": {"type": "object"}}

    assert COUNT.count_tool(tool) == math.ceil((4 + 6 + len('{"type":"object"}')) / 4)
    assert COUNT.count_tool({}) == 0


def test_the_estimate_is_the_sum() -> None:
    messages = [ask("12345678"), reply("1"), Message.system("")]

    assert estimate_tokens(messages) == 6 + 5 + 4
    assert estimate_tokens([]) == 0


@pytest.mark.parametrize(
    ("window", "most", "estimate", "room"),
    [
        (None, None, 5, None),
        (None, 800, 5, 800),
        (10_000, None, 1_000, 10_000 - 1_000 - OUTPUT_MARGIN),
        (10_000, 800, 1_000, 800),
        (10_000, 8_000, 1_000, 10_000 - 1_000 - 4_096),
        (10_000, 800, 6_000, 0),
        (1_000, None, 0, 0),
    ],
)
def test_the_room_for_output_is_what_the_window_leaves(
    window: int | None, most: int | None, estimate: int, room: int | None
) -> None:
    assert output_room(window, most, estimate) == room


# -- the next request --------------------------------------------------------

TOOLS: list[Object] = [{"name": "read", "description": "Reads.", "parameters": {"x": "y" * 4_000}}]


def prepared(history: Conversation, model: str = "m", prompt: str | None = "Be.") -> Prepared:
    return Prepared(model, prompt, TOOLS, history)


def answered() -> tuple[Conversation, Prepared, Anchor]:
    """A conversation of which two messages were sent and a reply came, with its usage."""
    history = Conversation([ask("read it"), reply("which")])
    sent = prepared(history.copy())
    through = history.push(reply("this one"))
    return history, sent, Anchor(5_000, through)


def test_the_next_request_is_the_last_usage_and_what_came_after() -> None:
    history, sent, anchor = answered()
    before = next_request_tokens(prepared(history), anchor, sent.start())
    history.push(ask("12345678"))

    after = next_request_tokens(prepared(history), anchor, sent.start())

    assert before == 5_000
    assert after == 5_006


def test_all_of_a_request_is_prompt_tools_and_messages_each_once() -> None:
    history, _, _ = answered()
    tools = COUNT.count_tool(TOOLS[0])

    whole = prepared(history).whole_tokens()

    assert tools > 1_000
    assert whole == COUNT(Message.system("Be.")) + tools + estimate_tokens(history.messages)
    assert prepared(history, prompt=None).whole_tokens() == whole - COUNT(Message.system("Be."))
    assert next_request_tokens(prepared(history), None, None) == whole


@pytest.mark.parametrize("change", ["model", "prompt", "tools", "edit", "made", "gone", "steered"])
def test_an_anchor_holds_only_while_the_request_begins_as_the_one_that_was_sent(
    change: str,
) -> None:
    history, sent, anchor = answered()
    now = prepared(history)
    if change == "model":
        now = now._replace(model="other")
    elif change == "prompt":
        now = now._replace(prompt="Be not.")
    elif change == "tools":
        now = now._replace(tools=[])
    elif change == "edit":
        history.splice(0, 1, [history.entries[0].edited(ask("read that"))])
    elif change == "made":
        history.restore(0, 1, [history.entries[0].copy(7)])
    elif change == "gone":
        history.splice(2, 3)
    else:
        history.splice(2, 2, [ask("wait")])

    estimate = next_request_tokens(now, anchor, sent.start())

    assert estimate == now.whole_tokens()


def test_a_call_in_the_reply_does_not_unsettle_the_anchor() -> None:
    history = Conversation([ask("read it")])
    sent = prepared(history.copy())
    anchor = Anchor(900, history.push(call("a")))

    assert next_request_tokens(prepared(history), anchor, sent.start()) == 900
