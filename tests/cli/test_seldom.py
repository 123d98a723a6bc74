"""What changes a session in ways that are seldom asked for: each leaves what it should."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.codec import dumps
from tests.cli.running import header, join, ok, pushed, record, run, said, tree, turns, write
from tests.cli.talking import LONG, add, entries, start
from tests.cli.test_remap import MOVE, OLD
from tests.talks import ask, call, reply, result

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object

NEW = "/srv/proj"


def calling(arguments: Object | str) -> bytes:
    part: Object = {
        "type": "toolcall",
        "id": "c1",
        "function": {"name": "sh", "arguments": arguments},
    }
    return pushed(1, {"role": "assistant", "content": [part]})


def arguments_of(path: Path) -> object:
    value = json.loads(path.read_bytes().splitlines()[1])
    return value["entries"][0]["message"]["content"][0]["function"]["arguments"]


def test_a_path_that_is_a_key_changes_and_loses_no_other_one(root: Path) -> None:
    path = write(root, "one", "main", join([header(), calling({OLD: 1, NEW: 2, f"{OLD}/a": 3})]))

    ok("remap", MOVE, "one", "--yes", "--force")

    assert arguments_of(path) == {f"{NEW}#2": 1, NEW: 2, f"{NEW}/a": 3}


@pytest.mark.parametrize("text", ['{ls "%s"', "[ -d %s/x ]", '{"a": "%s"} && ls %s'])
def test_an_argument_that_only_begins_like_json_is_mapped_as_text(root: Path, text: str) -> None:
    path = write(root, "one", "main", join([header(), calling(text.replace("%s", OLD))]))

    ok("remap", MOVE, "one", "--yes", "--force")

    assert arguments_of(path) == text.replace("%s", NEW)


def test_what_names_a_session_is_no_path(root: Path) -> None:
    named = record(1, "state", key="agentmem.forked_from", value={"session": OLD, "agent": "main"})
    worked = record(2, "state", key="agentmem.cwd", value=OLD)
    path = write(root, "one", "main", join([header(), named, worked]))

    ok("remap", MOVE, "one", "--yes", "--force", "--everywhere")

    lines = path.read_bytes().splitlines()
    assert lines[1] == named
    assert NEW.encode() in lines[2]


def test_a_place_that_differs_by_a_halt_alone_is_restored_and_undone(root: Path) -> None:
    path = write(root, "one", "main", join([*turns(3), record(4, "halt", halt="stopped")]))
    halted = entries(root, "one")

    ok("restore", "one", "4")
    restored = ok("as-of", "one", "now", "--json").objects
    ok("undo", "one")
    undone = ok("as-of", "one", "now", "--json").objects

    assert [each["halt"] for each in restored if "halt" in each] == [None]
    assert [each["halt"] for each in undone if "halt" in each] == ["stopped"]
    assert [each[::2] for each in entries(root, "one")] == [each[::2] for each in halted]
    assert path.read_bytes().startswith(join(turns(3)))


def test_a_redo_that_is_only_tried_changes_nothing(root: Path) -> None:
    start("one", ask("go"), reply("done"), ask("and"))
    ok("undo", "one")
    ok("undo", "one")
    before = tree(root)

    tried = ok("redo", "one", "--steps", "2", "--dry-run", "--json").object
    after = tree(root)
    done = ok("redo", "one", "--steps", "2", "--json").object

    assert after == before
    assert tried["dry_run"]
    assert tried["changes"] == done["changes"]
    assert tried["messages"] == done["messages"] == 3


def test_steps_of_conversation_and_core_memory_are_redone_in_their_order(root: Path) -> None:
    start("one", ask("go"), reply("done"))
    ok("core", "set", "one", "human", "Ada")
    add("one", ask("and"))
    ok("core", "set", "one", "persona", "kind")
    before = (entries(root, "one"), ok("core", "render", "one").out)
    ok("undo", "one", "--steps", "3")
    between = (entries(root, "one"), ok("core", "render", "one").out)

    done = ok("redo", "one", "--steps", "3", "--json").object

    assert (entries(root, "one"), ok("core", "render", "one").out) == before
    assert between != before
    assert len(done["changes"]) == 3


def test_core_memory_from_before_a_reset_is_not_undone_behind_its_back(root: Path) -> None:
    value: Object = {"content": "Ada", "id": "b1", "created": 1, "modified": 1, "by": "user"}
    reset: Object = {"entries": [], "asides": [], "halt": None, "next_message": 9, "next_aside": 0}
    lines = [
        header(),
        said(1, "x"),
        record(2, "state", key="core_memory.human", value=value),
        record(3, "reset", state=reset),
    ]
    path = write(root, "one", "main", join(lines))
    before = path.read_bytes()

    done = run("undo", "one")

    assert done.status == 3
    assert "a reset" in done.err
    assert path.read_bytes() == before


def test_no_command_for_a_summary_is_run_where_nothing_can_go(root: Path, tmp_path: Path) -> None:
    start("one", ask("go"))
    before = tree(root)

    done = ok("compact", "one", "--summarizer", f"touch {tmp_path}/ran", "--json")

    assert not (tmp_path / "ran").exists()
    assert tree(root) == before
    assert done.object["replaced"] == []


def test_a_fork_of_a_session_with_a_bad_meta_has_no_labels_and_is_whole(root: Path) -> None:
    start("one", ask("go"), call("a"), result("a", LONG), reply("done"))
    meta = root / "one" / "files" / "meta.json"
    meta.write_bytes(b"{")

    ok("fork", "one", "two")

    assert entries(root, "two") == entries(root, "one")
    assert ok("verify", "two").status == 0
    assert meta.read_bytes() == b"{"


def test_a_fork_works_in_the_folder_of_what_it_was_forked_from(root: Path) -> None:
    start("one", ask("go"), reply("done"))
    path = root / "one" / "files" / "meta.json"
    meta = json.loads(path.read_bytes())
    path.write_bytes(dumps({**meta, "listed": {**meta["listed"], "cwd": "/srv/tides"}}))

    ok("fork", "one", "two")

    told = json.loads((root / "two" / "files" / "meta.json").read_bytes())
    assert told["listed"]["cwd"] == "/srv/tides"


def test_names_of_forks_that_run_out_are_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start("one", ask("go"), reply("done"))
    monkeypatch.setattr("agentmem_cli.operations.forking._NAMES_MAX", 3)
    ok("fork", "one")
    ok("fork", "one")

    done = run("fork", "one")

    assert done.status == 4
    assert "too many forks" in done.err


@pytest.mark.parametrize("expression", ["a{99999999999}", "(" * 5000 + ")" * 5000])
def test_an_expression_that_is_too_much_for_anybody_is_told_by_its_line(
    root: Path, expression: str
) -> None:
    path = write(root, "one", "main", join(turns(2)))
    before = path.read_bytes()

    pairs = f"x ==> y\nregex:{expression} ==> b\n".encode()
    done = run("rewrite", "--replace-file", "-", "one", "--yes", "--force", stdin=pairs)

    assert done.status == 2
    assert "line 2: no regular expression" in done.err
    assert path.read_bytes() == before
