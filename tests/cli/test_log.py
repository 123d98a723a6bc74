"""`log`: records with stamps, who made them and what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli.text import width
from agentmem_cli.session.codec import dumps
from tests.cli.running import (
    at,
    header,
    join,
    message,
    ok,
    record,
    run,
    said,
    tree,
    turns,
    write,
)
from tests.cli.terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object

TYPES = ["header", "push", "push", "splice", "state", "state", "aside", "aside", "halt", "retired"]


def _every_type(root: Path) -> None:
    entry: Object = {"message": message("user", "edited"), "id": 0}
    aside: Object = {"kind": "note", "author": {"kind": "rig"}, "value": 7}
    stamp: Object = {"seq": 3, "n": 3, "t": at(3), "by": {"kind": "user"}}
    splice: Object = {"from": 0, "to": 1, "removed": [0], "with": [entry]}
    lines = [
        *turns(2),
        dumps({**stamp, "type": "splice", **splice}),
        record(4, "state", key="rig::title", value="Tides"),
        record(5, "state", key="rig::title", value=None),
        record(6, "aside", id=0, aside=aside, by={"kind": {"plugin": "notes"}}),
        record(7, "aside", id=0, aside=None),
        record(8, "halt", halt="stopped"),
        record(9, "retired"),
    ]
    write(root, "one", "main", join(lines))


def test_each_record_has_a_line_with_its_stamp_and_what_it_is(root: Path) -> None:
    _every_type(root)

    lines = ok("log", "one", "--agent", "main", "--oneline").out.splitlines()

    assert [line.split()[4] for line in lines] == TYPES
    assert lines[0].startswith("     0  2026-01-01 00:00:00 UTC     header   log main")
    assert "message 0 added" in lines[1]
    assert "splice   by user entries 0:1 (1) replaced by 1" in lines[3]
    assert 'rig::title = "Tides"' in lines[4]
    assert "rig::title removed" in lines[5]
    assert "aside    by notes aside 0 note before the first: 7" in lines[6]
    assert "aside 0 removed" in lines[7]
    assert "halt: stopped" in lines[8]


def test_details_stand_under_their_record(root: Path) -> None:
    write(root, "one", "main", join(turns(1)))

    assert ok("log", "one").out.splitlines()[2].split() == ["0", "user:", "text", "1"]


def test_json_has_every_record_whole(root: Path) -> None:
    _every_type(root)

    found = ok("log", "one", "--agent", "main", "--json").objects

    assert [value["type"] for value in found] == TYPES
    assert found[3] == {
        "schema": "agentmem.record/1",
        "log": "main",
        "line": 4,
        "n": 3,
        "seq": 3,
        "time": "2026-01-01T00:00:03.000Z",
        "type": "splice",
        "by": "user",
        "record": found[3]["record"],
    }
    assert found[3]["record"]["with"][0]["message"] == message("user", "edited")


def test_kinds_and_keys_pick_records(root: Path) -> None:
    _every_type(root)

    def types(*words: str) -> list[str]:
        return [
            value["type"] for value in ok("log", "one", "--agent", "main", "--json", *words).objects
        ]

    assert types("--kind", "push") == ["push", "push"]
    assert types("--kind", "push", "--kind", "halt") == ["push", "push", "halt"]
    assert types("--key", "rig::title") == ["state", "state"]
    assert types("--key", "other") == []


def test_an_unknown_kind_names_those_there_are(root: Path) -> None:
    write(root, "one", "main", join(turns(1)))

    done = run("log", "one", "--kind", "pushed")

    assert done.status == 2
    assert "header, state, retired, push, splice, halt, aside, reset" in done.err


def test_all_logs_are_merged_by_the_order_records_were_made_in(root: Path) -> None:
    write(root, "one", "a", join([header("a"), said(1, "first", n=1), said(2, "third", n=4)]))
    write(
        root, "one", "b", join([header("b", n=2), said(1, "second", n=3), said(2, "fourth", n=5)])
    )

    found = ok("log", "one", "--all", "--json").objects

    assert [(value["n"], value["log"]) for value in found] == [
        (0, "a"),
        (1, "a"),
        (2, "b"),
        (3, "b"),
        (4, "a"),
        (5, "b"),
    ]


def test_the_sessions_own_log_is_shown_by_its_name(root: Path) -> None:
    write(root, "one", "main", join(turns(1)))
    write(
        root,
        "one",
        "session",
        join([header("session", n=2), record(1, "state", n=3, key="k", value=1)]),
    )

    assert "k = 1" in ok("log", "one", "--agent", "session").out


def test_a_type_of_a_newer_program_is_shown_raw(root: Path) -> None:
    write(root, "one", "main", join([*turns(1), record(2, "future_x", payload={"k": 1})]))

    done = ok("log", "one")

    assert "a record of the unknown type 'future_x'" in done.out
    assert '"payload":{"k":1}' in done.out
    assert ok("log", "one", "--json").objects[-1]["record"]["payload"] == {"k": 1}


def test_numbers_beyond_64_bits_and_odd_floats_come_out_as_they_stand(root: Path) -> None:
    value = b"[123456789012345678901234567890,1e400,-0]"
    line = b'{"seq":1,"n":1,"t":1,"type":"state","key":"k","value":' + value + b"}"
    write(root, "one", "main", join([header(), line]))

    assert b'"value":' + value in ok("log", "one", "--json").stdout


def test_damage_is_told_on_standard_error_and_the_rest_is_shown(root: Path) -> None:
    lines = turns(4)
    write(root, "one", "main", join([*lines[:2], lines[2][:30], *lines[3:]]))

    done = ok("log", "one", "--json")

    assert [value["n"] for value in done.objects] == [0, 1, 3, 4]
    assert "one/logs/main.jsonl, line 3, byte 245: 30 bytes" in done.err


def test_records_without_a_stamp_are_told_and_shown(root: Path) -> None:
    write(root, "one", "main", join([header(), b'{"type":["message"]}', said(1, "good")]))

    done = ok("log", "one")

    assert "without a stamp" in done.err
    assert "     ?  ?" in done.out
    assert ok("log", "one", "--json").objects[1]["n"] is None


@pytest.mark.parametrize("columns", [100, 60, 40])
def test_records_fit_the_screen(root: Path, columns: int) -> None:
    _every_type(root)

    lines = on_terminal(["log", "one", "--all"], columns=columns)

    assert len(lines) == 13
    assert all(width(line) <= columns for line in lines)
    assert ("UTC" in lines[0]) is (columns >= 60)


@pytest.mark.parametrize("words", [("log", "one"), ("log", "one", "--all", "--json")])
def test_looking_at_records_changes_nothing(root: Path, words: tuple[str, ...]) -> None:
    _every_type(root)
    before = tree(root)

    run(*words)

    assert tree(root) == before
