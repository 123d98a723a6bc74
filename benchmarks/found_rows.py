"""Rows of finding and counting: grep against GNU grep, stats against parsing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.measure import Program
from benchmarks.running import Bench, Pair, Row, environment, yardstick

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.measure import Sample

RARE: Final = "naïve reset network missing"
"""It stands in about every two thousandth message."""

COMMON: Final = "missing"
"""It stands in almost every message."""


def _long(bench: Bench) -> tuple[Path, Path]:
    folder, facts = bench.corpus("long", megabytes=bench.sized(500, 20))
    return folder / "root", folder / str(facts["log"])


def _grep(bench: Bench, *words: str) -> Pair:
    root, log = _long(bench)

    def check(sample: Sample) -> str | None:
        return None if sample.lines else "nothing was found"

    command = bench.agentmem("grep", *words, root=root)._replace(check=check)
    return Pair(command, Program(["grep", *words, str(log)], environment()))


def _rare(bench: Bench) -> Pair:
    return _grep(bench, "-F", RARE)


def _common(bench: Bench) -> Pair:
    return _grep(bench, "-F", COMMON)


def _any_case(bench: Bench) -> Pair:
    return _grep(bench, "-F", "-i", RARE.upper().replace("Ï", "ï"))


def _stats(bench: Bench) -> Pair:
    root, log = _long(bench)
    return Pair(bench.agentmem("stats", "long", root=root), yardstick("parse_lines", log))


FOUND_ROWS: Final = (
    Row(
        "grep-rare",
        "`grep -F` of a rare text in a log of 500 MB",
        "GNU `grep -F` of the file",
        2,
        _rare,
        peak_mb_max=100,
    ),
    Row(
        "grep-common",
        "`grep -F` of a word that is in most messages",
        "GNU `grep -F` of the file",
        8,
        _common,
        peak_mb_max=100,
    ),
    Row(
        "grep-any-case",
        "`grep -F -i` of the rare text",
        "GNU `grep -F -i` of the file",
        8,
        _any_case,
        peak_mb_max=100,
    ),
    Row(
        "stats",
        "`stats` of the same",
        "orjson.loads of each line",
        2.5,
        _stats,
        peak_mb_max=150,
    ),
)
