"""`core`: what comes in and what it is for, places without a block, and what is no UTF-8."""

from __future__ import annotations

import hashlib
import pickle
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import BlockNotFound
from agentmem_cli.operations.core.refusals import BlockNotThen, DescriptionTooLong
from agentmem_cli.session.codec import dumps
from tests.cli.running import header, join, ok, record, run, tree, write

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON

MOST = 1024
HALF = "a\ud800b"


@pytest.fixture(autouse=True)
def session(root: Path) -> Path:
    """A session with one block."""
    ok("new", "one")
    ok("core", "set", "one", "human", "Ada")
    return root / "one"


# -- a conflict in the editor ----------------------------------------------


def test_a_conflict_in_the_editor_is_told_in_one_sentence(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "first"
    other = f"'{sys.executable}' -m agentmem_cli --root '{root}' core set one human Bob"
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!/bin/sh\nif [ -e '{first}' ]; then echo both > \"$1\"; exit; fi\n"
        f"touch '{first}'\n{other} 2>&1\necho Eve > \"$1\"\n"
    )
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", f"'{editor}'")

    done = ok("core", "edit", "one", "human")

    told = "agentmem: both changed the same lines of 'human'; both sides are in the editor\n"
    assert told in done.err
    assert ok("core", "get", "one", "human").out == "both\n"


# -- places without a block ------------------------------------------------


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("restore", "one", "human"), "agentmem core remove SESSION human takes out one"),
        (("get", "one", "human"), "agentmem core history SESSION human shows when"),
        (("show", "one", "human"), "agentmem core history SESSION human shows when"),
        (("blame", "one", "human"), "agentmem core history SESSION human shows when"),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
def test_a_block_that_was_not_there_at_a_place_is_told_with_the_place(
    session: Path, words: tuple[str, ...], hint: str
) -> None:
    before = tree(session)

    done = run("core", *words, "--as-of", "start")

    assert done.status == 3
    assert "there was no block 'human' as of start" in done.err
    assert hint in done.err
    assert tree(session) == before


@pytest.mark.parametrize("words", [("get",), ("get", "--as-of", "now")], ids=" ".join)
def test_a_block_that_is_not_there_now_is_told_so(words: tuple[str, ...]) -> None:
    done = run("core", words[0], "one", "goals", *words[1:])

    assert done.status == 3
    assert "there is no block 'goals'" in done.err


def test_these_errors_survive_being_sent_to_another_process() -> None:
    for error in (BlockNotThen("human", "~2"), DescriptionTooLong(2, 1)):
        again = pickle.loads(pickle.dumps(error))

        assert (str(again), vars(again)) == (str(error), vars(error))
    assert isinstance(BlockNotThen("human", "~2"), BlockNotFound)


# -- what comes in ---------------------------------------------------------


@pytest.mark.parametrize("schema", ["agentmem.core-export/2", "agentmem.core/1", "", 2, None, [1]])
@pytest.mark.parametrize("blocks", [[], [{"type": "human", "content": "x"}]], ids=["none", "one"])
def test_another_schema_than_that_of_an_export_is_refused(
    session: Path, schema: JSON, blocks: JSON
) -> None:
    before = tree(session)
    data = dumps({"schema": schema, "blocks": blocks})

    done = run("core", "import", "one", stdin=data)

    assert done.status == 2
    assert "agentmem.core-export/1 is what can be read" in done.err
    assert tree(session) == before


def test_fields_that_are_not_known_are_told_and_those_of_a_block_kept(tmp_path: Path) -> None:
    data = b'{"max_byte": 4096, "blocks": [{"type": "goals", "content": "x", "foo": 1}]}'
    done = ok("core", "import", "one", stdin=data)
    folder = tmp_path / "md"
    ok("core", "export", "one", "--format", "markdown", "-o", folder)

    assert "'max_byte' is no field of an export, and was passed by" in done.err
    assert "'foo' of the block 'goals' is no field of ours, and is kept" in done.err
    assert b"\nfoo: 1\n" in (folder / "goals.md").read_bytes()
    for source in (folder, folder / "goals.md"):
        told = ok("core", "import", "one", source).err
        assert "'foo' of the block 'goals' is no field of ours, and is kept" in told


def test_what_an_export_wrote_comes_in_without_a_word(tmp_path: Path) -> None:
    ok("core", "protect", "one", "human", "--description", "who")
    written = ok("core", "export", "one").stdout
    ok("core", "export", "one", "--format", "markdown", "-o", tmp_path / "md")

    assert ok("core", "import", "one", stdin=written).err == "nothing changes\n"
    assert ok("core", "import", "one", tmp_path / "md").err == "nothing changes\n"


@pytest.mark.parametrize(
    ("front", "why"),
    [
        ("label: a\nlabel: b", "line 4: 'label' stands there already"),
        ("content: a", "the content stands behind the front matter, not in it"),
    ],
)
def test_front_matter_of_which_something_would_be_lost_is_refused(
    session: Path, front: str, why: str
) -> None:
    before = tree(session)

    done = run("core", "import", "one", stdin=f"---\ntype: human\n{front}\n---\nx".encode())

    assert done.status == 2
    assert why in done.err
    assert tree(session) == before


# -- what a block is for ---------------------------------------------------


def _given(description: str) -> bytes:
    block: JSON = {"type": "human", "content": "Ada", "description": description}
    return dumps({"blocks": [block]})


@pytest.mark.parametrize("text", ["x" * MOST, "é" * (MOST // 2)], ids=["ascii", "wide"])
@pytest.mark.parametrize("verb", ["set", "protect", "import"])
def test_a_description_has_1024_bytes_at_most(session: Path, verb: str, text: str) -> None:
    def put(description: str) -> int:
        if verb == "import":
            return run("core", "import", "one", stdin=_given(description)).status
        words = ("Ada",) if verb == "set" else ()
        told = ("--description", description)
        return run("core", verb, "one", "human", *words, *told).status

    before = tree(session)
    over = put(f"{text}x")
    after = tree(session)
    fits = put(text)

    assert (over, fits) == (6, 0)
    assert after == before
    assert ok("core", "get", "one", "human", "--json").object["description"] == text


def test_a_description_that_is_too_long_is_told_by_how_much_and_a_dry_run_says_so() -> None:
    words = ("core", "set", "one", "human", "Ada", "--description", "x" * 1025)

    assert "the description is 1025 bytes; 1024 are allowed" in run(*words).err
    assert run(*words, "--dry-run").status == 6


def test_a_longer_description_of_another_program_is_told_and_its_block_can_be_edited(
    root: Path,
) -> None:
    value: JSON = {"content": "Ada", "description": "x" * 2000, "label": "l" * 65}
    line = record(1, "state", key="core_memory.human", value=value)
    write(root, "two", "session", join([header("session"), line]))

    linted = run("core", "lint", "two", "--json")
    edited = run("core", "append", "two", "human", "x")

    assert linted.object["kind"] == "over"
    assert linted.object["shown"] == (
        "its label is 65 bytes; 64 are allowed, and its description is 2000 bytes; 1024 are allowed"
    )
    assert edited.status == 0
    assert "core_memory.human is too large" in ok("core", "list", "two").err


# -- what is no UTF-8 ------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("set", "human", "x", "--label", "a\udcff"),
        ("set", "human", "x", "--description", "a\udcff"),
        ("protect", "human", "--description", "a\udcff"),
        ("label", "human", "a\udcff"),
        ("append", "human", "a\udcff"),
        ("set", "human", "x", "--by", "a\udcff"),
        ("set", "human", "x", "--reason", "a\udcff"),
    ],
    ids=lambda words: f"{words[0]} {words[-2]}",
)
def test_an_argument_that_is_no_utf8_is_refused(session: Path, words: tuple[str, ...]) -> None:
    before = tree(session)

    done = run("core", words[0], "one", *words[1:])

    assert done.status == 2
    assert "is not UTF-8" in done.err
    assert ("standard input" in done.err) == (not words[-2].startswith("--"))
    assert tree(session) == before


def test_half_of_a_pair_stays_byte_for_byte_is_named_by_lint_and_sent_as_utf8() -> None:
    data = HALF.encode("utf-8", "surrogatepass")
    ok("core", "set", "one", "human", "-", stdin=data)

    linted = run("core", "lint", "one")
    rendered = ok("core", "render", "one").stdout

    assert (linted.status, linted.out) == (
        1,
        "human content, line 1, column 2: surrogate: U+D800\n",
    )
    assert ok("core", "get", "one", "human").stdout == data
    assert (
        rendered.decode()
        == '<core_memory>\n<block type="human">\na\ufffdb\n</block>\n</core_memory>'
    )
    assert ok("core", "render", "one", "--no-escape").stdout == rendered
    told = ok("core", "render", "one", "--json").object
    assert (told["bytes"], told["text"]) == (len(rendered), rendered.decode())
    assert told["digest"] == hashlib.sha256(rendered).hexdigest()
    assert ok("core", "list", "one", "--json").object["sent"]["bytes"] == len(rendered)


def test_half_of_a_pair_of_another_program_is_named_in_a_label_too(root: Path) -> None:
    line = record(
        1, "state", key="core_memory.human", value={"content": "\udfff\udffe", "label": "\ud800"}
    )
    write(root, "two", "session", join([header("session"), line]))

    found = run("core", "lint", "two", "--json").objects

    assert [(each["where"], each["kind"], each["shown"]) for each in found] == [
        ("label", "surrogate", "U+D800"),
        ("content", "surrogate", "U+DFFF U+DFFE"),
    ]
    assert ok("core", "render", "two").stdout.decode().count("\ufffd") == 3


# -- one of several --------------------------------------------------------


@pytest.mark.parametrize("nth", ["0", "-1"])
def test_a_count_below_one_is_a_mistake_of_the_call(session: Path, nth: str) -> None:
    before = tree(session)

    done = run("core", "replace", "one", "human", "--old", "A", "--new", "E", "--nth", nth)

    assert done.status == 2
    assert f"--nth {nth}: the first is 1" in done.err
    assert tree(session) == before
