"""Whatever a conversation holds, its export pairs every call with one result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.operations.export import messages
from agentmem_cli.operations.exports.turns import Left
from agentmem_cli.operations.imports.openai import KIND
from agentmem_cli.operations.imports.openai_messages import Asked, message_of
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.message import Message, parts_of
from tests.provider_shapes import check

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object

_IDS = st.sampled_from(["a", "b", "", "c d"])
_TEXTS = st.sampled_from(["", " ", "words", "\ud83d"])
_WORDS = st.builds(lambda text: {"type": "text", "text": text}, _TEXTS)
_FUNCTIONS = st.sampled_from(
    [
        {"name": "ls", "arguments": {}},
        {"name": "ls", "arguments": "{broken"},
        {"name": "", "arguments": {"k": 1}},
        {"name": "a tool/of.mine", "arguments": None},
        {"name": "long" * 40, "arguments": [1]},
        {"arguments": ""},
        {"name": 7},
        None,
    ]
)
_CALLS = st.builds(
    lambda id_, function: {"type": "toolcall", "id": id_, "function": function},
    _IDS | st.sampled_from(["x" * 60, {"call": "b"}, None]),
    _FUNCTIONS,
)
_RESULTS = st.builds(
    lambda id_, text: {
        "type": "toolresult",
        "call": id_,
        "name": "ls",
        "content": [{"type": "text", "text": text}],
    },
    _IDS,
    _TEXTS,
)
_OTHERS = st.sampled_from(
    [
        {"type": "reasoning", "content": [{"type": "text", "text": "hm"}], "signature": "s"},
        {"type": "image", "data": {"type": "unknown"}},
        {"type": "image", "data": {"type": "base64", "value": ""}, "media_type": "png"},
        {"type": "image", "data": {"type": "base64", "value": "AAAA"}, "media_type": "png"},
        {"type": "image", "data": {"type": "url", "value": "file:///etc/hosts"}},
        {"type": "audio", "data": {"type": "base64", "value": "AAAA"}, "media_type": "ogg"},
        {"type": "document", "data": {"type": "base64", "value": "IA=="}, "media_type": "txt"},
        {"type": "refusal", "refusal": " "},
        {"type": "redacted_thinking", "data": ""},
        {"type": "odd"},
    ]
)
_REPLIES = st.builds(
    lambda parts: {"role": "assistant", "content": parts},
    st.lists(_WORDS | _CALLS | _OTHERS, max_size=4),
)
_USERS = st.builds(
    lambda parts: {"role": "user", "content": parts},
    st.lists(_WORDS | _RESULTS | _OTHERS, max_size=4),
)
_SYSTEMS = st.builds(lambda text: {"role": "system", "content": text}, _TEXTS)
_TALKS = st.lists(_REPLIES | _USERS | _SYSTEMS, max_size=10)


def _exported(talk: list[Object], shape: str) -> tuple[list[Object], Left]:
    entries = [Entry(number, Message.of(value)) for number, value in enumerate(talk)]
    left = Left()
    return list(messages(entries, shape, left)), left


@given(_TALKS, st.sampled_from(["openai", "anthropic"]), st.sampled_from([None, KIND]))
def test_what_is_exported_is_what_the_api_takes(
    talk: list[Object], shape: str, kind: str | None
) -> None:
    entries = [Entry(number, Message.of(value)) for number, value in enumerate(talk)]

    found = list(messages(entries, shape, Left(), kind=kind))

    check(shape, found, back=kind is not None)


_SCALARS = st.sampled_from([None, "", " ", "x", 0, True, 1.5, "a", "call"])
_FIELDS = st.sampled_from(
    ["type", "text", "image_url", "url", "id", "function", "name", "arguments", "custom", "input"]
)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner, max_size=4),
    max_leaves=6,
)
_KINDS = st.sampled_from(
    ["text", "image_url", "input_audio", "file", "refusal", "function", "custom", "new"]
)
_TYPED = st.builds(
    lambda kind, more: {**more, "type": kind}, _KINDS, st.dictionaries(_FIELDS, _JSON)
)
_MESSAGES = st.builds(
    lambda role, more: {**more, "role": role},
    st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "narrator"]),
    st.fixed_dictionaries(
        {},
        optional={
            "content": _JSON | st.lists(_TYPED, max_size=3),
            "tool_calls": _JSON | st.lists(_TYPED, max_size=3),
            "function_call": _JSON,
            "tool_call_id": _SCALARS,
            "name": _SCALARS,
            "refusal": _SCALARS,
        },
    ),
)


@given(st.lists(_MESSAGES, max_size=6), st.sampled_from(["openai", "anthropic"]))
def test_messages_of_whatever_shape_go_back_as_the_api_takes_them(
    talk: list[Object], shape: str
) -> None:
    asked = Asked()
    made = [message_of(loads_object(dumps(value)), asked) for value in talk]
    entries = [
        Entry(number, Message.of(value)) for number, value in enumerate(made) if value is not None
    ]

    found = list(messages(entries, shape, Left(), kind=KIND))

    check(shape, found, back=True)


def _count(talk: list[Object], kind: str, role: str) -> int:
    parts = [part for value in talk if value["role"] == role for part in parts_of(value)]
    return sum(part.get("type") == kind for part in parts)


@given(_TALKS)
def test_openai_has_each_result_right_behind_its_calls(talk: list[Object]) -> None:
    found, left = _exported(talk, "openai")
    waiting: list[object] = []
    calls = results = 0
    for each in found:
        if each["role"] == "tool":
            results += 1
            waiting.remove(each["tool_call_id"])
            assert each["content"]
            continue
        assert waiting == []
        told = each.get("tool_calls")
        calls_of = told if isinstance(told, list) else []
        waiting = [call["id"] for call in calls_of if isinstance(call, dict)]
        calls += len(waiting)

    assert waiting == []
    assert calls == results == _count(talk, "toolcall", "assistant")
    answered = calls - left.unanswered
    assert answered + left.orphans == _count(talk, "toolresult", "user")


@given(_TALKS)
def test_anthropic_takes_turns_and_answers_each_call_in_the_next(talk: list[Object]) -> None:
    found, _ = _exported(talk, "anthropic")
    waiting: list[object] = []
    used: list[object] = []
    for number, each in enumerate(found):
        blocks = each["content"]
        assert isinstance(blocks, list)
        kinds = [block["type"] for block in blocks if isinstance(block, dict)]
        results = [
            block["tool_use_id"]
            for block in blocks
            if isinstance(block, dict) and block["type"] == "tool_result"
        ]
        assert each["role"] == ("assistant" if number % 2 else "user")
        assert kinds
        assert sorted(map(str, results)) == sorted(map(str, waiting))
        assert kinds[: len(results)] == ["tool_result"] * len(results)
        assert kinds[-1] != "thinking"
        waiting = [
            block["id"]
            for block in blocks
            if isinstance(block, dict) and block["type"] == "tool_use"
        ]
        used += waiting

    assert waiting == []
    assert len(set(map(str, used))) == len(used) == _count(talk, "toolcall", "assistant")
