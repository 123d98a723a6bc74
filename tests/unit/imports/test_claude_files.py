"""Which files a Claude Code session has: agents of one id, copies, journals, forks by their id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.export import kept_bytes, originals
from agentmem_cli.operations.imports.claude_messages import by_text
from agentmem_cli.operations.imports.folders import import_paths
from agentmem_cli.operations.verify import verify
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.keys import FORKED_FROM
from agentmem_cli.session.meta import SessionMeta
from agentmem_cli.session.reader import fold_log
from tests.unit.imports.building import NOW, lines, put, store_of, take, texts_of
from tests.unit.imports.claude_building import OTHER, SID, piece, prompt, text
from tests.unit.imports.claude_odd import ODD

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.report import Report
    from agentmem_cli.session.codec import Object

SUB = f"{SID}/subagents"


def kid(agent: str, *words: str) -> bytes:
    told: Object = {"isSidechain": True, "agentId": agent}
    asked = prompt(f"{agent}-u", None, words[0], 3, **told)
    said = [
        piece(f"{agent}-{i}", f"{agent}-u", f"m{i}", text(word), second=4 + i, **told)
        for i, word in enumerate(words[1:])
    ]
    return lines(asked, *said)


def main_file(folder: Path) -> Path:
    return put(folder / f"{SID}.jsonl", lines(prompt("u1", None, "Go")))


def logs_of(report: Report) -> dict[str, list[str]]:
    return {log: texts_of(report, log) for log in store_of(report).logs()}


def test_agents_of_one_id_in_two_runs_are_two(tmp_path: Path, root: Path) -> None:
    main = main_file(tmp_path)
    put(tmp_path / SUB / "workflows" / "w1" / "agent-a.jsonl", kid("a", "One?", "One."))
    put(tmp_path / SUB / "workflows" / "w2" / "agent-a.jsonl", kid("a", "Two?", "Two."))

    logs = logs_of(take(main, root))

    other = next(log for log in logs if log.startswith("a_w2"))
    assert logs == {"a": ["One?", "One."], "main": ["Go"], other: ["Two?", "Two."]}
    assert take(main, root).nothing_new


@pytest.mark.parametrize(("inner", "outer"), [(2, 3), (3, 2), (3, 3)])
def test_of_an_agents_file_and_its_copy_the_fuller_one_is_read(
    tmp_path: Path, root: Path, inner: int, outer: int
) -> None:
    words = ("Look", "Found it", "And more")
    main = main_file(tmp_path)
    put(tmp_path / SUB / "agent-k1.jsonl", kid("k1", *words[:inner]))
    put(tmp_path / "agent-k1.jsonl", kid("k1", *words[:outer]))

    (outcome,) = import_paths([tmp_path], root, now_ms=NOW)

    assert outcome.report is not None
    assert outcome.source == main
    assert logs_of(outcome.report) == {"k1": [*words], "main": ["Go"]}


def test_an_agent_that_is_called_main_is_not_the_main_one(tmp_path: Path, root: Path) -> None:
    told: Object = {"isSidechain": True, "agentId": "main"}
    main = put(
        tmp_path / f"{SID}.jsonl",
        lines(prompt("u1", None, "Go"), prompt("s1", None, "Inside?", 2, **told)),
    )
    put(tmp_path / SUB / "agent-main.jsonl", kid("main", "Look", "Found it"))

    logs = logs_of(take(main, root))

    assert logs["main"] == ["Go"]
    assert sorted(logs["agent-main"]) == ["Found it", "Inside?", "Look"]


def test_a_journal_beside_agents_is_kept_and_no_transcript(tmp_path: Path, root: Path) -> None:
    main_file(tmp_path)
    folder = tmp_path / SUB / "workflows" / "w1"
    put(folder / "agent-a.jsonl", kid("a", "One?", "One."))
    notes = lines(dumps({"type": "started", "key": "v2:1", "agentId": "a"}))
    journal = put(folder / "journal.jsonl", notes)

    (outcome,) = import_paths([tmp_path], root, now_ms=NOW)

    report = outcome.report
    assert report is not None
    assert (report.lines, report.messages, report.lost) == (3, 3, 0)
    kept = {
        original.name: b"".join(kept_bytes(store_of(report), original))
        for original in originals(store_of(report))
    }
    assert kept[journal.relative_to(tmp_path).as_posix()] == notes
    assert verify(store_of(report)).findings == ()


@pytest.mark.parametrize(
    "data",
    [b"", b"\n", b"\0" * 512, b"garbage\n", b'{"type":"mode","mode":"plan","sessionId":"s"}\n'],
)
def test_agents_whose_sessions_own_file_holds_no_message_come_in_as_its_agents(
    tmp_path: Path, root: Path, data: bytes
) -> None:
    main = put(tmp_path / "in" / f"{SID}.jsonl", data)
    put(tmp_path / "in" / SUB / "agent-a.jsonl", kid("a", "One?", "One."))
    put(tmp_path / "in" / SUB / "agent-b.jsonl", kid("b", "Two?", "Two."))

    (outcome,) = import_paths([tmp_path / "in"], root, now_ms=NOW)

    report = outcome.report
    assert report is not None
    assert logs_of(report) == {"a": ["One?", "One."], "b": ["Two?", "Two."]}
    assert SessionMeta.read(store_of(report)).messages == 2
    assert main.read_bytes() == data
    if data in (b"", b"\n"):
        main.write_bytes(data + lines(prompt("u1", None, "Go")))
        again = take(main, root)
        assert logs_of(again) == {"a": ["One?", "One."], "b": ["Two?", "Two."], "main": ["Go"]}
        assert SessionMeta.read(store_of(again)).title == "Go"


def test_what_stands_in_a_sessions_own_folder_is_no_session_of_its_own(
    tmp_path: Path, root: Path
) -> None:
    said = b'[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]'
    main = main_file(tmp_path / "in")
    put(tmp_path / "in" / SID / "workflows" / "w1.json", said)
    put(tmp_path / "in" / SID / "later" / "notes.jsonl", said)

    (outcome,) = import_paths([tmp_path / "in"], root, now_ms=NOW)

    assert outcome.report is not None
    assert outcome.source == main
    names = {kept.name for kept in originals(store_of(outcome.report))}
    assert {f"{SID}/workflows/w1.json", f"{SID}/later/notes.jsonl"} <= names


@pytest.mark.parametrize("main", [f"{SID}.jsonl", "talks.jsonl"])
def test_what_stands_in_a_folder_beside_a_file_of_another_kind_is_imported(
    tmp_path: Path, root: Path, main: str
) -> None:
    said = b'[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]'
    put(tmp_path / main, said)
    put(tmp_path / main.removesuffix(".jsonl") / "other.json", said.replace(b"x", b"z"))

    reports = [each.report for each in import_paths([tmp_path], root, now_ms=NOW)]

    assert [report.messages for report in reports if report is not None] == [2, 2]


def test_a_fork_whose_copies_have_its_own_id_says_where_it_is_from(
    tmp_path: Path, root: Path
) -> None:
    odd = ODD["a fork that has its own id"]

    report = take(put(tmp_path / f"{SID}.jsonl", lines(*odd.records)), root)

    assert report.forked_from == (f"claude-code-{OTHER}", 2)
    saved = fold_log(store_of(report), "main").saved[FORKED_FROM]
    assert saved == {"session": f"claude-code-{OTHER}", "agent": "main", "at": 2}


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("<system-reminder>a</system-reminder>", "system-reminder"),
        ("<system-reminder>a</system-reminder>\nWhy?", None),
        ("<ide_selection>a</ide_selection><system-reminder>b</system-reminder>", "system-reminder"),
        ("<ide_selection>a</ide_selection> <system-reminder>b</system-reminder> c", None),
        ("<system-reminder>a</system-reminder><bash-input>ls</bash-input>", "bash"),
        ('<teammate-message teammate_id="x">hi</teammate-message>', "teammate"),
        ("<system-reminders>a", None),
    ],
)
def test_what_stands_behind_what_the_program_adds_is_the_users(
    words: str, title: str | None
) -> None:
    author = by_text(words)

    assert (None if author is None else author.title) == title
