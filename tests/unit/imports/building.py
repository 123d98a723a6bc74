"""pi transcripts and made-up streams, for the tests of imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.operations.imports.importing import import_source
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.reader import fold_log
from agentmem_cli.session.session import Session
from agentmem_cli.storage.directory import DirStore

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.report import Report
    from agentmem_cli.session.aside import Aside
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.conversation import Conversation

NOW = 1_800_000_000_000
SESSION_ID = "5a0c6f0e-0000-4000-8000-000000000001"
BASE_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z."""


def stamp(second: int) -> str:
    """The source's spelling of a time, in seconds after BASE_MS."""
    minute, rest = divmod(second, 60)
    return f"2026-01-01T00:{minute:02d}:{rest:02d}.000Z"


def header(**more: JSON) -> bytes:
    value: Object = {
        "type": "session",
        "version": 3,
        "id": SESSION_ID,
        "timestamp": stamp(0),
        "cwd": "/home/ada/tides",
    }
    return dumps({**value, **more})


def entry(kind: str, second: int | None, **more: JSON) -> bytes:
    value: Object = {"type": kind}
    if second is not None:
        value["timestamp"] = stamp(second)
    return dumps({**value, **more})


def user(second: int | None, text: JSON, **more: JSON) -> bytes:
    return entry("message", second, **more, message={"role": "user", "content": text})


def reply(second: int, text: str, **more: JSON) -> bytes:
    message: Object = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-opus-4-5",
        "stopReason": "stop",
    }
    return entry("message", second, message={**message, **more})


def lines(*records: bytes) -> bytes:
    return b"".join(record + b"\n" for record in records)


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def take(path: Path, root: Path, *, again: bool = False, keep_source: bool = True) -> Report:
    """Import *path* under *root*."""
    return import_source(path, root, now_ms=NOW, again=again, keep_source=keep_source)


def store_of(report: Report) -> DirStore:
    return DirStore.open(report.path)


def session_of(report: Report) -> Session:
    """The session of a report, read strictly."""
    return Session.read(store_of(report))


def main_of(report: Report) -> Conversation:
    return fold_log(store_of(report), "main").conversation


def texts_of(report: Report, log: str = "main") -> list[str]:
    """The texts of a log's messages, read strictly."""
    return [entry.stored.text for entry in fold_log(store_of(report), log).conversation.entries]


def times_of(report: Report) -> list[int | None]:
    """When the main agent's messages were made, in seconds after BASE_MS."""
    made = [entry.made for entry in main_of(report).entries]
    return [None if t is None else (t - BASE_MS) // 1000 for t in made]


def asides_of(report: Report) -> list[Aside]:
    return list(main_of(report).asides.values())


def tree_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file beneath *folder*: its bytes and modification time."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
