"""What stands beside a transcript, in a session that is rewritten."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import ConflictError
from agentmem_cli.operations.imports.beside import NOTES, noted
from agentmem_cli.operations.imports.foreign import new_digest
from agentmem_cli.operations.imports.sources import find_maps
from agentmem_cli.operations.rewriting import rewrite_session
from agentmem_cli.operations.secrets import engine
from agentmem_cli.operations.verify import PROBLEM, verify
from agentmem_cli.session.rewriting import Rewrite, Strings
from tests.cli.running import ok, run
from tests.secrets_made import StandIn, token
from tests.unit.imports.building import NOW, lines, main_of, put, store_of, take, tree_of
from tests.unit.imports.claude_building import SID, call, piece, prompt, result

if TYPE_CHECKING:
    from agentmem_cli.operations.imports.beside import Beside
    from agentmem_cli.operations.imports.report import Report

TOKEN = token()
WORD = TOKEN.encode()
FOLDER = f"{SID}/tool-results"
LONG = b"first line\nuse " + WORD + b" here\n"
NOTE = b"note: " + WORD + b"\n"
PLAIN = b"nothing of note\n"


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "Detector", lambda **_: StandIn())


def session(folder: Path, *, name: str = "t1.txt", text: str = "Go") -> Path:
    """A session with an output that a record refers to, and two files that none does."""
    shown = f"<persisted-output>\nFull output saved to: /p/{FOLDER}/{name}\n\nPreview:\nfirst"
    put(folder / FOLDER / "note.txt", NOTE)
    put(folder / FOLDER / "plain.txt", PLAIN)
    records = (
        prompt("u1", None, text),
        piece("a1", "u1", "m1", call("t1")),
        result("r1", "a1", "t1", shown),
    )
    return put(folder / f"{SID}.jsonl", lines(*records))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = session(tmp_path / "src")
    put(tmp_path / "src" / FOLDER / "t1.txt", LONG)
    return path


def by_name(report: Report) -> dict[str, Beside]:
    return {Path(each.name).name: each for each in noted(store_of(report))}


def redact(report: Report) -> None:
    ok("redact", report.session, "--yes", "--force")


def everything(folder: Path) -> bytes:
    return b"\n".join(name.encode() + data for name, (data, _) in tree_of(folder).items())


def problems(report: Report) -> list[str]:
    return [f"{each}" for each in verify(store_of(report)).findings if each.level == PROBLEM]


def test_what_is_kept_beside_is_masked_and_its_notes_are_true(source: Path, root: Path) -> None:
    report = take(source, root)
    before = by_name(report)

    redact(report)

    after = by_name(report)
    store = store_of(report)
    assert WORD not in everything(report.path)
    assert problems(report) == []
    assert after["note.txt"].size == len(store.read_file(after["note.txt"].stored))
    assert after["t1.txt"].stored != before["t1.txt"].stored
    assert after["t1.txt"].stored in store.files()
    assert before["t1.txt"].stored not in store.files()
    assert after["plain.txt"] == before["plain.txt"]
    assert [after[name].seen for name in ("note.txt", "t1.txt")] == [(), ()]


def test_no_digest_of_what_was_there_is_left(source: Path, root: Path) -> None:
    report = take(source, root)
    before = by_name(report)

    redact(report)

    data = everything(report.path)
    fresh = new_digest(bytes.fromhex(by_name(report)["note.txt"].key))
    fresh.update(NOTE)
    assert before["note.txt"].key.encode() not in data
    assert before["note.txt"].digest.encode() not in data
    assert hashlib.sha256(LONG).hexdigest().encode() not in data
    assert fresh.hexdigest().encode() not in data


def test_the_masked_tree_is_exported_and_told_to_be_that(
    source: Path, tmp_path: Path, root: Path
) -> None:
    report = take(source, root)
    redact(report)
    out = tmp_path / "out"

    done = ok("export", report.session, "--as", "original", "-o", out)

    given = {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert sorted(given) == [source.name, "note.txt", "plain.txt", "t1.txt"]
    assert WORD not in b"".join(given.values())
    assert given["plain.txt"] == PLAIN
    assert given["t1.txt"].startswith(b"first line\nuse [REDACTED:vendor-token:")
    assert done.err.count("as a rewrite of this session left it") == 2
    assert f"{FOLDER}/note.txt" in done.err


@pytest.mark.parametrize("grown", [False, True])
def test_the_source_is_refused_although_only_a_file_beside_it_was_masked(
    source: Path, root: Path, grown: bool
) -> None:
    (source.parent / FOLDER / "t1.txt").unlink()
    report = take(source, root)
    redact(report)
    before = tree_of(root)
    if grown:
        put(source, source.read_bytes() + lines(prompt("u9", "r1", "More", 9)))

    with pytest.raises(ConflictError, match=r"note\.txt") as failure:
        take(source, root)

    assert "--again" in str(failure.value.hint)
    assert tree_of(root) == before
    assert take(source, root, again=True).created


def test_a_second_redaction_leaves_every_byte(source: Path, root: Path) -> None:
    report = take(source, root)
    redact(report)
    before = tree_of(report.path)

    redact(report)

    assert tree_of(report.path) == before


def test_a_name_with_a_value_goes_from_the_notes_and_from_the_files(
    source: Path, tmp_path: Path, root: Path
) -> None:
    put(source.parent / FOLDER / f"{TOKEN}.txt", PLAIN)
    report = take(source, root)

    redact(report)
    again = ok("redact", report.session, "--yes", "--force", "--json").objects[0]
    ok("export", report.session, "--as", "original", "-o", tmp_path / "out")

    names = [path.name for path in (tmp_path / "out" / FOLDER).iterdir()]
    assert WORD not in everything(report.path)
    assert problems(report) == []
    assert len(names) == 4
    assert not any(TOKEN in name for name in names)
    assert (again["changed"], again["left"]) == (False, [])


def test_two_files_whose_names_become_one_are_both_kept(source: Path, root: Path) -> None:
    report = take(source, root)
    same = Strings(lambda text: text.replace("note.txt", "plain.txt"))

    rewrite_session(store_of(report), None, same, if_idle_ms=None, now_ms=NOW)

    stored = [each.stored for each in noted(store_of(report))]
    kept = [store_of(report).read_file(name) for name in stored]
    assert len({*stored}) == 3
    assert NOTE in kept
    assert PLAIN in kept
    assert problems(report) == []


def test_a_blob_that_is_given_up_is_noted_no_longer(source: Path, root: Path) -> None:
    report = take(source, root)
    blob = by_name(report)["t1.txt"].stored.removeprefix("blobs/")

    rewrite_session(store_of(report), None, Rewrite(), if_idle_ms=None, drop_blobs=[blob])

    assert "t1.txt" not in by_name(report)
    assert problems(report) == []
    assert ok("export", report.session, "--as", "original", "-o", root.parent / "out").status == 0


def test_a_file_that_was_lost_before_is_still_told_to_be(source: Path, root: Path) -> None:
    report = take(source, root)
    (report.path / "files" / by_name(report)["plain.txt"].stored).unlink()

    redact(report)

    assert "plain.txt" in by_name(report)
    assert any("plain.txt is gone" in each for each in problems(report))


def test_damaged_notes_are_masked_as_text(source: Path, root: Path) -> None:
    report = take(source, root)
    path = report.path / "files" / NOTES
    path.write_bytes(b'{"name":7,"x":"' + WORD + b'"}\nnot ' + WORD)

    redact(report)

    assert WORD not in everything(report.path)
    assert path.read_bytes().startswith(b'{"name":7,"x":"[REDACTED:')


# -- what maps say besides --------------------------------------------------


def test_where_the_source_stood_is_masked_and_not_written_down_again(
    tmp_path: Path, root: Path
) -> None:
    path = put(tmp_path / TOKEN / f"{SID}.jsonl", lines(prompt("u1", None, "Go")))
    report = take(path, root)

    redact(report)
    put(path, path.read_bytes() + lines(prompt("u2", "u1", "More", 2)))
    with pytest.raises(ConflictError):
        take(path, root)

    (old,) = find_maps(store_of(report))
    assert "[REDACTED:vendor-token:" in old.header.path
    assert WORD not in everything(report.path)
    assert problems(report) == []


def test_an_output_that_comes_late_is_not_put_into_a_redacted_session(
    tmp_path: Path, root: Path
) -> None:
    path = session(tmp_path / "src", name=f"{TOKEN}.txt", text=f"use {TOKEN}")
    report = take(path, root)
    (old,) = find_maps(store_of(report))
    assert any(TOKEN in told for known in old.awaiting() for told in known.awaited)

    redact(report)
    put(tmp_path / "src" / FOLDER / f"{TOKEN}.txt", LONG)
    before = tree_of(root)
    done = run("import", path)

    (new,) = find_maps(store_of(report))
    assert [len(known.awaited) for known in new.awaiting()] == [1]
    assert done.status == ConflictError("").exit_code
    assert "rewritten since" in done.err
    assert tree_of(root) == before
    assert WORD not in everything(report.path)
    assert problems(report) == []
    assert len(main_of(report).entries) == 3
