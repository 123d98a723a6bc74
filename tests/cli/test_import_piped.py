"""`import -`: a transcript, or a tar of a session, that comes through a pipe."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from agentmem_cli.cli import piped
from tests.cli.running import ok, run, tree

EXAMPLES = Path(__file__).parents[2] / "examples"
PI = (EXAMPLES / "pi-session.jsonl").read_bytes()


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, which must be empty again after each command."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_transcript_is_imported_as_from_a_file(root: Path, scratch: Path) -> None:
    done = ok("import", "-", "--json", stdin=PI)

    assert done.object["source"] == "standard input"
    assert done.object["kind"] == "pi"
    session = done.object["session"]
    assert ok("export", session, "--as", "original").stdout == PI
    assert ok("import", EXAMPLES / "pi-session.jsonl", "--json").object["nothing_new"]
    assert ok("import", "-", "--json", stdin=PI).object["nothing_new"]
    assert ok("verify").out.count("no problems") == 1
    assert [*scratch.iterdir()] == []
    assert [path.name for path in root.iterdir()] == [session]


def test_a_session_as_a_tar_is_imported_back(
    scratch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ok("import", "-", "--json", stdin=PI).object["session"]
    tar = ok("export", session, "--as", "tar").stdout
    shown = ok("show", session, "--json").stdout
    monkeypatch.setenv("AGENTMEM_ROOT", str(tmp_path / "other"))

    ok("import", "-", stdin=tar)

    assert ok("show", session, "--json").stdout == shown
    assert [*scratch.iterdir()] == []


def test_what_goes_on_is_added(scratch: Path) -> None:
    lines = PI.splitlines(keepends=True)
    ok("import", "-", stdin=b"".join(lines[:12]))

    done = ok("import", "-", "--json", stdin=PI).object

    assert done["new"] > 0
    assert done["created"] is False
    assert [*scratch.iterdir()] == []


def test_it_lies_where_nobody_else_can_read_it(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    spool = piped._spool

    def seen(path: Path) -> None:
        spool(path)
        modes.extend(each.stat().st_mode & 0o777 for each in (path, path.parent))

    monkeypatch.setattr(piped, "_spool", seen)
    before = os.umask(0)
    try:
        ok("import", "-", stdin=PI)
    finally:
        os.umask(before)

    assert modes == [0o600, 0o700]
    assert [*scratch.iterdir()] == []


@pytest.mark.parametrize(
    ("words", "data", "told"),
    [
        (["-"], b"hello\n", "standard input: 1 line, no message recognised"),
        (["-"], b"", "standard input: 0 records"),
        (["-", "-"], PI, "standard input is named twice"),
        (["-", "--watch"], PI, "standard input comes once"),
    ],
)
def test_what_cannot_be_used_is_refused(
    root: Path, scratch: Path, words: list[str], data: bytes, told: str
) -> None:
    done = run("import", *words, stdin=data)

    assert done.status == 2
    assert told in done.err
    assert str(scratch) not in done.err
    assert [*scratch.iterdir()] == []
    assert not root.exists() or tree(root).keys() == {"."}


def test_a_file_that_is_called_so_is_named_with_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_bytes(PI)

    assert ok("import", "./-", "--json").object["source"].endswith("/-")
