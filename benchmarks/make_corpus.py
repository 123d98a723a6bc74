"""Make synthetic sessions and transcripts to measure with: the same bytes on every machine.

    python -m benchmarks.make_corpus FOLDER KIND [--sessions N] [--megabytes N]
                                       [--records N] [--source FILE]

KIND is one of

    listed   N small sessions, each with the meta.json that agentmem writes
    bare     N sessions without a meta.json, one log of some megabytes each
    long     one session named "long": a log of 2 KB lines, so many megabytes or records
    pi       one transcript of pi, version 3; from the messages of --source where it is given

FOLDER is made whole or not at all, and left as it is when it holds that corpus
already; its ``corpus.json`` says what it holds. Logs are of the format
rig-session/4 as DESIGN.md tells it: dense stamps, every tool call answered, at
rest at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from benchmarks.texts import FRAGMENTS, STRIDE, WORDS, dumped, fragments
from benchmarks.transcripts import make_pi

if TYPE_CHECKING:
    from collections.abc import Iterator

    Facts = dict[str, str | int]

VERSION: Final = 2
"""Raise it when the bytes of a corpus change: cached ones are made again."""

SEED: Final = 20260207
START_MS: Final = 1_770_000_000_000
"""When the first session began, milliseconds UTC; files get such times too."""

STEP_MS: Final = 1_500
"""From one record to the next."""

LINE_BYTES: Final = 2_000
"""What a line of a log is long, about."""

OVERHEAD_BYTES: Final = 190
"""What of a line is not its text, about."""

PUSHES_FROM: Final = 3
"""The ``seq`` of a log's first message, after its header and two saved values."""

FLUSH_LINES: Final = 512
MODEL: Final = "anthropic/claude-opus-4-5"


def main() -> None:
    """Make the corpus that the command line asks for, unless it is there."""
    parser = argparse.ArgumentParser(description="Make a synthetic corpus.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("kind", choices=["listed", "bare", "long", "pi"])
    parser.add_argument("--sessions", type=int, default=0)
    parser.add_argument("--megabytes", type=int, default=0)
    parser.add_argument("--records", type=int, default=0)
    parser.add_argument("--source", type=Path)
    options = parser.parse_args()
    # Why: sessions are private, so agentmem's own modes are the ones to measure with.
    os.umask(0o077)
    wanted = _recipe(options)
    if _holds(options.folder, wanted):
        return
    part = options.folder.with_name(options.folder.name + ".part")
    for stale in (part, options.folder):
        if stale.exists():
            shutil.rmtree(stale)
    (part / "root").mkdir(parents=True)
    facts = _make(part, options)
    (part / "corpus.json").write_bytes(dumped({"recipe": wanted, "facts": facts}))
    part.rename(options.folder)


def _recipe(options: argparse.Namespace) -> Facts:
    recipe: Facts = {
        "version": VERSION,
        "kind": options.kind,
        "sessions": options.sessions,
        "megabytes": options.megabytes,
        "records": options.records,
    }
    if options.source is not None:
        status = options.source.stat()
        recipe["source"] = f"{options.source.resolve()} {status.st_size} {status.st_mtime_ns}"
    return recipe


def _holds(folder: Path, recipe: Facts) -> bool:
    try:
        found = json.loads((folder / "corpus.json").read_bytes())
    except (FileNotFoundError, ValueError):
        return False
    return isinstance(found, dict) and found.get("recipe") == recipe


def _make(folder: Path, options: argparse.Namespace) -> Facts:
    dice = random.Random(SEED)
    size = options.megabytes * 1_000_000
    match options.kind:
        case "listed":
            return _make_listed(folder / "root", options.sessions, dice)
        case "bare":
            return _make_bare(folder / "root", options.sessions, size, dice)
        case "long":
            return _make_long(folder / "root", size, options.records, dice)
        case _:
            return make_pi(folder / "transcript.jsonl", size, options.source, dice)


# Sessions


def _make_listed(root: Path, sessions: int, dice: random.Random) -> Facts:
    texts = fragments(dice, 300)
    messages = 0
    for number in range(sessions):
        pushes = 4 * (1 + number % 3)
        session = _Session(root / _session_name(number), number)
        session.write(texts, records=pushes)
        session.write_meta()
        messages += pushes
    return {"sessions": sessions, "messages": messages}


def _make_bare(root: Path, sessions: int, size: int, dice: random.Random) -> Facts:
    texts = fragments(dice, LINE_BYTES - OVERHEAD_BYTES)
    for number in range(sessions):
        _Session(root / _session_name(number), number).write(texts, size=size)
    return {"sessions": sessions}


def _make_long(root: Path, size: int, records: int, dice: random.Random) -> Facts:
    session = _Session(root / "long", 0)
    session.write(fragments(dice, LINE_BYTES - OVERHEAD_BYTES), size=size, records=records)
    session.write_meta()
    log = root / "long" / "logs" / "main.jsonl"
    return {
        "session": "long",
        "log": str(log.relative_to(root.parent)),
        "bytes": log.stat().st_size,
        "messages": session.messages,
        "last_n": session.next_n - 1,
    }


def _session_name(number: int) -> str:
    return f"{WORDS[number % 7 + 28]}-{WORDS[number // 7 % 11 + 40]}-{number:05d}"


class _Session:
    """One session directory with an agent named main and the session's own log."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number
        self._start_ms = START_MS + number * 60_000
        self.next_n = 0
        self.messages = 0

    def write(self, texts: list[bytes], *, size: int = 0, records: int = 0) -> None:
        """Write both logs: whole turns until *size* bytes or *records* messages are reached."""
        (self._folder / "logs").mkdir(parents=True)
        (self._folder / "files").mkdir()
        main = self._folder / "logs" / "main.jsonl"
        own = self._folder / "logs" / "session.jsonl"
        with main.open("wb") as stream:
            stream.write(self._header("main"))
            stream.write(self._state(1, "rig::model", MODEL))
            stream.write(self._state(2, "rig::title", self._title()))
            own.write_bytes(self._header("session") + self._state(1, "rig::current_agent", "main"))
            self._write_pushes(stream, texts, size, records)
        (self._folder / ".rig-memory.lock").touch()
        for path in (own, main, self._folder / ".rig-memory.lock"):
            _set_time(path, self._updated_ms())

    def write_meta(self) -> None:
        """Write the meta.json that agentmem would have written after the last change."""
        path = self._folder / "files" / "meta.json"
        meta = {
            "title": self._title(),
            "labels": {"team": WORDS[self._number % 20 + 24]},
            "updated": self._updated_ms(),
            "model": MODEL,
            "messages": self.messages,
            "listed": {
                "cwd": f"/home/dev/{WORDS[self._number % 30 + 30]}",
                "agentmem": {"logs": self._sizes(), "started": self._start_ms, "damaged": 0},
            },
        }
        path.write_bytes(dumped(meta))
        _set_time(path, self._updated_ms() + 1)

    def _sizes(self) -> dict[str, int]:
        return {log.stem: log.stat().st_size for log in (self._folder / "logs").iterdir()}

    def _title(self) -> str:
        chosen = [WORDS[(self._number * 7 + place * 13) % len(WORDS)] for place in range(6)]
        return " ".join(chosen).capitalize()

    def _updated_ms(self) -> int:
        return self._start_ms + (self.next_n - 1) * STEP_MS

    def _take_n(self) -> tuple[int, int]:
        n = self.next_n
        self.next_n += 1
        return n, self._start_ms + n * STEP_MS

    def _header(self, log: str) -> bytes:
        n, t = self._take_n()
        lineage = (1 << 63) + self._number * 1_000_003 + len(log)
        head = f'{{"seq":0,"n":{n},"t":{t},"type":"header","format":"rig-session/4"'
        return f'{head},"log":"{log}","lineage":{lineage}}}\n'.encode()

    def _state(self, seq: int, key: str, value: str) -> bytes:
        n, t = self._take_n()
        head = f'{{"seq":{seq},"n":{n},"t":{t},"type":"state"'
        return f'{head},"key":"{key}","value":"{value}"}}\n'.encode()

    def _write_pushes(self, stream: BinaryIO, texts: list[bytes], size: int, records: int) -> None:
        """Write whole turns of four messages, in blocks of FLUSH_LINES."""
        first_n = self.next_n
        start_ms = self._start_ms
        written = stream.tell()
        count = 0
        block: list[bytes] = []
        while (written < size) if size else (count < records):
            for message in _turn(texts, self._number + count):
                n = first_n + count
                block.append(
                    b'{"seq":%d,"n":%d,"t":%d,"type":"push","entries":[{"message":%b,"id":%d}]}\n'
                    % (count + PUSHES_FROM, n, start_ms + n * STEP_MS, message, count)
                )
                written += len(block[-1])
                count += 1
            if len(block) >= FLUSH_LINES:
                stream.write(b"".join(block))
                block.clear()
        stream.write(b"".join(block))
        self.next_n += count
        self.messages = count


def _turn(texts: list[bytes], number: int) -> Iterator[bytes]:
    """Yield a prompt, a reply that calls a tool, its result, and the reply that ends the turn."""
    asked, said, found, told = (texts[(number + place) * STRIDE % FRAGMENTS] for place in range(4))
    call = b"call_%08x" % number
    yield b'{"role":"user","content":[{"type":"text","text":"%b"}]}' % asked
    yield (
        b'{"role":"assistant","content":[{"type":"text","text":"%b"},{"type":"toolcall","id":"%b",'
        b'"function":{"name":"read","arguments":{"path":"src/part_%d.py","offset":%d}}}],'
        b'"stop":"tooluse"}' % (said, call, number % 97, number)
    )
    yield (
        b'{"role":"user","content":[{"type":"toolresult","call":"%b","name":"read",'
        b'"content":[{"type":"text","text":"%b"}]}]}' % (call, found)
    )
    yield b'{"role":"assistant","content":[{"type":"text","text":"%b"}],"stop":"end"}' % told


def _set_time(path: Path, t_ms: int) -> None:
    os.utime(path, ns=(t_ms * 1_000_000, t_ms * 1_000_000))


if __name__ == "__main__":
    main()
