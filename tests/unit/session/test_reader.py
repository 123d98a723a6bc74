from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING

import pytest

from agentmem_cli import errors
from agentmem_cli.session.change import ChangeRecord, Push
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.conversation import DETACHED, Conversation
from agentmem_cli.session.images import BLOB_FOLDER, blob_name
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import (
    HeldFiles,
    as_of,
    fold_log,
    history,
    load,
    load_async,
    open_log,
)
from agentmem_cli.session.record import Retired, Saved
from agentmem_cli.session.session import LostImage, Session, TornTail
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.session.writer import append_records, save
from agentmem_cli.storage.memory import MemoryStore
from agentmem_cli.storage.store import as_async
from tests.strategies import base64_data

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object
    from agentmem_cli.storage.logfile import BytesLog
    from agentmem_cli.storage.store import Store

PIXELS = b"pixels"
PICTURE: Object = {"type": "image", "media_type": "png", "data": base64_data(PIXELS)}
LOST: Object = {"type": "image", "media_type": "png", "data": {"type": "unknown"}}
BLOB = BLOB_FOLDER + blob_name(PIXELS, "png")


def talk(store: Store, log: str = "main", *texts: str) -> Conversation:
    conversation = Conversation()
    for index, text in enumerate(texts or ("one", "two", "three")):
        conversation.push(Message.user(text), at=100 + index)
    save(store, log, conversation)
    return conversation


def append_bytes(store: Store, data: bytes, log: str = "main") -> None:
    store.append_log(log, len(store.read_log(log)), data)


def test_without_a_log_there_is_an_empty_conversation_and_no_history(store: Store) -> None:
    assert load(store, "main") == Conversation()
    assert as_of(store, "main", 9) == Conversation()
    assert history(store, "main") == []
    assert asyncio.run(load_async(as_async(store), "main")) == Conversation()
    assert Session.read(store) == Session()
    assert store.logs() == []


def test_history_is_every_record_after_the_header(store: Store) -> None:
    talk(store, "main", "one")
    append_records(store, "main", lambda _: [Saved("k", 2**64), Retired()], at=9)

    (first, pushed), (_, saved), (last, retired) = history(store, "main")

    assert first == Stamp(1, 1, 100)
    assert isinstance(pushed, ChangeRecord)
    assert isinstance(pushed.change, Push)
    assert pushed.change.entries[0].message == Message.user("one")
    assert saved == Saved("k", 2**64)
    assert retired == Retired()
    assert last == Stamp(3, 3, 9)


def test_history_puts_images_back(store: Store) -> None:
    conversation = Conversation([Message.user([PICTURE])])
    save(store, "main", conversation)

    ((_, record),) = history(store, "main")

    assert isinstance(record, ChangeRecord)
    assert isinstance(record.change, Push)
    assert record.change.entries[0].message == Message.user([PICTURE])


@pytest.mark.parametrize(
    "line",
    [
        b'{"seq":4,"n":9,"t":1,"type":"newer"}\n{"seq":5,"n":10,"t":1,"type":"retired"}\n',
        b'{"seq":7,"n":9,"t":1,"type":"retired"}\n',
        b'{"seq":4,"n":1,"t":1,"type":"retired"}\n',
        b'{"seq":4,"n":9,"t":1,"type":"splice","from":0,"to":1,"removed":[5],"with":[]}\n',
        b'{"seq":4,"n":9,"t":1,"type":["push"]}\n',
        b"[]\n",
    ],
)
def test_every_strict_reading_refuses_the_same_logs(store: Store, line: bytes) -> None:
    talk(store)
    before = store.read_log("main") + line
    append_bytes(store, line)

    for read in (
        lambda: load(store, "main"),
        lambda: history(store, "main"),
        lambda: as_of(store, "main", 100),
        lambda: asyncio.run(load_async(as_async(store), "main")),
        lambda: Session.read(store),
        lambda: save(store, "main", Conversation([Message.user("x")])),
    ):
        with pytest.raises(errors.Record) as caught:
            read()
        assert (caught.value.log, caught.value.line) == ("main", 5)

    assert store.read_log("main") == before


def test_a_log_of_another_format_is_refused_everywhere(store: Store) -> None:
    talk(store)
    data = store.read_log("main")
    store.replace_log("main", len(data), data.replace(b"session/4", b"session/9"))

    for read in (load, history, lambda store, log: as_of(store, log, 1)):
        with pytest.raises(errors.Format, match="rig-session/9"):
            read(store, "main")


def test_as_of_sees_the_records_before_a_place_and_continues_no_log(store: Store) -> None:
    talk(store)

    seen = as_of(store, "main", 2)

    assert [message.text for message in seen.messages] == ["one"]
    assert seen.lineage == DETACHED
    assert as_of(store, "main", 0) == Conversation()
    with pytest.raises(errors.Changed):
        save(store, "main", seen)


def test_as_of_does_not_look_past_its_place(store: Store) -> None:
    talk(store)
    append_bytes(store, b"[]\nmore\n")

    assert len(as_of(store, "main", 3)) == 2
    with pytest.raises(errors.Record):
        as_of(store, "main", 4)


def test_a_lost_blob_fails_no_reading_and_is_told(store: Store) -> None:
    save(store, "main", Conversation([Message.user([PICTURE])]))
    store.remove_file(BLOB)

    session = Session.read(store)

    assert session.agents[0].conversation.messages == [Message.user([LOST])]
    assert session.repairs == [
        LostImage("main", f"blob {BLOB.removeprefix(BLOB_FOLDER)} is missing (line 2)")
    ]
    assert asyncio.run(load_async(as_async(store), "main")).messages == [Message.user([LOST])]


def test_a_blob_with_other_bytes_fails_no_reading_and_is_kept_in_mind(store: Store) -> None:
    save(store, "main", Conversation([Message.user([PICTURE])]))
    store.write_file(BLOB, b"rotten")

    folded = fold_log(store, "main")
    messages = folded.conversation.messages

    assert messages == [Message.user([LOST])]
    assert len(folded.source.lost) == 1
    assert asyncio.run(load_async(as_async(store), "main")).messages == [Message.user([LOST])]


def test_a_blob_name_that_leads_elsewhere_is_a_lost_image(store: Store) -> None:
    save(store, "main", Conversation([Message.user([PICTURE])]))
    data = store.read_log("main")
    hostile = data.replace(blob_name(PIXELS, "png").encode(), b"../../logs/main.jsonl")
    store.replace_log("main", len(data), hostile)

    session = Session.read(store)

    assert session.agents[0].conversation.messages == [Message.user([LOST])]
    assert len(session.repairs) == 1
    assert asyncio.run(load_async(as_async(store), "main")).messages == [Message.user([LOST])]


def test_a_torn_tail_is_a_repair_and_nothing_is_written(store: Store) -> None:
    talk(store)
    whole = len(store.read_log("main"))
    append_bytes(store, b'{"seq":4,"n":4')

    session = Session.read(store)
    lenient, unreadable = Session.read_lenient(store)

    assert session.repairs == lenient.repairs == [TornTail("main", whole, 14, None)]
    assert len(session.agents[0].conversation) == 3
    assert unreadable == []
    assert len(store.read_log("main")) == whole + 14
    assert store.files() == []


def test_lenient_reading_gives_the_logs_that_read_and_names_the_others(store: Store) -> None:
    talk(store, "a")
    talk(store, "b")
    append_bytes(store, b"42\n{}\n", "a")

    session, unreadable = Session.read_lenient(store)

    assert [agent.id for agent in session.agents] == ["b"]
    assert [(each.log, type(each.error)) for each in unreadable] == [("a", errors.Record)]
    with pytest.raises(errors.Record):
        Session.read(store)


def test_agents_come_in_the_order_their_logs_were_started(store: Store) -> None:
    for log in ("z", "m", "a"):
        append_records(store, log, lambda _: [Saved("k", 1)], at=5)
    append_records(store, SESSION, lambda _: [Saved("k", 2)])

    session = Session.read(store)

    assert [agent.id for agent in session.agents] == ["z", "m", "a"]
    assert session.saved == {"k": 2}
    assert [agent.started_n for agent in session.agents] == [0, 2, 4]
    assert [agent.updated_ms for agent in session.agents] == [5, 5, 5]


@pytest.mark.parametrize("data", [b"", b"\n", b"\n\n", b'{"seq":0,"n":0'])
def test_a_log_without_records_is_no_agent(store: Store, data: bytes) -> None:
    if data:
        store.append_log("main", 0, data)

    session = Session.read(store)

    assert session.agents == []
    assert load(store, "main") == Conversation()


def test_a_conversation_goes_on_reading_the_log_that_was_opened(store: Store) -> None:
    talk(store)
    read = load(store, "main")

    store.replace_log("main", len(store.read_log("main")), b"")

    assert [message.text for message in read.messages] == ["one", "two", "three"]


def test_unknown_fields_and_parts_are_kept(store: Store) -> None:
    value: Object = {
        "role": "user",
        "content": [{"type": "newer", "x": [2**64, 1.5]}, {"type": "text", "text": "a", "y": None}],
        "z": {"\ud800": -1},
    }
    save(store, "main", Conversation([Message.of(value)]))

    read = load(store, "main")

    assert read.messages == [Message.of(value)]
    assert read.messages[0].raw == dumps(value)


def test_a_store_that_only_gives_bytes_will_do() -> None:
    class Plain:
        def __init__(self, inner: MemoryStore) -> None:
            self.read_log = inner.read_log
            self.read_file = inner.read_file
            self.files = inner.files
            self.logs = inner.logs

    inner = MemoryStore()
    talk(inner)

    assert load(Plain(inner), "main") == load(inner, "main")  # type: ignore[arg-type]


def test_the_systems_refusal_is_told_with_the_logs_name() -> None:
    class Refusing(MemoryStore):
        def open_log(self, name: str) -> BytesLog:
            raise OSError(errno.EIO, "Input/output error")

        def read_log(self, name: str) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

    store = Refusing()
    store.append_log("main", 0, b"x\n")

    with pytest.raises(errors.Io, match="'main': Input/output error"):
        open_log(store, "main")
    with pytest.raises(errors.Io, match="'main': Input/output error"):
        asyncio.run(load_async(as_async(store), "main"))
    assert Session.read_lenient(store)[1][0].log == "main"


def test_held_files_hold_what_was_written() -> None:
    files = HeldFiles({})
    files.write_file("a", b"1")

    assert files.read_file("a") == b"1"
    with pytest.raises(FileNotFoundError):
        files.read_file("b")
