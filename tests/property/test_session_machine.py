"""A session that is written, torn, opened again and forked in any order, against what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentmem_cli import errors
from agentmem_cli.session.codec import same
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.live import Writer
from agentmem_cli.session.message import Message
from agentmem_cli.session.pairing import at_rest
from agentmem_cli.session.reader import as_of, history, load
from agentmem_cli.session.session import Session
from agentmem_cli.storage.memory import MemoryStore
from tests.strategies import Edit, Editor, edits, json_values

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON

TORN = st.sampled_from([b'{"seq":1', b"\0" * 20, b"\xff", b"half a line\n"])


class SessionMachine(RuleBasedStateMachine):
    """The model is a copy of the conversation as it was saved last, and the values set."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.editor = Editor()
        self.writer = Writer()
        self.saved = Conversation()
        self.values: dict[str, JSON] = {}
        self.torn = 0
        self.moments: dict[int, Conversation] = {}
        self.open_again()

    def open_again(self) -> None:
        at = self.editor.at
        self.writer, session = Writer.open(self.store)
        self.torn = 0
        self.writer.start()
        found = [agent.conversation for agent in session.agents if agent.id == "main"]
        self.editor = Editor(found[0] if found else None)
        self.editor.at = at

    @rule(edit=st.deferred(edits))
    def change(self, edit: Edit) -> None:
        self.editor.run([edit])

    @rule()
    def say(self) -> None:
        self.editor.conversation.push(Message.assistant("x"), at=self.editor.at)

    @precondition(lambda self: not self.torn)
    @rule()
    def save(self) -> None:
        conversation = self.editor.conversation
        self.writer.save("main", conversation)
        self.saved = conversation.copy()
        assert conversation.unsaved == ()
        if self.store.logs():
            self.moments[self.last_n() + 1] = self.saved

    @precondition(lambda self: not self.torn)
    @rule(key=st.sampled_from(["k", "l"]), value=json_values(3))
    def set_value(self, key: str, value: JSON) -> None:
        self.writer.set_value("main", key, value)
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = value

    @precondition(lambda self: "main" in self.store.logs())
    @rule(tail=TORN)
    def tear(self, tail: bytes) -> None:
        if not self.torn:
            self.store.append_log("main", len(self.store.read_log("main")), tail)
            self.torn = len(tail)

    @rule()
    def reopen(self) -> None:
        recovered = len(self.store.files())
        torn = self.torn
        self.open_again()
        assert len(self.store.files()) >= recovered
        assert not torn or any(name.startswith("recovered/main-") for name in self.store.files())
        assert self.editor.conversation == self.saved

    @precondition(lambda self: not self.torn and "main" in self.store.logs())
    @rule()
    def fork(self) -> None:
        name = f"fork{len(self.store.logs())}"
        if self.writer.fork_log("main", name):
            copy = load(self.store, name)
            assert not copy.entries or at_rest(copy.messages)
            assert (
                history(self.store, name)
                == history(self.store, "main")[: len(history(self.store, name))]
            )
            assert copy == self.saved or not at_rest(self.saved.messages)

    def last_n(self) -> int:
        records = history(self.store, "main")
        return records[-1][0].n if records else 0

    @invariant()
    def the_log_folds_to_what_was_saved(self) -> None:
        assert load(self.store, "main") == self.saved
        assert self.writer.failure() is None

    @invariant()
    def values_are_those_that_were_set(self) -> None:
        for agent in Session.read(self.store).agents:
            assert agent.id != "main" or same(agent.saved, self.values)

    @invariant()
    def every_moment_can_be_gone_back_to(self) -> None:
        for n, conversation in self.moments.items():
            assert as_of(self.store, "main", n) == conversation


SessionMachine.TestCase.settings = settings(max_examples=20, stateful_step_count=15)
TestSession = SessionMachine.TestCase


def test_a_torn_log_under_an_open_writer_is_told_and_not_written_over() -> None:
    store = MemoryStore()
    writer, _ = Writer.open(store)
    writer.start()
    conversation = Conversation([Message.user("a")])
    writer.save("main", conversation)
    store.append_log("main", len(store.read_log("main")), b"torn")
    before = store.read_log("main")
    conversation.push(Message.assistant("b"))

    writer.save("main", conversation)

    assert store.read_log("main") == before
    with pytest.raises(errors.Changed):
        writer.flush()
