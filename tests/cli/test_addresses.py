"""Addresses of messages as grep prints them, wherever a message or a place is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, ok, run, said, texts, turns, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def sessions(root: Path) -> None:
    """Two sessions; `one` has a main agent and an aide, with other words each."""
    write(root, "one", "main", join(turns(4)))
    aide = [header("aide", n=9, parent="main")]
    aide += [said(seq, f"aide {seq}", n=9 + seq) for seq in (1, 2, 3)]
    write(root, "one", "aide", join(aide))
    write(root, "two", "main", join([header(), *(said(seq, f"two {seq}") for seq in (1, 2, 3))]))


def shown(*words: str) -> list[str]:
    return texts(ok("show", "--json", *words).objects)


def test_every_address_that_grep_prints_is_shown() -> None:
    hits = ok("grep", "2$", "--json").objects

    assert sorted(hit["address"] for hit in hits) == ["one:aide:m1", "one:main:m1", "two:main:m1"]
    for hit in hits:
        assert shown(hit["address"], "--last", "9")[0] == hit["text"]
        assert shown("--from", hit["address"])[0] == hit["text"]
        assert shown(hit["session"], "--from", hit["address"])[0] == hit["text"]
        assert shown(hit["session"], "--to", hit["address"])[-1] == hit["text"]


@pytest.mark.parametrize(
    "words",
    [
        ["two", "--from", "one:aide:m1"],
        ["two", "--to", "one:main:m1"],
        ["one", "--agent", "main", "--from", "one:aide:m1"],
        ["one:aide:m1", "--agent", "main"],
        ["one", "--as-of", "two:main:m1"],
        ["--from", "one:main:m1", "--to", "one:aide:m2"],
        ["--from", "one:main:m1", "--to", "two:main:m2"],
        ["one:main:m1", "--to", "two:main:m2"],
        ["one", "--from", "one:nobody:m1"],
        ["one", "--from", "nowhere:main:m1"],
        [],
    ],
)
def test_an_address_of_another_session_or_agent_is_refused(words: list[str]) -> None:
    done = run("show", *words)

    assert done.status == 2
    assert not done.out


def test_the_refusal_names_both_sessions() -> None:
    done = run("show", "two", "--from", "one:aide:m1")

    assert "'one:aide:m1' is a message of session one, not of two" in done.err


def test_a_session_that_is_not_there_is_not_found() -> None:
    assert run("show", "--from", "nowhere:main:m1").status == 3


@pytest.mark.parametrize("command", [["as-of"], ["diff"], ["restore", "-n"], ["core", "diff"]])
def test_a_place_is_an_address_where_it_names_the_session(command: list[str]) -> None:
    wrong = run(*command, "two", "one:aide:m1")
    right = run(*command, "one", "one:aide:m1")

    assert right.status in {0, 1}
    assert wrong.status == 2
    assert "one:aide:m1" in wrong.err


def test_a_place_that_is_an_address_chooses_its_agent() -> None:
    assert ok("as-of", "one", "one:aide:m1", "--json").objects[0]["agent"] == "aide"
    assert texts(ok("as-of", "one", "one:aide:m1", "--json").objects) == ["aide 1"]
    assert shown("one", "--as-of", "one:aide:m2") == ["aide 1", "aide 2"]
    exported = ok("export", "one", "--as", "jsonl", "--as-of", "one:aide:m1").objects
    assert texts(exported) == ["aide 1"]
    forked = ok("fork", "one", "new", "--at", "one:main:m2", "--json").object
    assert forked["source_agent"] == "main"


def test_places_of_two_agents_are_not_compared() -> None:
    done = run("diff", "one", "one:main:m1", "one:aide:m1")

    assert done.status == 2
    assert "agent aide" in done.err


def test_core_memory_is_seen_before_a_message_of_any_agent() -> None:
    ok("core", "set", "one", "facts", "hello")

    assert "hello" not in ok("core", "show", "one", "--as-of", "one:aide:m1").out
    assert run("core", "show", "one", "--as-of", "two:main:m1").status == 2


def test_names_with_colons_are_told_apart(root: Path) -> None:
    write(root, "a:b", "c:d", join(turns(3, "c:d")))

    assert shown("--from", "a:b:c:d:m1") == ["text 2", "text 3"]
    assert shown("a:b", "--from", "a:b:c:d:m1") == ["text 2", "text 3"]


def test_a_session_that_is_named_like_an_address_is_still_itself(root: Path) -> None:
    write(root, "one:main:m1", "main", join([header(), said(1, "odd")]))

    assert shown("one:main:m1") == ["odd"]


@pytest.mark.parametrize(
    "time", ["2026-01-01T00:00:03", "2026-01-01T00:00+00:00", "2026-01-01 00:00:03Z"]
)
def test_times_are_no_addresses(time: str) -> None:
    assert run("as-of", "one", time).status == 0


def test_following_takes_an_address_of_the_agent_that_it_follows() -> None:
    done = run("show", "--follow", "--all", "--from", "one:aide:m1")

    assert done.status == 2
    assert "an address names one" in done.err


def test_the_hint_shows_a_session_whose_name_begins_with_a_dash(root: Path) -> None:
    write(root, "-dash", "main", join(turns(1)))
    found = ok("grep", "--json", "text 1", "--", "-dash")

    assert ok(*found.object["show"]).out.splitlines()[1] == "    text 1"
    assert "show --agent main --from m0 -- -dash" in ok("grep", "text 1", "--", "-dash").err
