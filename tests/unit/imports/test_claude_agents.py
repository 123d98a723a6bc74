"""Sessions of Claude Code on disk: agents in their three layouts, forks, folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli.imported_words import details
from agentmem_cli.operations.imports.adapter import CWD
from agentmem_cli.operations.imports.claude import SPAWNED
from agentmem_cli.operations.imports.folders import import_paths, sources_of
from agentmem_cli.operations.verify import verify
from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.keys import FORKED_FROM, TITLE
from agentmem_cli.session.reader import fold_log
from tests.unit.imports.building import (
    BASE_MS,
    NOW,
    asides_of,
    lines,
    put,
    session_of,
    store_of,
    take,
    texts_of,
    tree_of,
)
from tests.unit.imports.claude_building import (
    OTHER,
    SID,
    call,
    piece,
    prompt,
    result,
    text,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.report import Report
    from agentmem_cli.session.codec import JSON, Object

KID: Object = {"isSidechain": True, "agentId": "k1"}


def spawning(agent: str = "k1", *, at: int = 1) -> bytes:
    """A main session that spawns an agent and hears of it."""
    return lines(
        prompt("u1", None, "Go", at),
        piece("a1", "u1", "m1", call("t1", "Task", prompt="Look"), second=at + 1),
        result("r1", "a1", "t1", "Found it", at + 9, toolUseResult={"agentId": agent}),
        piece("a2", "r1", "m2", text("Done."), second=at + 10),
    )


def kid(words: str = "Look", *, at: int = 3, agent: str = "k1", session: str = SID) -> bytes:
    told: Object = {"isSidechain": True, "agentId": agent, "sessionId": session}
    return lines(
        prompt(f"{agent}-u", None, words, at, **told),
        piece(f"{agent}-a", f"{agent}-u", f"{agent}-m", text("Found it"), second=at + 1, **told),
    )


def agents_of(report: Report) -> list[tuple[str, str | None]]:
    return [(agent.id, agent.parent) for agent in session_of(report).agents]


def saved_of(report: Report, log: str = "main") -> dict[str, JSON]:
    return dict(fold_log(store_of(report), log).saved)


@pytest.mark.parametrize(
    "place", [f"{SID}/subagents", f"{SID}/subagents/workflows/wf-1", "."], ids=["new", "wf", "old"]
)
def test_an_agent_in_a_file_of_its_own_is_an_agent_of_the_session(
    tmp_path: Path, root: Path, place: str
) -> None:
    project = tmp_path / "projects" / "-home-ada"
    main = put(project / f"{SID}.jsonl", spawning())
    put(project / place / "agent-k1.jsonl", kid())

    report = take(main, root)

    assert agents_of(report) == [("main", None), ("k1", "main")]
    assert texts_of(report, "k1") == ["Look", "Found it"]
    assert texts_of(report) == ["Go", "", "", "Done."]
    (aside,) = [each for each in asides_of(report) if each.kind == "import.agent"]
    assert aside.value == {"line": 3, "agent": "k1", "call": "t1"}
    entries = fold_log(store_of(report), "k1").conversation.entries
    assert [entry.author for entry in entries] == [Author.agent("main"), None]
    assert take(main, root).nothing_new


def test_what_stands_beside_an_agents_file_becomes_its_saved_values(
    tmp_path: Path, root: Path
) -> None:
    main = put(tmp_path / f"{SID}.jsonl", spawning())
    folder = tmp_path / SID / "subagents"
    put(folder / "agent-k1.jsonl", kid())
    meta: Object = {"agentType": "Explore", "description": "List uses", "toolUseId": "t1"}
    put(folder / "agent-k1.meta.json", dumps(meta))

    report = take(main, root)

    saved = saved_of(report, "k1")
    assert saved[SPAWNED] == {"call": "t1", "type": "Explore"}
    assert saved[TITLE] == "List uses"
    assert saved_of(report)[CWD] == "/home/ada/tides"
    assert store_of(report).read_file(
        f"plugins/import/{SID}/subagents/agent-k1.meta.json"
    ) == dumps(meta)
    meta_times = [agent.id for agent in session_of(report).agents]
    assert meta_times == ["main", "k1"]


def test_the_last_activity_is_that_of_the_last_message_not_of_a_file(
    tmp_path: Path, root: Path
) -> None:
    main = put(tmp_path / f"{SID}.jsonl", spawning())
    put(tmp_path / SID / "subagents" / "agent-k1.jsonl", kid())
    put(tmp_path / SID / "subagents" / "agent-k1.meta.json", dumps({"agentType": "x"}))

    report = take(main, root)

    last = max(fold_log(store_of(report), log).last_t or 0 for log in ("main", "k1"))
    assert last == BASE_MS + 11_000


def test_an_agent_that_another_agent_spawned_hangs_on_that_one(tmp_path: Path, root: Path) -> None:
    main = put(tmp_path / f"{SID}.jsonl", spawning())
    folder = tmp_path / SID / "subagents"
    told: Object = {"isSidechain": True, "agentId": "k1"}
    first = kid() + lines(
        piece("k1-b", "k1-a", "k1-n", call("t5", "Task"), second=5, **told),
        result("k1-r", "k1-b", "t5", "x", 8, toolUseResult={"agentId": "k2"}, **told),
    )
    put(folder / "agent-k1.jsonl", first)
    put(folder / "agent-k2.jsonl", kid(agent="k2", at=6))
    put(folder / "agent-k3.jsonl", kid(agent="k3", at=7))
    put(folder / "agent-k3.meta.json", dumps({"toolUseId": "toolu_9"}))
    put(folder / "agent-k4.jsonl", kid(agent="k4", at=8).replace(b'"k4-m"', b'"toolu_9"'))

    report = take(main, root)

    assert agents_of(report) == [
        ("main", None),
        ("k1", "main"),
        ("k2", "k1"),
        ("k3", "k4"),
        ("k4", "main"),
    ]


def test_an_agent_inside_the_main_file_has_a_log_of_its_own(tmp_path: Path, root: Path) -> None:
    side: Object = {"isSidechain": True}
    data = lines(
        prompt("u1", None, "Go", 1),
        piece("a1", "u1", "m1", call("t1", "Task", prompt="Look"), second=2),
        prompt("11112222-s1", None, "Look", 3, **side),
        piece("s2", "11112222-s1", "m9", text("Looking"), second=4, **side),
        prompt("33334444-z1", None, "Second", 5, **side),
        piece("s3", "s2", "m8", text("Found"), second=6, **side),
        piece("s4", "33334444-z1", "m7", text("Other"), second=6, **side),
        prompt("k-u", None, "Named", 7, agentId="k7", **side),
        result("r1", "a1", "t1", "Found", 8),
    )

    report = take(put(tmp_path / f"{SID}.jsonl", data), root)

    assert texts_of(report) == ["Go", "", ""]
    assert texts_of(report, "side-11112222") == ["Look", "Looking", "Found"]
    assert texts_of(report, "side-33334444") == ["Second", "Other"]
    assert texts_of(report, "k7") == ["Named"]
    assert {parent for _, parent in agents_of(report)} == {None, "main"}


def test_an_agents_file_beside_belongs_to_the_session_that_its_records_name(
    tmp_path: Path, root: Path
) -> None:
    main = put(tmp_path / f"{SID}.jsonl", spawning())
    put(tmp_path / f"{OTHER}.jsonl", spawning().replace(SID.encode(), OTHER.encode()))
    put(tmp_path / "agent-k1.jsonl", kid())
    put(tmp_path / "agent-k2.jsonl", kid(agent="k2", session=OTHER))
    put(tmp_path / "agent-k3.jsonl", b"")

    report = take(main, root)

    assert agents_of(report) == [("main", None), ("k1", "main")]


def test_an_agents_file_without_its_session_is_a_session_that_says_so(
    tmp_path: Path, root: Path
) -> None:
    path = put(tmp_path / "agent-k1.jsonl", kid())

    report = take(path, root)

    assert report.session == f"claude-code-{SID}-agent-k1"
    assert texts_of(report) == ["Look", "Found it"]
    assert asides_of(report)[0].value == {
        "line": 1,
        "agent": "k1",
        "session": SID,
        "part_of": f"claude-code-{SID}",
    }
    assert asides_of(report)[0].kind == "import.orphan"
    assert saved_of(report)[TITLE] == "Look"
    assert take(path, root).nothing_new


def test_an_agents_file_that_is_named_brings_its_session(tmp_path: Path, root: Path) -> None:
    put(tmp_path / f"{SID}.jsonl", spawning())
    path = put(tmp_path / SID / "subagents" / "agent-k1.jsonl", kid())

    report = take(path, root)

    assert report.session == f"claude-code-{SID}"
    assert agents_of(report) == [("main", None), ("k1", "main")]


def test_an_agent_that_came_later_and_one_that_went_on_are_added(
    tmp_path: Path, root: Path
) -> None:
    main = put(tmp_path / f"{SID}.jsonl", spawning())
    take(main, root)
    path = put(tmp_path / SID / "subagents" / "agent-k1.jsonl", kid())
    second = take(main, root)
    more = piece("k1-b", "k1-a", "k1-m2", text("More"), second=20, **KID)
    put(path, path.read_bytes() + lines(more))

    third = take(main, root)

    assert (second.new, third.new) == (4, 1)
    assert texts_of(third, "k1") == ["Look", "Found it", "More"]
    assert agents_of(third) == [("main", None), ("k1", "main")]


def test_a_session_that_is_written_while_it_is_imported_ends_as_if_it_was_whole(
    tmp_path: Path, root: Path
) -> None:
    whole = spawning() + lines(piece("a3", "a2", "m2", text("Really."), second=12))
    path = tmp_path / f"{SID}.jsonl"
    records = whole.split(b"\n")
    for count in range(1, len(records)):
        put(path, b"\n".join(records[:count]) + b"\n")
        take(path, root)
    grown = take(path, root)

    fresh = take(path, root, again=True)
    assert texts_of(grown) == texts_of(fresh) == ["Go", "", "", "Done.\nReally."]


def test_hundreds_of_agents_are_no_sessions_of_their_own(tmp_path: Path, root: Path) -> None:
    project = tmp_path / "projects" / "-p"
    put(project / f"{SID}.jsonl", spawning())
    put(project / f"{OTHER}.jsonl", spawning().replace(SID.encode(), OTHER.encode()))
    for index in range(120):
        put(project / f"agent-o{index}.jsonl", kid(agent=f"o{index}"))
    for index in range(30):
        name = f"agent-n{index}.jsonl"
        put(project / OTHER / "subagents" / name, kid(agent=f"n{index}", session=OTHER))
    put(project / "agent-lost.jsonl", kid(agent="lost", session="gone"))

    found = sources_of(tmp_path)
    outcomes = list(import_paths([tmp_path], root, now_ms=NOW))

    assert [path.name for path in found] == [f"{SID}.jsonl", f"{OTHER}.jsonl", "agent-lost.jsonl"]
    reports = [outcome.report for outcome in outcomes if outcome.report is not None]
    assert [report.agents for report in reports] == [121, 31, 1]


def test_a_folder_of_agents_alone_still_brings_their_session(tmp_path: Path, root: Path) -> None:
    put(tmp_path / f"{SID}.jsonl", spawning())
    path = put(tmp_path / SID / "subagents" / "agent-k1.jsonl", kid())

    (outcome,) = import_paths([path.parent], root, now_ms=NOW)

    assert outcome.report is not None
    assert outcome.report.session == f"claude-code-{SID}"


def test_links_among_the_files_are_not_followed(tmp_path: Path, root: Path) -> None:
    main = put(tmp_path / "p" / f"{SID}.jsonl", spawning())
    secret = put(tmp_path / "secret.jsonl", kid(agent="s"))
    folder = tmp_path / "p" / SID / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-s.jsonl").symlink_to(secret)
    (folder / "more").symlink_to(tmp_path)
    (tmp_path / "p" / "agent-t.jsonl").symlink_to(secret)

    report = take(main, root)

    assert agents_of(report) == [("main", None)]


def test_a_fork_says_where_it_left_and_both_are_whole(tmp_path: Path, root: Path) -> None:
    copied = [
        prompt("u1", None, "one", 1),
        piece("a1", "u1", "m1", text("two"), second=2),
        prompt("u2", "a1", "three", 3),
        piece("a2", "u2", "m2", text("four"), second=4),
        prompt("u3", "a2", "five", 5),
    ]
    first = put(tmp_path / f"{SID}.jsonl", lines(*copied, piece("a3", "u3", "m3", text("six"))))
    own: Object = {"sessionId": OTHER}
    fork = put(
        tmp_path / f"{OTHER}.jsonl",
        lines(
            *copied,
            piece("b3", "u3", "m4", text("other"), second=7, **own),
            prompt("u4", "b3", "more", 8, **own),
        ),
    )
    original = take(first, root)

    report = take(fork, root)

    assert report.session == f"claude-code-{OTHER}"
    assert texts_of(original) == ["one", "two", "three", "four", "five", "six"]
    assert texts_of(report) == ["one", "two", "three", "four", "five", "other", "more"]
    value = saved_of(report)[FORKED_FROM]
    assert isinstance(value, dict)
    n = value.pop("n")
    assert value == {"session": f"claude-code-{SID}", "agent": "main", "at": 5}
    assert isinstance(n, int)
    (aside,) = [each for each in asides_of(report) if each.kind == "import.fork"]
    assert isinstance(aside.value, dict)
    assert aside.value["text"] == f"forked from {SID} at 5"
    assert take(fork, root).nothing_new


def test_a_fork_that_has_nothing_of_its_own_yet_can_go_on(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / f"{OTHER}.jsonl", lines(prompt("u1", None, "one", 1)))
    early = asides_of(take(path, root))
    more = prompt("u2", "u1", "two", 2, sessionId=OTHER)
    put(path, path.read_bytes() + lines(more))

    report = take(path, root)

    assert early == []
    assert [aside.kind for aside in asides_of(report)] == ["import.fork"]
    assert (report.new, texts_of(report)) == (3, ["one", "two"])


def test_a_renamed_file_is_the_session_that_its_records_name(tmp_path: Path, root: Path) -> None:
    own: Object = {"sessionId": OTHER}
    plain = put(tmp_path / "copy.jsonl", spawning())
    fork = put(tmp_path / "fork.jsonl", spawning() + lines(prompt("u9", "a2", "on", 20, **own)))

    reports = [take(plain, root), take(fork, root)]

    assert [report.session for report in reports] == [f"claude-code-{SID}", f"claude-code-{OTHER}"]
    assert FORKED_FROM in saved_of(reports[1])


def test_two_projects_in_one_folder_are_two(tmp_path: Path, root: Path) -> None:
    folder = tmp_path / "-w-foo-bar-p"
    long = "/w/" + "x" * 257
    for name, cwd in (("one", "/w/foo-bar/p"), ("two", "/w/foo/bar/p"), ("three", long)):
        put(folder / f"{name}.jsonl", lines(prompt("u", None, "Hi", cwd=cwd, sessionId=name)))

    reports = [take(path, root) for path in sorted(folder.iterdir())]

    assert [saved_of(report)[CWD] for report in reports] == ["/w/foo-bar/p", long, "/w/foo/bar/p"]


def test_a_source_of_any_damage_stays_as_it_is(tmp_path: Path, root: Path) -> None:
    project = tmp_path / "p"
    put(project / f"{SID}.jsonl", spawning() + b'{"type":"user","mess\n\x00\x00\xff\n{"type":')
    put(project / SID / "subagents" / "agent-k1.jsonl", kid()[:-40])
    put(project / SID / "subagents" / "agent-k1.meta.json", b'{"agentType"')
    before = tree_of(project)

    (outcome,) = import_paths([project], root, now_ms=NOW)

    assert outcome.report is not None
    assert tree_of(project) == before
    assert texts_of(outcome.report) == ["Go", "", "", "Done."]
    assert outcome.report.lost >= 2


def test_metadata_lines_before_the_first_message_are_looked_past(
    tmp_path: Path, root: Path
) -> None:
    head: list[bytes] = [
        dumps({"type": "permission-mode", "permissionMode": "default", "sessionId": SID}),
        dumps({"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}),
        dumps({"type": "summary", "summary": "Old talk", "leafUuid": "elsewhere"}),
    ]

    report = take(put(tmp_path / "s.jsonl", lines(*head) + spawning()), root)

    assert (report.kind, report.session) == ("claude-code", f"claude-code-{SID}")
    assert report.messages == 4


@pytest.mark.parametrize(
    ("data", "why", "torn"),
    [
        (b'{"agentType"', "", (1, 0, 12)),
        (b'{"agentType"\n', "", None),
        (b"", "empty, no description of an agent", None),
        (b"[]", "", (1, 0, 2)),
        (b'{"other": 1}\n', "no description of an agent", None),
        (b"\x00" * 20 + b"\n", "20 NUL bytes", None),
    ],
)
def test_a_damaged_description_is_told_under_its_own_name(
    tmp_path: Path,
    root: Path,
    capsys: pytest.CaptureFixture[str],
    data: bytes,
    why: str,
    torn: tuple[int, int, int] | None,
) -> None:
    main = put(tmp_path / f"{SID}.jsonl", spawning())
    put(tmp_path / SID / "subagents" / "agent-k1.jsonl", kid())
    meta = put(tmp_path / SID / "subagents" / "agent-k1.meta.json", data)

    report = take(main, root)
    details(report)

    assert texts_of(report, "k1") == ["Look", "Found it"]
    assert [path for path, _ in report.torn_ends] == ([] if torn is None else [meta])
    assert report.torn == torn
    assert [flaw.file for flaw in report.unusable] == ([meta] if torn is None else [])
    assert all(why in flaw.why for flaw in report.unusable)
    assert f"{meta}: " in capsys.readouterr().err


def test_every_file_of_a_session_that_is_cut_off_is_told(
    tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = put(tmp_path / f"{SID}.jsonl", spawning() + b'{"type":"user"')
    agent = put(tmp_path / SID / "subagents" / "agent-k1.jsonl", kid() + b"{")

    report = take(main, root)
    details(report)

    assert [path for path, _ in report.torn_ends] == [main, agent]
    told = capsys.readouterr().err
    assert f"{main}: cut off in line 5" in told
    assert f"{agent}: cut off in line 3" in told


def test_a_description_that_was_replaced_is_the_new_one(tmp_path: Path, root: Path) -> None:
    main = put(tmp_path / f"{SID}.jsonl", spawning())
    put(tmp_path / SID / "subagents" / "agent-k1.jsonl", kid())
    meta = tmp_path / SID / "subagents" / "agent-k1.meta.json"
    put(meta, dumps({"agentType": "x", "description": "Look"}))
    take(main, root)
    put(meta, dumps({"agentType": "x", "description": "Look again", "toolUseId": "t1"}))

    report = take(main, root)

    assert report.new == 2
    assert saved_of(report, "k1")[TITLE] == "Look again"
    assert saved_of(report, "k1")[SPAWNED] == {"call": "t1", "type": "x"}
    assert take(main, root).nothing_new
    assert verify(store_of(report)).findings == ()
