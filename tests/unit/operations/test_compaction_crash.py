"""Whatever fails in a compaction, a clearing or an undo, and wherever: the old state or the new."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.append import append
from agentmem_cli.operations.clearing import clear
from agentmem_cli.operations.compacting import Wish, compact
from agentmem_cli.operations.summarizing import GivenText
from agentmem_cli.operations.undoing import redo, undo
from agentmem_cli.session.clearing import ClearToolOutputs
from agentmem_cli.session.reader import load
from agentmem_cli.storage.directory import DirStore
from tests.talks import ask, call, reply, result
from tests.unit.storage.faults import Faults, calls_of, die_at, full_after, interrupt, refuse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
pytestmark = pytest.mark.slow
AT = 1_700_000_000_000
LONG = "a line that says much\n" * 60

State = tuple[list[tuple[int, int | None, bytes]], dict[int, object]]


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the disk: a process that dies loses nothing it wrote."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def compacted(store: DirStore) -> None:
    compact(store, "main", Wish(), GivenText("They built it."), at_ms=AT + 50)


def cleared(store: DirStore) -> None:
    clear(store, "main", ClearToolOutputs(0), at_ms=AT + 50)


def undone(store: DirStore) -> None:
    undo(store, "main", at_ms=AT + 60)


def redone(store: DirStore) -> None:
    redo(store, "main", at_ms=AT + 70)


WORKS = {
    "compact": ([], compacted),
    "clear": ([], cleared),
    "undo": ([compacted], undone),
    "redo": ([compacted, undone], redone),
    "undo in place": ([compacted], undone),
}


@pytest.fixture(params=WORKS)
def case(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Callable[[DirStore], None]]:
    """A session, and what is done to it."""
    before, work = WORKS[request.param]
    if request.param.endswith("in place"):
        monkeypatch.setattr("agentmem_cli.storage.extending.HELD_BYTES", 0)
    store = DirStore.open(tmp_path / "first")
    for second, message in enumerate([ask("go"), call("a"), result("a", LONG), reply("done")]):
        append(store, "main", [message], at_ms=AT + second)
    for each in before:
        each(store)
    return store.path, work


def again(session: Path, name: str) -> DirStore:
    target = session.with_name(name)
    shutil.copytree(session, target)
    return DirStore.open(target)


def state(store: DirStore) -> State:
    """What stands after a next command came by."""
    with store.batch() as batch:
        batch.write_file("probe", b"x")
    store.remove_file("probe")
    assert not store.pending()
    assert store.leftovers() == []
    assert not [name for name in store.files() if name.startswith("recovered/")]
    talk = load(store, "main")
    entries = [(entry.id, entry.made, entry.stored.raw) for entry in talk.entries]
    return entries, {id_: aside.to_value() for id_, aside in talk.asides.items()}


def states(session: Path, work: Callable[[DirStore], None]) -> tuple[State, State, int]:
    """The old state, the new one, and how many calls lead from the one to the other."""
    store = again(session, "measured")
    old = state(again(session, "old"))
    count = len(calls_of(lambda: work(store)))
    return old, state(store), count


@forks
@pytest.mark.parametrize("after", [False, True])
def test_after_a_kill_at_any_call_the_session_is_the_old_or_the_new(
    case: tuple[Path, Callable[[DirStore], None]], after: bool
) -> None:
    session, work = case
    old, new, count = states(session, work)
    outcomes = []
    for at in range(count):
        store = again(session, f"killed-{at}")
        assert die_at(at, lambda store=store: work(store), after=after)  # type: ignore[misc]
        outcomes.append(state(store))

    assert all(outcome in (old, new) for outcome in outcomes)
    assert old in outcomes
    assert new in outcomes


@forks
def test_a_kill_in_the_middle_of_any_write_leaves_no_half(
    case: tuple[Path, Callable[[DirStore], None]],
) -> None:
    session, work = case
    old, new, _ = states(session, work)
    outcomes = []
    for room in range(0, 6_000, 389):
        store = again(session, f"torn-{room}")
        _die_after_bytes(room, lambda store=store: work(store))  # type: ignore[misc]
        outcomes.append(state(store))

    assert all(outcome in (old, new) for outcome in outcomes)
    assert old in outcomes
    assert new in outcomes


def _die_after_bytes(room: int, work: Callable[[], None]) -> None:
    """Do *work* in a process of its own that dies when it has written *room* bytes in all."""
    child = os.fork()
    if child == 0:
        real = os.write
        left = room

        def write(descriptor: int, data: bytes) -> int:
            nonlocal left
            taken = real(descriptor, data[:left]) if left else 0
            left -= taken
            if left <= 0:
                os._exit(137)
            return taken

        try:
            with patch("os.write", write):
                work()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


@pytest.mark.parametrize("act", [refuse, interrupt])
def test_a_failure_or_an_interruption_at_any_call_leaves_the_old_or_the_new(
    case: tuple[Path, Callable[[DirStore], None]], act: Callable[[], None]
) -> None:
    session, work = case
    old, new, count = states(session, work)
    for at in range(count):
        store = again(session, f"failed-{at}")
        failed = False
        with Faults(act, at).active():
            try:
                work(store)
            except (OSError, AgentMemError, KeyboardInterrupt):
                failed = True

        found = state(store)
        assert found in (old, new)
        assert failed or found == new


def test_a_full_disk_leaves_the_old_or_the_new(
    case: tuple[Path, Callable[[DirStore], None]],
) -> None:
    session, work = case
    old, new, _ = states(session, work)
    for room in range(0, 5_000, 431):
        store = again(session, f"full-{room}")
        failed = False
        with full_after(room):
            try:
                work(store)
            except (OSError, AgentMemError):
                failed = True

        found = state(store)
        assert found in (old, new)
        assert failed or found == new
