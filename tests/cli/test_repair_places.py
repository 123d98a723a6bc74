"""`repair` where a link, a folder or a pipe stands in one of the session's own places."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, ok, run, said, tree, turns, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Value

JUNK = join([header(), b"junk", said(1, "x")])
MOVABLE = ("files/meta.json", "files/recovered", ".agentmem.redo")
FIXED = (".rig-memory.lock", "logs", "files")


def _put(root: Path, where: str, what: str) -> Path:
    """Put something in a place of a session with a damaged log; return the place."""
    log = write(root, "one", "main", JUNK)
    place = log.parent.parent / where
    for above in reversed(place.parents[: len(where.split("/")) - 1]):
        above.mkdir(mode=0o700, exist_ok=True)
    if where == "logs":
        (root / "one" / "files").mkdir(mode=0o700)
    if what == "link":
        outside = root.parent / "outside"
        outside.mkdir()
        if place.exists():
            place.rename(root.parent / "was")
        place.symlink_to(outside)
    elif what == "folder":
        place.mkdir(mode=0o700)
        (place / "kept").write_bytes(b"kept")
        (place / "kept").chmod(0o600)
    elif what == "pipe":
        os.mkfifo(place, mode=0o600)
    else:
        place.write_bytes(b"precious")
        place.chmod(0o600)
    return place


def _plan(done: Value) -> object:
    return {key: done[key] for key in ("mended", "left")}


@pytest.mark.parametrize(
    ("where", "what"),
    [(where, what) for where in MOVABLE for what in ("link", "pipe")]
    + [("files/meta.json", "folder"), (".agentmem.redo", "folder"), ("files/recovered", "file")],
)
def test_what_does_not_belong_in_a_place_is_set_aside_and_the_rest_is_mended(
    root: Path, where: str, what: str
) -> None:
    place = _put(root, where, what)
    start = tree(root)

    plan = ok("repair", "one", "--force", "--dry-run", "--json").object
    untouched = tree(root)
    done = ok("repair", "one", "--force", "--json").object

    files = place.parent if where != ".agentmem.redo" else place.parent / "files"
    kinds = [each["kind"] for each in done["mended"]]
    told = done["mended"][0]
    assert untouched == start
    assert _plan(plan) == _plan(done)
    assert (kinds[0], told["where"]) == ("link" if what == "link" else "no-file", where)
    assert "set-aside" in kinds
    if what == "pipe":
        assert told["file"] is None
    else:
        aside = files / told["file"]
        kept = aside / "kept" if what == "folder" else aside
        texts = {"folder": b"kept", "file": b"precious"}
        assert kept.read_bytes() == texts.get(what, os.fsencode(root.parent / "outside") + b"\n")
    assert not place.is_symlink()
    if what == "link":
        assert list((root.parent / "outside").iterdir()) == []
    assert ok("verify", "one", "--json").object["problems"] == 0
    assert ok("repair", "one", "--force", "--json").object["mended"] == []


@pytest.mark.parametrize("where", MOVABLE)
def test_a_link_that_a_killed_repair_has_kept_but_not_removed_is_kept_once(
    root: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = _put(root, where, "link")
    real = os.unlink

    def unlink(name: str, **named: int | None) -> None:
        if name == place.name:
            raise OSError(5, "broken disk")
        real(name, dir_fd=named.get("dir_fd"))

    with monkeypatch.context() as patched:
        patched.setattr("os.unlink", unlink)
        failed = run("repair", "one", "--force")
    ok("repair", "one", "--force")

    kept = [path.name for path in root.rglob("*.link*")]
    assert failed.status == 2
    assert len(kept) == 1
    assert not place.is_symlink()


@pytest.mark.parametrize(
    ("where", "what"),
    [(where, "link") for where in FIXED]
    + [(".rig-memory.lock", "folder"), (".rig-memory.lock", "pipe")]
    + [("files", "file"), ("files", "pipe")],
)
def test_a_place_that_only_a_person_can_clear_is_told_and_nothing_changes(
    root: Path, where: str, what: str
) -> None:
    _put(root, where, what)
    start = tree(root)

    plan = run("repair", "one", "--force", "--dry-run", "--json")
    done = run("repair", "one", "--force", "--json")

    told = [each for each in done.object["left"] if each["where"] == where]
    assert (plan.status, done.status) == (1, 1)
    assert _plan(plan.object) == _plan(done.object)
    assert done.object["mended"] == []
    assert "by hand" in " ".join(each["why"] for each in told)
    assert tree(root) == start


@pytest.mark.parametrize(
    ("where", "what", "kind"),
    [
        ("logs/more.jsonl", "link", "link"),
        ("logs/more.jsonl", "pipe", "no-file"),
        ("logs/more.jsonl", "folder", "no-file"),
        ("logs/a\\b.jsonl", "file", "bad-name"),
        ("files/blobs/" + "a" * 64 + ".png", "pipe", "no-file"),
        ("files/x", "link", "link"),
    ],
)
def test_what_stays_is_told_alike_by_the_dry_run_and_the_run(
    root: Path, where: str, what: str, kind: str
) -> None:
    _put(root, where, what)

    plan = run("repair", "one", "--force", "--dry-run", "--json")
    done = run("repair", "one", "--force", "--json")

    assert (plan.status, done.status) == (1, 1)
    assert _plan(plan.object) == _plan(done.object)
    (told,) = done.object["left"]
    assert told["kind"] == kind
    assert "by hand" in told["why"]


@pytest.mark.parametrize("data", [b"", b"\xff\xfe" * 99, b'{"a":1}\n'])
def test_a_redo_file_that_is_not_whole_is_given_up_and_its_bytes_are_kept(
    root: Path, data: bytes
) -> None:
    write(root, "one", "main", join(turns(1)))
    redo = root / "one" / ".agentmem.redo"
    redo.write_bytes(data)
    redo.chmod(0o600)
    part = root / "one" / "logs" / f".agentmem-{'a' * 32}.rig-part"
    part.write_bytes(b"staged")
    part.chmod(0o600)

    plan = ok("repair", "one", "--force", "--dry-run", "--json").object
    done = ok("repair", "one", "--force", "--json").object

    told = [each for each in done["mended"] if each["kind"] == "unfinished-change"]
    kept = {(root / "one" / "files" / each["file"]).read_bytes() for each in told}
    assert [each for each in plan["mended"] if each["kind"] == "unfinished-change"] == told
    assert kept == {b"staged", data} - {b""}
    assert all(each["why"].startswith("given up: ") for each in told)
    assert not redo.exists()
    assert ok("verify", "one", "--json").object["problems"] == 0
