"""A session that has lost something since it was imported is mended, or refused, never trusted."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import DamageError
from agentmem_cli.operations.append import append
from agentmem_cli.operations.verify import verify
from agentmem_cli.session.message import Message
from tests.unit.imports.building import (
    NOW,
    SESSION_ID,
    asides_of,
    entry,
    header,
    lines,
    put,
    reply,
    store_of,
    take,
    texts_of,
    tree_of,
    user,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.operations.imports.report import Report

FIRST = lines(
    header(), user(1, "one"), reply(2, "two"), entry("compaction", 3, summary="S"), user(4, "three")
)
MORE = lines(reply(5, "four"), user(6, "five"))
TEXTS = ["one", "two", "three"]
IMAGE = base64.b64encode(b"\x89PNG picture").decode()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return put(tmp_path / "src" / f"2026_{SESSION_ID}.jsonl", FIRST)


def log_of(report: Report) -> Path:
    return report.path / "logs" / "main.jsonl"


def keep_lines(count: int) -> Callable[[Path], None]:
    def damage(log: Path) -> None:
        log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:count]))

    return damage


def cut_bytes(count: int) -> Callable[[Path], None]:
    def damage(log: Path) -> None:
        log.write_bytes(log.read_bytes()[:-count])

    return damage


LOSSES: dict[str, Callable[[Path], object]] = {
    "torn in the last record": cut_bytes(20),
    "torn in the header": lambda log: log.write_bytes(log.read_bytes()[:30]),
    "without its last record": keep_lines(-1),
    "without its last four": keep_lines(-4),
    "with nothing but the header": keep_lines(1),
    "of 0 bytes": lambda log: log.write_bytes(b""),
    "of a blank line": lambda log: log.write_bytes(b"\n"),
    "that is gone": lambda log: log.unlink(),
}


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("grown", [b"", MORE])
def test_what_a_log_has_lost_at_its_end_is_put_in_again(
    source: Path, root: Path, kind: str, grown: bytes
) -> None:
    first = take(source, root)
    LOSSES[kind](log_of(first))
    put(source, FIRST + grown)

    report = take(source, root)

    assert report.restored
    assert not report.created
    assert report.restored + report.known == 6
    assert texts_of(report) == TEXTS + (["four", "five"] if grown else [])
    assert [aside.kind for aside in asides_of(report)] == ["import.compaction"]
    assert verify(store_of(report)).problems == 0
    assert take(source, root).nothing_new
    assert take(source, root).restored == 0


def test_a_session_that_was_restored_goes_on_like_any_other(source: Path, root: Path) -> None:
    first = take(source, root)
    keep_lines(-3)(log_of(first))
    take(source, root)
    put(source, FIRST + MORE)

    report = take(source, root)

    assert (report.restored, report.new, report.known) == (0, 2, 6)
    assert texts_of(report) == [*TEXTS, "four", "five"]


def test_torn_bytes_that_are_set_aside_are_reported(source: Path, root: Path) -> None:
    first = take(source, root)
    whole = log_of(first).read_bytes()
    cut_bytes(20)(log_of(first))

    report = take(source, root)

    (torn,) = report.set_aside
    last = whole.splitlines(keepends=True)[-1]
    assert (torn.log, torn.kept, torn.cut) == ("main", len(whole) - len(last), len(last) - 20)
    assert torn.set_aside is not None
    assert store_of(report).read_file(torn.set_aside) == last[:-20]


def test_torn_bytes_behind_all_that_was_imported_are_set_aside_too(
    source: Path, root: Path
) -> None:
    first = take(source, root)
    whole = log_of(first).read_bytes()
    log_of(first).write_bytes(whole + b'{"seq":9')

    report = take(source, root)

    assert (report.restored, len(report.set_aside)) == (0, 1)
    assert log_of(report).read_bytes() == whole
    assert verify(store_of(report)).problems == 0


@pytest.mark.parametrize("grown", [b"", MORE])
def test_a_log_that_lost_a_line_in_its_midst_is_refused(
    source: Path, root: Path, grown: bytes
) -> None:
    first = take(source, root)
    records = log_of(first).read_bytes().splitlines(keepends=True)
    log_of(first).write_bytes(b"".join(records[:3] + records[4:]))
    put(source, FIRST + grown)
    before = tree_of(root)

    with pytest.raises(DamageError, match=f"session {first.session} is damaged: ") as failure:
        take(source, root)

    assert "--again" in str(failure.value.hint)
    assert tree_of(root) == before


@pytest.mark.parametrize("grown", [b"", MORE])
def test_what_others_wrote_in_the_place_of_a_lost_end_is_not_taken_for_it(
    source: Path, root: Path, grown: bytes
) -> None:
    first = take(source, root)
    keep_lines(-2)(log_of(first))
    mine = [f"mine {number}" for number in range(4)]
    for text in mine:
        append(store_of(first), "main", [Message.user(text)], at_ms=NOW)
    put(source, FIRST + grown)

    report = take(source, root)

    rest = ["three", "four", "five"] if grown else ["three"]
    assert report.restored == 2
    assert texts_of(report) == ["one", "two", *mine, *rest]
    assert verify(store_of(report)).problems == 0
    assert take(source, root).nothing_new


@pytest.mark.parametrize("lost", [1, 2])
@pytest.mark.parametrize("grown", [b"", MORE])
def test_a_log_that_lost_what_was_written_here_is_refused(
    source: Path, root: Path, lost: int, grown: bytes
) -> None:
    first = take(source, root)
    append(store_of(first), "main", [Message.user("mine")], at_ms=NOW)
    keep_lines(-lost)(log_of(first))
    put(source, FIRST + grown)
    before = tree_of(root)

    with pytest.raises(DamageError, match="lacks") as failure:
        take(source, root)

    assert "--again" in str(failure.value.hint)
    assert tree_of(root) == before


def test_what_was_written_here_since_is_no_loss(source: Path, root: Path) -> None:
    first = take(source, root)
    append(store_of(first), "main", [Message.user("mine")], at_ms=NOW)
    unchanged = take(source, root)
    put(source, FIRST + MORE)

    report = take(source, root)

    assert unchanged.nothing_new
    assert (report.new, report.restored) == (2, 0)
    assert texts_of(report) == [*TEXTS, "mine", "four", "five"]


def test_a_loss_is_told_in_a_dry_run_and_nothing_is_written(source: Path, root: Path) -> None:
    from agentmem_cli.operations.imports.importing import import_source

    first = take(source, root)
    keep_lines(-2)(log_of(first))
    before = tree_of(root)

    report = import_source(source, root, now_ms=NOW, dry_run=True)

    assert report.restored == 2
    assert tree_of(root) == before


def with_image(text: str, second: int) -> bytes:
    return user(
        second,
        [
            {"type": "text", "text": text},
            {"type": "image", "data": IMAGE, "mimeType": "image/png"},
        ],
    )


@pytest.mark.parametrize("grown", [b"", MORE])
def test_a_blob_that_is_gone_is_put_back(source: Path, root: Path, grown: bytes) -> None:
    data = FIRST + lines(with_image("look", 5), with_image("again", 5))
    put(source, data)
    first = take(source, root)
    (blob,) = (first.path / "files" / "blobs").iterdir()
    content = blob.read_bytes()
    blob.unlink()
    put(source, data + grown)

    report = take(source, root)

    assert (report.blobs, report.restored, report.nothing_new) == (1, 1, False)
    assert blob.read_bytes() == content
    assert verify(store_of(report)).problems == 0
    assert take(source, root).nothing_new


@pytest.mark.parametrize("grown", [b"", MORE])
def test_a_kept_source_that_is_gone_or_cut_is_kept_whole_again(
    source: Path, root: Path, grown: bytes
) -> None:
    kept = take(source, root).path / "files" / "plugins" / "import" / source.name
    for spoil in (kept.unlink, lambda: kept.write_bytes(b"{")):
        spoil()
        put(source, FIRST + grown)

        report = take(source, root)

        assert kept.read_bytes() == FIRST + grown
        assert texts_of(report)[:3] == TEXTS


def test_the_list_keeps_what_a_person_put_there_where_the_log_is_gone(
    source: Path, root: Path
) -> None:
    from agentmem_cli.session.meta import SessionMeta

    first = take(source, root)
    SessionMeta.read(store_of(first))._replace(labels={"k": "v"}).write(store_of(first))
    log_of(first).unlink()

    report = take(source, root)

    assert SessionMeta.read(store_of(report)).labels == {"k": "v"}


def test_an_unchanged_source_over_a_whole_session_is_not_read_into(
    source: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agentmem_cli.session import reader

    take(source, root)
    folded: list[str] = []

    def refuse(*_: object, **__: object) -> None:
        folded.append("folded")

    monkeypatch.setattr(reader, "fold_log", refuse)

    report = take(source, root)

    assert report.nothing_new
    assert folded == []
