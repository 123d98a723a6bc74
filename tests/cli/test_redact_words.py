"""What `redact`, `rewrite` and `rename` say where something is amiss."""

from __future__ import annotations

import errno
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli.scanned import kinds_told
from agentmem_cli.operations.secrets import engine
from agentmem_cli.storage import files
from tests.cli.running import header, join, run, said, write
from tests.cli.test_scan import session
from tests.secrets_made import StandIn, token

if TYPE_CHECKING:
    from pathlib import Path

PAIR = b"a ==> b"


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


@pytest.mark.parametrize(
    "line", [b'{"a":"%s', b'{"a":"%s\xff"}', b"\0\0%s\0", b"[%s", b'{"a":"%s"} x']
)
def test_a_damaged_line_is_told_in_the_words_of_verify(root: Path, line: bytes) -> None:
    line = line.replace(b"%s", token().encode())
    write(root, "one", "main", join([header(), said(1, "hello"), line, said(2, token())]))
    why = f"{len(line)} bytes that are not JSON"

    done = run("redact", "one", "--yes", "--force")
    checked = run("verify", "one")

    assert done.status == 5
    assert f"line 3: it cannot be read: {why}" in done.err
    assert why in checked.out
    assert "char " not in done.err
    assert "codec" not in done.err


@pytest.mark.parametrize("words", [("redact",), ("rewrite", "--replace-file", "-")])
def test_a_session_that_is_not_named_comes_before_the_question(
    root: Path, words: tuple[str, ...]
) -> None:
    session(root)

    none, unknown = run(*words, stdin=PAIR), run(*words, "nobody", stdin=PAIR)
    unasked = run(*words, "one", stdin=PAIR)

    assert "no session is named" in none.err
    assert "no such session" in unknown.err
    assert "needs --yes" in unasked.err


@pytest.mark.parametrize("option", ["--verify", "--dry-run"])
def test_a_run_that_only_looks_says_that_it_writes_no_receipt(
    root: Path, tmp_path: Path, option: str
) -> None:
    session(root)

    done = run("redact", "one", option, "--receipt", tmp_path / "receipt")

    assert "--receipt: none is written, since this only looks" in done.err
    assert not (tmp_path / "receipt").exists()


def test_a_full_disk_is_told_with_what_to_do_and_what_was_done(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = session(root)
    before = log.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    run("redact", "one", "--dry-run", "--force")  # the key of masks is made
    monkeypatch.setattr(files, "sync", full, raising=False)
    monkeypatch.setattr("os.fsync", full)
    done = run("redact", "one", "--yes", "--force")

    assert done.status == 2
    assert "No space left on device; nothing was changed" in done.err
    assert "hint: Make room on the disk" in done.err
    assert log.read_bytes() == before


def test_a_summary_of_many_kinds_stays_short() -> None:
    kinds = Counter({f"kind-{number:02}": 40 - number for number in range(30)})

    told = kinds_told(kinds)

    assert told.startswith("40 kind-00, 39 kind-01, ")
    assert told.endswith(f", {sum(range(11, 29))} of 18 other kinds")
    assert kinds_told({"one": 1}) == "1 one"
