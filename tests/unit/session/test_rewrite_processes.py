"""Rewrites while other processes write."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import Busy
from agentmem_cli.session.author import Author
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.reader import history, load
from agentmem_cli.session.record import Saved
from agentmem_cli.session.rewriter import rewrite
from agentmem_cli.session.rewriting import Strings
from agentmem_cli.session.session import Session
from agentmem_cli.session.writer import append_records, save
from agentmem_cli.storage.directory import DirStore
from tests.unit.session.rewriting_sessions import AT, MASK, WORD, said

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.session.rewriting import Record

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

APPENDS = 60
LINES = 600


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A session with a log of some hundred KB, the word in every third message."""
    store = DirStore.open(tmp_path / "s")
    conversation = Conversation()
    for number in range(LINES):
        conversation.push(said(f"{WORD if number % 3 == 0 else 'plain'} {'x' * 200} {number}"))
    save(store, "main", conversation)
    return store.path


class Slow(Strings):
    """Replaces a word, and takes its time for it."""

    def __init__(self, old: str, new: str, begun: Callable[[], object]) -> None:
        super().__init__(lambda text: text.replace(old, new))
        self._begun = begun

    def line(self, at: Record, raw: bytes) -> bytes:
        assert at.stamp is not None
        if at.stamp.n == 1:
            self._begun()
            time.sleep(0.05)
        return super().line(at, raw)


def in_a_child(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        status = 99
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def append_all(path: Path) -> None:
    store = DirStore.open(path, lock_wait_s=50)
    for number in range(APPENDS):
        append_records(store, "main", lambda _, n=number: [Saved(f"k{n}", WORD)], at=AT)  # type: ignore[misc]


def test_nothing_that_is_appended_during_rewrites_is_lost(path: Path) -> None:
    store = DirStore.open(path, lock_wait_s=50)
    before = len(history(store, "main"))
    child = in_a_child(lambda: append_all(path))
    rewrites = 0
    while (ending := os.waitpid(child, os.WNOHANG)) == (0, 0):
        rewrite(store, Author.rig(), Slow(WORD, MASK, lambda: None), if_idle_ms=None)
        rewrites += 1
    rewrite(store, Author.rig(), Slow(WORD, MASK, lambda: None), if_idle_ms=None)

    found = history(store, "main")
    values = [record for _, record in found if isinstance(record, Saved)]
    assert ending == (child, 0)
    assert rewrites > 0
    assert len(found) == before + APPENDS
    assert values == [Saved(f"k{number}", MASK) for number in range(APPENDS)]
    assert [stamp.n for stamp, _ in found] == list(range(1, before + APPENDS + 1))
    assert WORD.encode() not in store.read_log("main")


def test_of_two_rewrites_at_once_the_second_waits_and_finds_the_first_one_done(
    path: Path,
) -> None:
    def other() -> None:
        store = DirStore.open(path, lock_wait_s=50)
        rewrite(store, Author.user(), Slow("plain", "2nd", lambda: None), if_idle_ms=None)

    children: list[int] = []
    store = DirStore.open(path, lock_wait_s=50)
    slow = Slow(WORD, MASK, lambda: children.append(in_a_child(other)))
    rewrite(store, Author.rig(), slow, if_idle_ms=None)

    assert [ended(child) for child in children] == [0]
    data = store.read_log("main")
    assert WORD.encode() not in data
    assert b"plain" not in data
    (agent,) = Session.read(store).agents
    assert [item.by for item in agent.rewrites] == [Author.rig(), Author.user()]
    assert len(load(store, "main")) == LINES
    assert store.leftovers() == []


def test_who_does_not_wait_long_enough_is_told_that_it_is_busy(path: Path) -> None:
    statuses: list[int] = []

    def other() -> None:
        try:
            rewrite(DirStore.open(path), None, Strings(str.upper), wait_s=0.01)
        except Busy as error:
            os._exit(error.exit_code)

    slow = Slow(WORD, MASK, lambda: statuses.append(ended(in_a_child(other))))
    rewrite(DirStore.open(path), None, slow, if_idle_ms=None)

    assert statuses == [Busy.exit_code]
    assert b"PLAIN" not in DirStore.open(path).read_log("main")
