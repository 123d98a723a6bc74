"""A transcript of pi, to measure its import with, and what all transcripts share."""

from __future__ import annotations

import base64
import json
import uuid
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from benchmarks.texts import FRAGMENTS, STRIDE, dumped, fragments

if TYPE_CHECKING:
    import random
    from pathlib import Path

START_MS: Final = 1_770_000_000_000
"""When the session began, milliseconds UTC."""

STEP_MS: Final = 1_500
"""From one entry to the next."""

TURNS: Final = 512
"""Different turns in a made-up transcript."""

MARK: Final = b"~round~"
"""Stands at the end of a call's id, where each round over the messages puts its number."""


def make_pi(
    path: Path, size: int, source: Path | None, dice: random.Random
) -> dict[str, str | int]:
    """Write a transcript of pi (version 3) of about *size* bytes to *path*.

    Args:
        path: The file to write.
        size: Bytes to reach.
        source: A transcript of pi whose messages are repeated until then, every
            entry and every call with an id of its own; None: made-up ones.
        dice: Where ids and made-up texts come from.

    Returns:
        What the file holds.
    """
    messages = _pi_messages(dice) if source is None else _pi_messages_of(source)
    if not messages:
        raise SystemExit(f"{source}: no message of pi in it")
    session = uuid.UUID(int=dice.getrandbits(128), version=4)
    written = count = 0
    parent = b"null"
    t = START_MS
    with path.open("wb") as stream:
        head = f'{{"type":"session","version":3,"id":"{session}","timestamp":"{iso(t)}"'
        written += stream.write(f'{head},"cwd":"/home/dev/agentmem"}}\n'.encode())
        while written < size:
            mark = b"_%d" % (count // len(messages))
            entry = b'"%08x"' % (count * 2_654_435_761 % (1 << 32))
            t += STEP_MS
            message = messages[count % len(messages)].replace(MARK, mark)
            written += stream.write(
                b'{"type":"message","id":%b,"parentId":%b,"timestamp":"%b","message":%b}\n'
                % (entry, parent, iso(t).encode(), message)
            )
            parent = entry
            count += 1
    return {"transcript": path.name, "bytes": written, "messages": count}


def _pi_messages_of(source: Path) -> list[bytes]:
    """Return the messages of a real transcript, their calls' ids ending in MARK."""
    found: list[bytes] = []
    with source.open("rb") as stream:
        for line in stream:
            entry = json.loads(line)
            message = entry.get("message") if entry.get("type") == "message" else None
            if not isinstance(message, dict):
                continue
            if "toolCallId" in message:
                message["toolCallId"] += MARK.decode()
            content = message.get("content")
            for part in content if isinstance(content, list) else []:
                if part.get("type") == "toolCall":
                    part["id"] += MARK.decode()
            found.append(dumped(message))
    return found


def _pi_messages(dice: random.Random) -> list[bytes]:
    """Return TURNS turns of four messages; a result in sixteen is a long one."""
    short, plain, long = (fragments(dice, size) for size in (200, 1_500, 12_000))
    found: list[bytes] = []
    for number in range(TURNS):
        at = number * STRIDE % FRAGMENTS
        result = long[at] if number % 16 == 0 else plain[at]
        call = b"call_%06x%b" % (number, MARK)
        shared = (
            b'"api":"anthropic-messages","provider":"anthropic","model":"claude-opus-4-5",'
            b'"usage":{"input":%d,"output":%d,"cacheRead":0,"cacheWrite":0,"totalTokens":%d,'
            b'"cost":{"input":0.0138,"output":0.0035,"cacheRead":0,"cacheWrite":0,'
            b'"total":0.0173}},"timestamp":%d' % (number, at, number + at, START_MS + number)
        )
        found += [
            b'{"role":"user","content":[{"type":"text","text":"%b"}],"timestamp":%d}'
            % (short[at], START_MS + number),
            b'{"role":"assistant","content":[{"type":"thinking","thinking":"%b",'
            b'"thinkingSignature":"%064x"},{"type":"toolCall","id":"%b","name":"read",'
            b'"arguments":{"path":"src/part_%d.py"}}],"stopReason":"toolUse",%b}'
            % (short[at - 1], dice.getrandbits(256), call, number, shared),
            b'{"role":"toolResult","toolCallId":"%b","toolName":"read","content":[{"type":"text",'
            b'"text":"%b"}],"isError":false,"timestamp":%d}' % (call, result, START_MS + number),
            b'{"role":"assistant","content":[{"type":"text","text":"%b"}],"stopReason":"stop",%b}'
            % (plain[at - 1], shared),
        ]
    return found


def iso(t_ms: int) -> str:
    """Write milliseconds UTC as these tools do; a date is worked out once a day, so cheaply."""
    days, rest = divmod(t_ms, 86_400_000)
    if days not in _DATES:
        _DATES[days] = (date(1970, 1, 1) + timedelta(days=days)).isoformat()
    seconds, milliseconds = divmod(rest, 1_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{_DATES[days]}T{hour:02d}:{minute:02d}:{second:02d}.{milliseconds:03d}Z"


def picture(characters: int, dice: random.Random) -> str:
    """Return so many *characters* of base64: a PNG by its first bytes, noise otherwise."""
    data = b"\x89PNG\r\n\x1a\n" + dice.randbytes(characters // 4 * 3 - 8)
    return base64.b64encode(data).decode()


_DATES: dict[int, str] = {}
