"""Cases of a suite of failures seen in other tools: ways there and back, and times in zones."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentmem_cli.session.codec import dumps
from tests.cli.running import header, join, ok, said, tree, write
from tests.provider_shapes import check
from tests.unit.imports import building
from tests.unit.imports.building import put

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SOURCES = {
    "pi": EXAMPLES / "pi-session.jsonl",
    "claude-code": EXAMPLES / "claude-code" / "5c1de000-0000-4000-8000-00000000c0de.jsonl",
    "codex": EXAMPLES / "codex-rollout.jsonl",
    "openai-messages": EXAMPLES / "openai-messages.json",
}


# -- case 40: one's own export comes back ------------------------------------


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("words", ["original", "messages openai", "messages anthropic"])
def test_case_40_importing_ones_own_export_changes_nothing(
    root: Path, tmp_path: Path, kind: str, words: str
) -> None:
    ok("import", SOURCES[kind])
    form, _, shape = words.partition(" ")
    (tmp_path / "copy").mkdir()
    target = f"{tmp_path}/copy/" + ("" if form == "original" else "renamed.json")
    more = ("--shape", shape) if shape else ()
    ok("export", "@last", "--as", form, *more, "-o", target)
    before = tree(root)

    copied = ok("import", tmp_path / "copy", "--json").objects
    source = ok("import", SOURCES[kind], "--json").object
    again = ok("import", tmp_path / "copy")

    assert [each["nothing_new"] for each in (*copied, source)] == [True] * (len(copied) + 1)
    assert {each["session"] for each in copied} == {source["session"]}
    assert "nothing new" in again.out
    assert tree(root) == before


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_case_40_an_export_in_an_empty_root_is_a_session_whose_export_is_the_same(
    root: Path, tmp_path: Path, kind: str, shape: str
) -> None:
    ok("import", SOURCES[kind])
    first = ok("export", "@last", "--as", "messages").stdout
    other = ("--root", root.with_name("other"))

    ok(*other, "import", put(tmp_path / "copy.json", first))
    second = ok(*other, "export", "@last", "--as", "messages").stdout
    shaped = json.loads(ok(*other, "export", "@last", "--as", "messages", "--shape", shape).stdout)

    assert second == first
    check(shape, shaped, back=True)


# -- case 41: conversions lose nothing ----------------------------------------


def _call(id_: str, arguments: str) -> Object:
    return {"id": id_, "type": "function", "function": {"name": "grep", "arguments": arguments}}


ARGUMENTS = [
    '{"path":"a b"',
    '{ "b" : 1.0, "a": [ ] }',
    '{"a":1,"a":2}',
    "",
    "null",
    '"\\u00e9\\/"',
]


@pytest.mark.parametrize("broken", ARGUMENTS)
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("form", ["array", "object", "lines"])
def test_case_41_null_content_swapped_results_and_legacy_calls_come_back_equal(
    tmp_path: Path, broken: str, form: str, *, swapped: bool
) -> None:
    results: list[JSON] = [
        {"role": "tool", "tool_call_id": "one", "content": "first"},
        {"role": "tool", "tool_call_id": "two", "content": "no JSON"},
    ]
    legacy: JSON = {"name": "old", "arguments": broken}
    talk: list[JSON] = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [_call("one", '{"p": 1}')]},
        {"role": "tool", "tool_call_id": "one", "content": ""},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [_call("one", '{"p":1}'), _call("two", broken)],
        },
        *(results[::-1] if swapped else results),
        {"role": "assistant", "content": None, "function_call": legacy},
        {"role": "function", "name": "old", "content": "result"},
        {"role": "assistant", "content": "Done."},
    ]
    data = {
        "array": dumps(talk),
        "object": dumps({"messages": talk}),
        "lines": b"".join(dumps(each) + b"\n" for each in talk),
    }[form]
    ok("import", put(tmp_path / "talk.json", data))

    done = ok("export", "@last", "--as", "messages")
    anthropic = json.loads(ok("export", "@last", "--as", "messages", "--shape", "anthropic").stdout)

    found = json.loads(done.stdout)
    assert found == json.loads(dumps(talk))
    assert b"".join(dumps(each) for each in found) == b"".join(dumps(each) for each in talk)
    assert done.err == ""
    check("openai", found)
    check("anthropic", anthropic)


# -- case 68: a day is a day of the stated zone -------------------------------

LATE = 1_772_407_800_000
"""2026-03-01T23:30:00Z: the second of March in Tokyo, the first in Los Angeles."""

HOUR_MS = 3_600_000
ZONES = {
    "UTC": "2026-03-01 23:30:00 UTC",
    "Asia/Tokyo": "2026-03-02 08:30:00 +09:00",
    "America/Los_Angeles": "2026-03-01 15:30:00 -08:00",
}
IN_ZONES = pytest.mark.parametrize("zone", ZONES)


def _zone(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()


@pytest.fixture
def late(root: Path) -> str:
    write(root, "one", "main", join([header(t=LATE), said(1, "late", t=LATE)]))
    return "one"


@IN_ZONES
@pytest.mark.parametrize("command", ["show", "log", "as-of"])
def test_case_68_times_on_a_screen_carry_their_zone(
    late: str, monkeypatch: pytest.MonkeyPatch, zone: str, command: str
) -> None:
    _zone(monkeypatch, zone)
    words = (command, late, "now") if command == "as-of" else (command, late)

    here, utc = ok(*words).out, ok("--utc", *words).out

    times = re.findall(r"2026-\d\d-\d\d.*", here)
    assert ZONES[zone] in here
    assert ZONES["UTC"] in utc
    assert times
    assert all(ZONES[zone] in each for each in times)


@IN_ZONES
@pytest.mark.parametrize("command", ["show", "log", "as-of", "list", "list --tree"])
def test_case_68_times_in_json_are_utc_whatever_the_zone(
    late: str, monkeypatch: pytest.MonkeyPatch, zone: str, command: str
) -> None:
    _zone(monkeypatch, zone)
    words = command.split()
    words += [] if "list" in words else [late]
    words += ["now"] if command == "as-of" else []

    found = [*_times(ok(*words, "--json").objects)]

    assert found
    assert set(found) == {"2026-03-01T23:30:00.000Z"}


def _times(value: Any) -> list[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return [value] if re.match(r"\d{4}-\d\d-\d\d", value) else []
    children = value.values() if isinstance(value, dict) else value
    return [t for each in children for t in _times(each)] if isinstance(value, dict | list) else []


FITS = [
    ("UTC", "--since", "2026-03-02", False),
    ("UTC", "--until", "2026-03-01", True),
    ("Asia/Tokyo", "--since", "2026-03-02", True),
    ("Asia/Tokyo", "--until", "2026-03-01", False),
    ("Asia/Tokyo", "--until", "2026-03-02", True),
    ("America/Los_Angeles", "--since", "2026-03-02", False),
    ("America/Los_Angeles", "--since", "2026-03-01", True),
    ("America/Los_Angeles", "--until", "2026-03-01", True),
    ("America/Los_Angeles", "--since", "2026-03-01T15:30", True),
    ("America/Los_Angeles", "--since", "2026-03-01T15:31", False),
    ("America/Los_Angeles", "--since", "2026-03-01T23:30Z", True),
    ("America/Los_Angeles", "--since", "2026-03-02T08:31+09:00", False),
]
"""Zone, option and time, and whether what was made `LATE` fits."""


@pytest.mark.parametrize(("zone", "option", "when", "fits"), FITS)
def test_case_68_list_takes_days_in_the_stated_zone(
    late: str, monkeypatch: pytest.MonkeyPatch, zone: str, option: str, when: str, *, fits: bool
) -> None:
    _zone(monkeypatch, zone)

    found = [row["id"] for row in ok("list", option, when, "--json").objects]
    utc = [row["id"] for row in ok("--utc", "list", "--since", "2026-03-02", "--json").objects]

    assert found == ([late] if fits else [])
    assert utc == []


@pytest.mark.parametrize(
    ("zone", "option", "when", "fits"), [each for each in FITS if each[1] == "--since"]
)
def test_case_68_import_takes_days_in_the_stated_zone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    zone: str,
    option: str,
    when: str,
    *,
    fits: bool,
) -> None:
    _zone(monkeypatch, zone)
    data = building.lines(building.header(id="a"), building.user(1, "x"))
    source = put(tmp_path / "src" / "a.jsonl", data)
    os.utime(source, (LATE // 1000, LATE // 1000))

    utc = ok("--utc", "import", source.parent, "--since", "2026-03-02", "--json")
    here = ok("import", source.parent, option, when, "--json")

    assert utc.objects == []
    assert [each["session"] for each in here.objects] == (["pi-a"] if fits else [])


def test_case_68_a_day_on_which_clocks_change_is_as_long_as_it_was(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _zone(monkeypatch, "America/Los_Angeles")
    begin = LATE + 8 * HOUR_MS + HOUR_MS // 2 + 6 * 24 * HOUR_MS  # 2026-03-08T08:00Z, 23 hours
    for name, t in (("a", begin - 1), ("b", begin), ("c", begin + 23 * HOUR_MS - 1)):
        write(root, name, "main", join([header(t=t), said(1, name, t=t)]))
    after = begin + 23 * HOUR_MS
    write(root, "d", "main", join([header(t=after), said(1, "d", t=after)]))

    day = "2026-03-08"
    found = ok("list", "--since", day, "--until", day, "--sort", "id", "--json").objects

    assert [row["id"] for row in found] == ["b", "c"]
