from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.session.message import Message
from agentmem_cli.session.pairing import UNASKED, validate
from agentmem_cli.session.recent import LastMessages, TokenBudget, view
from tests.talks import ask, call, reply, result, results, talks

TALK = [ask("1"), call("a", "b"), result("a"), result("b"), reply("2"), ask("3")]


@pytest.mark.parametrize(
    ("n", "start"), [(0, 6), (1, 5), (2, 4), (3, 4), (4, 4), (5, 1), (6, 0), (99, 0), (-1, 6)]
)
def test_the_newest_messages_begin_behind_results_whose_calls_were_cut_off(
    n: int, start: int
) -> None:
    assert view(TALK, LastMessages(n)) == TALK[start:]


def test_a_result_behind_a_system_message_is_cut_off_too() -> None:
    talk = [call("a", "b"), result("a"), Message.system("x"), result("b"), reply()]

    assert view(talk, LastMessages(3)) == talk[4:]


def test_a_view_may_be_empty() -> None:
    assert view([call("a"), result("a")], LastMessages(1)) == []
    assert view([], LastMessages(3)) == []


def test_a_budget_ends_before_the_first_message_that_does_not_fit() -> None:
    talk = [ask("12345678"), ask("x" * 4_000), ask("12345678"), ask("12345678")]

    assert TokenBudget(12).start(talk) == 2
    assert TokenBudget(11).start(talk) == 3
    assert TokenBudget(0).start(talk) == 4
    assert TokenBudget(10**9).start(talk) == 0


def test_any_function_counts() -> None:
    assert TokenBudget(3, lambda message: 1).start([ask()] * 5) == 2


@given(talks(), st.integers(0, 30))
def test_a_view_never_begins_with_an_orphan_nor_holds_a_result_whose_call_was_cut_off(
    talk: list[Message], n: int
) -> None:
    window = list(view(talk, LastMessages(n)))
    start = len(talk) - len(window)

    everywhere = {problem.at for problem in validate(talk) if problem.kind == UNASKED}
    found = {problem.at for problem in validate(window) if problem.kind == UNASKED}

    assert {start + at for at in found} <= everywhere
    assert 0 not in found
    assert len(window) <= n


def test_parallel_results_in_one_message_go_with_their_calls() -> None:
    talk = [call("a", "b"), results("b", "a"), reply()]

    assert view(talk, LastMessages(2)) == talk[2:]
