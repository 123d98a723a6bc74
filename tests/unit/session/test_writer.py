from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

import pytest

from agentmem_cli import errors
from agentmem_cli.session.codec import loads_object
from agentmem_cli.session.conversation import BEGUN, DETACHED, Conversation
from agentmem_cli.session.images import BLOB_FOLDER, blob_name
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import as_of, history, load, load_async
from agentmem_cli.session.record import Retired, Saved
from agentmem_cli.session.session import Session, TornTail
from agentmem_cli.session.writer import append_records, last_n, save, save_async
from agentmem_cli.storage.memory import MemoryStore
from agentmem_cli.storage.store import as_async
from tests.strategies import base64_data

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import Object
    from agentmem_cli.storage.store import Store

    Save = Callable[[Store, str, Conversation], None]

PIXELS = b"pixels"
PICTURE: Object = {"type": "image", "media_type": "png", "data": base64_data(PIXELS)}
BLOB = BLOB_FOLDER + blob_name(PIXELS, "png")


def records_of(store: Store, log: str = "main") -> list[Object]:
    return [loads_object(line) for line in store.read_log(log).splitlines()]


def types_of(store: Store, log: str = "main") -> list[str]:
    return [str(record["type"]) for record in records_of(store, log)]


def save_waiting(store: Store, log: str, conversation: Conversation) -> None:
    asyncio.run(save_async(as_async(store), log, conversation))


SAVES = pytest.mark.parametrize("save", [save, save_waiting])


@SAVES
def test_a_conversation_begun_from_nothing_is_saved_change_by_change(
    store: Store, save: Save
) -> None:
    conversation = Conversation()
    conversation.push(Message.user("a"), at=5)
    conversation.push(Message.assistant("b"), at=6)

    save(store, "main", conversation)

    assert types_of(store) == ["header", "push", "push"]
    assert [(r["seq"], r["n"], r["t"]) for r in records_of(store)] == [
        (0, 0, 5),
        (1, 1, 5),
        (2, 2, 6),
    ]
    assert conversation.unsaved == ()
    assert conversation.lineage == records_of(store)[0]["lineage"] not in (BEGUN, DETACHED)
    assert conversation.changes == 2


@SAVES
def test_a_conversation_goes_on_where_its_log_ends(store: Store, save: Save) -> None:
    save(store, "main", Conversation([Message.user("a")]))
    conversation = load(store, "main")
    conversation.push(Message.assistant("b"))
    save(store, "main", conversation)
    conversation.set_halt("kept")

    save(store, "main", conversation)

    assert types_of(store) == ["header", "push", "push", "halt"]
    assert load(store, "main") == conversation


@SAVES
def test_nothing_to_save_starts_no_log(store: Store, save: Save) -> None:
    save(store, "main", Conversation())
    detached = Conversation()
    detached.lineage = DETACHED
    save(store, "main", detached)

    assert store.logs() == []


@SAVES
def test_an_empty_log_takes_a_conversation_of_another_whole_as_one_reset(
    store: Store, save: Save
) -> None:
    source = MemoryStore()
    save(source, "main", Conversation([Message.user("a"), Message.assistant("b")]))
    conversation = load(source, "main")
    conversation.push(Message.user("unsaved"))

    save(store, "copy", conversation)
    again = load(store, "copy")
    conversation.push(Message.assistant("later"))
    save(store, "copy", conversation)

    assert types_of(store, "copy") == ["header", "reset", "push"]
    assert len(again) == 3
    assert load(store, "copy") == conversation


@SAVES
def test_a_log_of_values_only_takes_a_conversation(store: Store, save: Save) -> None:
    append_records(store, "main", lambda _: [Saved("k", 1)])

    save(store, "main", Conversation([Message.user("a")]))

    assert types_of(store) == ["header", "state", "push"]
    assert [record["n"] for record in records_of(store)] == [0, 1, 2]


@SAVES
def test_another_writer_who_came_first_is_a_conflict_and_nothing_is_lost(
    store: Store, save: Save
) -> None:
    save(store, "main", Conversation([Message.user("a")]))
    mine, theirs = load(store, "main"), load(store, "main")
    theirs.push(Message.assistant("first"))
    save(store, "main", theirs)
    before = store.read_log("main")
    mine.push(Message.assistant("second"))

    with pytest.raises(errors.Changed) as caught:
        save(store, "main", mine)

    assert caught.value.log == "main"
    assert store.read_log("main") == before
    assert len(mine.unsaved) == 1


@SAVES
def test_a_fresh_conversation_does_not_go_on_with_a_log_that_holds_changes(
    store: Store, save: Save
) -> None:
    save(store, "main", Conversation([Message.user("a")]))

    with pytest.raises(errors.Changed):
        save(store, "main", Conversation([Message.user("b")]))


def test_a_writer_between_reading_and_appending_is_a_conflict() -> None:
    class Overtaken(MemoryStore):
        def append_log(self, name: str, length: int, data: bytes) -> None:
            super().append_log(name, length, b"\n")
            super().append_log(name, length, data)

    conversation = Conversation([Message.user("a")])

    with pytest.raises(errors.Changed, match="main"):
        asyncio.run(save_async(as_async(Overtaken()), "main", conversation))

    assert len(conversation.unsaved) == 1


@SAVES
@pytest.mark.parametrize("tail", [b'{"seq":9', b"\0\0\0", b"\xff\xfe", b"half\n"])
def test_a_torn_tail_is_set_aside_byte_for_byte_before_anything_is_added(
    store: Store, save: Save, tail: bytes
) -> None:
    save(store, "main", Conversation([Message.user("a")]))
    whole = store.read_log("main")
    store.append_log("main", len(whole), tail)
    conversation = load(store, "main")
    conversation.push(Message.assistant("b"))

    save(store, "main", conversation)

    name = f"recovered/main-{hashlib.sha256(tail).hexdigest()}.part"
    assert store.files() == [name]
    assert store.read_file(name) == tail
    assert store.read_log("main").startswith(whole)
    assert load(store, "main") == conversation
    assert Session.read(store).repairs == []


@SAVES
def test_a_log_that_is_torn_from_its_first_byte_is_begun_anew(store: Store, save: Save) -> None:
    store.append_log("main", 0, b'{"seq":0,"n"')
    conversation = Conversation([Message.user("a")])

    save(store, "main", conversation)

    assert types_of(store) == ["header", "push"]
    assert len(store.files()) == 1


@SAVES
def test_images_become_blobs_and_come_back(store: Store, save: Save) -> None:
    raw: Object = {**PICTURE, "data": {"type": "raw", "value": list(PIXELS)}}
    conversation = Conversation([Message.user([PICTURE]), Message.user([raw])])

    save(store, "main", conversation)
    read = load(store, "main")

    assert store.files() == [BLOB]
    assert store.read_file(BLOB) == PIXELS
    assert b"base64" not in store.read_log("main")
    assert read.messages == [Message.user([PICTURE])] * 2
    assert conversation.messages[1] == Message.user([raw])
    assert asyncio.run(load_async(as_async(store), "main")) == read


@SAVES
def test_a_reset_holds_its_images_inline_so_that_another_store_has_them(
    store: Store, save: Save
) -> None:
    source = MemoryStore()
    save(source, "main", Conversation([Message.user([PICTURE])]))

    save(store, "copy", load(source, "main"))

    assert types_of(store, "copy") == ["header", "reset"]
    assert b"blob:" not in store.read_log("copy")
    assert store.files() == []
    assert load(store, "copy").messages == [Message.user([PICTURE])]


@SAVES
def test_a_reset_goes_on_naming_a_lost_image(store: Store, save: Save) -> None:
    source = MemoryStore()
    save(source, "main", Conversation([Message.user([PICTURE])]))
    source.remove_file(BLOB)

    save(store, "copy", load(source, "main"))

    assert blob_name(PIXELS, "png").encode() in store.read_log("copy")


def test_entries_put_back_from_another_store_bring_their_blobs(store: Store) -> None:
    source = MemoryStore()
    save(source, "main", Conversation([Message.user([PICTURE])]))
    conversation = Conversation()
    conversation.restore(0, 0, load(source, "main").entries)

    save(store, "main", conversation)

    assert store.files() == [BLOB]
    assert load(store, "main").messages == [Message.user([PICTURE])]


def test_an_entry_put_back_from_another_store_goes_on_naming_a_lost_image(store: Store) -> None:
    source = MemoryStore()
    save(source, "main", Conversation([Message.user([PICTURE])]))
    source.write_file(BLOB, b"rotten")
    conversation = Conversation()
    conversation.restore(0, 0, load(source, "main").entries)

    save(store, "main", conversation)

    assert store.files() == []
    assert blob_name(PIXELS, "png").encode() in store.read_log("main")


def test_an_entry_put_back_keeps_its_id_author_time_and_unknown_fields(store: Store) -> None:
    save(store, "main", Conversation([Message.user("a")]))
    data = store.read_log("main")
    odd = data.replace(b'"id":0}', b'"id":0,"newer":18446744073709551616}')
    store.replace_log("main", len(data), odd)
    conversation = load(store, "main")
    conversation.splice(0, 1, at=5)
    save(store, "main", conversation)
    (entry,) = as_of(store, "main", 2).entries

    conversation.restore(0, 0, [entry], at=6)
    conversation.splice(0, 1, [entry.edited(Message.user("b"))], at=7)
    save(store, "main", conversation)

    restored, edited = store.read_log("main").splitlines()[-2:]
    assert b'"id":0,"made":%d,"newer":18446744073709551616}]' % (entry.made or 0) in restored
    assert b'"id":0,"newer":18446744073709551616}]' in edited
    assert load(store, "main").messages == [Message.user("b")]


def test_n_of_a_save_goes_on_from_its_own_log_and_of_an_append_from_all(store: Store) -> None:
    save(store, "a", Conversation([Message.user("x")]))
    save(store, "b", Conversation([Message.user("y")]))

    done = append_records(store, "a", lambda _: [Saved("k", 1), Retired()], at=9)
    other = append_records(store, "b", lambda _: [Saved("k", 1)], at=9)

    assert [record["n"] for record in records_of(store, "a")] == [0, 1, 2, 3]
    assert [record["n"] for record in records_of(store, "b")] == [0, 1, 4]
    assert (done.first_n, done.last_n, done.records) == (2, 3, 2)
    assert done.size == len(store.read_log("a"))
    assert other.fold is not None
    assert last_n(store) == 4


def test_an_append_of_nothing_writes_nothing(store: Store) -> None:
    done = append_records(store, "main", lambda fold: [])

    assert done.records == 0
    assert done.fold is None
    assert store.logs() == []
    assert last_n(store) == -1


def test_an_append_sees_the_log_and_sets_a_torn_tail_aside(store: Store) -> None:
    save(store, "main", Conversation([Message.user("x")]))
    size = len(store.read_log("main"))
    store.append_log("main", size, b"torn")

    done = append_records(
        store, "main", lambda fold: [Saved("count", 0 if fold is None else fold.records)]
    )

    assert isinstance(done.torn, TornTail)
    assert done.torn[:3] == ("main", size, 4)
    assert done.torn.set_aside is not None
    assert store.read_file(done.torn.set_aside) == b"torn"
    assert history(store, "main")[-1][1] == Saved("count", 2)


def test_a_header_names_the_parent_and_is_written_once(store: Store) -> None:
    append_records(store, "kid", lambda _: [Saved("k", 1)], parent="boss")
    append_records(store, "kid", lambda _: [Saved("k", 2)], parent="other")

    assert types_of(store, "kid") == ["header", "state", "state"]
    assert records_of(store, "kid")[0]["parent"] == "boss"


def test_records_after_the_greatest_n_are_not_misnumbered(store: Store) -> None:
    save(store, "main", Conversation([Message.user("x")]))
    data = store.read_log("main")
    store.replace_log("main", len(data), data.replace(b'"n":1', b'"n":9007199254740993'))
    conversation = load(store, "main")
    conversation.set_halt("stopped")

    save(store, "main", conversation)

    assert records_of(store)[-1]["n"] == 9007199254740994
