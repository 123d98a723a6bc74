"""What root makes in a folder of somebody else belongs to that one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.storage import owning
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import ok
from tests.unit.imports import building

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no owners")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of a user that is not root; where root runs this it is another one's."""
    made = tmp_path / "home"
    made.mkdir()
    if os.geteuid() == 0:
        os.chown(made, 12_345, 12_345)
    return made


def owners(folder: Path) -> set[int]:
    return {path.lstat().st_uid for path in folder.rglob("*")}


def test_what_is_made_in_a_user_s_folder_is_the_user_s(home: Path) -> None:
    store = DirStore.open(home / "sessions" / "one")
    store.append_log("a", 0, b"x\n")
    store.replace_log("a", 2, b"yy\n")
    store.write_file("plugins/p/q", b"x")
    with store.batch() as batch:
        batch.append_log("a", 3, b"z\n")
        batch.write_file("meta.json", b"{}")

    assert owners(home) == {home.stat().st_uid}


def test_so_is_what_commands_make(home: Path, tmp_path: Path) -> None:
    source = tmp_path / "source.jsonl"
    source.write_bytes(
        building.lines(building.header(), building.user(1, "one"), building.reply(2, "two"))
    )
    root = ("--root", home / "sessions")

    ok(*root, "import", source)
    ok(*root, "new", "one")
    ok(*root, "append", "one", "--role", "user", stdin=b"key 12345")
    ok(*root, "redact", "one", "--yes", "--no-rules", "--literals", "-", stdin=b"12345")

    assert owners(home) == {home.stat().st_uid}


def test_a_folder_in_which_something_stands_is_not_given_away(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = home / "new"
    (mine / "x").mkdir(parents=True)
    before = owners(home)
    monkeypatch.setattr("os.mkdir", lambda *_, **__: None)  # something is put in its place

    owning.make_folder(str(mine), 0o700)

    assert owners(home) == before
