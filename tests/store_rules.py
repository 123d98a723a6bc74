"""What people and agents do to a store, each thing done to the store and to its model."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from agentmem_cli.errors import (
    BlockNotFound,
    NotFoundError,
    UsageError,
)
from agentmem_cli.operations import append as appending
from agentmem_cli.operations import forking, labelling
from agentmem_cli.operations.catalog import Found
from agentmem_cli.operations.clearing import clear
from agentmem_cli.operations.compacting import Wish, compact
from agentmem_cli.operations.core import verbs
from agentmem_cli.operations.core.changing import Request
from agentmem_cli.operations.places import resolve
from agentmem_cli.operations.restoring import splice
from agentmem_cli.operations.secrets.given import read_literals
from agentmem_cli.operations.secrets.looking import Looking
from agentmem_cli.operations.secrets.masks import Masks
from agentmem_cli.operations.summarizing import GivenText
from agentmem_cli.operations.undoing import undo
from agentmem_cli.session.clearing import PLACEHOLDER, ClearToolOutputs
from agentmem_cli.session.core_memory import MemoryBlockType
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.message import Message
from agentmem_cli.session.pairing import at_rest
from agentmem_cli.session.reader import fold_log
from agentmem_cli.session.refusals import Nothing, NotSmaller
from agentmem_cli.session.writer import last_n
from agentmem_cli.storage.directory import DirStore
from tests.secrets_made import KEY
from tests.store_model import (
    LITERAL,
    Agent,
    Kept,
    Line,
    cleared,
    plain,
    said_in,
)
from tests.strategies import base64_data
from tests.talks import ask, call, reply, results

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object

AT = 1_700_000_000_000
AGENTS = ("main", "aide")
WORDS = st.sampled_from(["tides", "the moon", f"with {LITERAL} in it", "é" * 30, "x\u2028y"])
KINDS = (MemoryBlockType.HUMAN, MemoryBlockType.FACTS)
INDEX = st.integers(0, 11)
LOOKING = Looking(None, Masks(KEY), read_literals(LITERAL + "\n", "given"), threads=1)


def _picture(number: int, text: str) -> Message:
    image: Object = {
        "type": "image",
        "data": base64_data(b"\x89PNG\r\n\x1a\n" + bytes([number]) * 40),
        "media_type": "png",
    }
    return Message.user([{"type": "text", "text": text}, image])


def _turns() -> st.SearchStrategy[list[Message]]:
    """What is said at once: a request, maybe calls with their results, a reply."""

    def turn(text: str, how: int, answered: bool) -> list[Message]:
        said = [_picture(how, text) if how < 4 else ask(text)]
        if how % 4 in (1, 2):
            said.append(call("a", "b", text="looking", path=text))
            said.append(results("a", "b", text=f"output {text} " * (1 + 20 * how)))
        return [*said, reply(f"done: {text}")] if answered else said

    return st.builds(turn, WORDS, st.integers(0, 9), st.sampled_from([True, True, True, False]))


def any_session(machine: Rules) -> bool:
    """Whether there is a session to do something to."""
    return bool(machine.kept)


class Rules(RuleBasedStateMachine):
    """Each rule does one thing to the store and to the model, and says what it touched."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.unsynced = patch("os.fsync", lambda descriptor: None)
        self.unsynced.start()
        self.root = Path(self.folder.name, "root")
        self.at = AT
        self.kept: dict[str, Kept] = {}
        self.touched: set[str] = set()
        self.seen: dict[str, object] = {}
        self.names = 0

    # -- helpers -------------------------------------------------------------------

    def tick(self) -> int:
        self.at += 1_000
        return self.at

    def name(self) -> str:
        self.names += 1
        return f"s{self.names}"

    def store(self, kept: Kept) -> DirStore:
        self.touched.add(kept.name)
        return DirStore.open(self.root / kept.name)

    def found(self, kept: Kept) -> Found:
        return Found(kept.name, str(self.root / kept.name))

    def pick(self, which: int, *, strict: bool = True, whole: bool = False) -> Kept | None:
        """A session; one that is read strictly, or one that nothing was done to."""
        fit = [
            kept
            for kept in self.kept.values()
            if (kept.is_whole or not whole) and (kept.is_strict or not strict)
        ]
        return fit[which % len(fit)] if fit else None

    def agent(self, which: int) -> tuple[Kept, DirStore, str, Agent] | None:
        """An agent of a session that is read strictly."""
        fit = [(kept, log) for kept in self.kept.values() if kept.is_strict for log in kept.agents]
        if not fit:
            return None
        kept, log = fit[which % len(fit)]
        return kept, self.store(kept), log, kept.agents[log]

    def mends_its_end(self, kept: Kept, log: str) -> None:
        """A log was written to: a torn end of it was set aside, and so was a meta in ruins."""
        if kept.hurt == "meta" or (kept.hurt in ("torn", "cut") and kept.where == log):
            kept.hurt = None

    @initialize(text=WORDS, said=_turns(), more=_turns())
    def begin(self, text: str, said: list[Message], more: list[Message]) -> None:
        """There is a session with two agents, so that each rule has something to do."""
        self.new(text)
        self.append(0, "main", said)
        self.append(0, "aide", more)

    # -- what people and agents do --------------------------------------------------

    @precondition(lambda self: len(self.kept) < 4)
    @rule(text=WORDS)
    def new(self, text: str) -> None:
        name = self.name()
        labels = {"about": text, "keep": "yes"}
        appending.new(
            self.root, name, title=text, labels=labels, now_ms=self.tick(), lock_wait_s=1.0
        )
        made = self.kept[name] = Kept(name)
        made.labels, made.title = {**labels}, text
        self.touched.add(name)

    @precondition(any_session)
    @rule(which=INDEX, log=st.sampled_from(AGENTS), said=_turns())
    def append(self, which: int, log: str, said: list[Message]) -> None:
        kept = self.pick(which)
        if kept is None:
            return
        done = appending.append(self.store(kept), log, said, at_ms=self.tick())
        agent = kept.agents.setdefault(log, Agent())
        kept.main = kept.main or log
        self.mends_its_end(kept, log)
        assert agent.given.isdisjoint(done.ids)
        new = zip(done.ids, (plain(message.value) for message in said), strict=True)
        agent.becomes(done.last_n, (*agent.said, *new))

    @precondition(any_session)
    @rule(which=INDEX, text=WORDS)
    def label(self, which: int, text: str) -> None:
        kept = self.pick(which, whole=True)
        if kept is None:
            return
        store = self.store(kept)
        labelling.set_title(store, text, now_ms=self.tick())
        labelling.set_labels(store, {"about": text}, ["keep"])
        kept.title = text
        kept.labels["about"] = text
        kept.labels.pop("keep", None)

    @precondition(any_session)
    @rule(
        which=INDEX,
        kind=st.sampled_from(KINDS),
        how=st.sampled_from(["set", "add", "unset"]),
        text=WORDS,
    )
    def remember(self, which: int, kind: MemoryBlockType, how: str, text: str) -> None:
        kept = self.pick(which, whole=True)
        if kept is None:
            return
        store, request = self.store(kept), Request(now_ms=self.tick())
        now = kept.blocks.now.state
        assert isinstance(now, dict)
        there = now.get(kind.value)
        if how == "unset":
            if there is None:
                with pytest.raises(BlockNotFound):
                    verbs.remove(store, SESSION, kind, request)
                return
            done = verbs.remove(store, SESSION, kind, request)
            new = {key: value for key, value in now.items() if key != kind.value}
        elif how == "set" or there is None:
            done = verbs.set_content(store, SESSION, kind, text, request)
            new = {**now, kind.value: text}
        else:
            done = verbs.edit_content(store, SESSION, kind, request, lambda old: old + text)
            new = {**now, kind.value: there + text}
        assert (done.last_n is None) == (new == now)
        if done.last_n is not None:
            kept.blocks.becomes(done.last_n, new)

    # -- changes of what was said -----------------------------------------------------

    @precondition(any_session)
    @rule(which=INDEX, low=INDEX, high=INDEX, said=_turns())
    def splice(self, which: int, low: int, high: int, said: list[Message]) -> None:
        found = self.agent(which)
        if found is None or not found[3].said:
            return
        kept, store, log, agent = found
        ids: list[int | None] = [*(id_ for id_, _ in agent.said), None]
        first = min(low % len(ids), len(ids) - 2)
        last = min(len(ids) - 1, first + 1 + high % 3)
        bounds = (ids[first], ids[last])
        try:
            done = splice(store, log, bounds, said, at_ms=self.tick())
        except UsageError:
            return
        assert done.written.first_n is not None
        self.mends_its_end(kept, log)
        assert agent.given.isdisjoint(done.put)
        new = zip(done.put, (plain(message.value) for message in said), strict=True)
        agent.becomes(done.written.first_n, (*agent.said[:first], *new, *agent.said[last:]))

    @precondition(any_session)
    @rule(which=INDEX)
    def clear(self, which: int) -> None:
        found = self.agent(which)
        if found is None or not found[3].said:
            return
        kept, store, log, agent = found
        done = clear(store, log, ClearToolOutputs(0, 0), at_ms=self.tick())
        new = cleared(agent.said, PLACEHOLDER)
        assert (done.written.first_n is None) == (new == agent.said)
        if done.written.first_n is not None:
            self.mends_its_end(kept, log)
            agent.becomes(done.written.first_n, new)

    @precondition(any_session)
    @rule(which=INDEX, keep=st.sampled_from([0, 50]))
    def compact(self, which: int, keep: int) -> None:
        found = self.agent(which)
        if found is None or not found[3].said:
            return
        kept, store, log, agent = found
        source = GivenText(f"They built it. {LITERAL}")
        n = last_n(store) + 1
        try:
            done = compact(store, log, Wish(keep_tokens=keep), source, at_ms=self.tick())
        except NotSmaller:
            return
        if done.why_not is not None:
            return
        self.mends_its_end(kept, log)
        cut = len(done.replaced)
        assert done.summary is not None
        assert done.summary not in agent.given
        assert done.replaced == tuple(id_ for id_, _ in agent.said[:cut])
        summary = fold_log(store, log).conversation.entries[0]
        assert LITERAL in summary.message.text
        agent.becomes(n, (*said_in([summary]), *agent.said[cut:]))

    @precondition(any_session)
    @rule(which=INDEX)
    def undo(self, which: int) -> None:
        found = self.agent(which)
        if found is None:
            return
        kept, store, log, agent = found
        if not kept.is_whole:
            return
        lines: list[Line] = [line for line in (agent, kept.blocks) if line.now.stack]
        if not lines:
            with pytest.raises(Nothing):
                undo(store, log, at_ms=self.tick())
            return
        newest = max(lines, key=lambda line: line.now.stack[-1].n)
        done = undo(store, log, at_ms=self.tick())
        assert done.written.first_n is not None
        assert done.written.last_n is not None
        # Why: of a block that goes, a record before it says what is undone; a splice comes first.
        own = newest is kept.blocks
        newest.goes_back(done.written.last_n if own else done.written.first_n)

    # -- copies ------------------------------------------------------------------------

    @precondition(any_session)
    @rule(which=INDEX, back=st.integers(0, 5), inside=st.booleans())
    def fork(self, which: int, back: int, inside: bool) -> None:
        found = self.agent(which)
        if found is None or len(self.kept) > 4 or not found[0].is_whole:
            return
        kept, store, log, agent = found
        cuts = [0, *sorted(agent.cuts())]
        words = "now" if back == 0 else str(cuts[-min(back, len(cuts))])
        place = resolve(store, log, words, now_ms=self.at, read_time=int)
        if inside:
            self.fork_inside(kept, store, log, agent, place)
            return
        name = self.name()
        try:
            done = forking.fork_session(
                self.root,
                self.found(kept),
                store,
                log,
                place,
                new=name,
                now_ms=self.tick(),
                lock_wait_s=1.0,
            )
        except NotFoundError:
            return
        made = self.kept[name] = Kept(name)
        made.agents = {log: agent.copy(done.n + 1)}
        made.blocks = kept.blocks.before(done.n + 1)
        made.labels, made.main = {**kept.labels}, log
        made.rewritten = True
        self.touched.add(name)
        assert at_rest([Message.of(value) for _, value in made.agents[log].said])  # type: ignore[arg-type]

    def fork_inside(
        self, kept: Kept, store: DirStore, log: str, agent: Agent, place: object
    ) -> None:
        if "twin" in kept.agents:
            return
        with suppress(NotFoundError):
            done = forking.fork_agent(
                self.found(kept),
                store,
                log,
                place,  # type: ignore[arg-type]
                "twin",
                now_ms=self.tick(),
            )
            kept.agents["twin"] = agent.copy(done.n + 1)
