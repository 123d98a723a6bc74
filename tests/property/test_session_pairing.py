"""Laws of calls and results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.pairing import UNASKED, at_rest, pending_calls, safe_start, validate
from tests.strategies import messages

if TYPE_CHECKING:
    from agentmem_cli.session.message import Message

TALKS = st.lists(messages(), max_size=8)


@given(talk=TALKS)
def test_normalizing_leaves_nothing_to_find(talk: list[Message]) -> None:
    conversation = Conversation(talk)

    changed = conversation.normalize(at=1)

    assert validate(conversation.messages) == []
    assert changed or conversation.messages == talk
    assert not conversation.copy().normalize(at=2)


@given(talk=TALKS)
def test_normalizing_changes_nothing_that_was_clean(talk: list[Message]) -> None:
    conversation = Conversation(talk)
    clean = validate(talk) == []

    changed = conversation.normalize(at=1)

    assert changed is not clean


@given(talk=TALKS, start=st.integers(0, 9))
def test_a_safe_window_does_not_begin_with_an_orphan(talk: list[Message], start: int) -> None:
    begin = safe_start(talk, min(start, len(talk)))
    problems = validate(talk[begin:])

    assert begin >= min(start, len(talk))
    assert not any(problem.kind == UNASKED and problem.at == 0 for problem in problems)


@given(talk=TALKS)
def test_what_is_at_rest_waits_for_nothing(talk: list[Message]) -> None:
    resting = at_rest(talk)

    assert not resting or not pending_calls(talk)
