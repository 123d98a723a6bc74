"""Files with bytes that are not UTF-8: their text is read all the same, the rest is told."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.secrets import engine
from tests.cli.running import header, join, ok, run, said, write
from tests.cli.test_redact import OLD_NS, outcome, redact
from tests.secrets_made import StandIn, token

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = token(1)
ONE = TOKEN.encode()

TEXTS = {
    "latin.log": b"key " + ONE + b" caf\xe9\nline 2\n",
    "crlf.txt": b"\xef\xbb\xbfa\r\nkey " + ONE + b"\r\nb\xe9\xff\r\n",
    "lines.jsonl": b'{"a":"ok"}\r\n{"text":"' + ONE + b'"}\r\n{"text":"caf\xe9"}\r\n',
    "same.jsonl": b'{"text":"caf\xe9 ' + ONE + b'"}\n',
    "document.json": b'{\n  "a": "' + ONE + b'",\n  "b": "caf\xe9"\n}\n',
    "torn.jsonl": b'{"a":"' + ONE + b'"}\n{"b":"\xe2\x82',
    "late.log": b"x" * (70 << 10) + b"\n\xe9 " + ONE + b"\n",
    "nothing": b"\xa0" + ONE,
}
OTHERS = {
    "wide.txt": f"key {TOKEN}".encode("utf-16"),
    "packed.gz": gzip.compress(ONE, mtime=0),
    "nul.bin": b"\0\1\2" + ONE,
    "picture.png": b"\x89PNG\r\n\x1a\n\0" + ONE,
    "packed": bytes(range(1, 256)) * 3 + ONE,
}


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    os.utime(path, ns=(OLD_NS, OLD_NS))
    return path


@pytest.mark.parametrize("name", TEXTS)
def test_one_odd_byte_keeps_no_line_from_being_masked(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, TEXTS[name])

    done = redact("--files", path)

    before, _, after = TEXTS[name].partition(ONE)
    data = path.read_bytes()
    assert done.status == 0
    assert outcome(done)["masks"] == {"vendor-token": 1}
    assert data.startswith(before + b"[REDACTED:vendor-token:")
    assert data.endswith(b"]" + after)
    assert run("scan", "--files", path).status == 0


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_text_stays_and_is_told(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, OTHERS[name])

    done = redact("--files", path)

    told = outcome(done)
    assert done.status == 1
    assert path.read_bytes() == OTHERS[name]
    assert told["left"] or told["unread"]


@pytest.mark.parametrize("name", TEXTS)
def test_a_literal_is_replaced_beside_odd_bytes(tmp_path: Path, name: str) -> None:
    path = put(tmp_path / name, TEXTS[name])

    done = ok("rewrite", "--files", path, "--replace-file", "-", "--yes", stdin=ONE + b" ==> X")

    assert path.read_bytes() == TEXTS[name].replace(ONE, b"X")
    assert "1 changed" in done.err


@pytest.mark.parametrize("name", OTHERS)
def test_a_rewrite_tells_what_it_did_not_read(tmp_path: Path, name: str) -> None:
    put(tmp_path / name, OTHERS[name])
    put(tmp_path / "a.txt", b"key " + ONE)
    words = ("rewrite", "--files", tmp_path, "--replace-file", "-")

    dry = run(*words, "--dry-run", stdin=ONE + b" ==> X")
    objects = run(*words, "--yes", "--json", stdin=ONE + b" ==> X")
    again = run(*words, "--yes", stdin=ONE + b" ==> X")

    assert dry.status == objects.status == again.status == 1
    assert name in again.err
    assert {each["file"].rpartition("/")[2]: bool(each["unread"]) for each in objects.objects} == {
        "a.txt": False,
        name: True,
    }
    assert (tmp_path / "a.txt").read_bytes() == b"key X"


def test_bytes_that_hold_nothing_of_it_are_no_reason_to_warn(tmp_path: Path) -> None:
    put(tmp_path / "nul.bin", b"\0\1\2 other")

    done = ok("rewrite", "--files", tmp_path, "--replace-file", "-", "--yes", stdin=b"a ==> b")

    assert "not looked into" not in done.err


def test_a_link_in_a_folder_is_told_and_is_1(tmp_path: Path) -> None:
    put(tmp_path / "a.txt", b"key")
    (tmp_path / "link").symlink_to("a.txt")

    done = run("rewrite", "--files", tmp_path, "--replace-file", "-", "--yes", stdin=b"key ==> b")

    assert done.status == 1
    assert "link: not looked into: a symbolic link" in done.err


@pytest.mark.parametrize("name", TEXTS)
def test_a_rewrite_of_a_session_reads_such_files_too(root: Path, name: str) -> None:
    write(root, "one", "main", join([header(), said(1, "hello")]))
    path = root / "one" / "files" / "plugins" / "notes" / name
    path.parent.mkdir(parents=True)
    put(path, TEXTS[name])

    ok("rewrite", "one", "--replace-file", "-", "--yes", "--force", stdin=ONE + b" ==> X")

    assert path.read_bytes() == TEXTS[name].replace(ONE, b"X")
