"""Run whole programs and measure them: wall clock, processor time, peak memory.

A child is waited for with ``os.wait4``, which tells what that one child used.
On Linux a child's peak memory begins at what the measuring process holds when
it starts the child, so this program stays small: no corpus is made in it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from statistics import median
from time import perf_counter
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

CHUNK_BYTES = 1 << 16
TIMEOUT_S = 900.0
"""Seconds after which a child is stopped: far above any bound of the table."""


class Sample(NamedTuple):
    """What one run of one program took and gave."""

    wall_s: float
    cpu_s: float
    peak_bytes: int
    lines: int
    written_bytes: int


class Result(NamedTuple):
    """Several runs of one program."""

    samples: tuple[Sample, ...]

    @property
    def wall_s(self) -> float:
        """The median of the wall clock, in seconds."""
        return median(sample.wall_s for sample in self.samples)

    @property
    def cpu_s(self) -> float:
        """The median of the processor time (user and system), in seconds."""
        return median(sample.cpu_s for sample in self.samples)

    @property
    def peak_bytes(self) -> int:
        """The greatest peak of any run, in bytes."""
        return max(sample.peak_bytes for sample in self.samples)

    @property
    def range_s(self) -> tuple[float, float]:
        """The fastest and the slowest run, in seconds."""
        walls = [sample.wall_s for sample in self.samples]
        return min(walls), max(walls)


class Failed(Exception):
    """A program ended otherwise than it should, so its time means nothing."""


class Program(NamedTuple):
    """A program to run, and what to do around each run (outside of its time)."""

    words: Sequence[str]
    environment: Mapping[str, str]
    stdin: Path | None = None
    prepare: Callable[[], None] | None = None
    check: Callable[[Sample], str | None] | None = None
    """Says what is wrong with a run whose exit status was 0; None: nothing."""

    def run(self) -> Sample:
        """Run once, from starting the process to its end.

        Returns:
            The measures. Standard output goes through a pipe and is read to its end.

        Raises:
            Failed: Another exit status than 0, or what *check* says.
        """
        if self.prepare is not None:
            self.prepare()
        with contextlib.ExitStack() as stack:
            errors = stack.enter_context(tempfile.TemporaryFile())
            source: int | IO[bytes] = subprocess.DEVNULL
            if self.stdin is not None:
                source = stack.enter_context(self.stdin.open("rb"))
            sample, status = _measured(self, source, errors)
            if status != 0:
                errors.seek(0)
                told = errors.read().decode(errors="replace").strip()
                raise Failed(f"exit status {status}: {told[-300:]}")
        wrong = self.check(sample) if self.check is not None else None
        if wrong is not None:
            raise Failed(wrong)
        return sample


def interleave(programs: Sequence[Program], runs: int) -> list[Result]:
    """Run the *programs* in turn, A B A B, after one round that does not count.

    Args:
        programs: What to run; each round runs every one of them once.
        runs: Rounds that count.

    Returns:
        A result for each program, in their order.

    Raises:
        Failed: As ``Program.run``.
    """
    samples: list[list[Sample]] = [[] for _ in programs]
    for turn in range(runs + 1):
        for program, found in zip(programs, samples, strict=True):
            sample = program.run()
            if turn > 0:
                found.append(sample)
    return [Result(tuple(found)) for found in samples]


def _measured(program: Program, stdin: int | IO[bytes], stderr: IO[bytes]) -> tuple[Sample, int]:
    begin = perf_counter()
    child = subprocess.Popen(
        program.words,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=dict(program.environment),
        bufsize=0,
    )
    assert child.stdout is not None
    guard = threading.Timer(TIMEOUT_S, child.kill)
    guard.start()
    try:
        lines = size = 0
        while chunk := child.stdout.read(CHUNK_BYTES):
            lines += chunk.count(b"\n")
            size += len(chunk)
        _, status, used = os.wait4(child.pid, 0)
        wall_s = perf_counter() - begin
    finally:
        guard.cancel()
        child.stdout.close()
    # Why: the process is gone already, and Popen must not wait for it again.
    child.returncode = os.waitstatus_to_exitcode(status)
    unit = 1 if sys.platform == "darwin" else 1024
    sample = Sample(wall_s, used.ru_utime + used.ru_stime, used.ru_maxrss * unit, lines, size)
    return sample, child.returncode
