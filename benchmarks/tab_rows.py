"""Rows of completion: TAB in bash, the start of bash included, against the help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.measure import Program
from benchmarks.running import PROJECT, Bench, Pair, Row

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.measure import Sample

# What bash runs: complete the line $2 with the script $1; the words behind start agentmem.
_DRIVER: Final = """
script=$1 COMP_LINE=$2 COMP_POINT=${#2}
shift 2
started=("$@")
agentmem() { "${started[@]}" "$@"; }
compopt() { :; }
. "$script"
_agentmem
printf '%s\\n' "${COMPREPLY[@]}"
"""


def _tab(bench: Bench, root: Path, line: str) -> Pair:
    def check(sample: Sample) -> str | None:
        return None if sample.written_bytes > len("\n") else "nothing was offered"

    started = bench.agentmem(root=root)
    script = str(PROJECT / "completions" / "agentmem.bash")
    words = ["bash", "--norc", "--noprofile", "-c", _DRIVER, "bash", script, line, *started.words]
    command = Program(words, started.environment, check=check)
    return Pair(command, bench.agentmem("--help", root=root))


def _option(bench: Bench) -> Pair:
    return _tab(bench, bench.empty_root(), "agentmem show --f")


def _session(bench: Bench) -> Pair:
    folder, _ = bench.corpus("listed", sessions=bench.sized(10_000, 1_000))
    return _tab(bench, folder / "root", "agentmem show ")


def _place(bench: Bench) -> Pair:
    folder, _ = bench.corpus("long", megabytes=bench.sized(500, 20))
    return _tab(bench, folder / "root", "agentmem as-of long m")


_AGAINST: Final = "`agentmem --help`"

TAB_ROWS: Final = (
    Row("tab-option", "TAB behind `show --f` in bash", _AGAINST, 1.3, _option, with_startup=False),
    Row(
        "tab-session",
        "TAB behind `show` in bash, 10,000 sessions",
        _AGAINST,
        1.3,
        _session,
        with_startup=False,
    ),
    Row(
        "tab-place",
        "TAB behind `as-of long m` in bash, a log of 500 MB",
        _AGAINST,
        1.3,
        _place,
        with_startup=False,
    ),
)
