from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli import errors
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.heads import main_log, read_conversation, read_head, read_heads
from agentmem_cli.session.keys import CURRENT, SESSION
from agentmem_cli.session.message import Message
from agentmem_cli.session.record import Retired, Saved
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.session.writer import append_records, save
from agentmem_cli.storage.memory import MemoryStore

if TYPE_CHECKING:
    from agentmem_cli.session.record import LogRecord
    from agentmem_cli.storage.store import Store


def start(store: Store, log: str, parent: str | None = None, *records: LogRecord) -> None:
    made = records or (Saved("k", 1),)
    append_records(store, log, lambda _: made, parent=parent, at=5)


def test_a_head_tells_of_the_first_and_the_last_record(store: Store) -> None:
    start(store, "a", "boss", Saved("k", "v"), Retired())

    head = read_head(store, "a")

    assert head.header is not None
    assert (head.log, head.header.parent, head.n, head.t) == ("a", "boss", 0, 5)
    assert head.last == Stamp(2, 2, 5)
    assert head.retired


@pytest.mark.parametrize(
    "tail",
    [
        b"",
        b'{"seq":2,"n":9',
        b'{"seq":2,"n":2,"t":9,"type":"retired"}',
        b"\0" * 99,
        b"\n\n",
        b"[]\n",
        b"{}\n",
        b"\xff\n",
    ],
)
def test_the_last_whole_record_counts_whatever_follows_it(store: Store, tail: bytes) -> None:
    start(store, "a")
    store.append_log("a", len(store.read_log("a")), tail)

    head = read_head(store, "a")

    assert head.last == Stamp(1, 1, 5)
    assert not head.retired


@pytest.mark.parametrize("size", [100, 70_000, 700_000])
def test_first_and_last_records_of_any_size_are_found(store: Store, size: int) -> None:
    start(store, "a", None, Saved("k", "x" * size), Saved("l", "y" * size))
    store.append_log("a", len(store.read_log("a")), b"z" * size)

    head = read_head(store, "a")

    assert head.header is not None
    assert head.last == Stamp(2, 2, 5)


def test_a_header_longer_than_what_is_read_at_first_is_found() -> None:
    store = MemoryStore()
    start(store, "a", "p" * 100_000)

    head = read_head(store, "a")

    assert head.header is not None
    assert head.header.parent == "p" * 100_000
    assert head.last == Stamp(1, 1, 5)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"x", b"[]\n", b"{}\n", b'{"type":"header","format":"other"}\n', b"\xff\n"]
)
def test_a_log_without_a_header_has_a_head_without_one(data: bytes) -> None:
    store = MemoryStore()
    store.append_log("a", 0, data or b"\n")

    head = read_head(store, "a")

    assert head.header is None
    assert head.last is None


def test_a_missing_log_has_no_head(store: Store) -> None:
    with pytest.raises(FileNotFoundError):
        read_head(store, "a")


def test_heads_come_in_the_order_the_logs_were_started_without_the_sessions_own(
    store: Store,
) -> None:
    for log in ("z", SESSION, "a"):
        start(store, log)

    assert [head.log for head in read_heads(store)] == ["z", "a"]


def test_the_main_log_follows_the_full_rule(store: Store) -> None:
    assert main_log(store) is None
    start(store, "b")
    assert main_log(store) == "b"
    start(store, "a", None, Saved("k", 1), Retired())
    start(store, "c", "a")
    assert main_log(store) == "b"
    start(store, "d")
    start(store, SESSION, None, Saved(CURRENT, "d"))

    assert main_log(store) == "d"


def test_the_main_log_can_be_asked_for_as_if_another_agent_were_there(store: Store) -> None:
    assert main_log(store, joined_by="z") == "z"
    start(store, "m")

    assert main_log(store, joined_by="z") == "m"
    assert main_log(store, joined_by="a") == "a"
    assert store.logs() == ["m"]


def test_a_damaged_session_log_still_names_the_current_agent(store: Store) -> None:
    start(store, "a")
    start(store, "b")
    start(store, SESSION, None, Saved(CURRENT, "b"))
    store.append_log(SESSION, len(store.read_log(SESSION)), b"42\n\0\0\n{}\n")

    assert main_log(store) == "b"


def test_a_conversation_is_read_from_its_log_alone(store: Store) -> None:
    for log in ("b", "a"):
        save(store, log, Conversation([Message.user(log)]))
    store.append_log("a", len(store.read_log("a")), b"42\n{}\n")

    found = read_conversation(store, "b")

    assert found is not None
    assert (found[0], found[1].messages) == ("b", [Message.user("b")])
    assert read_conversation(store, "c") is None
    assert read_conversation(store, SESSION) is None
    with pytest.raises(errors.Record):
        read_conversation(store)


def test_the_main_conversation_is_found_from_the_headers(store: Store) -> None:
    assert read_conversation(store) is None
    start(store, "b", None, Retired())
    start(store, "a", "b")
    start(store, SESSION, None, Saved(CURRENT, "a"))

    found = read_conversation(store)

    assert found is not None
    assert found[0] == "b"
