"""`core edit`: what was saved is the wanted end state, and nothing that was written is lost."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import ok, run, tree

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.running import Done

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def session(root: Path) -> Path:
    """A session with two blocks."""
    ok("new", "one")
    ok("core", "set", "one", "human", "Ada\nlikes tea")
    ok("core", "set", "one", "facts", "a\n\tb\r\n", "--label", "list")
    return root / "one"


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make an editor of a shell script, which gets the file as ``$1``."""
    folder = tmp_path / "editor files"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)

    def make(script: str) -> None:
        program = tmp_path / "an editor"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
        monkeypatch.setenv("EDITOR", f"'{program}'")

    return make


def _get(block: str = "human") -> bytes:
    return ok("core", "get", "one", block).stdout


def _kept(done: Done) -> bytes:
    found = re.search(r"what you wrote is kept in (.*)", done.err)
    assert found is not None, done.err
    return Path(found[1]).read_bytes()


def _left(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "editor files").rglob("*")]


def test_one_block_is_edited(editor: Callable[[str], None], tmp_path: Path) -> None:
    editor('sed -i s/Ada/Eve/ "$1"; cp "$1" "$1~"')

    ok("core", "edit", "one", "human", "--by", "bob", "--reason", "name")

    told = ok("core", "get", "one", "human", "--json").object
    assert (told["content"], told["by"], told["reason"]) == ("Eve\nlikes tea", "bob", "name")
    assert _left(tmp_path) == []


def test_bytes_that_were_not_edited_stay(editor: Callable[[str], None]) -> None:
    editor('sed -i s/a/A/ "$1"')
    ok("core", "edit", "one", "facts")
    editor('sed -i s/A/B/ "$1"')
    ok("core", "edit", "one")

    told = ok("core", "get", "one", "facts", "--json").object
    assert (told["content"], told["label"]) == ("B\n\tb\r\n", "list")


def test_the_file_is_private_while_it_is_edited(
    editor: Callable[[str], None], tmp_path: Path
) -> None:
    editor(f'ls -ld "$1" "$(dirname "$1")" > "{tmp_path}/modes"')

    ok("core", "edit", "one", "human")

    modes = [line[:10] for line in (tmp_path / "modes").read_text().splitlines()]
    assert sorted(modes) == ["-rw-------", "drwx------"]


def test_all_blocks_are_one_document(editor: Callable[[str], None]) -> None:
    editor(
        r"""sed -i -e 's/Ada/Eve/' -e 's/label="list"/label="new"/' """
        r"""-e 's/^<\/core_memory>/<block type="goals">\nwin\n<\/block>\n<\/core_memory>/' "$1" """
    )

    done = ok("core", "edit", "one", "--json").object

    assert [each["type"] for each in done["blocks"]] == ["human", "facts", "goals"]
    assert (_get(), _get("goals")) == (b"Eve\nlikes tea", b"win")
    assert ok("core", "get", "one", "facts", "--json").object["label"] == "new"


def test_a_block_that_is_taken_out_of_the_document_is_removed(
    editor: Callable[[str], None],
) -> None:
    editor("""sed -i '/type="human"/,/block>/d' "$1" """)

    ok("core", "edit", "one")

    assert run("core", "get", "one", "human").status == 3
    assert _get("facts") == b"a\n\tb\r\n"


@pytest.mark.parametrize("block", [(), ("human",)])
@pytest.mark.parametrize(
    ("script", "status"), [("true", 0), ('touch "$1"', 0), ("exit 3", 2), ('rm "$1"', 2)]
)
def test_an_editor_that_saves_nothing_or_fails_changes_nothing(
    session: Path,
    editor: Callable[[str], None],
    tmp_path: Path,
    script: str,
    status: int,
    block: tuple[str, ...],
) -> None:
    editor(script)
    before = tree(session)

    done = run("core", "edit", "one", *block)

    assert done.status == status
    assert tree(session) == before
    assert _left(tmp_path) == []


@pytest.mark.parametrize("block", [(), ("human",)])
def test_an_empty_text_is_not_taken_for_the_wish(
    session: Path, editor: Callable[[str], None], block: tuple[str, ...]
) -> None:
    editor(': > "$1"')
    before = tree(session)

    done = run("core", "edit", "one", *block)

    assert done.status == 2
    assert "the editor saved an empty text" in done.err
    assert tree(session) == before


def test_half_a_document_is_refused_and_kept(session: Path, editor: Callable[[str], None]) -> None:
    editor('sed -i -e s/Ada/Eve/ -e "/likes tea/q" "$1"')
    before = tree(session)

    done = run("core", "edit", "one")

    assert done.status == 2
    assert "no core memory" in done.err
    assert b"Eve\nlikes tea" in _kept(done)
    assert tree(session) == before


def test_what_an_editor_wrote_before_it_failed_is_kept(
    session: Path, editor: Callable[[str], None]
) -> None:
    editor('echo precious >> "$1"; exit 1')
    before = tree(session)

    done = run("core", "edit", "one", "human")

    assert done.status == 2
    assert "ended with status 1" in done.err
    assert _kept(done) == b"Ada\nlikes tea\nprecious\n"
    assert tree(session) == before


@pytest.mark.parametrize("block", [(), ("human",)])
def test_what_is_too_large_is_refused_and_kept(
    session: Path, editor: Callable[[str], None], block: tuple[str, ...]
) -> None:
    editor("""sed -i "s/Ada/$(head -c 17000 /dev/zero | tr '\\0' x)/" "$1" """)
    before = tree(session)

    done = run("core", "edit", "one", *block)

    assert done.status == 6
    assert b"x" * 17000 in _kept(done)
    assert tree(session) == before


def test_an_editor_that_is_not_there_is_told(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("VISUAL", "/no/such/editor"), ("VISUAL", "'")):
        monkeypatch.setenv(name, value)
        done = run("core", "edit", "one", "human")
        assert done.status == 2
        assert "VISUAL" in done.err


def test_visual_goes_before_editor(
    editor: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    editor("exit 1")
    monkeypatch.setenv("VISUAL", "sed -i s/Ada/Eve/")

    ok("core", "edit", "one", "human")

    assert _get() == b"Eve\nlikes tea"


def test_a_block_that_is_not_there_begins_empty(
    session: Path, editor: Callable[[str], None]
) -> None:
    editor("true")
    before = tree(session)
    ok("core", "edit", "one", "goals")
    same = tree(session) == before
    editor('echo win > "$1"')
    ok("core", "edit", "one", "goals")

    assert same
    assert _get("goals") == b"win\n"


def test_a_dry_run_of_an_edit_tells_what_would_be(
    session: Path, editor: Callable[[str], None]
) -> None:
    editor('sed -i s/Ada/Augusta/ "$1"')
    before = tree(session)

    done = ok("core", "edit", "one", "human", "--dry-run")

    assert "human: 13 -> 17 bytes (+4)\n" in done.out
    assert tree(session) == before


def _other(words: str) -> str:
    """The shell's words for another change of the session, made while the editor is open."""
    return f'PYTHONPATH="{PROJECT}" "{sys.executable}" -m agentmem_cli core {words} 2>/dev/null'


def test_changes_of_others_on_other_lines_are_kept(editor: Callable[[str], None]) -> None:
    editor(f'sed -i s/Ada/Eve/ "$1"; {_other("replace one human --old tea --new coffee")}')

    ok("core", "edit", "one", "human")

    assert _get() == b"Eve\nlikes coffee"


@pytest.mark.parametrize("block", [(), ("human",)])
def test_a_conflict_opens_the_editor_again_with_both_sides(
    editor: Callable[[str], None], tmp_path: Path, block: tuple[str, ...]
) -> None:
    editor(
        f"""if [ -e "{tmp_path}/again" ]; then
    cp "$1" "{tmp_path}/both"
    sed -i -e '/^<<<<<<</d' -e '/^Mine/d' -e '/^=======/d' -e '/^>>>>>>>/d' "$1"
else
    touch "{tmp_path}/again"
    sed -i s/Ada/Mine/ "$1"
    {_other("replace one human --old Ada --new Theirs --by bob")}
fi"""
    )

    done = ok("core", "edit", "one", *block)

    assert _get() == b"Theirs\nlikes tea"
    both = (tmp_path / "both").read_bytes()
    assert b"<<<<<<< yours\nMine\n=======\nTheirs\n>>>>>>> by bob\n" in both
    assert "both sides are in the editor" in done.err
    assert _left(tmp_path) == []


@pytest.mark.parametrize("block", [(), ("human",)])
def test_both_sides_that_are_left_standing_are_not_taken(
    editor: Callable[[str], None], block: tuple[str, ...]
) -> None:
    editor(f'sed -i s/Ada/Mine/ "$1"; {_other("replace one human --old Ada --new Theirs")}; true')

    done = run("core", "edit", "one", *block)

    assert done.status == 2
    assert "both sides of a conflict still stand" in done.err
    assert _get() == b"Theirs\nlikes tea"


@pytest.mark.parametrize("block", [(), ("human",)])
def test_a_block_that_others_removed_meanwhile_is_shown_again(
    editor: Callable[[str], None], tmp_path: Path, block: tuple[str, ...]
) -> None:
    editor(
        f"""sed -i -e s/Ada/Mine/ -e '/^<<<<<<</d' -e '/^=======/d' -e '/^>>>>>>>/d' "$1"
[ -e "{tmp_path}/again" ] || {_other("remove one human")}
touch "{tmp_path}/again" """
    )

    ok("core", "edit", "one", *block)

    assert b"Mine" in _get()


def test_a_conflict_marker_in_a_text_of_its_own_is_no_conflict(
    editor: Callable[[str], None],
) -> None:
    ok("core", "set", "one", "human", "<<<<<<< yours\nx\n")
    editor('sed -i s/x/y/ "$1"')

    ok("core", "edit", "one", "human")

    assert _get() == b"<<<<<<< yours\ny\n"


def test_the_place_of_an_error_is_counted_from_the_top_of_the_document(
    editor: Callable[[str], None],
) -> None:
    editor("""sed -i 's/<block type="human"/<blok type="human"/' "$1\"""")

    done = run("core", "edit", "one")

    kept = _kept(done).decode()
    found = re.search(r"\(character ([0-9]+)\): line ([0-9]+)", done.err)
    assert found is not None
    assert kept[int(found[1]) :].startswith('<blok type="human"')
    assert kept.split("\n")[int(found[2]) - 1] == '<blok type="human">'


def test_the_other_side_in_the_editor_is_all_who_changed_it_meanwhile(
    editor: Callable[[str], None], tmp_path: Path
) -> None:
    ok("core", "set", "one", "human", "Ada\nlikes tea\nin London")
    ann = _other("replace one human --old Ada --new Theirs --by ann")
    bob = _other("replace one human --old London --new Paris --by bob")
    editor(f'cp "$1" "{tmp_path}/last"; sed -i s/Ada/Mine/ "$1"; {ann}; {bob}; true')

    run("core", "edit", "one", "human")

    assert b"Theirs\n>>>>>>> by ann, bob\n" in (tmp_path / "last").read_bytes()
