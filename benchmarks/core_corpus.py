"""A session whose core memory was edited often, to measure with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.sessions import START_MS, STEP_MS, set_time
from benchmarks.texts import STRIDE, dumped, fragments

if TYPE_CHECKING:
    import random
    from pathlib import Path

CONTENT_BYTES: Final = 400
TYPES: Final = ("system", "persona", "human", "facts", "goals", "scratch")


def make_edits(root: Path, records: int, dice: random.Random) -> dict[str, str | int]:
    """Write the session "edited": so many edits of its blocks, each one record of its own log."""
    texts = fragments(dice, CONTENT_BYTES)
    log = root / "edited" / "logs" / "session.jsonl"
    log.parent.mkdir(parents=True)
    with log.open("wb") as stream:
        head = b'{"seq":0,"n":0,"t":%d,"type":"header","format":"rig-session/4"' % START_MS
        stream.write(head + b',"log":"session","lineage":9223372036854775809}\n')
        for n in range(1, records + 1):
            name = TYPES[n % 5 * n % 6]
            t = START_MS + n * STEP_MS
            told = dumped({"by": "ann" if n % 3 else "bob", "reason": f"edit {n}"})[1:-1]
            number = TYPES.index(name)
            value = (
                b'{"content":"%b","id":"00000000-0000-4000-8000-%012d","created":%d,"modified":%d,%b}'
                % (texts[n * STRIDE % len(texts)], number, START_MS, t, told)
            )
            stream.write(
                b'{"seq":%d,"n":%d,"t":%d,"type":"state","key":"core_memory.%b","value":%b}\n'
                % (n, n, t, name.encode(), value)
            )
    lock = root / "edited" / ".rig-memory.lock"
    lock.touch()
    for path in (log, lock):
        set_time(path, START_MS + records * STEP_MS)
    return {
        "session": "edited",
        "log": str(log.relative_to(root.parent)),
        "bytes": log.stat().st_size,
        "last_n": records,
    }
