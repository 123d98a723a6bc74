"""`core`: what is told is so: whose a line is, who took a block out, what to do next."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli import clock
from tests.cli.running import at, header, join, ok, record, run, tree, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Done


@pytest.fixture(autouse=True)
def session(root: Path) -> Path:
    """A session without anything in it."""
    ok("new", "one")
    return root / "one"


@pytest.fixture(autouse=True)
def _ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each command happen a second after the one before."""
    seconds = iter(range(1, 10_000))
    monkeypatch.setattr(clock, "now_ms", lambda: at(next(seconds)))


def _set(text: str, block: str = "human", *words: str) -> Done:
    return ok("core", "set", "one", block, *words, "-", stdin=text.encode())


def _wrote() -> list[tuple[str, str]]:
    lines = ok("core", "blame", "one", "human", "--json").objects
    return [(each["text"], each["by"]) for each in lines]


def _hash() -> str:
    return ok("core", "get", "one", "human", "--hash").out.strip()


# -- whose a line is -------------------------------------------------------


def test_a_last_line_without_a_newline_stays_whose_it_was_when_another_one_appends() -> None:
    _set("first\nlast", "human", "--by", "ann")
    ok("core", "append", "one", "human", "more", "--by", "bob")
    ok("core", "insert", "one", "human", "end", "--by", "cid")

    assert _wrote() == [
        ("first\n", "ann"),
        ("last\n", "ann"),
        ("more\n", "bob"),
        ("end", "cid"),
    ]


def test_who_changes_how_lines_end_has_not_written_them() -> None:
    _set("a\nb\n", "human", "--by", "ann")
    _set("a\r\nb\r\n", "human", "--by", "bob")
    _set("a\r\nB\r\n", "human", "--by", "cid")

    assert _wrote() == [("a\r\n", "ann"), ("B\r\n", "cid")]


# -- who and what a history tells ------------------------------------------


def test_a_removal_is_by_the_user_or_by_whom_its_record_names(root: Path) -> None:
    removal = record(2, "state", key="core_memory.human", value=None)
    authored = removal.replace(b'"type"', b'"by":{"kind":"agent","from":"scout"},"type"')
    lines = [
        header("session"),
        record(1, "state", key="core_memory.human", value={"content": "a"}),
        authored,
        record(3, "state", key="core_memory.human", value={"content": "b", "by": "eve"}),
        record(4, "state", key="core_memory.human", value=None),
    ]
    write(root, "one", "session", join(lines))

    told = ok("core", "history", "one", "--json").objects

    assert [each["by"] for each in told] == ["user", "eve", "scout", "user"]
    assert " - " not in ok("core", "history", "one").out.replace(" - -> ", " 0 ")


def test_a_removal_of_what_was_no_block_says_by_whom_and_why(root: Path) -> None:
    write(
        root,
        "one",
        "session",
        join([header("session"), record(1, "state", key="core_memory.human", value=7)]),
    )
    ok("core", "clear", "one", "--force", "--by", "bob", "--reason", "wrong")

    newest = ok("core", "history", "one", "--json").objects[0]

    assert (newest["action"], newest["by"], newest["reason"]) == ("removed", "bob", "wrong")


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"max_bytes": "big"}, "its max_bytes is a text, not a whole number from 4096 to 32768"),
        ({"max_bytes": 4096.5}, "its max_bytes is 4096.5, not a whole number"),
        ({"max_bytes": True}, "its max_bytes is true or false, not a whole number"),
        ({"max_bytes": 100}, "its max_bytes is 100, not a whole number from 4096 to 32768"),
        ({"bytes": 5000}, "it has no max_bytes (a whole number from 4096 to 32768)"),
        ("big", "it is a text, not an object with max_bytes"),
        ([4096], "it is an array, not an object with max_bytes"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_called_so(
    root: Path, config: object, why: str
) -> None:
    line = record(1, "state", key="core_memory.config", value=config)  # type: ignore[arg-type]
    write(root, "one", "session", join([header("session"), line]))

    listed = ok("core", "list", "one")

    assert f"core_memory.config is left out: {why}" in listed.err
    assert [each["action"] for each in ok("core", "history", "one", "--json").objects] == [
        "unreadable"
    ]


def test_a_bound_that_cannot_be_is_told_in_plain_words() -> None:
    _set("x" * 5000)

    outside = run("core", "config", "one", "--max-bytes", "5")
    below = run("core", "config", "one", "--max-bytes", "4096")

    assert "the bound of a core memory is 4096 to 32768 bytes, not 5" in outside.err
    assert "the contents have 5000 bytes, which is 904 more than a bound of 4096" in below.err
    assert "this block" not in below.err


# -- merging and matching --------------------------------------------------


def test_the_other_side_of_a_conflict_is_all_who_changed_it_since() -> None:
    _set("one\ntwo\nthree\n", "human", "--by", "eve")
    seen = _hash()
    ok("core", "replace", "one", "human", "--old", "one", "--new", "ONE", "--by", "ann")
    ok("core", "replace", "one", "human", "--old", "three", "--new", "THREE", "--by", "bob")

    done = run("core", "set", "one", "human", "1\ntwo\nthree\n", "--if-match", seen, "--merge")

    assert done.status == 4
    assert "ONE\n>>>>>>> by ann, bob\n" in done.err.replace("agentmem: ", "")


@pytest.mark.parametrize(
    "words",
    [
        ("label", "one", "human", "l"),
        ("remove", "one", "human"),
        ("protect", "one", "human"),
        ("unprotect", "one", "human"),
        ("clear", "one"),
        ("undo", "one"),
        ("config", "one", "--max-bytes", "5000"),
        ("import", "one"),
        ("edit", "one", "human"),
    ],
    ids=" ".join,
)
def test_a_verb_that_cannot_merge_does_not_hint_at_it(
    session: Path, words: tuple[str, ...]
) -> None:
    _set("a")
    before = tree(session)

    done = run("core", *words, "--if-match", "0" * 64, stdin=b'{"blocks": []}')

    assert done.status == 4
    assert "is not as it was seen" in done.err
    assert "--merge" not in done.err
    assert tree(session) == before


def test_a_verb_that_can_merge_hints_at_it() -> None:
    _set("a")

    assert "--merge" in run("core", "append", "one", "human", "b", "--if-match", "0" * 64).err


@pytest.mark.parametrize("verb", ["get", "show", "blame"])
def test_a_verb_that_looks_does_not_hint_at_force(root: Path, verb: str) -> None:
    line = record(1, "state", key="core_memory.human", value=7)
    write(root, "one", "session", join([header("session"), line]))

    done = run("core", verb, "one", "human")

    assert done.status == 5
    assert "--force" not in done.err


# -- texts -----------------------------------------------------------------


@pytest.mark.parametrize("content", ["a", "a\n", "a\nb\r\n", ""])
@pytest.mark.parametrize("words", [("append",), ("insert",)], ids=" ".join)
def test_an_empty_text_at_the_end_changes_nothing(
    session: Path, content: str, words: tuple[str, ...]
) -> None:
    _set(content)
    before = tree(session)

    done = ok("core", *words, "one", "human", "")

    assert "nothing changes" in done.err
    assert tree(session) == before


def test_an_empty_text_between_lines_is_an_empty_line() -> None:
    _set("a\nb")
    ok("core", "insert", "one", "human", "", "--line", "1")

    assert ok("core", "get", "one", "human").out == "a\n\nb"


@pytest.mark.parametrize("text", ["--- x", "---", "- item", "-x", "--no-such"])
@pytest.mark.parametrize("verb", ["set", "append", "insert", "label"])
def test_a_text_that_begins_with_a_dash_is_shown_the_way(verb: str, text: str) -> None:
    _set("")

    refused = run("core", verb, "one", "human", text)
    ok("core", verb, "one", "human", "--", text)

    assert refused.status == 2
    assert f"goes behind --, and options before it: agentmem core {verb} ... -- TEXT" in refused.err


def test_an_option_that_is_misspelt_is_still_told_as_one() -> None:
    assert "--reason" in run("core", "set", "one", "human", "x", "--resaon", "y").err


# -- damage ----------------------------------------------------------------


def _damaged(root: Path) -> None:
    lines = [
        header("session"),
        record(1, "state", key="core_memory.human", value={"content": "a"}),
        b"no record",
        record(3, "state", key="core_memory.human", value={"content": "b"}),
    ]
    write(root, "one", "session", join(lines))


@pytest.mark.parametrize(
    "words",
    [("history",), ("diff", "2"), ("list",), ("blame", "human")],
    ids=" ".join,
)
def test_damage_of_the_log_is_told_once(root: Path, words: tuple[str, ...]) -> None:
    _damaged(root)

    done = run("core", words[0], "one", *words[1:])

    assert done.err.count("line 3, byte") == 1
    assert "one/logs/session.jsonl" in done.err


def test_what_cannot_be_used_is_told_once_by_a_difference(root: Path) -> None:
    lines = [
        header("session"),
        record(1, "state", key="core_memory.human", value=7),
        record(2, "state", key="core_memory.facts", value={"content": "b"}),
    ]
    write(root, "one", "session", join(lines))

    assert run("core", "diff", "one", "2").err.count("core_memory.human is left out") == 1


# -- export ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "target"),
    [((), "none/a/b.json"), ((), "none/b.json"), (("--format", "markdown"), "none/a")],
    ids=["two folders", "one folder", "above a folder"],
)
def test_an_export_makes_no_folder_above_the_one_that_is_named(
    tmp_path: Path, words: tuple[str, ...], target: str
) -> None:
    _set("a")

    done = run("core", "export", "one", *words, "-o", tmp_path / target)

    assert done.status == 3
    assert "no such folder" in done.err
    assert not (tmp_path / "none").exists()


def test_a_folder_of_markdown_is_made_and_a_file_in_its_place_is_left(tmp_path: Path) -> None:
    _set("a")
    ok("core", "export", "one", "--format", "markdown", "-o", tmp_path / "new")
    (tmp_path / "file").write_bytes(b"mine")
    refused = run("core", "export", "one", "--format", "markdown", "-o", tmp_path / "file")

    assert [path.name for path in (tmp_path / "new").iterdir()] == ["human.md"]
    assert refused.status == 4
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_an_export_goes_into_no_session_and_over_no_link(root: Path, tmp_path: Path) -> None:
    _set("a")
    (tmp_path / "link.json").symlink_to(tmp_path / "elsewhere.json")

    inside = run("core", "export", "one", "-o", root / "one" / "x.json", "--force")
    over = run("core", "export", "one", "-o", tmp_path / "link.json", "--force")

    assert (inside.status, over.status) == (2, 4)
    assert not (root / "one" / "x.json").exists()


def test_an_export_goes_into_a_pipe() -> None:
    _set("a")
    reader, writer = os.pipe()
    try:
        ok("core", "export", "one", "-o", f"/dev/fd/{writer}")
    finally:
        os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        data = stream.read()

    assert data == ok("core", "export", "one").stdout
