from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.imports.adapter import CWD, Kept, Noted, Said
from agentmem_cli.operations.imports.codex import CodexAdapter
from agentmem_cli.operations.imports.codex_notes import SMALL_BYTES
from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.keys import MODEL, TITLE
from tests.unit.imports.building import BASE_MS, stamp
from tests.unit.imports.codex_building import (
    THREAD,
    answer,
    call,
    event,
    item,
    kept,
    line,
    meta,
    noted,
    output,
    parts_of,
    prompt,
    read,
    result_of,
    said,
    spoken,
)

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\nno picture").decode()


def parts(*records: bytes) -> list[Object]:
    """The parts of the one message that is made of *records*."""
    (found,) = said(meta(), *records)
    return parts_of(found)


def test_one_answer_of_the_model_is_one_reply_and_the_results_follow_it() -> None:
    found = spoken(
        meta(),
        prompt(1, "Why?"),
        item(2, "reasoning", summary=[{"type": "summary_text", "text": "Hm."}]),
        answer(3, "I look."),
        call(4, "a"),
        call(5, "b"),
        output(6, "a", "1"),
        output(7, "b", "2"),
        answer(8, "So."),
    )

    assert found == ["u:Why?", "a:? I look. ->a ->b", "u:<-a", "u:<-b", "a:So."]


def test_what_the_user_wrote_has_no_author_and_what_codex_put_in_has() -> None:
    found = said(
        meta(),
        prompt(1, "<permissions instructions>\nx\n</permissions instructions>", role="developer"),
        prompt(1, "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>be brief</INSTRUCTIONS>"),
        prompt(2, "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
        prompt(3, "<user_instructions>\nbe brief\n</user_instructions>"),
        prompt(4, "Be a system.", role="system"),
        prompt(5, "<div> is a tag, why?"),
    )

    assert [each.author for each in found] == [
        Author.plugin("codex", "permissions instructions"),
        Author.plugin("codex", "AGENTS.md"),
        Author.plugin("codex", "environment_context"),
        Author.plugin("codex", "user_instructions"),
        Author.plugin("codex", "system"),
        None,
    ]
    assert [each.message["role"] for each in found] == [
        "system",
        "user",
        "user",
        "user",
        "system",
        "user",
    ]
    assert found[0].message["source_role"] == "developer"


def test_a_prompt_in_one_message_with_what_codex_put_in_is_a_message_of_its_own() -> None:
    found = said(
        meta(),
        prompt(1, "# AGENTS.md instructions for /x", "<environment_context/>x", "Why?"),
        prompt(2, "<environment_context>y</environment_context>", "And now?"),
    )

    assert [each.author is None for each in found] == [False, True, False, True]
    assert [each.line for each in found] == [2, 2, 3, 3]


def test_arguments_are_parsed_where_they_are_json_and_kept_as_text_where_not() -> None:
    texts: list[JSON] = ['{"cmd":["ls"]}', "[1]", '{"cmd": ', "", {"already": "an object"}]

    found = [parts(call(1, "c", arguments=text))[0] for text in texts]

    assert [part["function"] for part in found] == [
        {"name": "shell", "arguments": {"cmd": ["ls"]}},
        {"name": "shell", "arguments": [1]},
        {"name": "shell", "arguments": '{"cmd": '},
        {"name": "shell", "arguments": ""},
        {"name": "shell", "arguments": {"already": "an object"}},
    ]


def test_every_kind_of_call_is_a_call_with_its_own_fields() -> None:
    found = parts(
        item(1, "custom_tool_call", call_id="c", name="apply_patch", input="*** B", status="done"),
        item(2, "local_shell_call", call_id="l", action={"type": "exec", "command": ["ls"]}),
        item(3, "tool_search_call", call_id="t", arguments={"query": "x"}, execution="client"),
        item(4, "function_call", call_id="f", name="f", namespace="mcp", arguments="{}"),
    )

    assert found == [
        {
            "type": "toolcall",
            "id": "c",
            "function": {"name": "apply_patch", "arguments": {"input": "*** B"}},
            "call_type": "custom",
            "status": "done",
        },
        {
            "type": "toolcall",
            "id": "l",
            "function": {
                "name": "local_shell",
                "arguments": {"type": "exec", "command": ["ls"]},
            },
            "call_type": "local_shell",
        },
        {
            "type": "toolcall",
            "id": "t",
            "function": {"name": "tool_search", "arguments": {"query": "x"}},
            "call_type": "tool_search",
            "execution": "client",
        },
        {
            "type": "toolcall",
            "id": "f",
            "function": {"name": "f", "arguments": {}},
            "namespace": "mcp",
        },
    ]


def test_what_the_provider_does_by_itself_is_no_call_that_waits() -> None:
    search: Object = {"type": "search", "query": "tides"}

    found = parts(
        item(1, "web_search_call", status="completed", action=search),
        item(2, "image_generation_call", id="ig", status="completed", result=PIXEL),
        item(3, "image_generation_call", id="ig2", status="failed"),
    )

    assert found == [
        {"type": "web_search_call", "status": "completed", "action": search},
        {
            "type": "image",
            "data": {"type": "base64", "value": PIXEL},
            "media_type": "png",
            "call_type": "image_generation",
            "id": "ig",
            "status": "completed",
        },
        {"type": "image_generation_call", "id": "ig2", "status": "failed"},
    ]


def test_an_item_with_an_id_of_its_own_is_still_paired_by_its_calls() -> None:
    called, answered = said(
        item(1, "function_call", id="fc_1", call_id="c1", name="shell", arguments="{}"),
        item(2, "function_call_output", id="fco_1", call_id="c1", output="ok", name="other"),
    )

    (asked,) = parts_of(called)
    assert (asked["id"], asked["item_id"]) == ("c1", "fc_1")
    answer = result_of(answered)
    assert (answer["call"], answer["name"], answer["item_name"]) == ("c1", "shell", "other")
    assert answer["id"] == "fco_1"


def test_results_are_paired_by_id_then_by_order_and_named_by_their_call() -> None:
    found = said(
        meta(),
        call(1, "a", "one"),
        call(2, None, "two"),
        call(3, "c", "three"),
        output(4, "c", "3"),
        output(5, None, "1"),
        output(6, None, "2"),
        output(7, "nobody", "?"),
    )

    results = [result_of(each) for each in found[1:]]
    assert [(part["call"], part["name"]) for part in results] == [
        ("c", "three"),
        ("a", "one"),
        ("line-3", "two"),
        ("nobody", "unknown"),
    ]


def test_two_calls_with_one_id_take_two_results_each_with_its_name() -> None:
    found = said(
        meta(), call(1, "a", "x"), call(2, "a", "y"), output(3, "a", ""), output(4, "a", "")
    )

    results = [result_of(each) for each in found[1:]]
    assert [part["name"] for part in results] == ["x", "y"]


def test_a_result_without_an_id_does_not_answer_a_call_from_before_a_prompt() -> None:
    found = spoken(
        meta(), call(1, "old"), prompt(2, "Go on."), call(3, "new"), output(4, None, "x")
    )

    assert found == ["a:->old", "u:Go on.", "a:->new", "u:<-new"]


def test_outputs_are_texts_images_or_json_and_say_when_they_failed() -> None:
    image: Object = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}
    text = '{"output":"ok","metadata":{"exit_code":1}}'
    outputs: list[JSON] = [
        text,
        [{"type": "input_text", "text": "see"}, image],
        {"content": "no", "success": False},
        {"odd": 1},
        None,
    ]

    found = [said(meta(), call(1, "c"), output(2, "c", each))[1] for each in outputs]

    results = [result_of(each) for each in found]
    assert [part["content"] for part in results] == [
        [{"type": "text", "text": text}],
        [
            {"type": "text", "text": "see"},
            {
                "type": "image",
                "data": {"type": "base64", "value": PIXEL},
                "media_type": "png",
            },
        ],
        [{"type": "text", "text": "no"}],
        [{"type": "json", "value": {"odd": 1}}],
        [],
    ]
    assert [part.get("is_error") for part in results] == [
        None,
        None,
        True,
        None,
        None,
    ]


def test_reasoning_is_told_and_what_is_sealed_stays_sealed() -> None:
    found = parts(
        item(
            1,
            "reasoning",
            summary=[{"type": "summary_text", "text": "Short."}],
            content=[{"type": "reasoning_text", "text": "Long."}],
            encrypted_content="gAAAA=",
        ),
        item(2, "reasoning", summary=[], content=None, encrypted_content="gBBBB="),
        item(3, "reasoning", summary=[], content="Plain."),
    )

    assert found == [
        {
            "type": "reasoning",
            "content": [{"type": "text", "text": "Short."}, {"type": "text", "text": "Long."}],
            "encrypted_content": "gAAAA=",
        },
        {"type": "reasoning", "content": [], "encrypted_content": "gBBBB="},
        {"type": "reasoning", "content": [{"type": "text", "text": "Plain."}]},
    ]


def test_an_image_that_is_an_address_stays_one_and_another_beginning_is_kept() -> None:
    urls = ("https://x.test/a.png", f"data:image/jpg;base64,{PIXEL}", "data:,plain")

    found = [
        parts(
            item(
                1,
                "message",
                role="user",
                content=[{"type": "input_image", "image_url": url, "detail": "low"}],
            )
        )[0]
        for url in urls
    ]

    assert found == [
        {"type": "image", "data": {"type": "url", "value": urls[0]}, "detail": "low"},
        {
            "type": "image",
            "data": {"type": "base64", "value": PIXEL},
            "media_type": "jpeg",
            "detail": "low",
            "data_prefix": "data:image/jpg;base64,",
        },
        {"type": "image", "data": {"type": "url", "value": urls[2]}, "detail": "low"},
    ]


def test_usage_is_the_replys_and_told_again_the_last_one_counts() -> None:
    def tokens(count: int) -> bytes:
        last: Object = {"output_tokens": count}
        return event(3, "token_count", info={"last_token_usage": last, "total_token_usage": {}})

    items, tally = read(
        meta(),
        tokens(1),
        prompt(1, "Why?"),
        answer(2, "So."),
        tokens(5),
        tokens(7),
        event(3, "token_count", info=None),
        event(3, "task_complete"),
        tokens(9),
    )

    assert [each.message.get("usage") for each in items if isinstance(each, Said)] == [
        None,
        {"output_tokens": 7},
    ]
    assert tally.left["event_msg/token_count"] == 5


def test_folder_and_model_are_saved_when_they_change() -> None:
    def turn(cwd: str, model: str) -> bytes:
        return line("turn_context", 1, {"cwd": cwd, "model": model})

    found = kept(
        meta(),
        turn("/home/ada/tides", "gpt-5"),
        turn("/home/ada/tides", "gpt-5"),
        turn("/home/ada/moon", "gpt-6"),
    )

    assert found == [
        (CWD, "/home/ada/tides"),
        (MODEL, "openai/gpt-5"),
        (CWD, "/home/ada/moon"),
        (MODEL, "openai/gpt-6"),
    ]


def test_a_reply_tells_its_model_and_its_phase() -> None:
    (found,) = said(
        meta(model_provider="azure"),
        line("turn_context", 1, {"model": "gpt-5"}),
        answer(2, "So.", phase="final_answer", id="msg_1"),
    )

    assert found.message == {
        "role": "assistant",
        "content": [{"type": "text", "text": "So.", "phase": "final_answer"}],
        "origin": {"provider": "azure", "model": "gpt-5"},
    }
    assert found.raw == "msg_1"


def test_a_call_of_an_aborted_turn_owes_nothing() -> None:
    items, _ = read(
        meta(),
        prompt(1, "Why?"),
        call(2, "a"),
        call(2, "b"),
        output(3, "a", "1"),
        event(4, "turn_aborted", reason="interrupted"),
        prompt(5, "<turn_aborted>\nx\n</turn_aborted>"),
        call(6, "c"),
        prompt(7, "<turn_aborted>\nx\n</turn_aborted>"),
        call(8, "d"),
        output(9, "d", "4"),
        event(10, "turn_aborted", reason="interrupted"),
    )

    replies = [
        each.message.get("stop")
        for each in items
        if isinstance(each, Said) and each.message["role"] == "assistant"
    ]
    assert replies == ["aborted", "aborted", None]
    assert [each.kind for each in items if isinstance(each, Noted)] == ["import.aborted"] * 2


def test_records_that_matter_and_are_no_message_are_asides_in_their_place() -> None:
    records = (
        meta(),
        prompt(1, "Why?"),
        answer(2, "So."),
        line("compacted", 3, {"message": "All.", "replacement_history": [{"type": "message"}]}),
        event(4, "context_compacted"),
        event(5, "thread_rolled_back", num_turns=2),
        event(6, "error", message="no network"),
        event(7, "context_compacted"),
        item(8, "compaction", encrypted_content="g"),
        event(9, "collab_agent_spawn_end", call_id="c", new_thread_id="t"),
    )

    found = noted(*records)

    assert [(each.line, each.kind, each.value) for each in found] == [
        (
            4,
            "import.compaction",
            {"message": "All.", "replacement_history": [{"type": "message"}]},
        ),
        (6, "import.rollback", {"num_turns": 2}),
        (7, "import.error", {"message": "no network"}),
        (8, "import.compaction", {"event": "context_compacted"}),
        (9, "import.compaction", {"event": "compaction", "encrypted_content": "g"}),
        (
            10,
            "import.spawn",
            {"event": "collab_agent_spawn_end", "call_id": "c", "new_thread_id": "t"},
        ),
    ]
    assert read(*records)[1].left == {"event_msg/context_compacted": 1}


def test_a_large_history_of_a_compaction_is_counted_and_not_repeated() -> None:
    history: list[JSON] = [{"text": "x" * SMALL_BYTES}, {}]

    (found,) = noted(meta(), line("compacted", 1, {"message": "", "replacement_history": history}))

    assert found.value["replacement_history"] == {"bytes": len(dumps(history)), "items": 2}


def test_a_title_that_the_thread_was_given_is_saved() -> None:
    found = kept(meta(), event(1, "thread_name_updated", thread_name="Doubled hour"))

    assert found[-1] == (TITLE, "Doubled hour")


def test_what_another_agent_wrote_is_a_message_by_it() -> None:
    (found,) = said(
        meta(), item(1, "agent_message", author="/root/fennel", recipient="/root", content="Done.")
    )

    assert found.message["content"] == [{"type": "text", "text": "Done."}]
    assert found.author == Author.agent("/root/fennel")


def test_an_old_rollout_of_flat_lines_is_read() -> None:
    flat: Object = {"id": THREAD, "timestamp": stamp(0), "instructions": None, "git": {}}
    content: list[JSON] = [
        {
            "type": "input_text",
            "text": "<environment_context>\n  <cwd>/old</cwd>\n</environment_context>",
        }
    ]

    items, tally = read(
        dumps(flat),
        dumps({"record_type": "state"}),
        dumps({"type": "message", "role": "user", "content": content}),
        dumps({"type": "message", "role": "user", "content": "Why?"}),
        dumps({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "a"}),
        dumps({"type": "function_call_output", "call_id": "a", "output": "x"}),
        dumps({"type": "message", "role": "assistant", "content": "So."}),
    )

    told = [each for each in items if isinstance(each, Said)]
    assert len(told) == 5
    assert [each.value for each in items if isinstance(each, Kept)] == ["/old"]
    assert tally.left == {"state": 1}
    assert CodexAdapter().recognises(flat) == 2


@pytest.mark.parametrize(
    "payload",
    [
        {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {"type": "message", "content": [{"type": "input_text", "text": "Hi"}]},
        {"type": "message", "role": "user", "content": ["Hi"]},
        {"type": "message", "role": "user", "content": "Hi"},
    ],
)
@pytest.mark.parametrize("kind", ["response_item", None])
def test_a_record_says_by_its_fields_what_its_type_does_not(
    payload: Object, kind: str | None
) -> None:
    value: Object = {"payload": payload} if kind is None else {"type": kind, "payload": payload}

    found = said(meta(), dumps(value))

    assert [(each.message["role"], each.message["content"]) for each in found] == [
        ("user", [{"type": "text", "text": "Hi"}])
    ]


def test_a_line_without_its_type_is_known_by_its_payload() -> None:
    payloads: list[JSON] = [
        {"id": THREAD, "cwd": "/x"},
        {"cwd": "/y", "model": "gpt-5"},
        {"call_id": "a", "name": "ls", "arguments": "{}"},
        {"call_id": "a", "output": "x"},
        {"type": "user_message", "message": "Hi"},
        {"message": "All.", "replacement_history": []},
        {"k": 1},
    ]

    items, tally = read(*(dumps({"payload": payload}) for payload in payloads))

    assert len(items) == 7
    assert tally.left == {"?": 1}


def test_unknown_records_are_counted_by_their_names() -> None:
    items, tally = read(
        meta(),
        line("future_x", 1, {"k": 1}),
        item(2, "future_item", k=1),
        event(3, "future_event", k=1),
        line("world_state", 4, {}),
        dumps({"type": "flat_future"}),
        dumps({"no": "type"}),
        item(5, "ghost_snapshot"),
        prompt(6, "Hi"),
    )

    assert len([each for each in items if isinstance(each, Said)]) == 1
    assert tally.left == {
        "future_x": 1,
        "response_item/future_item": 1,
        "event_msg/future_event": 1,
        "world_state": 1,
        "flat_future": 1,
        "?": 1,
        "response_item/ghost_snapshot": 1,
    }
    assert sum(tally.types.values()) == tally.records == 9


def test_a_message_of_no_known_shape_costs_its_line_only() -> None:
    items, tally = read(meta(), item(1, "message", role="user", content=7), prompt(2, "Hi"))

    assert [each.line for each in items if isinstance(each, Said)] == [3]
    assert [(flaw.line, flaw.lost) for flaw in tally.flaws] == [(2, True)]


def test_empty_texts_are_messages_too() -> None:
    found = spoken(
        meta(),
        prompt(1, ""),
        item(2, "message", role="user", content=[]),
        answer(3, " \n"),
        item(4, "message", role="assistant", content=None),
        call(5, "a"),
        output(6, "a", ""),
    )

    assert found == ["u:", "u:", "a: \n ->a", "u:<-a"]


def test_the_first_of_lines_without_times_has_that_of_the_header() -> None:
    flat: Object = {"id": THREAD, "timestamp": stamp(3), "instructions": None, "git": {}}
    words = dumps({"type": "message", "role": "user", "content": "Why?"})
    dated = dumps({"type": "message", "role": "user", "content": "So?", "timestamp": stamp(1)})

    assert [each.time for each in read(dumps(flat), words, words)[0]] == [BASE_MS + 3_000, None]
    assert [each.time for each in read(dumps(flat), dated, words)[0]] == [BASE_MS + 1_000, None]


def test_a_header_younger_than_the_first_record_takes_its_time() -> None:
    late = [each.time for each in read(meta(second=9), prompt(5, "Hi"))[0]]
    early = [each.time for each in read(meta(second=1), prompt(5, "Hi"))[0]]

    assert late == [None, BASE_MS + 5_000]
    assert early == [BASE_MS + 1_000, BASE_MS + 5_000]


def test_ordinals_change_nothing() -> None:
    records = [meta(), *(prompt(n, f"p{n}") for n in range(1, 11))]
    numbered = [
        dumps({"ordinal": n, **loads_object(record)}) if n < 10 else record
        for n, record in enumerate(records)
    ]

    assert read(*numbered)[0] == read(*records)[0]
