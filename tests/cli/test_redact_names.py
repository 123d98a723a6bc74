"""`agentmem redact` where a secret is the name of a log: our own files must go on naming it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.secrets import engine
from agentmem_cli.session.codec import dumps
from tests.cli.running import header, join, ok, run, said, write
from tests.cli.test_redact import outcome, redact
from tests.secrets_made import StandIn, token

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object

TOKEN = token(1)
SOURCE = "7c1f2a90-5b3e-4d6a-9f10-3e2b7a44c901"


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


def meta_of(root: Path, name: str) -> Object:
    value = json.loads((root / name / "files" / "meta.json").read_bytes())
    assert isinstance(value, dict)
    return value


def test_a_logs_name_stays_in_the_meta_and_the_session_is_sound(root: Path) -> None:
    ok("new", "one")
    ok("append", "one", "--role", "user", stdin=f"use {TOKEN}".encode())
    ok("append", "one", "--agent", TOKEN, "--role", "user", stdin=b"hello")

    done = redact("one")

    stays = {(each["file"], each["fate"]) for each in outcome(done)["left"]}
    assert done.status == 1
    assert ("files/meta.json", "name") in stays
    assert run("verify", "one").status == 0
    assert TOKEN in (root / "one" / "files" / "meta.json").read_text()
    assert "[REDACTED:" in str(meta_of(root, "one")["title"])


@pytest.mark.parametrize("word", ["main", "logs", "agentmem", "listed", "title", "helper"])
def test_a_literal_that_the_meta_is_made_of_leaves_it_a_meta(
    root: Path, tmp_path: Path, word: str
) -> None:
    ok("new", "one")
    for agent in ("main", "helper"):
        ok("append", "one", "--agent", agent, "--role", "user", stdin=b"the main logs: a title")
    before = meta_of(root, "one")["listed"]
    literals = tmp_path / "literals"
    literals.write_text(f"{word}\n")

    redact("one", "--literals", literals, "--no-rules")

    after = meta_of(root, "one")
    assert after.keys() == {"title", "updated", "messages", "listed"}
    assert run("verify", "one").status == 0
    assert dumps(after["listed"]).count(word.encode()) == dumps(before).count(word.encode())


def test_what_a_map_and_a_fork_name_stays_and_the_rest_is_masked(
    root: Path, tmp_path: Path
) -> None:
    source = imported(tmp_path)
    ok("import", source)
    (name,) = [path.name for path in root.iterdir()]

    done = redact(name)

    fates = {each["fate"] for each in outcome(done)["left"]}
    maps = (root / name / "files" / "plugins" / "import").rglob("*.map.jsonl")
    header_line, item, *_ = next(p for p in maps if TOKEN in p.name).read_text().splitlines()
    assert fates <= {"name", "structural"}
    assert json.loads(header_line)["agent"] == json.loads(item)["log"] == TOKEN
    assert "[REDACTED:" in json.loads(header_line)["source"]
    assert run("verify", name).status == 0
    assert run("show", name, "--agent", TOKEN).status == 0


def test_a_rewrite_leaves_the_log_that_a_map_names(root: Path, tmp_path: Path) -> None:
    ok("import", imported(tmp_path))
    (name,) = [path.name for path in root.iterdir()]

    done = run("rewrite", name, "--replace-file", "-", "--yes", "--force", stdin=b"main ==> other")

    map_file = root / name / "files" / "plugins" / "import" / f"{SOURCE}.jsonl.map.jsonl"
    assert done.status == 0
    assert json.loads(map_file.read_bytes().split(b"\n")[0])["agent"] == "main"


def test_a_file_of_the_same_form_that_is_not_ours_is_masked(root: Path) -> None:
    write(root, "one", "main", join([header(), said(1, "hello")]))
    other = root / "one" / "files" / "plugins" / "notes" / "meta.json"
    other.parent.mkdir(parents=True)
    other.write_bytes(dumps({"listed": {"agentmem": {"logs": {TOKEN: 1}}}}))

    done = redact("one")

    assert done.status == 0
    assert TOKEN not in other.read_text()


def imported(folder: Path) -> Path:
    """Write a transcript of Claude Code with a subagent of the token's name."""
    project = folder / "projects" / "-p"
    (project / SOURCE / "subagents").mkdir(parents=True)
    main = project / f"{SOURCE}.jsonl"
    common: Object = {"sessionId": SOURCE, "cwd": "/p", "version": "2.0.1", "userType": "external"}
    lines = [_line("hello main", 1, None, common), _line("again", 2, 1, common)]
    main.write_text("".join(lines))
    side: Object = {**common, "isSidechain": True, "agentId": TOKEN}
    child = project / SOURCE / "subagents" / f"agent-{TOKEN}.jsonl"
    child.write_text(_line("look", 3, None, side))
    return main


def _line(text: str, number: int, parent: int | None, common: Mapping[str, JSON]) -> str:
    value: Object = {
        "parentUuid": None if parent is None else f"00000000-0000-4000-8000-00000000000{parent}",
        "isSidechain": False,
        **common,
        "type": "user",
        "message": {"role": "user", "content": text},
        "uuid": f"00000000-0000-4000-8000-00000000000{number}",
        "timestamp": f"2026-05-04T09:00:0{number}.000Z",
    }
    return dumps(value).decode() + "\n"
