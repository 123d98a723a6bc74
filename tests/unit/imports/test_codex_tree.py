"""Threads that belong together, forks, second files of a thread, titles beside them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.imports.folders import gather, import_paths, sources_of
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.keys import FORKED_FROM, TITLE
from agentmem_cli.session.meta import SessionMeta
from tests.unit.imports.building import (
    NOW,
    asides_of,
    main_of,
    put,
    session_of,
    store_of,
    take,
    texts_of,
    tree_of,
)
from tests.unit.imports.codex_building import (
    CHILD,
    FORK,
    THREAD,
    answer,
    call,
    meta,
    prompt,
    rollout,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON

GRANDCHILD = "01900000-0000-7000-8000-00000000000d"
SPAWNED: JSON = {
    "subagent": {"thread_spawn": {"parent_thread_id": THREAD, "agent_nickname": "Fennel"}}
}


def parent(home: Path) -> Path:
    return rollout(home, THREAD, meta(), prompt(1, "Why?"), call(2, "a"), answer(9, "So."))


def child(home: Path, *, day: str = "06") -> Path:
    return rollout(
        home,
        CHILD,
        meta(CHILD, 3, source=SPAWNED),
        prompt(4, "Look."),
        answer(5, "Seen."),
        day=day,
    )


def grandchild(home: Path) -> Path:
    header = meta(GRANDCHILD, 6, parent_thread_id=CHILD, thread_source="subagent")
    return rollout(home, GRANDCHILD, header, prompt(7, "Look closer."), answer(8, "Ah."))


def test_child_threads_are_agents_of_their_parents_session(tmp_path: Path, root: Path) -> None:
    path = parent(tmp_path)
    child(tmp_path)
    grandchild(tmp_path)

    report = take(path, root)

    session = session_of(report)
    parents = {agent.id: agent.parent for agent in session.agents}
    assert parents == {"main": None, CHILD: "main", GRANDCHILD: CHILD}
    assert texts_of(report, CHILD) == ["Look.", "Seen."]
    assert texts_of(report, GRANDCHILD) == ["Look closer.", "Ah."]


def test_a_child_that_is_given_brings_its_parents_session(tmp_path: Path, root: Path) -> None:
    parent(tmp_path)
    path = grandchild(tmp_path)
    child(tmp_path)

    report = take(path, root)

    assert report.session == f"codex-{THREAD}"
    assert len(session_of(report).agents) == 3


def test_a_child_without_its_parent_is_a_session_that_names_it(tmp_path: Path, root: Path) -> None:
    report = take(child(tmp_path), root)

    assert report.session == f"codex-{CHILD}"
    assert [(each.kind, each.value) for each in asides_of(report)] == [
        (
            "import.child",
            {
                "line": 1,
                "parent": THREAD,
                "agent_nickname": "Fennel",
                "part_of": f"codex-{THREAD}",
                "agent": CHILD,
            },
        )
    ]


def test_a_link_to_a_rollout_is_that_rollout(tmp_path: Path, root: Path) -> None:
    path = parent(tmp_path / "home")
    inside, outside = path.with_name("rollout-link.jsonl"), tmp_path / "link.jsonl"
    inside.symlink_to(path.name)
    outside.symlink_to(path)

    reports = [take(each, root) for each in (outside, inside, path)]

    assert {report.session for report in reports} == {f"codex-{THREAD}"}
    assert [report.nothing_new for report in reports] == [False, True, True]


def test_threads_that_name_each_other_as_parents_are_still_read(tmp_path: Path, root: Path) -> None:
    one = rollout(tmp_path, THREAD, meta(parent_thread_id=CHILD), prompt(1, "One."))
    rollout(tmp_path, CHILD, meta(CHILD, parent_thread_id=THREAD), prompt(1, "Two."))

    reports = [each.report for each in import_paths([tmp_path], root, now_ms=NOW)]

    assert take(one, root).nothing_new
    assert [report.messages for report in reports if report is not None]


def test_of_a_folder_children_are_read_with_their_parents_only(tmp_path: Path, root: Path) -> None:
    wanted = [parent(tmp_path)]
    children = [child(tmp_path), grandchild(tmp_path)]
    put(tmp_path / "session_index.jsonl", b'{"id":"x","thread_name":"y"}\n')
    put(tmp_path / "history.jsonl", b'{"session_id":"x","ts":1,"text":"y"}\n')

    gathered = gather([tmp_path])

    assert [source.path for source in gathered.sources] == wanted
    assert sorted(gathered.parts) == sorted(children)
    assert [each.name for each in root.iterdir()] == [] if root.exists() else True


def test_a_child_whose_parent_is_archived_is_its_agent_too(tmp_path: Path, root: Path) -> None:
    path = parent(tmp_path)
    archived = tmp_path / "archived_sessions" / path.name
    archived.parent.mkdir()
    path.rename(archived)
    child(tmp_path)

    outcomes = [*import_paths([tmp_path], root, now_ms=NOW)]

    assert [each.source for each in outcomes] == [archived]
    assert outcomes[0].report is not None
    assert outcomes[0].report.agents == 2


def test_a_child_that_comes_later_is_added(tmp_path: Path, root: Path) -> None:
    path = parent(tmp_path)
    take(path, root)
    child(tmp_path)

    report = take(path, root)

    assert report.new == 4
    assert texts_of(report, CHILD) == ["Look.", "Seen."]
    assert take(path, root).nothing_new


def test_a_fork_tells_where_it_left_and_the_first_header_is_its_own(
    tmp_path: Path, root: Path
) -> None:
    copied = [prompt(1, "Why?"), call(2, "a"), answer(3, "So.")]
    take(rollout(tmp_path, THREAD, meta(), *copied, prompt(4, "More.")), root)
    later = [prompt(51, "Why?"), call(52, "a"), answer(53, "So.")]
    header = meta(FORK, 50, forked_from_id=THREAD)
    path = rollout(tmp_path, FORK, header, meta(THREAD, 50), *later, prompt(54, "Else."))

    report = take(path, root)

    main = session_of(report).main_agent()
    assert main is not None
    assert report.session == f"codex-{FORK}"
    assert texts_of(report) == ["Why?", "So.", "Else."]
    assert [(each.kind, each.value) for each in asides_of(report)] == [
        (
            "import.fork",
            {
                "line": 1,
                "parent": THREAD,
                "session": f"codex-{THREAD}",
                "at": 2,
                "records": 3,
                "text": f"forked from codex-{THREAD} at 2",
            },
        )
    ]
    assert main.saved[FORKED_FROM] == {
        "session": f"codex-{THREAD}",
        "agent": "main",
        "at": 2,
        "n": 4,
    }


def test_a_fork_whose_parent_is_gone_names_it(tmp_path: Path, root: Path) -> None:
    path = rollout(tmp_path, FORK, meta(FORK, forked_from_id=THREAD), prompt(1, "Why?"))

    report = take(path, root)

    (aside,) = asides_of(report)
    assert aside.value == {"line": 1, "parent": THREAD, "session": f"codex-{THREAD}"}


def test_of_two_files_of_a_thread_the_fuller_one_is_the_session(tmp_path: Path, root: Path) -> None:
    small = rollout(tmp_path, THREAD, meta(), prompt(1, "Why?"), day="05")
    large = rollout(tmp_path, THREAD, meta(), prompt(1, "Other?"), answer(2, "So."), day="06")

    names = {path: take(path, root).session for path in (small, large)}
    again = {path: take(path, root) for path in (large, small)}

    assert names[large] == f"codex-{THREAD}"
    assert names[small].startswith(f"codex-{THREAD}-")
    assert {path: report.session for path, report in again.items()} == names
    assert all(report.nothing_new for report in again.values())
    assert [each.kind for each in asides_of(again[small])] == ["import.duplicate"]


def test_a_rollout_that_was_moved_to_the_archive_is_known_there(tmp_path: Path, root: Path) -> None:
    path = rollout(tmp_path, THREAD, meta(), prompt(1, "Why?"))
    take(path, root)
    archived = tmp_path / "archived_sessions" / path.name
    archived.parent.mkdir()
    path.rename(archived)

    assert take(archived, root).nothing_new


def test_a_title_in_the_index_is_the_sessions_unless_it_has_one(tmp_path: Path, root: Path) -> None:
    index = dumps({"id": THREAD, "thread_name": "Old"}) + b"\n"
    index += dumps({"id": THREAD, "thread_name": "Doubled hour"}) + b"\nno json\n"
    put(tmp_path / "session_index.jsonl", index)

    report = take(parent(tmp_path), root)

    main = session_of(report).main_agent()
    assert main is not None
    assert main.saved[TITLE] == "Doubled hour"
    assert SessionMeta.read(store_of(report)).title == "Doubled hour"
    again = take(parent(tmp_path), root)
    assert again.nothing_new
    assert (report.new, report.values) == (again.known, again.values)


def test_a_title_that_the_index_gets_later_conflicts_with_nothing(
    tmp_path: Path, root: Path
) -> None:
    path = parent(tmp_path)
    take(path, root)
    put(tmp_path / "session_index.jsonl", dumps({"id": THREAD, "thread_name": "Late"}) + b"\n")
    with path.open("ab") as growing:
        growing.write(prompt(20, "More.") + b"\n")

    report = take(path, root)

    assert SessionMeta.read(store_of(report)).title == "Late"
    assert (report.titled, report.new) == (True, 1)
    assert len(main_of(report)) == 3


@pytest.mark.parametrize("name", ["rollout.jsonl", "copy of it.jsonl"])
def test_files_beside_each_other_are_a_tree_too(tmp_path: Path, root: Path, name: str) -> None:
    path = tmp_path / "a" / name
    path.parent.mkdir()
    shutil.move(parent(tmp_path), path)
    shutil.move(child(tmp_path), tmp_path / "a" / "child.jsonl")

    report = take(path, root)

    assert report.agents == 2
    assert sources_of(tmp_path / "a") == [path]


def test_an_import_of_a_tree_changes_nothing_in_it(tmp_path: Path, root: Path) -> None:
    home = tmp_path / "home"
    parent(home)
    child(home)
    rollout(home, FORK, meta(FORK, forked_from_id=THREAD), b"\x00\xff broken", prompt(1, "Why?"))
    before = tree_of(home)

    for _ in range(2):
        outcomes = [*import_paths([home], root, now_ms=NOW)]
        assert [each.error for each in outcomes] == [None, None]

    assert tree_of(home) == before
