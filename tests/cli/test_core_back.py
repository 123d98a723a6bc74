"""`core undo` and `undo`: what is read-only stays, and what was no block comes back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli import clock
from tests.cli.running import at, header, join, ok, record, run, tree, write
from tests.cli.talking import add
from tests.talks import ask

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.running import Done


@pytest.fixture(autouse=True)
def session(root: Path) -> Path:
    """A session without anything in it."""
    ok("new", "one")
    return root / "one"


@pytest.fixture(autouse=True)
def _ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each command happen a second after the one before."""
    seconds = iter(range(1, 10_000))
    monkeypatch.setattr(clock, "now_ms", lambda: at(next(seconds)))


def _set(text: str, block: str = "human", *words: str) -> Done:
    return ok("core", "set", "one", block, text, *words)


def _get(block: str = "human") -> str | None:
    done = run("core", "get", "one", block)
    assert done.status in (0, 3)
    return done.out if done.status == 0 else None


def _is_guarded(block: str = "human") -> bool:
    return bool(ok("core", "get", "one", block, "--json").object["read_only"])


def _last_value(session: Path, key: str) -> bytes:
    """Return the JSON of the newest value of a key, as it stands in the log."""
    lines = (session / "logs/session.jsonl").read_bytes().splitlines()
    found = [line for line in lines if b'"key":"%s"' % key.encode() in line]
    (value,) = re.findall(rb'"value":(.*)\}$', found[-1])
    return bytes(value)


UNDO = pytest.mark.parametrize("undo", [("core", "undo", "one"), ("undo", "one")], ids=" ".join)


# -- read-only -------------------------------------------------------------


@pytest.fixture
def _talk() -> None:
    """A conversation, so that there is an agent whose changes `undo` takes back."""
    add("one", ask("hello"))


@UNDO
@pytest.mark.usefixtures("_talk")
def test_an_undo_lifts_no_protection_and_takes_the_change_before_it(undo: tuple[str, ...]) -> None:
    _set("a", "facts")
    _set("Ada")
    ok("core", "protect", "one", "human")

    done = ok(*undo)

    assert _is_guarded()
    assert (_get(), _get("facts")) == ("Ada", None)
    assert "human protected" in done.err
    assert "changes no read-only block, and makes or lifts no protection" in done.err


@UNDO
@pytest.mark.usefixtures("_talk")
def test_an_undo_makes_no_protection_that_unprotect_lifted(undo: tuple[str, ...]) -> None:
    _set("Ada")
    _set("Eve")
    ok("core", "protect", "one", "human")
    ok("core", "unprotect", "one", "human")

    ok(*undo)

    assert not _is_guarded()
    assert _get() == "Ada"


@UNDO
@pytest.mark.usefixtures("_talk")
def test_changes_that_were_passed_by_can_be_undone_after_unprotect(undo: tuple[str, ...]) -> None:
    _set("a", "facts")
    _set("Ada")
    _set("b", "facts")
    _set("Eve")
    ok("core", "protect", "one", "human")
    ok(*undo)
    ok(*undo)
    facts = _get("facts")
    ok("core", "unprotect", "one", "human")
    ok(*undo)
    first = _get()
    ok(*undo)

    assert facts is None
    assert (first, _get(), _get("facts")) == ("Ada", None, None)


@pytest.mark.usefixtures("_talk")
def test_the_hint_of_an_undo_that_a_protection_holds_leads_out() -> None:
    _set("Ada")
    ok("core", "protect", "one", "human")

    done = run("core", "undo", "one")

    assert done.status == 4
    assert "'human' is a read-only block" in done.err
    assert "agentmem core unprotect SESSION human" in done.err
    ok("core", "unprotect", "one", "human")
    ok("core", "undo", "one")
    assert _get() is None


def test_only_a_read_only_block_is_left_to_undo_in_the_session_too() -> None:
    add("one", ask("hello"))
    ok("undo", "one")
    _set("Ada")
    ok("core", "protect", "one", "human")

    done = run("undo", "one")

    assert done.status == 4
    assert "'human' is a read-only block" in done.err


def test_a_change_of_several_blocks_is_passed_by_as_a_whole(session: Path) -> None:
    _set("Ada")
    _set("f", "facts")
    ok("core", "clear", "one")
    _set("g", "goals")
    ok("core", "undo", "one", "--steps", "2")
    both = b'{"blocks": [{"type": "human", "content": "x"}, {"type": "facts", "content": "y"}]}'
    ok("core", "import", "one", stdin=both)
    ok("core", "protect", "one", "human")
    before = tree(session)

    done = run("core", "undo", "one")

    # What is below the import put facts, which the import put too, so it stays as well.
    assert done.status == 4
    assert tree(session) == before


def test_several_steps_leave_out_what_is_read_only_or_change_nothing(session: Path) -> None:
    _set("a", "facts")
    _set("Ada")
    _set("b", "facts")
    ok("core", "protect", "one", "human")
    before = tree(session)
    refused = run("core", "undo", "one", "--steps", "3")
    after = tree(session)
    ok("core", "undo", "one", "--steps", "2")

    assert refused.status == 4
    assert before == after
    assert (_get(), _get("facts")) == ("Ada", None)


def test_a_redo_does_not_change_a_read_only_block(session: Path) -> None:
    add("one", ask("hello"))
    _set("Ada")
    _set("Eve")
    ok("undo", "one")
    ok("core", "protect", "one", "human")
    before = tree(session)
    refused = run("redo", "one")
    dry = run("redo", "one", "--dry-run")
    after = tree(session)
    ok("core", "unprotect", "one", "human")
    ok("redo", "one")

    assert (refused.status, dry.status) == (4, 4)
    assert before == after
    assert _get() == "Eve"
    assert not _is_guarded()


def test_history_says_what_stands_also_where_an_undo_passed_by() -> None:
    _set("a", "facts")
    _set("Ada")
    ok("core", "protect", "one", "human")
    ok("core", "undo", "one")

    told = ok("core", "history", "one", "--json").objects

    assert [(each["action"], each["stands"]) for each in told] == [
        ("removed", False),
        ("protected", True),
        ("set", True),
        ("set", False),
    ]


def test_a_protection_that_another_program_took_out_comes_back_with_its_block(root: Path) -> None:
    lines = [
        header("session"),
        record(1, "state", key="core_memory.human", value={"content": "a", "read_only": True}),
        record(2, "state", key="core_memory.human", value=None),
    ]
    write(root, "one", "session", join(lines))

    ok("core", "undo", "one")

    assert _get() == "a"
    assert _is_guarded()


# -- what is no block ------------------------------------------------------

ODD = [
    b'"Ada"',
    b'{ "name" : "Ad\\u0061", "n": [1.10, -0, 1e400, 123456789012345678901] }',
    b'{"content": 3, "by": "x", "undoes": 1, "content": 4}',
    b"[]",
    b"false",
]


def _foreign(root: Path, *values: tuple[str, bytes]) -> None:
    """Write a log whose saved values are these bytes."""
    lines = [header("session")]
    for number, (key, value) in enumerate(values, 1):
        line = record(number, "state", key=f"core_memory.{key}", value=None)
        lines.append(line.replace(b'"value":null', b'"value":' + value))
    write(root, "one", "session", join(lines))


@pytest.mark.parametrize("by", [(), ("--by", "bob")])
@pytest.mark.parametrize("key", ["human", "config", "plans"])
@pytest.mark.parametrize("value", ODD)
def test_an_undo_brings_back_what_clear_by_force_took_byte_for_byte(
    root: Path, session: Path, value: bytes, key: str, by: tuple[str, ...]
) -> None:
    _foreign(root, ("facts", b'{"content":"f"}'), (key, value))
    ok("core", "clear", "one", "--force", *by)
    gone = ok("core", "list", "one", "--json").object
    told = ok("core", "undo", "one", "--json").object
    back = ok("core", "list", "one", "--json").object

    assert (gone["blocks"], gone["unusable"]) == ([], {})
    assert told["others"] == [f"core_memory.{key}"]
    assert _last_value(session, f"core_memory.{key}") == value
    assert list(back["unusable"]) == [f"core_memory.{key}"]
    assert _get("facts") == "f"


@pytest.mark.parametrize(
    "words", [("set", "human", "x"), ("remove", "human"), ("import", "-")], ids=" ".join
)
@UNDO
@pytest.mark.usefixtures("_talk")
def test_an_undo_brings_back_what_another_verb_replaced_by_force(
    root: Path, session: Path, undo: tuple[str, ...], words: tuple[str, ...]
) -> None:
    _foreign(root, ("human", ODD[1]))
    given = b'{"blocks": [{"type": "human", "content": "x"}]}'
    ok("core", words[0], "one", *words[1:], "--force", stdin=given)

    ok(*undo)

    assert _last_value(session, "core_memory.human") == ODD[1]
    assert [each["stands"] for each in ok("core", "history", "one", "--json").objects] == [
        *(False, False, True)
    ]


def test_an_undo_by_force_goes_from_one_wrong_shape_to_the_one_before(
    root: Path, session: Path
) -> None:
    _foreign(root, ("human", b"7"), ("human", b'"b"'), ("human", b"[8]"))
    refused = run("core", "undo", "one")
    ok("core", "undo", "one", "--force", "--by", "bob", "--reason", "wrong")

    assert refused.status == 5
    assert "--force" in refused.err
    assert _last_value(session, "core_memory.human") == b'"b"'
    told = ok("core", "history", "one", "--json").objects
    assert (told[0]["by"], told[0]["reason"]) == ("bob", "wrong")
    ok("core", "undo", "one", "--force", "--steps", "2")
    assert ok("core", "list", "one", "--json").object["unusable"] == {}
    assert run("core", "undo", "one").status == 3


def test_the_undo_of_a_session_names_the_verb_that_has_force(root: Path) -> None:
    add("one", ask("hello"))
    _foreign(root, ("facts", b'{"content":"f"}'), ("human", b"7"))

    done = run("undo", "one")

    assert done.status == 5
    assert "agentmem core undo SESSION --force" in done.err


def test_changes_of_wrong_shapes_that_come_to_nothing_are_undone(root: Path) -> None:
    _foreign(root, ("human", b"7"), ("human", b"8"), ("human", b"7"))
    ok("core", "undo", "one", "--steps", "2", "--force")
    left = [each["stands"] for each in ok("core", "history", "one", "--json").objects]
    ok("core", "undo", "one", "--force")

    assert left == [False, False, False, True]
    assert _get() is None


def test_a_bound_that_was_a_number_alone_comes_back_as_it_was(root: Path, session: Path) -> None:
    _foreign(root, ("config", b"8192"))
    ok("core", "config", "one", "--max-bytes", "4096")
    ok("core", "undo", "one")

    assert ok("core", "config", "one").out == "max_bytes 8192\n"
    assert _last_value(session, "core_memory.config") == b"8192"


def test_a_redo_takes_away_again_what_an_undo_brought_back(root: Path, session: Path) -> None:
    add("one", ask("hello"))
    _foreign(root, ("human", ODD[1]))
    ok("core", "clear", "one", "--force")
    ok("undo", "one")
    back = _last_value(session, "core_memory.human")
    ok("redo", "one")

    assert back == ODD[1]
    assert _last_value(session, "core_memory.human") == b"null"
