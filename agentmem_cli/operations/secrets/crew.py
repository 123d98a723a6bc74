"""Processes that work on targets, one pipe each, and their end.

Why not a pool of the standard library: its processes share queues, and one that is
ended while it holds a queue's lock leaves the others, and whoever waits for them, waiting
for ever. Here nothing is shared, so any of them may be ended at any moment.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection
    from multiprocessing.context import BaseContext
    from multiprocessing.process import BaseProcess
    from types import FrameType

    from agentmem_cli.operations.secrets.working import Outcome, Target

    Work = Callable[[Target], Outcome]
    """What one of the processes does with a target; made there by what `Crew` is given."""

END_S: Final = 2.0
"""Seconds that processes have to end by themselves; then they are killed."""


class Lost(AgentMemError):
    """A process was ended from outside while it worked on a target."""

    hint = "What it worked on is whole. Run the command again, or try --jobs 1."

    def __init__(self) -> None:
        """Say so."""
        super().__init__("a process of --jobs was ended from outside")


class _Member(NamedTuple):
    process: BaseProcess
    pipe: Connection
    """Indices of targets go in, and outcomes come out."""


class Crew:
    """A number of processes, and which target each works on.

    Args:
        context: How processes are made.
        targets: What there is to do.
        order: Their indices, in the order in which they are begun.
        work_of: Called in a process, with *words*, to make what does the work.
        words: Plain values.
        jobs: How many processes.
    """

    def __init__(
        self,
        context: BaseContext,
        targets: Sequence[Target],
        order: Sequence[int],
        work_of: Callable[..., Work],
        words: tuple[object, ...],
        jobs: int,
    ) -> None:
        self._context = context
        self._targets = targets
        self._left = list(reversed(order))
        self._work_of = work_of
        self._words = words
        self._jobs = jobs
        self._members: list[_Member] = []
        self._working: dict[Connection, int] = {}
        self._reading: Connection | None = None

    def outcomes(self, begins: Callable[[int], None]) -> Iterator[tuple[int, Outcome]]:
        """Yield what comes of each target, as it comes.

        Args:
            begins: Called with the index of a target before it is begun.
        """
        for _ in range(min(self._jobs, len(self._left))):
            self._start(begins)
        while self._working:
            for pipe in self._readable(None):
                outcome = self._received(pipe)
                index = self._working.pop(pipe)
                if outcome is None:
                    self._drop(pipe)
                    if self._left:
                        self._start(begins)
                    yield index, self._lost(index)
                    continue
                self._next(pipe, begins)
                yield index, outcome

    def end(self) -> list[tuple[int, Outcome]]:
        """End all processes, those that work too; return what still came of targets.

        Nothing can interrupt it, and it takes no longer than `END_S` and some.
        """
        found: list[tuple[int, Outcome]] = []
        with _undisturbed():
            self._left.clear()
            if self._reading is not None:
                # Why: an interrupt met it, so it is not known where the next outcome begins.
                self._working.pop(self._reading, None)
            for member in self._members:
                if member.pipe not in self._working:
                    member.pipe.close()
                member.process.terminate()
            by_s = time.monotonic() + END_S
            while self._working and (left_s := by_s - time.monotonic()) > 0:
                for pipe in self._readable(left_s):
                    outcome = self._received(pipe)
                    index = self._working.pop(pipe)
                    if outcome is not None:
                        found.append((index, outcome))
            self._bury(by_s)
        return found

    def _bury(self, by_s: float) -> None:
        for member in self._members:
            member.process.join(max(0.0, by_s - time.monotonic()))
            if member.process.exitcode is None:
                member.process.kill()
                member.process.join()
            member.pipe.close()
        self._members.clear()
        self._working.clear()

    def _start(self, begins: Callable[[int], None]) -> None:
        ours, theirs = self._context.Pipe()
        # Why blocked: an interrupt that meets a process which is not yet its own would end it
        # with a trace, or be lost to this one.
        with _blocked():
            begun = [member.pipe for member in self._members]
            arguments = (theirs, [ours, *begun], self._targets, self._work_of, self._words)
            if self._context.get_start_method() != "fork":
                arguments = (theirs, [], self._targets, self._work_of, self._words)
            process = self._context.Process(target=_serve, args=arguments, daemon=True)  # type: ignore[attr-defined]
            process.start()
            theirs.close()
            self._members.append(_Member(process, ours))
        self._next(ours, begins)

    def _next(self, pipe: Connection, begins: Callable[[int], None]) -> None:
        if not self._left:
            return
        index = self._left.pop()
        begins(index)
        self._working[pipe] = index
        # Why suppressed: it is dead, which reading from it tells in a moment.
        with suppress(OSError):
            pipe.send(index)

    def _readable(self, most_s: float | None) -> list[Connection]:
        found = wait(list(self._working), most_s)
        return [pipe for pipe in self._working if pipe in found]

    def _received(self, pipe: Connection) -> Outcome | None:
        """Return what came of a target; None: the process is dead, or ended before it was done."""
        self._reading = pipe
        try:
            outcome: Outcome | None = pipe.recv()
        except (EOFError, OSError):
            outcome = None
        self._reading = None
        return outcome

    def _drop(self, pipe: Connection) -> None:
        (member,) = (each for each in self._members if each.pipe is pipe)
        self._members.remove(member)
        pipe.close()
        member.process.join()

    def _lost(self, index: int) -> Outcome:
        from agentmem_cli.operations.secrets.working import Outcome

        return Outcome(self._targets[index], error=Lost())


class _Ended(BaseException):
    """The first process wants this one to end."""


def _serve(
    pipe: Connection,
    others: Sequence[Connection],
    targets: Sequence[Target],
    work_of: Callable[..., Work],
    words: tuple[object, ...],
) -> None:
    """Be one of the processes: work on what is asked for until nobody asks any more."""
    sends = False
    ended = False

    def end(_: int, __: FrameType | None) -> None:
        nonlocal ended
        before, ended = ended, True
        sys.unraisablehook = _pass_by
        # Why not while it sends: half an outcome would tell nothing.
        if not (before or sends):
            raise _Ended

    # Why: Ctrl-C reaches every process of the terminal; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(_Ended, EOFError, OSError):
        signal.signal(signal.SIGTERM, end)
        _unblock()
        for other in others:
            other.close()
        work = work_of(*words)
        while not ended:
            outcome = work(targets[pipe.recv()])
            sends = True
            pipe.send(outcome)
            sends = False


def _pass_by(_: object) -> None:
    """Say nothing of an exception that nobody can take."""


_NUMBERS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def _blocked() -> Iterator[None]:
    """Let signals wait, also in a process that is started meanwhile."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _unblock() -> None:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _NUMBERS)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Pass over interrupts: what is done meanwhile is short, and must be done whole."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(number, signal.getsignal(number)) for number in _NUMBERS]
    for number in _NUMBERS:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
