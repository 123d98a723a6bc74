"""Transcripts of Claude Code, to measure imports with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from benchmarks.texts import FRAGMENTS, STRIDE, dumped, fragments
from benchmarks.transcripts import MARK, START_MS, STEP_MS, TURNS, iso, picture

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    Record = dict[str, object]

CWD: Final = "/home/dev/agentmem"
SESSION: Final = "0badc0de-0000-4000-8000-000000000001"
NAME: Final = f"projects/-home-dev-agentmem/{SESSION}.jsonl"
ROUND: Final = MARK.decode()
TIME: Final = b"~time~"
UUID: Final = b"~uuid~"
PARENT: Final = b'"~parent~"'

LONG_EVERY: Final = 8
"""Of so many turns one reads a long file."""

COMPACT_EVERY: Final = 128
"""Turns from one compaction to the next."""


def make_claude(folder: Path, size: int, dice: random.Random) -> dict[str, str | int]:
    """Write a transcript of about *size* bytes below *folder*, and return what it holds."""
    texts = [_texts(dice, length) for length in (200, 1_500, 12_000)]
    turns = [[dumped(record) for record in _turn(number, texts)] for number in range(TURNS)]
    return _write(folder / NAME, turns, size)


def make_claude_image(folder: Path, characters: int, dice: random.Random) -> dict[str, str | int]:
    """Write a transcript of 11 lines of which one holds an image of *characters* of base64."""
    texts = [_texts(dice, length) for length in (200, 1_500, 12_000)]
    image = picture(characters, dice)
    (folder / "image.b64").write_text(image, encoding="ascii")
    source = {"type": "base64", "media_type": "image/png", "data": image}
    shown = _user([_text("[Image #1] what is this?"), {"type": "image", "source": source}])
    records = list(_turn(1, texts))
    lines = [dumped(shown), *(dumped(record) for record in records[-10:])]
    return {**_write(folder / NAME, [lines], 1), "base64": "image.b64"}


def _write(path: Path, turns: list[list[bytes]], size: int) -> dict[str, str | int]:
    """Write whole turns, over and over, until *size* bytes are reached."""
    path.parent.mkdir(parents=True)
    parent = b"null"
    written = records = count = 0
    with path.open("wb") as stream:
        while written < size:
            mark = b"_%d" % (count // len(turns))
            for line in turns[count % len(turns)]:
                records += 1
                uuid = b"%08x-0000-4000-8000-%012x" % (records * 2_654_435_761 % (1 << 32), records)
                filled = line.replace(MARK, mark).replace(UUID, uuid, 1)
                filled = filled.replace(TIME, iso(START_MS + records * STEP_MS).encode())
                if PARENT in filled:
                    filled = filled.replace(PARENT, parent, 1)
                    parent = b'"%b"' % uuid
                written += stream.write(filled + b"\n")
            count += 1
    return {"transcript": NAME, "bytes": written, "lines": records, "turns": count}


def _texts(dice: random.Random, size: int) -> list[str]:
    return [json.loads(b'"%b"' % text) for text in fragments(dice, size)]


def _turn(number: int, texts: list[list[str]]) -> Iterator[Record]:
    """Yield the records of a turn: a prompt, three replies, their tools' results, and the rest."""
    short, plain, long = texts
    at = number * STRIDE % FRAGMENTS
    read = long[at] if number % LONG_EVERY == 0 else plain[at]
    if number % COMPACT_EVERY == COMPACT_EVERY - 1:
        yield from _compaction(plain[at - 9])
    yield _snapshot(number)
    yield _user(short[at])
    yield _tree("attachment", attachment={"type": "todo_reminder", "content": [], "itemCount": 0})
    reply = f"msg_a{number:05x}{ROUND}"
    first, second, third = (f"toolu_{letter}{number:05x}{ROUND}" for letter in "abc")
    thought: Record = {"type": "thinking", "thinking": short[at - 1], "signature": f"{at:08x}" * 30}
    yield _assistant(reply, thought, output=1)
    yield _assistant(reply, _text(short[at - 2]), output=64)
    path = f"{CWD}/src/part_{number}.py"
    yield _assistant(reply, _call(first, "Read", file_path=path), output=180, stop="tool_use")
    for hook in ("PreToolUse", "PostToolUse"):
        yield _progress(first, {"type": "hook_progress", "hookEvent": hook, "command": "lint"})
    file = {"filePath": path, "content": read, "numLines": 40, "startLine": 1, "totalLines": 40}
    yield _result(first, read, {"type": "text", "file": file})
    reply = f"msg_b{number:05x}{ROUND}"
    change: Record = {"file_path": path, "old_string": short[at - 3], "new_string": short[at - 4]}
    yield _assistant(reply, _call(second, "Edit", **change), output=1)
    command = _call(third, "Bash", command="python -m pytest -q", description="Run the tests")
    yield _assistant(reply, command, output=240, stop="tool_use")
    yield _snapshot(number, update=True)
    hunk = {"oldStart": 1, "oldLines": 4, "newStart": 1, "newLines": 4, "lines": [short[at - 5]]}
    yield _result(second, "The file was changed.", {**change, "structuredPatch": [hunk]})
    for seconds in range(1, 4):
        yield _progress(
            third, {"type": "bash_progress", "output": "", "elapsedTimeSeconds": seconds}
        )
    ended = {"stdout": plain[at - 6], "stderr": "", "interrupted": False, "isImage": False}
    failed = number % 5 == 0
    mirrored = f"Error: {plain[at - 6]}" if failed else ended
    yield _result(third, plain[at - 6], mirrored, is_error=failed)
    if number % 16 == 0:
        yield _loose("queue-operation", operation="enqueue", content=short[at - 7])
        yield _loose("queue-operation", operation="dequeue")
    yield _assistant(f"msg_c{number:05x}{ROUND}", _text(plain[at - 8]), output=400, stop="end_turn")
    yield _tree("system", subtype="turn_duration", durationMs=31_000 + number, isMeta=False)
    if number % 32 == 0:
        yield {"type": "ai-title", "aiTitle": short[at][:40], "sessionId": SESSION}


def _tree(kind: str, **fields: object) -> Record:
    record: Record = {"parentUuid": PARENT[1:-1].decode(), "isSidechain": False}
    record |= {"userType": "external", "cwd": CWD, "sessionId": SESSION, "version": "2.1.144"}
    return record | {
        "gitBranch": "main",
        "type": kind,
        **fields,
        "uuid": UUID.decode(),
        "timestamp": TIME.decode(),
    }


def _loose(kind: str, **fields: object) -> Record:
    return {"type": kind, "timestamp": TIME.decode(), "sessionId": SESSION, **fields}


def _user(content: object, **fields: object) -> Record:
    return _tree("user", message={"role": "user", "content": content}, **fields)


def _text(text: str) -> Record:
    return {"type": "text", "text": text}


def _call(call: str, name: str, **given: object) -> Record:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def _assistant(reply: str, block: Record, *, output: int, stop: str | None = None) -> Record:
    usage = {
        "input_tokens": 4,
        "cache_creation_input_tokens": 512,
        "cache_read_input_tokens": 40_960,
        "cache_creation": {"ephemeral_5m_input_tokens": 512, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    }
    message = {
        "model": "claude-opus-4-5-20251101",
        "id": reply,
        "type": "message",
        "role": "assistant",
        "content": [block],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }
    return _tree("assistant", message=message, requestId=f"req_{reply[4:]}")


def _result(call: str, text: str, mirrored: object, *, is_error: bool = False) -> Record:
    block: Record = {"tool_use_id": call, "type": "tool_result", "content": text}
    if is_error:
        block["is_error"] = True
    return _user([block], toolUseResult=mirrored)


def _progress(call: str, data: Record) -> Record:
    return _tree("progress", data=data, toolUseID=f"run_{call}", parentToolUseID=call)


def _snapshot(number: int, *, update: bool = False) -> Record:
    files = {
        f"src/part_{each}.py": {"backupFileName": f"{each:016x}@v2", "version": 2}
        for each in range(number % 6)
    }
    snapshot = {"messageId": SESSION, "trackedFileBackups": files, "timestamp": TIME.decode()}
    record: Record = {"type": "file-history-snapshot", "messageId": SESSION, "snapshot": snapshot}
    return record | {"isSnapshotUpdate": update}


def _compaction(summary: str) -> Iterator[Record]:
    told = {"trigger": "auto", "preTokens": 155_000, "postTokens": 9_000}
    yield _tree("system", subtype="compact_boundary", content="Compacted", compactMetadata=told)
    yield _user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
