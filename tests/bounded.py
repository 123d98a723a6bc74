"""Work in a process of its own that may take so much time of the processor and so much memory."""

from __future__ import annotations

import os
import signal
import traceback
from typing import TYPE_CHECKING, NamedTuple

from tests.cli.running import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CPU_S = 20
"""Seconds of the processor, on a machine of any load."""

ROOM_BYTES = 600 << 20
"""Bytes beyond what the process has when it begins."""

WAIT_S = 200
"""Seconds after which a process that waits for something is ended."""

OURS = frozenset(range(7))
"""The exit statuses that the help lists, but for an interrupt's."""

_FAILED = 99


class Ended(NamedTuple):
    """How it ended: its status, below zero a signal's number; and what it said."""

    status: int
    said: str

    @property
    def wrong(self) -> list[str]:
        """What a command may not do, whatever it reads."""
        found = []
        if self.status < 0:
            found.append(f"ended by {signal.Signals(-self.status).name}")
        elif self.status not in OURS:
            found.append(f"status {self.status}")
        ours = ("Traceback", "internal error", "out of memory")
        found += [word for word in ours if word in self.said]
        if self.status > 1 and not self.said:
            found.append("it says nothing")
        return [f"{each}: {self.said[-2_000:]}" for each in found]


def _size_bytes() -> int:
    import resource

    with open("/proc/self/statm") as pages:  # noqa: PTH123
        return int(pages.read().split()[0]) * resource.getpagesize()


def _limit(cpu_s: int, room_bytes: int) -> None:
    import resource  # Windows has none

    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        room = _size_bytes() + room_bytes
    except OSError:
        return  # no such figure there: macOS, where no such limit holds either
    resource.setrlimit(resource.RLIMIT_AS, (room, room))


def within(
    work: Callable[[], tuple[int, str]],
    told: Path,
    *,
    cpu_s: int = CPU_S,
    room_bytes: int = ROOM_BYTES,
) -> Ended:
    """Do *work*, which returns a status and what it said, in a bounded child.

    Args:
        work: What is done there; nothing of it comes back but what it returns.
        told: A file for what it said.
        cpu_s: Seconds of the processor.
        room_bytes: Bytes it may take beyond those it has.
    """
    told.write_bytes(b"")
    child = os.fork()
    if child == 0:
        status, said = _FAILED, ""
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(WAIT_S)
            _limit(cpu_s, room_bytes)
            status, said = work()
        except BaseException:  # noqa: BLE001 - told to the parent
            said = traceback.format_exc()
        finally:
            try:
                told.write_text(said[-20_000:], errors="replace")
            finally:
                os._exit(status)
    _, ended = os.waitpid(child, 0)
    return Ended(os.waitstatus_to_exitcode(ended), told.read_text())


def command(*words: str | Path, stdin: bytes = b"") -> Callable[[], tuple[int, str]]:
    """Return the work of running a command; it says what it says on standard error."""

    def work() -> tuple[int, str]:
        done = run(*words, stdin=stdin)
        return done.status, done.err

    return work
