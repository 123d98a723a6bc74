from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from agentmem_cli import errors
from agentmem_cli.session.codec import loads_object
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.live import Writer, rest_place
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import history, load
from agentmem_cli.session.record import Retired, Saved
from agentmem_cli.session.session import Session, TornTail
from agentmem_cli.session.writer import append_records, save
from agentmem_cli.storage.memory import MemoryStore

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.storage.store import Store


def live(store: Store) -> Writer:
    writer, _ = Writer.open(store)
    writer.start()
    return writer


def contents(store: Store) -> dict[str, bytes]:
    return {log: store.read_log(log) for log in store.logs()}


def header_of(store: Store, log: str) -> Object:
    return loads_object(store.read_log(log).splitlines()[0])


def said(*texts: str) -> Conversation:
    conversation = Conversation()
    for index, text in enumerate(texts):
        make = Message.assistant if index % 2 else Message.user
        conversation.push(make(text), at=100 + index)
    return conversation


def test_a_writer_without_a_store_logs_nothing() -> None:
    writer = Writer()
    writer.start()
    conversation = said("a")

    writer.save("main", conversation)
    writer.set_value("main", "k", 1)
    writer.retire("main")
    writer.open_log("main")
    writer.flush()

    assert not writer.is_live()
    assert not writer.has_written()
    assert not writer.fork_log("main", "copy")
    assert conversation.unsaved


def test_nothing_is_logged_before_the_start(store: Store) -> None:
    writer, session = Writer.open(store)
    conversation = said("a")

    writer.save("main", conversation)
    writer.set_value("main", "k", 1)
    writer.set_value(SESSION, "k", 1)

    assert session == Session()
    assert not writer.is_live()
    assert contents(store) == {}
    assert conversation.unsaved


def test_what_is_saved_is_logged_when_the_call_returns(store: Store) -> None:
    writer = live(store)
    conversation = said("a")

    writer.save("main", conversation)
    conversation.push(Message.assistant("b"))
    writer.save("main", conversation)
    writer.save("main", conversation)

    assert load(store, "main") == conversation
    assert len(history(store, "main")) == 2
    assert conversation.unsaved == ()
    assert writer.is_live()
    assert writer.has_written()
    assert writer.failure() is None
    writer.flush()


def test_a_value_set_twice_is_written_once(store: Store) -> None:
    writer = live(store)

    values: list[JSON] = [1, 1, True, True, None, None, [1], [1]]
    for value in values:
        writer.set_value("main", "k", value)
    again = live(store)
    again.set_value("main", "k", [1])
    again.set_value("main", "other", None)

    assert [record for _, record in history(store, "main")] == [
        Saved("k", 1),
        Saved("k", True),
        Saved("k", None),
        Saved("k", [1]),
    ]


def test_a_value_that_was_changed_in_place_is_another_value(store: Store) -> None:
    writer = live(store)
    value: list[JSON] = [1]
    writer.set_value("main", "k", value)
    value.append(2)

    writer.set_value("main", "k", value)

    assert history(store, "main")[-1][1] == Saved("k", [1, 2])


def test_n_increases_across_the_logs_of_one_writer(store: Store) -> None:
    writer = live(store)
    a, b = said("a"), said("b")

    writer.save("a", a)
    writer.save("b", b)
    a.push(Message.assistant("x"))
    writer.save("a", a)
    writer.set_value(SESSION, "k", 1)

    assert [stamp.n for stamp, _ in history(store, "a")] == [1, 4]
    assert [stamp.n for stamp, _ in history(store, "b")] == [3]
    assert [stamp.n for stamp, _ in history(store, SESSION)] == [6]


def test_a_spawned_agents_header_names_its_parent(store: Store) -> None:
    writer = live(store)
    writer.open_log("kid", "boss")

    assert contents(store) == {}
    writer.save("kid", said("a"))

    assert header_of(store, "kid")["parent"] == "boss"


def test_an_empty_log_takes_a_conversation_of_another_whole(store: Store) -> None:
    other = MemoryStore()
    save(other, "main", said("a", "b"))
    conversation = load(other, "main")
    writer = live(store)

    writer.save("main", conversation)

    assert load(store, "main") == conversation
    assert writer.failure() is None


def test_a_conversation_that_does_not_continue_the_log_ends_the_logging(store: Store) -> None:
    save(store, "main", said("a"))
    writer = live(store)
    before = contents(store)

    writer.save("main", said("other"))

    assert isinstance(writer.failure(), errors.Changed)
    assert not writer.is_live()
    assert contents(store) == before
    with pytest.raises(errors.Changed):
        writer.flush()


def test_another_program_that_wrote_meanwhile_ends_the_logging(store: Store) -> None:
    writer = live(store)
    conversation = said("a")
    writer.save("main", conversation)
    append_records(store, "main", lambda _: [Saved("k", 1)])
    before = contents(store)
    conversation.push(Message.assistant("b"))

    writer.save("main", conversation)
    writer.set_value("other", "k", 1)
    writer.retire("main")

    assert isinstance(writer.failure(), errors.Changed)
    assert conversation.unsaved
    assert contents(store) == before


def test_nothing_is_logged_after_a_write_failed() -> None:
    class Full(MemoryStore):
        full = False

        def append_log(self, name: str, length: int, data: bytes) -> None:
            if type(self).full:
                raise OSError(errno.ENOSPC, "No space left on device")
            super().append_log(name, length, data)

    store = Full()
    writer = live(store)
    conversation = said("a")
    writer.save("main", conversation)
    before = contents(store)
    conversation.push(Message.assistant("b"))
    Full.full = True
    writer.save("main", conversation)
    Full.full = False

    writer.save("main", conversation)
    writer.set_value("main", "k", 1)

    assert contents(store) == before
    assert conversation.unsaved
    with pytest.raises(OSError, match="No space left"):
        writer.flush()


def test_opening_sets_torn_tails_aside_and_tells_where(store: Store) -> None:
    save(store, "main", said("a"))
    size = len(store.read_log("main"))
    store.append_log("main", size, b"torn")

    writer, session = Writer.open(store)
    (repair,) = session.repairs

    assert isinstance(repair, TornTail)
    assert (repair.log, repair.kept, repair.cut) == ("main", size, 4)
    assert repair.set_aside is not None
    assert store.read_file(repair.set_aside) == b"torn"
    assert len(store.read_log("main")) == size
    assert not writer.has_written()


def test_opening_a_damaged_session_writes_nothing(store: Store) -> None:
    save(store, "a", said("a"))
    save(store, "b", said("b"))
    store.append_log("a", len(store.read_log("a")), b"torn")
    store.append_log("b", len(store.read_log("b")), b"42\n{}\n")
    before = contents(store)

    with pytest.raises(errors.Record):
        Writer.open(store)

    assert contents(store) == before
    assert store.files() == []


def test_opening_leaves_out_retired_agents_and_whom_they_spawned(store: Store) -> None:
    append_records(store, "old", lambda _: [Retired()])
    append_records(store, "kid", lambda _: [Saved("k", 1)], parent="old")
    append_records(store, "new", lambda _: [Saved("k", 1)])

    _, session = Writer.open(store)

    assert [agent.id for agent in session.agents] == ["new"]


def test_a_session_that_was_opened_goes_on(store: Store) -> None:
    save(store, "main", said("a"))
    writer, session = Writer.open(store)
    writer.start()
    conversation = session.agents[0].conversation
    conversation.push(Message.assistant("b"))

    writer.save("main", conversation)

    assert load(store, "main") == conversation
    assert writer.failure() is None


def test_retiring_is_logged_where_there_is_a_log(store: Store) -> None:
    writer = live(store)
    writer.save("main", said("a"))

    writer.retire("main")
    writer.retire("nobody")

    assert history(store, "main")[-1][1] == Retired()
    assert store.logs() == ["main"]
    assert Session.read(store).agents[0].retired


CALL: Object = {"type": "toolcall", "id": "c", "function": {"name": "sh", "arguments": {}}}


def test_a_fork_reaches_to_the_last_place_at_rest_and_keeps_stamps(store: Store) -> None:
    writer = live(store)
    conversation = said("a", "b")
    conversation.push(Message.user("open"), at=300)
    conversation.push(Message.assistant([CALL]), at=301)
    writer.save("main", conversation)

    forked = writer.fork_log("main", "copy")

    assert forked
    assert load(store, "copy").messages == conversation.messages[:2]
    assert history(store, "copy") == history(store, "main")[:2]
    assert store.read_log("copy").splitlines()[1:] == store.read_log("main").splitlines()[1:3]
    assert header_of(store, "copy")["log"] == "copy"
    assert header_of(store, "copy")["n"] == header_of(store, "main")["n"]
    assert header_of(store, "copy")["lineage"] != header_of(store, "main")["lineage"]


@pytest.mark.parametrize(("through", "count"), [(None, 4), (9, 4), (3, 4), (2, 2), (1, 2), (0, 0)])
def test_a_fork_holds_nothing_after_a_message(
    store: Store, through: int | None, count: int
) -> None:
    writer = live(store)
    writer.save("main", said("a", "b", "c", "d"))

    forked = writer.fork_log("main", "copy", through)

    assert forked is (count > 0)
    assert len(load(store, "copy")) == count


def test_a_fork_goes_on_by_itself(store: Store) -> None:
    writer = live(store)
    writer.save("main", said("a", "b"))
    writer.fork_log("main", "copy")
    copy = load(store, "copy")
    copy.push(Message.user("c"))

    writer.save("copy", copy)

    assert writer.failure() is None
    assert len(load(store, "copy")) == 3
    assert len(load(store, "main")) == 2
    assert Session.read(store).repairs == []


def test_a_forks_header_keeps_parent_rewrites_and_unknown_fields(store: Store) -> None:
    save(store, "main", said("a", "b"))
    data = store.read_log("main")
    more = b'"parent":"boss","rewrites":[{"t":1}],"newer":[18446744073709551616]}\n'
    end = data.index(b"}\n")
    store.replace_log("main", len(data), data[:end] + b"," + more + data[end + 2 :])

    live(store).fork_log("main", "copy")
    header = header_of(store, "copy")

    assert (header["parent"], header["rewrites"], header["newer"]) == ("boss", [{"t": 1}], [2**64])
    assert list(header)[:4] == ["seq", "n", "t", "type"]


def test_a_fork_that_cannot_be_made_leaves_the_writer_logging(store: Store) -> None:
    writer = live(store)
    writer.save("main", said("a", "b"))

    with pytest.raises(FileNotFoundError):
        writer.fork_log("nobody", "copy")
    with pytest.raises(errors.ConflictError, match="there already"):
        writer.fork_log("main", "main")
    store.append_log("bad", 0, b"42\n{}\n")
    with pytest.raises(errors.Record):
        writer.fork_log("bad", "copy")

    assert writer.is_live()
    assert store.logs() == ["bad", "main"]


def test_a_fork_that_could_not_be_written_ends_the_logging() -> None:
    class Full(MemoryStore):
        def append_log(self, name: str, length: int, data: bytes) -> None:
            if name == "copy":
                raise OSError(errno.ENOSPC, "No space left on device")
            super().append_log(name, length, data)

    store = Full()
    writer = live(store)
    writer.save("main", said("a", "b"))

    with pytest.raises(OSError, match="No space left"):
        writer.fork_log("main", "copy")

    assert not writer.is_live()
    assert store.logs() == ["main"]


def test_a_log_of_values_only_is_at_rest(store: Store) -> None:
    append_records(store, "main", lambda _: [Saved("k", 1)])

    place = rest_place(store, "main")

    assert place is not None
    assert (place.n, place.end) == (1, len(store.read_log("main")))


def test_a_place_at_rest_can_be_looked_for_before_another(store: Store) -> None:
    save(store, "main", said("a", "b", "c", "d"))

    assert rest_place(store, "main", before=4).n == 2  # type: ignore[union-attr]
    assert rest_place(store, "main", before=2) is None


def test_a_splice_that_leaves_a_call_open_is_no_place_at_rest(store: Store) -> None:
    conversation = said("a", "b")
    conversation.splice(1, 2, [Message.assistant([CALL])])
    save(store, "main", conversation)

    place = rest_place(store, "main")

    assert place is not None
    assert place.n == 2


def test_a_fork_through_a_message_counts_places_not_ids() -> None:
    store = MemoryStore()
    writer, _ = Writer.open(store)
    writer.start()
    conversation = Conversation()
    for message in (Message.user("a?"), Message.assistant("a"), Message.user("b?")):
        conversation.push(message)
    conversation.push(Message.assistant("b"))
    conversation.splice(0, 2, [Message.user("what came before")])
    conversation.push(Message.user("c?"))
    conversation.push(Message.assistant("c"))
    writer.save("one", conversation)

    forked = writer.fork_log("one", "two", through=3)

    texts = [message.text for message in load(store, "two").messages]
    assert forked
    assert texts == ["what came before", "b?", "b"]
