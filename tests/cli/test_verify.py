"""`verify`: names every damaged place, changes nothing, never clean of what it did not read."""

from __future__ import annotations

import errno
import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import (
    header,
    join,
    message,
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

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object
    from tests.cli.running import Value

PNG = b"\x89PNG\r\n\x1a\nx"
DIGEST = hashlib.sha256(PNG).hexdigest()


def _file(root: Path, name: str, data: bytes) -> Path:
    path = root / "one" / "files" / name
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def _found(*words: str) -> Value:
    done = run("verify", *words, "--json")
    value = done.object
    assert done.status == (1 if value["problems"] else 0)
    return value


def _kinds(level: str = "problem") -> list[str]:
    return [found["kind"] for found in _found("one")["findings"] if found["level"] == level]


def test_a_sound_session_is_clean_and_says_how_much_was_read(root: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"hello")

    done = ok("verify", "one")

    assert done.out.startswith("one: no problems (1 log, 2 records, 1 message, 0 blobs, ")
    assert done.err == ""


def test_json_has_the_findings_and_what_was_checked(root: Path) -> None:
    data = join(turns(2))
    write(root, "one", "main", data + b'{"seq":3')
    _file(root, "plugins/notes/a.txt", b"theirs")

    assert _found("one") == {
        "schema": "agentmem.verify/1",
        "session": "one",
        "clean": False,
        "problems": 1,
        "findings": [
            {
                "level": "problem",
                "kind": "torn-tail",
                "where": "main",
                "line": 4,
                "byte": len(data),
                "length": 8,
                "why": "the last line is cut off (8 bytes)",
            }
        ],
        "checked": {"logs": 1, "records": 3, "messages": 2, "blobs": 0, "bytes": len(data) + 8},
        "not_checked": {"plugin_files": 1},
    }


GOOD = turns(5)
BAD_AT = len(join(GOOD[:2]))


@pytest.mark.parametrize(
    ("data", "kind", "line", "byte"),
    [
        (join(GOOD[:2]) + GOOD[2][:40], "torn-tail", 3, BAD_AT),
        (join([*GOOD[:2], GOOD[2][:40], *GOOD[3:]]), "not-json", 3, BAD_AT),
        (join([*GOOD[:2], GOOD[2][:40] + GOOD[2], *GOOD[3:]]), "welded", 3, BAD_AT),
        (join([*GOOD[:2], GOOD[2] + GOOD[3], *GOOD[4:]]), "welded", 3, BAD_AT),
        (join([*GOOD[:2], b"\0" * 9, *GOOD[2:]]), "zeroed", 3, BAD_AT),
        (join([*GOOD[:2], b"\0" * 9 + GOOD[2], *GOOD[3:]]), "zeroed", 3, BAD_AT),
        (join([*GOOD[:2], b"[]", *GOOD[2:]]), "no-record", 3, BAD_AT),
        (join([*GOOD[:2], b"{}", *GOOD[2:]]), "record", 3, BAD_AT),
        (join([*GOOD[:2], GOOD[1], *GOOD[2:]]), "stamp", 3, BAD_AT),
        (join([*GOOD[:2], *GOOD[3:]]), "stamp", 3, BAD_AT),
        (join([*GOOD[:2], record(2, "future_x")]), "unknown-type", 3, BAD_AT),
        (join([*GOOD[:2], record(2, "splice")]), "record", 3, BAD_AT),
        (join([header(format="rig-session/9")]), "format", 1, 0),
        (join([header(log="other")]), "header", 1, 0),
        (join(GOOD[1:3]), "header", 1, 0),
        (join([*GOOD[:2], header()]), "stamp", 3, BAD_AT),
    ],
)
def test_each_damaged_place_is_named_by_log_line_byte_and_kind(
    root: Path, data: bytes, kind: str, line: int, byte: int
) -> None:
    write(root, "one", "main", data)
    before = tree(root)

    found = [each for each in _found("one")["findings"] if each["level"] == "problem"]
    done = run("verify", "one")

    assert (kind, "main", line, byte) in [
        (each["kind"], each["where"], each["line"], each["byte"]) for each in found
    ]
    assert f"problem  one, main, line {line}, byte {byte}: {kind}: " in done.out
    assert done.status == 1
    assert tree(root) == before


def test_a_byte_that_is_not_utf_8_is_named_where_it_stands(root: Path) -> None:
    data = join([*GOOD[:2], GOOD[2].replace(b"text", b"te\xffxt"), *GOOD[3:]])
    write(root, "one", "main", data)

    (found,) = _found("one")["findings"]

    assert (found["kind"], found["byte"]) == ("not-utf8", data.index(b"\xff"))


def test_every_place_is_named_not_the_first_alone(root: Path) -> None:
    lines = turns(30)
    for number in (4, 11, 19, 27):
        lines[number] = lines[number][:25]
    write(root, "one", "main", join(lines))

    found = _found("one")["findings"]

    assert [each["line"] for each in found if each["kind"] == "not-json"] == [5, 12, 20, 28]


def test_a_line_that_is_too_deep_is_said_to_be_unchecked(root: Path) -> None:
    deep = b'{"seq":2,"n":2,"t":1,"type":"push","x":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    write(root, "one", "main", join([*turns(1), deep]))

    (found,) = _found("one")["findings"]

    assert found["kind"] == "too-deep"
    assert "not checked" in found["why"]


def test_pairing_is_checked(root: Path) -> None:
    call: Object = {"type": "toolcall", "id": "c1", "function": {"name": "bash", "arguments": {}}}
    result: Object = {"type": "toolresult", "call": "c9", "name": "bash", "content": []}
    messages: list[Object] = [
        {"role": "assistant", "content": [call]},
        message("user", "go on"),
        {"role": "user", "content": [result]},
    ]
    lines = [header(), *(pushed(seq, value) for seq, value in enumerate(messages, 1))]
    write(root, "one", "main", join(lines))

    whys = [found["why"] for found in _found("one")["findings"]]

    assert any("'c9'" in why and "no call asked for" in why for why in whys)
    assert any("'c1'" in why and "no result answers" in why for why in whys)


def _image(name: str) -> bytes:
    data: Object = {"type": "url", "value": f"blob:{name}"}
    part: Object = {"type": "image", "media_type": "png", "data": data}
    return pushed(1, {"role": "user", "content": [part]})


def test_blobs_are_missing_mismatched_or_unused(root: Path) -> None:
    write(root, "one", "main", join([header(), _image(f"{DIGEST}.png")]))

    assert _kinds() == ["missing-blob"]
    blob = _file(root, f"blobs/{DIGEST}.png", PNG)
    assert _kinds() == []
    blob.write_bytes(b"other")
    assert _kinds() == ["mismatched-blob"]
    blob.write_bytes(PNG)
    _file(root, f"blobs/{hashlib.sha256(b'y').hexdigest()}.bin", b"y")
    assert _kinds() == []
    assert _kinds("notice") == ["unused-blob"]


def test_what_was_set_aside_is_checked_against_its_name(root: Path) -> None:
    write(root, "one", "main", join(turns(1)))
    kept = _file(root, f"recovered/main-{DIGEST}.part", PNG)
    _file(root, "recovered/unfinished-0123456789abcdef0123456789abcdef.part", b"named otherwise")

    assert _kinds() == []
    kept.write_bytes(b"changed")
    assert _kinds() == ["mismatched-recovered"]


@pytest.mark.parametrize("data", [b"\0" * 10, b'{"title":', b"[]", b"{}" + b" " * (1 << 20)])
def test_a_meta_that_cannot_be_read_is_a_problem(root: Path, data: bytes) -> None:
    write(root, "one", "main", join(turns(1)))
    write_meta(root, "one", data)

    assert _kinds() == ["meta"]


def test_a_stale_meta_is_a_notice(root: Path) -> None:
    ok("new", "one")
    write(root, "one", "main", join(turns(1)))

    assert _kinds() == []
    assert _kinds("notice") == ["stale-meta"]


def test_leftovers_and_an_unfinished_change_are_named(root: Path) -> None:
    path = write(root, "one", "main", join(turns(1)))
    (path.parent / f".agentmem-{'0' * 32}.rig-part").write_bytes(b"")
    (root / "one" / ".agentmem.redo").write_bytes(b"x")
    before = tree(root)

    assert set(_kinds()) == {"unfinished-change", "leftover"}
    assert tree(root) == before


@pytest.mark.skipif(os.name == "nt", reason="modes say nothing there")
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the next change removes it"),
        (bytes(5000), "the next change drops it"),
        (b'{"format":"agentmem-redo/1","key":"00"}', "the next change drops it"),
    ],
)
def test_a_redo_file_that_is_not_whole_is_named_once_and_called_what_becomes_of_it(
    root: Path, data: bytes, why: str
) -> None:
    write(root, "one", "main", join(turns(2)))
    (root / "one/.agentmem.redo").write_bytes(data)

    (told,) = run("verify", "one", "--json").object["findings"]
    ok("append", "one", "--role", "user", stdin=b"next")

    assert told["kind"] == "unfinished-change"
    assert why in told["why"]
    assert _kinds() == []


def test_loose_modes_are_named_one_by_one(root: Path) -> None:
    path = write(root, "one", "main", join(turns(1)))
    for place in (path, path.parent, root / "one"):
        place.chmod(0o755)

    where = [found["where"] for found in _found("one")["findings"]]

    assert where == [".", "logs", "logs/main.jsonl"]


def test_links_and_strangers_are_not_passed_over_in_silence(root: Path, tmp_path: Path) -> None:
    path = write(root, "one", "main", join(turns(1)))
    (path.parent / "linked.jsonl").symlink_to(path)
    (path.parent / "notes.txt").write_text("x")
    (path.parent / "folder").mkdir(0o700)
    (path.parent / "x\x1b.jsonl").write_text("x")
    _file(root, "blobs/x", b"x").unlink()
    (root / "one" / "files" / "plugins").symlink_to(tmp_path)

    found = [(each["kind"], each["where"]) for each in _found("one")["findings"]]

    assert set(found) == {
        ("link", "files/plugins"),
        ("link", "logs/linked.jsonl"),
        ("stray", "logs/folder"),
        ("stray", "logs/notes.txt"),
        ("bad-name", "logs/x\x1b.jsonl"),
    }
    assert set(_kinds()) == {"link", "bad-name"}


def test_logs_behind_a_link_are_not_called_clean(root: Path, tmp_path: Path) -> None:
    write(tmp_path, "away", "main", join(turns(1)))
    (root / "one").mkdir(0o700, parents=True)
    (root / "one" / "files").mkdir(0o700)
    (root / "one" / "logs").symlink_to(tmp_path / "away" / "logs")

    assert set(_kinds()) == {"link", "unreadable"}


def test_all_sessions_are_checked_where_none_is_named(root: Path) -> None:
    write(root, "good", "main", join(turns(1)))
    write(root, "one", "main", join([header(), b"junk", said(1, "x")]))
    (root / "ancient").mkdir()
    (root / "ancient" / "main.jsonl").write_bytes(join(turns(1)))

    done = run("verify", "--json")

    assert done.status == 1
    assert {value["session"]: value["clean"] for value in done.objects} == {
        "ancient": False,
        "good": True,
        "one": False,
    }
    assert run("verify", "good", "one").status == 1
    assert run("verify", "good").status == 0


def test_no_session_at_all_says_that_nothing_was_checked(root: Path) -> None:
    done = ok("verify")

    assert done.out == ""
    assert "nothing was checked" in done.err


def test_an_unknown_session_is_not_found(root: Path) -> None:
    assert run("verify", "nobody").status == 3


def test_a_parent_without_a_log_is_a_notice(root: Path) -> None:
    write(root, "one", "aide", join([header("aide", parent="gone")]))

    assert _kinds() == []
    assert _kinds("notice") == ["missing-parent"]


def test_a_conversation_in_the_sessions_own_log_is_a_problem(root: Path) -> None:
    write(root, "one", "session", join([header("session"), said(1, "x")]))

    assert _kinds() == ["stray-conversation"]


def test_checking_changes_nothing_at_all(root: Path) -> None:
    write(root, "one", "main", join(turns(3))[:-9])
    write_meta(root, "one", b"\0\0")
    _file(root, f"recovered/main-{DIGEST}.part", b"x")
    before = tree(root)

    run("verify")
    run("verify", "one", "--json")

    assert tree(root) == before


@pytest.mark.parametrize("left", [b"", None])
def test_a_log_that_is_gone_or_emptied_is_a_problem(root: Path, left: bytes | None) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"hello")
    path = root / "one" / "logs" / "main.jsonl"
    if left is None:
        path.unlink()
    else:
        path.write_bytes(left)

    done = run("verify", "one", "--json")

    assert done.status == 1
    assert _kinds() == ["lost-log" if left is None else "shorter-log"]


def test_a_log_that_lost_its_last_lines_is_a_problem(root: Path) -> None:
    ok("new", "one")
    for text in (b"one", b"two", b"three"):
        ok("append", "one", "--role", "user", stdin=text)
    path = root / "one" / "logs" / "main.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))

    assert _kinds() == ["shorter-log"]


def test_a_log_that_another_program_rewrote_may_be_shorter(root: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"a secret that is long enough to be missed")
    path = root / "one" / "logs" / "main.jsonl"
    lines = join(turns(1)).splitlines(keepends=True)
    lines[0] = lines[0].replace(b'"lineage":', b'"rewrites":[{"t":5}],"lineage":')
    path.write_bytes(b"".join(lines))

    assert _kinds() == []


def test_a_map_that_was_cut_is_a_problem(root: Path, tmp_path: Path) -> None:
    source = tmp_path / "talk.jsonl"
    source.write_text(
        '{"type":"session","version":3,"id":"s1","timestamp":"2026-05-05T11:20:00.000Z"}\n'
        '{"type":"message","id":"aa00bb01","parentId":null,'
        '"timestamp":"2026-05-05T11:20:01.000Z","message":{"role":"user","content":"hello"}}\n'
    )
    ok("import", str(source))
    assert _kinds_of("pi-s1") == []
    path = next((root / "pi-s1" / "files" / "plugins" / "import").glob("*.map.jsonl"))
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])

    assert _kinds_of("pi-s1") == ["bad-map"]


def test_a_kept_source_without_its_map_is_told(root: Path, tmp_path: Path) -> None:
    source = tmp_path / "talk.jsonl"
    source.write_text(
        '{"type":"session","version":3,"id":"s1","timestamp":"2026-05-05T11:20:00.000Z"}\n'
        '{"type":"message","id":"aa00bb01","parentId":null,'
        '"timestamp":"2026-05-05T11:20:01.000Z","message":{"role":"user","content":"hello"}}\n'
    )
    ok("import", str(source))
    next((root / "pi-s1/files/plugins/import").glob("*.map.jsonl")).unlink()

    findings = ok("verify", "pi-s1", "--json").object["findings"]

    assert [(each["level"], each["kind"], each["where"]) for each in findings] == [
        ("notice", "missing-map", "plugins/import/talk.jsonl")
    ]
    assert run("import", str(source)).status == 4


def _kinds_of(session: str) -> list[str]:
    findings = run("verify", session, "--json").object["findings"]
    return [found["kind"] for found in findings if found["level"] == "problem"]


@pytest.mark.parametrize("command", ["verify", "stats"])
def test_all_means_what_no_name_means_and_goes_with_none(root: Path, command: str) -> None:
    write(root, "one", "main", join(turns(2)))
    write(root, "two", "main", join(turns(2)))

    assert ok(command, "--all", "--json").stdout == ok(command, "--json").stdout
    assert len(ok(command, "--all", "--json").objects) >= 2
    assert run(command, "one", "--all").status == 2


def test_a_meta_that_must_not_be_read_is_called_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"x")
    real = os.open

    def refused(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if str(path).endswith("meta.json"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr("os.open", refused)
        done = run("verify", "one", "--json")
        listed = ok("list", "--json").object

    (told,) = done.object["findings"]
    assert (done.status, told["kind"]) == (1, "meta")
    assert told["why"] == "it cannot be read: Permission denied; the logs tell the same"
    assert listed["messages"] == 1


@pytest.mark.parametrize("closed", ["files", "logs"])
def test_a_folder_that_must_not_be_read_is_named_once_and_keeps_nothing_else_from_a_look(
    root: Path, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        ok("new", name)
        ok("append", name, "--role", "user", stdin=b"x")
    real = os.open

    def refused(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None and path == closed and os.fstat(dir_fd).st_ino == inode:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path, flags, mode, dir_fd=dir_fd)

    inode = (root / "one").stat().st_ino
    with monkeypatch.context() as patched:
        patched.setattr("os.open", refused)
        done = run("verify", "--json")

    assert done.status == 1
    one, two = done.objects
    assert ("unreadable", closed) in {(each["kind"], each["where"]) for each in one["findings"]}
    assert len([each for each in one["findings"] if each["kind"] == "unreadable"]) == 1
    assert (two["session"], two["clean"]) == ("two", True)


@pytest.mark.parametrize("closed", [("one",), ("one", "two")])
def test_a_look_at_many_counts_what_could_not_be_read_as_that(
    root: Path, closed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        ok("new", name)
        ok("append", name, "--role", "user", stdin=b"x")
    real = os.open
    inodes = {(root / name / "logs").stat().st_ino for name in closed}

    def refused(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None and os.fstat(dir_fd).st_ino in inodes:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr("os.open", refused)
        scanned = run("scan", "--all", "--no-rules", "--literals", "-", stdin=b"secret")
        found = run("grep", "nothing")

    told = "1 session could not be read" if len(closed) == 1 else "2 sessions could not be read"
    assert scanned.status == found.status == 2
    assert told in scanned.err.splitlines()[-1]
    assert told in found.err.splitlines()[-1]
    assert ("nothing found" in scanned.err) == (len(closed) == 1)


@pytest.mark.parametrize("closed", ["files", "files/blobs", "files/plugins"])
def test_a_folder_that_cannot_be_read_is_named_and_stops_nothing_else(
    root: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    for name in ("one", "two"):
        write(root, name, "main", join([*turns(1), pushed(2, _picture(), id_=7)]))
        (root / name / closed).mkdir(mode=0o700, parents=True, exist_ok=True)
    before = [each["kind"] for each in run("verify", "two", "--json").object["findings"]]
    real = os.scandir
    folder = root / "one" / closed
    inside = folder.stat()

    def scandir(place: str | int = ".") -> object:
        if os.path.samestat(os.stat(place), inside):  # noqa: PTH116 - it may be a descriptor
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return real(place)

    monkeypatch.setattr(os, "scandir", scandir)
    done = run("verify", "--json")

    first, second = done.objects[:2]
    assert done.status == 1
    assert [each["kind"] for each in first["findings"] if each["level"] == "problem"] == [
        "unreadable"
    ]
    assert first["findings"][0]["where"] == closed
    assert [each["kind"] for each in second["findings"]] == before
    assert "missing-blob" in before


def _picture() -> Object:
    data: Object = {"type": "url", "value": "blob:" + "1" * 64 + ".png"}
    return {"role": "user", "content": [{"type": "image", "data": data}]}
