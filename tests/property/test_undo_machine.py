"""Sessions that are changed, undone and redone in any order, against a list of their states."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from agentmem_cli.errors import UsageError
from agentmem_cli.operations.append import append
from agentmem_cli.operations.clearing import clear
from agentmem_cli.operations.compacting import TRACKED, Wish, compact
from agentmem_cli.operations.core.changing import Request
from agentmem_cli.operations.core.changing import Wish as CoreWish
from agentmem_cli.operations.core.changing import change as change_core
from agentmem_cli.operations.core.planning import draft
from agentmem_cli.operations.places import resolve
from agentmem_cli.operations.restoring import restore, splice
from agentmem_cli.operations.summarizing import Embedded, GivenText
from agentmem_cli.operations.undoing import redo, undo
from agentmem_cli.session.aside import Aside
from agentmem_cli.session.author import Author
from agentmem_cli.session.change import ChangeRecord, Reset
from agentmem_cli.session.clearing import ClearToolOutputs
from agentmem_cli.session.core_memory import MemoryBlockType
from agentmem_cli.session.counting import estimate_tokens
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.reader import as_of, history, load
from agentmem_cli.session.refusals import Nothing, NotSmaller
from agentmem_cli.session.session import Session
from agentmem_cli.session.summaries import (
    COMPACTED,
    newest_request,
    request_of,
    summary_state,
    tracked_in,
)
from agentmem_cli.session.writer import append_records, save
from agentmem_cli.storage.directory import DirStore
from tests.talks import pairs, talks

if TYPE_CHECKING:
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.message import Message

State = tuple[Any, ...]
LOG = "main"
AT = 1_700_000_000_000


class UndoMachine(RuleBasedStateMachine):
    """The model is the states before each change that stands, and after each that was undone."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.unsynced = patch("os.fsync", lambda descriptor: None)
        self.unsynced.start()
        self.store = DirStore.open(Path(self.folder.name) / "s")
        self.at = AT
        self.undone: list[State] = []
        self.redone: list[State] = []

    def teardown(self) -> None:
        self.unsynced.stop()
        self.folder.cleanup()

    # -- the model --------------------------------------------------------------

    @property
    def talk(self) -> Conversation:
        return load(self.store, LOG)

    def state(self) -> State:
        """All that an undo gives back: entries with their times, compactions, values."""
        talk = self.talk
        compactions = [
            (id_, aside.to_value()) for id_, aside in talk.asides.items() if aside.kind == COMPACTED
        ]
        found = Session.read(self.store)
        saved = {key: value for key, value in found.saved.items() if key.startswith("core_memory.")}
        blocks = {key: value["content"] for key, value in saved.items()}  # type: ignore[index, call-overload]
        entries = [(e.id, e.made, e.author, e.message.value) for e in talk.entries]
        return entries, sorted(compactions, key=lambda pair: pair[0]), blocks

    def changed(self, before: State) -> None:
        self.undone.append(before)
        self.redone.clear()

    def tick(self) -> int:
        self.at += 1_000
        return self.at

    def is_there(self) -> bool:
        return LOG in self.store.logs()

    # -- changes -----------------------------------------------------------------

    @rule(messages=talks(2))
    def say(self, messages: list[Message]) -> None:
        if messages:
            before = self.state()
            append(self.store, LOG, messages, at_ms=self.tick())
            self.changed(before)

    @precondition(is_there)
    @rule(keep=st.sampled_from([None, 0, 50, 300]), text=st.sampled_from([None, "they built it"]))
    def compact(self, keep: int | None, text: str | None) -> None:
        before, old = self.state(), self.talk
        source = Embedded() if text is None else GivenText(text)
        data = self.store.read_log(LOG)
        try:
            done = compact(self.store, LOG, Wish(keep_tokens=keep), source, at_ms=self.tick())
        except NotSmaller:
            assert self.store.read_log(LOG) == data
            return
        new = self.talk
        if done.why_not is not None:
            assert self.store.read_log(LOG) == data
            return
        self.changed(before)
        cut = len(done.replaced)
        assert estimate_tokens(new.messages) == done.tokens_after
        assert done.tokens_after is not None
        assert done.tokens_after < done.tokens_before == estimate_tokens(old.messages)
        assert new.entries[1:] == old.entries[cut:]
        parted = [pair for pair in pairs(old.messages) if pair[0] < cut <= pair[1]]
        assert parted == []
        assert _request(new) == _request(old)
        gone = old.messages[:cut]
        grown = {pair for message in gone for pair in tracked_in(message.value, TRACKED)}
        assert _tracked(new) == _tracked(old) | grown

    @precondition(is_there)
    @rule(keep=st.sampled_from([0, 100, 1_000]))
    def clear(self, keep: int) -> None:
        before, ids = self.state(), [entry.id for entry in self.talk.entries]
        done = clear(self.store, LOG, ClearToolOutputs(keep, 0), at_ms=self.tick())
        assert [entry.id for entry in self.talk.entries] == ids
        if done.cleared.results:
            self.changed(before)

    @precondition(is_there)
    @rule(low=st.integers(0, 30), high=st.integers(0, 30), messages=talks(1), force=st.booleans())
    def splice(self, low: int, high: int, messages: list[Message], force: bool) -> None:
        before, entries = self.state(), self.talk.entries
        ids: list[int | None] = [*(entry.id for entry in entries), None]
        first, last = sorted((low % len(ids), high % len(ids)))
        bounds = (ids[first], ids[last])
        if bounds == (None, None):
            bounds = (None, None) if not entries else (ids[-2], None)
        data = self.store.read_log(LOG)
        try:
            splice(self.store, LOG, bounds, messages, at_ms=self.tick(), force=force)
        except UsageError:
            assert self.store.read_log(LOG) == data
        else:
            self.changed(before)

    @precondition(is_there)
    @rule(back=st.integers(0, 400))
    def restore(self, back: int) -> None:
        before = self.state()
        ns = [stamp.n for stamp, _ in history(self.store, LOG)]
        n = ns[back % len(ns)]
        place = resolve(self.store, LOG, str(n), now_ms=self.at, read_time=int)
        expected = as_of(self.store, LOG, n)
        done = restore(self.store, LOG, place, at_ms=self.tick())
        entries = [(e.id, e.made, e.message) for e in expected.entries]
        assert [(e.id, e.made, e.message) for e in self.talk.entries] == entries
        if done.written.records:
            self.changed(before)

    @rule(kind=st.sampled_from(list(MemoryBlockType)[:2]), text=st.sampled_from(["a", "b"]))
    def remember(self, kind: MemoryBlockType, text: str) -> None:
        before = self.state()
        request = Request(now_ms=self.tick())
        wish = CoreWish({kind: draft(kind, text)})
        done = change_core(self.store, SESSION, request, lambda _: wish)
        if done.last_n is not None:
            self.changed(before)

    @precondition(is_there)
    @rule()
    def note(self) -> None:
        talk = self.talk
        talk.put_aside(Aside("note", Author.rig(), self.at), at=self.tick())
        talk.set_halt("kept" if talk.halt is None else None, at=self.at)
        save(self.store, LOG, talk)

    @precondition(is_there)
    @rule()
    def begin_anew(self) -> None:
        """All is replaced, as an agent's host does it: nothing before can be undone."""
        reset = Reset(self.talk.state())
        made = [ChangeRecord(reset, None, self.tick())]
        append_records(self.store, LOG, lambda _: made, at=self.at)
        self.undone.clear()
        self.redone.clear()

    @rule(messages=talks(1))
    def another_speaks(self, messages: list[Message]) -> None:
        """What another agent says is no change of this one's."""
        if messages:
            append(self.store, "other", messages, at_ms=self.tick())

    # -- back and forth -----------------------------------------------------------

    @precondition(is_there)
    @rule(steps=st.integers(1, 3))
    def undo(self, steps: int) -> None:
        if len(self.undone) < steps:
            data = self.store.read_log(LOG)
            with pytest.raises(Nothing):
                undo(self.store, LOG, steps=steps, at_ms=self.tick())
            assert self.store.read_log(LOG) == data
            return
        now = self.state()
        undo(self.store, LOG, steps=steps, at_ms=self.tick())
        for _ in range(steps):
            self.redone.append(now)
            now = self.undone.pop()
        assert self.state() == now

    @precondition(is_there)
    @rule()
    def redo(self) -> None:
        before = self.state()
        if not self.redone:
            data = self.store.read_log(LOG)
            with pytest.raises(Nothing):
                redo(self.store, LOG, at_ms=self.tick())
            assert self.store.read_log(LOG) == data
            return
        redo(self.store, LOG, at_ms=self.tick())
        assert self.state() == self.redone.pop()
        self.undone.append(before)


def _tracked(talk: Conversation) -> set[tuple[str, str]]:
    """What the newest summary keeps track of: set and value."""
    return {(name, value) for name, values in summary_state(talk).tracked for value in values}


def _request(talk: Conversation) -> object:
    """The newest request, wherever it stands."""
    for entry in reversed(talk.entries):
        parts = request_of(entry)
        if parts is not None:
            return parts
    return newest_request(talk.entries, len(talk))


class InPlace(UndoMachine):
    """The same, where all that is appended is much, and goes in many small pieces."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces = ExitStack()
        self.pieces.enter_context(patch("agentmem_cli.storage.extending.HELD_BYTES", 0))
        self.pieces.enter_context(patch("agentmem_cli.session.takeback.PART_BYTES", 200))

    def teardown(self) -> None:
        self.pieces.close()
        super().teardown()


TestInPlace = InPlace.TestCase
TestInPlace.settings = settings(max_examples=15, stateful_step_count=14)
TestUndoMachine = UndoMachine.TestCase
TestUndoMachine.settings = settings(max_examples=40, stateful_step_count=14)
