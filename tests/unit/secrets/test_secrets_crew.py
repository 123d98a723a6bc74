"""Processes that work on targets: in what order, how they die, and how they are ended."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing import get_context
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.secrets import crew, pool
from agentmem_cli.operations.secrets.crew import Crew, Lost
from agentmem_cli.operations.secrets.spec import Spec
from agentmem_cli.operations.secrets.stopping import files_of, state_of
from agentmem_cli.operations.secrets.working import How, Outcome, Target
from agentmem_cli.storage.layout import REDO

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="these are forked")


def target(name: str) -> Target:
    return Target(name, f"/nowhere/{name}", is_session=False)


def work_of(mark: str) -> Callable[[Target], Outcome]:
    """What a target's name says: be quick, sleep, die, or hear nothing."""

    def work(each: Target) -> Outcome:
        if each.id == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if each.id == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if each.id in ("sleeps", "deaf"):
            time.sleep(60)
        return Outcome(each, name=mark + each.id)

    return work


def made(names: list[str], jobs: int = 2) -> Crew:
    order = list(range(len(names)))
    return Crew(get_context("fork"), list(map(target, names)), order, work_of, ("m-",), jobs)


def test_every_target_is_worked_on_once() -> None:
    begun: list[int] = []
    made_crew = made(["a", "b", "c", "d", "e"])

    found = sorted((index, outcome.name) for index, outcome in made_crew.outcomes(begun.append))
    left = made_crew.end()

    assert found == [(0, "m-a"), (1, "m-b"), (2, "m-c"), (3, "m-d"), (4, "m-e")]
    assert begun == [0, 1, 2, 3, 4]
    assert left == []


def test_a_process_that_is_killed_loses_its_target_and_no_other() -> None:
    made_crew = made(["a", "dies", "b", "dies", "c"])

    found = dict(made_crew.outcomes(lambda _: None))
    made_crew.end()

    assert sorted(found) == [0, 1, 2, 3, 4]
    assert [isinstance(found[index].error, Lost) for index in range(5)] == [
        False, True, False, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["sleeps", "deaf"])
def test_the_end_is_prompt_and_gives_what_was_done(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(crew, "END_S", 0.5)
    made_crew = made([name, "a"])
    first = next(made_crew.outcomes(lambda _: None))
    processes = [member.process for member in made_crew._members]

    made_crew.end()

    assert first[1].name == "m-a"
    assert [process.exitcode is None for process in processes] == [False, False]


def test_an_end_hears_no_second_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    made_crew = made(["sleeps", "a"])
    next(made_crew.outcomes(lambda _: None))
    real = Crew._readable

    def interrupted(self: Crew, most_s: float | None) -> list[Connection]:
        os.kill(os.getpid(), signal.SIGINT)
        return real(self, most_s)

    monkeypatch.setattr(Crew, "_readable", interrupted)

    assert made_crew.end() == []
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def test_what_fails_to_be_made_in_a_process_is_told_of_each_target() -> None:
    bad = Crew(get_context("fork"), [target("a")], [0], _fails, (), 1)

    ((index, outcome),) = list(bad.outcomes(lambda _: None))
    bad.end()

    assert index == 0
    assert isinstance(outcome.error, AgentMemError)


def _fails() -> Callable[[Target], Outcome]:
    raise OSError(5, "nothing can be read")


def test_a_run_that_is_stopped_tells_what_became_of_each_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / name for name in ("masked", "same", "later")]
    for path in paths:
        path.write_bytes(b"x")
    targets = [Target(path.name, str(path), is_session=False) for path in paths]

    def attempt(each: Target, *_: object) -> Outcome:
        if each.id == "same":
            raise KeyboardInterrupt
        return Outcome(each, changed=True)

    monkeypatch.setattr(pool, "attempt", attempt)
    run = pool.Run(targets, How(0, redact=True), Spec(None, None, rules=False))
    told: list[str] = []

    with pytest.raises(KeyboardInterrupt):
        told.extend(outcome.target.id for outcome in run.outcomes(None))
    stopped = run.stop()

    assert told == ["masked"]
    assert stopped.outcomes == ()
    assert [(each.name, each.state) for each in stopped.begun] == [("same", "unchanged")]
    assert run.stop() == ((), ())


def test_a_changed_target_is_known_by_its_files(tmp_path: Path) -> None:
    log = tmp_path / "one" / "logs" / "main.jsonl"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"{}\n")
    session = Target("one", str(tmp_path / "one"), is_session=True)
    before = files_of(session)

    log.write_bytes(b"{}\n{}\n")
    added = state_of(session, before)
    new = log.with_suffix(".new")
    new.write_bytes(b"[]\n")
    new.replace(log)
    replaced = state_of(session, before)
    (tmp_path / "one" / REDO).write_bytes(b"")

    assert added == "unchanged"
    assert replaced == "masked"
    assert state_of(session, before) == "unfinished"
