"""blobs: what is kept beside the logs, and giving it out."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, ok, pushed, record, run, said, tree, write

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object


def _name(data: bytes, end: str = "png") -> str:
    return f"{hashlib.sha256(data).hexdigest()}.{end}"


def _put(root: Path, name: str, data: bytes) -> None:
    path = root / "one" / "files" / "blobs" / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(data)


def _image(name: str, kind: str = "image") -> Object:
    data: Object = {"type": "url", "value": f"blob:{name}"}
    return {"type": kind, "media_type": "png", "data": data}


USED, PAST, UNUSED, GONE = (_name(word) for word in (b"used", b"past", b"unused", b"gone"))
SPOILT = _name(b"not this", "txt")


@pytest.fixture
def session(root: Path) -> Path:
    """A session with a blob in every state."""
    result: Object = {
        "type": "toolresult",
        "call": "c",
        "name": "t",
        "content": [_image(USED), _image(SPOILT, "document")],
    }
    lines = [
        header(),
        pushed(1, {"role": "user", "content": [_image(PAST)]}),
        pushed(2, {"role": "user", "content": [_image(USED), _image(GONE)]}),
        pushed(3, {"role": "user", "content": [result]}),
        record(4, "splice", **{"from": 0, "to": 1, "removed": [0], "with": []}),  # type: ignore[arg-type]
    ]
    write(
        root,
        "one",
        "main",
        join(lines).replace(
            b'"blob:' + GONE[:4].encode(), b'"\\u0062lob\\u003a' + GONE[:4].encode()
        ),
    )
    for data in (b"used", b"past", b"unused"):
        _put(root, _name(data), data)
    _put(root, SPOILT, b"something else")
    return root / "one"


@pytest.mark.usefixtures("session")
def test_each_blob_has_its_state_size_type_and_who_names_it() -> None:
    found = {one["name"]: one for one in ok("blobs", "one", "--json").objects}

    states = {name: (one["state"], one["size_bytes"], one["type"]) for name, one in found.items()}
    assert states == {
        USED: ("used", 4, "image/png"),
        PAST: ("past", 4, "image/png"),
        UNUSED: ("unused", 6, "image/png"),
        GONE: ("missing", None, "image/png"),
        SPOILT: ("used", 14, "text/plain"),
    }
    assert [use["address"] for use in found[USED]["named_by"]] == ["one:main:m1", "one:main:m2"]
    assert found[PAST]["named_by"] == [
        {"agent": "main", "id": 0, "address": "one:main:m0", "stands": False}
    ]
    assert found[UNUSED]["named_times"] == 0


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--unused"], [UNUSED]),
        (["--missing"], [GONE]),
        (["--mismatched"], [SPOILT]),
        (["--unused", "--missing"], [UNUSED, GONE]),
    ],
)
def test_some_states_alone_end_with_one_where_there_are_any(
    options: list[str], names: list[str]
) -> None:
    done = run("blobs", "one", *options, "--json")

    assert done.status == 1
    assert sorted(one["name"] for one in done.objects) == sorted(names)


def test_a_session_without_such_blobs_is_fine(root: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "x")]))

    assert ok("blobs", "one").err == "one has no blobs.\n"
    assert ok("blobs", "one", "--unused", "--missing", "--mismatched").out == ""


@pytest.mark.usefixtures("session")
def test_the_table_says_who_names_a_blob() -> None:
    done = ok("blobs", "one")

    row = next(line for line in done.out.splitlines() if line.startswith(USED))
    assert row.split() == [USED, "image/png", "4", "B", "used", "main:m1,", "main:m2"]
    assert done.err == "5 blobs, 28 B\n"


@pytest.mark.usefixtures("session")
def test_one_is_written_to_a_folder_or_to_standard_output(tmp_path: Path) -> None:
    told = ok("blobs", "one", "--extract", USED[:9], "-o", tmp_path / "out", "--json").object

    assert told == {
        "schema": "agentmem.blob-extract/1",
        "session": "one",
        "name": USED,
        "output": str(tmp_path / "out" / USED),
        "bytes": 4,
        "matches": True,
    }
    assert (tmp_path / "out" / USED).read_bytes() == b"used"
    assert ok("blobs", "one", "--extract", f"blob:{PAST}", "-o", "-").stdout == b"past"


@pytest.mark.usefixtures("session")
def test_all_are_written_and_a_spoilt_one_is_told(tmp_path: Path) -> None:
    done = run("blobs", "one", "--all", "-o", tmp_path)

    assert done.status == 1
    written = sorted(path.name for path in tmp_path.iterdir() if path.is_file())
    assert written == sorted([USED, PAST, UNUSED, SPOILT])
    assert f"blob {SPOILT}: its bytes are not those" in done.err


@pytest.mark.usefixtures("session")
def test_nothing_is_written_over_unless_told_to(tmp_path: Path) -> None:
    (tmp_path / USED).write_bytes(b"mine")

    refused = run("blobs", "one", "--all", "-o", tmp_path)

    assert refused.status == 4
    assert (tmp_path / USED).read_bytes() == b"mine"
    assert not (tmp_path / PAST).exists()
    ok("blobs", "one", "--extract", USED, "-o", tmp_path, "--force")
    assert (tmp_path / USED).read_bytes() == b"used"


def test_names_never_lead_out_of_the_folder(root: Path, tmp_path: Path) -> None:
    write(
        root,
        "one",
        "main",
        join([header(), pushed(1, {"role": "user", "content": [_image("../../../../evil")]})]),
    )
    _put(root, "CON .png", b"x")

    listed = ok("blobs", "one", "--json").objects
    ok_status = run("blobs", "one", "--all", "-o", tmp_path / "out").status

    assert [(one["name"], one["state"]) for one in listed] == [
        ("../../../../evil", "missing"),
        ("CON .png", "kept"),
    ]
    (written,) = (tmp_path / "out").iterdir()
    assert written.name.startswith("CON_.png-")
    assert ok_status == 1
    assert run("blobs", "one", "--extract", "../../../../evil", "-o", tmp_path).status == 3
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["--extract", "00nothing", "-o", "out"], 3),
        (["--extract", "", "-o", "out"], 3),
        (["--extract", USED], 2),
        (["--all"], 2),
        (["-o", "out"], 2),
        (["--all", "--extract", USED, "-o", "out"], 2),
        (["--all", "--unused", "-o", "out"], 2),
        (["--all", "-o", "-"], 2),
        (["--extract", USED, "-o", "-", "--json"], 2),
        (["--extract", USED, "-o", "no/such/folder/out"], 3),
    ],
)
def test_words_that_do_not_fit(
    words: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run("blobs", "one", *words).status == status
    assert not (tmp_path / "out").exists()


def test_a_beginning_that_several_have_is_ambiguous(root: Path, tmp_path: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "x")]))
    for end in ("png", "jpg"):
        _put(root, _name(b"x", end), b"x")

    done = run("blobs", "one", "--extract", _name(b"x")[:8], "-o", tmp_path / "out", "--json")

    assert done.status == 3
    assert len(done.error["candidates"]) == 2


def test_a_listing_changes_nothing(session: Path) -> None:
    before = tree(session)

    run("blobs", "one", "--mismatched")

    assert tree(session) == before
