"""One transcript of Claude Code: its messages, and what it tells beside them."""

from __future__ import annotations

import pytest

from agentmem_cli.operations.imports.adapter import CWD, Said
from agentmem_cli.operations.imports.claude import ClaudeAdapter
from agentmem_cli.operations.imports.claude_replies import content_key
from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import JSON, Object, dumps, loads_object
from agentmem_cli.session.keys import MODEL, TITLE
from tests.unit.imports.building import BASE_MS
from tests.unit.imports.claude_building import (
    CWD_OF,
    SID,
    call,
    kept,
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


def test_a_prompt_is_a_text_of_the_user() -> None:
    contents: list[JSON] = ["Hi", [text("Hi")], ["Hi"]]

    found = [said(prompt("u1", None, content))[0] for content in contents]

    assert [item.message for item in found] == [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    ] * 3
    assert found[0][:2] == (1, BASE_MS + 1000)
    assert (found[0].author, found[0].raw) == (None, "u1")


@pytest.mark.parametrize("content", [[], None, [text("")], "", "  \n"])
def test_a_message_with_nothing_to_read_is_a_message(content: JSON) -> None:
    found, tally = read(prompt("u1", None, content), piece("a1", "u1", "m1", text("")))

    assert sum(isinstance(item, Said) for item in found) == 2
    assert (tally.lost, tally.types["user"], tally.types["assistant"]) == (0, 1, 1)


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("<command-name>/cost</command-name>", "command"),
        ("<command-message>init</command-message>\n<command-name>/init</command-name>", "command"),
        ("<local-command-stdout>ok</local-command-stdout>", "local-command"),
        ("<bash-input>ls</bash-input>", "bash"),
        ([text("<task-notification>\n<task-id>x</task-id>")], "task-notification"),
        ("[Request interrupted by user for tool use]", "interrupted"),
    ],
)
def test_what_the_program_wrote_in_the_users_name_has_an_author_that_says_so(
    content: JSON, title: str
) -> None:
    (found,) = said(prompt("u1", None, content))

    assert found.author == Author.plugin("claude-code", title=title)


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"isMeta": True}, "meta"),
        ({"isCompactSummary": True}, "compact-summary"),
        ({"origin": {"kind": "task-notification"}}, "task-notification"),
    ],
)
def test_a_line_that_says_it_is_no_prompt_is_none(fields: Object, title: str) -> None:
    (found,) = said(prompt("u1", None, "Caveat", **fields))

    assert found.author == Author.plugin("claude-code", title=title)


def test_a_text_that_only_speaks_of_a_tag_is_the_users() -> None:
    found = said(
        prompt("u1", None, "What is <command-name>?"),
        prompt("u2", "u1", "<div>mine</div>", origin={"kind": "human"}),
    )

    assert [item.author for item in found] == [None, None]


def test_a_prompt_typed_while_the_model_worked_is_the_users() -> None:
    queued: Object = {"type": "queued_command", "prompt": "also this", "commandMode": "prompt"}
    task: Object = {**queued, "prompt": "done", "commandMode": "task-notification"}
    image: Object = {**queued, "prompt": [text("see")]}

    found = said(
        prompt("u1", None, "Hi"),
        *(record("attachment", f"q{i}", "u1", attachment=a) for i, a in enumerate((queued, task))),
        record("attachment", "q9", "u1", attachment=image),
    )

    assert [words(item) for item in found] == [["Hi"], ["also this"], ["done"], ["see"]]
    assert [item.author is None for item in found] == [True, True, False, True]


def test_a_prompt_that_waits_in_the_queue_is_told_and_other_operations_are_counted() -> None:
    records = (
        prompt("u1", None, "Hi"),
        dumps({"type": "queue-operation", "operation": "enqueue", "content": "later"}),
        dumps({"type": "queue-operation", "operation": "dequeue"}),
    )

    assert noted(*records) == [(2, "import.queued", {"content": "later"})]
    assert read(*records)[1].left == {"queue-operation/dequeue": 1}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            "<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>t1</tool-use-id>",
            ("import.agent", {"agent": "a1", "call": "t1"}),
        ),
        ('{"task_id":"a1","status":"done"}', ("import.agent", {"agent": "a1", "call": None})),
        ('{"task_id":1}', ("import.queued", {"content": '{"task_id":1}'})),
        ("{not JSON", ("import.queued", {"content": "{not JSON"})),
        ("see <task-id>a1</task-id>", ("import.queued", {"content": "see <task-id>a1</task-id>"})),
    ],
)
def test_a_notice_in_the_queue_that_a_task_has_ended_names_its_agent(
    content: str, told: tuple[str, Object]
) -> None:
    operation: Object = {"type": "queue-operation", "operation": "enqueue", "content": content}

    assert noted(prompt("u1", None, "Hi"), dumps(operation)) == [(2, *told)]


def test_a_result_names_its_tool_and_keeps_every_block() -> None:
    image: Object = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
    }
    found = said(
        piece("a1", None, "m1", call("t1", "Look", at="x"), call("t2", "Read")),
        result(
            "r1", "a1", "t1", [text("see"), image, {"type": "tool_reference", "tool_name": "W"}]
        ),
        result("r2", "a1", "t2", "Error", toolUseResult="Error: no"),
    )

    assert [item.message["content"] for item in found[1:]] == [
        [
            {
                "type": "toolresult",
                "call": "t1",
                "name": "Look",
                "content": [
                    {"type": "text", "text": "see"},
                    {
                        "type": "image",
                        "data": {"type": "base64", "value": "AAAA"},
                        "media_type": "png",
                    },
                    {"type": "json", "value": {"type": "tool_reference", "tool_name": "W"}},
                ],
            }
        ],
        [
            {
                "type": "toolresult",
                "call": "t2",
                "name": "Read",
                "content": [{"type": "text", "text": "Error"}],
            }
        ],
    ]


def test_a_result_that_failed_says_so() -> None:
    block: Object = {"type": "tool_result", "tool_use_id": "t", "content": "no", "is_error": True}

    (found,) = said(prompt("r1", None, [block]))

    assert found.message["content"] == [
        {
            "type": "toolresult",
            "call": "t",
            "name": "unknown",
            "content": [{"type": "text", "text": "no"}],
            "is_error": True,
        }
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", [{"type": "text", "text": ""}]),
        (None, []),
        ([], []),
        ({"rows": 2}, [{"type": "json", "value": {"rows": 2}}]),
    ],
)
def test_a_result_of_any_content_is_a_result(content: JSON, expected: list[JSON]) -> None:
    (found,) = said(result("r1", None, "t1", content))

    (part,) = parts(found)
    assert part["content"] == expected


def test_calls_and_results_without_ids_pair_in_their_order() -> None:
    found = said(
        piece("a1", None, "m1", call(None, "A"), call(None, "B")),
        result("r1", "a1", None, "one"),
        result("r2", "r1", None, "two"),
    )

    asked = [part["id"] for part in parts(found[0])]
    answers = [(part["call"], part["name"]) for item in found[1:] for part in parts(item)]
    assert answers == list(zip(asked, "AB", strict=True))


def test_images_and_documents_of_the_user_are_parts() -> None:
    blocks: list[JSON] = [
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}, "n": 1},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"},
            "title": "A",
        },
        {"type": "image", "source": None},
        {"type": "search_result", "source": "s"},
    ]

    (found,) = said(prompt("u1", None, blocks))

    assert found.message["content"] == [
        {"type": "image", "data": {"type": "url", "value": "https://x/y.png"}, "n": 1},
        {
            "type": "document",
            "data": {"type": "base64", "value": "JVBE"},
            "media_type": "pdf",
            "title": "A",
        },
        {"type": "image", "data": {"type": "unknown"}, "source": None},
        {"type": "search_result", "source": "s"},
    ]


def test_the_mirror_of_a_result_is_no_second_image() -> None:
    data: Object = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    image: Object = {"type": "image", "source": data}

    (found,) = said(result("r1", None, "t", [image], toolUseResult={"file": {"base64": "AAAA"}}))

    assert dumps(found.message).count(b"AAAA") == 1


def test_titles_go_by_who_gave_them() -> None:
    ai = dumps({"type": "ai-title", "aiTitle": "by the model", "sessionId": SID})
    custom = dumps({"type": "custom-title", "customTitle": "mine", "sessionId": SID})
    summary = dumps({"type": "summary", "summary": "old", "leafUuid": "u1"})

    found = [
        [value for key, value in kept(*records) if key == TITLE]
        for records in (
            (summary, prompt("u1", None, "Hi"), ai, custom, ai),
            (prompt("u1", None, "Hi"), custom, summary),
            (prompt("u1", None, "Hi"), summary, ai),
        )
    ]

    assert found == [["old", "by the model", "mine"], ["mine"], ["old", "by the model"]]


def test_a_title_that_is_repeated_is_told_once() -> None:
    ai = dumps({"type": "ai-title", "aiTitle": "one", "sessionId": SID})

    found, tally = read(prompt("u1", None, "Hi"), ai, ai, ai)

    assert len(found) == 4
    assert (tally.types["ai-title"], tally.left) == (3, {"ai-title": 2})


def test_summaries_of_other_sessions_are_no_title_of_this_one() -> None:
    others = [dumps({"type": "summary", "summary": f"{i}", "leafUuid": f"x{i}"}) for i in range(3)]
    own = dumps({"type": "summary", "summary": "own", "leafUuid": "u2"})
    records = (*others, own, prompt("u1", None, "Hi"), prompt("u2", "u1", "more"))

    assert [value for key, value in kept(*records) if key == TITLE] == ["own"]
    assert len(noted(*records)) == 4


def test_model_and_folder_are_those_of_the_records() -> None:
    found = kept(
        prompt("u1", None, "Hi", cwd="/w/foo-bar/p"),
        piece("a1", "u1", "m1", text("a")),
        piece("a2", "a1", "m2", text("b"), model="<synthetic>"),
        piece("a3", "a2", "m3", text("c"), model="claude-y", cwd="/w/foo-bar/p/deeper"),
        piece("a4", "a3", "m4", text("d"), model="vendor/z"),
    )

    assert found == [
        (CWD, "/w/foo-bar/p"),
        (MODEL, "anthropic/claude-x"),
        (MODEL, "anthropic/claude-y"),
        (MODEL, "vendor/z"),
    ]


def test_a_failed_request_is_a_reply_that_ended_in_error() -> None:
    records = (
        prompt("u1", None, "Hi"),
        piece(
            "a1",
            "u1",
            "e1",
            text("API Error: 529"),
            model="<synthetic>",
            stop_reason="stop_sequence",
            isApiErrorMessage=True,
            error="overloaded",
        ),
    )

    assert said(*records)[1].message == {
        "role": "assistant",
        "content": [{"type": "text", "text": "API Error: 529"}],
        "stop": "error",
        "id": "e1",
    }
    assert noted(*records) == [
        (2, "import.error", {"message": "API Error: 529", "error": "overloaded"})
    ]


def test_an_answer_that_does_not_come_is_nobodys_invention() -> None:
    found = said(
        prompt("u1", None, "Hi"),
        piece("a1", "u1", "m1", call("t9"), stop_reason="tool_use"),
        prompt("u2", "a1", "never mind"),
    )

    assert [words(item) for item in found] == [["Hi"], ["toolcall"], ["never mind"]]


@pytest.mark.parametrize(
    ("time", "ms"),
    [
        (1777977121, 1777977121000),
        (1777977121000, 1777977121000),
        ("1777977121000", 1777977121000),
        ("1777977121", 1777977121000),
        ("2026-05-05T12:32:01+02:00", 1777977121000),
        ("2026-05-05T10:32:01", 1777977121000),
        (None, None),
        ("yesterday", None),
        ("1970-01-01T00:00:00Z", None),
        (True, None),
        ([], None),
    ],
)
def test_times_in_any_spelling_are_utc_and_unknown_ones_unknown(time: JSON, ms: int | None) -> None:
    (found,) = said(prompt("u1", None, "Hi", timestamp=time))

    assert found.time == ms


def test_records_that_are_not_known_are_counted_by_their_type() -> None:
    found, tally = read(
        dumps({"type": "atis-latch", "atis": "", "sessionId": SID}),
        prompt("u1", None, "Hi"),
        record("system", "s1", "u1", subtype="turn_duration"),
        record("attachment", "t1", "s1", attachment={"type": "hook_success"}),
        record("progress", "p1", "t1", data={"type": "hook_progress"}),
        record("system", "s2", "p1", subtype="brand_new", content="x"),
    )

    assert sum(isinstance(item, Said) for item in found) == 1
    assert tally.left == {
        "atis-latch": 1,
        "system/turn_duration": 1,
        "attachment/hook_success": 1,
        "progress": 1,
        "system/brand_new": 1,
    }
    assert sum(tally.types.values()) == 6


def test_what_has_no_shape_of_a_message_is_counted_as_lost() -> None:
    found, tally = read(
        prompt("u1", None, 7),
        record("user", "u2", "u1"),
        record("assistant", "a1", "u2", message="plain"),
        dumps({"uuid": "x"}),
        dumps({"sessionId": SID, "message": {"role": "user", "content": "no type"}}),
    )

    messages = [words(item) for item in found if isinstance(item, Said)]
    assert messages == [["plain"], ["no type"]]
    assert [flaw.line for flaw in tally.flaws] == [1, 2, 4]
    assert tally.lost == 3


def test_notices_of_the_system_are_asides() -> None:
    found = noted(
        prompt("u1", None, "Hi"),
        record("system", "s1", "u1", subtype="api_error", error={"status": 529}, retryAttempt=1),
        record(
            "system",
            "s2",
            "s1",
            subtype="microcompact_boundary",
            microcompactMetadata={"tokensSaved": 9},
        ),
        record("system", "s3", "s2", subtype="away_summary", content="You left."),
        dumps({"type": "pr-link", "prNumber": 17, "sessionId": SID}),
    )

    assert found == [
        (2, "import.error", {"error": {"status": 529}, "retryAttempt": 1}),
        (3, "import.microcompaction", {"microcompactMetadata": {"tokensSaved": 9}}),
        (4, "import.away_summary", {"content": "You left."}),
        (5, "import.pr-link", {"prNumber": 17}),
    ]


@pytest.mark.parametrize(
    ("value", "sure"),
    [
        (prompt("u1", None, "Hi"), 2),
        (piece("a1", None, "m1"), 2),
        (record("progress", "p", None), 2),
        (dumps({"type": "summary", "summary": "x", "leafUuid": "y"}), 1),
        (dumps({"type": "permission-mode", "permissionMode": "default"}), 1),
        (dumps({"type": "atis-latch", "sessionId": SID}), 1),
        (dumps({"type": "user", "message": {"role": "user", "content": "x"}}), 1),
        (dumps({"type": "message", "id": "1", "message": {"role": "user"}}), 0),
        (dumps({"type": "event_msg", "payload": {}, "sessionId": SID}), 0),
        (dumps({"role": "user", "content": "x"}), 0),
    ],
)
def test_a_record_tells_how_sure_it_makes_the_kind(value: bytes, sure: int) -> None:
    assert ClaudeAdapter().recognises(loads_object(value)) == sure


def test_the_folder_is_told_once() -> None:
    assert kept(prompt("u1", None, "Hi"), prompt("u2", "u1", "Hi")) == [(CWD, CWD_OF)]


def test_a_text_as_long_as_an_image_is_known_again_and_told_from_another() -> None:
    text = "x" * (2 << 20)
    others = [text + "x", "y" + text[1:], text[:-1] + "y", text[:40_000] + "y" * 40_000]
    others[3] += text[80_000:]

    same = content_key([{"type": "text", "text": text}])

    assert same == content_key([{"type": "text", "text": text[:-1] + "x"}])
    assert same not in {content_key([{"type": "text", "text": other}]) for other in others}
