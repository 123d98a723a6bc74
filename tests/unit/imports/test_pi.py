from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.imports.adapter import CWD, Kept, Noted, Said, Tally
from agentmem_cli.operations.imports.foreign import read_lines
from agentmem_cli.operations.imports.pi import LEFT_MAX, PiAdapter, PiStream
from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.keys import FORKED_FROM, MODEL, TITLE
from tests.unit.imports.building import (
    BASE_MS,
    SESSION_ID,
    entry,
    header,
    lines,
    reply,
    stamp,
    user,
)

if TYPE_CHECKING:
    from agentmem_cli.operations.imports.adapter import Item
    from agentmem_cli.session.codec import JSON, Object


def read(*records: bytes) -> tuple[list[Item], Tally]:
    stream = PiStream(Path("x.jsonl"))
    tally = Tally()
    found = stream.items(read_lines([lines(*records)], stream.accepts, tally), tally)
    return list(found), tally


def said(*records: bytes) -> list[Said]:
    return [item for item in read(*records)[0] if isinstance(item, Said)]


def noted(*records: bytes) -> list[Noted]:
    return [item for item in read(*records)[0] if isinstance(item, Noted)]


def kept(*records: bytes) -> dict[str, JSON]:
    return {item.key: item.value for item in read(*records)[0] if isinstance(item, Kept)}


def one(message: Object) -> Said:
    (found,) = said(entry("message", 1, message=message))
    return found


def test_a_text_of_the_user_is_a_text_part() -> None:
    contents: list[JSON] = ["Hi", [{"type": "text", "text": "Hi"}]]

    found = [one({"role": "user", "content": content}) for content in contents]

    assert [item.message for item in found] == [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    ] * 2
    assert [item.author for item in found] == [None, None]


def test_an_image_is_base64_data_with_its_media_type() -> None:
    image: Object = {"type": "image", "data": "AAAA", "mimeType": "image/png", "note": 1}

    found = one({"role": "user", "content": [image]})

    assert found.message["content"] == [
        {
            "type": "image",
            "data": {"type": "base64", "value": "AAAA"},
            "media_type": "png",
            "note": 1,
        }
    ]


def test_an_image_of_a_strange_type_keeps_the_type() -> None:
    found = one(
        {"role": "user", "content": [{"type": "image", "data": 7, "mimeType": "image/bmp"}]}
    )

    assert found.message["content"] == [
        {"type": "image", "data": {"type": "unknown"}, "mimeType": "image/bmp"}
    ]


def test_a_reply_has_its_parts_origin_stop_and_every_other_field() -> None:
    message: Object = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "Sig=="},
            {"type": "text", "text": "Look:", "textSignature": "t"},
            {
                "type": "toolCall",
                "id": "c1",
                "name": "read",
                "arguments": {"p": 1},
                "partialJson": "",
            },
        ],
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude",
        "usage": {"input": 1, "cost": {"total": 0.1}},
        "stopReason": "toolUse",
        "timestamp": 5,
        "responseId": "r1",
    }

    found = one(message)

    assert dumps(found.message) == dumps(
        {
            "role": "assistant",
            "content": [
                {
                    "type": "reasoning",
                    "content": [{"type": "text", "text": "Hm."}],
                    "signature": "Sig==",
                },
                {"type": "text", "text": "Look:", "textSignature": "t"},
                {
                    "type": "toolcall",
                    "id": "c1",
                    "function": {"name": "read", "arguments": {"p": 1}},
                    "partialJson": "",
                },
            ],
            "origin": {"provider": "anthropic", "model": "claude", "api": "anthropic-messages"},
            "stop": "toolUse",
            "usage": {"input": 1, "cost": {"total": 0.1}},
            "responseId": "r1",
        }
    )


def test_a_tool_result_is_a_user_message_that_answers_its_call() -> None:
    found = one(
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "read",
            "content": [
                {"type": "text", "text": "no"},
                {"type": "image", "data": "AA==", "mimeType": "image/jpeg"},
                {"type": "odd"},
            ],
            "details": {"exit": 1},
            "isError": True,
        }
    )

    assert found.message == {
        "role": "user",
        "content": [
            {
                "type": "toolresult",
                "call": "c1",
                "name": "read",
                "content": [
                    {"type": "text", "text": "no"},
                    {
                        "type": "image",
                        "data": {"type": "base64", "value": "AA=="},
                        "media_type": "jpeg",
                    },
                    {"type": "json", "value": {"type": "odd"}},
                ],
                "is_error": True,
                "details": {"exit": 1},
            }
        ],
    }


def _ids(item: Said) -> list[JSON]:
    content = item.message["content"]
    assert isinstance(content, list)
    return [part.get("id", part.get("call")) for part in content if isinstance(part, dict)]


def test_calls_and_results_without_ids_are_paired_by_name_and_order() -> None:
    calls: list[JSON] = [{"type": "toolCall", "name": name, "arguments": "{"} for name in "aba"]
    reply_ = entry("message", 1, message={"role": "assistant", "content": calls})
    results = [
        entry("message", 2, message={"role": "toolResult", "toolName": name, "content": "x"})
        for name in ("b", "a", "a", "a")
    ]

    found = said(reply_, *results)

    first, second, third = _ids(found[0])
    assert len({first, second, third}) == 3
    assert [_ids(item)[0] for item in found[1:4]] == [second, first, third]
    assert _ids(found[4])[0] not in (first, second, third)


@pytest.mark.parametrize(
    ("message", "role"),
    [
        ({"toolCallId": "c", "content": "x"}, "user"),
        ({"stopReason": "stop", "content": "x"}, "assistant"),
        ({"command": "ls", "output": "x"}, "user"),
    ],
)
def test_a_message_without_a_role_is_what_its_fields_say(message: Object, role: str) -> None:
    found = one(message)

    assert found.message["role"] == role


def test_a_command_of_the_user_shows_its_output_and_keeps_its_fields() -> None:
    found = one(
        {
            "role": "bashExecution",
            "command": "make",
            "output": "boom\n",
            "exitCode": 2,
            "cancelled": False,
            "truncated": True,
            "fullOutputPath": "/tmp/o",
        }
    )

    assert found.message["content"] == [
        {"type": "text", "text": "$ make\nboom\n[exit status 2]\n[truncated]"}
    ]
    assert found.message["bash"] == {
        "command": "make",
        "exitCode": 2,
        "cancelled": False,
        "truncated": True,
        "fullOutputPath": "/tmp/o",
    }
    assert found.author == Author.user(title="bash")


def test_a_command_kept_from_the_model_is_an_aside() -> None:
    message: Object = {
        "role": "bashExecution",
        "command": "id",
        "output": "ada",
        "excludeFromContext": True,
    }

    items, tally = read(entry("message", 1, message=message))

    assert [(item.kind, item.value["output"]) for item in items if isinstance(item, Noted)] == [
        ("import.bash", "ada")
    ]
    assert tally.types == {"message/bashExecution": 1}


@pytest.mark.parametrize(
    ("record", "author", "text"),
    [
        (entry("custom_message", 1, customType="ext", content="go", display=True), "ext", "go"),
        (
            entry("message", 1, message={"role": "custom", "customType": "e", "content": "go"}),
            "e",
            "go",
        ),
        (
            entry(
                "message", 1, message={"role": "hookMessage", "customType": "e", "content": "go"}
            ),
            "e",
            "go",
        ),
        (
            entry("message", 1, message={"role": "branchSummary", "summary": "so", "fromId": "a"}),
            "branchSummary",
            "so",
        ),
        (
            entry("message", 1, message={"role": "compactionSummary", "summary": "so"}),
            "compactionSummary",
            "so",
        ),
    ],
)
def test_what_no_person_typed_is_a_user_message_of_a_plugin(
    record: bytes, author: str, text: str
) -> None:
    (found,) = said(record)

    assert found.author == Author.plugin(author)
    assert found.message["role"] == "user"
    assert found.message["content"] == [{"type": "text", "text": text}]


def test_an_unknown_role_is_kept_when_there_is_something_to_read_and_counted_else() -> None:
    readable: Object = {"role": "narrator", "content": "Once", "mood": "dark"}
    mute: Object = {"role": "beacon", "content": {"x": 1}}

    items, tally = read(entry("message", 1, message=readable), entry("message", 2, message=mute))

    assert [item.message for item in items if isinstance(item, Said)] == [
        {"role": "narrator", "content": [{"type": "text", "text": "Once"}], "mood": "dark"}
    ]
    assert tally.left == {"message/beacon": 1}


def test_a_system_message_is_a_plain_text() -> None:
    parts: list[JSON] = [{"type": "text", "text": "Be"}, {"type": "text", "text": "brief."}]

    found = one({"role": "system", "content": parts})

    assert found.message == {"role": "system", "content": "Be\nbrief."}


@pytest.mark.parametrize("content", [None, [], "", "  \n"])
def test_a_message_that_says_nothing_is_kept(content: JSON) -> None:
    found = one({"role": "user", "content": content})

    assert found.message["role"] == "user"


@pytest.mark.parametrize(
    "record",
    [
        b"{}",
        b'{"type":["message"]}',
        b'{"type":"message","message":"oops"}',
        b'{"type":"message","message":{"content":"x"}}',
        b'{"type":"message","message":{"role":7}}',
        b'{"type":"message","message":{"role":"user","content":7}}',
        b'{"type":"message","message":{"role":"branchSummary"}}',
        b'{"type":"custom_message","content":{}}',
    ],
)
def test_a_record_of_no_use_is_counted_by_its_line_and_hides_no_neighbour(record: bytes) -> None:
    items, tally = read(user(1, "a"), record, user(2, "b"))

    assert [item.line for item in items] == [1, 3]
    assert [(flaw.line, flaw.lost) for flaw in tally.flaws] == [(2, True)]
    assert tally.flaws[0].byte == len(user(1, "a")) + 1
    assert sum(tally.types.values()) == 3


def test_records_of_other_types_are_kept_by_name_and_counted() -> None:
    items, tally = read(
        user(1, "a"),
        entry("thinking_level_change", 2, thinkingLevel="high"),
        entry("custom", 3, customType="x", data={}),
        entry("atis-latch", 4),
    )

    assert len(items) == 1
    assert tally.left == {"thinking_level_change": 1, "custom": 1, "atis-latch": 1}
    assert sum(tally.types.values()) == 4


def test_what_matters_for_reading_becomes_an_aside() -> None:
    found = noted(
        entry("compaction", 1, summary="S", firstKeptEntryId="a", tokensBefore=9),
        entry("branch_summary", 2, fromId="a", summary="B"),
        entry("label", 3, targetId="a", label="here"),
        entry("session_info", 4, name="Tides"),
        reply(5, "", stopReason="error", errorMessage="429"),
    )

    assert [(item.line, item.kind, item.value) for item in found] == [
        (1, "import.compaction", {"summary": "S", "firstKeptEntryId": "a", "tokensBefore": 9}),
        (2, "import.branch_summary", {"fromId": "a", "summary": "B"}),
        (3, "import.label", {"targetId": "a", "label": "here"}),
        (4, "import.session_info", {"name": "Tides"}),
        (5, "import.error", {"message": "429"}),
    ]


def test_a_reply_that_was_stopped_by_the_user_is_no_error() -> None:
    found = noted(reply(1, "", stopReason="aborted", errorMessage="Request was aborted."))

    assert found == []


def test_the_newest_title_and_model_and_the_folder_are_saved_values() -> None:
    values = kept(
        header(),
        entry("model_change", 1, provider="anthropic", modelId="opus"),
        reply(2, "x"),
        entry("session_info", 3, name="Old"),
        entry("model_change", 4, provider="openai", modelId="gpt"),
        entry("session_info", 5, name="New"),
    )

    assert values == {CWD: "/home/ada/tides", MODEL: "openai/gpt", TITLE: "New"}


def test_without_a_model_change_the_model_is_the_replies() -> None:
    values = kept(header(), reply(1, "x"), reply(2, "y", model="claude-new"))

    assert values[MODEL] == "anthropic/claude-new"


def test_a_model_that_was_chosen_stands_whatever_a_reply_calls_it() -> None:
    chosen = entry("model_change", 1, provider="anthropic", modelId="opus")

    values = kept(header(), chosen, reply(2, "x", model="opus-20260101"))

    assert values[MODEL] == "anthropic/opus"


def test_going_back_in_the_tree_names_what_was_left_behind() -> None:
    found = noted(
        user(1, "a", id="a", parentId=None),
        user(2, "b", id="b", parentId="a"),
        user(3, "c", id="c", parentId="b"),
        user(4, "d", id="d", parentId="a"),
        user(5, "e", id="e", parentId="c"),
        user(6, "f", id="f", parentId=None),
    )

    assert [(item.line, item.kind, item.value) for item in found] == [
        (4, "import.branch", {"parent": "a", "left": ["b", "c"], "count": 2}),
        (5, "import.branch", {"parent": "c", "left": ["d"], "count": 1}),
        (6, "import.branch", {"parent": None, "left": ["a", "b", "c", "e"], "count": 4}),
    ]


def test_a_parent_that_was_never_written_is_a_gap_and_nothing_is_lost() -> None:
    records = [user(1, "a", id="a", parentId=None), user(2, "b", id="b", parentId="gone")]

    texts, gaps = said(*records), noted(*records)

    assert len(texts) == 2
    assert [(item.line, item.kind, item.value) for item in gaps] == [
        (2, "import.gap", {"parent": "gone"})
    ]


def test_ids_that_repeat_do_not_send_the_walk_in_circles() -> None:
    found = noted(
        user(1, "a", id="a", parentId=None),
        user(2, "b", id="b", parentId="a"),
        user(3, "a again", id="a", parentId="b"),
        user(4, "b again", id="b", parentId="a"),
        user(5, "c", id="c", parentId=None),
    )

    assert [item.value["count"] for item in found] == [4]


def test_a_long_way_back_names_the_newest_and_tells_how_many() -> None:
    count = LEFT_MAX + 10
    records = [
        user(1, "", id=str(index), parentId=str(index - 1) if index else None)
        for index in range(count)
    ]

    (found,) = noted(*records, user(2, "z", id="z", parentId="0"))

    left = found.value["left"]
    assert isinstance(left, list)
    assert (len(left), left[-1], found.value["count"]) == (LEFT_MAX, str(count - 1), count - 1)


def test_a_fork_names_its_parent_and_stands_behind_the_copied_entries() -> None:
    head = header(
        parentSession="C:\\Users\\ada\\2026_0f-parent.jsonl", timestamp="2026-01-01T00:10:00Z"
    )

    items, _ = read(head, user(1, "old", id="a1"), user(700, "own", id="a2"))

    kinds = [type(item).__name__ for item in items]
    assert kinds == ["Kept", "Noted", "Kept", "Said", "Kept", "Said"]
    forks = [item for item in items if isinstance(item, Kept) and item.key == FORKED_FROM]
    assert [fork.raw for fork in forks] == ["", "a1"]
    assert {dumps(fork.value) for fork in forks} == {b'{"session":"pi-0f-parent","agent":"main"}'}


@pytest.mark.parametrize("second", [1, 5, 9, 10, 11, 700])
def test_what_a_fork_grows_by_moves_nothing_of_what_stands_before(second: int) -> None:
    head = header(parentSession="/x/2026_0f.jsonl", timestamp=stamp(10))
    records = [head, *(user(at, "x", id=f"a{at}") for at in (1, second, 20))]

    shorter = [read(*records[:count])[0] for count in range(2, 5)]

    for few, more in itertools.pairwise(shorter):
        assert more[: len(few)] == few


def test_a_header_younger_than_the_first_entry_takes_its_time() -> None:
    late, on_time = (
        read(header(timestamp="2026-01-01T00:00:30Z"), user(1, "a")),
        read(header(), user(1, "a")),
    )

    assert [item.time for item in late[0]] == [None, BASE_MS + 1_000]
    assert [item.time for item in on_time[0]] == [BASE_MS, BASE_MS + 1_000]


def test_a_second_header_is_counted_and_the_first_one_wins() -> None:
    values = kept(header(), header(cwd="/other"), user(1, "a"))

    assert values[CWD] == "/home/ada/tides"


def test_the_line_tells_the_time_and_the_message_where_the_line_does_not() -> None:
    message: Object = {"role": "user", "content": "x", "timestamp": BASE_MS + 7_000}

    found = said(
        entry("message", 3, message=message),
        entry("message", None, message=message),
        entry("message", None, message={"role": "user", "content": "x"}),
    )

    assert [item.time for item in found] == [BASE_MS + 3_000, BASE_MS + 7_000, None]


def test_the_session_id_is_the_headers_wherever_it_stands_else_the_file_names() -> None:
    adapter = PiAdapter()
    first = loads_object(entry("title", 0, title="T"))

    named = adapter.open(Path("2026_zz.jsonl"), (first, loads_object(header())))
    unnamed = adapter.open(Path("2026_zz.jsonl"), (first,))

    assert (named.id, unnamed.id) == (SESSION_ID, "zz")


def test_a_model_that_the_header_names_is_kept_and_told_once() -> None:
    items, _ = read(header(provider="anthropic", modelId="m1"), user(1, "a"), reply(2, "b"))

    assert next(item.value for item in items if isinstance(item, Kept) and item.key == MODEL) == (
        "anthropic/m1"
    )


def test_a_header_in_a_damaged_line_is_one_if_it_says_which_session_it_is() -> None:
    stream = PiStream(Path("x.jsonl"))

    assert stream.accepts({"type": "session", "id": "x"})
    assert stream.accepts({"type": "session", "cwd": "/x"})
    assert not stream.accepts({"type": "session"})
