"""Replies of Claude Code that are spread over lines, and the tree that the lines form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.operations.imports.adapter import Said
from agentmem_cli.operations.imports.claude_reading import WAIT_MESSAGES
from agentmem_cli.operations.imports.claude_replies import block_key, largest
from agentmem_cli.operations.imports.claude_tree import LEFT_MAX
from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import dumps
from tests.unit.imports.claude_building import (
    call,
    noted,
    parts,
    piece,
    prompt,
    read,
    record,
    result,
    said,
    text,
    words,
)

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

THINKING: Object = {"type": "thinking", "thinking": "Hm.", "signature": "Sig=="}


def test_lines_of_one_id_are_one_reply_with_its_usage_once() -> None:
    usage: Object = {"input_tokens": 3, "output_tokens": 212}
    found = said(
        prompt("u1", None, "Hi"),
        piece("a1", "u1", "m1", THINKING, usage=usage, requestId="r1"),
        piece("a2", "a1", "m1", text("Look:"), usage=usage),
        piece("a3", "a2", "m1", call("t1", "Grep", p="x"), usage=usage, stop_reason="tool_use"),
    )

    assert len(found) == 2
    assert dumps(found[1].message) == dumps(
        {
            "role": "assistant",
            "content": [
                {
                    "type": "reasoning",
                    "content": [{"type": "text", "text": "Hm."}],
                    "signature": "Sig==",
                },
                {"type": "text", "text": "Look:"},
                {
                    "type": "toolcall",
                    "id": "t1",
                    "function": {"name": "Grep", "arguments": {"p": "x"}},
                },
            ],
            "origin": {"provider": "anthropic", "model": "claude-x"},
            "stop": "tool_use",
            "id": "m1",
            "usage": usage,
        }
    )
    assert (found[1].line, found[1].raw, found[1].open) == (2, "a1", True)


def test_usage_is_the_largest_of_every_field() -> None:
    one: Object = {"output_tokens": 5, "input_tokens": 9, "cache": {"a": 1, "b": 7}, "tier": None}
    other: Object = {"output_tokens": 90, "input_tokens": 3, "cache": {"a": 2, "c": 1}, "tier": "s"}

    assert largest(one, other) == {
        "output_tokens": 90,
        "input_tokens": 9,
        "cache": {"a": 2, "b": 7, "c": 1},
        "tier": "s",
    }


def test_a_snapshot_is_superseded_by_the_line_that_goes_on_with_it() -> None:
    found = said(
        piece("a1", None, "m1", text("Hel"), usage={"output_tokens": 5}),
        piece("a2", "a1", "m1", text("Hello."), usage={"output_tokens": 90}),
        piece("a3", "a2", "m1", text("Hello."), call("t1"), usage={"output_tokens": 90}),
        piece("a4", "a3", "m1", call("t1", x=1), usage={"output_tokens": 95}),
    )

    assert [words(item) for item in found] == [["Hello.", "toolcall"]]
    assert found[0].message["usage"] == {"output_tokens": 95}
    assert parts(found[0])[1]["function"] == {"name": "Bash", "arguments": {"x": 1}}


def test_a_block_that_begins_like_another_one_is_a_block_of_its_own() -> None:
    usage: Object = {"output_tokens": 7}

    found = said(
        piece("a1", None, "m1", text("1"), usage=usage),
        piece("a2", "a1", "m1", text("10"), usage=usage),
    )

    assert [words(item) for item in found] == [["1", "10"]]


def test_results_between_the_lines_of_a_reply_follow_it() -> None:
    found = said(
        piece("a1", None, "m1", call("t1", "A")),
        result("r1", "a1", "t1", "one"),
        dumps({"type": "file-history-snapshot", "snapshot": {}}),
        piece("a2", "a1", "m1", call("t2", "B")),
        result("r2", "a2", "t2", "two"),
        piece("a3", "r2", "m2", text("done")),
    )

    assert [words(item) for item in found] == [
        ["toolcall", "toolcall"],
        ["toolresult"],
        ["toolresult"],
        ["done"],
    ]
    assert [item.line for item in found] == [1, 2, 5, 6]


def test_lines_of_a_reply_come_together_although_another_reply_begins() -> None:
    found = said(
        piece("a1", None, "m1", text("one")),
        piece("b1", "a1", "m2", text("other")),
        piece("a2", "a1", "m1", text("two")),
    )

    assert [words(item) for item in found] == [["one", "two"], ["other"]]


def test_replies_without_an_id_are_one_a_line() -> None:
    found = said(piece("a1", None, None, text("one")), piece("a2", "a1", None, text("two")))

    assert [(words(item), item.open) for item in found] == [(["one"], False), (["two"], False)]


def test_a_reply_without_an_id_goes_by_its_request() -> None:
    found = said(
        piece("a1", None, None, text("one"), requestId="r"),
        piece("a2", "a1", None, text("two"), requestId="r"),
    )

    assert [words(item) for item in found] == [["one", "two"]]


def test_what_comes_too_late_is_a_message_without_the_usage_and_what_repeats_is_dropped() -> None:
    usage: Object = {"output_tokens": 7}
    between = [prompt(f"u{i}", None, f"{i}") for i in range(WAIT_MESSAGES + 1)]

    records = (
        piece("a1", None, "m1", text("one"), usage=usage),
        piece("b1", "a1", "m2", text("other"), usage=usage),
        *between,
        piece("a2", "a1", "m1", text("one"), text("late"), usage=usage),
        piece("b2", "b1", "m2", text("other"), usage=usage),
    )
    found, tally = read(*records)

    messages = [item for item in found if isinstance(item, Said)]
    assert words(messages[-1]) == ["late"]
    assert "usage" not in messages[-1].message
    assert (tally.left, len(messages)) == ({"assistant/again": 1}, len(records) - 1)


def test_blocks_that_are_not_known_stay_as_they_are() -> None:
    blocks: list[JSON] = [
        {"type": "redacted_thinking", "data": "AbC="},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "advisor_tool_result", "content": {"x": 1}},
    ]

    (found,) = said(piece("a1", None, "m1", *blocks))

    assert found.message["content"] == blocks


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.booleans()), max_size=30))
def test_every_text_is_there_once_and_in_the_order_of_its_reply(
    steps: list[tuple[str, bool]],
) -> None:
    records = [prompt("u", None, "begin")]
    for index, (owner, asks) in enumerate(steps):
        records.append(piece(f"a{index}", None, owner, text(f"{owner}{index}.")))
        if asks:
            records.append(prompt(f"u{index}", None, f"user {index}"))

    found = [(item, words(item)) for item in said(*records)]

    told = [word for _, each in found for word in each if str(word).endswith(".")]
    assert sorted(map(str, told)) == sorted(f"{owner}{i}." for i, (owner, _) in enumerate(steps))
    for owner in "ABC":
        own = [word for word in told if str(word).startswith(owner)]
        assert own == [f"{owner}{i}." for i, (each, _) in enumerate(steps) if each == owner]
    prompts = [each[0] for _, each in found if str(each[0]).startswith("user")]
    assert prompts == [f"user {i}" for i, (_, asks) in enumerate(steps) if asks]
    assert [item.line for item, _ in found] == sorted(item.line for item, _ in found)


def test_a_parent_that_is_nowhere_is_a_gap_and_nothing_is_lost() -> None:
    records = [
        prompt("1", None, "one"),
        piece("2", "1", "m2", text("two")),
        prompt("3", "2", "three"),
        piece("4", "gone", "m4", text("four")),
        prompt("5", "4", "five"),
        piece("6", "5", "m6", text("six")),
    ]

    assert [words(item)[0] for item in said(*records)] == [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
    ]
    assert noted(*records) == [(4, "import.gap", {"parent": "gone"})]


def test_progress_and_snapshots_never_decide_the_order() -> None:
    snapshot: Object = {
        "type": "file-history-snapshot",
        "snapshot": {"timestamp": "2020-01-01T00:00:00Z"},
    }
    records = [
        prompt("u1", None, "go", 1),
        piece("a1", "u1", "m1", call("t1"), second=2),
        record("progress", "p1", "a1", 3, data={}),
        result("r1", "p1", "t1", "done", 4),
        piece("a2", "a1", "m2", text("Finished."), second=5),
        *[dumps(snapshot) for _ in range(20)],
        prompt("u2", "a2", "next", 6),
    ]

    found, tally = read(*records)

    messages = [item for item in found if isinstance(item, Said)]
    assert [words(item)[0] for item in messages] == [
        "go",
        "toolcall",
        "toolresult",
        "Finished.",
        "next",
    ]
    assert noted(*records) == []
    assert tally.left == {"progress": 1, "file-history-snapshot": 20}


def test_a_prompt_that_goes_back_marks_what_was_left() -> None:
    records = [
        prompt("u1", None, "one"),
        piece("a1", "u1", "m1", text("first")),
        prompt("u2", "a1", "wrong"),
        piece("a2", "u2", "m2", text("bad")),
        prompt("u3", "a1", "right"),
        piece("a3", "u3", "m3", text("good")),
    ]

    assert noted(*records) == [
        (5, "import.branch", {"parent": "a1", "count": 2, "left": ["u2", "a2"]})
    ]
    assert len(said(*records)) == 6


def test_a_first_prompt_that_is_asked_anew_leaves_everything() -> None:
    records = [
        prompt("u1", None, "one"),
        piece("a1", "u1", "m1", text("first")),
        prompt("u2", None, "again"),
    ]

    assert noted(*records) == [
        (3, "import.branch", {"parent": None, "count": 2, "left": ["u1", "a1"]})
    ]


def test_a_long_branch_names_its_newest_records_and_their_number() -> None:
    chain = [prompt(f"{i}", f"{i - 1}" if i else None, "x") for i in range(LEFT_MAX + 5)]

    ((_, kind, value),) = noted(*chain, prompt("back", "0", "y"))

    assert (kind, value["count"]) == ("import.branch", LEFT_MAX + 4)
    assert value["left"] == [f"{i}" for i in range(5, LEFT_MAX + 5)]


def test_results_of_calls_made_at_once_are_no_branches() -> None:
    records = [
        prompt("u1", None, "go"),
        piece("a1", "u1", "m1", call("t1")),
        piece("a2", "a1", "m1", call("t2")),
        result("r2", "a2", "t2", "two"),
        result("r1", "a1", "t1", "one"),
        piece("a3", "r1", "m2", text("both")),
        prompt("u2", "a3", "next"),
    ]

    assert noted(*records) == []


def test_records_without_parents_are_no_tree() -> None:
    records = [prompt("u1", None, "a"), piece("a1", None, "m", text("b")), prompt("u2", None, "c")]

    assert noted(*records) == []


@pytest.mark.parametrize("parent", ["self", "u1"])
def test_a_record_that_is_its_own_parent_ends_no_walk(parent: str) -> None:
    records = [
        prompt("u1", None, "a"),
        prompt("self", parent, "b"),
        prompt("u3", "u1", "c"),
        prompt("self", "u1", "d"),
    ]

    assert len(said(*records)) == 4


def test_a_compaction_is_an_aside_its_summary_a_message_and_what_is_kept_is_not_doubled() -> None:
    old = prompt("u1", None, "one")
    kept = piece("a1", "u1", "m1", text("kept"))
    boundary = record(
        "system",
        "b1",
        None,
        subtype="compact_boundary",
        content="Conversation compacted",
        logicalParentUuid="a1",
        compactMetadata={
            "trigger": "auto",
            "preTokens": 9,
            "preservedMessages": {"uuids": ["u1", "a1"]},
        },
    )
    summary = prompt("s1", "b1", "So far: one.", isCompactSummary=True)
    again = prompt("u1", "s1", "one")
    kept_again = piece("a1", "u1", "m1", text("kept"))
    records = [old, kept, boundary, summary, again, kept_again, prompt("u2", "a1", "on")]

    found, tally = read(*records)

    messages = [item for item in found if isinstance(item, Said)]
    assert [words(item)[0] for item in messages] == ["one", "kept", "So far: one.", "on"]
    assert messages[2].author == Author.plugin("claude-code", title="compact-summary")
    assert noted(*records) == [
        (
            3,
            "import.compaction",
            {
                "trigger": "auto",
                "preTokens": 9,
                "preserved": 2,
                "content": "Conversation compacted",
            },
        )
    ]
    assert tally.left == {"user/again": 1}


def test_one_id_twice_with_other_words_are_two_messages() -> None:
    found = said(prompt("u1", None, "one"), prompt("u1", None, "two"))

    assert [words(item) for item in found] == [["one"], ["two"]]


def test_a_prompt_after_a_compaction_leaves_nothing() -> None:
    boundary = record("system", "b1", None, subtype="compact_boundary")
    records = [
        prompt("u1", None, "one"),
        piece("a1", "u1", "m1", text("two")),
        boundary,
        prompt("s1", "b1", "So far", isCompactSummary=True),
        prompt("u2", "s1", "on"),
    ]

    assert [kind for _, kind, _ in noted(*records)] == ["import.compaction"]


def image(data: JSON, **more: JSON) -> Object:
    return {"type": "image", "source": {"type": "base64", "data": data, **more}}


def test_an_image_is_known_again_by_all_that_is_said_of_it() -> None:
    data = "QUJD"
    known = block_key("r", image(data, media_type="image/png"))

    assert known == block_key("r", image(data[:2] + data[2:], media_type="image/png"))
    others = [
        block_key("s", image("QUJD", media_type="image/png")),
        block_key("r", image("QUJE", media_type="image/png")),
        block_key("r", image("QUJD", media_type="image/gif")),
        block_key("r", image(None, media_type="image/png")),
        block_key("r", {**image("QUJD", media_type="image/png"), "cache": 1}),
    ]
    assert len({known, *others}) == 6
