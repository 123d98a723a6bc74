"""`agentmem rename`."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage.files import Folder
from tests.cli.running import (
    header,
    join,
    message,
    ok,
    record,
    run,
    said,
    texts,
    tree,
    turns,
    write,
)

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def agents(session: str) -> dict[str, str | None]:
    listed = ok("list", "--json", "--tree").objects
    (one,) = [each for each in listed if each["id"] == session]
    return {each["id"]: each["parent"] for each in one["tree"]}


def family(root: Path) -> None:
    """A session with an agent that another spawned, and that is named in every way."""
    author: Object = {"kind": "agent", "from": "aide"}
    entry: Object = {"message": message("user", "aide says"), "id": 1, "author": author}
    main = [header(), said(1, "x"), record(2, "push", entries=[entry])]
    write(root, "one", "main", join(main))
    write(root, "one", "aide", join([header("aide", n=3, parent="main"), said(1, "y", n=4)]))
    write(root, "one", "deep", join([header("deep", n=5, parent="aide"), said(1, "z", n=6)]))
    current = record(1, "state", n=8, key="rig::current_agent", value="aide")
    write(root, "one", "session", join([header("session", n=7), current]))


def test_a_session_is_called_otherwise_and_found_so(root: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "x")]))
    before = {name: each[3] for name, each in tree(root / "one").items()}

    done = ok("rename", "one", "two", "--json").object

    assert done["name"] == {"old": "one", "new": "two"}
    assert not (root / "one").exists()
    assert {n: e[3] for n, e in tree(root / "two").items() if e[3]} == {
        n: e for n, e in before.items() if e
    }
    assert ok("verify", "two").status == 0


def test_the_name_that_was_given_at_the_start_goes_from_the_meta(root: Path) -> None:
    id_ = ok("new", "what: a name", "--json").object["id"]

    ok("rename", id_, "plain")

    assert b"what: a name" not in (root / "plain/files/meta.json").read_bytes().replace(
        b'"title":"what: a name"', b""
    )


@pytest.mark.parametrize("new", ["two", "TWO"])
def test_a_name_that_is_taken_is_refused(root: Path, new: str) -> None:
    for name in ("one", "two"):
        write(root, name, "main", join([header(), said(1, "x")]))
    before = sorted(tree(root))

    done = run("rename", "one", new)

    assert done.status == 4
    assert sorted(name for name in tree(root) if not name.endswith(".lock")) == before


@pytest.mark.parametrize(
    "new", ["", " ", "../x", "a/b", "/tmp/x", "..", "con", "a:b", "-x", "x\ny"]
)
def test_a_name_that_is_not_safe_is_refused(root: Path, new: str) -> None:
    write(root, "one", "main", join([header(), said(1, "x")]))

    done = run("rename", "one", "--", new)

    assert done.status == 2
    assert (root / "one").is_dir()
    assert [path.name for path in root.iterdir()] == ["one"]


def test_an_imported_session_says_what_its_source_will_do(root: Path) -> None:
    ok("import", EXAMPLES / "pi-session.jsonl")

    done = ok("rename", "pi-", "mine")

    assert "importing its source again makes a new one" in done.err


def test_sessions_that_were_forked_from_it_are_told(root: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "x")]))
    fork = record(1, "state", key="agentmem.forked_from", value={"session": "one"})
    write(root, "fork", "main", join([header(), fork, said(2, "x")]))

    done = ok("rename", "one", "two")

    assert "1 session says that it was forked from one" in done.err


def test_an_agent_is_renamed_wherever_it_is_named(root: Path) -> None:
    family(root)

    done = ok("rename", "one", "--agent", "aide=helper", "--force", "--json").object

    logs = {path.stem: path.read_bytes() for path in (root / "one/logs").iterdir()}
    assert (done["agent"]["old"], done["agent"]["new"]) == ("aide", "helper")
    assert sorted(logs) == ["deep", "helper", "main", "session"]
    assert agents("one") == {"main": None, "helper": "main", "deep": "helper"}
    assert b'"log":"helper"' in logs["helper"]
    assert b'"from":"helper"' in logs["main"]
    assert b'"value":"helper"' in logs["session"]
    assert b"aide says" in logs["main"]
    assert ok("verify", "one", "--json").object["problems"] == 0


@pytest.mark.parametrize("pair", ["main=zebra", "other=aaa"])
def test_the_agent_that_is_talked_to_stays_so_whatever_an_agent_is_called(
    root: Path, pair: str
) -> None:
    write(root, "one", "main", join([header(), said(1, "x")]))
    write(root, "one", "other", join([header("other", n=2), said(1, "y", n=3)]))
    before = ok("list", "--json").object

    ok("rename", "one", "--agent", pair, "--force")

    after = ok("list", "--json").object
    assert texts(ok("show", "one", "--json").objects) == ["x"]
    assert after["messages"] == before["messages"] == 1
    assert ok("verify", "one").status == 0


def test_a_renamed_agent_is_a_new_lineage_and_says_so(root: Path) -> None:
    family(root)

    ok("rename", "one", "--agent", "aide=helper", "--force")

    first = (root / "one/logs/helper.jsonl").read_bytes().splitlines()[0]
    assert b'"lineage":7000001' not in first
    assert first.count(b'"t":') == 2
    assert b'"rewrites":[{"t":' in first


def test_an_imported_agent_is_renamed_in_its_map(root: Path) -> None:
    ok("import", EXAMPLES / "claude-code")

    ok("rename", "claude", "--agent", "c4a27=helper", "--json")

    maps = list(root.glob("*/files/plugins/import/**/*.map.jsonl"))
    assert maps
    assert all(b'"agent":"c4a27"' not in path.read_bytes() for path in maps)
    assert ok("verify").status == 0


@pytest.mark.parametrize(
    ("pair", "status", "told"),
    [
        ("aide=main", 4, "is called"),
        ("aide=MAIN", 4, "is called"),
        ("aide=aide", 4, "already"),
        ("aide=a/b", 2, "no name that every system takes"),
        ("aide=session", 2, "own log"),
        ("aide=", 2, "no OLD=NEW"),
        ("aide", 2, "no OLD=NEW"),
        ("nobody=x", 3, "no such agent"),
    ],
)
def test_an_agent_cannot_be_called_anything(root: Path, pair: str, status: int, told: str) -> None:
    family(root)
    before = {n: e for n, e in tree(root).items() if n.endswith(".jsonl")}

    done = run("rename", "one", "--agent", pair, "--force")

    assert done.status == status
    assert told in done.err
    assert {n: e for n, e in tree(root).items() if n.endswith(".jsonl")} == before


def test_the_main_agent_of_an_import_keeps_its_name(root: Path) -> None:
    ok("import", EXAMPLES / "pi-session.jsonl")

    done = run("rename", "pi-", "--agent", "main=x")

    assert done.status == 4
    assert "imports call the main agent" in done.err


def test_a_kept_source_is_renamed_with_its_map(root: Path) -> None:
    ok("import", EXAMPLES / "pi-session.jsonl")

    done = ok(
        "rename", "pi-", "--file", "import/pi-session.jsonl=import/talk.jsonl", "--json"
    ).object

    assert done["files"] == ["plugins/import/talk.jsonl", "plugins/import/talk.jsonl.map.jsonl"]
    assert (
        ok("export", "pi-", "--as", "original").stdout
        == (EXAMPLES / "pi-session.jsonl").read_bytes()
    )
    assert ok("verify").status == 0


@pytest.mark.parametrize(
    ("pair", "status"),
    [
        ("import/nothing=import/x", 3),
        ("import/pi-session.jsonl=../x", 2),
        ("import/pi-session.jsonl=/tmp/x", 2),
        ("import/pi-session.jsonl=other/x", 2),
        ("import/pi-session.jsonl.map.jsonl=import/x", 2),
        ("import/pi-session.jsonl=import/pi-session.jsonl", 4),
    ],
)
def test_a_file_cannot_be_called_anything(root: Path, pair: str, status: int) -> None:
    ok("import", EXAMPLES / "pi-session.jsonl")
    before = {name: each[3] for name, each in tree(root).items()}

    done = run("rename", "pi-", "--file", pair)

    assert done.status == status
    assert {name: each[3] for name, each in tree(root).items()} == before


def test_one_thing_is_renamed_at_a_time(root: Path) -> None:
    family(root)

    assert run("rename", "one").status == 2
    assert run("rename", "one", "two", "--agent", "aide=x").status == 2


def test_a_rename_that_is_not_durable_is_taken_back_and_names_what_it_is_about(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "one", "main", join(turns(2)))

    real = Folder.sync

    def refuse(folder: Folder) -> None:
        if folder.path == str(root):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(folder)

    monkeypatch.setattr(Folder, "sync", refuse)
    done = run("rename", "one", "two")

    assert done.status == 2
    assert str(root / "one") in done.err
    assert sorted(path.name for path in root.iterdir()) == ["one"]
    assert ok("show", "one").out
