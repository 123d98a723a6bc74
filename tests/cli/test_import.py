from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import ok, run, texts, tree
from tests.unit.imports.building import (
    SESSION_ID,
    entry,
    header,
    lines,
    put,
    reply,
    user,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Value

PLAIN = lines(header(), user(1, "one"), reply(2, "two"), user(3, "three"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return put(tmp_path / "src" / "2026_x.jsonl", PLAIN)


def imported(*words: str | Path) -> Value:
    """Import, which must work, and return what is told of the only source."""
    return ok("import", "--json", *words).object


def shown() -> list[str]:
    return texts(ok("show", f"pi-{SESSION_ID}", "--json").objects)


def test_a_transcript_is_listed_and_shown_after_its_import(source: Path) -> None:
    value = imported(source)

    (listed,) = ok("list", "--json").objects
    assert (value["session"], value["messages"], value["new"]) == (f"pi-{SESSION_ID}", 3, 5)
    assert listed["title"] == "one"
    assert shown() == ["one", "two", "three"]
    assert ok("verify", f"pi-{SESSION_ID}").status == 0


def test_the_second_import_says_that_nothing_is_new(source: Path, root: Path) -> None:
    imported(source)
    before = tree(root)

    value = imported(source)

    assert value["nothing_new"] is True
    assert "nothing new" in ok("import", source).out
    assert tree(root) == before


def test_only_what_a_grown_source_has_new_is_added(source: Path) -> None:
    imported(source)
    put(source, PLAIN + lines(reply(4, "four")))

    value = imported(source)

    assert (value["new"], value["known"]) == (1, 5)
    assert shown() == ["one", "two", "three", "four"]


def test_a_dry_run_counts_and_writes_nothing(source: Path, root: Path) -> None:
    value = imported(source, "--dry-run")

    assert (value["messages"], value["dry_run"]) == (3, True)
    assert not root.exists()


DAMAGE = {
    "torn": (PLAIN[:-20], ["one", "two"], "line 4"),
    "welded": (
        lines(header(), user(1, "one"), reply(2, "lost")[:40] + user(3, "three")),
        ["one", "three"],
        "line 3",
    ),
    "two on a line": (
        lines(header(), user(1, "one") + reply(2, "two"), user(3, "three")),
        ["one", "two", "three"],
        "line 2",
    ),
    "bad lines between": (
        lines(header(), user(1, "one"), b'{"type":"mess', user(3, "three"), b"[]", user(4, "four")),
        ["one", "three", "four"],
        "line 5",
    ),
    "nuls": (
        lines(header(), user(1, "one"), bytes(512), bytes(300) + user(3, "three")),
        ["one", "three"],
        "512 NUL",
    ),
    "zeroed end": (PLAIN + bytes(4_096), ["one", "two", "three"], "4096 bytes"),
    "not utf-8": (
        lines(header(), user(1, "one"), user(2, "caf?").replace(b"?", b"\xe9")),
        ["one", "caf\ufffd"],
        "UTF-8",
    ),
    "too deep": (
        lines(
            header(), user(1, "one"), b'{"a":' * 100_000 + b"1" + b"}" * 100_000, user(3, "three")
        ),
        ["one", "three"],
        "deep",
    ),
    "no record": (
        lines(header(), user(1, "one"), b'{"type":["message"]}', b"null", user(3, "three")),
        ["one", "three"],
        "line 3",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_costs_what_is_damaged_and_is_told_by_its_place(source: Path, kind: str) -> None:
    data, left, told = DAMAGE[kind]
    put(source, data)
    before = tree(source.parent)

    done = ok("import", source)

    assert shown() == left
    assert told in done.err
    assert "Traceback" not in done.err
    assert tree(source.parent) == before


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + PLAIN,
        b"\xff\xfe" + PLAIN.decode().encode("utf-16-le"),
        PLAIN.replace(b"\n", b"\r\n"),
        PLAIN.replace(b"\n", b" \t\n\n  \n").rstrip(),
        lines(entry("title", 0, title="T")) + PLAIN,
    ],
)
def test_other_spellings_of_the_same_lines_are_no_damage(source: Path, data: bytes) -> None:
    put(source, data)

    value = imported(source)

    assert shown() == ["one", "two", "three"]
    assert (value["lost"], value["mended"], value["torn"]) == (0, 0, None)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "0 records"),
        (b"\n\n", "0 records"),
        (lines(header()), "no message recognised"),
        (b"\xc3\x28\xa0\n" * 3, "3 lines, no message recognised"),
        (b'{"wrapped":{}}\n' * 50, "50 lines, no message recognised"),
    ],
)
def test_a_source_without_a_message_ends_with_2_and_makes_no_session(
    source: Path, root: Path, data: bytes, told: str
) -> None:
    put(source, data)

    done = run("import", source)

    assert (done.status, done.out) == (2, "")
    assert told in done.err
    assert not root.exists()


def test_escapes_in_a_transcript_reach_the_terminal_as_text_only(source: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\rline2\u202egnp.exe"
    put(source, lines(header(id=evil), user(1, evil), b'{"type":"\x1b[2J"}'))

    everything = ok("import", source)
    listed = ok("list")

    for done in (everything, listed):
        assert not set("\x1b\x07\r\u202e") & set(done.out + done.err)
    assert len(listed.out.splitlines()) == 2


def test_a_hostile_session_id_makes_one_folder_under_the_root(source: Path, root: Path) -> None:
    put(source, lines(header(id="../../../victim"), user(1, "one")))

    value = imported(source)

    assert [path.name for path in root.iterdir()] == [value["session"]]
    assert ok("list", "--json").object["messages"] == 1


def test_a_source_that_has_parted_ends_with_4_and_names_again(source: Path) -> None:
    imported(source)
    put(source, lines(header(), user(1, "other")))

    done = run("import", source)
    again = imported(source, "--again")

    assert done.status == 4
    assert "--again" in done.err
    assert again["session"] == f"pi-{SESSION_ID}-2"


def test_a_folder_gives_every_transcript_in_it_and_names_the_one_that_fails(source: Path) -> None:
    put(source.parent / "odd.jsonl", b"no transcript\n")

    done = run("import", "--json", source.parent)

    assert done.status == 2
    assert "odd.jsonl" in done.err
    assert [value.get("messages") for value in done.objects] == [3, None]


def test_an_unknown_kind_and_a_missing_source_are_named(tmp_path: Path, source: Path) -> None:
    kind = run("import", "--from", "nosuch", source)
    missing = run("import", tmp_path / "gone.jsonl")

    assert (kind.status, missing.status) == (2, 3)
    assert "nosuch" in kind.err
    assert "gone.jsonl" in missing.err
