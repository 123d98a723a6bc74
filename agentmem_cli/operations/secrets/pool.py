"""Many targets, one after the other or in several processes at once."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.outside import Passed
from agentmem_cli.operations.rewrites import hint_at_text
from agentmem_cli.operations.secrets.working import How, Outcome, Target, veil_of, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from multiprocessing.context import BaseContext

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
    """Work on *targets* and yield what came of each, in their order.

    What fails of one is in its outcome, and does not stop the others.

    Args:
        targets: Sessions or files.
        how: What is done with them.
        spec: What is looked for.
        jobs: Processes at once; each has as many threads as *spec* says.
        advance: Told the bytes that passed.
        slow: Called once where rules must be compiled first.

    Raises:
        EngineMissing: The engine's package is not installed.
    """
    if jobs <= 1 or len(targets) <= 1:
        looking = _looking_of(spec, slow)
        for target in targets:
            yield attempt(target, how, looking, advance)
        return
    yield from _in_processes(targets, how, spec, min(jobs, len(targets)), advance, slow)


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

    def __reduce__(self) -> tuple[object, ...]:
        return (AgentMemError, (str(self),))


_LOOKING: list[Looking] = []
"""Of a process of the pool, and before it is forked: what it looks with."""


def _begin(spec: Spec) -> None:
    import signal

    # Why: Ctrl-C reaches every process of the terminal; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if not _LOOKING:
        _LOOKING.append(spec.looking())


def _one(target: Target, how: How) -> Outcome:
    return attempt(target, how, _LOOKING[0])


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
    _LOOKING[:] = [looking]
    return get_context("fork")


def _in_processes(
    targets: Sequence[Target],
    how: How,
    spec: Spec,
    jobs: int,
    advance: Callable[[int], None] | None,
    slow: Callable[[], None] | None,
) -> Iterator[Outcome]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    context = _ready(spec, slow)
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(spec,))
    passes = 3 if how.redact else 1
    try:
        begun: dict[int, Future[Outcome]] = {}
        for index, size in largest_first(targets):
            begun[index] = pool.submit(_one, targets[index], how)
            if advance is not None:
                begun[index].add_done_callback(_advancing(advance, size * passes))
        for index in range(len(targets)):
            yield begun.pop(index).result()
    except BrokenProcessPool:
        msg = "a process of --jobs was ended from outside"
        raise AgentMemError(msg, hint="What it worked on is whole. Try --jobs 1.") from None
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list((pool._processes or {}).values()):  # noqa: SLF001 - there is no other way
            process.terminate()
        raise
    finally:
        _LOOKING.clear()
        pool.shutdown(wait=True, cancel_futures=True)


def largest_first(targets: Sequence[Target]) -> list[tuple[int, int]]:
    """Return the index and the bytes of each target, in the order in which they are begun.

    Why so: a large one that is begun last keeps one process busy and the others idle.
    """
    sizes = [(index, _size(target)) for index, target in enumerate(targets)]
    return sorted(sizes, key=lambda each: -each[1])


def _advancing(advance: Callable[[int], None], size: int) -> Callable[[Future[Outcome]], None]:
    def done(_: Future[Outcome]) -> None:
        advance(size)

    return done


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
