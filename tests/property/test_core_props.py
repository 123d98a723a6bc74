"""Core memory on a session against a plain list of states: every change, undo and place."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.errors import BlockNotFound, NotFoundError
from agentmem_cli.operations.core import history, verbs
from agentmem_cli.operations.core.changing import Request
from agentmem_cli.operations.core.looking import follow, look
from agentmem_cli.operations.places import Place
from agentmem_cli.session.core_memory import MemoryBlockType
from agentmem_cli.session.fold import Cut
from agentmem_cli.session.keys import SESSION
from agentmem_cli.storage.directory import DirStore

if TYPE_CHECKING:
    from agentmem_cli.session.core_values import CoreValues

KINDS = (MemoryBlockType.HUMAN, MemoryBlockType.FACTS)
TEXTS = st.sampled_from(["", "a", "a\nb\n", "b\nc", "x\ud800\0"])
STEPS = st.one_of(
    st.tuples(st.just("set"), st.sampled_from(KINDS), TEXTS),
    st.tuples(st.just("append"), st.sampled_from(KINDS), TEXTS),
    st.tuples(st.just("remove"), st.sampled_from(KINDS), st.sampled_from(["", "why"])),
    st.tuples(st.just("clear"), st.just(KINDS[0]), st.sampled_from(["", "why"])),
    st.tuples(st.just("undo"), st.just(KINDS[0]), st.sampled_from(["1", "2", "3"])),
)
State = tuple[tuple[str, str], ...]


def state_of(values: CoreValues) -> State:
    return tuple((kind.value, stored.content) for kind, stored in values.blocks.items())


def do(store: DirStore, step: tuple[str, MemoryBlockType, str], now_ms: int) -> None:
    name, kind, word = step
    request = Request(now_ms, reason=word or None)
    match name:
        case "set":
            verbs.set_content(store, SESSION, kind, word, request)
        case "append":
            verbs.append(store, SESSION, kind, word, request)
        case "remove":
            verbs.remove(store, SESSION, kind, request)
        case "clear":
            verbs.clear(store, SESSION, request)
        case _:
            verbs.undo(store, SESSION, request, steps=int(word))


@given(st.lists(STEPS, max_size=12), st.booleans())
def test_undo_and_places_are_those_of_a_plain_list_of_states(
    steps: list[tuple[str, MemoryBlockType, str]], one_moment: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder, patch("os.fsync"):
        store = DirStore.open(folder)
        stack: list[State] = [()]
        seen: list[tuple[int, State]] = [(0, ())]
        for number, step in enumerate(steps, 1):
            try:
                do(store, step, 1 if one_moment else number)
            except (BlockNotFound, NotFoundError):
                assert step[0] in {"remove", "undo"}
                assert step[0] == "remove" or int(step[2]) >= len(stack)
                continue
            now = look(store, SESSION)
            if step[0] == "undo":
                del stack[-int(step[2]) :]
            elif state_of(now.values) != stack[-1]:
                stack.append(state_of(now.values))
            seen.append((now.n, state_of(now.values)))

            assert state_of(now.values) == stack[-1]
            standing = history.standing(history.edits(follow(store, SESSION)))
            assert len(standing) == len(stack) - 1

        for n, state in seen:
            then = look(store, SESSION, Place(str(n), Cut(n=n)))
            assert state_of(then.values) == state


@given(st.lists(STEPS, max_size=12))
def test_blame_tells_every_line_of_what_stands(
    steps: list[tuple[str, MemoryBlockType, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder, patch("os.fsync"):
        store = DirStore.open(folder)
        for number, step in enumerate(steps, 1):
            try:
                do(store, step, number)
            except (BlockNotFound, NotFoundError):
                continue
        made = history.edits(follow(store, SESSION))
        values = look(store, SESSION).values

        for kind in KINDS:
            lines = history.blame(history.versions_of(made, kind))
            stored = values.blocks.get(kind)
            said = "" if stored is None else stored.content
            assert "".join(line.text for line in lines) == said
            for line in lines:
                block = line.version.new
                assert block is not None
                assert line.text.rstrip("\n") in block.content
