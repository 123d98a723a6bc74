"""The rows of the table: what is measured, against what, and within which bounds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from benchmarks.compact_rows import COMPACT_ROWS
from benchmarks.core_rows import CORE_ROWS
from benchmarks.found_rows import FOUND_ROWS
from benchmarks.html_rows import HTML_ROWS
from benchmarks.import_rows import IMPORT_ROWS
from benchmarks.redact_rows import REDACT_ROWS
from benchmarks.running import Bench, Pair, Row, python, yardstick
from benchmarks.tab_rows import TAB_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.measure import Sample

STDIN_MESSAGE: Final = "One more question: where is the header of a log written?\n"


# What each row runs


def _version(bench: Bench) -> Pair:
    return Pair(bench.agentmem("--version", root=bench.empty_root()), python("-c", "pass"))


def _list_empty(bench: Bench) -> Pair:
    return Pair(bench.agentmem("list", root=bench.empty_root()), python("-c", "import typer"))


def _help(bench: Bench) -> Pair:
    return Pair(bench.agentmem("--help", root=bench.empty_root()), python("-c", "import typer"))


def _list_meta(bench: Bench) -> Pair:
    sessions = bench.sized(10_000, 1_000)
    folder, _ = bench.corpus("listed", sessions=sessions)
    return _listing(bench, folder / "root", sessions, "read_meta")


def _list_bare(bench: Bench) -> Pair:
    sessions = bench.sized(200, 40)
    folder, _ = bench.corpus("bare", sessions=sessions, megabytes=2)
    return _listing(bench, folder / "root", sessions, "read_ends")


def _list_bare_few(bench: Bench) -> Pair:
    folder, _ = bench.corpus("bare", sessions=20, megabytes=2)
    return _listing(bench, folder / "root", 20, "read_ends")


def _listing(bench: Bench, root: Path, sessions: int, name: str) -> Pair:
    def check(sample: Sample) -> str | None:
        if sample.lines < sessions:
            return f"{sample.lines} lines came for {sessions} sessions"
        return None

    command = bench.agentmem("list", "--json", "--limit", "0", root=root)
    return Pair(command._replace(check=check), yardstick(name, root))


def _as_of(bench: Bench) -> Pair:
    folder, facts = _long(bench)
    place = str(int(facts["last_n"]) - 100)
    return _looking(bench, folder, facts, "as-of", "long", place)


def _show(bench: Bench) -> Pair:
    folder, facts = _long(bench)
    return _looking(bench, folder, facts, "show", "long", "--last", "20")


def _verify(bench: Bench) -> Pair:
    folder, facts = _long(bench)
    command = bench.agentmem("verify", "long", root=folder / "root")
    return Pair(command, yardstick("parse_lines", folder / str(facts["log"])))


def _long(bench: Bench) -> tuple[Path, dict[str, str | int]]:
    return bench.corpus("long", megabytes=bench.sized(500, 20))


def _looking(bench: Bench, folder: Path, facts: dict[str, str | int], *words: str) -> Pair:
    def check(sample: Sample) -> str | None:
        # Twenty messages of some kilobytes, folded or not, are more than this.
        return None if sample.written_bytes > 1_000 else "next to nothing was printed"  # noqa: PLR2004

    command = bench.agentmem(*words, root=folder / "root")._replace(check=check)
    return Pair(command, yardstick("parse_lines", folder / str(facts["log"])))


def _append(bench: Bench) -> Pair:
    folder, facts = bench.corpus("long", records=bench.sized(100_000, 5_000))
    log = folder / str(facts["log"])
    message = bench.folder / "message.txt"
    message.write_text(STDIN_MESSAGE, encoding="utf-8")
    restore = _restorer(folder / "root" / "long", log, int(facts["bytes"]))

    def check(_: Sample) -> str | None:
        grown = log.stat().st_size - int(facts["bytes"])
        restore()
        return None if grown >= len(STDIN_MESSAGE) else f"the log grew by {grown} bytes"

    command = bench.agentmem("append", "long", "--role", "user", "-", root=folder / "root")
    command = command._replace(stdin=message, prepare=restore, check=check)
    return Pair(command, yardstick("parse_lines", log))


def _restorer(session: Path, log: Path, size: int) -> Callable[[], None]:
    """Give what puts a session back to how its corpus was made, and the disk to rest."""
    meta = session / "files" / "meta.json"
    kept = meta.read_bytes()
    made_ns = (session / "logs" / "session.jsonl").stat().st_mtime_ns

    def restore() -> None:
        if log.stat().st_size != size or meta.read_bytes() != kept:
            os.truncate(log, size)
            meta.write_bytes(kept)
            for path in (log, meta, session / ".rig-memory.lock"):
                os.utime(path, ns=(made_ns, made_ns))
        os.sync()

    return restore


ROWS: Final = (
    Row("version", "`--version`", "`python -c pass`", 2.5, _version, with_startup=False),
    Row(
        "list-empty", "`list`, no sessions", "`import typer`", 1.3, _list_empty, with_startup=False
    ),
    Row("help", "`--help`", "`import typer`", 1.3, _help, with_startup=False),
    Row(
        "list-meta",
        "`list --json`, 10,000 sessions",
        "scandir, read and parse each meta.json, stat each log",
        2,
        _list_meta,
    ),
    Row(
        "list-bare-few",
        "`list --json`, 20 sessions without meta, logs of 2 MB",
        "read 64 KiB at both ends of each log",
        10,
        _list_bare_few,
    ),
    Row(
        "list-bare",
        "`list --json`, 200 sessions without meta, logs of 2 MB",
        "read 64 KiB at both ends of each log",
        10,
        _list_bare,
        flat_against="list-bare-few",
    ),
    Row(
        "as-of",
        "`as-of` near the end of a log of 500 MB",
        "orjson.loads of each line",
        2.5,
        _as_of,
        peak_mb_max=150,
    ),
    Row(
        "show",
        "`show --last 20` of the same",
        "orjson.loads of each line",
        2.5,
        _show,
        peak_mb_max=150,
    ),
    Row(
        "verify",
        "`verify` of the same",
        "orjson.loads of each line",
        3,
        _verify,
        peak_mb_max=150,
    ),
    Row(
        "append",
        "`append` of one message to a log of 100,000 records",
        "orjson.loads of each line",
        2,
        _append,
    ),
    *IMPORT_ROWS,
    *REDACT_ROWS,
    *CORE_ROWS,
    *COMPACT_ROWS,
    *FOUND_ROWS,
    *TAB_ROWS,
    *HTML_ROWS,
)
