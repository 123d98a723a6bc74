"""Sources of sessions that were redacted: nothing of what went comes back without --again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import ConflictError
from agentmem_cli.operations.imports.sources import find_maps
from agentmem_cli.operations.secrets import engine
from agentmem_cli.session.codec import dumps
from tests.cli.running import ok
from tests.secrets_made import StandIn, token
from tests.unit.imports.building import lines, put, store_of, take, tree_of
from tests.unit.imports.claude_building import SID, prompt

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object

TOKEN = token()
WORD = TOKEN.encode()


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


def talk(text: str, *more: str) -> bytes:
    said: list[JSON] = [{"role": "user", "content": each} for each in (text, *more)]
    return dumps(said)


@pytest.mark.parametrize("more", [(), ("And then?",)])
def test_messages_without_an_id_are_known_by_their_place(
    tmp_path: Path, root: Path, more: tuple[str, ...]
) -> None:
    path = put(tmp_path / "x.json", talk(f"use {TOKEN}"))
    report = take(path, root)
    ok("redact", report.session, "--yes", "--force")
    put(path, talk(f"use {TOKEN}", *more))
    before = tree_of(root)

    with pytest.raises(ConflictError, match="rewritten since"):
        take(path, root)

    assert tree_of(root) == before
    assert not any(WORD in data for data, _ in before.values())


def test_messages_whose_place_was_masked_are_known_by_what_they_are(
    tmp_path: Path, root: Path
) -> None:
    path = put(tmp_path / TOKEN / "x.json", talk("Go"))
    report = take(path, root)
    ok("redact", report.session, "--yes", "--force")
    before = tree_of(root)

    with pytest.raises(ConflictError, match="rewritten since"):
        take(path, root)

    (old,) = find_maps(store_of(report))
    assert "[REDACTED:" in old.header.path
    assert tree_of(root) == before


def test_an_agent_s_file_does_not_go_on_in_a_session_that_was_redacted(
    tmp_path: Path, root: Path
) -> None:
    told: Object = {"isSidechain": True, "agentId": "k1"}
    main = put(tmp_path / f"{SID}.jsonl", lines(prompt("u", None, "Go")))
    kid = put(
        tmp_path / SID / "subagents" / "agent-k1.jsonl",
        lines(prompt("k", None, f"look for {TOKEN}", 3, **told)),
    )
    report = take(main, root)
    ok("redact", report.session, "--yes", "--force")
    main.unlink()
    put(kid, kid.read_bytes() + lines(prompt("k2", "k", f"use {TOKEN}", 4, **told)))
    before = tree_of(root)

    with pytest.raises(ConflictError, match="rewritten since"):
        take(kid, root)

    assert tree_of(root) == before
    assert not any(WORD in data for data, _ in before.values())
