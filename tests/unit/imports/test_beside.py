"""What stands beside a transcript in its session's own folder: kept, checked, given back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.imports import beside, sources
from agentmem_cli.operations.imports.beside import NOTES, noted
from tests.cli.running import ok, run
from tests.unit.imports.building import put, store_of, take

if TYPE_CHECKING:
    from agentmem_cli.operations.imports.report import Report

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "claude-code"
MAIN = "5c1de000-0000-4000-8000-00000000c0de"
LARGE = bytes(range(256)) * 20


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A session with all that can stand beside it; return its transcript."""
    top = tmp_path / "src"
    shutil.copytree(EXAMPLE, top)
    own = top / MAIN
    put(own / "tool-results" / "nobody names it.txt", b"x\r\n\xff")
    put(own / "tool-results" / "deep" / "er.bin", LARGE)
    put(own / "subagents" / "notes.jsonl", b'{"cut')
    put(own / "empty", b"")
    return top / f"{MAIN}.jsonl"


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def _given_back(report: Report, tmp_path: Path) -> dict[str, bytes]:
    target = tmp_path / "out"
    shutil.rmtree(target, ignore_errors=True)
    ok("export", report.session, "--as", "original", "-o", target)
    return _files(target)


def test_the_export_gives_the_whole_folder_back(source: Path, tmp_path: Path, root: Path) -> None:
    before = _files(source.parent)

    report = take(source, root)

    assert _given_back(report, tmp_path) == before
    assert len(before) == 8
    assert take(source, root).nothing_new
    assert take(tmp_path / "out" / source.name, root).nothing_new


def test_a_relative_path_gives_the_same(
    source: Path, tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    report = take(source.relative_to(tmp_path), root)

    assert _given_back(report, tmp_path) == _files(source.parent)
    assert take(source, root).nothing_new


def test_what_a_record_refers_to_is_kept_once(source: Path, root: Path) -> None:
    store = store_of(take(source, root))

    names = {Path(each.name).name: each.stored for each in noted(store)}

    assert names["toolu_01a.txt"].startswith("blobs/")
    assert names["er.bin"] == f"plugins/import/{MAIN}/tool-results/deep/er.bin"
    assert sum(name.endswith("toolu_01a.txt") for name in store.files()) == 0


def test_an_agents_damaged_description_comes_back_too(
    source: Path, tmp_path: Path, root: Path
) -> None:
    meta = put(source.parent / MAIN / "subagents" / "agent-c4a27.meta.json", b'{"agentType":')

    report = take(source, root)

    assert _given_back(report, tmp_path)[meta.relative_to(source.parent).as_posix()] == (
        meta.read_bytes()
    )


def test_what_comes_changes_or_goes_later_is_taken_and_nothing_is_lost(
    source: Path, tmp_path: Path, root: Path
) -> None:
    first = take(source, root)
    own = source.parent / MAIN / "tool-results"
    put(own / "new.txt", b"new")
    put(own / "deep" / "er.bin", b"other")
    (own / "nobody names it.txt").unlink()

    take(source, root)
    found = _given_back(first, tmp_path)

    folder = f"{MAIN}/tool-results"
    assert found[f"{folder}/new.txt"] == b"new"
    assert found[f"{folder}/deep/er.bin"] == b"other"
    assert found[f"{folder}/nobody names it.txt"] == b"x\r\n\xff"
    assert ok("verify", first.session).status == 0


def test_files_whose_times_alone_changed_are_nothing_new(source: Path, root: Path) -> None:
    report = take(source, root)
    before = {path: path.stat().st_mtime_ns for path in report.path.rglob("*")}
    for path in (source.parent / MAIN).rglob("*"):
        os.utime(path, (5, 5))

    again = take(source, root)

    assert again.nothing_new
    assert {path: path.stat().st_mtime_ns for path in report.path.rglob("*")} == before


def test_a_file_that_is_too_large_is_told_and_stops_nothing(
    source: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "ATTACHED_BYTES_MAX", len(LARGE) - 1)
    monkeypatch.setattr(beside, "ATTACHED_BYTES_MAX", len(LARGE) - 1)

    report = take(source, root)
    again = take(source, root)

    assert any("er.bin is not kept" in flaw.why for flaw in report.unusable)
    assert not any(each.name.endswith("er.bin") for each in noted(store_of(report)))
    assert again.nothing_new


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_no_link_leads_out_of_the_folder(source: Path, tmp_path: Path, root: Path) -> None:
    secret = put(tmp_path / "secret" / "file", b"secret")
    own = source.parent / MAIN
    (own / "link").symlink_to(secret)
    (own / "folder").symlink_to(secret.parent)
    os.mkfifo(own / "pipe")

    report = take(source, root)

    assert b"secret" not in _given_back(report, tmp_path).values()
    assert not any("link" in each.name or "pipe" in each.name for each in noted(store_of(report)))


def test_without_the_source_nothing_beside_it_is_kept_either(source: Path, root: Path) -> None:
    report = take(source, root, keep_source=False)
    again = take(source, root, keep_source=False)

    assert noted(store_of(report)) == []
    assert again.nothing_new


def test_verify_names_what_was_lost_or_changed(source: Path, root: Path) -> None:
    report = take(source, root)
    kept = root / report.session / "files" / "plugins" / "import" / MAIN
    (kept / "empty").unlink()
    (kept / "tool-results" / "deep" / "er.bin").write_bytes(LARGE[::-1])

    done = run("verify", report.session)
    given = run("export", report.session, "--as", "original", "-o", root.parent / "out")

    assert done.status == 1
    assert f"{MAIN}/empty" in done.out + done.err
    assert "er.bin" in done.out + done.err
    assert given.status == 5
    assert not (root.parent / "out").exists()


def test_damaged_notes_are_named_and_stop_no_import(source: Path, root: Path) -> None:
    report = take(source, root)
    path = root / report.session / "files" / NOTES
    path.write_bytes(b'{"name":7}\n')

    done = run("verify", report.session)
    given = run("export", report.session, "--as", "original")

    assert take(source, root).nothing_new
    assert done.status == 1
    assert NOTES in done.out + done.err
    assert given.status == 5


def test_one_agents_original_is_its_transcript_alone(source: Path, root: Path) -> None:
    report = take(source, root)

    done = ok("export", report.session, "--as", "original", "--agent", "main")

    assert done.stdout == source.read_bytes()
    assert "main source of" not in done.err
