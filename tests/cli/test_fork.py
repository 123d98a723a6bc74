"""fork: a session, or an agent, that begins as another stood at a place at rest."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.codec import loads_object
from agentmem_cli.storage import fresh
from tests.cli.running import header, join, ok, pushed, record, run, said, texts, tree, turns, write

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object
    from tests.cli.running import Value

CALL: Object = {"type": "toolcall", "id": "c", "function": {"name": "ls", "arguments": {}}}
BLOB = f"{hashlib.sha256(b'image').hexdigest()}.png"


def _said(session: str, *words: str) -> list[str]:
    return texts(ok("show", session, "--json", *words).objects)


def _row(session: str) -> Value:
    return next(row for row in ok("list", "--json").objects if row["id"] == session)


def test_a_fork_holds_what_the_session_held(root: Path) -> None:
    write(root, "one", "main", join(turns(6)))
    before = tree(root / "one" / "logs")

    done = ok("fork", "one", "two")

    assert done.out == "two\n"
    assert done.err == "6 messages of one, up to n 6\n"
    assert _said("two") == _said("one")
    row = _row("two")
    assert row["forked_from"] == {"session": "one", "at": 6}
    assert (row["messages"], row["title"], row["problem"]) == (6, "text 1", None)
    assert tree(root / "one" / "logs") == before
    assert run("verify", "two").status == 0


def test_stamps_stay_and_the_header_is_new(root: Path) -> None:
    source = write(root, "one", "main", join(turns(4)))

    ok("fork", "one", "two")

    old = source.read_bytes().splitlines()
    new = (root / "two/logs/main.jsonl").read_bytes().splitlines()
    assert new[1:5] == old[1:5]
    assert loads_object(new[0])["lineage"] != loads_object(old[0])["lineage"]
    note = loads_object(new[5])
    assert (note["key"], note["seq"], note["n"]) == ("agentmem.forked_from", 5, 5)
    assert note["value"] == {"session": "one", "agent": "main", "n": 4, "at": 4}


@pytest.mark.parametrize(
    ("place", "count"),
    [("m5", 4), ("m4", 4), ("m3", 2), ("5", 4), ("~1", 4), ("2026-01-01T00:00:04Z", 4)],
)
def test_a_place_is_taken_back_to_where_nothing_is_owed(root: Path, place: str, count: int) -> None:
    write(root, "one", "main", join(turns(6)))

    done = ok("fork", "one", "two", "--at", place, "--json").object

    assert done["forked_from"] == {"session": "one", "at": count}
    assert len(_said("two")) == count
    assert run("verify", "two").status == 0


def test_an_open_call_and_an_owed_reply_stay_out(root: Path) -> None:
    call: Object = {"role": "assistant", "content": [CALL]}
    write(root, "one", "main", join([*turns(2), said(3, "go"), pushed(4, call), said(5, "well")]))

    done = ok("fork", "one", "two", "--json").object

    assert (done["forked_from"]["at"], done["left"]) == (2, 3)
    assert "3 messages behind the place at rest stayed out" in ok("fork", "one", "six").err


def test_nowhere_at_rest_is_not_found(root: Path) -> None:
    write(root, "one", "main", join(turns(1)))

    done = run("fork", "one", "two")

    assert done.status == 3
    assert "nowhere at rest" in done.err
    assert not (root / "two").exists()


def test_what_the_session_itself_saved_comes_along_up_to_the_place(root: Path) -> None:
    write(root, "one", "main", join(turns(6)))
    own = [
        header("session", n=7),
        record(1, "state", key="core_memory.human", value={"content": "Ada"}, n=8),
        record(2, "state", key="late", value=1, n=99),
    ]
    write(root, "one", "session", join(own))
    late = [header(), *turns(6)[1:], said(7, "more", n=20), said(8, "yes", "assistant", n=21)]
    write(root, "one", "main", join(late))

    ok("fork", "one", "two")

    assert ok("value", "list", "two", "--agent", "session", "--json").object["key"] == (
        "core_memory.human"
    )
    assert ok("core", "list", "two", "--json").objects
    assert run("verify", "two").status == 0


def test_images_come_along_and_missing_ones_are_told(root: Path) -> None:
    parts: list[Object] = [
        {"type": "image", "data": {"type": "url", "value": f"blob:{name}"}}
        for name in (BLOB, "0" * 64 + ".png")
    ]
    lines = [header(), pushed(1, {"role": "user", "content": [*parts]}), *turns(3)[2:]]
    write(root, "one", "main", join(lines))
    blob = root / "one" / "files" / "blobs" / BLOB
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"image")

    done = ok("fork", "one", "two", "--json")

    assert (root / "two" / "files" / "blobs" / BLOB).read_bytes() == b"image"
    assert done.object["blobs"] == 1
    assert done.object["missing_blobs"] == ["0" * 64 + ".png"]
    assert "1 blob that it names were missing" in done.err


def test_another_agent_is_forked_alone(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))
    aide = [
        header("aide", n=3, parent="main"),
        said(1, "sub", n=4),
        said(2, "ok", "assistant", n=5),
    ]
    write(root, "one", "aide", join(aide))

    done = ok("fork", "one", "two", "--agent", "aide", "--json").object

    assert done["agent"] == done["source_agent"] == "aide"
    assert _said("two") == ["sub", "ok"]
    assert run("verify", "two").status == 0
    assert ok("verify", "two", "--json").object["findings"] == []


def test_a_fork_can_be_an_agent_of_the_same_session(root: Path) -> None:
    write(root, "one", "main", join(turns(4)))

    done = ok("fork", "one", "--as-agent", "zed", "--at", "m3")

    assert done.out == "zed\n"
    assert _said("one", "--agent", "zed") == ["text 1", "text 2"]
    assert _said("one") == ["text 1", "text 2", "text 3", "text 4"]
    note = ok("value", "get", "one", "agentmem.forked_from", "--agent", "zed", "--json").object
    assert note["value"] == {"session": "one", "agent": "main", "n": 2, "at": 2}
    assert note["n"] == 5
    assert run("verify", "one").status == 0


def test_the_main_agent_stays_the_main_one(root: Path) -> None:
    write(root, "one", "main", join(turns(4)))

    ok("fork", "one", "--as-agent", "aaa")

    ok("append", "one", "--role", "user", stdin=b"more")
    assert len(_said("one", "--agent", "main")) == 5
    assert run("fork", "one", "--as-agent", "aaa").status == 4


def test_a_fork_without_a_name_gets_one(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))

    assert ok("fork", "one").out == "fork-one\n"
    assert ok("fork", "one").out == "fork-one-2\n"
    assert ok("fork", "on", "two").out == "two\n"


def test_labels_and_the_title_come_along(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))
    ok("meta", "label", "one", "k=v")
    ok("meta", "title", "one", "Mine")

    ok("fork", "one", "two")

    assert (_row("two")["title"], _row("two")["labels"]) == ("Mine", {"k": "v"})


def test_damage_is_refused_and_nothing_is_made(root: Path) -> None:
    write(root, "one", "main", join([*turns(4), b"junk", *turns(6)[5:]]))

    assert run("fork", "one", "two").status == 5
    assert run("fork", "one", "--as-agent", "two").status == 5
    assert not (root / "two").exists()
    assert not (root / "one/logs/two.jsonl").exists()
    assert ok("fork", "one", "two", "--at", "m3").out == "two\n"


def test_a_fork_that_fails_half_way_is_not_there(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "one", "main", join(turns(2)))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fresh, "_appear", full)

    assert run("fork", "one", "two").status == 2
    assert not (root / "two").exists()
    assert [path.name for path in root.iterdir()] == ["one"]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["one", "../two"], 2),
        (["one", "a b"], 2),
        (["one", ""], 2),
        (["one", "one"], 4),
        (["one", "two", "--as-agent", "x"], 2),
        (["one", "--as-agent", "session"], 2),
        (["one", "--as-agent", "a b"], 2),
        (["one", "two", "--at", "m99"], 3),
        (["one", "two", "--at", "soon"], 2),
        (["none", "two"], 3),
    ],
)
def test_words_that_do_not_fit(root: Path, words: list[str], status: int) -> None:
    write(root, "one", "main", join(turns(2)))

    assert run("fork", *words).status == status
    assert sorted(path.name for path in root.iterdir()) == ["one"]
