"""`list`: what stands in the table and in JSON, filters, order, limits, narrow screens."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli.text import width
from tests.cli.running import (
    at,
    header,
    join,
    message,
    ok,
    pushed,
    record,
    run,
    said,
    texts,
    tree,
    turns,
    write,
    write_meta,
)
from tests.cli.terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Value


def _titled(root: Path, name: str, title: str, second: int = 1) -> None:
    text = title or " "
    write(root, name, "main", join([header(), said(1, text, t=at(second))]))


def _rows(*words: str) -> dict[str, Value]:
    return {row["id"]: row for row in ok("list", "--json", *words).objects}


def test_a_root_that_is_not_there_has_no_sessions(root: Path) -> None:
    done = ok("list")

    assert done.out == ""
    assert f"No sessions under {root}" in done.err
    assert ok("list", "--json").objects == []
    assert not root.exists()


def test_a_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("x")

    done = run("--root", place, "list")

    assert done.status == 2
    assert str(place) in done.err


def test_the_table_has_a_row_a_session_the_newest_first(root: Path) -> None:
    _titled(root, "old", "The old one", 1)
    _titled(root, "new", "The new one", 90)

    done = ok("list")
    lines = done.out.splitlines()

    assert lines[0].split() == ["ID", "UPDATED", "MSGS", "AGENTS", "SIZE", "TITLE"]
    assert [line.split()[0] for line in lines[1:]] == ["new", "old"]
    assert lines[1].endswith("The new one")
    assert done.err == "2 sessions\n"


def test_what_is_no_session_is_not_listed(root: Path) -> None:
    _titled(root, "one", "One")
    (root / "empty").mkdir()
    (root / ".hidden").mkdir()
    (root / "gone.rig-trash" / "logs").mkdir(parents=True)
    (root / "file").write_text("x")

    assert list(_rows()) == ["one"]


def test_json_holds_what_meta_and_logs_tell(root: Path) -> None:
    lines = turns(3)
    lines.append(record(4, "state", key="rig::model", value="acme/large"))
    lines.append(record(5, "state", key="rig::title", value="Given title"))
    lines.append(record(6, "state", key="agentmem.cwd", value="/home/ada"))
    path = write(root, "one", "main", join(lines))

    row = _rows()["one"]

    assert row == {
        "schema": "agentmem.session/1",
        "id": "one",
        "title": "Given title",
        "agents": 1,
        "messages": 3,
        "size_bytes": path.stat().st_size,
        "started": "2026-01-01T00:00:00.000Z",
        "updated": "2026-01-01T00:00:06.000Z",
        "model": "acme/large",
        "labels": {},
        "cwd": "/home/ada",
        "forked_from": None,
        "part_of": None,
        "damaged_places": 0,
        "problem": None,
        "path": str(root / "one"),
    }


def test_the_main_agents_facts_are_the_sessions(root: Path) -> None:
    write(root, "one", "boss", join([header("boss"), said(1, "from the boss")]))
    child = [header("aide", n=2, parent="boss"), said(1, "from the aide", n=3, t=at(50))]
    write(root, "one", "aide", join(child))
    write(root, "one", "session", join([header("session", n=4), record(1, "state", n=5, key="k")]))

    row = _rows()["one"]

    assert (row["title"], row["agents"], row["messages"]) == ("from the boss", 2, 1)
    assert row["updated"] == "2026-01-01T00:00:50.000Z"


def test_a_stale_meta_keeps_labels_and_its_title_and_the_logs_tell_the_rest(root: Path) -> None:
    ok("new", "one", "--title", "Chosen", "--label", "team=blue")
    write(root, "one", "main", join(turns(2)))

    row = _rows()["one"]

    assert (row["title"], row["labels"], row["messages"]) == ("Chosen", {"team": "blue"}, 2)


def test_listing_and_its_json_change_nothing(root: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"hello")
    write(root, "two", "main", join(turns(3))[:-20])
    write_meta(root, "two", b"\0" * 100)
    before = tree(root)

    ok("list")
    ok("list", "--json", "--sort", "size")

    assert tree(root) == before


@pytest.mark.parametrize(
    ("by", "order"),
    [
        ("updated", ["b", "a", "c"]),
        ("started", ["a", "b", "c"]),
        ("size", ["c", "b", "a"]),
        ("messages", ["b", "a", "c"]),
        ("title", ["c", "a", "b"]),
        ("id", ["a", "b", "c"]),
    ],
)
def test_each_order_is_kept(root: Path, by: str, order: list[str]) -> None:
    write(root, "a", "main", join([header(t=at(3)), said(1, "m", t=at(4))]))
    write(root, "b", "main", join([header(t=at(2)), said(1, "z", t=at(5)), said(2, "z", t=at(9))]))
    empty = record(1, "state", t=at(2), key="rig::title", value="a" * 300)
    write(root, "c", "main", join([header(t=at(1)), empty]))

    assert list(_rows("--sort", by)) == order


def test_an_unknown_order_names_those_there_are() -> None:
    done = run("list", "--sort", "colour")

    assert done.status == 2
    assert "updated, started, size, messages, title, id" in done.err


def test_what_an_author_without_a_kind_wrote_is_the_users_title(root: Path) -> None:
    entry: Value = {"message": message("user", "typed"), "author": {}, "id": 0}
    write(root, "one", "main", join([header(), record(1, "push", entries=[entry])]))

    assert [row["title"] for row in ok("list", "--json").objects] == ["typed"]


def test_filters_pick_by_time_model_label_title_size_and_agent(root: Path) -> None:
    ok("new", "labelled", "--label", "team=blue", "--title", "Tide tables")
    model = record(2, "state", key="rig::model", value="acme/Large-2")
    write(root, "modelled", "main", join([header(), said(1, "Moon phases"), model]))
    write(root, "big", "scout", join([header("scout"), said(1, "x" * 9_000, t=at(86_400 * 40))]))

    assert list(_rows("--label", "team=blue")) == ["labelled"]
    assert list(_rows("--label", "team")) == ["labelled"]
    assert list(_rows("--label", "team=red")) == []
    assert list(_rows("--model", "large")) == ["modelled"]
    assert list(_rows("--title", "^tide")) == ["labelled"]
    assert list(_rows("--larger", "5kB")) == ["big"]
    assert list(_rows("--agent", "sco")) == ["big"]
    assert list(_rows("--since", "2026-02-01", "--until", "2026-02-28")) == ["big"]
    assert list(_rows("--until", "2026-01-01")) == ["modelled"]


def test_filters_that_no_session_fits_list_none(root: Path) -> None:
    _titled(root, "one", "One")

    done = ok("list", "--title", "two")

    assert done.out == ""
    assert done.err == "None of 1 session fits.\n"


@pytest.mark.parametrize(
    "words",
    [
        ("--since", "whenever"),
        ("--title", "("),
        ("--larger", "big"),
        ("--label", "=x"),
        ("--older", "x"),
    ],
)
def test_a_filter_that_cannot_be_read_is_a_mistake_of_the_call(words: tuple[str, str]) -> None:
    assert run("list", *words).status == 2


def test_fifty_rows_are_printed_and_the_rest_is_counted(root: Path) -> None:
    for number in range(60):
        _titled(root, f"s{number:03}", f"Title {number}", number)

    done = ok("list")

    assert len(done.out.splitlines()) == 51
    assert "50 of 60 sessions" in done.err
    assert len(ok("list", "--limit", "0").out.splitlines()) == 61
    assert len(ok("list", "--limit", "3").out.splitlines()) == 4
    assert len(_rows()) == 60
    assert len(_rows("--limit", "3")) == 3


def test_an_older_layout_is_named_and_left_alone(root: Path) -> None:
    folder = root / "ancient"
    folder.mkdir(parents=True)
    (folder / "main.jsonl").write_bytes(join(turns(1)))
    before = tree(root)

    done = ok("list")

    assert "an older layout" in done.err
    assert _rows()["ancient"]["problem"] == "an older layout"
    assert tree(root) == before


def test_one_session_that_cannot_be_read_hides_no_other(root: Path) -> None:
    _titled(root, "one", "One")
    folder = root / "bad"
    folder.mkdir()
    (folder / "logs").symlink_to(root / "one" / "logs")
    write_meta(root, "bad", b"{")

    rows = _rows()

    assert rows["one"]["title"] == "One"
    assert rows["bad"]["agents"] == 0


def test_sessions_that_others_may_read_are_warned_about_once(root: Path) -> None:
    for name in ("a", "b"):
        _titled(root, name, name)
        (root / name).chmod(0o755)
    root.chmod(0o755)

    done = ok("list")

    assert done.err.count("other users") == 1
    assert "(and 1 more session)" in done.err
    assert ok("list", "--json").err.count("other users") == 1


def test_a_root_that_lets_nobody_in_keeps_its_sessions_from_others(root: Path) -> None:
    _titled(root, "a", "a")
    (root / "a").chmod(0o755)
    root.chmod(0o700)

    done = ok("list")

    assert "other users" not in done.err


LONG = "pi-01a0bc8e-8241-760e-ae47-f0be47e679a"


@pytest.mark.parametrize("columns", [120, 80, 60, 40, 24])
def test_a_table_fits_the_screen(root: Path, columns: int) -> None:
    for digit in "1234":
        _titled(root, f"{LONG}{digit}", "A title that is rather long and goes on and on 潮汐")
    ok("new", "labelled", "--label", "a=b")

    lines = on_terminal(["list"], columns=columns)

    assert len(lines) == 7
    if columns > 60:
        assert all(width(line) <= columns for line in lines)


@pytest.mark.parametrize("columns", [80, 60, 40])
def test_a_shortened_id_is_accepted_back(root: Path, columns: int) -> None:
    names = ["pi-0aaaaaaa-1111", "pi-0aaaaaab-1111", "pi-0bbbbbbb-2222", "pi-0bbbbbbb-2222-and-on"]
    for name in names:
        _titled(root, name, f"Title of {name}, which does not fit such a screen at all")

    lines = on_terminal(["list", "--sort", "id"], columns=columns)
    ids = [line.split()[0] for line in lines[1:-1]]

    assert all(width(line) <= columns for line in lines[:-1])
    assert len(set(ids)) == 4
    assert all("…" not in id_ for id_ in ids)
    for id_, name in zip(ids, names, strict=True):
        assert ok("show", id_, "--json").objects[0]["session"] == name


def test_a_title_has_room_at_80_columns(root: Path) -> None:
    for digit in "12":
        _titled(root, f"{digit}{LONG}", "Why is the hour doubled?")

    lines = on_terminal(["list"], columns=80)

    assert all(line.endswith("Why is the hour doubled?") for line in lines[1:3])


def test_off_a_terminal_nothing_is_cut(root: Path) -> None:
    title = "t" * 60
    _titled(root, LONG, title)

    assert LONG in ok("list").out
    assert title in ok("list").out


def test_a_row_stays_a_row_whatever_stands_in_it(root: Path) -> None:
    _titled(root, "a\nb\x1b[2J", "first\nline \x1b]0;owned\x07 \u202egnp.exe")

    done = ok("list")

    assert len(done.out.splitlines()) == 2
    assert not {"\x1b", "\x07", "\u202e", "\r"} & set(done.out + done.err)


def test_json_goes_on_one_line_a_session_in_utf_8(root: Path) -> None:
    text = "caf\u00e9 \ud83d \u202e"
    write(root, "one", "main", join([header(), pushed(1, message("user", text))]))

    done = ok("list", "--json")

    assert json.loads(done.stdout.decode())["title"] == text.strip()
    assert b"\\ud83d" in done.stdout
    assert "\u202e" not in done.out


def test_list_finds_a_session_copied_in_by_hand_and_misses_one_taken_out(root: Path) -> None:
    for name in ("one", "two"):
        ok("new", name)
        ok("append", name, "--role", "user", stdin=name.encode())
    (root / "one").rename(root / "renamed")

    rows = _rows()

    assert set(rows) == {"renamed", "two"}
    assert rows["renamed"]["title"] == "one"


@pytest.mark.parametrize(
    "option", ["--since", "--until", "--model", "--title", "--larger", "--older", "--agent"]
)
def test_an_empty_filter_is_refused(root: Path, option: str) -> None:
    _titled(root, "a", "a")

    done = run("list", option, "")

    assert done.status == 2
    assert "is empty" in done.err


def test_a_wait_that_is_no_number_is_refused(root: Path) -> None:
    _titled(root, "a", "a")

    assert run("--lock-wait", "nan", "list").status == 2


def test_many_candidates_are_cut_for_people_and_whole_in_json(root: Path) -> None:
    for number in range(30):
        _titled(root, f"same-{number:02}", "t")

    text = run("show", "same")
    told = run("show", "same", "--json")

    assert text.status == told.status == 3
    assert "and 10 more" in text.err
    assert len(json.loads(told.err)["error"]["candidates"]) == 30


def test_the_first_row_is_the_last_session(root: Path) -> None:
    def agree() -> str:
        first = ok("list", "--json").objects[0]["id"]
        assert ok("stats", "@last", "--json").objects[0]["session"] == first
        assert isinstance(first, str)
        return first

    old = write(root, "old", "main", join(turns(2)))
    write(root, "older", "main", join(turns(1)))
    os.utime(old, ns=(1, 1))
    seen = [agree()]
    ok("new", "made")
    seen.append(agree())
    ok("append", "@last", "--role", "user", stdin=b"hello")

    assert seen == ["old", "made"]
    assert texts(ok("show", "made", "--json").objects) == ["hello"]


def test_forks_are_told_apart_on_a_narrow_screen(root: Path) -> None:
    write(root, "talk", "main", join(turns(6)))
    for name, place in (("first", "m2"), ("second", "m4")):
        ok("fork", "talk", name, "--at", place)
        ok("meta", "title", name, f"{name} attempt")

    lines = on_terminal(["list"], columns=36, rows=20)

    assert any("first" in line and "[fork at 2] first" in line for line in lines)
    assert any("second" in line and "[fork at 4] second" in line for line in lines)
    assert max(map(width, lines)) <= 36
