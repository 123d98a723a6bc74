from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.export import messages
from agentmem_cli.operations.exports.turns import Left
from agentmem_cli.operations.imports import recognised
from agentmem_cli.operations.imports.adapter import Noted, Said, Tally
from agentmem_cli.operations.imports.foreign import read_lines
from agentmem_cli.operations.imports.openai import (
    KIND,
    REQUEST_BYTES,
    OpenAIMessagesAdapter,
    OpenAIStream,
)
from agentmem_cli.operations.imports.openai_messages import Asked, message_of
from agentmem_cli.session.codec import dumps, loads
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.message import Message
from tests.unit.imports.building import asides_of, main_of, put, session_of, store_of, take

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Item
    from agentmem_cli.session.codec import JSON, Object

PICTURE = b"\x89PNG\r\n\x1a\nno picture"
DATA = base64.b64encode(PICTURE).decode()


def call(id_: str, arguments: JSON, name: str = "grep") -> Object:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


TALK: list[Object] = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "One line.", "name": "ops"},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Why?"},
            {
                "type": "image_url",
                "image_url": {"url": f"data:image/png;base64,{DATA}", "detail": "low"},
            },
        ],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("a", '{"p": 1}'), call("b", '{"p": '), call("c", '{"p":1}')],
    },
    {"role": "tool", "tool_call_id": "b", "content": "bad arguments"},
    {"role": "tool", "tool_call_id": "c", "content": ""},
    {"role": "tool", "tool_call_id": "a", "content": "chart.py:41"},
    {"role": "assistant", "content": "So.", "refusal": None, "annotations": []},
    {"role": "user", "name": "ada", "content": "ok"},
    {"role": "assistant", "content": "", "function_call": {"name": "old", "arguments": "{}"}},
    {"role": "function", "name": "old", "content": "result"},
    {"role": "assistant", "content": "Done."},
]
"""Nulls, broken arguments, results in another order, a legacy pair."""


def back(value: Object) -> Object:
    """One message there and back again."""
    made = message_of(value, Asked())
    assert made is not None
    entries = [Entry(0, Message.of(made), None, 1)]
    return next(iter(messages(entries, "openai", Left(), kind=KIND)))


def exported(path: Path, root: Path) -> list[Object]:
    main = session_of(take(path, root)).main_agent()
    assert main is not None
    return [*messages(main.conversation.entries, "openai", Left(), kind=KIND)]


def items_of(data: bytes) -> tuple[list[Item], Tally]:
    tally = Tally()
    found = OpenAIStream.items(
        OpenAIStream.__new__(OpenAIStream), read_lines([data], lambda _: True, tally), tally
    )
    return [*found], tally


FILES = {
    "array.json": dumps([*TALK]),
    "object.json": dumps({"messages": [*TALK]}),
    "lines.jsonl": b"\n".join(dumps(each) for each in TALK) + b"\n",
    "object-a-line.jsonl": dumps({"messages": [*TALK]}) + b"\n",
    "spread.json": dumps([*TALK]).replace(b'},{"role"', b'},\n  {\n  "role"'),
    "spread-object.json": dumps({"messages": [*TALK]}).replace(b'{"messages":', b'{\n "messages":'),
    "mark.json": b"\xef\xbb\xbf \n" + dumps([*TALK]),
}


@pytest.mark.parametrize("name", FILES)
def test_in_every_container_the_messages_come_back_equal_and_in_order(
    tmp_path: Path, root: Path, name: str
) -> None:
    found = exported(put(tmp_path / name, FILES[name]), root)

    assert found == TALK
    assert take(tmp_path / name, root).nothing_new


def test_a_data_address_becomes_a_blob(tmp_path: Path, root: Path) -> None:
    report = take(put(tmp_path / "x.json", dumps([*TALK])), root)

    store = store_of(report)
    blobs = [name for name in store.files() if name.startswith("blobs/")]
    assert [store.read_file(name) for name in blobs] == [PICTURE]
    assert DATA.encode() not in store.read_log("main")


@pytest.mark.parametrize(
    "value",
    [
        {
            "role": "system",
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        },
        {"role": "user", "content": [{"type": "text", "text": "alone in a list"}]},
        {"role": "user", "content": ""},
        {"role": "user", "content": "  \n"},
        {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {}}]},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "https://x.test/a"}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": f"data:image/jpg;base64,{DATA}"}},
                {"type": "image_url", "image_url": {"url": f"data:image/bmp;base64,{DATA}"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {
                    "type": "file",
                    "file": {
                        "filename": "a.pdf",
                        "file_data": f"data:application/pdf;base64,{DATA}",
                    },
                },
                {"type": "file", "file": {"file_data": DATA}},
            ],
        },
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": "a", "audio": {"id": "audio_1"}},
        {"role": "assistant", "content": None},
    ],
)
def test_a_message_of_any_shape_comes_back_equal(value: Object) -> None:
    assert back(loads_again(value)) == value


def loads_again(value: Object) -> Object:
    again = loads(dumps(value))
    assert isinstance(again, dict)
    return again


@pytest.mark.parametrize(
    "made",
    [
        call("a", '{"a":1.10, "b": 1e400}'),
        call("a", '{"a":1,"a":2}'),
        call("a", ' {"a":1} '),
        call("a", '{"\\u00e9":"\\/"}'),
        call("a", "[1, 2]"),
        call("a", "null"),
        call("a", ""),
        call("a", "\ud83d"),
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "index": 0},
        {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
    ],
)
def test_a_calls_arguments_come_back_byte_for_byte(made: Object) -> None:
    value: Object = {"role": "assistant", "content": None, "tool_calls": [made]}

    assert dumps(back(loads_again(value))["tool_calls"]) == dumps([made])


_URL = "https://x.test/a"


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        ({"role": "system", "content": None}, {"role": "system", "content": ""}),
        ({"role": "developer"}, {"role": "developer", "content": ""}),
        ({"role": "system", "content": {"a": 1}}, {"role": "system", "content": '{"a":1}'}),
        ({"role": "developer", "content": 5}, {"role": "developer", "content": "5"}),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": {"detail": "low"}}]},
            {"role": "user", "content": ""},
        ),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": 5}}]},
            {"role": "user", "content": ""},
        ),
        ({"role": "user"}, {"role": "user", "content": ""}),
        ({"role": "user", "content": []}, {"role": "user", "content": ""}),
        ({"role": "user", "content": 7}, {"role": "user", "content": "7"}),
        ({"role": "assistant", "content": []}, {"role": "assistant", "content": None}),
        (
            {"role": "user", "content": [{"type": "image_url", "image_url": _URL}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": _URL}}]},
        ),
        (
            {"role": "user", "content": ["x", {"type": "file", "file": {}}, {"type": "future"}]},
            {"role": "user", "content": [{"type": "text", "text": "x"}]},
        ),
        (
            {"role": "assistant", "content": "a", "tool_calls": [], "name": ""},
            {"role": "assistant", "content": "a"},
        ),
        (
            {"role": "assistant", "content": "a", "tool_calls": [1]},
            {"role": "assistant", "content": "a"},
        ),
        ({"role": "narrator", "content": "So,"}, {"role": "user", "content": "So,"}),
    ],
)
def test_a_message_that_the_api_refuses_is_put_as_it_takes_it(value: Object, taken: Object) -> None:
    assert back(value) == taken


@pytest.mark.parametrize(
    ("made", "taken"),
    [
        (call("a", {"an": "object"}), call("a", '{"an":"object"}')),
        (call("a", None), call("a", "{}")),
        (call("a", "{}", ""), call("a", "{}", "tool")),
        ({"id": "a", "type": "function"}, call("a", "{}", "tool")),
        ({"id": "a", "type": "function", "function": 7}, call("a", "{}", "tool")),
        ({"id": "a", "type": "function", "function": {"name": "f"}}, call("a", "{}", "f")),
        ({"id": "a", "function": {"name": "f", "arguments": "{}"}}, call("a", "{}", "f")),
        ({"function": {"name": "f", "arguments": "{}"}}, call("call_0_0", "{}", "f")),
        ({"id": "a", "type": "future", "future": {"k": 1}}, call("a", '{"k":1}', "future")),
        (
            {"id": "a", "type": "custom", "custom": {"name": ""}},
            {"id": "a", "type": "custom", "custom": {"name": "tool", "input": ""}},
        ),
    ],
)
def test_a_call_that_the_api_refuses_is_put_as_it_takes_it(made: Object, taken: Object) -> None:
    value: Object = {"role": "assistant", "content": None, "tool_calls": [made]}

    assert back(loads_again(value))["tool_calls"] == [taken]


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        ({"role": "tool", "tool_call_id": "a", "content": None}, ""),
        ({"role": "tool", "content": "x"}, "x"),
        ({"role": "tool", "tool_call_id": "a", "content": {"an": "object"}}, '{"an":"object"}'),
    ],
)
def test_a_result_that_the_api_refuses_is_put_as_it_takes_it(
    tmp_path: Path, root: Path, answer: Object, taken: str
) -> None:
    asked: Object = {"role": "assistant", "content": None, "tool_calls": [call("a", "{}")]}

    found = exported(put(tmp_path / "x.json", dumps([asked, answer])), root)

    assert found == [asked, {"role": "tool", "tool_call_id": "a", "content": taken}]


def test_pictures_in_a_result_stand_behind_all_results(tmp_path: Path, root: Path) -> None:
    picture: Object = {"type": "image_url", "image_url": {"url": _URL}}
    calls: list[JSON] = [call("a", "{}"), call("b", "{}")]
    talk: list[JSON] = [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "b", "content": [picture]},
        {"role": "tool", "tool_call_id": "a", "content": "x"},
    ]

    found = exported(put(tmp_path / "x.json", dumps(talk)), root)

    assert [each["role"] for each in found] == ["assistant", "tool", "tool", "user"]
    shown = found[3]["content"]
    assert isinstance(shown, list)
    assert shown[1] == picture


def test_calls_that_share_an_id_and_one_from_before_ids_are_told_apart(
    tmp_path: Path, root: Path
) -> None:
    calls: list[JSON] = [call("a", "{}", "one"), call("a", "{}", "two"), call("x" * 50, "{}")]
    talk: list[JSON] = [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": calls,
            "function_call": {"name": "old", "arguments": "{}"},
        },
        {"role": "tool", "tool_call_id": "a", "content": "first"},
        {"role": "tool", "tool_call_id": "a", "content": "second"},
    ]

    found = exported(put(tmp_path / "x.json", dumps(talk)), root)

    told = found[0]["tool_calls"]
    assert isinstance(told, list)
    ids = [each["id"] for each in told if isinstance(each, dict)]
    assert len(set(ids)) == len(ids) == 4
    assert all(isinstance(each, str) and 0 < len(each) <= 40 for each in ids)
    assert [each["tool_call_id"] for each in found[1:3]] == ids[:2]
    assert "function_call" not in found[0]


@pytest.mark.parametrize(
    "answer",
    [
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "x"}]},
        {"role": "tool", "tool_call_id": "a", "name": "grep", "content": "x"},
    ],
)
def test_a_result_of_any_shape_comes_back_equal(tmp_path: Path, root: Path, answer: Object) -> None:
    talk: list[JSON] = [
        {"role": "assistant", "content": None, "tool_calls": [call("a", "{}")]},
        answer,
    ]

    assert exported(put(tmp_path / "x.json", dumps(talk)), root) == talk


def test_calls_and_results_pair_and_a_result_knows_its_tool(tmp_path: Path, root: Path) -> None:
    report = take(put(tmp_path / "x.json", dumps([*TALK])), root)

    parts = [part for entry in main_of(report).entries for part in entry.stored.parts]
    results = [(each["call"], each["name"]) for each in parts if each["type"] == "toolresult"]
    assert results == [("b", "grep"), ("c", "grep"), ("a", "grep"), ("unnamed-1", "old")]


def test_no_ids_and_no_times_are_made_up(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / "x.json", dumps([*TALK]))

    report = take(path, root)

    made = {entry.made for entry in main_of(report).entries}
    assert made == {path.stat().st_mtime_ns // 1_000_000}
    store = store_of(report)
    assert store.read_file("plugins/import/x.json.map.jsonl").count(b'"time":"file"') == len(TALK)


def test_several_conversations_stand_behind_one_another(tmp_path: Path, root: Path) -> None:
    one: JSON = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    files: dict[str, list[JSON]] = {
        "objects": [{"messages": one, "model": "gpt-5"}, {"messages": one}, {"messages": one}],
        "arrays": [one, one, one],
    }
    for name, records in files.items():
        path = put(tmp_path / f"{name}.jsonl", b"\n".join(dumps(each) for each in records))

        report = take(path, root)

        told = [(each.kind, each.after) for each in asides_of(report)]
        assert told[-2:] == [("import.conversation", 1), ("import.conversation", 3)]
        assert len(main_of(report)) == 6


def test_what_stands_beside_the_messages_is_told() -> None:
    small, _ = items_of(dumps({"model": "gpt-5", "seed": 1, "messages": [*TALK]}))
    large, _ = items_of(dumps({"tools": "x" * REQUEST_BYTES, "messages": [*TALK]}))

    assert [each.value for each in small if isinstance(each, Noted)] == [
        {"model": "gpt-5", "seed": 1}
    ]
    assert [each.value for each in large if isinstance(each, Noted)] == [{"fields": ["tools"]}]


def test_what_is_no_message_is_counted_and_costs_nothing_else() -> None:
    data = dumps({"messages": [TALK[0], 7, {"content": "no role"}, {"role": "x"}, TALK[1]]})

    items, tally = items_of(data)

    assert len([each for each in items if isinstance(each, Said)]) == 2
    assert [flaw.why for flaw in tally.flaws] == [
        "a message that is no object",
        "a message without a role",
    ]
    assert tally.left == {"x": 1}


def test_an_array_that_is_cut_off_is_read_up_to_there(tmp_path: Path, root: Path) -> None:
    data = dumps([*TALK])

    report = take(put(tmp_path / "x.json", data[:-30]), root)

    assert report.messages == len(TALK) - 1
    assert report.torn is not None


def test_an_array_that_grew_goes_on_in_its_session(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / "x.json", dumps([*TALK[:5]]))
    first = take(path, root)
    path.write_bytes(dumps([*TALK]))

    report = take(path, root)

    assert (report.session, report.new, report.known) == (first.session, len(TALK) - 5, 5)


def test_files_of_one_name_and_other_messages_are_sessions_of_their_own(
    tmp_path: Path, root: Path
) -> None:
    one = take(put(tmp_path / "a" / "x.json", dumps([*TALK])), root)
    other = take(put(tmp_path / "b" / "x.json", dumps([*TALK[1:]])), root)

    assert one.session.startswith("openai-messages-x-")
    assert one.session != other.session


@pytest.mark.parametrize("data", [b"[]", b"{}", b'{"messages":[]}', b'[{"role":1}]', b"[[{}]]"])
def test_what_holds_no_message_is_no_session(tmp_path: Path, root: Path, data: bytes) -> None:
    with pytest.raises(AgentMemError):
        take(put(tmp_path / "x.json", data), root)


def test_other_tools_records_are_not_taken_for_messages() -> None:
    adapter = OpenAIMessagesAdapter()
    others: list[Object] = [
        {"type": "user", "message": {"role": "user", "content": "x"}, "uuid": "u"},
        {"type": "message", "role": "user", "content": []},
        {"role": "user", "created": 1, "content": []},
        {"sessionId": "s", "messages": [{"role": "user", "content": "x"}]},
        {"messages": []},
        {"messages": [{"id": 1}]},
        {"role": "user"},
    ]

    assert [adapter.recognises(each) for each in others] == [0] * len(others)
    assert [adapter.recognises(each) for each in TALK[2:5]] == [1, 2, 2]


_TEXT = st.text(max_size=8)
_ARGUMENTS = st.one_of(_TEXT, st.just('{"a": [1.0]}'), st.just('{"a":1}'), st.just("{"))
_CONTENT: st.SearchStrategy[JSON] = st.one_of(
    _TEXT,
    st.lists(
        st.fixed_dictionaries({"type": st.just("text"), "text": _TEXT}), min_size=1, max_size=3
    ),
)


@st.composite
def talks(draw: st.DrawFn) -> list[JSON]:
    """Talks whose calls are all answered, in any order."""
    talk: list[JSON] = []
    for number in range(draw(st.integers(1, 4))):
        talk.append({"role": draw(st.sampled_from(["user", "system"])), "content": draw(_CONTENT)})
        ids = [f"c{number}-{each}" for each in range(draw(st.integers(0, 3)))]
        calls: list[JSON] = [call(id_, draw(_ARGUMENTS)) for id_ in ids]
        reply: Object = {"role": "assistant", "content": draw(st.none() | _CONTENT)}
        talk.append({**reply, "tool_calls": calls} if calls else reply)
        talk.extend(
            {"role": "tool", "tool_call_id": id_, "content": draw(_CONTENT)}
            for id_ in draw(st.permutations(ids))
        )
    return talk


@given(talk=talks())
def test_every_talk_comes_back_equal(talk: list[JSON]) -> None:
    items, tally = items_of(dumps(talk))
    entries = [
        Entry(number, Message.of(each.message), None, 1)
        for number, each in enumerate(items)
        if isinstance(each, Said)
    ]

    assert [*messages(entries, "openai", Left(), kind=KIND)] == talk
    assert tally.lost == 0


def test_an_array_is_read_whole_only_where_a_session_begins_with_its_words(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole: list[Path] = []
    read = recognised._array

    def noting(path: Path) -> list[Object]:
        whole.append(path)
        return read(path)

    monkeypatch.setattr(recognised, "_array", noting)
    first, other = ({"role": "user", "content": text} for text in ("Why?", "How?"))
    take(put(tmp_path / "a.json", dumps([{**first}])), root)
    take(put(tmp_path / "b.json", dumps([{**other}])), root)
    like = put(tmp_path / "c.json", dumps([{**first}, {**other}]))

    take(like, root)

    assert whole == [like]


def test_messages_in_a_damaged_line_are_salvaged() -> None:
    stream = OpenAIStream.__new__(OpenAIStream)

    assert stream.accepts({"role": "user", "content": "a"})
    assert stream.accepts({"messages": []})
    assert not stream.accepts({"choices": []})
