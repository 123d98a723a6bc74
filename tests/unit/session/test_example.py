"""The library's example, as people are shown it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli import (
    CoreMemory,
    DirStore,
    MemoryBlockType,
    MemoryStore,
    Message,
    load,
    save,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_the_example_works_as_it_is_written() -> None:
    store = MemoryStore()
    conversation = load(store, "user-123")
    conversation.extend([Message.user("My name is Alice."), Message.assistant("Hi Alice!")])
    save(store, "user-123", conversation)

    assert load(store, "user-123") == conversation


def test_the_example_works_on_a_directory(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "session")
    conversation = load(store, "user-123")
    conversation.extend([Message.user("My name is Alice."), Message.assistant("Hi Alice!")])
    save(store, "user-123", conversation)

    again = DirStore.open(tmp_path / "session")

    assert load(again, "user-123") == conversation
    assert load(again, "user-123").messages[0].text == "My name is Alice."


def test_the_example_of_core_memory_works_as_the_seed_shows_it() -> None:
    core = CoreMemory()
    core.set_block(MemoryBlockType.SYSTEM, "Answer in one sentence.")
    core.set_block(MemoryBlockType.HUMAN, "User: Alice")

    context = core.render()

    assert core.used_bytes() > 0
    assert "Answer in one sentence." in context
    assert context.index("sentence") < context.index("Alice")
