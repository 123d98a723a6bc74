"""Sessions without an agent, which hold core memory or values only: they can be looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import ok, run, tree

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def notes(root: Path) -> Path:
    """A session of two blocks of core memory and a value."""
    ok("new", "notes")
    ok("core", "set", "notes", "facts", "the sea is cold")
    ok("core", "set", "notes", "goals", "swim")
    ok("value", "set", "notes", "water", "12", "--agent", "session")
    return root / "notes"


def test_show_says_that_there_is_no_conversation_yet_and_what_there_is(notes: Path) -> None:
    before = tree(notes)

    done = ok("show", "notes")

    assert done.out == ""
    assert done.err == "No conversation yet. What was saved: agentmem core show notes\n"
    assert ok("show", "notes", "--json").object["messages"] == 0
    assert tree(notes) == before


def test_core_memory_is_seen_as_of_a_place() -> None:
    now, before = ok("as-of", "notes", "now"), ok("as-of", "notes", "2")

    assert "the sea is cold" in now.out
    assert "swim" in now.out
    assert "water = 12" in now.out
    assert "no agent yet, 4 records" in now.out
    assert "the sea is cold" in before.out
    assert "swim" not in before.out
    told = ok("as-of", "notes", "now", "--json").object
    assert sorted(told["core_memory"]) == ["core_memory.facts", "core_memory.goals"]
    assert told["session_saved"]["water"] == 12
    assert told["agents"] == []


def test_what_changed_is_told() -> None:
    done = run("diff", "notes", "2", "now")

    assert done.status == 1
    assert "+swim" in done.out
    assert "water" in done.out
    assert "cold" not in done.out


def test_its_own_log_and_its_own_values_are_listed() -> None:
    assert ok("log", "notes", "--json").objects == ok("log", "notes", "--all", "--json").objects
    assert [each["key"] for each in ok("value", "list", "notes", "--json").objects] == [
        "core_memory.facts",
        "core_memory.goals",
        "water",
    ]


@pytest.mark.parametrize("form", ["markdown", "html", "jsonl", "messages"])
def test_an_export_has_no_message(form: str) -> None:
    done = ok("export", "notes", "--as", form)

    assert done.out
    assert "swim" not in done.out


def test_the_agent_that_is_printed_is_accepted_back() -> None:
    agent = ok("show", "notes", "--json").object["agent"]

    assert ok("show", "notes", "--agent", agent).out == ""


@pytest.mark.parametrize("command", ["undo", "redo"])
def test_undo_points_to_the_one_of_core_memory(command: str) -> None:
    done = run(command, "notes")

    assert done.status == 3
    assert "agentmem core undo notes" in done.err
    ok("core", "undo", "notes")


@pytest.mark.parametrize("words", [["fork"], ["restore", "-n"], ["compact", "--dry-run"]])
def test_what_needs_a_conversation_says_what_there_is(words: list[str]) -> None:
    done = run(words[0], "notes", *(["start"] if words[0] == "restore" else []), *words[1:])

    assert done.status == 3
    assert "core memory or values only" in done.err


def test_a_session_that_holds_nothing_at_all_says_how_it_begins() -> None:
    ok("new", "empty")

    done = run("show", "empty")

    assert done.status == 3
    assert "agentmem append adds the first message" in done.err
