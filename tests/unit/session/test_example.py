"""The library's example, as people are shown it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli import DirStore, MemoryStore, Message, load, save

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
