"""Cases of texts, folders and times that people met on their screens, by number."""

from __future__ import annotations

import json
import time
import unicodedata
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli.text import width
from tests.cli.running import header, join, ok, record, run, said, write
from tests.unit.imports import building
from tests.unit.imports.building import put

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN = "Hello\U000e0041\U000e0042world"
"""Two tag characters, which no screen shows and a model reads."""


def test_case_20_what_is_followed_and_exported_reaches_the_screen_as_text_only(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x1b[1A\rline2\u202egnp.exe"
    log = join([header(), said(1, evil), record(2, "state", key="rig::title", value=evil)])
    write(root, "one", "main", log)

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("agentmem_cli.cli.followed.time.sleep", interrupt)
    printed = [
        run("show", "one", "--follow").out,
        run("show", "one", "--follow", "--format", "markdown").out,
        run("show", "one", "--follow", "--json").out,
        ok("export", "one", "--as", "markdown").out,
        ok("export", "one", "--as", "jsonl").out,
    ]

    for out in printed:
        assert "line2" in out
        assert not any(sign in out for sign in "\x1b\x07\r\u202e")
    shown = json.loads(printed[2].splitlines()[1])
    assert shown["message"]["content"][0]["text"] == evil


def test_case_21_hidden_characters_are_kept_as_they_are_and_seen(
    root: Path, tmp_path: Path
) -> None:
    source = put(
        tmp_path / "a.jsonl", building.lines(building.header(id="a"), building.user(1, HIDDEN))
    )
    ok("import", source)

    shown = ok("show", "pi-a", "--json").objects[1]
    (heading, row) = ok("list").out.splitlines()

    assert ok("export", "pi-a", "--as", "original").stdout == source.read_bytes()
    assert shown["message"]["content"][0]["text"] == HIDDEN
    assert "Hello<U+E0041><U+E0042>world" in ok("show", "pi-a").out
    assert r"Hello\<U+E0041>\<U+E0042>world" in ok("export", "pi-a", "--as", "markdown").out
    assert width(row) - width(heading) == len("Hello<U+E0041><U+E0042>world") - len("TITLE")


def test_case_22_a_folder_is_one_however_its_letters_are_composed(
    root: Path, tmp_path: Path
) -> None:
    composed = unicodedata.normalize("NFC", "/w/공유드라이브")
    apart = unicodedata.normalize("NFD", composed)
    for name, folder in (("a", composed), ("b", apart)):
        head = building.header(id=name, cwd=folder)
        ok("import", put(tmp_path / f"{name}.jsonl", building.lines(head, building.user(1, "x"))))

    found = [
        {row["id"] for row in ok("list", "--json", "--project", words).objects}
        for words in (composed, apart, composed.rpartition("/")[2], apart.rpartition("/")[2])
    ]

    assert found == [{"pi-a", "pi-b"}] * 4
    assert {row["cwd"] for row in ok("list", "--json").objects} == {composed, apart}


def test_case_51_names_that_differ_in_case_alone_do_not_meet_on_a_disk(root: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--agent", "Alpha", "--role", "user", stdin=b"x")

    done = run("append", "one", "--agent", "alpha", "--role", "user", stdin=b"y")

    assert done.status == 4
    assert "Alpha" in done.err
    assert [path.name for path in (root / "one" / "logs").iterdir()] == ["Alpha.jsonl"]


def test_case_51_folders_of_windows_are_one_whatever_case_and_slash(
    root: Path, tmp_path: Path
) -> None:
    for name, folder in (("a", r"C:\w\p"), ("b", r"c:\w\p"), ("c", "C:/w/p/")):
        head = building.header(id=name, cwd=folder)
        ok("import", put(tmp_path / f"{name}.jsonl", building.lines(head, building.user(1, "x"))))

    for words in (r"C:\w\p", r"c:\W\P", "c:/w/p"):
        found = {row["id"] for row in ok("list", "--json", "--project", words).objects}

        assert found == {"pi-a", "pi-b", "pi-c"}


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone cannot be set there")
@pytest.mark.parametrize(
    ("zone", "shown", "on_the_second"),
    [
        ("Asia/Tokyo", "2026-03-02 08:30:00 +09:00", True),
        ("America/Los_Angeles", "2026-03-01 15:30:00 -08:00", False),
        ("UTC", "2026-03-01 23:30:00 UTC", False),
    ],
)
def test_case_68_times_carry_their_zone_and_days_are_those_of_it(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    zone: str,
    shown: str,
    on_the_second: bool,
) -> None:
    made = 1_772_407_800_000
    write(root, "one", "main", join([header(t=made), said(1, "x", t=made)]))
    monkeypatch.setenv("TZ", zone)
    time.tzset()

    for words in (("show",), ("show", "--format", "markdown"), ("log",)):
        assert shown in ok(words[0], "one", *words[1:]).out
    assert shown in ok("export", "one", "--as", "markdown").out
    assert ok("show", "one", "--json").objects[1]["made"] == "2026-03-01T23:30:00.000Z"
    assert bool(ok("list", "--json", "--since", "2026-03-02").objects) is on_the_second
    assert ok("--utc", "list", "--json", "--since", "2026-03-02").objects == []
    assert "2026-03-01 23:30:00 UTC" in ok("--utc", "show", "one").out
