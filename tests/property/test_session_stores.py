"""What holds for one store holds for the other; images and odd values survive the way."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem_cli.session.codec import same
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import history, load, load_async
from agentmem_cli.session.session import Session
from agentmem_cli.session.writer import append_records, save, save_async
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.memory import MemoryStore
from agentmem_cli.storage.store import as_async
from tests.strategies import (
    Edit,
    Editor,
    foreign_fields,
    histories,
    images,
    json_objects,
    json_values,
    messages,
    texts,
)

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.storage.store import Store


def written(store: Store, halves: list[list[Edit]]) -> tuple[Conversation, list[object]]:
    """Save after each of *halves*; return what was read and what the store holds."""
    editor = Editor()
    for half in halves:
        save(store, "main", editor.run(half))
    blobs = {name: store.read_file(name) for name in store.files()}
    records = history(store, "main")
    return load(store, "main"), [blobs, records, store.logs()]


@settings(max_examples=15)
@given(first=histories(3), second=histories(3))
def test_a_memory_store_and_a_directory_give_the_same(
    first: list[Edit], second: list[Edit]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        on_disk = written(DirStore.open(Path(folder, "session")), [first, second])

        assert on_disk == written(MemoryStore(), [first, second])


@given(history_=histories(4))
def test_the_asynchronous_pair_does_what_the_plain_one_does(history_: list[Edit]) -> None:
    plain, other = MemoryStore(), MemoryStore()
    one, two = Editor(), Editor()

    async def both() -> tuple[Conversation, Conversation]:
        await save_async(as_async(other), "main", two.run(history_))
        return await load_async(as_async(other), "main"), await load_async(as_async(plain), "main")

    save(plain, "main", one.run(history_))
    read_other, read_plain = asyncio.run(both())

    assert read_other == read_plain == load(plain, "main") == load(other, "main")
    assert plain.files() == other.files()
    assert history(plain, "main") == history(other, "main")


@given(message=messages(), more=foreign_fields())
def test_a_message_survives_saving_putting_back_and_a_reset(message: Message, more: Object) -> None:
    store, copy = MemoryStore(), MemoryStore()
    message = Message.of({**message.value, **more})
    save(store, "main", Conversation([message]))
    read = load(store, "main")
    gone = read.splice(0, 1)
    read.restore(0, 0, gone)
    save(store, "main", read)

    save(copy, "main", load(store, "main"))
    reset = load(copy, "main")

    assert load(store, "main").messages == [message]
    assert reset.messages == [message]
    assert same(reset.messages[0].value, message.value)


@given(pictures=st.lists(images(), min_size=1, max_size=3), inside=st.booleans())
def test_images_are_kept_once_a_content_and_come_back(pictures: list[Object], inside: bool) -> None:
    store = MemoryStore()
    message = Message.tool_result("c", "shot", pictures) if inside else Message.user(pictures)

    save(store, "main", Conversation([message, message]))
    read = load(store, "main")
    data = store.read_log("main")

    assert read.messages == [message, message]
    assert len(store.files()) == len({name for name in store.files() if name.encode()[6:] in data})
    assert Session.read(store).repairs == []


@given(pictures=st.lists(images(), min_size=1, max_size=3), damage=st.booleans())
def test_lost_images_fail_no_reading(pictures: list[Object], damage: bool) -> None:
    store = MemoryStore()
    save(store, "main", Conversation([Message.user(pictures)]))
    blobs = store.files()
    for name in blobs:
        if damage:
            store.write_file(name, b"something else")
        else:
            store.remove_file(name)

    session = Session.read(store)
    (read,) = session.agents[0].conversation.messages

    assert len(read.parts) == len(pictures)
    assert damage or len(session.repairs) == len(blobs)
    assert asyncio.run(load_async(as_async(store), "main")).messages == [read]


@given(values=st.dictionaries(texts(), json_values().filter(lambda value: value is not None)))
def test_saved_values_come_back_exactly(values: dict[str, JSON]) -> None:
    store = MemoryStore()
    session = Session(saved=values)

    session.save(store)
    read = Session.read(store)

    assert same(read.saved, values)
    read.save(store)
    assert len(history(store, "session")) == len(values) if values else store.logs() == []


@given(value=json_objects())
def test_a_message_of_any_object_is_kept(value: Object) -> None:
    store = MemoryStore()

    save(store, "main", Conversation([Message.of(value)]))

    assert load(store, "main").messages == [Message.of(value)]


@given(history_=histories(4))
def test_an_append_of_nothing_changes_no_byte(history_: list[Edit]) -> None:
    store = MemoryStore()
    save(store, "main", Editor().run(history_))
    before = [store.read_log(log) for log in store.logs()]

    append_records(store, "main", lambda _: [])
    save(store, "main", load(store, "main"))

    assert [store.read_log(log) for log in store.logs()] == before
