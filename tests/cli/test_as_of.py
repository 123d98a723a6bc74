"""`as-of`: places in time, what a view prints, and where a place is no single one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli import clock
from agentmem_cli.session.codec import dumps
from tests.cli.running import (
    BASE_MS,
    at,
    header,
    join,
    message,
    ok,
    record,
    run,
    said,
    texts,
    tree,
    turns,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object

HOUR_S = 3_600


@pytest.fixture
def session(root: Path) -> Path:
    """Nine messages, one an hour from 2026-01-01T01:00Z on."""
    lines = [header(), *(said(seq, f"text {seq}", t=at(seq * HOUR_S)) for seq in range(1, 10))]
    return write(root, "one", "main", join(lines))


def _now(monkeypatch: pytest.MonkeyPatch, second: float) -> None:
    monkeypatch.setattr(clock, "now_ms", lambda: at(second))


def _seen(*words: str) -> list[str]:
    return [text.removeprefix("text ") for text in texts(ok("as-of", *words, "--json").objects)]


@pytest.mark.parametrize(
    ("place", "count"),
    [
        ("start", 0),
        ("0", 0),
        ("1", 0),
        ("2", 1),
        ("9", 8),
        ("10", 9),
        ("now", 9),
        ("~0", 9),
        ("~1", 8),
        ("~9", 0),
        ("~10", 0),
        ("m0", 0),
        ("m3", 3),
        ("m8", 8),
        ("@1767229200", 1),
        ("@1767232800000", 2),
        ("2026-01-01T02:00:00Z", 2),
        ("2026-01-01T01:59:59Z", 1),
        ("2026-01-01T04:00+02:00", 2),
        ("2026-01-01", 0),
        ("2026-01-01 03:30", 3),
        ("2h", 8),
        ("90min", 8),
        ("1d", 0),
        ("today", 0),
        ("2999-01-01", 9),
    ],
)
def test_a_place_is_where_its_words_say(
    session: Path, monkeypatch: pytest.MonkeyPatch, place: str, count: int
) -> None:
    _now(monkeypatch, 10 * HOUR_S + 60)

    assert _seen("one", place) == [str(number) for number in range(1, count + 1)]


def test_yesterday_begins_at_midnight_of_the_machines_zone(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _now(monkeypatch, 24 * HOUR_S + 60)
    monkeypatch.setenv("TZ", "America/New_York")  # midnight is 05:00 in UTC
    time.tzset()

    assert _seen("one", "today") == ["1", "2", "3", "4", "5"]
    assert _seen("one", "yesterday") == []
    assert ok("--utc", "as-of", "one", "yesterday", "--json").objects[0]["messages"] == 0


def test_a_time_without_a_zone_is_the_machines(
    session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()

    assert _seen("one", "2026-01-01T11:00") == ["1", "2"]
    done = ok("--utc", "as-of", "one", "2026-01-01T02:00", "--json")
    assert done.objects[0]["messages"] == 2


@pytest.mark.parametrize(
    ("place", "status", "told"),
    [
        ("11", 3, "the last record has n 9, so 10 is now"),
        ("99999999999999999999", 3, "so 10 is now"),
        ("~11", 3, "10 records, not 11"),
        ("m9", 3, "no message 9"),
        ("before-compaction", 3, "never compacted"),
        ("whenever", 2, "no place in time"),
        ("", 2, "no place in time"),
        ("m", 2, "no place in time"),
        ("~", 2, "no place in time"),
        ("~-1", 2, "no place in time"),
        ("1.5", 2, "no place in time"),
        ("2026-13-01", 2, "no place in time"),
        ("٣", 2, "no place in time"),
    ],
)
def test_a_place_that_is_not_there_is_told(
    session: Path, place: str, status: int, told: str
) -> None:
    done = run("as-of", "one", place)

    assert done.status == status
    assert told in done.err
    assert done.out == ""


def test_a_place_with_a_dash_in_front_can_be_given_behind_two(session: Path) -> None:
    done = run("as-of", "one", "--", "-1")

    assert done.status == 2
    assert "no place in time: '-1'" in done.err


def test_the_last_n_and_one_is_now(session: Path) -> None:
    by_n, now = (
        ok("as-of", "one", "10", "--json").objects,
        ok("as-of", "one", "now", "--json").objects,
    )

    assert by_n[0] == {**now[0], "place": "10"}
    assert by_n[1:] == now[1:]


def test_each_place_answers_with_the_beginning_of_the_log(session: Path) -> None:
    counts = [ok("as-of", "one", str(n), "--json").objects[0]["records"] for n in range(11)]

    assert counts == list(range(11))


def test_before_compaction_is_before_the_last_compaction(root: Path) -> None:
    entry: Object = {
        "message": message("user", "summary"),
        "id": 2,
        "author": {"kind": {"plugin": "compaction"}},
    }
    stamp: Object = {"seq": 3, "n": 3, "t": at(3), "by": {"kind": {"plugin": "compaction"}}}
    splice: Object = {"from": 0, "to": 2, "removed": [0, 1], "with": [entry]}
    compacted = dumps({**stamp, "type": "splice", **splice})
    lines = [*turns(2), compacted, said(4, "later", id_=3)]
    write(root, "one", "main", join(lines))

    assert texts(ok("show", "one", "--json").objects) == ["summary", "later"]
    assert _seen("one", "before-compaction") == ["1", "2"]


def test_before_compaction_of_an_imported_session_is_before_its_aside(root: Path) -> None:
    aside: Object = {"kind": "import.compaction", "author": {"kind": "rig"}, "after": 1}
    lines = [*turns(2), record(3, "aside", id=0, aside=aside), said(4, "later", id_=2)]
    write(root, "one", "main", join(lines))

    assert _seen("one", "before-compaction") == ["1", "2"]


def test_a_view_tells_counts_values_core_memory_and_the_last_messages(root: Path) -> None:
    lines = [
        *turns(30),
        record(31, "state", key="rig::model", value="acme/large"),
        record(32, "state", key="core_memory.human", value={"name": "Ada"}),
        record(33, "halt", halt="kept"),
    ]
    write(root, "one", "main", join(lines))
    child = join([header("aide", n=40, parent="main"), said(1, "aide", n=41, t=at(99))])
    write(root, "one", "aide", child)
    own = record(1, "state", n=51, t=at(99), key="shared", value=[1])
    write(root, "one", "session", join([header("session", n=50), own]))

    done = ok("as-of", "one", "now")

    assert done.out.startswith("one as of now (n 34, 2026-01-01 00:00:33 UTC)\n")
    assert "  agent main: 30 messages, 34 records, 0 asides\n" in done.out
    assert "  agent aide: 1 message, 2 records, 0 asides\n" in done.out
    assert '    rig::model = "acme/large"\n' in done.out
    assert "    shared = [1]\n" in done.out
    assert '  core memory:\n    core_memory.human = {"name":"Ada"}\n' in done.out
    assert "  halt: kept\n" in done.out
    assert "text 11\n" in done.out
    assert "text 10\n" not in done.out
    assert "text 10\n" in ok("as-of", "one", "now", "--last", "21").out


def test_json_of_a_view_has_all_of_it(root: Path) -> None:
    lines = [*turns(1), record(2, "state", key="core_memory.human", value="Ada")]
    write(root, "one", "main", join(lines))

    head = ok("as-of", "one", "now", "--json").objects[0]

    assert head == {
        "schema": "agentmem.as-of/1",
        "session": "one",
        "agent": "main",
        "place": "now",
        "n": 3,
        "messages": 1,
        "records": 3,
        "damaged": [],
        "shown": 1,
        "asides": 0,
        "halt": None,
        "agents": [{"id": "main", "parent": None, "messages": 1, "records": 3, "retired": False}],
        "saved": {"core_memory.human": "Ada"},
        "session_saved": {},
        "core_memory": {"core_memory.human": "Ada"},
    }


def test_agents_that_were_not_there_yet_are_not_told_of(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))
    write(root, "one", "aide", join([header("aide", n=5, parent="main")]))

    agents = ok("as-of", "one", "3", "--json").objects[0]["agents"]

    assert [agent["id"] for agent in agents] == ["main"]


def test_m_and_tilde_count_in_the_chosen_agents_log(root: Path) -> None:
    write(root, "one", "main", join(turns(2)))
    aide = [header("aide", n=5), *(said(seq, f"aide {seq}", n=5 + seq) for seq in (1, 2, 3))]
    write(root, "one", "aide", join(aide))

    def of_aide(place: str) -> list[str]:
        return texts(ok("as-of", "one", place, "--agent", "aide", "--json").objects)

    assert of_aide("~1") == ["aide 1", "aide 2"]
    assert of_aide("m1") == ["aide 1"]


@pytest.mark.parametrize("place", ["4", "3"])
def test_a_place_whose_stamp_repeats_is_refused_as_ambiguous(root: Path, place: str) -> None:
    lines = turns(4)
    again = [said(3, "other 3", id_=3), said(4, "other 4", id_=4)]
    write(root, "one", "main", join([*lines[:4], *again]))
    before = tree(root)

    done = run("as-of", "one", place, "--json")

    assert done.status == 3
    assert done.error["kind"] == "ambiguous"
    assert done.error["candidates"] == ["line 4: n 3", "line 5: n 3"]
    assert done.out == ""
    assert tree(root) == before


def test_places_before_and_after_a_repeated_stamp_are_clear(root: Path) -> None:
    lines = turns(4)
    again = [said(3, "other 3", id_=3), said(4, "other 4", id_=4)]
    write(root, "one", "main", join([*lines[:4], *again]))

    assert _seen("one", "2") == ["1"]
    assert _seen("one", "5") == ["1", "2", "3", "other 3", "other 4"]


def test_damage_is_told_and_does_not_fail_a_look_back(root: Path) -> None:
    lines = turns(5)
    write(root, "one", "main", join([*lines[:2], lines[2][:30], *lines[3:]]))

    done = ok("as-of", "one", "4")

    assert "text 3" in done.out
    assert "one/logs/main.jsonl, line 3, byte 245" in done.err


def test_looking_back_changes_nothing(session: Path, root: Path) -> None:
    session.write_bytes(session.read_bytes() + b'{"seq"')
    before = tree(root)

    for place in ("3", "now", "~2", "m1", "2h"):
        run("as-of", "one", place)
        run("as-of", "one", place, "--json")

    assert tree(root) == before
    assert at(0) == BASE_MS
