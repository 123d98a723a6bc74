"""Many targets, one after the other or in several processes at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.errors import AgentMemError, EngineMissing
from agentmem_cli.operations.secrets.working import How, Outcome, Target, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentmem_cli.operations.secrets.looking import Looking
    from agentmem_cli.operations.secrets.spec import Spec


def run_all(
    targets: Sequence[Target],
    how: How,
    spec: Spec,
    *,
    jobs: int = 1,
    advance: Callable[[int], None] | None = None,
) -> Iterator[Outcome]:
    """Work on *targets* and yield what came of each, in their order.

    What fails of one is in its outcome, and does not stop the others.

    Args:
        targets: Sessions or files.
        how: What is done with them.
        spec: What is looked for.
        jobs: Processes at once; each has as many threads as *spec* says.
        advance: Told the bytes that passed.

    Raises:
        EngineMissing: The engine's package is not installed.
    """
    if jobs <= 1 or len(targets) <= 1:
        looking = spec.looking()
        for target in targets:
            yield attempt(target, how, looking, advance)
        return
    yield from _in_processes(targets, how, spec, min(jobs, len(targets)), advance)


def attempt(
    target: Target, how: How, looking: Looking, advance: Callable[[int], None] | None = None
) -> Outcome:
    """Work on one target; what fails is in the outcome."""
    try:
        return work(target, how, looking, advance)
    except (AgentMemError, OSError) as error:
        # Why without what it came from: that may hold bytes of what was read.
        error.__cause__ = error.__context__ = None
        return Outcome(target, error=error)
    except Exception as error:  # noqa: BLE001 - its words may hold a secret
        return Outcome(target, error=Hidden(error))


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
"""Of a process of the pool: what it looks with."""


def _begin(spec: Spec) -> None:
    import signal

    # Why: Ctrl-C reaches every process of the terminal; the first one ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _LOOKING.append(spec.looking())


def _one(target: Target, how: How) -> Outcome:
    return attempt(target, how, _LOOKING[0])


def _in_processes(
    targets: Sequence[Target],
    how: How,
    spec: Spec,
    jobs: int,
    advance: Callable[[int], None] | None,
) -> Iterator[Outcome]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    if spec.rules:
        # Why here first: a missing engine is told once and plainly.
        from importlib.util import find_spec

        if find_spec("kingfisher_sdk") is None:
            raise EngineMissing
    spawn = get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_begin, initargs=(spec,))
    try:
        for outcome in pool.map(_one, targets, [how] * len(targets)):
            if advance is not None:
                advance(outcome.size * (3 if how.redact else 1))
            yield outcome
    except BrokenProcessPool:
        msg = "a process of --jobs was ended from outside"
        raise AgentMemError(msg, hint="What it worked on is whole. Try --jobs 1.") from None
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list((pool._processes or {}).values()):  # noqa: SLF001 - there is no other way
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
