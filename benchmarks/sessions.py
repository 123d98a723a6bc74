"""Sessions as agentmem leaves them, to measure with: logs of rig-session/4 and their meta."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, BinaryIO, Final

from benchmarks.texts import FRAGMENTS, STRIDE, WORDS, dumped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_MS: Final = 1_770_000_000_000
"""When the first session began, milliseconds UTC; files get such times too."""

STEP_MS: Final = 1_500
"""From one record to the next."""

PUSHES_FROM: Final = 3
"""The ``seq`` of a log's first message, after its header and two saved values."""

FLUSH_LINES: Final = 512
MODEL: Final = "anthropic/claude-opus-4-5"


class Session:
    """One session directory: an agent named main, others where asked, the session's own log."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._number = number
        self._start_ms = START_MS + number * 60_000
        self.next_n = 0
        self.messages = 0

    def write(
        self, texts: list[bytes], *, size: int = 0, records: int = 0, own: bool = True
    ) -> None:
        """Write the logs: whole turns until *size* bytes or *records* messages are reached.

        *own* is whether there is a log of the session's own beside main's.
        """
        (self._folder / "logs").mkdir(parents=True)
        (self._folder / "files").mkdir()
        main = self._folder / "logs" / "main.jsonl"
        with main.open("wb") as stream:
            stream.write(self._header("main"))
            stream.write(self._state(1, "rig::model", MODEL))
            stream.write(self._state(2, "rig::title", self._title()))
            if own:
                header = self._header("session")
                current = self._state(1, "rig::current_agent", "main")
                (self._folder / "logs" / "session.jsonl").write_bytes(header + current)
            self._write_pushes(stream, texts, size, records)
        self._set_times()

    def write_agent(self, name: str, texts: list[bytes], *, records: int) -> None:
        """Write the log of an agent that main called, numbered after everything before it."""
        asked = self.messages
        with (self._folder / "logs" / f"{name}.jsonl").open("wb") as stream:
            stream.write(self._header(name, parent="main"))
            stream.write(self._state(1, "rig::model", MODEL))
            stream.write(self._state(2, "rig::title", self._title()))
            self._write_pushes(stream, texts, 0, records)
        self.messages = asked
        self._set_times()

    def write_meta(self, source: str | None = None) -> None:
        """Write the meta.json that agentmem writes after a change; *source*: what was imported."""
        path = self._folder / "files" / "meta.json"
        labels = {"labels": {"team": WORDS[self._number % 20 + 24]}} if source is None else {}
        meta = {
            "title": self._title(),
            **labels,
            "updated": self._updated_ms(),
            "model": MODEL,
            "messages": self.messages,
            "listed": {
                **({} if source is None else {"source": source}),
                "cwd": f"/home/dev/{WORDS[self._number % 30 + 30]}",
                "agentmem": {"logs": self._sizes(), "started": self._start_ms, "damaged": 0},
            },
        }
        path.write_bytes(dumped(meta))
        set_time(path, self._updated_ms() + 1)

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

    def _set_times(self) -> None:
        lock = self._folder / ".rig-memory.lock"
        lock.touch()
        for path in (*(self._folder / "logs").iterdir(), lock):
            set_time(path, self._updated_ms())

    def _header(self, log: str, parent: str = "") -> bytes:
        n, t = self._take_n()
        lineage = (1 << 63) + self._number * 1_000_003 + len(log)
        called = f',"parent":"{parent}"' if parent else ""
        head = f'{{"seq":0,"n":{n},"t":{t},"type":"header","format":"rig-session/4"'
        return f'{head},"log":"{log}","lineage":{lineage}{called}}}\n'.encode()

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


def set_time(path: Path, t_ms: int) -> None:
    os.utime(path, ns=(t_ms * 1_000_000, t_ms * 1_000_000))
