"""Kinds of failure that people met with saved sessions, each as several inputs.

The numbers in the names are those of the list of cases the project was made against; each test says
what is right by itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.session.codec import dumps
from tests.cli.running import (
    at,
    header,
    join,
    message,
    ok,
    pushed,
    record,
    run,
    said,
    texts,
    tree,
    turns,
    write,
    write_meta,
)
from tests.cli.terminal import PROJECT
from tests.unit.imports import building

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object
    from tests.cli.running import Value

GOOD = turns(10)
ALL = [f"text {number}" for number in range(1, 11)]

DRIVING = set("\x1b\x07\r\u202e\x9b\u200b")
"""Characters that must never reach a screen."""


def _shown(session: str = "one", *words: str) -> list[str]:
    return texts(ok("show", session, "--json", *words).objects)


def _damaged(session: str = "one") -> list[Value]:
    found: list[Value] = ok("show", session, "--json").objects[0]["damaged"]
    return found


def _row(session: str = "one") -> Value:
    return next(row for row in ok("list", "--json").objects if row["id"] == session)


def _looks(session: str = "one") -> None:
    """Look at a session in every way: it never fails by a mistake of ours, and changes nothing."""
    for words in (
        ("show", session),
        ("show", session, "--full", "--asides"),
        ("show", session, "--format", "markdown"),
        ("show", session, "--json"),
        ("log", session),
        ("log", session, "--json"),
        ("as-of", session, "now"),
        ("as-of", session, "now", "--json"),
        ("list",),
        ("list", "--json"),
        ("verify", session),
        ("verify", session, "--json"),
    ):
        done = run(*words)
        assert done.status in ((0, 1) if words[0] == "verify" else (0,)), (words, done)
        assert "internal error" not in done.err
        done.stdout.decode()
        if "--json" not in words:
            assert not DRIVING & set(done.out + done.err), (words, done)


# -- A. torn, welded and zeroed bytes ------------------------------------------


@pytest.mark.parametrize("cut", [1, 40, len(GOOD[3]) - 1, len(GOOD[3])])
def test_case_1_a_half_written_last_line_costs_that_line_alone(root: Path, cut: int) -> None:
    path = write(root, "one", "main", join(GOOD[:3]) + GOOD[3][:cut])

    done = ok("show", "one")
    _looks()

    assert _shown() == ALL[:2]
    assert done.err == (
        f"agentmem: one/logs/main.jsonl, line 4, byte {len(join(GOOD[:3]))}: "
        f"the last line is cut off ({cut} bytes)\n"
    )
    assert run("verify", "one").status == 1
    ok("append", "one", "--role", "user", stdin=b"added")
    assert _shown() == [*ALL[:2], "added"]
    assert run("verify", "one").status == 0
    kept = root / "one/files/recovered" / f"main-{hashlib.sha256(GOOD[3][:cut]).hexdigest()}.part"
    assert kept.read_bytes() == GOOD[3][:cut]
    assert path.read_bytes().startswith(join(GOOD[:3]))


@pytest.mark.parametrize("cut", [2, 30, 60, len(GOOD[4]) - 4])
@pytest.mark.parametrize("same", [True, False])
def test_case_2_a_record_behind_a_stub_on_its_line_is_salvaged(
    root: Path, cut: int, same: bool
) -> None:
    stub = (GOOD[4] if same else GOOD[8])[:cut]
    write(root, "one", "main", join(GOOD[:4]) + stub + join(GOOD[4:]))

    _looks()

    assert _shown() == ALL
    (found,) = _damaged()
    assert (found["kind"], found["line"], found["length"]) == ("welded", 5, cut)


def test_case_2_two_whole_records_on_one_line_both_come_out(root: Path) -> None:
    write(root, "one", "main", join([*GOOD[:4], GOOD[4] + GOOD[5], *GOOD[6:]]))

    _looks()

    assert _shown() == ALL
    assert "line 5" in ok("show", "one").err


@pytest.mark.parametrize("bad", [(3,), (3, 6), (3, 4, 5), (1,), (9,)])
def test_case_4_bad_lines_in_the_middle_cost_themselves_and_are_counted(
    root: Path, bad: tuple[int, ...]
) -> None:
    lines = [line[: len(line) // 2] if at_ in bad else line for at_, line in enumerate(GOOD)]
    write(root, "one", "main", join(lines))

    _looks()
    row = _row()

    assert _shown() == [text for number, text in enumerate(ALL, 1) if number not in bad]
    assert (row["started"], row["updated"]) == (
        "2026-01-01T00:00:00.000Z",
        "2026-01-01T00:00:10.000Z",
    )
    assert row["damaged_places"] == len(bad)
    assert [found["line"] for found in _damaged()] == [number + 1 for number in bad]
    places = "1 place" if len(bad) == 1 else f"{len(bad)} places"
    assert places in ok("list").out


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (join([*GOOD[:4], b"\0" * 512, *GOOD[4:]]), "zeroed"),
        (join(GOOD[:4]) + b"\0" * 300 + join(GOOD[4:]), "zeroed"),
        (join(GOOD[:4]) + b"\0" * 300 + b"\n" + b"\0" * 9 + join(GOOD[4:]), "zeroed"),
        (join(GOOD) + b"\0" * 4_096, "torn-tail"),
        (join(GOOD) + b"\0" * 4_096 + b"\n", "torn-tail"),
    ],
)
def test_case_5_runs_of_nul_bytes_hide_no_record(root: Path, data: bytes, kind: str) -> None:
    write(root, "one", "main", data)

    _looks()

    assert _shown() == ALL
    assert {found["kind"] for found in _damaged()} == {kind}
    assert b"\0" not in ok("show", "one").stdout


META = dumps({"title": "Mine", "labels": {"k": "v"}, "model": "acme/large", "messages": 10})


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 1_043, META[:60], META + b"\0" * 200, b"\xff" * 9, b'"text"', b"[" * 9_999],
)
def test_case_6_a_spoilt_meta_hides_no_session_and_is_made_anew(root: Path, data: bytes) -> None:
    model = record(11, "state", key="rig::model", value="acme/large")
    write(root, "one", "main", join([*GOOD, model]))
    write_meta(root, "one", data)

    listed = ok("list")
    row = _row()

    assert _shown() == ALL
    assert (row["messages"], row["model"]) == (10, "acme/large")
    if data:
        assert listed.err.count("meta.json") == 1
        assert row["problem"].startswith("meta.json: ")
    ok("append", "one", "--role", "user", stdin=b"added")
    after = _row()
    assert (after["messages"], after["model"], after["problem"]) == (11, "acme/large", None)
    assert after["title"] in ("text 1", "Mine")
    kept = root / "one/files/recovered" / f"meta.json-{hashlib.sha256(data).hexdigest()}.part"
    assert kept.read_bytes() == data


@pytest.mark.parametrize("extra", [1, 1_111, 5_000])
def test_case_7_a_meta_over_a_longer_one_says_where_the_document_ends(
    root: Path, extra: int
) -> None:
    write(root, "one", "main", join(GOOD))
    older = dumps({"title": "old" * 3_000})
    write_meta(root, "one", META + older[-extra:])
    told = f"the valid document ends at byte {len(META)}, {extra} bytes follow it"

    listed = ok("list")
    appended = ok("append", "one", "--role", "user", stdin=b"added")

    assert told in listed.err
    assert told in appended.err
    assert "lost" not in appended.err
    assert (_row()["title"], _row()["labels"], _row()["messages"]) == ("Mine", {"k": "v"}, 11)
    assert run("verify", "one").status == 0


@pytest.mark.parametrize(
    ("data", "damaged"),
    [(b"", 0), (b"\n\n", 0), (b" \n\t\n", 0), (GOOD[0] + b"\n", 0), (b"junk\n\xff\xfe\nlast", 3)],
)
def test_case_8_a_log_without_a_record_is_an_empty_conversation(
    root: Path, data: bytes, damaged: int
) -> None:
    write(root, "one", "main", data)

    _looks()

    assert "No messages." in ok("show", "one").err
    assert (_row()["messages"], _row()["damaged_places"]) == (0, damaged)
    added = run("append", "one", "--role", "user", stdin=b"added")
    assert added.status == (5 if damaged else 0)
    assert _shown() == ([] if damaged else ["added"])


# -- B. two writers --------------------------------------------------------------


@pytest.mark.parametrize("seq", [2, 5, 10])
def test_case_11_records_with_one_stamp_are_both_kept_and_a_place_is_ambiguous(
    root: Path, seq: int
) -> None:
    other = said(seq, f"other {seq}", id_=seq)
    write(root, "one", "main", join([*GOOD[: seq + 1], other, *GOOD[seq + 1 :]]))
    before = tree(root)

    _looks()
    found = run("as-of", "one", str(seq), "--json")
    ns = [value["n"] for value in ok("log", "one", "--json").objects]

    assert f"other {seq}" in _shown()[seq]
    assert ns.count(seq) == 2
    assert f"seq {seq} follows {seq}" in ok("show", "one").err
    assert f"seq {seq} follows {seq}" in ok("log", "one").err
    assert (found.status, found.error["kind"]) == (3, "ambiguous")
    assert run("verify", "one").status == 1
    assert run("append", "one", "--role", "user", stdin=b"x").status == 5
    assert {
        name: each for name, each in tree(root).items() if "lock" not in name and name != "one"
    } == {name: each for name, each in before.items() if name != "one"}


# -- C. bytes and text -------------------------------------------------------------


LONE = "boats \ud83d\u2026 \udc00"


def _lone_messages() -> list[Object]:
    function: Object = {"name": LONE, "arguments": {LONE: LONE}}
    return [
        message("user", LONE),
        {"role": "assistant", "content": [{"type": "toolcall", "id": LONE, "function": function}]},
        {"role": LONE, "content": LONE, LONE: [LONE]},
    ]


def test_case_15_half_a_surrogate_pair_stops_nothing_and_comes_back_as_its_escape(
    root: Path,
) -> None:
    lines = [header(), *(pushed(seq, value) for seq, value in enumerate(_lone_messages(), 1))]
    lines += [said(4, "last"), record(5, "state", key="rig::title", value=LONE)]
    path = write(root, "one", "main", join(lines))
    data = path.read_bytes()
    assert b"\\ud83d" in data

    _looks()
    shown = ok("show", "one", "--json")

    assert [value["message"] for value in shown.objects[1:4]] == _lone_messages()
    assert b"\\ud83d" in shown.stdout
    assert _row()["title"] == LONE
    ok("append", "one", stdin=dumps(message("user", LONE)))
    assert path.read_bytes().startswith(data)
    assert _shown()[-1] == LONE
    assert run("verify", "one").status == 0


def test_case_15_half_a_pair_in_names_and_labels_is_no_trouble(root: Path) -> None:
    write(root, "one", "main", join(GOOD))
    write_meta(root, "one", dumps({"title": LONE, "labels": {LONE: LONE}, "messages": 10}))

    _looks()

    assert _row()["labels"] == {LONE: LONE}
    assert _row()["title"] == LONE


@pytest.mark.parametrize("bad", [b"\xe9", b"\xff", b"\xc3(", b"\xed\xa0\xbd", b"\xe2\x82"])
def test_case_16_a_byte_that_is_not_utf_8_costs_a_character(root: Path, bad: bytes) -> None:
    data = join([*GOOD[:2], GOOD[2].replace(b"text 2", b"caf" + bad), *GOOD[3:]])
    write(root, "one", "main", data)

    _looks()

    assert [text[:3] for text in _shown()] == ["tex", "caf", *["tex"] * 8]
    assert "\ufffd" in _shown()[1]
    assert f"byte {data.index(bad)} is not UTF-8" in ok("show", "one").err


def test_case_16_a_character_cut_at_the_end_is_a_torn_tail(root: Path) -> None:
    stub = GOOD[3][:60] + "€".encode()[:2]
    write(root, "one", "main", join(GOOD[:3]) + stub)

    _looks()

    assert _shown() == ALL[:2]
    assert [found["kind"] for found in _damaged()] == ["torn-tail"]


def test_case_18_a_byte_order_mark_hides_no_record(root: Path) -> None:
    write(root, "one", "main", b"\xef\xbb\xbf" + join(GOOD))

    _looks()

    assert _shown() == ALL
    assert [found["kind"] for found in run("verify", "one", "--json").object["findings"]] == [
        "byte-order-mark"
    ]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_case_18_another_encoding_is_never_an_empty_session_without_a_word(
    root: Path, encoding: str
) -> None:
    write(root, "one", "main", ("\ufeff" + join(GOOD).decode()).encode(encoding))

    _looks()

    told = ok("show", "one").err
    assert "agentmem: one/logs/main.jsonl, line 1, byte 0: " in told
    assert f"UTF-{encoding[4:6]} by its byte order mark" in told
    assert _row()["damaged_places"] > 0
    assert run("verify", "one").status == 1
    assert run("append", "one", "--role", "user", stdin=b"x").status == 5


@pytest.mark.parametrize(
    "data",
    [
        join(GOOD).replace(b"\n", b"\r\n"),
        join(GOOD).replace(b"\n", b"\n\n"),
        join(GOOD).replace(b"\n", b" \t\n  \n"),
        b"\n\n" + join(GOOD) + b"\n \n",
        join([b" " + line for line in GOOD]),
    ],
)
def test_case_19_blank_lines_and_other_line_ends_are_no_damage(root: Path, data: bytes) -> None:
    path = write(root, "one", "main", data)

    _looks()

    assert _shown() == ALL
    assert _damaged() == []
    assert run("verify", "one").status == 0
    ok("append", "one", "--role", "user", stdin=b"added")
    assert path.read_bytes().startswith(data)
    assert _shown() == [*ALL, "added"]


EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[1A\rline2\u202egnp.exe\x9b31m\u200b"


def test_case_20_escapes_anywhere_in_a_session_reach_the_screen_as_text_only(root: Path) -> None:
    function: Object = {"name": EVIL, "arguments": {EVIL: EVIL}}
    aside: Object = {"kind": EVIL, "author": {"kind": {"plugin": EVIL}}, "value": EVIL}
    result: Object = {"type": "toolresult", "call": EVIL, "name": EVIL, "content": []}
    image: Object = {"type": "image", "media_type": EVIL, "data": {"type": "unknown"}}
    messages: list[Object] = [
        message("user", EVIL),
        {"role": "assistant", "content": [{"type": "toolcall", "id": EVIL, "function": function}]},
        {"role": "user", "content": [{**result, "content": [{"type": "text", "text": EVIL}]}]},
        {"role": EVIL, "content": [image, {"type": EVIL}], "errorMessage": EVIL, "stop": EVIL},
    ]
    lines = [header(), *(pushed(seq, value) for seq, value in enumerate(messages, 1))]
    lines += [
        record(5, "aside", id=0, aside=aside, by={"kind": {"plugin": EVIL}}),
        record(6, "state", key=EVIL, value=EVIL),
        record(7, "state", key="rig::title", value=EVIL),
        record(8, "halt", halt=EVIL),
        record(9, EVIL),
        b"junk" + EVIL.encode(),
    ]
    write(root, "one", "main", join([*lines, b"{}"]))
    write_meta(root, "one", dumps({"title": EVIL, "labels": {EVIL: EVIL}, "model": EVIL}))

    _looks()
    as_json = ok("show", "one", "--json")

    assert as_json.objects[1]["message"] == messages[0]
    assert not DRIVING & set(as_json.out)
    assert _row()["labels"] == {EVIL: EVIL}


def test_case_20_a_session_and_an_agent_with_such_names_take_a_row_each(root: Path) -> None:
    name = "a\nb\x1b[2J\u202e"
    write(root, name, "main", join(GOOD))

    table = ok("list")
    unknown = run("show", "\x1b[2J\nnobody")
    agent = run("show", name, "--agent", EVIL)

    assert len(table.out.splitlines()) == 2
    for done in (table, unknown, agent, run("as-of", name, EVIL), run("log", name, "--kind", EVIL)):
        assert not DRIVING & set(done.out + done.err)
    assert _shown(name) == ALL
    on_screen = table.out.splitlines()[1].split("  ")[0]
    assert _shown(on_screen) == ALL
    assert run("verify", on_screen).status == 0


# -- D. values that break parsers ------------------------------------------------


def _nested(depth: int, kind: str) -> bytes:
    opened, closed = (b'{"a":', b"}") if kind == "object" else (b"[", b"]")
    deep = opened * depth + b"1" + closed * depth
    part = b'{"type":"toolcall","id":"c","function":{"name":"x","arguments":' + deep + b"}}"
    return (
        b'{"seq":2,"n":2,"t":1767225602000,"type":"push","entries":[{"id":1,"message":'
        b'{"role":"assistant","content":[' + part + b"]}}]}"
    )


@pytest.mark.parametrize("kind", ["object", "array"])
@pytest.mark.parametrize("depth", [900, 2_000, 100_000])
def test_case_25_deep_values_never_exhaust_the_stack_and_are_not_called_checked(
    root: Path, depth: int, kind: str
) -> None:
    lines = [*GOOD[:2], _nested(depth, kind), *GOOD[3:]]
    write(root, "one", "main", join(lines))

    _looks()
    done = run("verify", "one")

    assert len(ok("log", "one", "--json").objects) == (11 if depth == 900 else 10)
    assert done.status == (0 if depth == 900 else 1)
    if depth > 900:
        assert "line 3" in ok("show", "one").err
        assert "this line was not checked" in done.out
        assert [found["line"] for found in _damaged()] == [3]


@pytest.mark.parametrize("depth", [2_000, 100_000])
def test_case_25_a_deep_meta_is_a_spoilt_meta(root: Path, depth: int) -> None:
    write(root, "one", "main", join(GOOD))
    write_meta(root, "one", b'{"listed":' + b"[" * depth + b"]" * depth + b"}")

    _looks()

    assert _row()["messages"] == 10
    assert "meta.json" in _row()["problem"]


ODD = [
    b"[]",
    b"null",
    b"42",
    b'"x"',
    b"true",
    b"{}",
    b'{"type":["message"]}',
    b'{"type":"user","message":"oops"}',
    b'{"seq":"2","n":2,"t":3,"type":"push"}',
    b'{"seq":2,"n":2.0,"t":3,"type":"push"}',
    b'{"seq":true,"n":true,"t":true,"type":"push"}',
]
ODD_WITH_STAMP: list[Object] = [
    {"type": None},
    {"type": ["push"]},
    {"type": {}},
    {"type": "push"},
    {"type": "push", "entries": None},
    {"type": "push", "entries": [7]},
    {"type": "push", "entries": [{"id": "1", "message": {}}]},
    {"type": "push", "entries": [{"id": 1, "message": "oops"}]},
    {"type": "push", "entries": [{"id": 1, "message": {"role": "user"}, "author": 7}]},
    {"type": "splice", "from": "0", "to": None, "removed": 3, "with": {}},
    {"type": "splice", "from": 5, "to": 2, "removed": [], "with": []},
    {"type": "state", "key": 7},
    {"type": "aside", "id": None, "aside": 3},
    {"type": "halt", "halt": 7},
    {"type": "reset", "state": []},
    {"type": "reset"},
    {"type": "header"},
]


@pytest.mark.parametrize("line", ODD)
def test_case_26_json_that_is_no_record_is_counted_and_hides_no_neighbour(
    root: Path, line: bytes
) -> None:
    write(root, "one", "main", join([*GOOD[:2], line, *GOOD[2:]]))

    _looks()

    assert _shown() == ALL
    assert [found["line"] for found in _damaged()] == [3]
    assert _row()["damaged_places"] == 1
    assert "line 3" in ok("show", "one").err


@pytest.mark.parametrize("fields", ODD_WITH_STAMP)
def test_case_26_a_record_of_odd_fields_is_counted_and_hides_no_neighbour(
    root: Path, fields: Object
) -> None:
    odd = dumps({"seq": 11, "n": 11, "t": at(11), **fields})
    write(root, "one", "main", join([*GOOD, odd, said(12, "after", id_=10)]))

    _looks()

    assert _shown() == [*ALL, "after"]
    assert [found["line"] for found in _damaged()] == [12]


@pytest.mark.parametrize(
    "content", [7, None, True, {}, [[]], [None, 7, "x"], [{}], [{"type": 7}], [{"type": "text"}]]
)
@pytest.mark.parametrize("role", ["user", "assistant", "system", 7])
def test_case_26_messages_of_odd_content_are_shown_somehow(
    root: Path, content: object, role: object
) -> None:
    value: Object = json.loads(json.dumps({"role": role, "content": content}))  # noqa: TID251
    write(root, "one", "main", join([header(), pushed(1, value), said(2, "after")]))

    _looks()

    assert ok("show", "one", "--json").objects[1]["message"] == value


ODD_PARTS: list[Object] = [
    {"type": "toolcall"},
    {"type": "toolcall", "id": 7, "function": "x"},
    {"type": "toolresult", "call": None, "content": 7},
    {"type": "toolresult", "call": [], "name": {}, "content": [7, None, {"type": None}]},
    {"type": "image"},
    {"type": "image", "data": 7, "media_type": []},
    {"type": "image", "data": {"type": "base64", "value": 7}},
    {"type": "image", "data": {"type": "base64", "value": "%%%"}},
    {"type": "image", "data": {"type": "url", "value": "blob:"}},
    {"type": "reasoning", "content": 7, "summary": [[{"text": 7}]]},
    {"type": "json"},
]


@pytest.mark.parametrize("part", ODD_PARTS)
def test_case_26_parts_of_odd_fields_are_shown_somehow(root: Path, part: Object) -> None:
    value: Object = {"role": "assistant", "content": [part]}
    write(root, "one", "main", join([header(), pushed(1, value), said(2, "after")]))

    _looks()

    assert ok("show", "one", "--json").objects[1]["message"] == value


# -- F. lists, ids, picking the right session --------------------------------------


def test_case_42_the_list_is_what_lies_on_the_disk(root: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        ok("new", name, "--title", name)
        ok("append", name, "--role", "user", stdin=b"hello")
        ok("append", name, "--role", "user", "--agent", "scout", stdin=b"hello")
    (root / "one/logs/main.jsonl").unlink()
    write(root, "two", "dropped", join([header("dropped", n=90, parent="main")]))
    write(root, "three", "main", join(GOOD))

    one, two, three = (_row(name) for name in ("one", "two", "three"))

    assert one["agents"] == 1
    assert one["problem"] == "logs that it had are gone: main"
    assert (two["agents"], two["messages"], two["problem"]) == (3, 1, None)
    assert three["title"] == "text 1"
    (root / "one/logs/scout.jsonl").unlink()
    assert (_row()["agents"], _row()["messages"]) == (0, 0)


def test_case_42_a_store_can_be_moved_since_no_meta_says_where_it_lies(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=b"hello")
    source = building.lines(building.header(), building.user(1, "one"))
    ok("import", building.put(tmp_path / "src" / "a.jsonl", source))
    before = [{**row, "path": ""} for row in ok("list", "--json").objects]

    moved = root.rename(tmp_path / "moved")
    monkeypatch.setenv("AGENTMEM_ROOT", str(moved))

    assert [{**row, "path": ""} for row in ok("list", "--json").objects] == before
    for meta in moved.glob("*/files/meta.json"):
        assert str(tmp_path).encode() not in meta.read_bytes()


@pytest.mark.parametrize("words", [("show",), ("log",), ("as-of",), ("append",), ("verify",)])
@pytest.mark.parametrize("session", ["nobody", "./nobody", "/nowhere/at/all"])
def test_case_45_an_unknown_session_is_not_found_and_not_made(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str], session: str
) -> None:
    write(root, "one", "main", join(GOOD))
    monkeypatch.chdir(tmp_path)
    before = tree(tmp_path)
    more = ("now",) if words == ("as-of",) else ()

    done = run(*words, session, *more, "--json", stdin=b'{"role":"user","content":"x"}')

    assert done.status == 3
    assert done.error["kind"] == "not_found"
    assert "no s" in done.error["message"]
    assert tree(tmp_path) == before


def test_case_45_a_damaged_session_is_told_from_an_unknown_one(root: Path) -> None:
    write(root, "one", "main", join([*GOOD[:3], b"junk", *GOOD[3:]]))
    ok("list")
    before = sorted(tree(root))

    done = run("append", "one", "--role", "user", "--json", stdin=b"x")

    assert done.status == 5
    assert done.error["kind"] == "damaged"
    assert "verify" in done.error["hint"]
    assert ok("show", "one").err.startswith("agentmem: one/logs/main.jsonl, line 4")
    assert set(tree(root)) - set(before) <= {"one/.rig-memory.lock"}


def test_case_47_a_capped_list_says_so_and_filters_look_at_all(root: Path) -> None:
    for number in range(300):
        line = said(1, f"Title number {number}", t=at(10_000 - number))
        write(root, f"s{number:03}", "main", join([header(), line]))

    done = ok("list")
    found = ok("list", "--title", "number 280$")

    assert len(done.out.splitlines()) == 51
    assert "50 of 300 sessions" in done.err
    assert "s280" in found.out
    assert found.err == "1 of 300 sessions fit.\n"


@pytest.mark.parametrize("name", ["NUL", "con.txt", "a:b", "x.", "..", "é" * 300, "a/b", "a\nb"])
def test_case_52_agents_of_any_name_are_written_and_found_by_it(root: Path, name: str) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", "--agent", name, stdin=b"hello")

    _looks()

    assert _shown("one", "--agent", name) == ["hello"]
    assert (
        name in json.loads((root / "one/files/meta.json").read_text())["listed"]["names"].values()
    )
    assert _row()["agents"] == 1
    assert run("verify", "one").status == 0


# -- G. paths ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [("show",), ("log",), ("as-of", "now"), ("append",), ("verify",), ("new",)]
)
@pytest.mark.parametrize("id_", ["../../x", "/tmp/victim", "a/../../b", "..", "C:\\x", "a\0b"])
def test_case_59_an_id_that_is_a_way_out_is_refused_and_makes_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], id_: str
) -> None:
    here = tmp_path / "deep" / "er"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    write(root, "one", "main", join(GOOD))
    before = tree(tmp_path)

    done = run(words[0], id_, *words[1:], stdin=b'{"role":"user","content":"x"}')

    assert done.status in (2, 3)
    assert done.out == ""
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    "name", ["../../secret", "/etc/passwd", "..", "a/b", "C:\\x", "a\0b", "x" * 300, ""]
)
def test_case_59_a_blob_named_by_a_way_out_is_a_missing_image(
    root: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (root / "one/files/blobs").mkdir(0o700, parents=True)
    part: Object = {"type": "image", "media_type": "png"}
    value: Object = {**part, "data": {"type": "url", "value": f"blob:{name}"}}
    message_: Object = {"role": "user", "content": [value]}
    write(root, "one", "main", join([header(), pushed(1, message_), said(2, "after")]))

    _looks()

    assert "6 B" not in ok("show", "one").out
    assert "secret" not in ok("show", "one").out.replace("../../secret", "")


def test_case_59_a_header_of_another_name_reaches_no_other_file(root: Path) -> None:
    write(root, "one", "main", join([header("../../victim", parent="/etc/passwd"), *GOOD[1:]]))

    _looks()

    assert _shown() == ALL
    assert run("append", "one", "--role", "user", stdin=b"x").status == 5


def test_case_59_links_inside_a_session_are_not_followed(root: Path, tmp_path: Path) -> None:
    away = write(tmp_path, "away", "main", join(GOOD))
    write(root, "one", "main", join(turns(1)))
    (root / "one/logs/linked.jsonl").symlink_to(away)
    before = tree(tmp_path / "away")

    assert _row()["agents"] == 1
    assert run("show", "one", "--agent", "linked").status == 3
    assert run("append", "one", "--agent", "linked", "--role", "user", stdin=b"x").status == 2
    assert tree(tmp_path / "away") == before


# -- H. size -----------------------------------------------------------------------


MEASURE = """
import resource, sys
from agentmem_cli._entry import main
status = main(sys.argv[1:])
sys.stdout.flush()
try:
    with open("/proc/self/status") as told:
        peak = next(int(line.split()[1]) << 10 for line in told if line.startswith("VmHWM"))
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sys.stderr.write(f"\\npeak {peak}")
sys.exit(status)
"""


def _peak_bytes(*words: str, stdin: bytes = b"") -> int:
    """The most memory that a command had at once, as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *words],
        input=stdin,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        timeout=55,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return int(done.stderr.rpartition(b"peak ")[2])


def _large(root: Path, size: int) -> None:
    """A log of *size* bytes in lines of about 2 KB."""
    body = "x" * 1_900
    with write(root, "large", "main", join([header()])).open("ab") as log:
        for seq in range(1, size // 2_000):
            log.write(said(seq, body, "user" if seq % 2 else "assistant") + b"\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="memory is measured by POSIX calls")
def test_case_63_looking_at_a_large_log_takes_little_of_its_size_in_memory(root: Path) -> None:
    size = 60_000_000
    _large(root, size)
    write(root, "small", "main", join(GOOD))

    for words in (
        ("show", "{}", "--last", "20"),
        ("as-of", "{}", "5"),
        ("verify", "{}"),
        ("list",),
    ):
        large = _peak_bytes(*(word.format("large") for word in words))
        small = _peak_bytes(*(word.format("small") for word in words))

        assert large - small < size / 2, words


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="memory is measured by POSIX calls")
def test_case_64_a_huge_meta_is_never_read_into_memory_and_is_set_aside(root: Path) -> None:
    write(root, "one", "main", join(GOOD))
    write(root, "small", "main", join(GOOD))
    size = 300_000_000
    os.truncate(write_meta(root, "one", META), size)

    listing = _peak_bytes("list")
    added = _peak_bytes("append", "one", "--role", "user", stdin=b"added")
    usual = _peak_bytes("append", "small", "--role", "user", stdin=b"added")

    assert listing < size / 2
    assert added - usual < size / 10
    assert (root / "one/files/meta.json").stat().st_size < 1_000
    (kept,) = (root / "one/files/recovered").iterdir()
    assert kept.stat().st_size == size
    assert (_row()["title"], _row()["messages"]) == ("text 1", 11)
    assert _peak_bytes("verify", "one") < size / 2


@pytest.mark.parametrize("size", [(1 << 20) + 1, 5_000_000])
def test_case_64_a_meta_over_the_limit_hides_no_session(root: Path, size: int) -> None:
    write(root, "one", "main", join(GOOD))
    write_meta(root, "one", META + b" " * (size - len(META)))

    done = ok("list")

    assert f"meta.json: {size} bytes" in done.err
    assert (_row()["title"], _row()["messages"]) == ("text 1", 10)
    told = ok("append", "one", "--role", "user", stdin=b"added")
    assert "labels, if it had any, are lost" in told.err
    assert _row()["problem"] is None


# -- I. time -------------------------------------------------------------------------


TIMES = (36_005, 36_003, 36_003, 35_999, 35_999, 36_006)
"""Seconds of the day: a clock that was set back, equal times, and on again."""


def _jumping(root: Path) -> None:
    lines = [header(t=at(35_000))]
    lines += [said(seq, f"text {seq}", t=at(second)) for seq, second in enumerate(TIMES, 1)]
    write(root, "one", "main", join(lines))


def test_case_67_the_logs_order_is_kept_whatever_the_clock_did(root: Path) -> None:
    _jumping(root)

    _looks()

    assert _shown() == ALL[:6]
    assert [value["n"] for value in ok("log", "one", "--all", "--json").objects] == list(range(7))
    assert run("verify", "one").status == 0


@pytest.mark.parametrize(
    ("place", "count"),
    [
        ("2026-01-01T10:00:04Z", 0),
        ("2026-01-01T10:00:05Z", 5),
        ("2026-01-01T10:00:06Z", 6),
        ("2026-01-01T09:59:59Z", 0),
        ("3", 2),
        ("m4", 4),
        ("~1", 5),
    ],
)
def test_case_67_a_look_back_is_always_a_beginning_of_the_log(
    root: Path, place: str, count: int
) -> None:
    _jumping(root)

    assert _shown("one", "--as-of", place) == ALL[:count]


def test_case_67_later_times_never_show_less(root: Path) -> None:
    _jumping(root)

    counts = [len(_shown("one", "--as-of", f"@{at(second)}")) for second in range(35_998, 36_008)]

    assert counts == sorted(counts)
    assert counts[-1] == 6


def test_case_67_a_clock_that_ran_ahead_does_not_hide_what_came_after(root: Path) -> None:
    lines = [header(), said(1, "text 1"), said(2, "text 2", t=at(10**9)), said(3, "text 3")]
    write(root, "one", "main", join(lines))

    assert _shown("one", "--as-of", "2026-01-02") == ALL[:3]


def test_case_67_a_transcript_with_jumping_and_missing_times_keeps_its_order(
    root: Path, tmp_path: Path
) -> None:
    entries = [building.header()]
    seconds = (5, 3, 3, None, 1, 6)
    entries += [building.user(second, f"text {at_}") for at_, second in enumerate(seconds, 1)]
    ok("import", building.put(tmp_path / "a.jsonl", building.lines(*entries)))

    def seen(*words: str) -> list[str]:
        return texts(ok("show", "@last", "--json", *words).objects)

    assert seen() == ALL[:6]
    assert seen("--as-of", "2026-01-01T00:00:04Z") == []
    assert seen("--as-of", "2026-01-01T00:00:05Z") == ALL[:5]
    assert seen("--as-of", "m2") == ALL[:2]
