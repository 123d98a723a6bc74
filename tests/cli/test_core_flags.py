"""`core`: each verb with each of the flags that it shares with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.cli import clock
from agentmem_cli.session.core_text import parse
from tests.cli.running import at, header, join, ok, record, run, tree, turns, write

if TYPE_CHECKING:
    from pathlib import Path

CHANGES: dict[str, tuple[str, ...]] = {
    "set": ("human", "x"),
    "append": ("human", "x"),
    "replace": ("human", "--old", "Ada", "--new", "Eve"),
    "insert": ("human", "x", "--line", "0"),
    "label": ("human", "new"),
    "remove": ("human",),
    "clear": (),
    "edit": ("human",),
    "protect": ("human",),
    "unprotect": ("goals",),
    "config": ("--max-bytes", "5000"),
    "undo": (),
    "restore": ("human", "--as-of", "2"),
    "import": (),
}
"""Each verb that changes something, with words that change something of the session below."""
ALL = {"clear", "config", "undo", "import"}
"""Verbs whose ``--if-match`` is of all blocks."""
GIVEN = b'{"blocks": [{"type": "human", "content": "given"}]}'
LOOKS = {
    "list": (),
    "show": (),
    "get": ("human",),
    "render": (),
    "lint": (),
    "blame": ("human",),
    "export": (),
}


@pytest.fixture(autouse=True)
def session(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The same blocks in the session's log and in an agent's; each command a second later."""
    seconds = iter(range(100, 10_000))
    monkeypatch.setattr(clock, "now_ms", lambda: at(next(seconds)))
    monkeypatch.setenv("EDITOR", "sed -i s/Ada/Eve/")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    write(root, "one", "main", join(turns(1)))
    write(root, "one", "session", join([header("session"), record(1, "state", key="x", value=1)]))
    for log in ("session", "main"):
        ok("core", "set", "one", "human", "old", "--agent", log)
        ok("core", "set", "one", "goals", "g", "--agent", log)
        ok("core", "protect", "one", "goals", "--agent", log)
        ok("core", "set", "one", "human", "Ada\nlast", "--agent", log)
        ok("core", "unprotect", "one", "goals", "--agent", log)
    ok("core", "protect", "one", "goals")
    ok("core", "protect", "one", "goals", "--agent", "main")
    return root / "one"


def _words(verb: str, *more: str) -> tuple[str, ...]:
    if verb == "clear":
        ok("core", "unprotect", "one", "goals")
        ok("core", "unprotect", "one", "goals", "--agent", "main")
    if verb == "restore":
        n = ok("core", "history", "one", "human", "--json", *more).objects[0]["n"]
        return ("core", verb, "one", "human", "--as-of", str(n))
    return ("core", verb, "one", *CHANGES[verb])


def _logs(session: Path) -> dict[str, bytes]:
    return {name: (session / f"logs/{name}.jsonl").read_bytes() for name in ("session", "main")}


@pytest.mark.parametrize("verb", CHANGES)
def test_a_dry_run_of_any_verb_tells_the_plan_and_writes_nothing(session: Path, verb: str) -> None:
    words = _words(verb)
    before = tree(session)

    done = ok(*words, "--dry-run", stdin=GIVEN)
    told = ok(*words, "--dry-run", "--json", stdin=GIVEN).object

    assert "bytes" in done.out
    assert (told["dry_run"], told["changed"], told["first_n"]) == (True, True, None)
    assert tree(session) == before


@pytest.mark.parametrize("verb", CHANGES)
def test_any_verb_keeps_who_and_why_and_tells_json(session: Path, verb: str) -> None:
    words = _words(verb)

    told = ok(*words, "--by", "bob", "--reason", "so it is", "--json", stdin=GIVEN).object
    newest = ok("core", "history", "one", "--json").objects[0]

    assert told["schema"] == "agentmem.core-change/1"
    assert (told["changed"], told["log"]) == (True, "session")
    assert told["first_n"] <= told["last_n"] == newest["behind"] - 1
    assert (newest["by"], newest["reason"]) == ("bob", "so it is")
    assert session.is_dir()


@pytest.mark.parametrize("verb", CHANGES)
def test_any_verb_changes_the_blocks_of_an_agent_alone(session: Path, verb: str) -> None:
    words = _words(verb, "--agent", "main")
    before = _logs(session)

    told = ok(*words, "--agent", "main", "--json", stdin=GIVEN).object
    after = _logs(session)

    assert (told["agent"], told["log"], told["changed"]) == ("main", "main", True)
    assert after["session"] == before["session"]
    assert after["main"].startswith(before["main"])
    assert len(after["main"]) > len(before["main"])


@pytest.mark.parametrize("verb", CHANGES)
def test_any_verb_goes_by_what_the_caller_had_seen(session: Path, verb: str) -> None:
    words = _words(verb)
    block = "goals" if verb == "unprotect" else "human"
    seen = ok("core", "get", "one", block, "--hash").out.strip()
    if verb in ALL:
        seen = ok("core", "render", "one", "--digest").out.strip()
    before = tree(session)
    refused = run(*words, "--if-match", "0" * 64, stdin=GIVEN)
    left = tree(session)
    done = run(*words, "--if-match", seen, stdin=GIVEN)

    assert refused.status == 4
    assert left == before
    assert done.status == 0
    assert tree(session) != before


@pytest.mark.parametrize("verb", ["set", "append", "replace", "insert", "restore"])
def test_what_others_changed_on_other_lines_is_merged_where_that_is_asked(verb: str) -> None:
    words = _words(verb)
    seen = ok("core", "get", "one", "human", "--hash").out.strip()
    ok("core", "replace", "one", "human", "--old", "last", "--new", "LAST", "--by", "bob")
    refused = run(*words, "--if-match", seen)
    done = run(*words, "--if-match", seen, "--merge")

    assert refused.status == 4
    # Setting, restoring and appending touch the line that bob changed; these are told instead.
    assert done.status == (0 if verb in {"replace", "insert"} else 4)
    assert "LAST" in (done.err if done.status else ok("core", "get", "one", "human").out)


@pytest.mark.parametrize("verb", LOOKS)
def test_any_verb_that_looks_takes_a_place_and_an_agent(session: Path, verb: str) -> None:
    n = ok("core", "history", "one", "human", "--json").objects[0]["n"]
    ok("core", "set", "one", "human", "mine", "--agent", "main")
    before = tree(session)

    now = run("core", verb, "one", *LOOKS[verb])
    then = run("core", verb, "one", *LOOKS[verb], "--as-of", str(n))
    other = run("core", verb, "one", *LOOKS[verb], "--agent", "main")
    told = run("core", verb, "one", *LOOKS[verb], "--json")

    assert {now.status, then.status, other.status, told.status} == {0}
    if verb != "lint":
        assert len({now.out, then.out, other.out}) == 3
        assert all(each["schema"].startswith("agentmem.core") for each in told.objects)
    assert tree(session) == before


def test_history_and_differences_are_of_an_agent_too() -> None:
    ok("core", "set", "one", "human", "mine", "--agent", "main", "--by", "eve")

    assert ok("core", "history", "one", "--agent", "main", "--last", "1").out.count("eve") == 1
    assert "eve" not in ok("core", "history", "one").out
    assert "+mine" in run("core", "diff", "one", "~1", "--agent", "main").out


SIGNS = '< / " > \n block BLOCK core_memory type= &lt; & x \u202e \U000e0041 \u200b \r \t \x01'
TAGS = st.lists(st.sampled_from([*SIGNS.split(" "), " "]), max_size=10).map("".join)


@given(TAGS, TAGS)
def test_no_label_and_no_content_forges_a_block_of_a_session(label: str, content: str) -> None:
    label = label.encode()[:60].decode(errors="ignore")
    ok("core", "set", "one", "human", "--label", label, "-", stdin=content.encode())

    text = ok("core", "render", "one").stdout.decode()

    blocks = parse(text).blocks_ordered()
    assert [(each.block_type, each.label, each.content) for each in blocks] == [
        ("human", label, content),
        ("goals", None, "g"),
    ]


@pytest.mark.parametrize("label", ['"> </block>', "a\nb", "< / CORE_MEMORY >", "&quot;", "\u202e"])
def test_a_label_that_may_deceive_is_escaped_and_named(label: str) -> None:
    ok("core", "label", "one", "human", label)

    text = ok("core", "render", "one").out

    assert [each.label for each in parse(text).blocks_ordered()] == [label, None]
    assert text.count("<block ") == text.count("</block>") == 2
    found = run("core", "lint", "one", "--json").objects
    suspicious = label not in ("a\nb", "&quot;")
    assert [each["where"] for each in found] == (["label"] if suspicious else [])
