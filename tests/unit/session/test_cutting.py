"""The shapes of messages that a cut depends on, and what does not pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from agentmem_cli.session.counting import DEFAULT_COUNTER
from agentmem_cli.session.cutting import loose_problems, shape_of
from agentmem_cli.session.pairing import UNANSWERED, UNASKED, calls_of
from tests.strategies import message_values
from tests.talks import ask, call, reply, result, talks

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.message import Message


@given(message_values())
def test_a_shape_counts_as_the_counter_does(value: Object) -> None:
    calls = calls_of(value)

    shape = shape_of(value)

    assert shape.tokens == DEFAULT_COUNTER.count_value(value)
    assert (shape.asked, shape.answered) == (calls.asked, calls.answered)


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": "ä" * 9}],
        [{"type": "text", "text": "\ud800"}],
        [{"type": "text", "text": ""}],
        [{"type": "text", "text": 7}],
        [{"type": "text"}],
        [{"type": "toolresult", "call": 7, "content": "odd"}],
        [{"type": "toolresult", "call": "a", "content": [{"type": "text", "text": "x" * 9}]}],
        "a text",
        [],
        None,
        ["a"],
    ],
)
def test_odd_content_counts_as_the_counter_does(content: JSON) -> None:
    for role in ("user", "assistant", 7):
        value: Object = {"role": role, "content": content}

        assert shape_of(value).tokens == DEFAULT_COUNTER.count_value(value)


@given(talks())
def test_only_results_is_what_calls_say(talk: list[Message]) -> None:
    for message in talk:
        shape, calls = shape_of(message.value), calls_of(message.value)

        assert shape.only_results == (calls.only_results and bool(calls.answered))


def problems(*messages: Message) -> dict[tuple[str, str | None], int]:
    return dict(loose_problems([shape_of(message.value) for message in messages]))


def test_a_result_pairs_wherever_it_lies() -> None:
    assert problems(call("a", "b"), result("b", also="and"), ask("wait"), result("a")) == {}
    assert problems(call("a", "a"), result("a"), reply("x"), result("a")) == {}


def test_what_does_not_pair_is_counted() -> None:
    assert problems(call("a", "b"), result("b")) == {(UNANSWERED, "a"): 1}
    assert problems(result("a"), call("a")) == {(UNASKED, "a"): 1, (UNANSWERED, "a"): 1}
    assert problems(call("a"), result("a"), result("a")) == {(UNASKED, "a"): 1}
