"""`gc` where a log is gone, damaged or unread, or was: no blob goes that it may have named."""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, ok, run, said, tree, write
from tests.cli.test_gc import blob, shown, there

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _begin(root: Path) -> Path:
    """Write a session of two images and a text, with a meta; return its only log."""
    names = [blob(root, b"first"), blob(root, b"second")]
    lines = [header(), shown(1, names[0]), shown(2, names[1]), said(3, "x")]
    path = write(root, "one", "main", join(lines))
    ok("meta", "refresh", "one")
    return path


def _line(path: Path, index: int, change: Callable[[bytes], bytes]) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[index] = change(lines[index])
    path.write_bytes(b"".join(lines))


def _linked(path: Path) -> None:
    path.rename(path.parent.parent / "m")
    path.symlink_to("../m")


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, mode=0o600)


HURTS: dict[str, Callable[[Path], object]] = {
    "gone": lambda path: path.unlink(),
    "elsewhere": lambda path: path.rename(path.parent.parent.parent / "m"),
    "folder gone": lambda path: shutil.rmtree(path.parent),
    "link": _linked,
    "folder": _folder,
    "pipe": _pipe,
    "empty": lambda path: path.write_bytes(b""),
    "header only": lambda path: path.write_bytes(join([header()])),
    "no text": lambda path: path.write_bytes(b"\x81\x82\x83" * 999),
    "utf-16": lambda path: path.write_bytes(path.read_bytes().decode().encode("utf-16")),
    "zeroed": lambda path: _line(path, 1, lambda line: b"\0" * len(line)),
    "half a line": lambda path: _line(path, 2, lambda line: line[:40] + b"\n"),
    "line missing": lambda path: _line(path, 2, lambda _: b""),
    "torn": lambda path: path.write_bytes(path.read_bytes() + b'{"seq":4,"n'),
    "flipped": lambda path: _line(path, 1, lambda line: line.replace(b"blob:", b"bl\xffb:a")),
}


@pytest.mark.parametrize("name", [*HURTS])
def test_nothing_goes_while_a_log_is_gone_damaged_or_unread(root: Path, name: str) -> None:
    path = _begin(root)
    blob(root, b"third")
    HURTS[name](path)
    before, there_before = there(root), tree(root)

    planned = run("gc", "one", "--dry-run", "--force")
    done = run("gc", "one", "--yes", "--force", "--young", "0s", "--json")
    verified = run("verify", "one", "--json").object

    assert (planned.status, done.status) == (5, 5)
    assert done.error["kind"] == "damaged"
    assert "repair" in done.error["hint"]
    assert (there(root), tree(root)) == (before, there_before)
    assert "unused-blob" not in {each["kind"] for each in verified["findings"]}


def test_a_log_that_is_put_back_finds_its_images_again(root: Path) -> None:
    path = _begin(root)
    spare = path.parent.parent.parent / "spare"
    path.rename(spare)
    run("gc", "--all", "--yes", "--force", "--young", "0s")

    spare.rename(path)

    assert ok("verify", "one").status == 0
    assert len(there(root)) == 2


def test_a_session_with_images_and_without_any_log_or_meta_is_left_alone(root: Path) -> None:
    name = blob(root, b"first")

    done = run("gc", "one", "--yes", "--force")

    assert done.status == 5
    assert there(root) == {name}


def test_of_several_only_the_one_in_doubt_is_left(root: Path) -> None:
    _begin(root).unlink()
    unnamed = root / "two" / "files" / "blobs" / blob(root, b"second")
    write(root, "two", "main", join([header(), said(1, "x")]))
    unnamed.parent.mkdir(parents=True, mode=0o700)
    unnamed.write_bytes(b"second")

    done = run("gc", "--all", "--yes", "--force", "--young", "0s", "--json")

    assert done.status == 5
    assert len(there(root)) == 2
    assert not unnamed.exists()


@pytest.mark.parametrize(
    "name",
    ["gone", "utf-16", "zeroed", "half a line", "line missing", "flipped", "no text"],
)
def test_after_a_repair_what_is_lost_keeps_blobs_unless_told_otherwise(
    root: Path, name: str
) -> None:
    path = _begin(root)
    third = blob(root, b"third")
    HURTS[name](path)
    run("repair", "one", "--force")

    kept = ok("gc", "one", "--yes", "--force", "--young", "0s", "--json").object
    still = there(root)
    told = [each["kind"] for each in ok("verify", "one", "--json").object["findings"]]
    ok("gc", "one", "--yes", "--force", "--young", "0s", "--though-lost")

    assert kept["removed"] == []
    assert f"blobs/{third}" in {each["name"] for each in kept["kept"]}
    assert len(still) == 3
    assert "unused-blob" not in told
    assert "unnamed-blob" in told
    assert third not in there(root)


NAME = "a" * 64
TORN: dict[str, tuple[bytes, bool]] = {
    "before its message": (b'{"seq":4,"n":4,"t":1,"type":"pu', False),
    "in its message": (b'{"seq":4,"n":4,"t":1,"type":"push","entries":[{"message":{"ro', False),
    "in a character": (b'{"seq":4,"n":4,"t":1,"type":"push","x":"sch\xc3', False),
    "behind a name": (b'{"seq":4,"x":[{"value":"blob:%s.png"},' % NAME.encode(), False),
    "whole, twice": (b'{"seq":4,"x":"blob:","n":4,"type":"future"}', False),
    "in a name": (b'{"seq":4,"x":[{"value":"blob:%s' % NAME[:40].encode(), True),
    "before a name": (b'{"seq":4,"x":[{"type":"url","value":"', True),
    "in the kind of a part": (b'{"seq":4,"x":[{"type":"im', True),
    "in an image": (b'{"seq":4,"x":[{"type":"image"', True),
    "behind one name, before another": (
        b'{"seq":4,"x":[{"value":"blob:%s.png"},{"type":"url' % NAME.encode(),
        True,
    ),
    "spelled by numbers": (b'{"seq":4,"x":["\\u0062lob:', True),
    "zeros": (b"\0" * 4096, True),
    "zeros behind a beginning": (b'{"seq":4,"n' + b"\0" * 99, True),
    "no record": (b"torn", True),
    "a byte that is no text": (b'{"seq":4,"x":"\xff\xfe', True),
}
"""Ends of logs, and whether each may have named a blob that cannot be read off it."""


@pytest.mark.parametrize("name", TORN)
def test_a_torn_end_keeps_a_blob_only_where_it_may_have_named_it(root: Path, name: str) -> None:
    data, hides = TORN[name]
    path = _begin(root)
    third = blob(root, b"third")
    kept = path.parent.parent / "files" / "recovered"
    kept.mkdir(mode=0o700)
    (kept / f"main-{hashlib.sha256(data).hexdigest()}.part").write_bytes(data)

    verified = {each["kind"] for each in ok("verify", "one", "--json").object["findings"]}
    states = {each["name"]: each["state"] for each in ok("blobs", "one", "--json").objects}
    done = ok("gc", "one", "--yes", "--force", "--json").object

    key = "kept" if hides else "removed"
    assert [each["name"] for each in done[key]] == [f"blobs/{third}"]
    assert verified & {"unnamed-blob", "unused-blob"} == {
        "unnamed-blob" if hides else "unused-blob"
    }
    assert states[third] == ("kept" if hides else "unused")
    assert (third in there(root)) == hides


@pytest.mark.parametrize("how", ["repair", "append"])
def test_a_torn_end_that_was_set_aside_needs_no_flag_and_what_it_names_stays(
    root: Path, how: str
) -> None:
    path = _begin(root)
    named, unnamed = blob(root, b"third"), blob(root, b"fourth")
    path.write_bytes(path.read_bytes() + shown(4, named)[:-5])
    words = ["repair", "one", "--force"] if how == "repair" else ["append", "one", "--role", "user"]

    run(*words, stdin=b"what comes next")
    done = ok("gc", "one", "--yes", "--force", "--json").object

    assert [each["name"] for each in done["removed"]] == [f"blobs/{unnamed}"]
    assert done["kept"] == []
    assert named in there(root)


def test_a_lost_image_alone_keeps_no_other_blob(root: Path) -> None:
    path = _begin(root)
    (path.parent.parent / "files" / "blobs" / blob(root, b"second")).unlink()
    third = blob(root, b"third")
    run("repair", "one", "--force")

    done = ok("gc", "one", "--yes", "--force", "--json").object

    assert [each["name"] for each in done["removed"]] == [f"blobs/{third}"]


@pytest.mark.parametrize("where", ["logs/main.jsonl", "files/blobs/" + "a" * 64 + ".png"])
@pytest.mark.parametrize("what", ["pipe", "folder"])
def test_what_is_no_file_is_called_so(root: Path, where: str, what: str) -> None:
    path = _begin(root).parent.parent / where
    path.unlink(missing_ok=True)
    if what == "pipe":
        os.mkfifo(path, mode=0o600)
    else:
        path.mkdir(mode=0o700)

    found = run("verify", "one", "--json").object["findings"]

    assert ("problem", "no-file", where) in {
        (each["level"], each["kind"], each["where"]) for each in found
    }


@pytest.mark.parametrize("why", ["nothing names it", "a map names it", "set aside", "damaged"])
def test_the_list_of_blobs_agrees_with_what_goes(root: Path, why: str) -> None:
    path = _begin(root)
    name = blob(root, b"third")
    files = path.parent.parent / "files"
    if why == "a map names it":
        (files / "plugins" / "import").mkdir(mode=0o700, parents=True)
        (files / "plugins" / "import" / "a.jsonl").write_bytes(name.encode())
    elif why == "set aside":
        (files / "recovered").mkdir(mode=0o700)
        (files / "recovered" / "main.part").write_bytes(b"torn")
    elif why == "damaged":
        HURTS["half a line"](path)

    states = {each["name"]: each["state"] for each in ok("blobs", "one", "--json").objects}
    listed = run("blobs", "one", "--unused", "--json").objects
    run("gc", "one", "--yes", "--force")

    goes = why == "nothing names it"
    assert states[name] == ("unused" if goes else "kept")
    assert [each["name"] for each in listed] == ([name] if goes else [])
    assert (name in there(root)) != goes
