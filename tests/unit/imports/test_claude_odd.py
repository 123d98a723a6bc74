"""Odd Claude Code transcripts: nothing is lost, doubled, or out of order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.export import kept_bytes, originals
from agentmem_cli.operations.verify import PROBLEM, verify
from agentmem_cli.session.reader import fold_log
from tests.unit.imports.building import lines, put, store_of, take
from tests.unit.imports.claude_building import SID
from tests.unit.imports.claude_odd import ODD, Odd

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.report import Report
    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.entry import Entry

EACH = pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())


def _inner(part: Object) -> str:
    found = part.get("text")
    return found if isinstance(found, str) else f"{{{part['type']}}}"


def _part(part: Object, lead: str) -> str:
    kind, content = part["type"], part.get("content")
    inner = (
        [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []
    )
    match kind:
        case "toolcall":
            return f"call {part['id']}"
        case "toolresult":
            return f"{part['call']} = {''.join(map(_inner, inner))}"
        case "reasoning":
            return f"~ {''.join(map(_inner, inner))}"
        case "image":
            return "{image}"
        case _:
            pass
    return lead + _inner(part)


def _lead(entry: Entry) -> str:
    author = entry.author
    if entry.stored.role != "user":
        return ""
    if author is None or author.kind == "agent":
        return "> "
    return f"[{author.title}] "


def told_of(report: Report, log: str = "main") -> list[str]:
    """A log's conversation, read strictly, as `claude_odd` writes it down."""
    entries = fold_log(store_of(report), log).conversation.entries
    return [_part(part, _lead(entry)) for entry in entries for part in entry.stored.parts]


def counted(report: Report) -> int:
    """The lines of which something is told."""
    return sum(report.types.values()) + report.lost + (report.torn is not None)


@EACH
def test_every_word_is_there_in_order_and_every_line_is_counted(
    tmp_path: Path, root: Path, odd: Odd
) -> None:
    path = put(tmp_path / f"{SID}.jsonl", lines(*odd.records))

    report = take(path, root)

    assert told_of(report) == odd.told
    logs = [log for log in store_of(report).logs() if log not in ("main", "session")]
    assert {log: told_of(report, log) for log in logs} == odd.sides
    assert (report.lines, counted(report)) == (len(odd.records), len(odd.records))
    assert (report.lost, report.mended) == (0, 0)


@EACH
def test_it_verifies_goes_back_as_it_was_and_is_known_again(
    tmp_path: Path, root: Path, odd: Odd
) -> None:
    data = lines(*odd.records)
    path = put(tmp_path / f"{SID}.jsonl", data)
    report = take(path, root)
    store = store_of(report)

    findings = verify(store).findings
    kept = [b"".join(kept_bytes(store, original)) for original in originals(store)]
    path.touch()

    assert [finding for finding in findings if finding.level == PROBLEM] == []
    unanswered = [finding for finding in findings if finding.kind == "unanswered-call"]
    assert [each for each in odd.unanswered if not any(each in f.why for f in unanswered)] == []
    assert len(unanswered) == len(odd.unanswered)
    assert kept == [data]
    assert take(path, root).nothing_new


@EACH
def test_growing_line_by_line_comes_to_the_same(tmp_path: Path, root: Path, odd: Odd) -> None:
    path = tmp_path / f"{SID}.jsonl"
    count = len(odd.records)
    first = next(at for at in range(count) if b'"role":"user"' in odd.records[at])
    # Why not each of many: a session of 200 lines grows by whole turns as well.
    for end in (*range(first + 1, count, max(1, count // 20)), count):
        path.write_bytes(lines(*odd.records[:end]))
        take(path, root)

    report = take(path, root)

    assert report.nothing_new
    assert told_of(report) == odd.told
    logs = [log for log in store_of(report).logs() if log not in ("main", "session")]
    assert {log: told_of(report, log) for log in logs} == odd.sides
    assert verify(store_of(report)).problems == 0
