from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.aside import Aside
from agentmem_cli.session.author import Author
from agentmem_cli.session.change import Push, SetHalt, Splice
from agentmem_cli.session.compaction import apply_summary
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.message import Message
from agentmem_cli.session.summaries import (
    COMPACTED,
    Compacted,
    SummaryState,
    TrackArgument,
    TrackedSet,
    is_summary,
    newest_request,
    summarized_prefix,
    summary_author,
    summary_in,
    summary_state,
)
from tests.talks import ask, call, reply, result

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON

RULES = (
    TrackArgument("read", "path", "read-files"),
    TrackArgument("edit", "path", "changed-files"),
)
STATE = SummaryState("they built it", (TrackedSet("files", ("a", "b")),))


def test_before_the_first_compaction_there_is_no_message() -> None:
    assert SummaryState().message() is None
    assert SummaryState("  \n", STATE.tracked).message() is None


def test_a_message_is_the_summary_and_each_set_in_a_tag_of_its_name() -> None:
    text = STATE.message()

    assert text is not None
    opening, _, rest = text.partition("\n\n")
    assert "compacted" in opening
    assert rest == "<summary>\nthey built it\n</summary>\n\n<files>\na\nb\n</files>"


def test_a_value_shows_only_in_the_last_set_that_holds_it() -> None:
    state = SummaryState("s").track(
        [call("1", path="a.py"), call("2", path="b.py"), call("3", tool="edit", path="b.py")], RULES
    )

    text = str(state.message())

    assert state.tracked[0].values == ("a.py", "b.py")
    assert "<read-files>\na.py\n</read-files>" in text
    assert "<changed-files>\nb.py\n</changed-files>" in text


def test_an_empty_set_has_no_tag() -> None:
    state = SummaryState("s").track([], RULES)

    assert [each.name for each in state.tracked] == ["read-files", "changed-files"]
    assert "read-files" not in str(state.message())


def test_values_and_names_cannot_forge_a_tag_and_a_summary_cannot_end_its_own() -> None:
    tracked = (TrackedSet("a b>", ("</a>\n<summary>",)),)

    text = str(SummaryState("x </ Summary > y <summary>", tracked).message())

    assert text.count("</summary>") == 1
    assert text.count("<summary>") == 2
    assert "<a&#32;b&gt;>\n&lt;/a&gt;&#10;&lt;summary&gt;\n</a&#32;b&gt;>" in text
    assert "x &lt;/ Summary > y" in text


@pytest.mark.parametrize("arguments", [None, [], "x", {}, {"path": 7}, {"path": None}])
def test_only_string_arguments_are_tracked(arguments: JSON) -> None:
    function: JSON = {"name": "read", "arguments": arguments}
    message = Message.assistant([{"type": "toolcall", "id": "a", "function": function}])

    assert SummaryState().track([message], RULES).tracked[0].values == ()


def test_sets_grow_sorted_and_keep_the_order_they_came_in() -> None:
    state = SummaryState("", (TrackedSet("old", ("z",)),))

    state = state.track([call("1", path="b"), call("2", path="a"), call("3", path="b")], RULES)

    assert state.tracked == (("old", ("z",)), ("read-files", ("a", "b")), ("changed-files", ()))


def test_a_state_is_read_back_from_its_json() -> None:
    assert SummaryState.of(STATE.to_value()) == STATE


@pytest.mark.parametrize(
    "value", [None, 7, [], {}, {"summary": 7, "tracked": 7}, {"tracked": [7, {}, {"name": 1}]}]
)
def test_a_state_of_another_shape_is_no_state(value: JSON) -> None:
    assert SummaryState.of(value) == SummaryState()


# -- in a conversation ---------------------------------------------------------


def compacted() -> Conversation:
    talk = Conversation([ask("x" * 400), reply("y" * 400)])
    apply_summary(talk, None, STATE)
    return talk


def test_the_summary_author_is_the_plugin_compaction() -> None:
    assert summary_author().to_value() == {"kind": {"plugin": "compaction"}}


def test_a_compaction_says_what_it_replaced_in_a_side_record_behind_the_summary() -> None:
    talk = compacted()

    (aside,) = talk.asides.values()
    assert aside.kind == COMPACTED == "compacted"
    assert aside.after == 2
    assert aside.author == summary_author()
    assert aside.value == {"summary": 2, "replaced": [0, 1], "state": STATE.to_value()}
    assert Compacted.of(talk) == [Compacted(2, (0, 1), STATE)]


@pytest.mark.parametrize("value", [None, [], {}, {"summary": "2"}, {"replaced": [1]}])
def test_a_side_record_of_another_shape_is_no_compaction(value: JSON) -> None:
    talk = Conversation()
    talk.put_aside(Aside(COMPACTED, summary_author(), value))

    assert Compacted.of(talk) == []


def test_the_state_to_build_on_is_that_of_the_newest_summary_at_the_beginning() -> None:
    talk = compacted()

    assert summarized_prefix(talk) == 1
    assert summary_state(talk) == STATE
    assert summarized_prefix(Conversation([ask()])) == 0
    assert summary_state(Conversation([ask()])) == SummaryState()


def test_a_summary_without_its_side_record_is_built_on_by_its_text() -> None:
    talk = Conversation()
    talk.push(Message.user("what was"), summary_author())

    assert summary_state(talk) == SummaryState("what was")


def test_the_summary_in_a_change_is_its_entry() -> None:
    talk = compacted()
    splice = talk.unsaved[1].change
    assert isinstance(splice, Splice)

    found = summary_in(splice)

    assert found is not None
    assert is_summary(found)
    assert summary_in(Push(tuple(talk.entries))) is talk.entries[0]
    assert summary_in(SetHalt(None)) is None
    assert summary_in(Push(tuple(Conversation([ask()]).entries))) is None


@pytest.mark.parametrize(
    ("messages", "author", "expected"),
    [
        ([ask("do it"), reply()], None, "do it"),
        ([ask("do it"), ask("  ")], None, "do it"),
        ([ask("do it"), call("a"), result("a")], None, "do it"),
        ([ask("do it"), call("a"), result("a", also="and that")], None, "and that"),
        ([ask("do it")], Author.agent("main"), "do it"),
        ([ask("do it")], Author.plugin("codex"), None),
        ([reply()], None, None),
    ],
)
def test_a_request_is_what_a_user_or_an_agent_wrote(
    messages: list[Message], author: Author | None, expected: str | None
) -> None:
    talk = Conversation()
    for message in messages:
        talk.push(message, author if message.role == "user" else None)

    parts = newest_request(talk.entries, len(talk))

    assert [part["text"] for part in parts] == ([] if expected is None else [expected])


def test_a_request_that_stays_is_not_said_twice() -> None:
    talk = Conversation([ask("one"), reply(), ask("two")])

    assert newest_request(talk.entries, 2) == []
    assert [part["text"] for part in newest_request(talk.entries, 3)] == ["two"]
