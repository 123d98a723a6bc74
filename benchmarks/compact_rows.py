"""The rows about tokens, compaction and undo."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Final

from benchmarks.running import HERE, Bench, Pair, Row, python, yardstick

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.measure import Program, Sample

SUMMARY: Final = "They looked for where the header of a log is written, and found it.\n"


def _estimate(bench: Bench) -> Pair:
    folder, facts = bench.corpus("long", records=bench.sized(100_000, 5_000))
    log = folder / str(facts["log"])
    return Pair(python(str(HERE / "estimate.py"), str(log)), yardstick("dump_messages", log))


def _compact(bench: Bench) -> Pair:
    folder, log = _long(bench, "compact")
    command = _compacting(bench, folder)
    return Pair(_restored(command, log), yardstick("parse_lines", log))


def _undo(bench: Bench) -> Pair:
    folder, log = _long(bench, "undo")
    command = _compacting(bench, folder)
    if b'"compacted"' not in _end(log):
        subprocess.run(
            [*command.words], check=True, env=dict(command.environment), capture_output=True
        )
    undoing = bench.agentmem("undo", "long", root=folder / "root")
    return Pair(_restored(undoing, log), yardstick("parse_lines", log))


def _undo_append(bench: Bench) -> Pair:
    folder, log = _long(bench, "compact")
    undoing = bench.agentmem("undo", "long", root=folder / "root")
    return Pair(_restored(undoing, log), yardstick("parse_lines", log))


def _long(bench: Bench, name: str) -> tuple[Path, Path]:
    """Copy the session of 100 MB, so that no other row meets what is done to it."""
    folder, facts = bench.corpus("long", megabytes=bench.sized(100, 5))
    target = bench.folder / f"{folder.name}-{name}"
    if not target.exists():
        shutil.copytree(folder, target)
    return target, target / str(facts["log"])


def _compacting(bench: Bench, folder: Path) -> Program:
    summary = bench.folder / "summary.txt"
    summary.write_text(SUMMARY, encoding="utf-8")
    words = ("compact", "long", "--summary-file", str(summary))
    return bench.agentmem(*words, root=folder / "root")


def _end(log: Path) -> bytes:
    with log.open("rb") as stream:
        stream.seek(-min(log.stat().st_size, 1 << 20), os.SEEK_END)
        return stream.read()


def _restored(command: Program, log: Path) -> Program:
    """Return *command*, after which the session is put back as it was."""
    session = log.parent.parent
    meta = session / "files" / "meta.json"
    size, kept = log.stat().st_size, meta.read_bytes()
    time_ns = log.stat().st_mtime_ns

    def restore() -> None:
        if log.stat().st_size != size:
            os.truncate(log, size)
            meta.write_bytes(kept)
            for path in (log, meta, session / ".rig-memory.lock"):
                os.utime(path, ns=(time_ns, time_ns))
        os.sync()

    def check(_: Sample) -> str | None:
        grown = log.stat().st_size - size
        restore()
        return None if grown > len(SUMMARY) else f"the log grew by {grown} bytes"

    return command._replace(prepare=restore, check=check)


COMPACT_ROWS: Final = (
    Row(
        "estimate",
        "ten token estimates of 100,000 messages",
        "orjson.dumps of them, ten times",
        2,
        _estimate,
        with_startup=False,
    ),
    Row(
        "compact",
        "`compact --summary-file` of a log of 100 MB",
        "orjson.loads of each line",
        3,
        _compact,
        peak_mb_max=250,
    ),
    Row(
        "undo",
        "`undo` of the last append to a log of 100 MB",
        "orjson.loads of each line",
        3,
        _undo_append,
        peak_mb_max=250,
    ),
    Row(
        "undo-all",
        "`undo` of that compaction, which puts 100 MB back",
        "orjson.loads of each line",
        3,
        _undo,
        peak_mb_max=250,
    ),
)
