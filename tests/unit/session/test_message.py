from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from agentmem_cli.session.codec import dumps, same
from agentmem_cli.session.message import Message, call_id
from tests.strategies import messages

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON


def test_messages_are_made_as_the_format_has_them() -> None:
    assert Message.system("Be brief.").raw == b'{"role":"system","content":"Be brief."}'
    assert Message.user("hi").raw == (b'{"role":"user","content":[{"type":"text","text":"hi"}]}')
    assert Message.assistant("ok", stop="end").raw == (
        b'{"role":"assistant","content":[{"type":"text","text":"ok"}],"stop":"end"}'
    )
    assert Message.tool_result("c1", "sh", "out", is_error=True).raw == (
        b'{"role":"user","content":[{"type":"toolresult","call":"c1","name":"sh",'
        b'"content":[{"type":"text","text":"out"}],"is_error":true}]}'
    )
    assert b"is_error" not in Message.tool_result("c1", "sh", []).raw


@given(message=messages())
def test_bytes_and_value_are_two_faces_of_one_message(message: Message) -> None:
    by_bytes, by_value = Message(message.raw), Message.of(message.value)

    assert by_bytes == by_value == message
    assert same(by_bytes.value, message.value)
    assert by_value.raw == dumps(message.value)
    assert repr(message)
    assert isinstance(message.role, str)
    assert isinstance(message.text, str)


def test_the_bytes_it_was_read_from_are_kept() -> None:
    raw = b'{ "role":"user", "content": [], "n": 1.10 }'

    message = Message(raw)

    assert message.raw == raw
    assert message == Message.of(message.value)
    assert message != Message.of({"role": "user", "content": [], "n": 1.1})
    assert message != raw


@pytest.mark.parametrize("content", [None, 7, {"a": 1}, True])
def test_content_of_another_shape_has_no_parts(content: JSON) -> None:
    message = Message.of({"role": ["user"], "content": content})

    assert message.parts == []
    assert message.text == ""
    assert message.role == ""
    assert message.content == content


def test_a_string_is_one_part_and_what_is_no_object_is_none() -> None:
    assert Message.of({"content": "a"}).parts == [{"type": "text", "text": "a"}]
    assert Message.of({"content": ["a", 7, {"type": "x"}, None]}).parts == [{"type": "x"}]
    assert Message.of({"content": [{"type": "text", "text": 7}]}).text == ""


@pytest.mark.parametrize(
    ("value", "id_"),
    [
        ("a", "a"),
        ({"provider": "a"}, "a"),
        ({"local": "b"}, "b"),
        ({"a": 1}, None),
        ({"a": "1", "b": "2"}, None),
        ({}, None),
        (7, None),
        (None, None),
    ],
)
def test_a_call_id_is_a_string_or_an_object_of_one(value: JSON, id_: str | None) -> None:
    assert call_id(value) == id_
