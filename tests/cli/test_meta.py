"""meta: what a listing shows, changed by hand or made anew."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, ok, record, run, said, tree, turns, write, write_meta

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Value


def _row() -> Value:
    return ok("list", "--json").object


def test_a_title_is_saved_in_the_log_and_listed(root: Path) -> None:
    log = write(root, "one", "main", join(turns(3)))
    before = log.read_bytes()

    done = ok("meta", "title", "one", "My title", "--json").object

    assert (done["title"], done["changed"]) == ("My title", True)
    assert _row()["title"] == "My title"
    assert log.read_bytes().startswith(before)
    assert ok("value", "get", "one", "rig::title").out == '"My title"\n'
    assert ok("meta", "title", "one").out == "My title\n"
    assert run("verify", "one").status == 0


def test_a_title_that_is_taken_away_is_the_first_words_again(root: Path) -> None:
    write(root, "one", "main", join(turns(3)))
    ok("meta", "title", "one", "My title")

    ok("meta", "title", "one", "--none")

    assert _row()["title"] == "text 1"
    assert run("value", "get", "one", "rig::title").status == 3


def test_the_same_title_again_is_not_written(root: Path) -> None:
    write(root, "one", "main", join(turns(3)))
    ok("meta", "title", "one", "My title")
    before = (root / "one/logs/main.jsonl").read_bytes()

    done = ok("meta", "title", "one", "My title", "--json").object

    assert not done["changed"]
    assert (root / "one/logs/main.jsonl").read_bytes() == before


def test_a_session_without_an_agent_has_its_title_in_the_meta() -> None:
    ok("new", "one")

    ok("meta", "title", "one", "Empty yet")

    assert _row()["title"] == "Empty yet"
    ok("append", "one", "--role", "user", stdin=b"words")
    assert _row()["title"] == "Empty yet"


def test_labels_are_set_changed_and_taken_away(root: Path) -> None:
    log = write(root, "one", "main", join(turns(3)))
    before = log.read_bytes()

    ok("meta", "label", "one", "a=1", "b=2=3", "c=")
    ok("meta", "label", "one", "a=4", "--remove", "b", "--remove", "none")

    assert _row()["labels"] == {"a": "4", "c": ""}
    assert ok("meta", "label", "one").out == "a=4\nc=\n"
    assert ok("list", "--label", "a=4", "--json").object["id"] == "one"
    assert log.read_bytes() == before
    assert _row()["messages"] == 3


def test_a_meta_is_made_anew_from_the_logs_and_labels_stay(root: Path) -> None:
    model = record(4, "state", key="rig::model", value="acme/large")
    write(root, "one", "main", join([*turns(3), model]))
    write_meta(root, "one", b'{"title":"T","labels":{"k":"v"},"messages":99,"extra":[1]}')

    done = ok("meta", "refresh", "one", "--json").object

    assert (done["messages"], done["model"], done["labels"]) == (3, "acme/large", {"k": "v"})
    assert done["updated"] == "2026-01-01T00:00:04.000Z"
    assert done["changed"]
    assert _row()["damaged_places"] == 0
    assert b'"extra":[1]' in (root / "one/files/meta.json").read_bytes()
    assert not ok("meta", "refresh", "one", "--json").object["changed"]


@pytest.mark.parametrize("data", [b"\0" * 40, b"{", b'{"labels":{"k":"v"}}junk'])
def test_a_meta_that_cannot_be_read_is_set_aside(root: Path, data: bytes) -> None:
    write(root, "one", "main", join([header(), said(1, "words"), b"junk"]))
    write_meta(root, "one", data)

    looked = ok("meta", "show", "one", "--json")
    done = ok("meta", "refresh", "one", "--json")

    assert looked.object["meta_set_aside"] is None
    assert "meta.json: " in looked.err
    kept = root / "one" / "files" / done.object["meta_set_aside"]
    assert kept.read_bytes() == data
    assert (_row()["title"], _row()["damaged_places"]) == ("words", 1)
    assert ("labels, if it had any, are lost" in done.err) == (b"labels" not in data)


def test_a_look_changes_nothing_and_drives_no_terminal(root: Path) -> None:
    write(root, "one", "main", join(turns(1)))
    write_meta(root, "one", b'{"title":"\\u001b[2J\\u202e","labels":{"\\u0007":"x\\ny"}}')
    before = tree(root)

    told = [ok("meta", *words, "one").out for words in (["show"], ["title"], ["label"])]

    assert not {"\x1b", "\x07", "\u202e"} & set("".join(told))
    assert told[2].count("\n") == 1
    assert tree(root) == before


@pytest.mark.parametrize(
    "words",
    [
        ["title", "one", ""],
        ["title", "one", " \n"],
        ["title", "one", "x", "--none"],
        ["label", "one", "key"],
        ["label", "one", "=x"],
        ["label", "one", "a=1", "--remove", "a"],
        [],
        ["titel", "one"],
    ],
)
def test_words_that_do_not_fit(root: Path, words: list[str]) -> None:
    write(root, "one", "main", join(turns(1)))
    before = tree(root)

    done = run("meta", *words)

    assert done.status == 2
    assert tree(root) == before


def test_a_torn_end_is_set_aside_before_a_title(root: Path) -> None:
    write(root, "one", "main", join(turns(1)) + b"torn")

    done = ok("meta", "title", "one", "T", "--json")

    assert (root / "one" / "files" / done.object["set_aside"]).read_bytes() == b"torn"


def test_a_damaged_log_takes_no_title(root: Path) -> None:
    write(root, "one", "main", join([header(), b"junk", *turns(2)[1:]]))

    assert run("meta", "title", "one", "T").status == 5
    assert _row()["title"] == "text 1"


def test_a_title_that_is_in_the_log_is_set_though_the_meta_cannot_be_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, "one", "main", join(turns(2)))

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("agentmem_cli.operations.labelling.refresh", refuse)
    done = ok("meta", "title", "one", "Tides", "--json")
    again = run("meta", "title", "one", "Tides")

    assert (done.object["title"], done.object["changed"]) == ("Tides", True)
    assert "the meta was not written" in done.err
    assert ok("list", "--json").object["title"] == "Tides"
    assert again.status == 2  # nothing else was to be written
