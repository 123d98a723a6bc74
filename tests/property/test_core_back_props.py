"""Undo of core memory with read-only blocks, against a plain list of changes."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from agentmem_cli.errors import BlockNotFound, NotFoundError
from agentmem_cli.operations.core import history, verbs
from agentmem_cli.operations.core.changing import Request, Wish, change
from agentmem_cli.operations.core.looking import follow, look
from agentmem_cli.operations.core.planning import draft
from agentmem_cli.operations.core.refusals import BlockProtected
from agentmem_cli.session.core_memory import MemoryBlockType
from agentmem_cli.session.keys import SESSION
from agentmem_cli.storage.directory import DirStore

if TYPE_CHECKING:
    from agentmem_cli.operations.core.changing import Current

KINDS = (MemoryBlockType.HUMAN, MemoryBlockType.FACTS, MemoryBlockType.GOALS)
STEPS = st.one_of(
    st.tuples(st.just("set"), st.sets(st.sampled_from(KINDS), min_size=1), st.integers(0, 9)),
    st.tuples(st.just("protect"), st.sets(st.sampled_from(KINDS), max_size=1), st.integers(0, 1)),
    st.tuples(st.just("undo"), st.just(frozenset[MemoryBlockType]()), st.integers(1, 3)),
)
Step = tuple[str, frozenset[MemoryBlockType] | set[MemoryBlockType], int]
State = dict[MemoryBlockType, str]


class Model:
    """What stands, what is guarded, and the changes that stand, each with what stood before."""

    def __init__(self) -> None:
        self.state: State = {}
        self.guarded: set[MemoryBlockType] = set()
        self.changes: list[dict[MemoryBlockType, str | None]] = []

    def put(self, kinds: set[MemoryBlockType], text: str) -> None:
        changing = {kind for kind in kinds if self.state.get(kind) != text}
        if changing and not changing & self.guarded:
            self.changes.append({kind: self.state.get(kind) for kind in changing})
            self.state.update(dict.fromkeys(changing, text))

    def undo(self, steps: int) -> bool:
        held = set(self.guarded)
        taken: list[dict[MemoryBlockType, str | None]] = []
        for each in reversed(self.changes):
            if held & each.keys():
                held |= each.keys()
            elif len(taken) < steps:
                taken.append(each)
        if len(taken) < steps:
            return False
        for each in taken:
            for kind, before in each.items():
                if before is None:
                    del self.state[kind]
                else:
                    self.state[kind] = before
        self.changes = [each for each in self.changes if all(each is not one for one in taken)]
        return True


def put(store: DirStore, kinds: set[MemoryBlockType], text: str, request: Request) -> None:
    def make(current: Current) -> Wish:
        blocks = current.values.blocks
        return Wish({kind: draft(kind, text, like=blocks.get(kind)) for kind in kinds})

    change(store, SESSION, request, make)


def guard(
    store: DirStore, model: Model, kind: MemoryBlockType, request: Request, *, read_only: bool
) -> None:
    try:
        verbs.protect(store, SESSION, kind, request, read_only=read_only)
    except BlockNotFound:
        assert kind not in model.state
    else:
        (model.guarded.add if read_only else model.guarded.discard)(kind)


def do(store: DirStore, model: Model, step: Step, request: Request) -> None:
    name, kinds, number = step
    match name:
        case "set":
            model.put({*kinds}, str(number))
            try:
                put(store, {*kinds}, str(number), request)
            except BlockProtected:
                assert model.guarded & kinds
        case "protect":
            for kind in kinds:
                guard(store, model, kind, request, read_only=bool(number))
        case _:
            could = model.undo(number)
            try:
                verbs.undo(store, SESSION, request, steps=number)
            except (BlockProtected, NotFoundError):
                assert not could
            else:
                assert could


HUMAN, FACTS = {MemoryBlockType.HUMAN}, {MemoryBlockType.FACTS}


@given(st.lists(STEPS, max_size=14))
@example(
    [
        ("set", FACTS, 1),
        ("set", HUMAN, 1),
        ("set", FACTS, 2),
        ("protect", HUMAN, 1),
        ("undo", set(), 2),
        ("protect", HUMAN, 0),
        ("undo", set(), 1),
    ]
)
@example(
    [
        ("set", FACTS, 1),
        ("set", HUMAN | FACTS, 2),
        ("protect", HUMAN, 1),
        ("set", FACTS, 3),
        ("undo", set(), 2),
        ("undo", set(), 1),
        ("protect", HUMAN, 0),
        ("undo", set(), 2),
    ]
)
def test_undo_takes_each_change_back_from_what_it_left_and_nothing_read_only(
    steps: list[Step],
) -> None:
    with tempfile.TemporaryDirectory() as folder, patch("os.fsync"):
        store = DirStore.open(folder)
        model = Model()
        for number, step in enumerate(steps, 1):
            do(store, model, step, Request(number))

            values = look(store, SESSION).values
            assert {kind: each.content for kind, each in values.blocks.items()} == model.state
            guarded = {kind for kind, each in values.blocks.items() if each.read_only}
            assert guarded == model.guarded
            made = history.standing(history.edits(follow(store, SESSION)))
            assert sum(not each.protects for each in made) == len(model.changes)
