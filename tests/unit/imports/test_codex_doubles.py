"""Response items against the events that mirror them."""

from __future__ import annotations

import itertools

import pytest

from agentmem_cli.operations.imports.adapter import Said
from agentmem_cli.operations.imports.codex_turns import LOOKAHEAD
from tests.unit.imports.codex_building import (
    answer,
    call,
    event,
    item,
    meta,
    output,
    prompt,
    read,
    said,
    spoken,
)

HEARD = event(1, "user_message", message="Why?")
ASKED = prompt(1, "Why?")
TOLD = event(2, "agent_message", message="So.")
SAID = answer(2, "So.")


@pytest.mark.parametrize("user", [(HEARD, ASKED), (ASKED, HEARD), (ASKED,), (HEARD,)])
@pytest.mark.parametrize("model", [(TOLD, SAID), (SAID, TOLD), (SAID,), (TOLD,)])
def test_what_is_said_twice_is_one_message_in_every_order(
    user: tuple[bytes, ...], model: tuple[bytes, ...]
) -> None:
    items, tally = read(meta(), *user, *model)

    assert spoken(meta(), *user, *model) == ["u:Why?", "a:So."]
    assert sum(tally.left.values()) == len(user) + len(model) - 2
    assert sum(tally.types.values()) == tally.records
    assert len(items) == 3


def test_the_same_words_in_every_turn_are_as_many_messages() -> None:
    for user, model in itertools.product(
        [(HEARD, ASKED), (ASKED, HEARD), (HEARD,)], [(TOLD, SAID), (SAID, TOLD), (TOLD,)]
    ):
        found = spoken(meta(), *(*user, *model) * 3)

        assert found == ["u:Why?", "a:So."] * 3


def test_a_role_without_response_items_is_read_from_its_events() -> None:
    found = spoken(
        meta(),
        HEARD,
        item(2, "reasoning", summary=[]),
        SAID,
        event(3, "user_message", message="And?"),
        call(4, "a"),
        output(5, "a", "x"),
        answer(6, "That."),
    )

    assert found == ["u:Why?", "a:? So.", "u:And?", "a:->a", "u:<-a", "a:That."]


def test_a_prompt_that_exists_only_as_an_event_is_kept_beside_others() -> None:
    found = spoken(
        meta(), ASKED, HEARD, SAID, TOLD, event(3, "user_message", message="Only here"), SAID
    )

    assert found == ["u:Why?", "a:So.", "u:Only here", "a:So."]


def test_an_event_is_a_double_though_other_records_stand_between() -> None:
    between = (
        prompt(1, "<environment_context>x</environment_context>"),
        event(1, "token_count", info=None),
        prompt(1, "<permissions instructions>x", role="developer"),
    )

    assert spoken(meta(), HEARD, *between, ASKED, SAID) == [
        "p:<environment_context>x</environment_context>",
        "p:<permissions instructions>x",
        "u:Why?",
        "a:So.",
    ]


def test_a_reply_recorded_behind_its_calls_is_one_reply() -> None:
    found = spoken(
        meta(),
        ASKED,
        event(2, "agent_message", message="I look."),
        item(3, "reasoning", summary=[]),
        answer(3, "I look."),
        call(3, "a"),
        output(4, "a", "x"),
        event(5, "task_complete"),
    )

    assert found == ["u:Why?", "a:? I look. ->a", "u:<-a"]


def test_two_events_before_their_two_response_items_are_two_messages() -> None:
    found = spoken(
        meta(),
        ASKED,
        event(2, "agent_message", message="One."),
        event(2, "agent_message", message="Two."),
        answer(3, "One."),
        answer(3, "Two."),
    )

    assert found == ["u:Why?", "a:One. Two."]


def test_the_text_before_which_an_editor_put_its_context_is_no_second_prompt() -> None:
    asked = prompt(1, "# Context from my IDE setup:\n\n## My request for Codex:\nWhy?")

    assert len(said(meta(), asked, HEARD, SAID)) == 2


def test_a_prompt_of_pictures_only_is_one_prompt() -> None:
    url = "data:image/png;base64,AAAA"
    asked = item(1, "message", role="user", content=[{"type": "input_image", "image_url": url}])
    heard = event(1, "user_message", message="", images=[url])

    assert spoken(meta(), asked, heard, SAID) == ["u:image", "a:So."]
    assert spoken(meta(), heard, SAID) == ["u: image", "a:So."]


def test_an_event_waits_for_a_bounded_number_of_records() -> None:
    calls = [
        record for n in range(LOOKAHEAD) for record in (call(3, f"{n}"), output(3, f"{n}", ""))
    ]

    found = spoken(meta(), ASKED, TOLD, *calls, SAID)

    assert found[:3] == ["u:Why?", "a:So. ->0", "u:<-0"]
    assert len(found) == 2 * LOOKAHEAD + 1


def test_what_stands_behind_a_waiting_event_at_the_end_can_still_change() -> None:
    items, _ = read(meta(), ASKED, SAID, event(2, "task_complete"), TOLD, call(3, "a"))

    assert [each.open for each in items if isinstance(each, Said)] == [False, False, True]


def test_asides_keep_their_place_behind_an_event_that_waits() -> None:
    items, _ = read(meta(), HEARD, event(1, "error", message="x"), SAID)

    assert [type(each).__name__ for each in items] == ["Kept", "Said", "Noted", "Said"]
