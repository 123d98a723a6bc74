"""Measure agentmem's commands, each against the least work that the same task needs.

    python -m benchmarks.bench [--only NAME]... [--runs N] [--quick] [--write [FILE]]

Every figure is of whole processes: the command and its yardstick (the programs
in yardsticks/) take turns within one run, and medians are compared, so that a
slower machine or a busy one moves both. A bound is the yardstick's time by the
row's factor, and the start-up of ``import typer`` measured between them, but
for the rows about start-up itself.

Corpora are made once, in BENCH_DIR (else build/bench, about 3 GB for a full
run). BENCH_PI_SOURCE names a real transcript of pi whose messages the import
is measured with. The exit status is 1 when a row is out of its bounds.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Failed, Result, interleave
from benchmarks.rows import ROWS
from benchmarks.running import PROJECT, Bench, Row, python

BEGIN_MARK = "<!-- benchmarks: begin -->"
END_MARK = "<!-- benchmarks: end -->"
RUNS = 9
RUNS_MIN = 7
FLAT_MB = 10
"""What ten times the sessions may add to a listing's peak memory, in megabytes."""


class Line(NamedTuple):
    """A row that was measured, or why it was not."""

    row: Row
    command: Result | None = None
    yardstick: Result | None = None
    startup: Result | None = None
    failure: str = ""

    @property
    def bound_s(self) -> float:
        """The most that the command's median may be, in seconds."""
        assert self.yardstick is not None
        bound = self.row.factor * self.yardstick.wall_s + self.row.extra_s
        return bound + (self.startup.wall_s if self.startup is not None else 0.0)


def main() -> int:
    """Measure the rows asked for and print the table."""
    options = _options()
    wanted = [row for row in ROWS if not options.only or row.name in options.only]
    source = os.environ.get("BENCH_PI_SOURCE")
    folder = Path(os.environ.get("BENCH_DIR") or PROJECT / "build" / "bench").resolve()
    bench = Bench(folder, quick=options.quick, source=Path(source) if source else None)
    load_before = os.getloadavg()[0]
    lines: list[Line] = []
    for row in wanted:
        _tell(f"{row.name} ...")
        lines.append(_measure(bench, row, options.runs, yardsticks=options.yardsticks))
    told = [*_table(lines), "", _conditions(bench, options.runs, load_before)]
    print("\n".join(told))
    if options.write is not None:
        _write(options.write, told)
    return 0 if options.yardsticks or all(_passes(line, lines) for line in lines) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    names = [row.name for row in ROWS]
    parser.add_argument("--only", action="append", choices=names, help="measure this row alone")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"at least {RUNS_MIN}")
    parser.add_argument("--quick", action="store_true", help="small corpora; bounds mean less")
    parser.add_argument("--yardsticks", action="store_true", help="measure the yardsticks alone")
    design = PROJECT / "DESIGN.md"
    text = f"put the table between the marks in FILE (default {design.name})"
    parser.add_argument("--write", type=Path, nargs="?", const=design, metavar="FILE", help=text)
    options = parser.parse_args()
    if options.runs < RUNS_MIN and not options.quick:
        parser.error(f"--runs {options.runs}: a median needs at least {RUNS_MIN}")
    if options.write is not None and (options.quick or options.only or options.yardsticks):
        parser.error("--write takes a whole table: without --quick, --only and --yardsticks")
    return options


def _measure(bench: Bench, row: Row, runs: int, *, yardsticks: bool) -> Line:
    try:
        pair = row.make(bench)
    except Failed as failure:
        return Line(row, failure=str(failure))
    programs = [pair.yardstick] if yardsticks else [pair.yardstick, pair.command]
    if row.with_startup:
        programs.append(python("-c", "import typer"))
    try:
        results = interleave(programs, runs)
    except Failed as failure:
        return Line(row, failure=str(failure))
    startup = results.pop() if row.with_startup else None
    command = None if yardsticks else results[1]
    return Line(row, command, results[0], startup)


# The verdict


def _passes(line: Line, lines: list[Line]) -> bool:
    if line.command is None or line.command.wall_s > line.bound_s:
        return False
    return line.command.peak_bytes <= _peak_bytes_max(line, lines)


def _peak_bytes_max(line: Line, lines: list[Line]) -> float:
    row = line.row
    if row.peak_mb_max is not None:
        return row.peak_mb_max * 1e6
    for other in lines:
        if other.row.name == row.flat_against and other.command is not None:
            return other.command.peak_bytes + FLAT_MB * 1e6
    return float("inf")


# The table


def _table(lines: list[Line]) -> list[str]:
    head = ("row", "command", "time", "yardstick", "its time", "ratio", "cpu", "bound", "peak", "")
    cells = [head, ("---",) * len(head), *(_cells(line, lines) for line in lines)]
    return ["| " + " | ".join(row) + " |" for row in cells]


def _cells(line: Line, lines: list[Line]) -> tuple[str, ...]:
    row = line.row
    terms = [f"{row.factor:.3g} x"] if row.factor else []
    terms += ["start-up"] if row.with_startup else []
    terms += [f"{row.extra_s:g} s"] if row.extra_s else []
    rule = " + ".join(terms)
    if line.yardstick is None:
        told = line.failure.replace("|", "/").replace("\n", " ")
        return (
            row.name,
            row.task,
            "-",
            row.against,
            "-",
            "-",
            "-",
            rule,
            "-",
            f"not measured: {told}",
        )
    bound = f"{rule} = {_milliseconds(line.bound_s)}"
    before = _timed(line.yardstick)
    if line.command is None:
        return row.name, row.task, "-", row.against, before, "-", "-", bound, "-", "yardstick alone"
    ratio = f"{line.command.wall_s / line.yardstick.wall_s:.2f}"
    cpu = f"{line.command.cpu_s / line.yardstick.cpu_s:.2f}"
    peak = f"{line.command.peak_bytes / 1e6:.0f} MB"
    peak_max = _peak_bytes_max(line, lines)
    if peak_max != float("inf"):
        peak += f" of {peak_max / 1e6:.0f}"
    verdict = "pass" if _passes(line, lines) else "FAIL"
    after = _timed(line.command)
    return row.name, row.task, after, row.against, before, ratio, cpu, bound, peak, verdict


def _timed(result: Result) -> str:
    fastest, slowest = (f"{seconds * 1e3:,.0f}" for seconds in result.range_s)
    return f"{_milliseconds(result.wall_s)} ({fastest}-{slowest})"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms" if seconds < 1 else f"{seconds * 1e3:,.0f} ms"


def _conditions(bench: Bench, runs: int, load_before: float) -> str:
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    load = f"load {load_before:.1f} before and {os.getloadavg()[0]:.1f} after"
    small = (
        " Small corpora (--quick): the bounds are those of the full ones." if bench.quick else ""
    )
    pi = "a real transcript" if bench.source is not None else "a made-up one"
    return (
        f"Medians of {runs} runs (fastest-slowest), whole processes, taking turns after a"
        f" warm-up; cpu is the ratio of processor times, which a busy machine moves less."
        f" Python {platform.python_version()}, {machine}, {load}; messages of pi from {pi}.{small}"
    )


def _write(path: Path, told: list[str]) -> None:
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN_MARK)
    _, end, after = rest.partition(END_MARK)
    if not begin or not end:
        raise SystemExit(f"{path}: put the lines {BEGIN_MARK} and {END_MARK} where the table goes")
    table = "\n".join(told)
    path.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")
    _tell(f"wrote the table into {path}")


def _tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
