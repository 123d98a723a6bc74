"""`repair` and numbers that are not their record's own: headers, copies, logs of newer programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, ok, record, run, said, turns, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Value


def _repair(*words: str) -> Value:
    done = run("repair", "one", "--force", "--json", *words)
    assert done.status in (0, 1), done
    return done.object


def _problems() -> list[str]:
    found = run("verify", "one", "--json").object["findings"]
    return [each["kind"] for each in found if each["level"] == "problem"]


@pytest.mark.parametrize("seq", [1, 3, 7, 10**9])
def test_a_header_of_another_place_is_the_header_and_a_second_repair_changes_nothing(
    root: Path, seq: int
) -> None:
    lines = turns(3)
    lines[0] = lines[0].replace(b'"seq":0,', b'"seq":%d,' % seq)
    path = write(root, "one", "main", join(lines))

    plan = _repair("--dry-run")
    done = _repair()
    after = path.read_bytes()

    assert plan["mended"] == done["mended"]
    assert {"set-aside", "stamp"} <= {each["kind"] for each in done["mended"]}
    assert done["left"] == done["lost"] == []
    assert (_problems(), _repair()["mended"]) == ([], [])
    assert path.read_bytes() == after
    assert after.count(b'"type":"header"') == 1
    ok("append", "one", "--role", "user", stdin=b"next")


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("number", [b'"n":12,', b'"n":99,', b'"n":0,'])
def test_a_copy_of_which_a_number_is_another_is_a_copy(
    root: Path, number: bytes, first: bool
) -> None:
    lines = turns(4)
    copy = lines[2].replace(b'"n":2,', number)
    assert copy != lines[2]
    twice = [copy, lines[2]] if first else [lines[2], copy]
    path = write(root, "one", "main", join([*lines[:2], *twice, *lines[3:]]))

    done = _repair()

    assert [each["kind"] for each in done["mended"]][:2] == ["set-aside", "copy"]
    assert done["left"] == done["lost"] == []
    assert path.read_bytes().splitlines()[1:] == join(lines).splitlines()[1:]
    assert _problems() == []
    assert _repair()["mended"] == []


def test_a_copy_of_another_place_is_a_copy(root: Path) -> None:
    lines = turns(4)
    copy = lines[2].replace(b'"seq":2,', b'"seq":3,')
    path = write(root, "one", "main", join([*lines[:3], copy, *lines[3:]]))

    done = _repair()

    assert "copy" in {each["kind"] for each in done["mended"]}
    assert done["left"] == []
    assert path.read_bytes().splitlines()[1:] == join(lines).splitlines()[1:]


def test_what_is_mended_beside_a_log_of_another_format_is_noted(root: Path) -> None:
    write(root, "one", "main", join(turns(4)))
    path = write(root, "one", "aide", join([header("aide", n=20), said(1, "x", n=21)]))
    ok("append", "one", "--role", "user", stdin=b"more")
    path.write_bytes(path.read_bytes().replace(b"rig-session/4", b"rig-session/5"))
    log = root / "one/logs/main.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:-1], lines[-1].replace(b'"id"', b'"id') + b"junk\n"]))
    meta = run("meta", "show", "one", "--json").object

    plan = _repair("--dry-run")
    done = _repair()

    assert plan["left"] == done["left"]
    assert [each["where"] for each in done["left"]] == ["aide"]
    assert {each["where"] for each in done["lost"]} == {"main"}
    assert _problems() == [each["kind"] for each in done["left"]]
    assert run("meta", "show", "one", "--json").object["title"] == meta["title"]
    assert _repair()["mended"] == []


def test_a_log_that_a_repair_made_longer_is_not_taken_for_one_that_is_back(root: Path) -> None:
    lines = [header(), record(1, "state", key="rig::title", value="tides"), said(2, "hello", id_=0)]
    path = write(root, "one", "main", join(lines))
    ok("append", "one", "--role", "user", stdin=b"y")
    whole = path.read_bytes()
    path.write_bytes(b"{}\n" + whole[len(whole.splitlines(keepends=True)[0]) :])

    first = _repair()
    told = run("verify", "one", "--json").object["findings"]
    second = _repair()

    assert "shorter-log" in {each["kind"] for each in first["lost"]}
    assert path.stat().st_size >= len(whole)
    assert "shorter-log" in {each["kind"] for each in told}
    assert second["mended"] == second["lost"] == []
    path.write_bytes(whole)
    assert [each["why"] for each in _repair()["mended"]] == [
        "made anew from the logs (a log is whole again)"
    ]
