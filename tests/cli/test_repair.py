"""`repair`: sets aside, never deletes; after it verify is clean and a second one does nothing."""

from __future__ import annotations

import errno
import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.codec import dumps, loads, loads_object
from agentmem_cli.session.reader import fold_log, load
from agentmem_cli.session.session import Session
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.locks import held
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
from tests.unit.imports import building

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object
    from tests.cli.running import Value

GOOD = turns(5)
PNG = b"\x89PNG\r\n\x1a\nx"
DIGEST = hashlib.sha256(PNG).hexdigest()
BLOB = f"{DIGEST}.png"


def mended(*words: str) -> Value:
    """What a repair came to, what is lost among what it did."""
    done = run("repair", "one", "--force", "--json", *words).object
    return {**done, "mended": [*done["mended"], *done["lost"]]}


def kinds(*words: str) -> list[str]:
    """The kinds of what is mended, but for the meta, which a log written here has not got."""
    return [each["kind"] for each in mended(*words)["mended"] if each["kind"] != "meta"]


def problems() -> list[str]:
    found = run("verify", "one", "--json").object["findings"]
    return [each["kind"] for each in found if each["level"] == "problem"]


def notices() -> list[str]:
    found = run("verify", "one", "--json").object["findings"]
    return [each["kind"] for each in found if each["level"] == "notice"]


def aside(root: Path) -> list[bytes]:
    """What was set aside."""
    folder = root / "one" / "files" / "recovered"
    return [path.read_bytes() for path in sorted(folder.glob("*"))]


def texts(root: Path) -> list[str]:
    return [entry.message.text for entry in load(DirStore.open(root / "one"), "main").entries]


def lost(root: Path) -> list[Object]:
    """The values of the side records that stand in lost places."""
    found = load(DirStore.open(root / "one"), "main").asides.values()
    values = [each.value for each in found if each.kind == "agentmem.lost"]
    return [value for value in values if isinstance(value, dict)]


def spliced(seq: int, removed: int, *, from_: int = 0) -> bytes:
    fields: dict[str, JSON] = {"from": from_, "to": from_ + 1, "removed": [removed], "with": []}
    return dumps({"seq": seq, "n": seq, "t": at(seq), "type": "splice", **fields})


CASES: dict[str, tuple[bytes, list[str], list[str], int]] = {
    "torn": (join(GOOD[:2]) + GOOD[2][:40], ["torn-tail"], ["text 1"], 0),
    "torn of zeros": (join(GOOD[:2]) + b"\0" * 4096, ["torn-tail"], ["text 1"], 0),
    "cut in the middle": (
        join([*GOOD[:2], GOOD[2][:40], *GOOD[3:]]),
        ["set-aside", "lost-record"],
        ["text 1", "text 3", "text 4", "text 5"],
        1,
    ),
    "cut twice": (
        join([*GOOD[:2], GOOD[2][:40], GOOD[3], GOOD[4][:9], GOOD[5]]),
        ["set-aside", "lost-record"],
        ["text 1", "text 3", "text 5"],
        2,
    ),
    "cut and glued to a whole one": (
        join([*GOOD[:2], GOOD[2][:40] + GOOD[2], *GOOD[3:]]),
        ["set-aside", "salvaged"],
        ["text 1", "text 2", "text 3", "text 4", "text 5"],
        0,
    ),
    "two on a line": (
        join([*GOOD[:2], GOOD[2] + GOOD[3], *GOOD[4:]]),
        ["salvaged"],
        ["text 1", "text 2", "text 3", "text 4", "text 5"],
        0,
    ),
    "zeros between": (
        join([*GOOD[:2], b"\0" * 512, *GOOD[2:]]),
        ["set-aside"],
        ["text 1", "text 2", "text 3", "text 4", "text 5"],
        0,
    ),
    "zeros in front": (
        join([*GOOD[:2], b"\0" * 300 + GOOD[2], *GOOD[3:]]),
        ["set-aside", "salvaged"],
        ["text 1", "text 2", "text 3", "text 4", "text 5"],
        0,
    ),
    "no record": (join([*GOOD[:2], b"[]", *GOOD[2:3]]), ["set-aside"], ["text 1", "text 2"], 0),
    "a line is gone": (join([*GOOD[:2], *GOOD[3:4]]), ["lost-record"], ["text 1", "text 3"], 1),
    "a field is gone": (
        join([*GOOD[:2], record(2, "splice"), *GOOD[3:4]]),
        ["set-aside", "lost-record"],
        ["text 1", "text 3"],
        1,
    ),
    "twice, byte for byte": (
        join([*GOOD[:3], *GOOD[1:]]),
        ["set-aside", "copy"],
        ["text 1", "text 2", "text 3", "text 4", "text 5"],
        0,
    ),
    "a stamp is wrong": (
        join([*GOOD[:2], said(9, "text 2", "assistant", id_=1, n=2), *GOOD[3:4]]),
        ["set-aside", "stamp"],
        ["text 1", "text 2", "text 3"],
        0,
    ),
    "the header is lost": (join(GOOD[1:3]), ["header"], ["text 1", "text 2"], 0),
    "the header is of another log": (
        join([header("other"), *GOOD[1:2]]),
        ["set-aside", "header"],
        ["text 1"],
        0,
    ),
    "a byte is not UTF-8": (
        join([*GOOD[:2], GOOD[2].replace(b"text 2", b"te\xffxt 2"), *GOOD[3:4]]),
        ["set-aside"],
        ["text 1", "te\ufffdxt 2", "text 3"],
        0,
    ),
    "a byte order mark": (
        b"\xef\xbb\xbf" + join(GOOD[:2]),
        ["set-aside", "salvaged"],
        ["text 1"],
        0,
    ),
    "too deep": (
        join([*GOOD[:2], b'{"seq":2,"n":2,"t":1,"x":' + b"[" * 9_000 + b"]" * 9_000 + b"}"]),
        ["set-aside", "lost-record"],
        ["text 1"],
        1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_damage_is_set_aside_and_whole_records_stay(root: Path, name: str) -> None:
    data, wanted, left, places = CASES[name]
    write(root, "one", "main", data)
    before = problems()

    plan = mended("--dry-run")
    same = (root / "one" / "logs" / "main.jsonl").read_bytes()
    done = mended()
    after = tree(root)
    again = mended()

    assert before
    assert same == data
    assert plan["mended"] == done["mended"]
    assert sorted(each["kind"] for each in done["mended"]) == sorted([*wanted, "meta"])
    assert done["left"] == []
    assert problems() == []
    assert texts(root) == left
    assert len(lost(root)) == places
    assert again["mended"] == []
    assert {name: seen for name, seen in tree(root).items() if name != "one/.rig-memory.lock"} == {
        name: seen for name, seen in after.items() if name != "one/.rig-memory.lock"
    }


def test_a_lost_place_says_where_its_bytes_are(root: Path) -> None:
    cut = [GOOD[2][:60], GOOD[4][:50]]
    write(root, "one", "main", join([*GOOD[:2], cut[0], GOOD[3], cut[1], GOOD[5]]))

    (told,) = [each for each in mended()["mended"] if each["kind"] == "set-aside"]

    (kept,) = aside(root)
    values = lost(root)
    assert kept == cut[0] + b"\n" + cut[1]
    assert told["file"] == f"recovered/main-{hashlib.sha256(kept).hexdigest()}.part"
    found = []
    for value in values:
        begin, size = value["at"], value["bytes"]
        assert isinstance(begin, int)
        assert isinstance(size, int)
        assert value["file"] == told["file"]
        found.append(kept[begin : begin + size])
    assert found == cut


def test_a_lost_place_keeps_the_stamp_that_the_cut_record_has(root: Path) -> None:
    lines = [header(), said(1, "a", n=10), said(2, "b", n=20, t=7)[:40], said(3, "c", id_=1, n=90)]
    write(root, "one", "main", join(lines))

    mended()

    stamps: list[tuple[JSON, JSON, JSON]] = []
    fold_log(
        DirStore.open(root / "one"),
        "main",
        on_record=lambda line, _: stamps.append(
            (line.fields["seq"], line.fields["n"], line.fields["t"])
        ),
    )
    assert stamps[2] == (2, 20, 7)
    assert [stamp[1] for stamp in stamps] == [0, 10, 20, 90]


def test_side_records_of_lost_places_take_no_id_that_another_has(root: Path) -> None:
    note: Object = {"kind": "note", "author": {"kind": "rig"}}
    lines = [*GOOD[:2], GOOD[2][:9], record(3, "aside", id=0, aside=note)]
    write(root, "one", "main", join(lines))

    mended()

    asides = load(DirStore.open(root / "one"), "main").asides
    assert {id_: each.kind for id_, each in asides.items()} == {1: "agentmem.lost", 0: "note"}


def test_a_change_that_does_not_apply_becomes_a_reset_to_what_stands(root: Path) -> None:
    lines = [*GOOD[:2], GOOD[2][:9], spliced(3, 1, from_=1), said(4, "last", id_=3)]
    write(root, "one", "main", join(lines))

    wanted = kinds()

    data = (root / "one" / "logs" / "main.jsonl").read_bytes()
    assert wanted == ["set-aside", "reset", "lost-record"]
    assert data.splitlines()[3].startswith(b'{"seq":3,"n":3,"t":')
    assert b'"type":"reset"' in data.splitlines()[3]
    assert texts(root) == ["text 1", "last"]
    assert lines[3] in b"".join(aside(root))


def test_two_records_of_one_stamp_stay_and_are_named(root: Path) -> None:
    data = join([*GOOD[:3], said(2, "other", id_=9), *GOOD[3:]])
    write(root, "one", "main", data)

    plan = run("repair", "one", "--force", "--dry-run", "--json")
    done = run("repair", "one", "--force", "--json")
    again = run("repair", "one", "--force", "--json")
    verified = run("verify", "one", "--json")

    assert (root / "one" / "logs" / "main.jsonl").read_bytes() == data
    assert {done.status for done in (plan, done, again, verified)} == {1}
    assert plan.object["left"] == done.object["left"] == again.object["left"]
    assert [left["kind"] for left in done.object["left"]] == ["stamp"]
    assert done.object["left"][0]["why"].startswith(verified.object["findings"][0]["why"])
    assert problems() == ["stamp"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [(record(2, "future_x"), "unknown-type"), (header(format="rig-session/9"), "format")],
)
def test_a_log_of_a_newer_program_is_left_as_it_is(root: Path, line: bytes, kind: str) -> None:
    data = join([line] if kind == "format" else [*GOOD[:2], line, b"junk", *GOOD[3:]])
    write(root, "one", "main", data)

    done = run("repair", "one", "--force", "--json")

    assert done.status == 1
    assert kind in [left["kind"] for left in done.object["left"]]
    assert (root / "one" / "logs" / "main.jsonl").read_bytes() == data


def test_unknown_types_are_set_aside_where_that_is_asked_for(root: Path) -> None:
    write(root, "one", "main", join([*GOOD[:2], record(2, "future_x"), *GOOD[3:]]))

    wanted = kinds("--set-aside-unknown")

    assert wanted == ["set-aside", "lost-record"]
    assert problems() == []
    assert aside(root) == [record(2, "future_x")]


def test_a_piece_of_what_somebody_said_is_no_record(root: Path) -> None:
    inner: Object = {"seq": 3, "n": 3, "t": 1, "type": "push", "entries": []}
    outer = pushed(2, {"role": "user", "content": [], "x": inner}, id_=1)
    write(root, "one", "main", join([*GOOD[:2], outer[:-9], *GOOD[3:]]))

    mended()

    assert texts(root) == ["text 1", "text 3", "text 4", "text 5"]
    assert aside(root)[0].startswith(b'{"seq":2')
    assert problems() == []


def test_of_a_piece_and_a_whole_record_of_one_stamp_in_a_line_the_whole_one_stays(
    root: Path,
) -> None:
    stub = b'{"seq":2,"n":2,"t":1,"type":"push"},"id":1}]}'
    glued = GOOD[1] + stub + GOOD[2] + b',"id'
    write(root, "one", "main", join([GOOD[0], glued, *GOOD[3:]]))

    mended()

    assert texts(root) == [f"text {each}" for each in range(1, 6)]
    assert problems() == []


def test_a_mended_log_gets_a_fresh_lineage_and_a_torn_end_alone_does_not(root: Path) -> None:
    write(root, "one", "main", join([*GOOD[:2], b"junk", *GOOD[2:]]))
    write(root, "one", "other", join(turns(2, "other")) + b"torn")

    mended()

    store = DirStore.open(root / "one")
    assert load(store, "main").lineage != 7_000_001
    assert load(store, "other").lineage == 7_000_001
    header_of = fold_log(store, "main").header
    assert header_of is not None
    assert header_of.rewrites == ()
    assert len(header_of.extra["agentmem.repairs"]) == 1  # type: ignore[arg-type]


def test_lines_that_nothing_is_wrong_with_keep_their_bytes(root: Path) -> None:
    spaced = GOOD[2].replace(b'"seq":2,', b'"seq" : 2, "more":1.10,') + b" \r"
    write(root, "one", "main", join([GOOD[0], GOOD[1], b"", spaced, b"junk", *GOOD[3:]]))

    mended()

    data = (root / "one" / "logs" / "main.jsonl").read_bytes()
    assert join([GOOD[1], b"", spaced, *GOOD[3:]]) in data


# -- what is no log ----------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 1_043, b'{"title":"x","labels":{"k', b'{"labels":{"k":"v"}}' + b"\0" * 200],
)
def test_a_bad_meta_is_set_aside_and_made_anew(root: Path, data: bytes) -> None:
    write(root, "one", "main", join(turns(3)))
    write_meta(root, "one", data)

    (told,) = mended()["mended"]

    assert told["kind"] == "meta"
    assert (told["file"] is not None) == bool(data)
    assert aside(root) == ([data] if data else [])
    assert problems() == []
    assert ok("list", "--json").object["messages"] == 3


def test_a_meta_that_is_too_large_is_set_aside_unread(root: Path) -> None:
    write(root, "one", "main", join(turns(3)))
    path = write_meta(root, "one", b"{}")
    os.truncate(path, 40 << 20)

    kinds()

    (kept,) = (root / "one" / "files" / "recovered").glob("meta.json-*.part")
    assert kept.stat().st_size == 40 << 20
    assert problems() == []


def test_a_log_that_is_gone_is_told_as_a_notice_from_then_on(root: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"x")
    ok("append", "one", "--agent", "aide", "--role", "user", stdin=b"x")
    (root / "one" / "logs" / "aide.jsonl").unlink()
    before = problems()

    wanted = [each["kind"] for each in mended()["mended"]]

    assert before == ["lost-log"]
    assert wanted == ["meta", "lost-log"]
    assert problems() == []
    assert "lost-log" in notices()
    assert mended()["mended"] == []


@pytest.mark.parametrize(
    ("keep", "kind", "told"),
    [(None, "lost-log", "all of its "), (2, "shorter-log", "bytes are gone; ")],
)
def test_what_is_lost_is_never_called_mended_and_ends_with_1_the_first_time(
    root: Path, keep: int | None, kind: str, told: str
) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"x")
    ok("append", "one", "--role", "assistant", stdin=b"y")
    path = root / "one" / "logs" / "main.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:keep]))
    if keep is None:
        path.unlink()

    plan = run("repair", "one", "--force", "--dry-run", "--json")
    done = run("repair", "one", "--force", "--json")
    again = run("repair", "one", "--force", "--json")

    assert (plan.status, done.status, again.status) == (1, 1, 0)
    assert plan.object["lost"] == done.object["lost"]
    assert [(each["kind"], told in each["why"]) for each in done.object["lost"]] == [(kind, True)]
    assert kind not in {each["kind"] for each in done.object["mended"]}
    assert again.object["lost"] == []
    assert (problems(), notices()) == ([], [kind])


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_line_end_that_was_lost_alone_is_put_back_and_nothing_is_called_lost(
    root: Path, at: int
) -> None:
    ok("new", "one")
    for text in (b"x", b"y", b"z"):
        ok("append", "one", "--role", "user", stdin=text)
    path = root / "one" / "logs" / "main.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:at], lines[at][:-1], *lines[at + 1 :]]))

    done = run("repair", "one", "--force", "--json")

    assert done.status == 0
    assert {each["kind"] for each in done.object["mended"]} == {"salvaged", "meta"}
    assert done.object["lost"] == []
    assert (problems(), notices()) == ([], [])
    assert path.read_bytes().splitlines(keepends=True)[1:] == lines[1:]


def _with_image(root: Path, data: bytes | None) -> Path:
    part: Object = {
        "type": "image",
        "media_type": "png",
        "data": {"type": "url", "value": f"blob:{BLOB}"},
    }
    write(root, "one", "main", join([header(), pushed(1, {"role": "user", "content": [part]})]))
    path = root / "one" / "files" / "blobs" / BLOB
    path.parent.mkdir(mode=0o700, parents=True)
    if data is not None:
        path.write_bytes(data)
        path.chmod(0o600)
    return path


def test_a_lost_image_is_noted_in_the_log_and_a_notice_from_then_on(root: Path) -> None:
    path = _with_image(root, None)
    before = problems()

    wanted = kinds()

    assert before == ["missing-blob"]
    assert wanted == ["missing-blob"]
    assert lost(root) == [{"blobs": [BLOB]}]
    assert (problems(), notices()) == ([], ["missing-blob"])
    assert mended()["mended"] == []
    path.write_bytes(PNG)
    path.chmod(0o600)
    assert (problems(), notices()) == ([], [])


def test_a_blob_with_other_bytes_is_set_aside_and_then_lost(root: Path) -> None:
    path = _with_image(root, b"other")

    wanted = kinds()

    assert wanted == ["mismatched-blob", "missing-blob"]
    assert not path.exists()
    assert aside(root) == [b"other"]
    assert problems() == []
    assert Session.read(DirStore.open(root / "one")).repairs


def test_a_recovered_file_is_called_by_the_bytes_that_it_has(root: Path) -> None:
    write(root, "one", "main", join(turns(1)))
    folder = root / "one" / "files" / "recovered"
    folder.mkdir(mode=0o700, parents=True)
    (folder / f"main-{'0' * 64}.part").write_bytes(b"torn")
    (folder / f"main-{'0' * 64}.part").chmod(0o600)

    kinds()

    digest = hashlib.sha256(b"torn").hexdigest()
    assert [path.name for path in folder.iterdir()] == [f"main-{digest}.part"]
    assert problems() == []


def test_leftovers_go_and_modes_are_tightened_where_that_is_asked_for(root: Path) -> None:
    path = write(root, "one", "main", join(turns(1)))
    part = path.with_name("main.jsonl.rig-part")
    trash = root / "one" / "files" / "x.rig-trash"
    trash.mkdir(parents=True, mode=0o700)
    (trash / "y").write_bytes(b"")
    part.write_bytes(b"half")
    for loose in (root / "one", path.parent, path):
        loose.chmod(0o755)

    first = run("repair", "one", "--force", "--json")
    plan = mended("--tighten", "--dry-run")
    second = mended("--tighten")

    assert not part.exists()
    assert not trash.exists()
    assert [each["kind"] for each in first.object["mended"]].count("leftover") == 2
    assert first.status == 1
    assert {left["kind"] for left in first.object["left"]} == {"loose-mode"}
    assert plan["mended"] == second["mended"]
    assert problems() == []
    assert path.stat().st_mode & 0o777 == 0o700


def test_a_result_whose_call_may_be_lost_is_a_notice(root: Path) -> None:
    call: Object = {"type": "toolcall", "id": "c1", "function": {"name": "ls", "arguments": {}}}
    result: Object = {"type": "toolresult", "call": "c1", "name": "ls", "content": []}
    lines = [
        *turns(1),
        pushed(2, {"role": "assistant", "content": [call]})[:50],
        pushed(3, {"role": "user", "content": [result]}),
    ]
    write(root, "one", "main", join(lines))

    kinds()

    assert problems() == []
    assert "unasked-result" in notices()


def test_a_busy_session_is_refused_as_it_is(root: Path) -> None:
    write(root, "one", "main", join([*GOOD[:2], b"junk", *GOOD[2:]]))
    written = run("repair", "one")
    before = (root / "one" / "logs" / "main.jsonl").read_bytes()
    with held(str(root / "one"), 1.0):
        import threading

        done: list[int] = []
        words = ("--lock-wait", "0", "repair", "one", "--force", "--json")
        thread = threading.Thread(target=lambda: done.append(run(*words).status))
        thread.start()
        thread.join()

    assert written.status == 4
    assert "another program wrote" in written.err
    assert done == [4]
    assert (root / "one" / "logs" / "main.jsonl").read_bytes() == before


def test_all_means_all_and_one_that_fails_does_not_hide_the_others(root: Path) -> None:
    for name in ("one", "two"):
        write(root, name, "main", join([*GOOD[:2], b"junk", *GOOD[2:]]))
    (root / "old").mkdir(mode=0o700)
    (root / "old" / "main.jsonl").write_bytes(b"{}\n")

    done = run("repair", "--all", "--force", "--json")
    neither = run("repair")

    assert done.status == 2
    assert [value["session"] for value in done.objects] == ["old", "one", "two"]
    assert done.objects[0]["schema"] == "agentmem.failed/1"
    assert neither.status == 2
    assert "--all" in neither.err


def test_the_text_says_what_was_done_and_what_is_left(root: Path) -> None:
    write(root, "one", "main", join([*GOOD[:2], GOOD[2][:40], *GOOD[3:]]))
    write(root, "two", "main", join([*GOOD[:3], said(2, "other", id_=9), *GOOD[3:]]))

    one = run("repair", "one", "--force")
    two = run("repair", "two", "--force")

    assert "mended  one, main: set-aside: 40 bytes were set aside in files/recovered/" in one.out
    assert "one: 2 things mended, 1 thing lost\n" in one.out
    assert "\nlost  one, main: lost-record: " in one.out
    assert "left  two, main: stamp: seq 2 follows 2; the records stay as they are" in two.out
    assert (one.status, two.status) == (1, 1)


# -- with imports ------------------------------------------------------------


def _imported(tmp_path: Path) -> tuple[Path, str]:
    lines = (building.user(number, f"text {number}") for number in (1, 2, 3))
    source = building.put(tmp_path / "a.jsonl", building.lines(building.header(), *lines))
    ok("import", source)
    return source, f"pi-{building.SESSION_ID}"


def test_an_import_goes_on_with_a_mended_session_that_lost_nothing(
    root: Path, tmp_path: Path
) -> None:
    source, session = _imported(tmp_path)
    path = root / session / "logs" / "main.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], b"\0" * 99 + b"\n", *lines[3:]]))

    ok("repair", session, "--force")
    source.write_bytes(source.read_bytes() + building.lines(building.user(4, "text 4")))
    done = ok("import", source, "--json").object

    assert done["new"] == 1
    assert ok("verify", session, "--json").object["findings"] == []


def test_what_a_map_names_and_the_log_says_is_lost_is_a_notice(root: Path, tmp_path: Path) -> None:
    _, session = _imported(tmp_path)
    path = root / session / "logs" / "main.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    at_ = next(index for index, line in enumerate(lines) if b"text 2" in line)
    path.write_bytes(b"".join([*lines[:at_], lines[at_][:50] + b"\n", *lines[at_ + 1 :]]))

    assert run("repair", session, "--force").status == 1
    found = ok("verify", session, "--json").object["findings"]

    assert "lost-record" in [each["kind"] for each in found]


@pytest.mark.parametrize("gone", [("text 1",), ("text 2",), ("text 1", "text 2"), ("text 3",)])
def test_a_message_that_a_mended_session_lost_comes_back_to_its_place_from_its_source(
    root: Path, tmp_path: Path, gone: tuple[str, ...]
) -> None:
    source, session = _imported(tmp_path)
    path = root / session / "logs" / "main.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    cut = [
        line[:60] + b"\n" if any(text.encode() in line for text in gone) else line for line in lines
    ]
    path.write_bytes(b"".join(cut))
    run("repair", session, "--force")
    source.write_bytes(source.read_bytes() + building.lines(building.user(4, "text 4")))

    done = ok("import", source, "--json").object
    again = ok("import", source, "--json").object

    entries = load(DirStore.open(root / session), "main").entries
    assert [entry.message.text for entry in entries] == [f"text {each}" for each in (1, 2, 3, 4)]
    assert len({entry.id for entry in entries}) == 4
    assert done["restored"] == len(gone)
    assert (again["new"], again["restored"]) == (0, 0)
    assert run("verify", session, "--json").object["problems"] == 0
    assert ok("list", "--json").object["messages"] == 4


def test_kept_sources_are_compared_with_their_maps(root: Path, tmp_path: Path) -> None:
    _, session = _imported(tmp_path)
    kept = root / session / "files" / "plugins" / "import" / "a.jsonl"
    sound = ok("verify", session, "--json").object
    kept.write_bytes(kept.read_bytes().replace(b"text 2", b"text 9"))

    found = run("verify", session, "--json").object

    assert sound["not_checked"] == {"plugin_files": 0}
    assert [(each["kind"], each["where"]) for each in found["findings"]] == [
        ("bad-map", "plugins/import/a.jsonl")
    ]


# -- hostile sessions --------------------------------------------------------


def test_nothing_is_set_aside_through_a_link(root: Path, tmp_path: Path) -> None:
    data = join([*GOOD[:2], b"junk", *GOOD[2:]])
    write(root, "one", "main", data)
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "one" / "files").mkdir(mode=0o700)
    (root / "one" / "files" / "recovered").symlink_to(outside)

    done = run("repair", "one", "--force")

    assert done.status == 0
    assert list(outside.iterdir()) == []
    assert (root / "one" / "files" / "recovered").is_dir()
    assert (root / "one" / "logs" / "main.jsonl").read_bytes() != data


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_links_and_pipes_among_logs_and_files_stay_and_are_told(root: Path, tmp_path: Path) -> None:
    write(root, "one", "main", join(turns(1)))
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes(b"junk\njunk\n")
    (root / "one" / "logs" / "link.jsonl").symlink_to(secret)
    os.mkfifo(root / "one" / "logs" / "pipe.jsonl", mode=0o600)

    done = run("repair", "one", "--force", "--json")

    assert secret.read_bytes() == b"junk\njunk\n"
    assert {left["kind"] for left in done.object["left"]} == {"link", "no-file"}
    assert done.status == 1


def test_of_several_sessions_an_error_says_what_it_leaves_behind(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        error = OSError(errno.EROFS, os.strerror(errno.EROFS), "x")
        error.add_note("the next command on this session finishes it")
        raise error

    for name in ("one", "two"):
        write(root, name, "main", join([*GOOD[:2], b"junk", *GOOD[2:]]))
    monkeypatch.setattr("agentmem_cli.operations.repairing.repair", refused)

    plain = run("repair", "--all", "--force")
    told = run("repair", "--all", "--force", "--json")

    assert plain.err.count("the next command on this session finishes it") == 2
    assert "next command" in told.objects[0]["error"]["message"]


def test_a_link_called_as_trash_goes_alone_and_a_folder_called_as_a_part_stays(
    root: Path, tmp_path: Path
) -> None:
    logs = write(root, "one", "main", join(turns(2)) + b"torn").parent
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a").write_bytes(b"a")
    (logs / "x.rig-trash").symlink_to(tmp_path / "mine")
    (logs / "m.jsonl.rig-part").mkdir()
    (logs / "m.jsonl.rig-part" / "b").write_bytes(b"b")

    plan = run("repair", "one", "--force", "--dry-run", "--json")
    done = run("repair", "one", "--force", "--json")

    assert plan.object["mended"] == done.object["mended"]
    assert not (logs / "x.rig-trash").is_symlink()
    assert (tmp_path / "mine" / "a").read_bytes() == b"a"
    assert (logs / "m.jsonl.rig-part" / "b").read_bytes() == b"b"
    assert texts(root) == ["text 1", "text 2"]
    assert run("gc", "one", "--force", "--yes").status == 0


@pytest.mark.parametrize("keep", [1, 2])
def test_a_log_that_was_lost_and_is_put_back_whole_is_lost_no_more(root: Path, keep: int) -> None:
    _ = ok("new", "one"), ok("append", "one", "--role", "user", stdin=b"x")
    ok("append", "one", "--role", "assistant", stdin=b"y")
    path = root / "one" / "logs" / "main.jsonl"
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:keep]))
    assert run("repair", "one", "--force").status == 1
    path.write_bytes(whole)

    before = notices()
    wanted = mended()["mended"]

    assert "shorter-log" not in before
    assert [each["why"] for each in wanted] == ["made anew from the logs (a log is whole again)"]
    assert (problems(), notices()) == ([], [])
    assert mended()["mended"] == []


def test_a_log_that_is_as_long_again_by_other_records_is_shorter_still(root: Path) -> None:
    _ = ok("new", "one"), ok("append", "one", "--role", "user", stdin=b"x")
    path = root / "one" / "logs" / "main.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.splitlines(keepends=True)[0])
    assert run("repair", "one", "--force").status == 1

    ok("append", "one", "--role", "user", stdin=b"x")

    assert path.stat().st_size == len(whole)
    assert notices() == ["shorter-log"]


@pytest.mark.parametrize("meta", [b"{}", b'{"precious":1}', b'{"labels":{"a":"b"},"title":"T"}'])
def test_a_meta_that_tells_nothing_is_made_whole_and_hides_nothing(root: Path, meta: bytes) -> None:
    write(root, "one", "main", join(turns(3)))
    write_meta(root, "one", meta)
    listed = ok("list", "--json").object
    before = notices()

    wanted = [each["kind"] for each in mended()["mended"]]

    after = loads_object((root / "one/files/meta.json").read_bytes())
    assert (listed["messages"], listed["title"] is None) == (3, False)
    assert listed["updated"] is not None
    assert (before, wanted) == (["stale-meta"], ["meta"])
    assert loads_object(meta).items() <= after.items()
    assert (problems(), notices()) == ([], [])
    assert mended()["mended"] == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", b"5"), ("updated", b'"now"'), ("messages", b"true"), ("labels", b'{"a":1}')],
)
def test_a_meta_with_a_field_of_another_shape_is_set_aside_and_made_anew(
    root: Path, field: str, value: bytes
) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"x")
    path = root / "one/files/meta.json"
    whole = loads_object(path.read_bytes())
    odd = dumps({**whole, field: loads(value)})
    write_meta(root, "one", odd)
    listed = run("list", "--json").object
    before = problems()

    (told,) = mended()["mended"]

    assert (listed["title"], listed["messages"]) == ("x", 1)
    assert before == ["meta"]
    assert field in told["why"]
    assert aside(root) == [odd]
    assert (problems(), notices()) == ([], [])
    assert mended()["mended"] == []


def test_of_different_records_of_one_stamp_the_first_alone_stays_if_wanted(root: Path) -> None:
    lines = turns(3)
    other = lines[2].replace(b"text 2", b"TEXT 2")
    write(root, "one", "main", join([*lines[:3], other, *lines[3:]]))
    assert mended()["mended"][0]["kind"] == "meta"
    before = (problems(), run("append", "one", "--role", "user", stdin=b"next").status)

    plan = kinds("--keep-first", "--dry-run")
    done = kinds("--keep-first")

    assert before == (["stamp"], 5)
    assert plan == done == ["set-aside", "clash"]
    assert aside(root) == [other]
    assert (root / "one/logs/main.jsonl").read_bytes().splitlines()[1:] == join(lines).splitlines()[
        1:
    ]
    assert problems() == []
    assert kinds("--keep-first") == []
    ok("append", "one", "--role", "user", stdin=b"next")
    assert texts(root) == ["text 1", "text 2", "text 3", "next"]


def _zeroed(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    size = sum(map(len, lines[-2:]))
    return data[:-size] + bytes(size)


@pytest.mark.parametrize(
    "hurt",
    [
        lambda data: data.replace(b"\n", b"\r"),
        lambda data: data.decode().encode("utf-16"),
        lambda data: bytes(len(data)),
        _zeroed,
        lambda data: _zeroed(data)[:-1] + b"\n",
        lambda data: data[:-30],
    ],
    ids=["CR", "UTF-16", "zeros", "a zeroed end", "a zeroed line", "a cut end"],
)
def test_records_at_a_log_s_end_that_are_none_any_more_are_lost_and_told_as_that(
    root: Path, hurt: Callable[[bytes], bytes]
) -> None:
    for text in (b"x", b"y", b"z"):
        run("new", "one")
        ok("append", "one", "--role", "user", stdin=text)
    path = root / "one" / "logs" / "main.jsonl"
    path.write_bytes(hurt(path.read_bytes()))

    plan = run("repair", "one", "--force", "--dry-run", "--json")
    done = run("repair", "one", "--force", "--json")
    again = run("repair", "one", "--force", "--json")

    assert (plan.status, done.status, again.status) == (1, 1, 0)
    assert plan.object["lost"] == done.object["lost"]
    lost = {each["kind"] for each in done.object["lost"]}
    assert lost & {"shorter-log", "lost-record"}
    assert problems() == []
    assert "shorter-log" in notices() or "lost-record" in lost
    assert again.object["lost"] == again.object["mended"] == []


def test_a_record_that_was_only_begun_is_no_loss_though_the_meta_knows_its_bytes(
    root: Path,
) -> None:
    write(root, "one", "main", join(turns(2)) + b'{"seq":3,"n":')
    ok("meta", "label", "one", "a=b")

    assert kinds() == ["torn-tail"]
    assert (problems(), notices()) == ([], [])
