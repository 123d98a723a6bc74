"""`list --tree` and `list --project`: agents under their sessions, sessions by their folder."""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.projects import Project
from tests.cli.running import at, header, join, ok, record, run, said, write
from tests.cli.terminal import on_terminal
from tests.unit.imports import building

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON

COMPOSED = "/w/공유드라이브"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


def _agent(root: Path, session: str, log: str, *texts: str, second: int = 0, **more: JSON) -> None:
    lines = [header(log, n=second * 100, t=at(second), **more)]
    lines += [
        said(seq, text, n=second * 100 + seq, t=at(second)) for seq, text in enumerate(texts, 1)
    ]
    write(root, session, log, join(lines))


def _with_children(root: Path) -> None:
    _agent(root, "one", "main", "the question", "more")
    _agent(root, "one", "b", "for b", second=2, parent="main")
    _agent(root, "one", "a", "for a", "and on", second=1, parent="main")
    _agent(root, "one", "deep", "for deep", second=3, parent="b")


def _worked_in(root: Path, session: str, cwd: str, second: int = 1) -> None:
    state = record(2, "state", key="agentmem.cwd", value=cwd)
    write(root, session, "main", join([header(), said(1, session, t=at(second)), state]))


def _listed(*words: str) -> list[str]:
    return sorted(row["id"] for row in ok("list", "--json", *words).objects)


# -- trees ------------------------------------------------------------------


def test_agents_stand_under_their_session_and_their_parent(root: Path) -> None:
    _with_children(root)
    _agent(root, "two", "main", "alone", second=9)

    lines = ok("list", "--tree").out.splitlines()[1:]
    names = [line.split()[0] for line in lines]
    indents = [len(line) - len(line.lstrip()) for line in lines]

    assert names == ["two", "one", "main", "a", "b", "deep"]
    assert indents == [0, 0, 2, 4, 4, 6]
    assert lines[5].endswith("for deep")


def test_the_agents_column_tells_how_many_are_beside_the_main_one(root: Path) -> None:
    _with_children(root)
    _agent(root, "two", "main", "alone", second=9)

    lines = ok("list").out.splitlines()[1:]

    assert ["1+3" in line.split() for line in lines] == [False, True]


def test_json_has_the_agents_as_a_list_with_tree_only(root: Path) -> None:
    _with_children(root)

    agents = ok("list", "--json", "--tree").object["tree"]

    assert [(each["id"], each["parent"], each["children"]) for each in agents] == [
        ("main", None, 2),
        ("a", "main", 0),
        ("b", "main", 1),
        ("deep", "b", 0),
    ]
    assert [each["messages"] for each in agents] == [2, 2, 1, 1]
    assert agents[1]["title"] == "for a"
    assert "tree" not in ok("list", "--json").object


def test_a_child_whose_parent_is_gone_still_appears(root: Path) -> None:
    _agent(root, "one", "main", "the question")
    _agent(root, "one", "lost", "for nobody", second=1, parent="never")

    agents = ok("list", "--json", "--tree").object["tree"]

    assert [(each["id"], each["parent"]) for each in agents] == [("main", None), ("lost", "never")]


def test_agents_that_name_each_other_as_parent_are_all_there(root: Path) -> None:
    _agent(root, "one", "a", "x", parent="b")
    _agent(root, "one", "b", "y", second=1, parent="a")
    _agent(root, "one", "c", "z", second=2, parent="c")

    agents = ok("list", "--json", "--tree").object["tree"]

    assert sorted(each["id"] for each in agents) == ["a", "b", "c"]


def test_titles_and_names_of_agents_are_shown(root: Path) -> None:
    _agent(root, "one", "main", "the question")
    lines = [
        header("x-1f", n=5, parent="main"),
        said(1, "do it", n=6),
        record(2, "state", n=7, key="rig::title", value="Look around"),
        record(3, "state", n=8, key="agentmem.name", value="a:b"),
        record(4, "retired", n=9),
    ]
    write(root, "one", "x-1f", join(lines))

    assert ok("list", "--tree").out.splitlines()[-1].endswith("a:b: Look around (retired)")


def test_hundreds_of_children_do_not_bury_sessions(root: Path) -> None:
    for number in range(200):
        _agent(root, "one", f"agent-{number:03}", "x", second=number + 1, parent="main")
    _agent(root, "one", "main", "the question")
    _agent(root, "two", "main", "other", second=900)

    assert len(ok("list").out.splitlines()) == 3
    assert "1+200" in ok("list").out
    assert len(ok("list", "--tree").out.splitlines()) == 204


def test_a_tree_on_a_narrow_screen_keeps_to_it(root: Path) -> None:
    _with_children(root)

    shown = on_terminal(["list", "--tree"], columns=60)

    assert all(len(line) <= 60 for line in shown)
    assert any(line.strip().startswith("deep") for line in shown)


# -- projects ---------------------------------------------------------------


def test_a_project_is_a_folder_and_what_lies_below_it(root: Path) -> None:
    for name, cwd in (
        ("at", "/w/proj"),
        ("below", "/w/proj/sub/dir"),
        ("beside", "/w/proj-docker"),
        ("above", "/w"),
        ("slashed", "/w//proj/"),
    ):
        _worked_in(root, name, cwd)

    assert _listed("--project", "/w/proj") == ["at", "below", "slashed"]
    assert _listed("--project", "/w/proj/") == ["at", "below", "slashed"]


def test_a_word_is_a_whole_part_of_the_folder(root: Path) -> None:
    _worked_in(root, "a", "/w/foo-bar/p")
    _worked_in(root, "b", "/w/foo/bar/p")

    assert _listed("--project", "foo") == ["b"]
    assert _listed("--project", "foo-bar") == ["a"]
    assert _listed("--project", "p") == ["a", "b"]
    assert _listed("--project", "FOO") == []


def test_two_folders_that_one_name_stands_for_stay_two_projects(root: Path, tmp_path: Path) -> None:
    long = "/w/" + "x" * 257
    for name, cwd in (("a", "/w/foo-bar/p"), ("b", "/w/foo/bar/p"), ("c", long)):
        data = building.lines(building.header(id=name, cwd=cwd), building.user(1, "x"))
        building.put(tmp_path / "-w-foo-bar-p" / f"{name}.jsonl", data)
    ok("import", tmp_path / "-w-foo-bar-p")

    assert _listed("--project", "/w/foo-bar/p") == ["pi-a"]
    assert _listed("--project", "/w/foo/bar") == ["pi-b"]
    assert _listed("--project", long) == ["pi-c"]
    assert root.is_dir()


@pytest.mark.parametrize("asked", [COMPOSED, DECOMPOSED, COMPOSED.rpartition("/")[2]])
def test_either_spelling_of_a_folder_finds_both_and_changes_neither(root: Path, asked: str) -> None:
    _worked_in(root, "nfc", COMPOSED)
    _worked_in(root, "nfd", DECOMPOSED)

    rows = ok("list", "--json", "--project", asked, "--sort", "id").objects

    assert COMPOSED != DECOMPOSED
    assert [row["cwd"] for row in rows] == [COMPOSED, DECOMPOSED]


@pytest.mark.parametrize(
    "asked", ["C:\\w\\p", "c:/W/P", "C:/w/p/", "\\\\?\\C:\\w\\p", "c:\\w", "P"]
)
def test_folders_of_windows_are_compared_without_case_and_with_either_slash(
    root: Path, asked: str
) -> None:
    for name, cwd in (("a", "C:\\w\\p"), ("b", "c:\\w\\p"), ("c", "C:/w/p/"), ("d", "/w/q")):
        _worked_in(root, name, cwd)
    _worked_in(root, "e", "C:\\w\\pq" if asked != "c:\\w" else "D:\\w")

    assert _listed("--project", asked) == ["a", "b", "c"]


def test_a_folder_of_windows_is_none_of_unix() -> None:
    assert not Project("/c:/w").holds("C:\\w")
    assert not Project("C:\\w").holds("/c:/w")
    assert Project("\\\\host\\share").holds("\\\\HOST\\share\\x")


@pytest.mark.parametrize(
    ("asked", "cwd", "holds"),
    [
        ("/w/p", "/w/x/../p", True),
        ("/w/p", "/w/./p/", True),
        ("/w/p", "/w/p/..", False),
        ("/w/x/../p/.", "/w/p/sub", True),
        ("/w/p", "/../w/p", True),
        ("/src", "src", False),
        ("/src", "./src", False),
        ("/", "src", False),
        ("src", "./src/app", True),
        ("app", "../app", True),
        ("C:\\w\\p", "C:\\w\\x\\..\\p", True),
        ("C:\\w", "C:\\..\\w", True),
        ("D:\\w", "C:\\..\\w", False),
        ("\\\\host\\share", "\\\\host\\share\\..\\x", True),
        ("\\\\host\\share\\x", "\\\\?\\UNC\\host\\share\\x\\y", True),
        ("C:\\Caf\u00e9", "c:\\CAFE\u0301\\x", True),
        ("w\\P", "C:\\w\\p\\x", True),
        ("w\\q", "C:\\w\\p\\q", False),
        ("\\", "C:\\w", False),
        ("a\\b", "/w/a\\b", True),
        ("P", "/w/p", False),
    ],
)
def test_other_spellings_of_a_folder_are_the_same_folder(asked: str, cwd: str, holds: bool) -> None:
    assert Project(asked).holds(cwd) is holds


def test_the_home_folder_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("USERPROFILE", "/home/ada")

    assert Project("~/p").holds("/home/ada/p/sub")
    assert Project("~").holds("~/p")
    assert Project("/home/ada/p").holds("~/p")
    assert not Project("~/p").holds("/home/bob/p")


def test_a_folder_is_found_by_the_link_to_it_and_by_where_that_leads(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    _worked_in(root, "a", f"{os.path.realpath(real)}/sub")
    _worked_in(root, "b", f"{link}/sub")
    monkeypatch.chdir(tmp_path)

    assert _listed("--project", str(link)) == ["a", "b"]
    assert _listed("--project", "link/") == ["a", "b"]
    assert _listed("--project", "./real/../link/sub/") == ["a", "b"]


def test_here_is_the_current_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir()
    monkeypatch.chdir(root)
    here = os.getcwd()  # noqa: PTH109 - as a tool would have seen it
    _worked_in(root, "a", f"{here}/sub")

    assert _listed("--project", ".") == ["a"]
    assert _listed("--project", "./sub") == ["a"]
    assert _listed("--project", "..") == ["a"]


def test_a_session_without_a_folder_is_in_no_project(root: Path) -> None:
    _agent(root, "one", "main", "x")

    done = ok("list", "--project", "/")

    assert done.out == ""
    assert "None of 1 session fits." in done.err


def test_the_folder_is_shown_where_it_is_asked_for_or_there_is_room(root: Path) -> None:
    _worked_in(root, "a", "/w/proj")

    assert "PROJECT" in ok("list", "--project", "proj").out
    assert "PROJECT" not in ok("list").out
    assert any("/w/proj" in line for line in on_terminal(["list"], columns=160))
    assert not any("/w/proj" in line for line in on_terminal(["list"], columns=100))


def test_a_project_of_nothing_is_a_mistake_of_the_call(root: Path) -> None:
    assert run("list", "--project", "").status == 2
    assert not root.exists()


def test_a_filter_looks_at_all_sessions_beyond_those_that_are_shown(root: Path) -> None:
    for number in range(60):
        _worked_in(root, f"s{number:02}", "/w/p" if number else "/w/rare", second=number)

    assert ok("list").err.startswith("50 of 60 sessions")
    assert _listed("--project", "rare") == ["s00"]


# -- forks ------------------------------------------------------------------


def test_a_fork_tells_what_it_was_forked_from(root: Path, tmp_path: Path) -> None:
    lines = [building.user(number, f"text {number}", id=f"{number:08}") for number in range(1, 6)]
    building.put(tmp_path / "x_a.jsonl", building.lines(building.header(id="a"), *lines))
    fork = building.header(id="b", parentSession="/s/x_a.jsonl", timestamp=building.stamp(30))
    own = building.user(40, "otherwise", id="00000040")
    building.put(tmp_path / "x_b.jsonl", building.lines(fork, *lines, own))
    ok("import", tmp_path / "x_a.jsonl", tmp_path / "x_b.jsonl")

    rows = {row["id"]: row for row in ok("list", "--json").objects}

    assert rows["pi-b"]["forked_from"]["session"] == "pi-a"
    assert rows["pi-a"]["forked_from"] is None
    assert "(forked from pi-a" in ok("list").out
    (root / "pi-b" / "files" / "meta.json").unlink()
    assert "(forked from pi-a" in ok("list").out
