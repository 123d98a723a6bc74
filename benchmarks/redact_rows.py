"""The rows about scan, redact and rewrite.

BENCH_LEAKY names a transcript to measure with, and BENCH_LEAKY_TRUTH the truth
about it (JSON lines of ``line``, counted from BENCH_LEAKY_FIRST or 1, and
``secret``); without them one is made. BENCH_AGENTSWEEP and
BENCH_REDACT_TRANSCRIPTS name the programs of these names, each in an
environment of its own; where they are not named their rows are left out.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.leaky import MARKER
from benchmarks.measure import Failed, Program
from benchmarks.running import Bench, Pair, Row, environment, yardstick

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.measure import Sample

OLD_S: Final = 1_770_000_000
"""A file's time: so old that nobody is writing to it."""


def _leaky(bench: Bench, megabytes: int) -> Path:
    given = os.environ.get("BENCH_LEAKY")
    if given and not bench.quick:
        return _cut(bench, Path(given), megabytes)
    folder, facts = bench.corpus("leaky", megabytes=megabytes)
    return folder / str(facts["transcript"])


def _cut(bench: Bench, given: Path, megabytes: int) -> Path:
    """Give the first *megabytes* of a file in whole lines; more than it has by repeating it."""
    path = bench.folder / f"given-{megabytes}.jsonl"
    wanted = megabytes * 1_000_000
    if path.exists() and path.stat().st_mtime > given.stat().st_mtime:
        return path
    bench.folder.mkdir(parents=True, exist_ok=True)
    written = 0
    with path.open("wb") as stream:
        while written < wanted:
            with given.open("rb") as source:
                for line in source:
                    if written >= wanted:
                        break
                    written += stream.write(line)
    return path


def _folders(bench: Bench) -> dict[str, str]:
    return {
        "AGENTMEM_CONFIG": str(bench.folder / "config"),
        "AGENTMEM_CACHE": str(bench.folder / "rules"),
    }


def _command(bench: Bench, *words: str, root: Path | None = None) -> Program:
    program = bench.agentmem(*words, root=root or bench.empty_root())
    return program._replace(environment={**program.environment, **_folders(bench)})


def _fresh(source: Path, work: Path) -> Callable[[], None]:
    """Give what puts an untouched copy of *source* at *work*."""

    def prepare() -> None:
        work.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, work)
        os.utime(work, (OLD_S, OLD_S))
        os.sync()

    return prepare


def _differs(source: Path, work: Path) -> Callable[[Sample], str | None]:
    def check(_: Sample) -> str | None:
        with source.open("rb") as one, work.open("rb") as other:
            while True:
                block = one.read(1 << 20)
                if other.read(1 << 20) != block:
                    return None
                if not block:
                    return "nothing was masked"

    return check


def _redacting(bench: Bench, megabytes: int) -> tuple[Program, Path, Path]:
    source = _leaky(bench, megabytes)
    work = bench.folder / "work" / f"leaky-{megabytes}.jsonl"
    command = _command(bench, "redact", "--files", str(work), "--yes")
    command = command._replace(prepare=_fresh(source, work), check=_differs(source, work))
    return command, source, work


def _redact(bench: Bench) -> Pair:
    command, source, _ = _redacting(bench, bench.sized(100, 5))
    return Pair(command, _detecting(bench, source))


def _detecting(bench: Bench, source: Path) -> Program:
    program = yardstick("detect_events", source, bench.folder / "rules")
    return program._replace(environment={**program.environment, **_folders(bench)})


def _again(bench: Bench) -> Pair:
    """Redact what was redacted: nothing may change."""
    source = _leaky(bench, bench.sized(100, 5))
    work = bench.folder / "work" / "again.jsonl"
    command = _command(bench, "redact", "--files", str(work), "--yes")
    _fresh(source, work)()
    command.run()
    before = work.stat().st_ino, _digest(work)

    def check(_: Sample) -> str | None:
        same = (work.stat().st_ino, _digest(work)) == before
        return None if same else "a second run changed the file"

    return Pair(command._replace(check=check), _detecting(bench, source))


def _digest(path: Path) -> str:
    # Why not its bytes: a child's peak memory begins at what this process holds.
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _large(bench: Bench) -> Pair:
    command, source, _ = _redacting(bench, bench.sized(500, 10))
    return Pair(command, _detecting(bench, source))


def _sweep(bench: Bench) -> Pair:
    command, source, _ = _redacting(bench, 10)
    home = bench.folder / "work" / "sweep"
    work = home / "p" / "a.jsonl"
    program = _peer("BENCH_AGENTSWEEP")
    answers = bench.folder / "answers"
    answers.write_text("y\n" * 50, encoding="utf-8")
    peer = Program(
        [program, "fix", "--root", str(home), "--no-backup", "--force"],
        environment(),
        stdin=answers,
        prepare=_fresh(source, work),
        check=_differs(source, work),
    )
    return Pair(command, peer)


def _transcripts(bench: Bench) -> Pair:
    command, source, _ = _redacting(bench, 10)
    program = _peer("BENCH_REDACT_TRANSCRIPTS")
    words = [program, "-f", "jsonl", "-o", str(bench.folder / "work" / "peer"), str(source)]
    return Pair(command, Program(words, environment()))


def _peer(name: str) -> str:
    path = os.environ.get(name)
    if not path or not Path(path).is_file():
        raise Failed(f"{name} names no program")
    return path


def _replacing(bench: Bench) -> Pair:
    source = _leaky(bench, bench.sized(100, 15))
    work = bench.folder / "work" / "replaced.jsonl"
    pairs = bench.folder / "pairs"
    pairs.write_text(f"{_word(source)} ==> something else\n", encoding="utf-8")
    command = _command(
        bench, "rewrite", "--replace-file", str(pairs), "--files", str(work), "--yes"
    )
    command = command._replace(prepare=_fresh(source, work), check=_differs(source, work))
    return Pair(command, yardstick("parse_lines", source))


def _word(source: Path) -> str:
    """Give a word that stands on few lines of a transcript."""
    if source.name == "leaky.jsonl":
        return MARKER
    with source.open("rb") as stream:
        stream.seek(source.stat().st_size // 2)
        found = re.search(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}", stream.read(1 << 20))
    if found is None:
        raise Failed(f"{source}: no id in the middle of it to be replaced")
    return found[0].decode()


def _replacing_session(bench: Bench) -> Pair:
    folder, _ = bench.corpus("leaky-sessions", sessions=1, megabytes=bench.sized(100, 15))
    kept = folder / "root" / "leaky-00"
    root = bench.folder / "work" / "replaced"
    log = kept / "logs" / "main.jsonl"
    pairs = bench.folder / "session-pairs"
    pairs.write_text(f"{MARKER} ==> something else\n", encoding="utf-8")

    def prepare() -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(kept, root / "leaky-00")
        os.sync()

    command = _command(
        bench, "rewrite", "--replace-file", str(pairs), "leaky-00", "--yes", "--force", root=root
    )
    return Pair(command._replace(prepare=prepare), yardstick("parse_lines", log))


def _jobs(bench: Bench) -> Pair:
    count, megabytes = bench.sized(8, 3), bench.sized(25, 2)
    folder, _ = bench.corpus("leaky-sessions", sessions=count, megabytes=megabytes)
    root = bench.folder / "work" / "jobs"

    def prepare() -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(folder / "root", root)
        os.sync()

    def run(jobs: str) -> Program:
        words = ("redact", "--all", "--yes", "--force", "--jobs", jobs)
        return _command(bench, *words, root=root)._replace(prepare=prepare)

    return Pair(run("2"), run("1"))


ENGINE_S: Final = 0.4
"""Seconds in which the engine gets its rules ready; the peers have none to get ready."""

ENGINE: Final = "the engine with the same rules, once per line over its decoded strings"

REDACT_ROWS: Final = (
    Row("redact", "`redact --files` of 100 MB, all passes", ENGINE, 3, _redact, peak_mb_max=250),
    Row("redact-again", "the same once more", ENGINE, 3, _again, peak_mb_max=250),
    Row("redact-500", "`redact --files` of 500 MB", ENGINE, 3, _large, peak_mb_max=250),
    Row(
        "redact-sweep",
        "`redact --files` of 10 MB",
        "`agentsweep fix`",
        1 / 6,
        _sweep,
        extra_s=ENGINE_S,
    ),
    Row(
        "redact-peer",
        "`redact --files` of 10 MB",
        "`redact-transcripts`",
        1 / 12,
        _transcripts,
        extra_s=ENGINE_S,
    ),
    Row(
        "rewrite",
        "`rewrite --replace-file` with one literal, `--files` of 100 MB",
        "orjson.loads of each line",
        2,
        _replacing,
    ),
    Row(
        "rewrite-session",
        "the same in a session of 100 MB",
        "orjson.loads of each line",
        2,
        _replacing_session,
    ),
    Row(
        "redact-jobs",
        "`redact --all --jobs 2`, 8 sessions of 25 MB",
        "the same with `--jobs 1`",
        1 / 1.4,
        _jobs,
        with_startup=False,
    ),
)
