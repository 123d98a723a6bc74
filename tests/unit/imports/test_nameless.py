"""Calls and results for which a source tells no tool, or no id: neither is ever empty here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.export import messages
from agentmem_cli.operations.exports.turns import Left
from agentmem_cli.operations.imports import parts
from agentmem_cli.operations.imports.openai import KIND
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.message import parts_of
from tests.unit.imports import codex_building as codex
from tests.unit.imports.building import entry, header, lines, main_of, put, reply, take, user
from tests.unit.imports.claude_building import SID, piece, prompt

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.report import Report
    from agentmem_cli.session.codec import JSON, Object


def claude(folder: Path) -> Path:
    calls: list[Object] = [
        {"type": "tool_use", "input": {}},
        {"type": "tool_use", "id": "", "name": "", "input": {}},
        {"type": "tool_use", "id": "c", "name": 7, "input": {}},
    ]
    results: list[JSON] = [
        {"type": "tool_result", "tool_use_id": id_, "content": "x"} for id_ in ("", None, "nobody")
    ]
    records = (
        prompt("u1", None, "Go"),
        piece("a1", "u1", "m1", *calls),
        prompt("r1", "a1", results),
        prompt("r2", "r1", [{"type": "tool_result", "content": "x"}] * 2),
    )
    return put(folder / f"{SID}.jsonl", lines(*records))


def answer(fields: Object) -> Object:
    return {"role": "toolResult", "content": "x", **fields}


def pi(folder: Path) -> Path:
    calls: list[JSON] = [
        {"type": "toolCall", "arguments": {}},
        {"type": "toolCall", "id": "", "name": "", "arguments": {}},
    ]
    answers: list[Object] = [
        {},
        {"toolCallId": "", "toolName": ""},
        {"toolCallId": "nobody"},
        {"toolCallId": ""},
    ]
    results = [entry("message", 3, message=answer(each)) for each in answers]
    data = lines(header(), user(1, "Go"), reply(2, "", content=calls), *results)
    return put(folder / "2026_x.jsonl", data)


def codex_rollout(folder: Path) -> Path:
    items: list[Object] = [
        {"type": "function_call", "arguments": "{}"},
        {"type": "function_call", "call_id": "", "name": "", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "", "output": "x"},
        {"type": "function_call_output", "call_id": "nobody", "output": "x"},
        {"type": "function_call_output", "output": "x"},
        {"type": "function_call_output", "output": "x"},
    ]
    records = [codex.line("response_item", 3 + at, each) for at, each in enumerate(items)]
    return codex.rollout(folder, codex.THREAD, codex.meta(), codex.prompt(1, "Go"), *records)


ODD: list[Object] = [
    {"role": "user", "content": "Go"},
    {"role": "tool", "tool_call_id": "", "content": "x"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"type": "function", "function": {"arguments": "{}"}},
            {"id": "", "type": "function", "function": {"name": "", "arguments": "{}"}},
            {"id": "", "type": "function", "function": {"name": "unknown", "arguments": "{}"}},
            {"id": "c", "type": "custom", "custom": {"input": "x"}},
        ],
    },
    {"role": "tool", "content": "1"},
    {"role": "tool", "tool_call_id": "", "name": "", "content": "2"},
    {"role": "tool", "tool_call_id": "", "content": "3"},
    {"role": "tool", "tool_call_id": "c", "content": "4"},
    {"role": "tool", "tool_call_id": "nobody", "content": "x"},
    {"role": "tool", "content": "x"},
    {"role": "assistant", "content": "", "function_call": {"name": "", "arguments": "{}"}},
    {"role": "function", "name": "", "content": "5"},
    {"role": "assistant", "content": "", "function_call": {"name": "old", "arguments": "{}"}},
    {"role": "function", "content": "6"},
    {"role": "function", "content": "x"},
]


def openai(folder: Path) -> Path:
    return put(folder / "x.json", dumps([*ODD]))


SOURCES = {"claude-code": claude, "pi": pi, "codex": codex_rollout, "openai-messages": openai}


def tools(report: Report) -> list[tuple[JSON, JSON]]:
    """Ids and names of all calls and results."""
    found: list[tuple[JSON, JSON]] = []
    for each in main_of(report).entries:
        for part in parts_of(each.message.value):
            if part["type"] == "toolcall":
                function = part["function"]
                assert isinstance(function, dict)
                found.append((part["id"], function["name"]))
            elif part["type"] == "toolresult":
                found.append((part["call"], part["name"]))
    return found


@pytest.mark.parametrize("kind", SOURCES)
def test_no_call_and_no_result_is_without_an_id_or_a_name(
    tmp_path: Path, root: Path, kind: str
) -> None:
    report = take(SOURCES[kind](tmp_path / "src"), root)

    found = tools(report)
    texts = [text for pair in found for text in pair]
    assert len(found) >= 6
    assert all(isinstance(text, str) and text for text in texts)
    assert "unknown" in texts
    assert take(SOURCES[kind](tmp_path / "src"), root).nothing_new


def test_calls_without_ids_are_answered_by_the_results_that_were_theirs(
    tmp_path: Path, root: Path
) -> None:
    report = take(openai(tmp_path), root)

    left = Left()
    told = list(messages(main_of(report).entries, "openai", left, kind=KIND))
    calls = told[1]["tool_calls"]
    assert isinstance(calls, list)
    ids = [each["id"] for each in calls if isinstance(each, dict)]
    results = {
        str(each["tool_call_id"]): each["content"] for each in told if "tool_call_id" in each
    }
    functions = [(each["name"], each["content"]) for each in told if each["role"] == "function"]
    assert [results[str(id_)] for id_ in ids] == ["1", "2", "3", "4"]
    assert functions == [("tool", "5"), ("old", "6")]
    assert (left.orphans, left.unanswered) == (4, 0)


def test_an_export_says_nothing_of_the_names_that_were_put_in(tmp_path: Path, root: Path) -> None:
    report = take(openai(tmp_path), root)

    told = list(messages(main_of(report).entries, "openai", Left(), kind=KIND))

    calls = told[1]["tool_calls"]
    assert isinstance(calls, list)
    assert [(each["id"], each[each["type"]]) for each in calls if isinstance(each, dict)] == [  # type: ignore[index]
        ("call_1_0", {"name": "tool", "arguments": "{}"}),
        ("call_1_1", {"name": "tool", "arguments": "{}"}),
        ("call_1_2", {"name": "unknown", "arguments": "{}"}),
        ("c", {"name": "tool", "input": "x"}),
    ]
    assert b"unnamed-" not in dumps([*told])


def test_several_conversations_have_no_made_up_id_in_common(tmp_path: Path, root: Path) -> None:
    data = lines(dumps({"messages": [*ODD]}), dumps({"messages": [*ODD]}))

    report = take(put(tmp_path / "x.jsonl", data), root)

    made = [
        part["id"]
        for each in main_of(report).entries
        for part in parts_of(each.message.value)
        if part["type"] == "toolcall" and "id_as" in part
    ]
    assert len(made) == len(set(map(str, made))) == 10


def test_a_session_that_was_imported_with_empty_names_goes_on(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pi(tmp_path / "src")
    with monkeypatch.context() as older:
        older.setattr(parts, "UNKNOWN", "")
        report = take(path, root)
    assert "" in [name for _, name in tools(report)]

    put(path, path.read_bytes() + lines(user(9, "More")))
    again = take(path, root)

    assert (again.new, again.path) == (1, report.path)
