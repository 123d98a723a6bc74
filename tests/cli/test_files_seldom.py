"""Files and tars at seldom moments: what stays is told, and nothing is changed by halves."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations import exported_tar
from agentmem_cli.operations.imports.packed import packed
from agentmem_cli.operations.secrets import engine, masks
from agentmem_cli.operations.secrets.findings import Finding, Place
from agentmem_cli.operations.secrets.single import SingleFile
from agentmem_cli.storage.layout import REDO
from tests.cli.running import header, join, message, ok, record, run, said, tree, turns, write
from tests.cli.test_gc import blob, shown
from tests.secrets_made import StandIn, token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.logfile import OpenLog

TOKEN = token(1)
OLD_NS = 1_600_000_000_000_000_000
PAIR = b"acme corp ==> x"


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "files" / "a.jsonl"
    path.parent.mkdir()
    path.write_bytes(b'{"n": 1.10}\n{"a": "use %s"}\n' % TOKEN.encode())
    os.utime(path, ns=(OLD_NS, OLD_NS))
    return path


# -- redact and rewrite of files -------------------------------------------


def test_a_link_to_a_folder_is_not_gone_into_and_told(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text(TOKEN)
    os.utime(other / "b.txt", ns=(OLD_NS, OLD_NS))
    (file.parent / "link").symlink_to(other)

    done = run("redact", "--files", file.parent, "--yes")

    assert TOKEN.encode() not in file.read_bytes()
    assert (other / "b.txt").read_text() == TOKEN
    assert "link: a symbolic link" in done.err


def test_a_folder_that_cannot_be_listed_is_told_and_the_others_are_done(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = file.parent / "closed"
    closed.mkdir()
    real = os.scandir

    def scandir(path: str = ".") -> object:
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    done = run("redact", "--files", file.parent, "--yes")

    assert TOKEN.encode() not in file.read_bytes()
    assert "closed: Permission denied" in done.err
    assert done.status == 1


def test_a_file_in_which_a_value_would_stay_is_not_changed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (file.read_bytes(), file.stat().st_ino)
    row = Finding(
        Place("a.jsonl", 2), ("a",), False, 4, 9, "vendor-token", "high", "r", TOKEN, "mask"
    )
    monkeypatch.setattr(SingleFile, "prove", lambda *_: [row])

    done = run("redact", "--files", file, "--yes")

    assert done.status != 0
    assert (file.read_bytes(), file.stat().st_ino) == before
    assert [each.name for each in file.parent.iterdir()] == ["a.jsonl"]
    assert TOKEN.encode() not in done.stdout + done.stderr


def test_a_file_without_the_literals_is_not_written(file: Path) -> None:
    before = file.stat()

    done = run(
        "redact", "--files", file, "--yes", "--no-rules", "--literals", "-", stdin=b"quiet word\n"
    )

    assert done.status == 0
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


NOTE = b"\x51\x2a\x4d\x18\x04\x00\x00\x00note"
"""A frame of zstd that holds nothing to unpack."""


@pytest.mark.parametrize("begins", [b"", NOTE], ids=["frame", "note"])
def test_what_is_packed_is_told_and_not_rewritten(file: Path, begins: bytes) -> None:
    file.write_bytes(begins + packed(b"for acme corp\n"))
    before = file.read_bytes()

    done = run("rewrite", "--files", file, "--yes", "--force", "--replace-file", "-", stdin=PAIR)

    assert done.status == 1
    assert "packed by zstd" in done.err
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [("rewrite", "--replace-file", "-"), ("remap", "/home/ada=/srv", "--everywhere")],
    ids=["rewrite", "remap"],
)
def test_a_packed_file_of_a_session_is_not_rewritten(root: Path, words: tuple[str, ...]) -> None:
    log = write(root, "one", "main", join([header(), said(1, "acme corp in /home/ada/x")]))
    kept = root / "one" / "files" / "plugins" / "x" / "all.jsonl.zst"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(packed(b"acme corp in /home/ada/x\n"))
    before = kept.read_bytes()
    assert b"acme corp" in before  # zstd keeps a few bytes as they are

    ok(*words, "one", "--yes", "--force", stdin=PAIR)

    assert kept.read_bytes() == before
    assert b"acme corp in /home/ada/x" not in log.read_bytes()


def test_a_rewrite_that_is_only_tried_names_what_it_would_change(root: Path) -> None:
    svg = b"<svg>acme corp</svg>"
    name = f"{hashlib.sha256(svg).hexdigest()}.svg"
    blob(root, b"other")
    (root / "one" / "files" / "blobs" / name).write_bytes(svg)
    notes = root / "one" / "files" / "plugins" / "x"
    notes.mkdir(parents=True)
    (notes / "lines.jsonl").write_bytes(b'{"a":"acme corp"}\n{"b":"acme corp"}\n{"c":1}\n')
    (notes / "note.txt").write_bytes(b"hello acme corp\n")
    (notes / "none.txt").write_bytes(b"hello\n")
    (notes / "doc.json").write_bytes(b'{"a":\n "acme corp"}')
    (notes / "odd.png").write_bytes(b"\x89PNG\0\0acme corp")
    lines = [header(), said(1, "for acme corp"), b"", shown(2, name), said(3, "acme corp")]
    write(root, "one", "main", join(lines))
    before = tree(root)
    words = ("rewrite", "--replace-file", "-", "one", "--yes", "--force", "--json")

    tried = ok(*words, "--dry-run", stdin=PAIR).object
    untouched = tree(root)
    done = ok(*words, stdin=PAIR).object

    assert untouched == before
    assert tried["files"] == [
        f"plugins/x/{each}" for each in ("doc.json", "lines.jsonl", "note.txt")
    ]
    assert [each for each in done["files"] if "blobs" not in each] == tried["files"]
    assert (tried["blobs"], done["blobs"]) == (1, 1)
    assert tried["unread_lines"] == 0
    assert b"acme corp" not in (notes / "lines.jsonl").read_bytes()
    assert b"acme corp" in (notes / "odd.png").read_bytes()


def test_a_rewrite_that_is_only_tried_names_lines_that_cannot_be_read(root: Path) -> None:
    lines = [header(), said(1, "for acme corp"), b"", b'{"acme corp', said(3, "acme corp")]
    write(root, "one", "main", join(lines))
    words = ("rewrite", "--replace-file", "-", "one", "--yes", "--force")

    tried = run(*words, "--dry-run", stdin=PAIR)
    done = run(*words, stdin=PAIR)

    assert "one, logs/main.jsonl, line 4: cannot be read" in tried.err
    assert done.status == 5
    assert "line 4" in done.err


def test_two_that_make_the_key_of_masks_at_once_have_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = bytes(range(32))

    def link(*_: object, **__: object) -> None:
        (tmp_path / "mine" / "mask.key").write_text(theirs.hex())
        raise FileExistsError

    monkeypatch.setattr(os, "link", link)

    assert masks.mask_key(tmp_path / "mine") == theirs
    assert len([*(tmp_path / "mine").iterdir()]) == 1


# -- tars ------------------------------------------------------------------


@pytest.fixture
def session(root: Path) -> Path:
    name = blob(root, b"x" * 512)
    write(root, "one", "main", join([*turns(2), shown(3, name)]))
    return root / "one"


@pytest.mark.parametrize("change", ["gone", "shorter", "redo"])
def test_a_tar_of_what_changes_meanwhile_is_not_left(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    real = exported_tar._data
    (kept,) = (session / "files" / "blobs").iterdir()

    def data(path: str, opened: OpenLog) -> Iterator[bytes]:
        if change == "shorter" and path.startswith("logs/"):
            os.truncate(session / path, 10)
        yield from real(path, opened)
        if change == "gone" and path.startswith("files/blobs/"):
            kept.unlink()
        if change == "redo":
            (session / REDO).write_bytes(b"{}")

    monkeypatch.setattr(exported_tar, "_data", data)
    done = run("export", "one", "--as", "tar", "-o", tmp_path / "one.tar")

    assert done.status == 4
    assert not (tmp_path / "one.tar").exists()


def test_a_file_that_fills_its_blocks_is_followed_by_the_next_one(
    session: Path, tmp_path: Path
) -> None:
    ok("export", "one", "--as", "tar", "-o", tmp_path / "one.tar")

    with tarfile.open(tmp_path / "one.tar") as tar:
        found = {each.name: each.size for each in tar.getmembers() if each.isfile()}
    assert 512 in found.values()
    assert len(found) == len([each for each in session.rglob("*") if each.is_file()])


def test_a_session_whose_name_is_no_utf8_has_one_in_its_tar_that_is(root: Path) -> None:
    name = os.fsdecode(b"one\xff")
    write(root, name, "main", join(turns(2)))

    done = run("export", str(root / name), "--as", "tar", "-o", "-")

    assert done.status == 0
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        names = tar.getnames()
    assert all(each.isprintable() for each in names)
    assert any(each.endswith("/logs/main.jsonl") for each in names)


def test_the_messages_of_a_tar_are_counted_as_its_changes_leave_them(
    root: Path, tmp_path: Path
) -> None:
    entries: list[JSON] = [
        {"message": message("user", text), "id": id_} for id_, text in ((4, "a"), (5, "b"))
    ]
    write(root, "one", "main", join([*turns(4), record(5, "reset", state={"entries": entries})]))
    write(root, "one", "aide", join([header("aide", n=20, parent="main"), said(1, "x", n=21)]))
    ok("append", "one", "--role", "user", stdin=b"c")
    ok("splice", "one", "4:6", "--force")
    ok("export", "one", "--as", "tar", "-o", tmp_path / "one.tar")
    wanted = ok("list", "--json").object["messages"]

    done = ok("--root", tmp_path / "other", "import", tmp_path / "one.tar", "--json")

    assert wanted == 1
    assert done.objects[0]["messages"] == wanted + 1
