from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.author import Author
from agentmem_cli.session.change import Splice
from agentmem_cli.session.clearing import PLACEHOLDER, ClearToolOutputs
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.message import Message
from agentmem_cli.session.pairing import validate
from tests.talks import ask, call, reply, result, result_part

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object

BIG = "x" * 4_000


def outputs(conversation: Conversation) -> list[str]:
    """What each result says, in a word."""
    found = []
    for message in conversation.messages:
        for part in message.parts:
            if part["type"] == "toolresult":
                (inner,) = Message.of({"content": part["content"]}).parts
                found.append("cleared" if inner["text"] == PLACEHOLDER else "kept")
    return found


def test_the_oldest_of_two_results_is_cleared() -> None:
    messages = [result("a", BIG), result("b", BIG), reply()]

    cleared = ClearToolOutputs(keep_tokens=1_500).clear(messages)

    assert cleared == (1, 1_000)
    assert messages[0] == result("a", PLACEHOLDER)
    assert messages[1:] == [result("b", BIG), reply()]


def test_the_defaults_keep_much() -> None:
    assert ClearToolOutputs() == ClearToolOutputs(keep_tokens=40_000, keep_under=200)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_messages_are_left_alone(count: int) -> None:
    messages = [result("a", BIG)] * count

    assert ClearToolOutputs(0).clear(messages) == (0, 0)
    assert messages == [result("a", BIG)] * count


def test_the_last_message_is_neither_cleared_nor_counted() -> None:
    messages = [result("a", BIG), result("b", BIG)]

    cleared = ClearToolOutputs(keep_tokens=1_000).clear(messages)

    assert cleared == (0, 0)


def test_the_one_that_crosses_the_line_is_cleared_too() -> None:
    talk = Conversation([result("a", BIG), result("b", BIG), result("c", BIG), reply()])

    plan = ClearToolOutputs(keep_tokens=1_999).plan(talk)
    plan.apply(talk)

    assert plan.cleared == (2, 2_000)
    assert outputs(talk) == ["cleared", "cleared", "kept"]


def test_errors_and_short_outputs_stay_and_short_ones_count() -> None:
    short = "y" * 796
    talk = Conversation(
        [result("e", BIG, failed=True), result("a", BIG), result("s", short), reply()]
    )

    within = ClearToolOutputs(keep_tokens=1_199).plan(talk)
    crossing = ClearToolOutputs(keep_tokens=1_198).plan(talk)
    none_kept = ClearToolOutputs(keep_tokens=0).plan(talk)

    assert within.cleared.results == 0
    assert crossing.cleared == (1, 1_000)
    assert none_kept.cleared == (1, 1_000)


def test_parts_are_walked_from_the_newest_and_everything_else_stays() -> None:
    parts: list[Object] = [
        {"type": "text", "text": "see"},
        {**result_part("a", BIG), "x-more": 1, "native": {"item": BIG}},
        result_part("b", BIG),
    ]
    talk = Conversation([call("a", "b"), Message.user(parts), reply()])

    ClearToolOutputs(keep_tokens=1_000).plan(talk).apply(talk, at=9)

    assert talk.messages[1].parts == [
        {"type": "text", "text": "see"},
        {**result_part("a", PLACEHOLDER), "x-more": 1},
        result_part("b", BIG),
    ]


def test_clearing_twice_changes_nothing_more() -> None:
    talk = Conversation([result("a", BIG), result("b", BIG), reply()])
    rule = ClearToolOutputs(0, keep_under=0)
    rule.plan(talk).apply(talk)
    once = talk.copy()

    again = rule.plan(talk)
    again.apply(talk)

    assert again.cleared == (0, 0)
    assert again.through is None
    assert talk == once
    assert len(talk.unsaved) == len(once.unsaved)


def test_a_plan_names_what_it_clears_and_changes_nothing() -> None:
    talk = Conversation([ask(), call("a"), result("a", BIG), call("b"), result("b", BIG), reply()])
    before = talk.copy()

    plan = ClearToolOutputs(0).plan(talk)

    assert [part["call"] for part in plan.results(talk)] == ["a", "b"]
    assert plan.through == 4
    assert talk == before
    assert talk.unsaved == before.unsaved


def test_applying_is_one_splice_that_keeps_ids_authors_and_times() -> None:
    talk = Conversation()
    talk.push(call("a"), at=1)
    talk.push(result("a", BIG), Author.plugin("tool"), at=2)
    talk.push(reply(), at=3)
    talk.take_unsaved()

    ClearToolOutputs(0).plan(talk).apply(talk, by=Author.plugin("p"), at=50)

    (record,) = talk.unsaved
    assert isinstance(record.change, Splice)
    assert record.by == Author.plugin("p")
    assert [(e.id, e.made) for e in talk.entries] == [(0, 1), (1, 2), (2, 3)]
    assert talk.entries[1].author == Author.plugin("tool")


def test_a_message_that_is_gone_or_changed_meanwhile_is_left_out() -> None:
    talk = Conversation([result("a", BIG), result("b", BIG), result("c", BIG), ask("x"), reply()])
    plan = ClearToolOutputs(0).plan(talk)
    talk.splice(2, 3, [talk.entries[2].edited(ask("no result"))])
    talk.splice(0, 1)

    plan.apply(talk)

    assert outputs(talk) == ["cleared"]
    assert talk.messages[1] == ask("no result")


def test_notes_stand_behind_the_newest_cleared_output() -> None:
    talk = Conversation([call("a"), result("a", BIG), call("b"), result("b", BIG), reply()])

    ClearToolOutputs(0).plan(talk).apply(talk, "the port is 8080")

    assert talk.messages[3].parts[-1] == {"type": "text", "text": "the port is 8080"}
    assert len(talk.messages[1].parts) == 1
    assert validate(talk.messages) == []


def test_notes_do_not_part_a_later_result_from_its_call() -> None:
    talk = Conversation(
        [call("a", "b"), result("a", BIG), result("b", "no", failed=True), reply(), ask()]
    )

    ClearToolOutputs(0).plan(talk).apply(talk, "noted")

    assert talk.messages[2].parts[-1]["text"] == "noted"
    assert validate(talk.messages) == []
