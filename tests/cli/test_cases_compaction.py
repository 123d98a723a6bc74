"""Failures that people met with compaction, undo and calls without results; see test_cases.py.

The numbers in the names are those of the list of cases the project was made against.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.message import Message
from agentmem_cli.session.pairing import validate
from tests.cli.running import join, ok, run, turns, write
from tests.cli.talking import LONG, add, conversation, entries, log_bytes, start
from tests.talks import ask, call, reply, result

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON


def disordered() -> list[Message]:
    """Calls in parallel, one answered beside a text, the other one later."""
    return [
        ask("build it " * 50),
        call("T1"),
        result("T1", LONG),
        call("T2", "T3"),
        result("T2", LONG, also="and hurry"),
        result("T3", LONG),
        reply("done"),
        ask("thanks"),
    ]


@pytest.mark.parametrize("keep", range(0, 1_800, 200))
def test_case_34_a_call_and_its_result_stay_or_go_together_wherever_the_cut_is(
    root: Path, keep: int
) -> None:
    start("s", *disordered())

    ok("compact", "s", "--keep", str(keep), "--summary-file", "-", stdin=b"They built it.")

    raw = b"".join(message.raw for message in conversation(root, "s").messages)
    for name in (b"T1", b"T2", b"T3"):
        asked, answered = raw.count(b'"id":"' + name), raw.count(b'"call":"' + name)
        assert asked == answered


@pytest.mark.parametrize("keep", [0, 600, 1_200])
@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_case_34_what_is_exported_after_a_compaction_is_valid_pairs(
    root: Path, tmp_path: Path, keep: int, shape: str
) -> None:
    start("s", *disordered())
    ok("compact", "s", "--keep", str(keep))

    ok("export", "s", "--as", "messages", "--shape", shape, "-o", tmp_path / "m.json")

    asked, answered = _ids(json.loads((tmp_path / "m.json").read_bytes()))
    assert sorted(asked) == sorted(answered)


def _ids(messages: list[dict[str, JSON]]) -> tuple[list[str], list[str]]:
    """The ids that are called and that are answered, in either shape."""
    asked: list[str] = []
    answered: list[str] = []
    for message in messages:
        calls = message.get("tool_calls")
        asked += [str(each["id"]) for each in calls] if isinstance(calls, list) else []  # type: ignore[index, call-overload]
        if message["role"] == "tool":
            answered.append(str(message["tool_call_id"]))
        content = message["content"]
        for part in content if isinstance(content, list) else []:
            if isinstance(part, dict) and part.get("type") == "tool_use":
                asked.append(str(part["id"]))
            if isinstance(part, dict) and part.get("type") == "tool_result":
                answered.append(str(part["tool_use_id"]))
    return asked, answered


def test_case_35_a_summary_of_long_ago_is_no_turn_of_the_next_one(root: Path) -> None:
    start("s", ask("build it"), call("a"), result("a", LONG), reply("hull"))
    ok("compact", "s", "--summary-file", "-", stdin=b"the first summary")
    add("s", call("b"), result("b", LONG), reply("mast " * 50))

    asked = ok("compact", "s", "--plan").object["request"]["message"]["content"][0]["text"]
    ok("compact", "s", "--summary-file", "-", stdin=b"the second summary")

    record = asked.partition("<record>")[2]
    assert "the first summary" in asked.partition("<record>")[0]
    assert "the first summary" not in record
    texts = "".join(message.text for message in conversation(root, "s").messages)
    assert "the first summary" not in texts
    assert "the second summary" in texts


@pytest.mark.parametrize(
    "tail",
    [
        [call("T9")],
        [call("T9"), ask("wait")],
        [call("T8"), result("T8"), result("T8"), reply("ok")],
        [result("T7"), call("T7"), ask("go")],
    ],
)
def test_case_36_a_call_without_a_result_is_compacted_and_undone_as_it_is(
    root: Path, tail: list[Message]
) -> None:
    start("s", ask("build it"), reply(LONG), *tail)
    before = entries(root, "s")

    done = run("compact", "s", "--summary-file", "-", stdin=b"short")
    compacted = conversation(root, "s").messages
    if done.status == 0:
        ok("undo", "s")

    assert all("no result" not in message.text.lower() for message in compacted)
    assert entries(root, "s") == before


def test_case_36_a_call_that_waits_at_the_end_stays_for_its_result(root: Path) -> None:
    start("s", ask("build it"), reply(LONG), ask("go"), call("T9"), Message.system("brief"))

    ok("compact", "s")
    add("s", result("T9", "late"))

    assert validate(conversation(root, "s").messages) == []


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "text", "text": ""}],
        [{"type": "text", "text": "  \n"}],
        [],
        None,
        [{"type": "toolresult", "call": "x", "name": "", "content": ""}],
    ],
)
def test_case_37_blank_content_is_counted_compacted_and_brought_back(
    root: Path, content: JSON
) -> None:
    from tests.cli.running import header, pushed, said

    blank = pushed(2, {"role": "user", "content": content})
    lines = [header(), said(1, LONG), blank, said(3, "ok", "assistant"), said(4, "go")]
    write(root, "s", "main", join(lines))
    before = entries(root, "s")

    ok("clear", "s", "--keep", "0", "--keep-under", "0")
    ok("compact", "s", "--summary-file", "-", stdin=b"short")
    ok("undo", "s", "--compaction")

    assert [id_ for id_, _, _ in entries(root, "s")] == [id_ for id_, _, _ in before]
    assert run("diff", "s", "5", "now").status in (0, 1)


def test_case_65_undo_reaches_the_messages_under_a_compaction(root: Path) -> None:
    write(root, "s", "main", join(turns(20)))
    twenty = entries(root, "s")
    ok("compact", "s", "--summary-file", "-", stdin=b"twenty")
    for text in ("21", "22", "23"):
        add("s", ask(text))
    later = entries(root, "s")[-3:]

    under = ok("undo", "s", "--compaction")
    kept = entries(root, "s")
    ok("redo", "s")
    for _ in range(4):
        ok("undo", "s")

    assert "19 messages back" in under.out
    assert kept == [*twenty, *later]
    assert entries(root, "s") == twenty


def test_case_66_a_compaction_that_failed_leaves_nothing_to_be_replayed(root: Path) -> None:
    start("s", ask("build it"), call("a"), result("a", LONG), reply("done"))
    before = log_bytes(root, "s")

    failed = run("compact", "s", "--summarizer", "false")
    after = log_bytes(root, "s")
    add("s", ask("newer work"))

    assert failed.status == 2
    assert after == before
    assert conversation(root, "s").messages[-1] == ask("newer work")
    assert sorted(path.name for path in (root / "s").iterdir()) == [
        ".rig-memory.lock",
        "files",
        "logs",
    ]
