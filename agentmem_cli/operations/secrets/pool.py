"""Many targets, one after the other or in several processes at once."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.outside import Passed
from agentmem_cli.operations.refused import UNCHANGED, hint_of, is_refusal
from agentmem_cli.operations.rewrites import hint_at_text
from agentmem_cli.operations.secrets.loading import settle
from agentmem_cli.operations.secrets.stopping import Begun, Stopped, files_of, state_of
from agentmem_cli.operations.secrets.working import How, Outcome, Target, veil_of, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.context import BaseContext

    from agentmem_cli.operations.secrets.crew import Crew
    from agentmem_cli.operations.secrets.looking import Looking
    from agentmem_cli.operations.secrets.spec import Spec
    from agentmem_cli.operations.secrets.told import Veil


def run_all(
    targets: Sequence[Target],
    how: How,
    spec: Spec,
    *,
    jobs: int = 1,
    advance: Callable[[int], None] | None = None,
    slow: Callable[[], None] | None = None,
) -> Iterator[Outcome]:
    """Do as `Run` does, for who only looks.

    Raises:
        EngineMissing: The engine's package is not installed.
    """
    run = Run(targets, how, spec, jobs=jobs, slow=slow)
    try:
        yield from run.outcomes(advance)
    finally:
        run.stop()


class Run:
    """Works on targets and yields what came of each, in their order.

    What fails of one is in its outcome, and does not stop the others. Call `stop` at the
    end, and where something ends it before.

    Args:
        targets: Sessions or files.
        how: What is done with them.
        spec: What is looked for.
        jobs: Processes at once; each has as many threads as *spec* says.
        slow: Called once where rules must be compiled first.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        how: How,
        spec: Spec,
        *,
        jobs: int = 1,
        slow: Callable[[], None] | None = None,
    ) -> None:
        self._targets = targets
        self._how = how
        self._spec = spec
        self._jobs = min(jobs, len(targets))
        self._slow = slow
        self._crew: Crew | None = None
        self._begun: dict[int, dict[str, int]] = {}
        self._done: dict[int, Outcome] = {}

    def outcomes(self, advance: Callable[[int], None] | None) -> Iterator[Outcome]:
        """Yield what came of each target; *advance* is told the bytes that passed.

        Raises:
            EngineMissing: The engine's package is not installed.
        """
        if self._jobs > 1:
            yield from self._in_processes(advance)
            return
        looking = _looking_of(self._spec, self._slow)
        for index, target in enumerate(self._targets):
            self._begins(index)
            self._done[index] = attempt(target, self._how, looking, advance)
            self._begun.pop(index, None)
            # Why not taken out before: an interrupt may come before it is told.
            yield self._done[index]
            del self._done[index]

    def stop(self) -> Stopped:
        """End what is still going on, and say what became of it; nothing of that comes twice."""
        crew, self._crew = self._crew, None
        if crew is not None:
            _LOOKING.clear()
            for index, outcome in crew.end():
                self._done[index] = outcome
        begun = [index for index in sorted(self._begun) if index not in self._done]
        looking = _looking_of(self._spec) if begun else None
        told: list[Begun] = []
        for index in begun:
            target = self._targets[index]
            assert looking is not None
            name = veil_of(target, looking)(target.id)
            told.append(Begun(target, name, state_of(target, self._begun[index])))
        outcomes = tuple(self._done[index] for index in sorted(self._done))
        self._done.clear()
        self._begun.clear()
        return Stopped(outcomes, tuple(told))

    def _begins(self, index: int) -> None:
        if self._how.redact:
            self._begun[index] = files_of(self._targets[index])

    def _in_processes(self, advance: Callable[[int], None] | None) -> Iterator[Outcome]:
        from agentmem_cli.operations.secrets.crew import Crew

        context = _ready(self._spec, self._slow)
        sizes = dict(largest_first(self._targets))
        words = (self._spec, self._how)
        self._crew = Crew(context, self._targets, list(sizes), _work_of, words, self._jobs)
        passes = 3 if self._how.redact else 1
        told = 0
        for index, outcome in self._crew.outcomes(self._begins):
            self._done[index] = outcome
            self._begun.pop(index, None)
            if advance is not None:
                advance(sizes[index] * passes)
            while told in self._done:
                yield self._done[told]
                del self._done[told]
                told += 1


def hidden(
    passed: Sequence[Passed], spec: Spec, slow: Callable[[], None] | None = None
) -> list[Passed]:
    """Return what was passed by, told without the secrets in its names."""
    if not passed:
        return []
    looking = _looking_of(spec, slow)
    veils = [
        (each, veil_of(Target(each.path, each.path, is_session=False), looking)) for each in passed
    ]
    return [Passed(veil(each.path), each.why) for each, veil in veils]


_READY: list[tuple[Spec, Looking]] = []
"""What this process looks with: made once, though a run may look several times."""


def _looking_of(spec: Spec, slow: Callable[[], None] | None = None) -> Looking:
    if not _READY or _READY[0][0] is not spec:
        _READY[:] = [(spec, spec.looking(slow))]
    return _READY[0][1]


def attempt(
    target: Target, how: How, looking: Looking, advance: Callable[[int], None] | None = None
) -> Outcome:
    """Work on one target; what fails is in the outcome."""
    try:
        return work(target, how, looking, advance)
    except (AgentMemError, OSError) as error:
        if how.redact and is_refusal(error) and not hasattr(error, "__notes__"):
            error.add_note(UNCHANGED)
        if isinstance(error, AgentMemError) and error.hint is None:
            error.hint = hint_of(error)
        # Why without what it came from: that may hold bytes of what was read.
        error.__cause__ = error.__context__ = None
        return _failed(target, how, looking, error)
    except Exception as error:  # noqa: BLE001 - its words may hold a secret
        return _failed(target, how, looking, Hidden(error))


def _failed(target: Target, how: How, looking: Looking, error: AgentMemError | OSError) -> Outcome:
    """Return the outcome of a failure, told without the secrets in the target's name."""
    veil = veil_of(target, looking)
    if isinstance(error, OSError):
        error.filename = veil(os.fsdecode(error.filename or target.path))
        if error.filename2 is not None:
            error.filename2 = veil(os.fsdecode(error.filename2))
        return Outcome(target, error=error, name=veil(target.id))
    if how.redact and how.damaged == "refuse":
        hint_at_text(error)
    words = str(error)
    if veil(words) != words:
        error = Veiled.of(error, veil)
    return Outcome(target, error=error, name=veil(target.id))


class Veiled(AgentMemError):
    """A failure told without the secrets that its words name, as a file's name may."""

    @classmethod
    def of(cls, error: AgentMemError, veil: Veil) -> Veiled:
        """Tell *error* through *veil*."""
        hint = None if error.hint is None else veil(error.hint)
        veiled = cls(veil(str(error)), hint=hint)
        vars(veiled).update(exit_code=error.exit_code, kind=error.kind)
        for note in getattr(error, "__notes__", ()):
            veiled.add_note(veil(note))
        return veiled


class Hidden(AgentMemError):
    """A mistake of ours, told without its words, which may repeat what was read."""

    kind = "internal"
    hint = "This is a mistake in agentmem. Please report it with these words alone."

    def __init__(self, error: BaseException) -> None:
        """Tell the kind of *error* and where it came up."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = ""
        if trace is not None:
            module = trace.tb_frame.f_globals.get("__name__", "?")
            where = f" in {module}, line {trace.tb_lineno}"
        super().__init__(f"internal error, {type(error).__name__}{where}")


_LOOKING: list[Looking] = []
"""Of a process of the pool, and before it is forked: what it looks with."""


def _work_of(spec: Spec, how: How) -> Callable[[Target], Outcome]:
    """Return what a process of `Crew` does."""
    if not _LOOKING:
        _LOOKING.append(spec.looking())
    looking = _LOOKING[0]
    return lambda target: attempt(target, how, looking)


def _ready(spec: Spec, slow: Callable[[], None] | None) -> BaseContext:
    """Return how processes are made, once what they look with is ready or kept for them.

    Why forked on Linux: 0.5 s of imports and rules are theirs at once. Elsewhere the system's
    own libraries do not bear it.
    """
    from multiprocessing import get_context

    # Why here first: what no process can begin with is told once and plainly.
    looking = _looking_of(spec, slow)
    if sys.platform != "linux":
        return get_context("spawn")
    if looking.detector is not None:
        # Why: it waits for the rules, and a process that is forked has no thread to load them.
        looking.detector.scan(b"")
        settle()
    _LOOKING[:] = [looking]
    return get_context("fork")


def largest_first(targets: Sequence[Target]) -> list[tuple[int, int]]:
    """Return the index and the bytes of each target, in the order in which they are begun.

    Why so: a large one that is begun last keeps one process busy and the others idle.
    """
    sizes = [(index, _size(target)) for index, target in enumerate(targets)]
    return sorted(sizes, key=lambda each: -each[1])


def _size(target: Target) -> int:
    """Return the bytes of a target; what cannot be asked counts nothing."""
    if not target.is_session:
        return _size_of(target.path)
    return sum(
        _size_of(os.path.join(folder, name))  # noqa: PTH118 - thousands of names
        for folder, _, names in os.walk(target.path)
        for name in names
    )


def _size_of(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
