from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.errors import UsageError
from agentmem_cli.session.clearing import ClearToolOutputs, NearWindow
from agentmem_cli.session.compaction import apply_summary
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.cutting import find_cut, shape_of
from agentmem_cli.session.message import Message
from agentmem_cli.session.policy import Asked, CompactionPolicy, CompactReason, Overflow, Threshold
from agentmem_cli.session.summaries import SummaryState, TrackArgument
from tests.talks import ask, call, pairs, reply, result, results, talks

TALK = [ask(), call("a"), result("a"), reply()]
ABORTED = Message.of({**call("a").value, "stop": "aborted"})
MUCH = sys.maxsize


def cut(talk: list[Message], keep: int = 0, *, forced: bool = False, start: int = 0) -> int | None:
    return find_cut([shape_of(message.value) for message in talk], start, keep, forced=forced)


def test_keeping_nothing_keeps_the_newest_reply_or_user_message() -> None:
    assert cut(TALK) == 3
    assert cut([*TALK, ask()]) == 4
    assert cut([*TALK, call("b"), result("b")]) == 4


def test_what_cannot_be_reached_is_nothing_to_do_unless_it_is_forced() -> None:
    assert cut(TALK, MUCH) is None
    assert cut(TALK, MUCH, forced=True) == 3


@pytest.mark.parametrize("talk", [[], [ask()], [reply()]])
@pytest.mark.parametrize("forced", [True, False])
def test_nothing_and_a_lone_message_give_no_cut(talk: list[Message], forced: bool) -> None:
    assert cut(talk, forced=forced) is None


def test_the_first_place_that_keeps_enough_is_taken() -> None:
    talk = [ask("x" * 400) for _ in range(5)]

    assert [cut(talk, keep) for keep in (0, 104, 105, 208, 209, 416, 417)] == [
        4,
        4,
        3,
        3,
        2,
        1,
        None,
    ]


def test_the_first_message_not_summarized_yet_is_always_summarized() -> None:
    talk = [ask(), reply(), ask(), reply()]

    assert cut(talk, start=2, forced=True) == 3
    assert cut(talk, start=3, forced=True) is None


@pytest.mark.parametrize(
    ("talk", "expected"),
    [
        ([ask(), call("a"), result("a", also="and this")], 1),
        ([ask(), call("a", "b"), result("a"), result("b")], 1),
        ([ask(), call("a", "b"), results("b", "a")], 1),
        ([ask(), call("a"), Message.system("x"), result("a")], 1),
        ([ask(), call("a"), Message.system("x")], 1),
        ([ask(), ABORTED, Message.system("x")], 2),
        ([ask(), call("a"), ask("wait"), reply(), result("a")], 1),
        ([ask(), call("a"), ask("wait")], 2),
        ([ask(), call("a"), ask("wait"), call("a"), result("a")], 3),
        ([call("a"), result("a")], None),
        ([ask(), Message.of({"role": "newer", "content": []})], None),
    ],
)
def test_a_call_and_its_result_are_never_parted(talk: list[Message], expected: int | None) -> None:
    assert cut(talk, forced=True) == expected


@given(talks(), st.integers(0, 600), st.booleans())
def test_no_cut_parts_any_pair_or_moves_back(talk: list[Message], keep: int, forced: bool) -> None:
    found = cut(talk, keep, forced=forced)

    if found is not None:
        assert 0 < found < len(talk)
        assert [pair for pair in pairs(talk) if pair[0] < found <= pair[1]] == []
    elif keep == 0 and len(talk) > 1 and talk[-1].role == "user" and not pairs(talk):
        assert any(part["type"] == "toolresult" for part in talk[-1].parts)


# -- the policy ---------------------------------------------------------------


def test_a_part_of_a_policy_reads_and_the_rest_is_the_default() -> None:
    policy = CompactionPolicy.from_json({"keep_recent": 1000, "limits": {"reserve": 1}})

    assert policy.keep_recent == 1_000
    assert policy.summarizer.limits.reserve == 1
    assert policy.summarizer.limits.summary_tokens == 12_000
    assert policy.keep_asked == CompactionPolicy().keep_asked == 0


def test_the_defaults_are_those_of_the_crate() -> None:
    policy = CompactionPolicy.from_json({})
    limits = policy.summarizer.limits

    assert policy == CompactionPolicy()
    assert policy.keep_recent == 20_000
    assert policy.clearing == ClearToolOutputs(40_000, 200)
    assert policy.near_window is NearWindow.SUMMARIZE
    assert (limits.reserve, limits.summary_tokens) == (16_384, 12_000)
    assert (limits.snippet_chars, limits.unknown_window_chars) == (2_000, 400_000)


def test_a_whole_policy_reads() -> None:
    policy = CompactionPolicy.from_json(
        {
            "prompts": {"system": "S", "initial": "I", "notes": "N"},
            "limits": {"snippet_chars": 7},
            "tracked": [{"tool": "read", "argument": "path", "set": "files"}],
            "keep_asked": 5,
            "clearing": {"keep_tokens": 3},
            "near_window": "clear",
        }
    )

    assert policy.summarizer.prompts.system == "S"
    assert policy.tracked == (TrackArgument("read", "path", "files"),)
    assert policy.clearing == ClearToolOutputs(3, 200)
    assert policy.near_window is NearWindow.CLEAR


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"keep": 1},
        {"limits": {"keep": 1}},
        {"prompts": {"systems": ""}},
        {"clearing": {"keep": 1}},
        {"tracked": [{"tool": "a", "argument": "b", "set": "c", "d": 1}]},
        {"tracked": [{"tool": "a"}]},
        {"tracked": {}},
        {"keep_recent": "1"},
        {"keep_recent": -1},
        {"keep_recent": True},
        {"keep_asked": 1.5},
        {"limits": []},
        {"prompts": {"system": None}},
        {"near_window": "wait"},
        {"near_window": 1},
    ],
)
def test_a_policy_that_says_something_else_is_refused(value: object) -> None:
    with pytest.raises(UsageError):
        CompactionPolicy.from_json(value)  # type: ignore[arg-type]


def test_over_the_threshold_is_where_less_than_the_reserve_is_left() -> None:
    policy = CompactionPolicy()

    assert not policy.over_threshold(200_000 - 16_384, 200_000)
    assert policy.over_threshold(200_000 - 16_383, 200_000)
    assert not policy.over_threshold(10**9, None)


def test_what_is_kept_is_a_quarter_of_the_window_at_most() -> None:
    policy = CompactionPolicy(keep_asked=7)

    assert policy.keep(Threshold(), 200_000) == 20_000
    assert policy.keep(Overflow(), 40_000) == 10_000
    assert policy.keep(Threshold()) == 20_000
    assert policy.keep(Asked(), 40_000) == 7


@pytest.mark.parametrize(("reason", "kept"), [(Asked(), 3), (Overflow(), 3), (Threshold(), None)])
def test_only_a_threshold_finds_nothing_to_do_where_little_stands(
    reason: CompactReason, kept: int | None
) -> None:
    talk = Conversation(TALK)
    policy = CompactionPolicy(keep_recent=MUCH, keep_asked=MUCH)

    found = policy.cut_summary(talk, reason)

    assert (None if found is None else found.keep_from) == kept


def test_a_plan_asks_about_what_goes_and_names_what_stays() -> None:
    talk = Conversation([ask("build a boat"), call("a", path="hull.py"), result("a"), reply()])
    policy = CompactionPolicy(tracked=(TrackArgument("read", "path", "files"),))

    plan = policy.plan_summary(talk, Asked("the hull"))

    assert plan is not None
    assert plan.keep_from == 3
    assert plan.read == tuple(talk.entries[:3])
    assert plan.state.tracked[0].values == ("hull.py",)
    assert "build a boat" in plan.request.text
    assert "the hull" in plan.request.text
    assert "done" not in plan.request.text.partition("</record>")[0]


def test_a_plan_builds_on_the_earlier_summary_and_reads_only_what_is_new() -> None:
    talk = Conversation([ask("first thing " * 50), reply("old words " * 50)])
    policy = CompactionPolicy(tracked=(TrackArgument("read", "path", "files"),))
    apply_summary(talk, None, SummaryState("they built it", ()))
    talk.extend([ask("second thing"), call("a", path="b.py"), result("a"), reply()])

    plan = policy.plan_summary(talk, Asked())

    assert plan is not None
    assert plan.state.summary == "they built it"
    assert "they built it" in plan.request.text
    assert "second thing" in plan.request.text
    assert "old words" not in plan.request.text
    assert plan.state.tracked[0].values == ("b.py",)
