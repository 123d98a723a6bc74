"""Rollouts as they are met: drift, odd times, archives, growth, large images."""

from __future__ import annotations

import base64
import builtins
import gzip
import sys
from typing import TYPE_CHECKING, Final

import pytest

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.imports.adapter import any_ms
from agentmem_cli.operations.imports.folders import import_paths
from agentmem_cli.session.codec import dumps, loads_object
from tests.unit.imports.building import BASE_MS, NOW, lines, main_of, put, store_of, take, texts_of
from tests.unit.imports.codex_building import (
    THREAD,
    answer,
    call,
    event,
    item,
    line,
    meta,
    output,
    prompt,
    rollout,
    said,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentmem_cli.session.codec import JSON

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

RECORDS = (meta(), prompt(1, "Why?"), call(2, "a"), output(3, "a", "x"), answer(4, "So."))


def test_fifty_lines_of_which_none_is_a_message_are_no_session(tmp_path: Path, root: Path) -> None:
    deeper = [dumps({**loads_object(prompt(1, "x")), "payload": {"item": {}}}) for _ in range(50)]
    path = put(tmp_path / "x.jsonl", lines(*deeper))

    with pytest.raises(AgentMemError, match="50 lines, no message recognised"):
        take(path, root)

    assert not root.exists() or not [*root.iterdir()]


def document(*items: JSON, indent: bool = True) -> bytes:
    """A rollout of Codex's first months: one JSON document, written anew with each turn."""
    header: JSON = {"timestamp": "2025-04-17T10:00:00Z", "id": THREAD, "instructions": ""}
    data = dumps({"session": header, "items": [*items]})
    return (
        data.replace(b',"items":[', b',\n"items":[\n').replace(b"{", b"{\n", 1) if indent else data
    )


DOCUMENT: Final[tuple[JSON, ...]] = (
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Why?"}]},
    {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "a"},
    {"type": "function_call_output", "call_id": "a", "output": "x"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]},
)


@pytest.mark.parametrize("indent", [True, False])
def test_a_rollout_that_is_one_document_is_read_item_by_item(
    tmp_path: Path, root: Path, indent: bool
) -> None:
    path = put(tmp_path / "sessions" / "rollout-x.json", document(*DOCUMENT[:2], indent=indent))

    (first,) = import_paths([tmp_path], root, now_ms=NOW)
    put(path, document(*DOCUMENT, 7, indent=indent))
    report = take(path, root)

    assert first.report is not None
    assert first.report.messages == 2
    assert report.session == f"codex-{THREAD}"
    assert texts_of(report) == ["Why?", "", "", "So."]
    assert [flaw.why for flaw in report.unusable] == ["an item that is no object"]
    assert take(path, root).nothing_new


def test_a_new_type_on_any_line_costs_nothing_else(tmp_path: Path, root: Path) -> None:
    strange = dumps({"type": "future_x", "payload": {"k": 1}})
    wanted = texts_of(take(put(tmp_path / "x.jsonl", lines(*RECORDS)), root))

    for place in range(len(RECORDS) + 1):
        records = [*RECORDS[:place], strange, *RECORDS[place:]]
        report = take(put(tmp_path / f"{place}" / "x.jsonl", lines(*records)), root / f"{place}")

        assert texts_of(report) == wanted
        assert report.left == {"future_x": 1}


@pytest.mark.parametrize(
    ("spelling", "wanted"),
    [
        (1777977121, 1777977121000),
        (1777977121000, 1777977121000),
        ("1777977121000", 1777977121000),
        ("2026-05-05T10:32:01+02:00", 1777969921000),
        ("2026-05-05T10:32:01", 1777977121000),
        (None, None),
        ("yesterday", None),
        ({}, None),
        (True, None),
    ],
)
def test_times_are_read_as_they_are_spelled_and_unknown_ones_stay_unknown(
    spelling: JSON, wanted: int | None
) -> None:
    value = {**loads_object(prompt(1, "Hi")), "timestamp": spelling}

    (found,) = said(meta(), dumps(value))

    assert any_ms(spelling) == found.time == wanted


def test_a_rollout_in_which_no_two_times_are_spelled_alike_is_imported(
    tmp_path: Path, root: Path
) -> None:
    spellings: Sequence[JSON] = (BASE_MS, "x", None, BASE_MS // 1000, "9999-01-01T00:00:00Z", 5)
    records = [dumps({**loads_object(prompt(1, "Hi")), "timestamp": each}) for each in spellings]

    report = take(put(tmp_path / "x.jsonl", lines(meta(), *records)), root)

    assert len(main_of(report)) == len(spellings)


def packed(data: bytes) -> bytes:
    return zstd.compress(data)


def test_a_compressed_rollout_is_read_and_its_own_bytes_are_kept(
    tmp_path: Path, root: Path
) -> None:
    data = packed(lines(*RECORDS))
    path = put(tmp_path / "archived_sessions" / f"rollout-{THREAD}.jsonl.zst", data)

    report = take(path, root)

    assert report.session == f"codex-{THREAD}"
    assert texts_of(report) == texts_of(
        take(put(tmp_path / "x.jsonl", lines(*RECORDS)), root / "plain")
    )
    assert store_of(report).read_file(f"plugins/import/{path.name}") == data
    assert take(path, root).nothing_new


def test_frames_behind_one_another_and_a_byte_order_mark_are_unpacked(
    tmp_path: Path, root: Path
) -> None:
    half = lines(*RECORDS[:2])
    data = packed(b"\xef\xbb\xbf" + half) + packed(lines(*RECORDS[2:]))

    report = take(put(tmp_path / "x.jsonl.zst", data), root)

    assert (report.lines, report.messages, report.lost) == (5, 4, 0)


def test_more_than_a_chunk_is_unpacked_in_chunks(tmp_path: Path, root: Path) -> None:
    long = [prompt(n, "x" * 300_000) for n in range(20)]

    report = take(put(tmp_path / "x.jsonl.zst", packed(lines(meta(), *long))), root)

    assert (report.messages, report.lost) == (20, 0)


@pytest.mark.parametrize("cut", ["end", "middle"])
def test_an_archive_that_is_cut_or_damaged_is_read_up_to_there(
    tmp_path: Path, root: Path, cut: str
) -> None:
    first = packed(lines(*RECORDS))
    second = packed(lines(*(prompt(n, f"{n} {n * n}") for n in range(5, 50))))
    bad = second[:-20] if cut == "end" else b"\x28\xb5\x2f\xfd" + b"\xff" * 50

    report = take(put(tmp_path / "x.jsonl.zst", first + bad), root)

    assert report.messages >= 4
    assert any("zstd" in flaw.why for flaw in report.unusable)
    assert report.lost >= 1


@pytest.mark.parametrize("first", [0x50, 0x5F])
def test_frames_that_hold_notes_of_a_tool_are_left_out(
    tmp_path: Path, root: Path, first: int
) -> None:
    note = bytes([first]) + b"\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
    half, rest = lines(*RECORDS[:2]), lines(*RECORDS[2:])
    data = note + packed(half) + note + packed(rest)

    report = take(put(tmp_path / f"rollout-{THREAD}.jsonl.zst", data), root)

    assert (report.session, report.messages, report.lost) == (f"codex-{THREAD}", 4, 0)


def test_what_stands_before_a_damaged_byte_is_read_to_within_a_step(
    tmp_path: Path, root: Path
) -> None:
    words = [prompt(n, f"{n} {'x' * 50}") for n in range(2, 200)]
    checked: dict[int, int] = {zstd.CompressionParameter.checksum_flag: 1}
    data = bytearray(zstd.compress(lines(meta(), *words), options=checked))
    data[-1] ^= 1  # Why: of the checksum, so that all of the text is there.

    report = take(put(tmp_path / "x.jsonl.zst", bytes(data)), root)

    assert report.messages > len(words) - 12
    assert any("zstd" in flaw.why for flaw in report.unusable)


def test_an_archive_that_needs_a_dictionary_is_refused_with_that_reason(
    tmp_path: Path, root: Path
) -> None:
    samples = [prompt(n, f"{n} {'y' * n}") for n in range(400)]
    data = zstd.compress(lines(*RECORDS), zstd_dict=zstd.train_dict(samples, 4_096))

    with pytest.raises(AgentMemError, match=r"zstd: .*[Dd]ictionary"):
        take(put(tmp_path / "x.jsonl.zst", data), root)


def test_without_the_library_the_error_names_the_extra(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / "x.jsonl.zst", packed(lines(*RECORDS)))
    imported = builtins.__import__

    def refuse(name: str, *args: object, **more: object) -> object:
        if name in ("backports", "compression"):
            raise ImportError(name)
        return imported(name, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)

    with pytest.raises(AgentMemError, match="zstd") as caught:
        take(path, root)

    assert "agentmem-cli[zstd]" in str(caught.value.hint)


def test_other_compressions_are_no_transcripts(tmp_path: Path, root: Path) -> None:
    path = put(tmp_path / "x.jsonl.gz", gzip.compress(lines(*RECORDS)))

    with pytest.raises(AgentMemError):
        take(path, root)


GROWING = (
    meta(),
    event(1, "user_message", message="Why?"),
    prompt(1, "Why?"),
    item(2, "reasoning", summary=[], encrypted_content="g"),
    event(2, "agent_message", message="I look."),
    answer(2, "I look."),
    call(3, "a"),
    event(3, "token_count", info={"last_token_usage": {"output_tokens": 3}}),
    call(3, "b"),
    output(4, "a", "1"),
    output(4, "b", "2"),
    line("turn_context", 5, {"cwd": "/x", "model": "gpt-5"}),
    event(6, "user_message", message="Only here"),
    answer(7, "So."),
    event(7, "agent_message", message="So."),
    event(8, "task_complete"),
    prompt(9, "Stop."),
    call(9, "c"),
    event(10, "turn_aborted"),
)


def test_a_rollout_imported_after_every_line_is_the_one_imported_at_once(
    tmp_path: Path, root: Path
) -> None:
    whole = take(put(tmp_path / "whole" / "x.jsonl", lines(*GROWING)), root / "whole")
    path = put(tmp_path / "x.jsonl", lines(*GROWING[:2]))
    report = take(path, root)
    for record in GROWING[2:]:
        with path.open("ab") as growing:
            growing.write(record + b"\n")
        report = take(path, root)

    grown = [entry.stored.value for entry in main_of(report).entries]
    assert grown == [entry.stored.value for entry in main_of(whole).entries]
    assert take(path, root).nothing_new


def test_a_large_image_is_one_blob_however_often_it_is_told(tmp_path: Path, root: Path) -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4096
    url = "data:image/png;base64," + base64.b64encode(picture).decode()
    image: JSON = {"type": "input_image", "image_url": url}
    asked = item(1, "message", role="user", content=[image, {"type": "input_text", "text": "?"}])
    heard = event(1, "user_message", message="?", images=[url])
    drawn = item(2, "image_generation_call", result=base64.b64encode(picture).decode())
    shown = output(4, "a", [image])

    report = take(
        put(
            tmp_path / "x.jsonl",
            lines(meta(), *[asked, heard, drawn, call(3, "a"), shown] * 5),
        ),
        root,
    )

    store = store_of(report)
    blobs = [name for name in store.files() if name.startswith("blobs/")]
    assert [store.read_file(name) for name in blobs] == [picture]
    assert store.read_log("main").count(b"blob:") == 15
    assert len(store.read_log("main")) < 20_000


def test_a_third_partys_reasoning_and_a_line_without_ordinal_are_read(
    tmp_path: Path, root: Path
) -> None:
    thought = item(2, "reasoning", summary=[], content=[{"type": "text", "text": "Hm."}])
    records = [dumps({"ordinal": n, **loads_object(each)}) for n, each in enumerate(RECORDS)]
    path = rollout(tmp_path, THREAD, *records, thought, prompt(9, "And?"))

    report = take(path, root)

    assert report.messages == 5
    assert (report.lost, report.mended, report.left) == (0, 0, {})
