"""`core export` and `core import`: round trips, and files that do not read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.operations.core.exchange import (
    read_json,
    read_markdown,
    read_text,
    to_markdown,
    to_object,
)
from agentmem_cli.session.codec import dumps, loads
from agentmem_cli.session.core_memory import MemoryBlock, MemoryBlockId, MemoryBlockType
from agentmem_cli.session.core_values import CoreValues, StoredBlock
from tests.cli.running import ok, run, tree

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object
    from tests.cli.running import Value

TEXT = st.text(st.characters(), max_size=30) | st.text(
    st.sampled_from("-\n\r\t:#'\"~ \0\ud800é{["), max_size=12
)
SHORT = TEXT.filter(lambda text: len(text.encode("utf-8", "surrogatepass")) <= 64)
KEPT = ("type", "label", "content", "id", "created", "by", "reason", "read_only", "description")


@st.composite
def blocks(draw: st.DrawFn) -> StoredBlock:
    block = MemoryBlock(
        MemoryBlockId(int=draw(st.integers(1, 2**128 - 1))),
        draw(st.sampled_from(list(MemoryBlockType))),
        draw(st.none() | SHORT),
        draw(TEXT),
        draw(st.integers(0, 2**40)),
        draw(st.integers(0, 2**40)),
    )
    return StoredBlock(
        block,
        draw(TEXT.filter(bool)),
        draw(st.none() | TEXT),
        None,
        draw(st.booleans()),
        draw(st.none() | TEXT),
    )


@given(blocks())
def test_a_markdown_file_gives_its_block_back(stored: StoredBlock) -> None:
    data = to_markdown(stored)

    assert read_markdown(data, "x.md", None) == stored
    assert data.endswith(b"---\n" + stored.content.encode("utf-8", "surrogatepass"))


@given(st.lists(blocks(), unique_by=lambda each: each.block.block_type))
def test_json_gives_its_blocks_back(made: list[StoredBlock]) -> None:
    saved = {f"core_memory.{each.block.block_type}": each.to_value() for each in made}
    values = CoreValues.of({**saved})

    given_back = read_json(loads(dumps(to_object(values))), "x.json")

    assert given_back.blocks == values.blocks
    assert given_back.max_bytes == 32768


@pytest.fixture(autouse=True)
def session(root: Path) -> Path:
    """A session with three blocks, and an empty one."""
    for name in ("one", "two"):
        ok("new", name)
    ok("core", "set", "one", "human", "-", "--label", "who", stdin=b"a\r\n\tb\0\nno end")
    text = b"---\ntype: goals\n---\n"
    ok("core", "set", "one", "facts", "--by", "bob", "--reason", "a: b", stdin=text)
    ok("core", "set", "one", "goals", "", "--description", "what for")
    ok("core", "protect", "one", "goals")
    return root / "one"


def _kept(session: str) -> list[Value]:
    told = ok("core", "show", session, "--json").objects
    return [{name: block[name] for name in KEPT} for block in told]


def test_json_goes_out_and_into_another_session(tmp_path: Path) -> None:
    ok("core", "config", "one", "--max-bytes", "5000")
    ok("core", "export", "one", "-o", tmp_path / "core.json")
    ok("core", "import", "two", tmp_path / "core.json")

    assert _kept("two") == _kept("one")
    assert ok("core", "render", "two").stdout == ok("core", "render", "one").stdout
    assert ok("core", "config", "two").out == "max_bytes 5000\n"
    assert ok("core", "import", "one", tmp_path / "core.json").err == "nothing changes\n"


def test_a_folder_of_markdown_goes_out_and_into_another_session(tmp_path: Path) -> None:
    done = ok("core", "export", "one", "--format", "markdown", "-o", tmp_path / "blocks", "--json")
    ok("core", "import", "two", tmp_path / "blocks")

    names = sorted(path.name for path in (tmp_path / "blocks").iterdir())
    assert names == ["facts.md", "goals.md", "human.md"]
    assert [each["bytes"] for each in done.objects] == [
        (tmp_path / "blocks" / name).stat().st_size for name in ("human.md", "facts.md", "goals.md")
    ]
    assert _kept("two") == _kept("one")


def test_what_a_model_sees_can_be_taken_in() -> None:
    text = ok("core", "render", "one").stdout
    ok("core", "import", "two", stdin=text)

    assert ok("core", "render", "two").stdout == text


def test_an_import_is_one_change_that_is_undone_as_one(session: Path) -> None:
    data = ok("core", "export", "one").stdout
    ok("core", "import", "two", stdin=data)

    history = ok("core", "history", "two", "--json").objects

    assert len({each["n"] for each in history}) == 1
    assert len(history) == 3


def test_blocks_that_are_not_in_it_stay_unless_only_is_given() -> None:
    ok("core", "unprotect", "one", "goals")
    given = dumps({"blocks": [{"type": "human", "content": "x"}]})
    ok("core", "import", "one", stdin=given)
    first = [block["type"] for block in _kept("one")]
    ok("core", "import", "one", "--only", stdin=given)

    assert first == ["human", "facts", "goals"]
    assert [block["type"] for block in _kept("one")] == ["human"]


def test_a_block_that_is_there_keeps_its_identity() -> None:
    before = _kept("one")[0]
    fresh: Object = {"type": "human", "content": "y", "id": "00000000-0000-4000-8000-00000000000a"}
    ok("core", "import", "one", stdin=dumps({"blocks": [fresh]}))

    assert (_kept("one")[0]["id"], _kept("one")[0]["created"]) == (before["id"], before["created"])


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "neither JSON"),
        (b"{", "neither JSON"),
        (b"[]", "no object with blocks"),
        (b'{"blocks": {}}', "no object with blocks"),
        (b'{"blocks": [1]}', "block 1: no object with a type"),
        (b'{"blocks": [{"content": "x"}]}', "block 1: no object with a type"),
        (b'{"blocks": [{"type": "plans", "content": "x"}]}', "no type of a block"),
        (b'{"blocks": [{"type": "human"}]}', "no content"),
        (b'{"blocks": [{"type": "human", "content": "x", "id": 1}]}', "not a UUID"),
        (b'{"max_bytes": 1, "blocks": []}', "max_bytes is 1"),
        (
            b'{"blocks": [{"type": "human", "content": "x"}, {"type": "HUMAN", "content": "y"}]}',
            "block 2: there is a block 'human' already",
        ),
        (b"---\ntype: human\n", "does not end"),
        (b"---\nhuman\n---\nx", "line 2: no 'name: value'"),
        (b'---\ntype: "human\n---\nx', "line 2: the value does not read"),
        (b"---\nlabel: x\n---\nx", "says no type"),
        (b"<core_memory>\n<block", "no core memory"),
        (b"\xff", "byte 0 is not UTF-8"),
    ],
)
def test_what_does_not_read_is_told_and_changes_nothing(
    session: Path, data: bytes, told: str
) -> None:
    before = tree(session)

    done = run("core", "import", "one", stdin=data)

    assert done.status == 2
    assert told in done.err
    assert tree(session) == before


def test_all_blocks_of_an_import_fit_or_none_is_taken(session: Path) -> None:
    ok("core", "config", "two", "--max-bytes", "4096")
    given = dumps(
        {"blocks": [{"type": name, "content": "x" * 2100} for name in ("human", "facts")]}
    )
    before = tree(session.parent / "two")

    done = run("core", "import", "two", stdin=given)

    assert done.status == 6
    assert "104 too many" in done.err
    assert tree(session.parent / "two") == before


def test_blocks_that_trade_their_sizes_fit_together() -> None:
    ok("core", "config", "two", "--max-bytes", "4096")
    ok("core", "set", "two", "human", "x" * 4000)

    given = dumps(
        {
            "blocks": [
                {"type": "system", "content": "x" * 4000},
                {"type": "human", "content": "y"},
            ]
        }
    )
    ok("core", "import", "two", stdin=given)

    assert ok("core", "list", "two", "--json").object["used_bytes"] == 4001


def test_markdown_by_hand_is_read(tmp_path: Path) -> None:
    (tmp_path / "human.md").write_bytes(b"no front matter\r\n")
    (tmp_path / "Notes.md").write_bytes(
        b"---\r\n# a comment\r\ntype: facts\r\nlabel: it's\r\n---\r\nx\r\n"
    )
    (tmp_path / "README.md").write_bytes(b"about this folder\n")
    (tmp_path / "goals.txt").write_bytes(b"not looked at")

    done = ok("core", "import", "two", tmp_path)

    assert [(each["type"], each["label"], each["content"]) for each in _kept("two")] == [
        ("human", None, "no front matter\r\n"),
        ("facts", "it's", "x\r\n"),
    ]
    assert "README.md is no block" in done.err


def test_one_markdown_file_is_taken_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "persona.md").write_bytes(b"Be kind.")
    ok("core", "import", "two", tmp_path / "persona.md")

    assert ok("core", "get", "two", "persona").out == "Be kind."


def test_two_files_of_one_type_are_refused(tmp_path: Path) -> None:
    (tmp_path / "human.md").write_bytes(b"a")
    (tmp_path / "other.md").write_bytes(b"---\ntype: human\n---\nb")

    assert run("core", "import", "two", tmp_path).status == 2
    assert run("core", "import", "two", tmp_path / "none.json").status == 3


def test_files_that_are_there_are_left_unless_it_is_forced(tmp_path: Path) -> None:
    (tmp_path / "facts.md").write_bytes(b"mine")
    words = ("core", "export", "one", "--format", "markdown", "-o", tmp_path)

    done = run(*words)
    left = sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".md")
    ok(*words, "--force")

    assert done.status == 4
    assert left == ["facts.md"]
    assert (tmp_path / "facts.md").read_bytes() != b"mine"
    assert (tmp_path / "human.md").stat().st_mode & 0o077 == 0
    assert run("core", "export", "one", "--format", "markdown").status == 2
    assert run("core", "export", "one", "--format", "yaml").status == 2


def test_what_is_exported_is_json_by_its_schema() -> None:
    told = json.loads(ok("core", "export", "one").stdout)

    assert told["schema"] == "agentmem.core-export/1"
    assert [each["type"] for each in told["blocks"]] == ["human", "facts", "goals"]
    assert read_text(dumps(told), "x").max_bytes == 32768
