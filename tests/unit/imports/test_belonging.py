"""Agents and forks: what stands in two sessions, and which session a file goes on in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import ConflictError
from agentmem_cli.operations.listing import row_of
from agentmem_cli.operations.verify import verify
from agentmem_cli.session.meta import SessionMeta
from tests.unit.imports import codex_building as codex
from tests.unit.imports.building import lines, put, session_of, store_of, take, texts_of, tree_of
from tests.unit.imports.claude_building import SID, call, piece, prompt, result, text

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.listing import Row
    from agentmem_cli.session.codec import JSON, Object

MAIN_NAME = f"claude-code-{SID}"
ALONE = f"{MAIN_NAME}-agent-k1"
PLACES = pytest.mark.parametrize("place", [f"{SID}/subagents", "."], ids=["new", "old"])


def main_file(folder: Path) -> Path:
    return put(
        folder / f"{SID}.jsonl",
        lines(
            prompt("u1", None, "Go", 1),
            piece("a1", "u1", "m1", call("t1", "Task"), second=2),
            result("r1", "a1", "t1", "Found it", 9, toolUseResult={"agentId": "k1"}),
        ),
    )


def kid_file(folder: Path, *more: bytes) -> Path:
    told: Object = {"isSidechain": True, "agentId": "k1"}
    first = [
        prompt("k-u", None, "Look", 3, **told),
        piece("k-a", "k-u", "k-m", text("Found it"), second=4, **told),
    ]
    return put(folder / "agent-k1.jsonl", lines(*first, *more))


def row(root: Path, name: str) -> Row:
    found = row_of(name, str(root / name))
    assert found is not None
    return found


@PLACES
def test_an_agent_that_came_first_stays_and_is_told_when_its_session_comes(
    tmp_path: Path, root: Path, place: str
) -> None:
    kid = kid_file(tmp_path / place)
    alone = take(kid, root)
    before = tree_of(alone.path)
    main = main_file(tmp_path)

    report = take(main, root)

    assert (alone.session, alone.alone) == (ALONE, ())
    assert (report.session, report.alone) == (MAIN_NAME, (ALONE,))
    assert texts_of(report, "k1") == ["Look", "Found it"]
    assert tree_of(alone.path) == before
    assert take(main, root).alone == (ALONE,)
    assert take(main, root).nothing_new


@pytest.mark.parametrize("with_meta", [True, False])
def test_an_agent_by_itself_says_whose_it_is(tmp_path: Path, root: Path, with_meta: bool) -> None:
    report = take(kid_file(tmp_path), root)
    if not with_meta:
        (report.path / "files" / "meta.json").unlink()

    assert row(root, ALONE).part_of == (MAIN_NAME, "k1")
    assert SessionMeta.read(store_of(take(main_file(tmp_path), root))).listed.get("part_of") is None


@PLACES
def test_an_agent_whose_session_was_imported_goes_on_in_it_though_its_file_is_gone(
    tmp_path: Path, root: Path, place: str
) -> None:
    kid = kid_file(tmp_path / place)
    main = main_file(tmp_path)
    take(main, root)
    main.unlink()
    again = take(kid, root)
    more = prompt("k-v", "k-a", "And there?", 20, isSidechain=True, agentId="k1")
    kid_file(tmp_path / place, more)

    report = take(kid, root)

    assert (again.session, again.nothing_new) == (MAIN_NAME, True)
    assert (report.session, report.new) == (MAIN_NAME, 1)
    assert texts_of(report, "k1") == ["Look", "Found it", "And there?"]
    assert texts_of(report) == ["Go", "", ""]
    assert [path.name for path in root.iterdir()] == [MAIN_NAME]
    assert verify(store_of(report)).problems == 0
    main_file(tmp_path)
    assert take(main, root).nothing_new


def test_an_agent_that_is_new_joins_its_session(tmp_path: Path, root: Path) -> None:
    main = main_file(tmp_path)
    take(main, root)
    main.unlink()

    report = take(kid_file(tmp_path / SID / "subagents"), root)

    assert report.session == MAIN_NAME
    agents = [(agent.id, agent.parent) for agent in session_of(report).agents]
    assert agents == [("main", None), ("k1", "main")]
    assert row(root, MAIN_NAME).messages == 3


def test_an_agent_that_is_a_session_already_goes_on_in_that_one(tmp_path: Path, root: Path) -> None:
    kid = kid_file(tmp_path / "kids")
    take(kid, root)
    take(main_file(tmp_path / "mains"), root)
    more = prompt("k-v", "k-a", "And there?", 20, isSidechain=True, agentId="k1")
    kid_file(tmp_path / "kids", more)

    report = take(kid, root)

    assert (report.session, report.new) == (ALONE, 1)


def test_again_makes_a_session_of_an_agent_of_its_own(tmp_path: Path, root: Path) -> None:
    kid = kid_file(tmp_path)
    main = main_file(tmp_path)
    take(main, root)
    main.unlink()

    assert take(kid, root, again=True).session == ALONE


def test_an_agent_does_not_bring_back_what_was_taken_out_of_its_session(
    tmp_path: Path, root: Path
) -> None:
    kid = kid_file(tmp_path)
    main = main_file(tmp_path)
    store = store_of(take(main, root))
    main.unlink()
    log = store.read_log("k1")
    head, _, rest = log.partition(b"\n")
    store.replace_log("k1", len(log), head[:-1] + b',"rewrites":[{"t":1}]}\n' + rest)

    with pytest.raises(ConflictError, match="rewritten"):
        take(kid, root)

    assert [path.name for path in root.iterdir()] == [MAIN_NAME]


def _thread(home: Path, thread: str, *more: bytes, **told: JSON) -> Path:
    return codex.rollout(home, thread, codex.meta(thread, 3, **told), *more)


SPAWNED: JSON = {"subagent": {"thread_spawn": {"parent_thread_id": codex.THREAD}}}


def test_a_thread_of_codex_is_told_and_goes_on_likewise(tmp_path: Path, root: Path) -> None:
    asked = codex.prompt(4, "Look.")
    alone = take(_thread(tmp_path / "one", codex.CHILD, asked, source=SPAWNED), root)
    parent = _thread(tmp_path / "two", codex.THREAD, codex.prompt(1, "Why?"))
    _thread(tmp_path / "two", codex.CHILD, asked, source=SPAWNED)

    report = take(parent, root)

    name = f"codex-{codex.CHILD}"
    assert (report.session, report.alone) == (f"codex-{codex.THREAD}", (name,))
    assert row(root, alone.session).part_of == (report.session, codex.CHILD)


def test_a_thread_of_codex_whose_parent_was_imported_goes_on_in_it(
    tmp_path: Path, root: Path
) -> None:
    asked = codex.prompt(4, "Look.")
    parent = _thread(tmp_path, codex.THREAD, codex.prompt(1, "Why?"))
    child = _thread(tmp_path, codex.CHILD, asked, source=SPAWNED)
    take(parent, root)
    parent.unlink()
    _thread(tmp_path, codex.CHILD, asked, codex.answer(5, "Seen."), source=SPAWNED)

    report = take(child, root)

    assert (report.session, report.new) == (f"codex-{codex.THREAD}", 1)
    assert texts_of(report, codex.CHILD) == ["Look.", "Seen."]
    assert [path.name for path in root.iterdir()] == [report.session]
