"""A change of several blocks that fails or dies at any call: all of it is made, or nothing."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.core.changing import Current, Request, Wish, change
from agentmem_cli.operations.core.looking import look
from agentmem_cli.operations.core.planning import draft
from agentmem_cli.operations.core.verbs import clear, set_content
from agentmem_cli.session.core_memory import MemoryBlockType
from agentmem_cli.session.keys import SESSION
from agentmem_cli.storage.directory import DirStore
from tests.unit.storage.faults import Faults, calls_of, die_at, full_after, refuse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

KINDS = (MemoryBlockType.HUMAN, MemoryBlockType.FACTS, MemoryBlockType.GOALS)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the disk: a process that dies loses nothing it wrote."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    store = DirStore.open(tmp_path / "first")
    for kind in KINDS:
        set_content(store, SESSION, kind, f"old {kind}", Request(1))
    return store.path


def again(session: Path, name: str) -> DirStore:
    target = session.with_name(name)
    shutil.copytree(session, target)
    return DirStore.open(target)


def set_all(store: DirStore) -> None:
    def make(current: Current) -> Wish:
        return Wish({kind: draft(kind, f"new {kind}") for kind in KINDS})

    change(store, SESSION, Request(2), make)


def clear_all(store: DirStore) -> None:
    clear(store, SESSION, Request(2, by="bob", reason="start over"))


def contents(store: DirStore) -> list[str]:
    """What the blocks say after a next command came by that changes nothing of them."""
    with store.batch() as batch:
        batch.write_file("probe", b"x")
    assert not store.pending()
    assert store.leftovers() == []
    seen = look(store, SESSION)
    assert seen.damages == []
    return [each.content for each in seen.values.blocks.values()]


def steps(session: Path, work: Callable[[DirStore], None]) -> int:
    """Count the calls that *work* makes."""
    store = again(session, "measured")
    return len(calls_of(lambda: work(store)))


OLD = [f"old {kind}" for kind in KINDS]
CASES = [(set_all, [f"new {kind}" for kind in KINDS]), (clear_all, [])]


@forks
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("work", "new"), CASES)
def test_after_a_kill_at_any_call_the_blocks_are_the_old_or_the_new(
    session: Path, work: Callable[[DirStore], None], new: list[str], after: bool
) -> None:
    outcomes = []
    for at in range(steps(session, work)):
        store = again(session, f"killed-{at}")
        assert die_at(at, lambda store=store: work(store), after=after)  # type: ignore[misc]
        outcomes.append(contents(store))

    assert all(outcome in (OLD, new) for outcome in outcomes)
    assert OLD in outcomes
    assert new in outcomes


@forks
@pytest.mark.parametrize(("work", "new"), CASES)
def test_a_kill_in_the_middle_of_any_write_leaves_no_half(
    session: Path, work: Callable[[DirStore], None], new: list[str]
) -> None:
    outcomes = []
    for room in range(0, 3_000, 97):
        store = again(session, f"torn-{room}")
        _die_after_bytes(room, lambda store=store: work(store))  # type: ignore[misc]
        outcomes.append(contents(store))

    assert all(outcome in (OLD, new) for outcome in outcomes)
    assert OLD in outcomes
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


@pytest.mark.parametrize(("work", "new"), CASES)
def test_a_failure_at_any_call_leaves_the_old_or_the_new(
    session: Path, work: Callable[[DirStore], None], new: list[str]
) -> None:
    for at in range(steps(session, work)):
        store = again(session, f"failed-{at}")
        failed = False
        with Faults(refuse, at).active():
            try:
                work(store)
            except (OSError, AgentMemError):
                failed = True

        found = contents(store)
        assert found in (OLD, new)
        assert failed or found == new


@pytest.mark.parametrize(("work", "new"), CASES)
def test_a_full_disk_leaves_the_old_or_the_new(
    session: Path, work: Callable[[DirStore], None], new: list[str]
) -> None:
    for room in range(0, 2_000, 111):
        store = again(session, f"full-{room}")
        failed = False
        with full_after(room):
            try:
                work(store)
            except (OSError, AgentMemError):
                failed = True

        found = contents(store)
        assert found in (OLD, new)
        assert failed or found == new
