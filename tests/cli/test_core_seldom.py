"""`core` where both sides change more than lines, and where what stands there is not as it was."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from agentmem_cli.operations.core import changing
from tests.cli.running import header, join, ok, record, run, tree, turns, write
from tests.cli.test_core_edit import PROJECT, _get, _kept

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.session.codec import Object


@pytest.fixture(autouse=True)
def session(root: Path) -> Path:
    """A session with two blocks."""
    ok("new", "one")
    ok("core", "set", "one", "human", "Ada\nlikes tea")
    ok("core", "set", "one", "facts", "a", "--label", "list")
    return root / "one"


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make an editor of a shell script, which gets the file as ``$1``."""

    def make(script: str) -> None:
        program = tmp_path / "editor"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
        monkeypatch.setenv("EDITOR", str(program))

    return make


def _others(*commands: str) -> str:
    """The shell's words for changes of the session by others, made in one process."""
    calls = "; ".join(f"main(['core',*{each.split('/')!r}])" for each in commands)
    code = f"from agentmem_cli._entry import main; {calls}"
    return f'PYTHONPATH="{PROJECT}" "{sys.executable}" -c "{code}" >/dev/null 2>&1'


def _label(block: str = "facts") -> str | None:
    for each in ok("core", "show", "one", "--json").objects:
        if each.get("type") == block:
            label: str | None = each["label"]
            return label
    raise AssertionError(block)


def test_a_label_of_ours_and_a_text_of_theirs_come_together(
    editor: Callable[[str], None],
) -> None:
    others = _others("set/one/facts/b/--label/list")
    editor(f'sed -i s/list/mine/ "$1"; {others}')

    ok("core", "edit", "one")

    assert (_get("facts"), _label()) == (b"b", "mine")


def test_two_labels_at_once_are_no_label_that_nobody_chose(
    editor: Callable[[str], None], tmp_path: Path
) -> None:
    others = _others("label/one/facts/theirs")
    editor(
        f"""if [ -e "{tmp_path}/again" ]; then cp "$1" "{tmp_path}/shown"; exit 1; fi
touch "{tmp_path}/again"
sed -i s/list/mine/ "$1"; {others}"""
    )

    done = run("core", "edit", "one")

    assert done.status != 0
    assert "label" in done.err
    assert _label() == "theirs"
    assert b'label="theirs"' in (tmp_path / "shown").read_bytes()


def test_in_the_second_editor_other_blocks_are_as_others_left_them(
    editor: Callable[[str], None], tmp_path: Path
) -> None:
    others = _others("replace/one/human/--old/Ada/--new/Theirs", "set/one/facts/theirs")
    editor(
        f"""if [ -e "{tmp_path}/again" ]; then
    cp "$1" "{tmp_path}/shown"
    sed -i -e '/^<<<<<<</d' -e '/^Mine/d' -e '/^=======/d' -e '/^>>>>>>>/d' "$1"
    exit
fi
touch "{tmp_path}/again"
sed -i s/Ada/Mine/ "$1"; {others}"""
    )

    ok("core", "edit", "one")

    assert b">theirs</block>" in (tmp_path / "shown").read_bytes().replace(b"\n", b"")
    assert (_get(), _get("facts")) == (b"Theirs\nlikes tea", b"theirs")


def test_a_word_before_the_document_is_refused_and_kept(
    session: Path, editor: Callable[[str], None]
) -> None:
    editor('sed -i "1i note to myself" "$1"')
    before = tree(session)

    done = run("core", "edit", "one")

    assert done.status == 2
    assert "line 1" in done.err
    assert _kept(done).startswith(b"note to myself\n")
    assert tree(session) == before


def test_a_change_is_made_though_the_meta_cannot_be_written(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agentmem_cli.operations.metas.refresh", refuse)
    monkeypatch.setattr(changing, "refresh", refuse, raising=False)

    done = ok("core", "set", "one", "human", "Eve")

    assert _get() == b"Eve"
    assert "No space left on device" in done.err
    assert (session / "files" / "meta.json").exists()


@pytest.mark.parametrize(
    ("words", "label"), [("~", None), ("", None), ("'it''s'", "it's"), ("plain", "plain")]
)
def test_a_label_in_front_of_markdown_is_read_as_it_is_written_there(
    tmp_path: Path, words: str, label: str | None
) -> None:
    folder = tmp_path / "blocks"
    folder.mkdir()
    (folder / "human.md").write_text(f"---\nlabel: {words}\n---\nEve\n")

    ok("core", "import", "one", str(folder))

    assert _label("human") == label
    assert _get().strip() == b"Eve"


def test_a_folder_without_a_block_changes_nothing(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "blocks"
    folder.mkdir()
    (folder / "notes.txt").write_text("Eve")
    before = tree(session)

    done = run("core", "import", "one", str(folder))

    assert done.status == 2
    assert "no Markdown file of a block is in it" in done.err
    assert tree(session) == before


def _block(content: str) -> Object:
    return {"content": content, "id": str(UUID(int=1)), "created": 1, "modified": 1, "by": "user"}


def test_more_than_core_memory_may_hold_is_named(root: Path) -> None:
    names = ("system", "persona", "human")
    lines = [header("session")]
    lines += [
        record(seq, "state", key=f"core_memory.{name}", value=_block("x" * 4000))
        for seq, name in enumerate(names, 1)
    ]
    lines.append(record(4, "state", key="core_memory.config", value={"max_bytes": 4096}))
    write(root, "two", "session", join(lines))

    done = run("core", "lint", "two", "--json")

    assert "the contents are 7904 bytes more than 4096" in done.out
    assert done.status == 1


def test_an_undo_goes_on_behind_a_configuration_that_is_a_number_alone(
    root: Path,
) -> None:
    lines = [header("session"), record(1, "state", key="core_memory.config", value=8192)]
    path = write(root, "two", "session", join(lines))

    ok("core", "config", "two", "--max-bytes", "4096", "--reason", "less")
    undone = ok("core", "undo", "two", "--by", "bob")
    again = ok("core", "undo", "two")

    values = [json.loads(line).get("value") for line in path.read_bytes().splitlines()[1:]]
    assert values[:4] == [
        8192,
        {"max_bytes": 4096, "reason": "less"},
        {"max_bytes": 4096, "by": "bob", "undoes": 2},
        8192,
    ]
    assert "room for 8,192 more" in undone.err
    assert "bound: 8,192 -> 32,768 bytes" in again.err
    assert values[-1] is None
    assert run("core", "undo", "two").status == 3


def test_a_place_in_a_log_that_is_not_there_yet_is_none(root: Path) -> None:
    write(root, "two", "main", join(turns(2)))

    done = run("core", "list", "two", "--as-of", "~1")

    assert done.status == 3
    assert "has no records yet" in done.err
