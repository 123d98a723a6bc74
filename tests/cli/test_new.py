"""`new`: names that are safe on every system, labels, and nothing made outside the root."""

from __future__ import annotations

import json
import os
import re
import stat
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import ok, run, tree

if TYPE_CHECKING:
    from pathlib import Path


def test_a_named_session_is_started_and_its_name_printed(root: Path) -> None:
    done = ok("new", "tides")

    assert done.out == "tides\n"
    assert done.err == ""
    assert (root / "tides" / "files" / "meta.json").is_file()
    assert not (root / "tides" / "logs").exists()


def test_a_session_without_a_name_gets_the_time_and_a_number(root: Path) -> None:
    names = [ok("new").out.strip() for _ in range(3)]

    assert len(set(names)) == 3
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{4}", name) for name in names)
    assert sorted(path.name for path in root.iterdir()) == sorted(names)


def test_json_names_the_session_and_its_folder(root: Path) -> None:
    assert ok("new", "tides", "--json").object == {
        "schema": "agentmem.new/1",
        "id": "tides",
        "name": "tides",
        "path": str(root / "tides"),
    }


def test_title_and_labels_are_listed(root: Path) -> None:
    ok("new", "tides", "--title", "Tide tables", "--label", "team=blue", "--label", "k=a=b")

    row = ok("list", "--json").object

    assert row["title"] == "Tide tables"
    assert row["labels"] == {"team": "blue", "k": "a=b"}
    assert row["messages"] == 0
    assert row["agents"] == 0


@pytest.mark.parametrize("label", ["team", "=blue"])
def test_a_label_without_key_or_value_is_refused(root: Path, label: str) -> None:
    done = run("new", "tides", "--label", label)

    assert done.status == 2
    assert not root.exists()


@pytest.mark.parametrize(
    "name",
    ["", " ", "\t", ".", "..", "a/b", "/tmp/x", "../x", "a/../../b", "C:\\x", "a\\b", "a\0b"],
)
def test_a_name_that_is_a_path_or_nothing_is_refused_and_nothing_made(
    root: Path, tmp_path: Path, name: str
) -> None:
    before = tree(tmp_path)

    done = run("new", name)

    assert done.status == 2
    assert "agentmem: error: " in done.err
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    "name", ["NUL", "con.txt", "a:b", "x.", "é" * 300, "a\nb", "潮汐", ".hidden", "x.rig-part"]
)
def test_a_name_that_some_system_refuses_gets_a_safe_one_and_is_kept(root: Path, name: str) -> None:
    done = ok("new", "--json", "--", name)
    made = done.object

    assert re.fullmatch(r"[A-Za-z0-9._-]{1,120}", made["id"])
    assert made["name"] == name
    assert "is no file name on every system" in done.err
    assert [path.name for path in root.iterdir()] == [made["id"]]
    meta = json.loads((root / made["id"] / "files" / "meta.json").read_text())
    assert meta["title"] == name
    assert meta["listed"]["name"] == name


def test_a_name_as_it_was_given_finds_the_session_again(root: Path) -> None:
    made = ok("new", "a:b").out.strip()
    ok("append", "a:b", "--role", "user", stdin=b"hello")

    assert ok("show", "a:b", "--json").objects[0]["session"] == made


def test_names_that_some_disks_take_for_one_stay_two(root: Path) -> None:
    made = {ok("new", name).out for name in ("a:b", "a?b", "a_b", "NUL", "_NUL")}

    assert len(made) == 5


def test_a_name_that_is_taken_is_refused_and_the_session_left_alone(root: Path) -> None:
    ok("new", "tides", "--title", "First")
    (root / "file").write_text("x")
    before = tree(root)

    assert run("new", "tides").status == 4
    assert run("new", "file").status == 4
    assert run("new", "tides", "--json").error["kind"] == "conflict"
    assert tree(root) == before


@pytest.mark.skipif(os.name == "nt", reason="modes say nothing there")
@pytest.mark.parametrize("mask", [0, 0o027, 0o077, 0o277, 0o777])
def test_all_that_is_made_is_private_whatever_the_umask(root: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        ok("new", "tides")
        ok("append", "tides", "--role", "user", stdin=b"hello")
    finally:
        os.umask(before)

    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [root, *root.rglob("*")]}
    assert {modes[path] for path in modes if path.is_dir()} == {0o700}
    assert {modes[path] for path in modes if path.is_file()} == {0o600}


def test_a_name_that_looks_like_an_option_is_refused(root: Path) -> None:
    done = run("new", "--", "-rf")

    assert done.status == 2
    assert "a dash" in done.err
    assert not (root / "-rf").exists()
