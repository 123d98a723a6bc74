"""Sessions as an import leaves them: logs, meta, the kept source and the map beside it."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from benchmarks.sessions import START_MS, Session
from benchmarks.texts import dumped, fragments

if TYPE_CHECKING:
    import random
    from pathlib import Path

SOURCES: Final = ("claude-code", "codex", "pi")

AGENT_EVERY: Final = 5
"""Of so many sessions one has a second agent."""

LINE_BYTES: Final = 300


def make_imported(
    root: Path, sessions: int, size: int, dice: random.Random
) -> dict[str, str | int]:
    """Write *sessions* imported sessions below *root*; the log of one is of *size* bytes."""
    texts = fragments(dice, LINE_BYTES)
    large = fragments(dice, 2_000)
    for number in range(sessions):
        kind = SOURCES[number % len(SOURCES)]
        name = str(uuid.UUID(int=dice.getrandbits(128), version=4))
        session = Session(root / f"{kind}-{name}", number)
        if number == sessions // 2:
            session.write(large, size=size, own=False)
        else:
            session.write(texts, records=4 * (1 + number % 5), own=False)
        if number % AGENT_EVERY == 0:
            session.write_agent(f"{dice.getrandbits(64):016x}", texts, records=4)
        folder = root / f"{kind}-{name}" / "files" / "plugins" / "import"
        # Why: the listing reads neither; the large one is as --no-source leaves it.
        _write_source(folder, kind, f"{name}.jsonl", session, 0 if number == sessions // 2 else 400)
        session.write_meta(kind)
    return {"sessions": sessions}


def _write_source(folder: Path, kind: str, name: str, session: Session, length: int) -> None:
    """Write a source of lines of *length* bytes and its map, with an entry for each message."""
    folder.mkdir(parents=True)
    lines = session.messages if length else 0
    source = b"".join(b'{"line":%d,"text":"%b"}\n' % (at, b"x" * length) for at in range(lines))
    if length:
        (folder / name).write_bytes(source)
    head = {
        "map": 1,
        "kind": kind,
        "source": name,
        "agent": "main",
        "size": len(source),
        "whole": len(source),
        "lines": lines,
        "items": lines,
        "kept": len(source),
        "key": "0" * 32,
        "digest": "0" * 64,
        "imported": START_MS,
        "made": [lines, 0, 3],
    }
    entries = [dumped(head)]
    entries += [dumped({"line": at + 1, "n": at, "fp": "0" * 16, "id": at}) for at in range(lines)]
    (folder / f"{name}.map.jsonl").write_bytes(b"\n".join(entries) + b"\n")
