"""Rollouts of Codex, to measure imports with."""

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
THREAD: Final = "0badc0de-0000-7000-8000-000000000002"
NAME: Final = f"sessions/2026/02/02/rollout-2026-02-02T02-40-00-{THREAD}.jsonl"
ROUND: Final = MARK.decode()
TIME: Final = b"~time~"

LONG_EVERY: Final = 8
"""Of so many turns one reads a long file."""

COMPACT_EVERY: Final = 128
"""Turns from one compaction to the next."""


def make_codex(folder: Path, size: int, dice: random.Random) -> dict[str, str | int]:
    """Write a rollout of about *size* bytes below *folder*, and return what it holds."""
    texts = [_texts(dice, length) for length in (200, 1_500, 12_000)]
    sealed = [f"gAAAAAB{dice.getrandbits(6_000):01500x}==" for _ in range(TURNS)]
    turns = [
        [dumped(record) for record in _turn(number, texts, sealed[number])]
        for number in range(TURNS)
    ]
    return _write(folder / NAME, turns, size)


def make_codex_image(folder: Path, characters: int, dice: random.Random) -> dict[str, str | int]:
    """Write a rollout of 11 lines of which one holds an image of *characters* of base64."""
    texts = [_texts(dice, length) for length in (200, 1_500, 12_000)]
    image = picture(characters, dice)
    (folder / "image.b64").write_text(image, encoding="ascii")
    shown = {"type": "input_image", "image_url": f"data:image/png;base64,{image}"}
    asked: Record = {"type": "message", "role": "user"}
    asked["content"] = [{"type": "input_text", "text": "What is this?"}, shown]
    records = list(_turn(1, texts, "gAAAAAB=="))
    lines = [dumped(_item(asked)), *(dumped(record) for record in records[-9:])]
    return {**_write(folder / NAME, [lines], 1), "base64": "image.b64"}


def _write(path: Path, turns: list[list[bytes]], size: int) -> dict[str, str | int]:
    """Write the head and whole turns, over and over, until *size* bytes are reached."""
    path.parent.mkdir(parents=True)
    count = 0
    records = 1
    with path.open("wb") as stream:
        written = stream.write(dumped(_head()).replace(TIME, iso(START_MS).encode()) + b"\n")
        while written < size or not count:
            mark = b"_%d" % (count // len(turns))
            for line in turns[count % len(turns)]:
                records += 1
                time = iso(START_MS + records * STEP_MS).encode()
                written += stream.write(line.replace(MARK, mark).replace(TIME, time, 1) + b"\n")
            count += 1
    return {"transcript": NAME, "bytes": written, "lines": records, "turns": count}


def _texts(dice: random.Random, size: int) -> list[str]:
    return [json.loads(b'"%b"' % text) for text in fragments(dice, size)]


def _turn(number: int, texts: list[list[str]], sealed: str) -> Iterator[Record]:
    """Yield the lines of a turn: a prompt, two calls with their results, the replies, events."""
    short, plain, long = texts
    at = number * STRIDE % FRAGMENTS
    turn = f"turn_{number:05x}{ROUND}"
    read = long[at] if number % LONG_EVERY == 0 else plain[at]
    yield _event("task_started", turn_id=turn, started_at=START_MS // 1_000)
    yield _context(turn)
    yield _message("user", "input_text", short[at])
    yield _event("user_message", message=short[at], images=[], local_images=[], text_elements=[])
    yield from _reasoning(short[at - 1], sealed)
    yield _message("assistant", "output_text", short[at - 2], phase="commentary")
    yield _event("agent_message", message=short[at - 2], phase="commentary")
    yield from _command(f"call_a{number:05x}{ROUND}", turn, f"cat src/part_{number}.py", read)
    yield _tokens(number)
    yield from _reasoning(short[at - 3], sealed[::-1])
    yield from _patch(f"call_b{number:05x}{ROUND}", turn, short[at - 4], short[at - 5])
    yield _tokens(number + 1)
    if number % 16 == 0:
        action = {"type": "search", "query": short[at - 6][:60]}
        yield _item({"type": "web_search_call", "status": "completed", "action": action})
    yield _message("assistant", "output_text", plain[at - 7], phase="final_answer")
    yield _event("agent_message", message=plain[at - 7], phase="final_answer")
    yield _tokens(number + 2)
    yield _event("task_complete", turn_id=turn, last_agent_message=plain[at - 7])
    if number % 100 == 99:  # noqa: PLR2004
        yield _event("thread_rolled_back", num_turns=1)
    if number % COMPACT_EVERY == COMPACT_EVERY - 1:
        kept = [_message("user", "input_text", each)["payload"] for each in plain[:20]]
        yield _line("compacted", message=plain[at - 8], replacement_history=kept)
        yield _event("context_compacted")


def _head() -> Record:
    return _line(
        "session_meta",
        id=THREAD,
        timestamp=TIME.decode(),
        cwd=CWD,
        originator="codex-tui",
        cli_version="0.142.5",
        source="cli",
        model_provider="openai",
        git={"commit_hash": "0" * 40, "branch": "main"},
    )


def _line(kind: str, **payload: object) -> Record:
    return {"timestamp": TIME.decode(), "type": kind, "payload": payload}


def _item(payload: Record) -> Record:
    return _line("response_item", **payload)


def _event(kind: str, **payload: object) -> Record:
    return _line("event_msg", type=kind, **payload)


def _message(role: str, part: str, text: str, **fields: object) -> Record:
    content = [{"type": part, "text": text}]
    return _item({"type": "message", "role": role, "content": content, **fields})


def _context(turn: str) -> Record:
    return _line(
        "turn_context",
        turn_id=turn,
        cwd=CWD,
        approval_policy="on-request",
        sandbox_policy={"type": "workspace-write", "network_access": False},
        model="gpt-5.5",
        effort="medium",
        summary="auto",
        truncation_policy={"mode": "tokens", "limit": 10_000},
    )


def _reasoning(text: str, sealed: str) -> Iterator[Record]:
    summary = [{"type": "summary_text", "text": text}]
    thought: Record = {"type": "reasoning", "summary": summary, "content": None}
    yield _item(thought | {"encrypted_content": sealed})
    yield _event("agent_reasoning", text=text)


def _command(call: str, turn: str, command: str, told: str) -> Iterator[Record]:
    given = dumped({"cmd": command, "workdir": CWD, "yield_time_ms": 1_000}).decode()
    asked: Record = {"type": "function_call", "name": "exec_command", "arguments": given}
    yield _item(asked | {"call_id": call})
    ended = {"exit_code": 0, "duration": {"secs": 0, "nanos": 31_200_000}, "cwd": CWD}
    yield _event("exec_command_end", call_id=call, turn_id=turn, stdout=told[:10_000], **ended)
    output = f"Chunk ID: 0a1b2c\nProcess exited with code 0\nOutput:\n{told}"
    yield _item({"type": "function_call_output", "call_id": call, "output": output})


def _patch(call: str, turn: str, old: str, new: str) -> Iterator[Record]:
    removed, added = old.replace("\n", "\n-"), new.replace("\n", "\n+")
    patch = f"*** Begin Patch\n*** Update File: a.py\n@@\n-{removed}\n+{added}\n*** End Patch\n"
    asked: Record = {"type": "custom_tool_call", "status": "completed", "call_id": call}
    yield _item(asked | {"name": "apply_patch", "input": patch})
    changes = {f"{CWD}/a.py": {"type": "update", "unified_diff": patch, "move_path": None}}
    ended = {"stdout": "Updated a.py\n", "stderr": "", "success": True, "changes": changes}
    yield _event("patch_apply_end", call_id=call, turn_id=turn, **ended)
    told = dumped({"output": "Updated a.py\n", "metadata": {"exit_code": 0}}).decode()
    yield _item({"type": "custom_tool_call_output", "call_id": call, "output": told})


def _tokens(number: int) -> Record:
    usage = {
        "input_tokens": 8_000 + number,
        "cached_input_tokens": 6_144,
        "output_tokens": 90,
        "reasoning_output_tokens": 40,
        "total_tokens": 8_090 + number,
    }
    info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258_400}
    window = {"used_percent": 3.0, "window_minutes": 300, "resets_at": START_MS // 1_000}
    limits = {"limit_id": "codex", "primary": window, "secondary": None, "plan_type": None}
    return _event("token_count", info=info, rate_limits=limits)
