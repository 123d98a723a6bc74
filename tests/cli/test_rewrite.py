"""`agentmem rewrite --replace-file`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import header, join, ok, record, run, said, tree, write, write_meta

if TYPE_CHECKING:
    from pathlib import Path

ESCAPED = (
    b'{"seq":4,"n":4,"t":4,"type":"push","entries":[{"message":{"role":"user","content":'
    b'"acm\\u0065 corp","big":12345678901234567890,"f":1.10},"id":3}]}'
)
OLD_NS = 1_600_000_000_000_000_000


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs"
    path.write_text("# names\nacme corp ==> a client\nregex:user-(\\d+) ==> person-\\1\n")
    return path


def session(root: Path) -> Path:
    lines = [
        header(),
        said(1, "for acme corp by user-17"),
        record(2, "state", key="acme corp", value={"acme corp": ["acme corp"]}),
        said(3, "nothing here"),
        ESCAPED,
    ]
    log = write(root, "one", "main", join(lines))
    write_meta(root, "one", b'{"title":"acme corp"}')
    return log


def test_every_string_changes_escaped_ones_and_keys_too(root: Path, pairs: Path) -> None:
    log = session(root)
    unchanged = log.read_bytes().splitlines()[3]

    ok("rewrite", "--replace-file", pairs, "one", "--yes", "--force")

    data = log.read_bytes()
    assert b"acme" not in data
    assert b"acm\\u0065" not in data
    assert b"for a client by person-17" in data
    assert b'"key":"a client","value":{"a client":["a client"]}' in data
    assert b'"content":"a client","big":12345678901234567890,"f":1.10' in data
    assert data.splitlines()[3] == unchanged
    assert b"acme" not in (root / "one/files/meta.json").read_bytes()


def test_the_header_says_who_rewrote(root: Path, pairs: Path) -> None:
    log = session(root)

    ok("rewrite", "--replace-file", pairs, "one", "--yes", "--force")

    first = log.read_bytes().splitlines()[0]
    assert b'"rewrites":[{"t":' in first
    assert b'"by":{"kind":{"plugin":"agentmem"}}' in first
    assert b'"lineage":7000001' not in first


def test_pairs_come_from_standard_input_too(root: Path) -> None:
    log = session(root)

    ok("rewrite", "--replace-file", "-", "one", "--yes", "--force", stdin=b"acme corp ==> x")

    assert b"for x by" in log.read_bytes()


def test_a_bad_line_is_told_by_its_number_before_anything_is_read(root: Path, pairs: Path) -> None:
    session(root)
    pairs.write_text("a ==> b\nregex:(xyzzy ==> b\n")
    before = tree(root)

    done = run("rewrite", "--replace-file", pairs, "one", "--yes")

    assert done.status == 2
    assert f"{pairs}, line 2: no regular expression" in done.err
    assert "xyzzy" not in done.err
    assert tree(root) == before


def test_files_are_rewritten_where_they_stand(tmp_path: Path, pairs: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    lines = folder / "a.jsonl"
    lines.write_bytes(b'{"a": "acme corp",  "b": 1.10}\n{"c": 2}\nno json acme corp\n')
    document = folder / "b.json"
    document.write_bytes(b'{\n  "acme corp": "acme\\u0020corp"\n}\n')
    text = folder / "c.log"
    text.write_bytes(b"user-1 at acme corp\n\xc3\xa9\n")
    other = folder / "d.bin"
    other.write_bytes(b"\0acme corp")
    for path in (lines, document, text, other):
        path.chmod(0o644)
        os.utime(path, ns=(OLD_NS, OLD_NS))

    done = run("rewrite", "--replace-file", pairs, "--files", folder, "--yes", "--json")

    assert done.status == 1
    assert lines.read_bytes() == b'{"a": "a client",  "b": 1.10}\n{"c": 2}\nno json a client\n'
    assert document.read_bytes() == b'{\n  "a client": "a client"\n}\n'
    assert text.read_bytes() == b"person-1 at a client\n\xc3\xa9\n"
    assert other.read_bytes() == b"\0acme corp"
    assert [each["changed"] for each in done.objects] == [True, True, True, False]
    assert {path.stat().st_mtime_ns for path in folder.iterdir()} == {OLD_NS}
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o644}


def test_a_file_that_has_just_changed_is_refused(tmp_path: Path, pairs: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'"acme corp"\n')

    refused = run("rewrite", "--replace-file", pairs, "--files", path, "--yes")
    ok("rewrite", "--replace-file", pairs, "--files", path, "--yes", "--if-idle", "0s")

    assert refused.status == 4
    assert path.read_bytes() == b'"a client"\n'


def test_a_dry_run_of_files_writes_nothing(tmp_path: Path, pairs: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'"acme corp"\n')
    before = tree(tmp_path)

    done = ok(
        "rewrite", "--replace-file", pairs, "--files", path, "-n", "--json", "--if-idle", "0s"
    )

    assert done.object["changed"]
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("--files",), 2, "names no file"),
        (("--files", "-"), 2, "standard input is no file"),
        (("--files", "nowhere*"), 3, "no such file"),
        (("--files", "--all"), 2, "--files works on files"),
        ((), 2, "no session is named"),
    ],
)
def test_words_that_do_not_fit_are_refused(
    root: Path, pairs: Path, words: tuple[str, ...], status: int, told: str
) -> None:
    done = run("rewrite", "--replace-file", pairs, *words, "--yes")

    assert done.status == status
    assert told in done.err


def test_a_file_of_a_session_is_refused_as_a_file(root: Path, pairs: Path) -> None:
    log = session(root)
    ok("append", "one", "--role", "user", stdin=b"x")
    before = log.read_bytes()

    done = run("rewrite", "--replace-file", pairs, "--files", log, "--yes", "--if-idle", "0s")

    assert done.status == 2
    assert "belongs to the session" in done.err
    assert log.read_bytes() == before
