from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.author import Author
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.message import Message
from agentmem_cli.session.pairing import (
    MERGEABLE,
    UNANSWERED,
    UNASKED,
    Problem,
    at_rest,
    owes_nothing,
    pending_calls,
    safe_start,
    validate,
)
from agentmem_cli.session.reader import load
from agentmem_cli.session.writer import save
from agentmem_cli.storage.memory import MemoryStore

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object


def call(*ids: JSON, text: str = "", **extra: JSON) -> Message:
    parts: list[dict[str, JSON]] = [{"type": "text", "text": text}] if text else []
    function: JSON = {"name": "sh", "arguments": {}}
    parts += [{"type": "toolcall", "id": id_, "function": function} for id_ in ids]
    return Message.assistant(parts, **extra)


def result(*ids: JSON, text: str = "") -> Message:
    parts = [part for id_ in ids for part in Message.tool_result(id_, "sh", "ok").parts]
    if text:
        parts.append({"type": "text", "text": text})
    return Message.user(parts)


ASK = Message.user("go")
SAID = Message.assistant("done")
RULES = Message.system("be brief")


@pytest.mark.parametrize(
    ("messages", "problems"),
    [
        ([], []),
        ([ASK, call("a"), result("a"), SAID], []),
        ([ASK, call("a", "b"), result("b"), result("a")], []),
        ([call({"provider": "a"}), result({"local": "a"})], []),
        ([call("a", "a"), result("a"), result("a")], []),
        ([call("a", "a"), result("a")], [Problem(UNANSWERED, 0, "a")]),
        ([call("a"), RULES, result("a")], []),
        ([call("a"), ASK, result("a")], [Problem(UNANSWERED, 0, "a"), Problem(UNASKED, 2, "a")]),
        (
            [call("a", "b"), result("a", text="and"), result("b")],
            [Problem(UNANSWERED, 0, "b"), Problem(UNASKED, 2, "b")],
        ),
        ([call("a"), call("b")], [Problem(UNANSWERED, 0, "a"), Problem(UNANSWERED, 1, "b")]),
        ([result("a")], [Problem(UNASKED, 0, "a")]),
        ([call("a"), result("a"), result("a")], [Problem(UNASKED, 2, "a")]),
        ([call("a", stop="error"), ASK], []),
        ([call("a", stop={"kind": "aborted"}), SAID], []),
        ([call("a", stop="error"), result("a")], [Problem(UNASKED, 1, "a")]),
        ([SAID, SAID], [Problem(MERGEABLE, 1, None)]),
        ([SAID, call("a"), result("a")], [Problem(MERGEABLE, 1, None)]),
        ([SAID, RULES, SAID], []),
        ([SAID, Message.of({"role": "newer"}), SAID], []),
        ([SAID, Message.assistant("x", origin="other")], []),
        ([SAID, Message.of({"role": "assistant", "content": {"odd": 1}})], []),
    ],
)
def test_validate_names_what_does_not_pair(
    messages: list[Message], problems: list[Problem]
) -> None:
    assert validate(messages) == problems


@pytest.mark.parametrize(
    "stop", ["error", "Aborted", "cancelled", {"kind": "error"}, {"error": {}}]
)
def test_a_reply_that_ended_in_error_owes_nothing(stop: JSON) -> None:
    assert owes_nothing({"role": "assistant", "stop": stop})


@pytest.mark.parametrize("stop", [None, "end", 7, [], {}, {"kind": 1}])
def test_any_other_reply_owes_results(stop: JSON) -> None:
    assert not owes_nothing({"role": "assistant", "stop": stop})


def test_calls_wait_until_they_are_answered() -> None:
    messages = [ASK, call("a", "b"), result("b")]

    assert pending_calls(messages) == ["a"]
    assert pending_calls([*messages, result("a")]) == []
    assert pending_calls([*messages, ASK]) == []


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], True),
        ([RULES], True),
        ([ASK], False),
        ([ASK, SAID], True),
        ([ASK, SAID, RULES], True),
        ([ASK, call("a")], False),
        ([ASK, call("a"), result("a")], False),
        ([ASK, call("a", stop="error")], True),
    ],
)
def test_a_conversation_is_at_rest_when_nothing_is_owed(
    messages: list[Message], expected: bool
) -> None:
    assert at_rest(messages) is expected


@pytest.mark.parametrize(
    ("start", "expected"), [(0, 0), (1, 1), (2, 4), (3, 4), (4, 4), (5, 6), (6, 6), (7, 7), (9, 9)]
)
def test_a_window_never_begins_with_a_result_whose_call_it_cut_off(
    start: int, expected: int
) -> None:
    messages = [
        ASK,
        call("a", "b"),
        result("a"),
        result("b"),
        call("c"),
        result("c", text="and"),
        SAID,
    ]

    found = safe_start(messages, start)

    assert found == expected


def normalized(messages: list[Message]) -> list[Message]:
    conversation = Conversation(messages)
    conversation.take_unsaved()
    changed = conversation.normalize(at=1)

    assert changed is (conversation.messages != messages)
    assert validate(conversation.messages) == []
    return conversation.messages


def test_a_call_that_nothing_answers_gets_an_error_result_of_the_framework() -> None:
    conversation = Conversation([ASK, call("a", "b"), result("b"), SAID])

    conversation.normalize()
    made = conversation.entries[3]

    assert made.author == Author.rig()
    assert made.message.parts[0]["call"] == "a"
    assert made.message.parts[0]["is_error"] is True
    assert [entry.id for entry in conversation] == [0, 1, 2, 4, 3]


def test_a_missing_result_stands_in_front_of_the_user_message_that_follows() -> None:
    messages = normalized([call("a"), Message.user("next")])

    assert [part["type"] for part in messages[1].parts] == ["toolresult", "text"]
    assert len(messages) == 2


def test_a_missing_result_stands_before_system_messages_that_came_meanwhile() -> None:
    messages = normalized([call("a"), RULES, SAID])

    assert [message.role for message in messages] == ["assistant", "user", "system", "assistant"]


def test_what_is_clean_stays_as_it_is_system_messages_between_call_and_result_too() -> None:
    messages = [ASK, call("a"), RULES, result("a"), SAID]

    assert normalized(messages) == messages


def test_results_nobody_asked_for_go_and_nothing_else_does() -> None:
    messages = normalized([result("x"), result("y", text="kept"), SAID, result("z"), SAID])

    assert [message.text for message in messages] == ["kept", "done\ndone"]


def test_parts_that_are_no_objects_are_kept() -> None:
    odd: JSON = ["bare", 7, None]
    reply = Message.of({"role": "assistant", "content": odd, "extra": 1})
    asked = Message.of({"role": "user", "content": [*result("x").parts, "bare"]})

    merged = normalized([reply, SAID])
    cleaned = normalized([asked])

    assert merged[0].content == ["bare", 7, None, {"type": "text", "text": "done"}]
    assert merged[0].value["extra"] == 1
    assert cleaned[0].content == ["bare"]


@pytest.mark.parametrize("content", [[], None, {"odd": 1}, 7])
def test_a_user_message_without_parts_ends_the_waiting_and_keeps_its_content(content: JSON) -> None:
    odd = Message.of({"role": "user", "content": content})

    messages = normalized([call("a"), odd, SAID])

    assert messages[-2] == odd or content == []
    assert messages[1].parts[0]["call"] == "a"


def test_merged_replies_keep_the_first_id_and_the_later_stop() -> None:
    conversation = Conversation(
        [Message.assistant("a", stop="x", more=1), Message.assistant("b", stop="y"), SAID]
    )

    conversation.normalize()

    assert len(conversation) == 1
    assert conversation.entries[0].id == 0
    assert conversation.messages[0].text == "a\nb\ndone"
    assert "stop" not in conversation.messages[0].value
    assert conversation.messages[0].value["more"] == 1


def test_what_is_mended_of_a_saved_conversation_keeps_its_images() -> None:
    data: Object = {"type": "base64", "value": "aGVsbG8="}
    image: Object = {"type": "image", "data": data, "media_type": "png"}
    orphan = Message.tool_result("nobody", "t", "r").parts[0]
    live = Conversation([Message.user([orphan, image]), Message.assistant("a")])
    live.push(Message.assistant([image]))
    store = MemoryStore()
    save(store, "one", live)
    read = load(store, "one")

    assert live.normalize()
    assert read.normalize()
    assert read == live
    assert [part["data"] for part in read.messages[0].parts] == [data]
    assert read.messages[1].parts[1]["data"] == data
