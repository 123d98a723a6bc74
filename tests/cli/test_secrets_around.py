"""What stands beside the files that are looked at, and cannot be looked at as they can."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.cli.scanned import print_rows
from agentmem_cli.cli.settings import Settings
from agentmem_cli.operations.secrets import engine
from agentmem_cli.operations.secrets.told import Row
from agentmem_cli.storage.swapping import Swap
from tests.cli.running import run
from tests.cli.test_scan import TOKEN, found, total
from tests.secrets_made import StandIn

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path

OLD_S = 1_600_000_000
PART = f".agentfile-{'a' * 32}.rig-part"


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t" / "a.jsonl"
    path.parent.mkdir()
    path.write_bytes(b'{"a": "b"}\n')
    os.utime(path, (OLD_S, OLD_S))
    return path


@pytest.mark.parametrize("word", ["folder", "file"])
def test_what_a_killed_redaction_left_is_told_by_a_look(file: Path, word: str) -> None:
    left = file.with_name(PART)
    left.write_bytes(TOKEN.encode())

    done = run("scan", "--files", file if word == "file" else file.parent, "--json")

    (told,) = [each for each in done.objects if each["schema"] == "agentmem.unread/1"]
    assert done.status == 1
    assert (told["file"], "killed" in told["why"]) == (str(left), True)
    assert left.exists()


@pytest.mark.parametrize(("words", "goes"), [(("--yes",), True), (("--dry-run",), False)])
def test_what_a_killed_redaction_left_goes_with_the_next_one(
    file: Path, words: tuple[str, ...], *, goes: bool
) -> None:
    left = file.with_name(PART)
    left.write_bytes(TOKEN.encode())

    done = run("redact", "--files", file.parent, *words)

    assert left.exists() != goes
    assert PART in done.err
    assert ("removed" in done.err) == goes


def test_what_a_killed_replacement_left_goes_with_the_next_one(file: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs"
    pairs.write_text("b ==> c\n")
    left = file.with_name(PART)
    left.write_bytes(b"x")

    done = run("rewrite", "--replace-file", pairs, "--files", file, "--yes")

    assert done.status == 0
    assert PART in done.err
    assert not left.exists()


def test_what_another_run_is_writing_stays_and_is_not_told(file: Path) -> None:
    with Swap(str(file)) as swap:
        swap.write(b"x" * (2 << 20))
        done = run("redact", "--files", file.parent, "--yes", "--json")
        staged = swap.staged_reader().read(1)

    assert done.status == 0
    assert staged == b"x"
    assert "rig-part" not in done.out + done.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_in_a_folder_is_told_and_not_waited_for(file: Path) -> None:
    os.mkfifo(file.with_name("pipe"))

    done = run("scan", "--files", file.parent, "--json")

    (told,) = [each for each in done.objects if each["schema"] == "agentmem.unread/1"]
    assert done.status == 1
    assert told["file"] == str(file.with_name("pipe"))
    assert "a pipe" in told["why"]


def test_an_archive_of_zstd_is_looked_into_and_left(file: Path) -> None:
    packed = file.with_name("b.jsonl.zst")
    data = zstd.compress(b'{"said": "it is %s"}\n' % TOKEN.encode())
    packed.write_bytes(data)
    os.utime(packed, (OLD_S, OLD_S))

    looked = run("scan", "--files", packed, "--json")
    done = run("redact", "--files", packed, "--yes")

    assert [(each["line"], each["fate"]) for each in found(looked)] == [(1, "bytes")]
    assert looked.status == done.status == 1
    assert packed.read_bytes() == data


def test_an_archive_of_zstd_that_is_cut_off_is_told(file: Path) -> None:
    packed = file.with_name("b.jsonl.zst")
    packed.write_bytes(zstd.compress(b'{"a": "b"}\n' * 400)[:-4])

    done = run("scan", "--files", packed, "--json")

    assert done.status == 1
    assert (total(done)["unread"], total(done)["clean"]) == (1, False)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x1f\x8b\x08", "gzip"),
        (b"PK\x03\x04", "zip"),
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh9", "bzip2"),
        (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
        (b"Rar!\x1a\x07\1\0", "RAR"),
        (b"\x04\x22\x4d\x18", "lz4"),
    ],
)
def test_no_packed_file_counts_as_clean(file: Path, head: bytes, kind: str) -> None:
    file.with_name("b").write_bytes(head + b"\0" * 40)

    done = run("scan", "--files", file.parent, "--json")

    assert done.status == 1
    assert total(done)["clean"] is False
    assert f"packed by {kind}" in done.objects[0]["why"]


def _row(fate: str, name: str) -> Row:
    path = "entries[0].message.content[0].content[0].text"
    return Row(None, name, 7, None, None, path, False, "token", "high", "r", fate, "0" * 8)


@pytest.mark.parametrize(("columns", "is_below"), [(70, True), (200, False), (None, False)])
def test_where_and_why_are_told_whole_on_any_screen(
    columns: int | None, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes],
    *, is_below: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(Settings, "columns", columns)
    settings = Settings(no_pager=True)

    with settings.output() as out:
        print_rows(out, [_row("mask", "logs/a.jsonl"), _row("bytes", "logs/b.jsonl")], settings)

    lines = capfdbinary.readouterr().out.decode().splitlines()
    text = "\n".join(lines)
    assert text.count("entries[0].message.content[0].content[0].text") == 2
    assert "in bytes that are no text; never masked" in text
    assert ("    not masked: in bytes" in text) == is_below
    assert len(lines) == (6 if is_below else 3)
