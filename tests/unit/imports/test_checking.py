from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.append import append
from agentmem_cli.operations.imports.checking import check_maps
from agentmem_cli.operations.imports.standing import LogIndex
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import fold_log
from tests.unit.imports.building import (
    NOW,
    SESSION_ID,
    entry,
    header,
    lines,
    put,
    reply,
    store_of,
    take,
    tree_of,
    user,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.operations.imports.report import Report

NAME = f"2026_{SESSION_ID}.jsonl"
FILE = f"plugins/import/{NAME}.map.jsonl"
DATA = lines(header(), user(1, "one"), reply(2, "two"), entry("compaction", 3, summary="S"))


@pytest.fixture
def report(tmp_path: Path, root: Path) -> Report:
    return take(put(tmp_path / "src" / NAME, DATA), root)


def whys(report: Report) -> list[tuple[str, str]]:
    """What is wrong; and that it is the same whoever reads the logs, and changes nothing."""
    store = store_of(report)
    before = tree_of(report.path)
    indexes = {log: LogIndex() for log in store.logs()}
    folds = {
        log: fold_log(store, log, strict=False, on_record=index.look)
        for log, index in indexes.items()
    }

    found = check_maps(store, folds)

    assert check_maps(store, folds, indexes) == found
    assert tree_of(report.path) == before
    return [(bad.file, bad.why) for bad in found]


def test_the_map_of_a_whole_session_is_whole(report: Report) -> None:
    append(store_of(report), "main", [Message.user("mine")], at_ms=NOW)

    found = whys(report)

    assert found == []


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda data: b"", "not a map of this version"),
        (lambda data: data[:-30], "4 lines, not 5"),
        (lambda data: data.replace(b'"fp"', b'"fq"'), "line 2: damaged"),
        (lambda data: data.replace(b'{"map":1', b'{"map":2'), "not a map of this version"),
        (lambda data: data.rpartition(b'{"line"')[0], "4 lines, not 5"),
        (lambda data: data + data.splitlines(keepends=True)[-1], "6 lines, not 5"),
        (lambda data: data.replace(b'"id":1', b'"id":7'), "1 thing that it names is not in"),
        (lambda data: data.replace(b'"n":3', b'"n":33'), "1 thing that it names is not in"),
        (lambda data: data.replace(b'"aside":0', b'"aside":9'), "1 thing that it names is not in"),
        (lambda data: data.replace(b'"key":"agentmem', b'"key":"Agent'), "1 thing that it names"),
    ],
)
def test_a_damaged_map_is_named(report: Report, spoil: Callable[[bytes], bytes], told: str) -> None:
    path = report.path / "files" / FILE
    before = path.read_bytes()
    path.write_bytes(spoil(before))

    ((file, why),) = whys(report)

    assert path.read_bytes() != before
    assert file == FILE
    assert told in why


@pytest.mark.parametrize("lost", [2, 5, 99])
def test_what_a_log_has_lost_is_counted(report: Report, lost: int) -> None:
    log = report.path / "logs" / "main.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-lost]))

    ((file, why),) = whys(report)

    assert file == FILE
    assert why.startswith(f"{min(lost, 5)} things it names are not in log 'main'")


def test_a_log_that_is_gone_has_nothing_of_what_a_map_names(report: Report) -> None:
    (report.path / "logs" / "main.jsonl").unlink()

    ((_, why),) = whys(report)

    assert why.startswith("5 things")


def test_a_log_that_was_rewritten_is_not_compared(report: Report) -> None:
    log = report.path / "logs" / "main.jsonl"
    head, _, _ = log.read_bytes().partition(b"\n")
    log.write_bytes(head[:-1] + b',"rewrites":[{"t":5}]}\n')

    found = whys(report)

    assert found == []


@pytest.mark.parametrize("left", [b"{", None])
def test_a_kept_source_that_is_cut_or_gone_is_named(report: Report, left: bytes | None) -> None:
    kept = report.path / "files" / "plugins" / "import" / NAME
    kept.unlink()
    if left is not None:
        kept.write_bytes(left)

    ((file, why),) = whys(report)

    assert file == f"plugins/import/{NAME}"
    assert why == f"not the {len(DATA)} bytes that its map says"
