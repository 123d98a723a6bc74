"""Laws of damage: what is whole reads, what is not is named, and nothing is thrown away."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli import errors
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.heads import main_log, read_conversation, read_heads
from agentmem_cli.session.keys import CURRENT, SESSION
from agentmem_cli.session.lines import Damage, scan
from agentmem_cli.session.live import Writer
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import as_of, fold_log, history, load, load_async
from agentmem_cli.session.record import Saved
from agentmem_cli.session.session import Session
from agentmem_cli.session.writer import append_records, save, save_async
from agentmem_cli.storage.logfile import BytesLog
from agentmem_cli.storage.memory import MemoryStore
from agentmem_cli.storage.store import as_async
from tests.strategies import Edit, Editor, damaged, histories, log_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.fold import LogFold


def _fixed_log() -> bytes:
    conversation = Conversation()
    conversation.push(Message.user("one \u2028 日本"), at=1)
    conversation.push(Message.assistant("two"), at=2)
    conversation.set_halt("kept", at=3)
    conversation.splice(0, 1, at=4)
    return log_of(conversation)


LOG = _fixed_log()
LINES = LOG.splitlines(keepends=True)


def store_of(data: bytes) -> MemoryStore:
    store = MemoryStore()
    store.replace_log("main", 0, data)
    return store


def test_a_cut_at_any_byte_loses_at_most_the_record_it_falls_in() -> None:
    whole = store_of(LOG)
    remembered = [as_of(whole, "main", n) for n in range(len(LINES) + 1)]
    wrong: list[int] = []

    for cut in range(len(LOG) + 1):
        store = store_of(LOG[:cut])
        lines = LOG[:cut].count(b"\n")
        same = load(store, "main") == remembered[lines]
        if not same or len(history(store, "main")) != max(0, lines - 1):
            wrong.append(cut)

    assert wrong == []


def test_the_next_save_sets_the_torn_bytes_aside_and_then_reads_strictly() -> None:
    wrong: list[int] = []

    for cut in range(len(LOG) + 1):
        store = store_of(LOG[:cut])
        conversation = load(store, "main")
        conversation.push(Message.user("after"))
        kept = LOG[: LOG[:cut].rfind(b"\n") + 1]
        torn = LOG[len(kept) : cut]
        save(store, "main", conversation)
        name = f"recovered/main-{hashlib.sha256(torn).hexdigest()}.part"
        files = {each: store.read_file(each) for each in store.files()}
        read = Session.read(store)
        if (
            files != ({name: torn} if torn else {})
            or not store.read_log("main").startswith(kept)
            or read.agents[0].conversation != conversation
            or read.repairs
        ):
            wrong.append(cut)

    assert wrong == []


@given(history_=histories(4), data=st.data())
def test_a_cut_of_any_log_loses_at_most_the_record_it_falls_in(
    history_: list[Edit], data: st.DataObject
) -> None:
    log = log_of(Editor().run(history_))
    store = store_of(log)
    cut = data.draw(st.integers(0, len(log)))

    conversation = load(store_of(log[:cut]), "main")

    assert conversation == as_of(store, "main", log[:cut].count(b"\n"))


DOCUMENTED = (errors.SessionError, errors.LogWriteError)


def outcome(call: Callable[[], object]) -> str:
    """Run *call*; return how it ended. Anything that is not documented goes through."""
    try:
        call()
    except DOCUMENTED as error:
        return f"{type(error).__name__}, {error}"
    return "done"


@given(history_=histories(3), data=st.data())
def test_malformed_bytes_raise_documented_errors_only(
    history_: list[Edit], data: st.DataObject
) -> None:
    bad = data.draw(damaged(log_of(Editor().run(history_))))
    store = store_of(bad)

    ended = [
        outcome(lambda: [entry.message for entry in load(store, "main")]),
        outcome(lambda: history(store, "main")),
        outcome(lambda: as_of(store, "main", 2)),
        outcome(lambda: asyncio.run(load_async(as_async(store), "main"))),
        outcome(lambda: Session.read(store)),
        outcome(lambda: read_conversation(store)),
    ]
    quiet = [
        outcome(lambda: Session.read_lenient(store)),
        outcome(lambda: read_heads(store)),
        outcome(lambda: main_log(store)),
        outcome(lambda: [entry.message for entry in _lenient(store).conversation]),
    ]

    assert quiet == ["done"] * 4
    assert len(set(ended[:2] + ended[3:])) == 1
    assert store.read_log("main") == bad
    assert store.files() == []


@given(history_=histories(3), data=st.data())
def test_writing_to_malformed_bytes_fails_whole_or_keeps_every_byte(
    history_: list[Edit], data: st.DataObject
) -> None:
    bad = data.draw(damaged(log_of(Editor().run(history_))))
    writes: list[Callable[[MemoryStore], object]] = [
        lambda store: append_records(store, "main", lambda _: [Saved("k", 1)]),
        Writer.open,
        lambda store: save(store, "main", Conversation([Message.user("x")])),
        lambda store: asyncio.run(
            save_async(as_async(store), "main", Conversation([Message.user("x")]))
        ),
    ]

    for write in writes:
        store = store_of(bad)
        ended = outcome(lambda: write(store))  # noqa: B023 - called at once
        kept = b"".join(store.read_file(name) for name in store.files())
        log = store.read_log("main")

        assert log == bad if ended != "done" else log.startswith(bad[: len(bad) - len(kept)])
        assert bad.endswith(kept)
        assert ended != "done" or outcome(lambda: load(store, "main")) == "done"  # noqa: B023


def _lenient(store: MemoryStore) -> LogFold:
    return fold_log(store, "main", strict=False)


@given(history_=histories(3), data=st.data())
def test_every_byte_of_a_damaged_log_is_a_record_or_named(
    history_: list[Edit], data: st.DataObject
) -> None:
    bad = data.draw(damaged(log_of(Editor().run(history_))))
    damages: list[Damage] = []
    covered = bytearray(len(bad))

    for line in scan(BytesLog(bad), damages.append):
        covered[line.offset : line.offset + line.length] = b"\1" * line.length
    for damage in damages:
        covered[damage.offset : damage.offset + damage.length] = b"\1" * damage.length
    rest = bytes(byte for byte, seen in zip(bad, covered, strict=True) if not seen)

    assert rest.strip() == b""
    assert all(damage.line == bad[: damage.offset].count(b"\n") + 1 for damage in damages)


MIDDLES = {
    "a cut record welded to a whole one": LINES[1][:30] + LINES[1],
    "two records on one line": LINES[1].rstrip() + LINES[1],
    "NULs before a line": b"\0" * 300 + LINES[1],
    "NULs instead of a line": b"\0" * 512 + b"\n",
    "a byte that is not UTF-8": LINES[1].replace("日".encode(), b"\xff"),
    "nested 2,000 deep": b'{"seq":1,"n":1,"t":1,"type":"state","key":"k","value":'
    + b'{"a":' * 2_000
    + b"1"
    + b"}" * 2_001
    + b"\n",
    "nested 100,000 deep": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "an array": b"[]\n",
    "null": b"null\n",
    "a number": b"42\n",
    "a string": b'"x"\n',
    "an empty object": b"{}\n",
}


@pytest.mark.parametrize("line", MIDDLES.values(), ids=MIDDLES)
def test_damage_in_the_middle_is_refused_strictly_and_named_leniently(line: bytes) -> None:
    bad = LINES[0] + line + b"".join(LINES[2:])
    store = store_of(bad)

    folded = _lenient(store)

    assert folded.damages[0].line == 2
    assert len(LINES[0]) <= folded.damages[0].offset < len(LINES[0]) + len(line)
    assert folded.damages[0].kind
    assert [message.text for message in folded.conversation.messages][-1] == "two"
    assert folded.conversation.halt == "kept"
    with pytest.raises(errors.Record) as caught:
        load(store, "main")
    assert (caught.value.log, caught.value.line) == ("main", 2)


def test_what_is_deep_within_the_bound_survives_saving_and_editing() -> None:
    deep: JSON = "1.10"
    for _ in range(450):
        deep = [{"a": deep}]
    store = MemoryStore()
    message = Message.of({"role": "user", "content": [], "deep": deep})
    save(store, "main", Conversation([message]))
    conversation = load(store, "main")

    def from_a_deep_stack(frames: int) -> Message:
        return from_a_deep_stack(frames - 1) if frames else conversation.messages[0]

    conversation.restore(0, 1, conversation.entries)
    save(store, "main", conversation)

    assert from_a_deep_stack(200) == message
    assert load(store, "main").messages == [message]


@pytest.mark.parametrize("value", [[], {}, 7, None, "nobody", {"a": 1}])
def test_a_current_agent_of_any_shape_names_nobody(value: JSON) -> None:
    store = MemoryStore()
    for log in ("a", "b"):
        append_records(store, log, lambda _: [Saved("k", 1)])
    append_records(store, SESSION, lambda _: [Saved(CURRENT, value)])

    assert main_log(store) == "a"
