"""Sessions with tools for the tests of compact, clear, undo, redo, restore, splice and diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.session.reader import history, load
from agentmem_cli.storage.directory import DirStore
from tests.cli.running import ok

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.aside import Aside
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.message import Message
    from tests.cli.running import Done

LONG = "a line that says much\n" * 100

Entries = list[tuple[int, int | None, bytes]]


def start(name: str, *messages: Message) -> None:
    """Start a session with *messages*, one append each."""
    ok("new", name)
    for message in messages:
        add(name, message)


def add(name: str, *messages: Message) -> Done:
    """Append *messages* as one change."""
    lines = b"".join(message.raw + b"\n" for message in messages)
    return ok("append", name, stdin=lines)


def conversation(root: Path, name: str, log: str = "main") -> Conversation:
    return load(DirStore.open(root / name), log)


def entries(root: Path, name: str, log: str = "main") -> Entries:
    """Ids, made times and bytes of what stands."""
    found = conversation(root, name, log).entries
    return [(entry.id, entry.made, entry.stored.raw) for entry in found]


def asides(root: Path, name: str, kind: str) -> list[Aside]:
    found = conversation(root, name).asides.values()
    return [aside for aside in found if aside.kind == kind]


def count(root: Path, name: str) -> int:
    """How many records the main log holds after its header."""
    return len(history(DirStore.open(root / name), "main"))


def log_bytes(root: Path, name: str) -> bytes:
    return (root / name / "logs" / "main.jsonl").read_bytes()
