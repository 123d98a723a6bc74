"""After `redact` no past value of core memory holds the secret, and what is left still works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli import clock
from tests.cli.running import at, header, join, ok, record, run, tree, turns, write

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON

SECRET = "correct-horse-battery-staple-9"
ALIEN: JSON = {"content": 3, "note": f"it is {SECRET}", "id": "x"}


@pytest.fixture
def _ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each command happen a second after the one before."""
    seconds = iter(range(100, 10_000))
    monkeypatch.setattr(clock, "now_ms", lambda: at(next(seconds)))


@pytest.fixture
def session(root: Path, _ticking: None) -> Path:
    """A session that says the secret in every place of core memory, now or once."""
    alien = [
        header("session"),
        record(1, "state", key="core_memory.goals", value=ALIEN),
        record(2, "state", key="core_memory.plans", value=[SECRET]),
    ]
    write(root, "one", "session", join(alien))
    write(root, "one", "main", join(turns(1)))
    words = ("core", "set", "one", "human")
    told = ("--label", SECRET, "--description", f"of {SECRET}", "--reason", f"told {SECRET}")
    ok(*words, f"first\nit is {SECRET}\nlast", *told, "--by", "ann")
    ok("core", "replace", "one", "human", "--old", "first", "--new", "begin")
    ok(*words, "forgotten")
    ok("core", "remove", "one", "human", "--reason", f"it was {SECRET}")
    ok("core", "set", "one", "facts", f"a {SECRET}")
    ok("core", "protect", "one", "facts")
    ok("core", "clear", "one", "--force", "--agent", "main")
    ok("core", "set", "one", "persona", SECRET, "--agent", "main")
    ok("core", "set", "one", "persona", "none", "--agent", "main")
    return root / "one"


def _redact(tmp_path: Path) -> None:
    literals = tmp_path / "literals"
    literals.write_text(SECRET + "\n")
    run("redact", "one", "--literals", literals, "--no-rules", "--yes", "--force")


def _holding(session: Path) -> list[str]:
    """Return the names of the files that hold the secret."""
    return [name for name, (*_, data) in tree(session).items() if SECRET.encode() in data]


def test_no_byte_of_the_session_holds_it(session: Path, tmp_path: Path) -> None:
    before = _holding(session)
    _redact(tmp_path)

    assert sorted(before) == ["logs/main.jsonl", "logs/session.jsonl"]
    assert _holding(session) == []


def test_no_past_place_and_no_verb_shows_it(session: Path, tmp_path: Path) -> None:
    _redact(tmp_path)
    last = ok("core", "list", "one", "--json").object["n"]
    shown = [ok("core", "render", "one", "--as-of", str(n)).out for n in range(last + 1)]
    shown += [run("core", "diff", "one", str(n), "--json").out for n in range(last)]
    for words in (("history",), ("history", "--json"), ("export",), ("lint",), ("show", "--json")):
        shown.append(run("core", words[0], "one", *words[1:]).out)
        shown.append(run("core", words[0], "one", *words[1:], "--agent", "main").out)
    shown.append(ok("core", "blame", "one", "human", "--as-of", "5").out)

    assert any("[REDACTED:" in each for each in shown)
    assert not any(SECRET in each for each in shown)
    assert session.is_dir()


def test_what_an_undo_or_a_restore_brings_back_is_masked(session: Path, tmp_path: Path) -> None:
    _redact(tmp_path)
    ok("core", "undo", "one", "--steps", "3")
    back = ok("core", "get", "one", "human").out
    ok("core", "restore", "one", "human", "--as-of", "4")
    first = ok("core", "get", "one", "human", "--json").object

    assert back.startswith("first\nit is [REDACTED:")
    assert first["content"].startswith("first\nit is [REDACTED:")
    assert first["label"].startswith("[REDACTED:")
    assert _holding(session) == []


def test_a_read_only_block_is_redacted_too(session: Path, tmp_path: Path) -> None:
    _redact(tmp_path)

    block = ok("core", "get", "one", "facts", "--json").object

    assert block["content"].startswith("a [REDACTED:")
    assert block["read_only"]
    assert session.is_dir()


@pytest.mark.usefixtures("_ticking")
def test_a_full_block_stays_one_though_the_mask_is_longer(root: Path, tmp_path: Path) -> None:
    ok("new", "one")
    secret = "pw-12345"
    literals = tmp_path / "literals"
    literals.write_text(secret + "\n")
    ok("core", "set", "one", "human", "-", stdin=b"x" * 16376 + secret.encode())
    ok("core", "label", "one", "human", "l" * 56 + secret)
    ok("core", "set", "one", "human", "short")
    ok("core", "undo", "one")
    run(*("redact", "one", "--literals", literals, "--no-rules", "--yes", "--force"))

    block = ok("core", "get", "one", "human", "--json")
    assert "is too large: its content is" in block.err
    assert block.object["content"].startswith("xxx")
    assert "[REDACTED:" in ok("core", "render", "one").out
    assert [each["kind"] for each in run("core", "lint", "one", "--json").objects] == ["over"]
    # It gets no larger, and can be made smaller, and what it was comes back.
    assert run("core", "append", "one", "human", "y").status == 6
    ok("core", "label", "one", "human", "short")
    ok("core", "set", "one", "human", "less")
    ok("core", "undo", "one")
    assert ok("core", "get", "one", "human").out == block.object["content"]
