"""`gc` and `repair` where a meta, a damaged text or a spliced message decides what is needed."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.limits import META_BYTES_MAX
from agentmem_cli.session.codec import dumps
from agentmem_cli.storage.layout import REDO
from tests.cli.running import (
    at,
    header,
    join,
    ok,
    pushed,
    record,
    run,
    said,
    tree,
    turns,
    write,
    write_meta,
)
from tests.cli.test_gc import blob, shown, there

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object

GONE = f"{hashlib.sha256(b'gone').hexdigest()}.png"


def _spelled(name: str) -> bytes:
    """A digest as JSON may spell it, each character by its number."""
    return b"".join(b"\\u%04x" % each for each in name[:64].encode())


def _image(name: str) -> Object:
    data: Object = {"type": "url", "value": f"blob:{name}"}
    return {"role": "user", "content": [{"type": "image", "media_type": "png", "data": data}]}


UNREAD = (b"{", b"[]", b'{"title":"Tides","mess', b"\xff", b"{}" + b" " * META_BYTES_MAX)


@pytest.mark.parametrize("meta", UNREAD, ids=range(len(UNREAD)))
def test_nothing_goes_while_the_meta_does_not_say_which_logs_there_were(
    root: Path, meta: bytes
) -> None:
    blob(root, b"unnamed")
    write(root, "one", "main", join(turns(2)))
    ok("value", "set", "one", "mood", "1")  # so that the lock is there
    write_meta(root, "one", meta)
    before = tree(root)

    done = run("gc", "one", "--yes", "--force", "--young", "0s", "--json")

    assert done.status == 5
    assert "meta.json: it cannot be read" in done.error["message"]
    assert tree(root) == before


def test_after_a_repair_of_the_meta_it_goes(root: Path) -> None:
    unnamed = blob(root, b"unnamed")
    write(root, "one", "main", join(turns(2)))
    write_meta(root, "one", b"{")
    run("repair", "one", "--force")

    done = ok("gc", "one", "--yes", "--force", "--though-lost", "--json").object

    assert [each["name"] for each in done["removed"]] == [f"blobs/{unnamed}"]


@pytest.mark.parametrize("about", [b"see %s here", b'{"a":"%s"}', b'{"a":"%s', b"%s\xff"])
def test_a_name_that_a_text_spells_by_numbers_keeps_its_blob(root: Path, about: bytes) -> None:
    named, unnamed = blob(root, b"named"), blob(root, b"unnamed")
    write(root, "one", "main", join(turns(2)))
    notes = root / "one" / "files" / "plugins" / "notes" / "all.txt"
    notes.parent.mkdir(mode=0o700, parents=True)
    notes.write_bytes(b"first\n" + about.replace(b"%s", _spelled(named)) + b"\nlast\n")

    done = ok("gc", "one", "--yes", "--force", "--json").object

    assert [each["name"] for each in done["removed"]] == [f"blobs/{unnamed}"]
    assert there(root) == {named}


def _shorter_than_noted(root: Path, log: bytes) -> Path:
    """A session whose meta says that its log once had more bytes; return the log."""
    path = write(root, "one", "main", join(turns(8)))
    ok("meta", "refresh", "one")
    path.write_bytes(log)
    return path


REWRITTEN = join([header(rewrites=[{"t": 1, "by": {"kind": "rig"}}]), *turns(2)[1:]])


def test_a_log_that_says_it_was_rewritten_may_be_shorter(root: Path) -> None:
    unnamed = blob(root, b"unnamed")
    path = _shorter_than_noted(root, REWRITTEN)

    done = ok("gc", "one", "--yes", "--force", "--json").object
    repaired = ok("repair", "one", "--force", "--json").object

    assert [each["name"] for each in done["removed"]] == [f"blobs/{unnamed}"]
    assert repaired["lost"] == []
    assert [each["kind"] for each in repaired["mended"]] == ["meta"]
    assert path.read_bytes() == REWRITTEN


def test_one_that_does_not_say_so_has_lost_something(root: Path) -> None:
    blob(root, b"unnamed")
    _shorter_than_noted(root, join(turns(2)))

    done = run("gc", "one", "--yes", "--force")
    repaired = run("repair", "one", "--force", "--json")

    assert done.status == 5
    assert [each["kind"] for each in repaired.object["lost"]] == ["shorter-log"]
    assert repaired.status == 1


def _with_splice(root: Path) -> Path:
    """A log whose second record is a splice that names an image, which is gone."""
    entry: Object = {"message": _image(GONE), "id": 1}
    put: Object = {"from": 0, "to": 1, "removed": [0], "with": [entry]}
    spliced = dumps({"seq": 2, "n": 2, "t": at(2), "type": "splice", **put})
    first = pushed(1, {"role": "user", "content": "text 1"}, id_=0)
    return write(root, "one", "main", join([header(), first, spliced]))


def test_an_image_that_a_splice_put_in_is_noted_when_it_is_lost(root: Path) -> None:
    path = _with_splice(root)

    planned = run("repair", "one", "--force", "--dry-run", "--json").object
    before = path.read_bytes()
    done = run("repair", "one", "--force", "--json").object
    verified = ok("verify", "one", "--json").object

    assert [each["kind"] for each in done["lost"]] == ["missing-blob"]
    assert [each["kind"] for each in planned["lost"]] == ["missing-blob"]
    assert planned["mended"] == done["mended"]
    assert before == path.read_bytes()[: len(before)]
    assert json.loads(path.read_bytes().splitlines()[-1])["aside"]["value"] == {"blobs": [GONE]}
    assert {each["level"] for each in verified["findings"]} == {"notice"}


def test_a_dry_run_says_the_same_of_a_torn_log_of_which_an_image_is_lost(root: Path) -> None:
    path = write(root, "one", "main", join([header(), shown(1, GONE)]) + b'{"seq":2,"n":2')

    planned = run("repair", "one", "--force", "--dry-run", "--json").object
    done = run("repair", "one", "--force", "--json").object

    assert {each["kind"] for each in done["mended"] + done["lost"]} == {
        "torn-tail",
        "missing-blob",
        "meta",
    }
    assert (planned["mended"], planned["lost"]) == (done["mended"], done["lost"])
    assert path.read_bytes().startswith(join([header(), shown(1, GONE)]) + b'{"seq":2,')


def test_of_a_log_that_is_left_alone_a_lost_image_is_told(root: Path) -> None:
    unknown = record(2, "dream", about="tides")
    path = write(root, "one", "main", join([header(), shown(1, GONE), unknown]))
    before = path.read_bytes()

    done = run("repair", "one", "--force", "--json")

    assert path.read_bytes() == before
    assert done.status == 1
    assert ("missing-blob", f"blob {GONE} is missing") in [
        (each["kind"], each["why"]) for each in done.object["left"]
    ]


def test_a_place_that_has_a_name_in_recovered_gets_another_one(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))
    ok("verify", "one")
    recovered = root / "one" / "files" / "recovered"
    recovered.mkdir(mode=0o700, parents=True)
    (recovered / "meta.json.folder").mkdir()
    for _ in range(2):
        meta = root / "one" / "files" / "meta.json"
        meta.unlink(missing_ok=True)
        meta.mkdir()
        run("repair", "one", "--force")

    assert sorted(path.name for path in recovered.iterdir()) == [
        "meta.json.folder",
        "meta.json.folder-2",
        "meta.json.folder-3",
    ]


def test_a_redo_file_that_is_too_large_is_set_aside(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentmem_cli.storage.redo.REDO_BYTES_MAX", 1000)
    path = write(root, "one", "main", join([header(), said(1, "x")]))
    (root / "one" / REDO).write_bytes(b"x" * 1001)

    done = run("repair", "one", "--force", "--json").object

    assert "unfinished-change" in {each["kind"] for each in done["mended"]}
    assert not (root / "one" / REDO).exists()
    assert [each.read_bytes() for each in (root / "one/files/recovered").iterdir()] == [b"x" * 1001]
    assert path.read_bytes() == join([header(), said(1, "x")])
