"""Scans and rewrites of sessions that share messages, have agents, or have files beside them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentmem_cli.operations.imports.beside import noted
from agentmem_cli.operations.secrets import engine
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import ok, run
from tests.secrets_made import StandIn, token
from tests.unit.imports.building import lines, put, tree_of
from tests.unit.imports.claude_building import CWD_OF, OTHER, SID, piece, prompt, text

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object
    from tests.cli.running import Done

FIRST = f"claude-code-{SID}"
FORK = f"claude-code-{OTHER}"
AGENT = f"{FIRST}-agent-k1"
TOKEN = token()
WORD = TOKEN.encode()
NOTE = f"{SID}/tool-results/note.txt"


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


def transcripts(folder: Path) -> Path:
    """A session with an agent and a file beside it, a fork of it, and its agent once more."""
    copied = [
        prompt("u1", None, f"use {TOKEN} in {CWD_OF}/a", 1),
        piece("a1", "u1", "m1", text("Done"), second=2),
    ]
    own: Object = {"sessionId": OTHER}
    put(folder / f"{SID}.jsonl", lines(*copied, prompt("u2", "a1", "And?", 3)))
    put(folder / f"{OTHER}.jsonl", lines(*copied, prompt("u3", "a1", "Or?", 4, **own)))
    put(folder / NOTE, b"note: " + WORD + b" in " + CWD_OF.encode() + b"/b\n")
    told: Object = {"isSidechain": True, "agentId": "k1"}
    kid = lines(prompt("k", None, f"look for {TOKEN}", 3, **told))
    put(folder / SID / "subagents" / "agent-k1.jsonl", kid)
    return folder


@pytest.fixture
def taken(root: Path, tmp_path: Path) -> Path:
    """All of it imported, the agent by itself first; return the root."""
    folder = transcripts(tmp_path / "src")
    kid = folder / SID / "subagents" / "agent-k1.jsonl"
    ok("import", put(tmp_path / "alone" / kid.name, kid.read_bytes()))
    ok("import", folder)
    return root


def holds(root: Path, session: str) -> bool:
    return any(WORD in data for data, _ in tree_of(root / session).values())


def receipt_of(done: Done) -> dict[str, Any]:
    (target,) = json.loads(done.stdout.splitlines()[-1])["targets"]
    value: dict[str, Any] = target
    return value


def clean(session: str) -> bool:
    found = ok("verify", session, "--json").objects
    return not [each for each in found if each.get("level") == "problem"]


@pytest.mark.parametrize(
    ("session", "origin", "also"),
    [
        (FIRST, None, [FORK, AGENT]),
        (FORK, FIRST, []),
        (AGENT, None, [FIRST]),
    ],
)
def test_a_redaction_of_one_says_which_others_hold_the_same(
    taken: Path, session: str, origin: str | None, also: list[str]
) -> None:
    done = ok("redact", session, "--yes", "--force", "--json")

    told = receipt_of(done)
    assert (told["forked_from"], told["also_in"]) == (origin, sorted(also))
    assert "So may a session with messages of the same" in done.err
    assert not holds(taken, session)
    assert all(holds(taken, each) for each in {*also, origin} - {None} if each is not None)


def test_forks_of_one_session_are_told_of_each_other(taken: Path, tmp_path: Path) -> None:
    third = SID[:-1] + "3"
    data = (
        (tmp_path / "src" / f"{OTHER}.jsonl").read_bytes().replace(OTHER.encode(), third.encode())
    )
    put(tmp_path / "src" / f"{third}.jsonl", data)
    ok("import", tmp_path / "src")

    done = ok("redact", FORK, "--yes", "--force", "--json")

    assert receipt_of(done)["also_in"] == [f"claude-code-{third}"]


def test_what_was_imported_a_second_time_is_told(taken: Path, tmp_path: Path) -> None:
    ok("import", tmp_path / "src" / f"{OTHER}.jsonl", "--again")

    first = ok("redact", FORK, "--yes", "--force", "--json")
    second = ok("redact", f"{FORK}-2", "--yes", "--force", "--json")

    assert f"{FORK}-2" in receipt_of(first)["also_in"]
    assert FORK in receipt_of(second)["also_in"]


def test_the_receipt_names_what_stood_beside_the_sources(taken: Path) -> None:
    done = ok("redact", FIRST, "--yes", "--force", "--json")

    sources = receipt_of(done)["sources"]
    assert f"{SID}.jsonl" in sources
    assert NOTE in sources
    assert taken.is_dir()


def test_a_redaction_of_all_leaves_nobody_to_be_told_of(taken: Path) -> None:
    before = {each["id"]: each["forked_from"] for each in ok("list", "--json").objects}
    first = run("scan", "--all", "--json")

    done = ok("redact", "--all", "--yes", "--force")

    after = {each["id"]: each["forked_from"] for each in ok("list", "--json").objects}
    assert first.status == 1
    assert run("scan", "--all").status == 0
    assert not any(holds(taken, each) for each in (FIRST, FORK, AGENT))
    assert all(clean(each) for each in (FIRST, FORK, AGENT))
    assert "So may" not in done.err
    assert after == before
    assert before[FORK]["session"] == FIRST


def test_processes_tell_the_same(taken: Path) -> None:
    done = run("redact", FIRST, FORK, "--yes", "--force", "--json", "--no-rules", "--jobs", "2",
               "--literals", "-", stdin=WORD)  # fmt: skip

    targets = json.loads(done.stdout.splitlines()[-1])["targets"]
    assert {each["session"]: each["also_in"] for each in targets} == {
        FIRST: sorted([FORK, AGENT]),
        FORK: [],
    }
    assert holds(taken, AGENT)


def test_a_remap_everywhere_reaches_what_stands_beside_and_its_notes(
    taken: Path, tmp_path: Path
) -> None:
    ok("remap", "--all", "--everywhere", f"{CWD_OF}=/srv/tides", "--yes", "--force")
    ok("export", FIRST, "--as", "original", "-o", tmp_path / "out")

    note = (tmp_path / "out" / NOTE).read_bytes()
    assert note == b"note: " + WORD + b" in /srv/tides/b\n"
    assert all(clean(each) for each in (FIRST, FORK, AGENT))
    assert run("import", tmp_path / "src" / f"{SID}.jsonl").status == 4
    assert taken.is_dir()


def test_a_remap_leaves_what_stands_beside_unless_everything_changes(
    taken: Path, tmp_path: Path
) -> None:
    ok("remap", "--all", f"{CWD_OF}=/srv/tides", "--yes", "--force")
    ok("export", FIRST, "--as", "original", "-o", tmp_path / "out")

    assert (tmp_path / "out" / NOTE).read_bytes() == (tmp_path / "src" / NOTE).read_bytes()
    assert all(clean(each) for each in (FIRST, FORK, AGENT))
    assert taken.is_dir()


def test_a_file_beside_a_source_is_renamed_with_its_note(taken: Path, tmp_path: Path) -> None:
    (each,) = noted(DirStore.open(taken / FIRST))
    new = "plugins/import/other.txt"

    ok("rename", FIRST, "--file", f"{each.stored}={new}")
    ok("export", FIRST, "--as", "original", "-o", tmp_path / "out")

    (now,) = noted(DirStore.open(taken / FIRST))
    assert now == each._replace(stored=new)
    assert clean(FIRST)
    assert (tmp_path / "out" / NOTE).read_bytes() == (tmp_path / "src" / NOTE).read_bytes()
    assert ok("import", tmp_path / "src" / f"{SID}.jsonl", "--json").object["new"] == 0


def test_a_renamed_session_s_fork_is_told_by_its_old_name(taken: Path) -> None:
    done = ok("rename", FIRST, "tides")

    told = receipt_of(ok("redact", FORK, "--yes", "--force", "--json"))
    assert "fork" in done.err
    assert told["forked_from"] == FIRST
    assert holds(taken, "tides")
    assert clean("tides")
