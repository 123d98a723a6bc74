"""Outputs of tools that stand in files beside a Claude Code session."""

from __future__ import annotations

import hashlib
import os
from os import utime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import DamageError
from agentmem_cli.operations.imports import claude_files
from agentmem_cli.operations.transcript import Attachment, Result, Turn, transcript, window
from agentmem_cli.operations.verify import verify
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import as_of, fold_log, load
from agentmem_cli.session.writer import last_n, save
from tests.unit.imports.building import NOW, lines, main_of, put, store_of, take, tree_of
from tests.unit.imports.claude_building import OTHER, SID, call, piece, prompt, result

if TYPE_CHECKING:
    from agentmem_cli.operations.imports.report import Report
    from agentmem_cli.session.codec import JSON, Object

HIDDEN = b"not to be read"
OUTPUT = b"day 1 high 5.1 m\n" * 500
NAME = f"{hashlib.sha256(OUTPUT).hexdigest()}.txt"
ELSEWHERE = f"/home/ada/.claude/projects/-p/{SID}/tool-results"


def session(told: str, *, mirror: bool = False, blocks: bool = False) -> bytes:
    shown = f"<persisted-output>\nToo large (8 KB). Full output saved to: {told}\n\nPreview:\nday 1"
    content: JSON = [{"type": "text", "text": shown}] if blocks else shown
    more: Object = {"toolUseResult": {"stdout": "day 1", "persistedOutputPath": told}}
    return lines(
        prompt("u1", None, "Go"),
        piece("a1", "u1", "m1", call("t1")),
        result("r1", "a1", "t1", content, **(more if mirror else {})),
    )


def document(report: Report) -> Object:
    """The document in the result of the session's only call, as the log holds it."""
    (part,) = main_of(report).entries[2].stored.parts
    content = part["content"]
    assert isinstance(content, list)
    found = content[-1]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("mirror", [True, False])
@pytest.mark.parametrize("blocks", [True, False])
def test_an_output_in_a_file_of_the_session_becomes_a_blob(
    tmp_path: Path, root: Path, mirror: bool, blocks: bool
) -> None:
    data = session(f"{ELSEWHERE}/t1.txt", mirror=mirror, blocks=blocks)
    path = put(tmp_path / "p" / f"{SID}.jsonl", data)
    put(tmp_path / "p" / SID / "tool-results" / "t1.txt", OUTPUT)
    before = tree_of(tmp_path / "p")

    report = take(path, root)

    assert document(report) == {
        "type": "document",
        "data": {"type": "url", "value": f"blob:{NAME}"},
        "media_type": "txt",
    }
    assert store_of(report).read_file(f"blobs/{NAME}") == OUTPUT
    assert (report.blobs, report.mended) == (1, 0)
    assert tree_of(tmp_path / "p") == before
    assert take(path, root).nothing_new
    assert verify(store_of(report)).findings == ()


def test_it_is_shown_as_an_attachment_with_its_size(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / f"{SID}.jsonl", session(f"{ELSEWHERE}/t1.txt"))
    put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)
    report = take(path, root)

    conversation = fold_log(store_of(report), "main").conversation
    turns = list(transcript(store_of(report), conversation, window(conversation)))

    turn = turns[-1]
    assert isinstance(turn, Turn)
    (shown,) = turn.parts
    assert isinstance(shown, Result)
    last = shown.parts[-1]
    assert isinstance(last, Attachment)
    assert last._replace(data=None) == Attachment("document/txt", len(OUTPUT), missing=False)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (f"{ELSEWHERE}/gone.txt", "missing"),
        (f"{ELSEWHERE}", "missing"),
        ("/etc/hostname", "outside"),
        (f"/p/{SID}/tool-results/../../secret.txt", "outside"),
        (f"/p/{SID}", "outside"),
        (f"/p/{OTHER}/tool-results/t1.txt", "outside"),
        ("secret.txt", "outside"),
        (f"C:\\Users\\ada\\{SID}\\tool-results\\gone.txt", "missing"),
        (f"/p/{SID}/linked/t1.txt", "missing"),
        (f"/p/{SID}/link.txt", "missing"),
        (f"/p/{SID}/nul\x00.txt", "missing"),
    ],
)
def test_an_output_that_is_not_in_the_sessions_own_folder_is_marked(
    tmp_path: Path, root: Path, told: str, why: str
) -> None:
    path = put(tmp_path / "p" / f"{SID}.jsonl", session(told))
    secret = put(tmp_path / "p" / "secret.txt", HIDDEN)
    put(tmp_path / "p" / OTHER / "tool-results" / "t1.txt", HIDDEN)
    folder = tmp_path / "p" / SID
    put(folder / "tool-results" / "t1.txt", OUTPUT)
    (folder / "link.txt").symlink_to(secret)
    (folder / "linked").symlink_to(tmp_path / "p" / OTHER / "tool-results")

    report = take(path, root)

    assert document(report) == {
        "type": "document",
        "data": {"type": "unknown"},
        "media_type": "txt",
        "path": told,
        "lost": why,
    }
    assert (report.blobs, report.mended, report.lost) == (0, 1, 0)
    assert report.unusable[0].line == 3
    assert all(HIDDEN not in store_of(report).read_log(log) for log in store_of(report).logs())


def test_the_path_of_another_system_leads_into_the_same_folder(tmp_path: Path, root: Path) -> None:
    told = f"C:\\Users\\ada\\.claude\\projects\\-p\\{SID}\\tool-results\\t1.txt"
    path = put(tmp_path / f"{SID}.jsonl", session(told))
    put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)

    assert document(take(path, root))["data"] == {"type": "url", "value": f"blob:{NAME}"}


def test_an_output_of_an_agent_stands_in_the_sessions_folder(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / f"{SID}.jsonl", lines(prompt("u1", None, "Go")))
    put(tmp_path / SID / "subagents" / "agent-k1.jsonl", session(f"{ELSEWHERE}/t1.txt"))
    put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)

    report = take(path, root)

    assert store_of(report).read_file(f"blobs/{NAME}") == OUTPUT


def test_a_text_that_only_quotes_such_a_notice_has_no_file(tmp_path: Path, root: Path) -> None:
    quoted = f"cat x\n<persisted-output>\nsaved to: {ELSEWHERE}/t1.txt"
    data = lines(
        piece("a1", None, "m1", call("t1")),
        result("r1", "a1", "t1", quoted),
        result("r2", "r1", "t2", f"<persisted-output>{dumps({}).decode()}"),
    )
    put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)

    report = take(put(tmp_path / f"{SID}.jsonl", data), root)

    assert (report.blobs, report.mended) == (0, 0)


def test_a_file_that_is_too_large_stays_where_it_is(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_files, "ATTACHED_BYTES_MAX", 100)
    path = put(tmp_path / f"{SID}.jsonl", session(f"{ELSEWHERE}/t1.txt"))
    put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)

    report = take(path, root)

    assert document(report)["lost"] == "large"
    assert (report.blobs, report.mended) == (0, 1)


def test_one_image_on_many_lines_is_one_blob(tmp_path: Path, root: Path) -> None:
    image: Object = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
    }
    mirror: Object = {"type": "image", "file": {"base64": "AAAA"}}
    data = lines(
        *(result(f"r{i}", None, f"t{i}", [image], toolUseResult=mirror) for i in range(20)),
        prompt("u", None, [image]),
    )

    report = take(put(tmp_path / f"{SID}.jsonl", data), root)

    blobs = [name for name in store_of(report).files() if name.startswith("blobs/")]
    assert (report.blobs, len(blobs)) == (1, 1)
    log = store_of(report).read_log("main")
    assert (log.count(b"blob:"), log.count(b"AAAA")) == (21, 0)


def test_an_output_that_a_session_has_lost_is_put_in_again(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / f"{SID}.jsonl", session(f"{ELSEWHERE}/t1.txt"))
    put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)
    (take(path, root).path / "files" / "blobs" / NAME).unlink()

    report = take(path, root)

    assert (report.restored, report.nothing_new) == (1, False)
    assert store_of(report).read_file(f"blobs/{NAME}") == OUTPUT
    assert take(path, root).nothing_new


def test_a_lost_output_whose_file_is_gone_too_is_named(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / f"{SID}.jsonl", session(f"{ELSEWHERE}/t1.txt"))
    output = put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)
    report = take(path, root)
    (report.path / "files" / "blobs" / NAME).unlink()
    output.unlink()
    before = tree_of(root)

    with pytest.raises(DamageError, match="lacks 1 blob"):
        take(path, root)

    assert tree_of(root) == before


@pytest.mark.parametrize("settled", [True, False])
def test_an_output_that_comes_later_is_taken_by_the_next_import(
    tmp_path: Path, root: Path, settled: bool
) -> None:
    path = put(tmp_path / f"{SID}.jsonl", session(f"{ELSEWHERE}/t1.txt"))
    if not settled:
        utime(path, (NOW // 1000, NOW // 1000))
    before = take(path, root)
    assert document(before)["lost"] == "missing"
    assert take(path, root).nothing_new
    put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)

    report = take(path, root)

    assert (report.new, report.edited, report.blobs) == (0, 1, 1)
    assert document(report)["data"] == {"type": "url", "value": f"blob:{NAME}"}
    assert take(path, root).nothing_new
    assert verify(store_of(report)).findings == ()
    past = as_of(store_of(report), "main", last_n(store_of(report)))
    assert b'"lost":"missing"' in past.entries[2].stored.raw


def test_an_output_that_becomes_readable_is_taken_by_the_next_import(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / f"{SID}.jsonl", session(f"{ELSEWHERE}/t1.txt"))
    put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)
    opened = os.open

    def refused(name: Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if Path(name).name == "t1.txt":
            raise PermissionError(13, "Permission denied")
        return opened(name, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refused)
        assert document(take(path, root))["lost"] == "unreadable"

    report = take(path, root)

    assert (report.edited, report.blobs) == (1, 1)
    assert document(report)["data"] == {"type": "url", "value": f"blob:{NAME}"}


def test_of_two_outputs_each_is_taken_when_it_comes(tmp_path: Path, root: Path) -> None:
    kid = session(f"{ELSEWHERE}/k.txt")
    path = put(tmp_path / f"{SID}.jsonl", session(f"{ELSEWHERE}/t1.txt"))
    put(tmp_path / SID / "subagents" / "agent-k1.jsonl", kid)
    take(path, root)
    put(tmp_path / SID / "tool-results" / "k.txt", b"of the agent")
    first = take(path, root)
    put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)
    with path.open("ab") as file:
        file.write(lines(prompt("u9", "r1", "And?", 9)))

    second = take(path, root)

    assert (first.new, first.edited, first.blobs) == (0, 1, 1)
    assert (second.new, second.edited, second.blobs) == (1, 1, 1)
    assert take(path, root).nothing_new


def test_an_output_that_was_taken_stays_when_its_file_goes(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / f"{SID}.jsonl", session(f"{ELSEWHERE}/t1.txt"))
    output = put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)
    take(path, root)
    output.unlink()
    with path.open("ab") as file:
        file.write(lines(prompt("u9", "r1", "And?", 9)))

    report = take(path, root)

    assert (report.new, report.edited) == (1, 0)
    assert document(report)["data"] == {"type": "url", "value": f"blob:{NAME}"}


def test_a_message_that_was_changed_since_keeps_its_change(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / f"{SID}.jsonl", session(f"{ELSEWHERE}/t1.txt"))
    store = store_of(take(path, root))
    conversation = load(store, "main")
    conversation.splice(2, 3, [Entry(2, Message.user("changed"))])
    save(store, "main", conversation)
    put(tmp_path / SID / "tool-results" / "t1.txt", OUTPUT)

    report = take(path, root)

    assert report.edited == 0
    assert main_of(report).entries[2].stored.text == "changed"


def test_an_output_that_is_missing_is_a_notice_of_verify(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / f"{SID}.jsonl", session(f"{ELSEWHERE}/t1.txt"))

    (finding,) = verify(store_of(take(path, root))).findings

    assert (finding.level, finding.kind, finding.where) == ("notice", "missing-output", "main")
    assert f"{ELSEWHERE}/t1.txt" in finding.why
