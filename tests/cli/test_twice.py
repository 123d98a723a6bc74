"""What stands in two sessions, on the screen and in JSON: forks, and agents by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import ok
from tests.cli.terminal import on_terminal
from tests.unit.imports import codex_building as codex
from tests.unit.imports.building import lines, put
from tests.unit.imports.claude_building import OTHER, SID, piece, prompt, text

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object

FIRST = f"claude-code-{SID}"
FORK = f"claude-code-{OTHER}"
TITLE = "Tell me of the tides in the estuary"


def _claude(folder: Path) -> None:
    """A session of 6 messages, and a fork with its first 5 and 2 of its own."""
    copied = [
        prompt("u1", None, TITLE, 1),
        piece("a1", "u1", "m1", text("High at five"), second=2),
        prompt("u2", "a1", "And then?", 3),
        piece("a2", "u2", "m2", text("Low at eleven"), second=4),
        prompt("u3", "a2", "So?", 5),
    ]
    own: Object = {"sessionId": OTHER}
    mine = [
        piece("b3", "u3", "m4", text("Otherwise"), second=7, **own),
        prompt("u4", "b3", "Thanks", 8, **own),
    ]
    put(folder / f"{SID}.jsonl", lines(*copied, piece("a3", "u3", "m3", text("Done"), second=6)))
    put(folder / f"{OTHER}.jsonl", lines(*copied, *mine))


def _codex(folder: Path) -> None:
    """The same of Codex: the fork repeats its parent's header on its second line."""
    turns = [codex.prompt(1, TITLE), codex.answer(2, "High"), codex.prompt(3, "And?")]
    turns += [codex.answer(4, "Low"), codex.prompt(5, "So?")]
    codex.rollout(folder, codex.THREAD, codex.meta(), *turns, codex.answer(6, "Done"))
    head = codex.meta(codex.FORK, 50, forked_from_id=codex.THREAD)
    own = [codex.answer(57, "Otherwise"), codex.prompt(58, "Thanks")]
    codex.rollout(folder, codex.FORK, head, codex.meta(codex.THREAD, 50), *turns, *own)


KINDS = pytest.mark.parametrize(
    ("first", "fork"),
    [(FIRST, FORK), (f"codex-{codex.THREAD}", f"codex-{codex.FORK}")],
    ids=["claude-code", "codex"],
)


def _both(folder: Path) -> Path:
    _claude(folder / "claude")
    _codex(folder / "codex")
    return folder


@KINDS
def test_a_fork_is_listed_with_what_it_shares(
    root: Path, tmp_path: Path, first: str, fork: str
) -> None:
    imported = ok("import", _both(tmp_path / "from"), "--json").objects

    rows = {row["id"]: row for row in ok("list", "--json").objects}
    told = {value["session"]: value for value in imported}

    assert (rows[first]["messages"], rows[fork]["messages"]) == (6, 7)
    assert rows[first]["forked_from"] is None
    assert rows[fork]["forked_from"] == {"session": first, "at": 5}
    assert told[fork]["forked_from"] == {"session": first, "at": 5}
    assert f"{TITLE} (forked from {first} at 5)" in ok("list").out
    assert f"{TITLE} (forked from {first} at 5)" in ok("list", "--tree").out
    (root / fork / "files" / "meta.json").unlink()
    assert f"(forked from {first} at 5)" in ok("list").out


@KINDS
def test_import_says_what_a_fork_shares_each_time(tmp_path: Path, first: str, fork: str) -> None:
    folder = _both(tmp_path / "from")

    outs = [ok("import", folder).out, ok("import", folder).out]

    for out in outs:
        (line,) = [line for line in out.splitlines() if line.startswith(fork)]
        assert f"7 messages, 5 of them in {first} too" in line


@pytest.mark.parametrize("words", [("list",), ("list", "--tree")])
def test_a_narrow_screen_still_says_that_it_is_a_fork(
    root: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    _claude(tmp_path / "from")
    ok("import", tmp_path / "from")

    shown = on_terminal([*words], columns=80, AGENTMEM_ROOT=str(root))

    assert any("[fork at 5] " in line for line in shown)


def test_the_sum_of_many_sources_counts_what_is_shared_once(tmp_path: Path) -> None:
    folder = _both(tmp_path / "from")
    for number in range(20):
        name = f"0c1a0de0-0000-4000-8000-0000000001{number:02}"
        put(folder / f"{name}.jsonl", lines(prompt("u", None, "Hi", sessionId=name)))

    done = ok("import", folder)

    rows = [line.split() for line in done.out.splitlines()]
    assert ["claude-code", "22", str(20 + 6 + 2)] in [row[:3] for row in rows]
    assert ["codex", "2", str(6 + 2)] in [row[:3] for row in rows]


def test_of_forks_whose_session_is_gone_the_longest_copy_counts(tmp_path: Path) -> None:
    _claude(tmp_path / "from")
    fork = (tmp_path / "from" / f"{OTHER}.jsonl").read_bytes()
    (tmp_path / "from" / f"{SID}.jsonl").unlink()
    for number in range(21):
        name = f"0c1a0de0-0000-4000-8000-0000000001{number:02}"
        put(tmp_path / "from" / f"{name}.jsonl", fork.replace(OTHER.encode(), name.encode()))

    done = ok("import", tmp_path / "from")

    rows = [line.split() for line in done.out.splitlines()]
    assert ["claude-code", "22", str(5 + 22 * 2)] in [row[:3] for row in rows]


def _agent(folder: Path) -> tuple[Path, Path]:
    told: Object = {"isSidechain": True, "agentId": "k1"}
    kid = put(folder / "agent-k1.jsonl", lines(prompt("k", None, "Look", 3, **told)))
    main = put(folder / "main" / f"{SID}.jsonl", lines(prompt("u", None, "Go")))
    put(main.parent / SID / "subagents" / kid.name, kid.read_bytes())
    return kid, main


def test_an_agent_by_itself_is_listed_as_what_it_is(root: Path, tmp_path: Path) -> None:
    kid, main = _agent(tmp_path)
    ok("import", kid)
    before = ok("list").out
    done = ok("import", main)

    rows = {row["id"]: row for row in ok("list", "--json").objects}

    part = {"session": FIRST, "agent": "k1", "held": True}
    assert f"Look (agent k1 of {FIRST})" in before
    assert rows[f"{FIRST}-agent-k1"]["part_of"] == part
    assert rows[FIRST]["part_of"] is None
    assert f"Look (agent k1 of {FIRST}, which holds it too)" in ok("list").out
    assert f"a session of its own too, {FIRST}-agent-k1" in done.err
    assert ok("import", main, "--json").object["alone"] == [f"{FIRST}-agent-k1"]
    assert f"{FIRST}-agent-k1" in ok("import", main).err
    shown = on_terminal(["list"], columns=80, AGENTMEM_ROOT=str(root))
    assert any("[agent] Look" in line for line in shown)
