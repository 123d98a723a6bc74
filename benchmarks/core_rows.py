"""The rows about core memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from benchmarks.running import Bench, Pair, Row, python, yardstick

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.measure import Program, Sample

TEXT: Final = "She prefers short answers, and tabs over spaces."
TIMES: Final = 1_000


def _set(bench: Bench) -> Pair:
    few, _ = bench.corpus("long", records=10)
    many, _ = bench.corpus("long", records=bench.sized(100_000, 5_000))
    return Pair(_setting(bench, many), _setting(bench, few))


def _setting(bench: Bench, folder: Path) -> Program:
    """Set a block that is not there yet; afterwards the session is put back."""
    session = folder / "root" / "long"
    log = session / "logs" / "session.jsonl"
    size = log.stat().st_size
    restore = _restorer(session, log)

    def check(_: Sample) -> str | None:
        grown = log.stat().st_size - size
        restore()
        return None if grown >= len(TEXT) else f"the log grew by {grown} bytes"

    command = bench.agentmem("core", "set", "long", "human", TEXT, root=folder / "root")
    return command._replace(prepare=restore, check=check)


def _restorer(session: Path, log: Path) -> Callable[[], None]:
    meta = session / "files" / "meta.json"
    kept, own = meta.read_bytes(), log.read_bytes()
    made_ns = (session / "logs" / "main.jsonl").stat().st_mtime_ns

    def restore() -> None:
        if log.read_bytes() != own or meta.read_bytes() != kept:
            log.write_bytes(own)
            meta.write_bytes(kept)
            for path in (log, meta, session / ".rig-memory.lock"):
                os.utime(path, ns=(made_ns, made_ns))
        os.sync()

    return restore


def _render_early(bench: Bench) -> Pair:
    return _render_at(bench, 10)


def _render_middle(bench: Bench) -> Pair:
    return _render_at(bench, 50)


def _render_late(bench: Bench) -> Pair:
    return _render_at(bench, 100)


def _render_at(bench: Bench, percent: int) -> Pair:
    folder, facts = bench.corpus("edits", records=bench.sized(10_000, 1_000))
    place = str(int(facts["last_n"]) * percent // 100)

    def check(sample: Sample) -> str | None:
        # Some blocks of 400 bytes each are more than this.
        return None if sample.written_bytes > 500 else "next to nothing was printed"  # noqa: PLR2004

    command = bench.agentmem("core", "render", "edited", "--as-of", place, root=folder / "root")
    return Pair(command._replace(check=check), yardstick("parse_lines", folder / str(facts["log"])))


def _text(bench: Bench) -> Pair:
    del bench
    return Pair(
        yardstick("core_text", TIMES),
        python("-c", f"import time; time.sleep({2 * TIMES / 1_000})"),
    )


CORE_ROWS: Final = (
    Row(
        "core-set",
        "`core set` on a session whose agent's log holds 100,000 records",
        "the same where it holds 10",
        1.5,
        _set,
        with_startup=False,
    ),
    Row(
        "core-render-early",
        "`core render --as-of` a tenth of the way into 10,000 edits",
        "orjson.loads of each line",
        2,
        _render_early,
    ),
    Row(
        "core-render",
        "the same in the middle",
        "orjson.loads of each line",
        2,
        _render_middle,
    ),
    Row(
        "core-render-late",
        "the same at the end",
        "orjson.loads of each line",
        2,
        _render_late,
    ),
    Row(
        "core-text",
        "render and parse of a full core memory, 1,000 times",
        "sleep 2 s: a millisecond for each",
        1,
        _text,
        with_startup=False,
    ),
)
