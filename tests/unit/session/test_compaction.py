from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli import errors
from agentmem_cli.session.change import Splice
from agentmem_cli.session.compaction import apply_summary, undo_summary
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.counting import estimate_tokens
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import load
from agentmem_cli.session.refusals import (
    Load,
    Nothing,
    NotInLog,
    NotSmaller,
    SummaryGone,
    SummaryStale,
)
from agentmem_cli.session.summaries import Compacted, SummaryState, summary_author, summary_state
from agentmem_cli.session.writer import save
from agentmem_cli.storage.memory import MemoryStore
from tests.talks import ask, call, reply, result

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object

STATE = SummaryState("they built it")
LONG = "x" * 2_000


def talk() -> Conversation:
    made = Conversation()
    for second, message in enumerate([ask("build it"), call("a"), result("a", LONG), reply()]):
        made.push(message, at=1_000 * second)
    return made


def made_times(conversation: Conversation) -> list[tuple[int, int | None]]:
    return [(entry.id, entry.made) for entry in conversation.entries]


def test_a_summary_stands_where_the_messages_stood_as_one_splice() -> None:
    conversation = talk()
    conversation.take_unsaved()

    done = apply_summary(conversation, 3, STATE, at=9)

    splice, aside = conversation.unsaved
    assert done == Compacted(4, (0, 1, 2), STATE)
    assert isinstance(splice.change, Splice)
    assert splice.by == aside.by == summary_author()
    assert [entry.id for entry in conversation.entries] == [4, 3]
    assert conversation.entries[0].author == summary_author()
    assert conversation.entries[0].made == 9


def test_the_newest_request_follows_word_for_word_where_it_goes() -> None:
    conversation = talk()

    apply_summary(conversation, 3, STATE)

    first, second = conversation.messages[0].parts
    assert str(first["text"]).startswith(str(STATE.message()))
    assert second == {"type": "text", "text": "build it"}


def test_the_newest_request_is_passed_on_by_every_later_compaction_until_there_is_a_newer() -> None:
    conversation = talk()
    apply_summary(conversation, None, STATE)
    conversation.extend([call("b"), result("b", LONG), reply()])

    apply_summary(conversation, None, SummaryState("and more"))
    again = conversation.messages[0].parts[-1]
    conversation.extend([ask("now paint it"), reply(LONG)])
    apply_summary(conversation, None, SummaryState("all of it"))

    assert again == {"type": "text", "text": "build it"}
    assert conversation.messages[0].parts[1:] == [{"type": "text", "text": "now paint it"}]


def test_what_is_attached_to_the_newest_request_outlives_it_too() -> None:
    image: Object = {"type": "image", "data": {"type": "base64", "value": "QUJD"}}
    request = Message.user([{"type": "text", "text": "like this"}, image])
    conversation = Conversation([request, reply(LONG)])

    apply_summary(conversation, None, STATE)

    assert conversation.messages[0].parts[1:] == request.parts


@pytest.mark.parametrize("keep_from", [99, 0])
def test_nothing_happens_where_nothing_goes(keep_from: int) -> None:
    conversation = talk()

    assert apply_summary(conversation, keep_from, STATE) is None
    assert conversation == talk()


def test_nothing_happens_without_a_summary() -> None:
    conversation = talk()

    assert apply_summary(conversation, 3, SummaryState("  ")) is None
    assert apply_summary(Conversation(), None, STATE) is None
    assert conversation == talk()


def test_a_summary_that_is_not_smaller_is_refused() -> None:
    conversation = talk()

    with pytest.raises(NotSmaller) as caught:
        apply_summary(conversation, 3, SummaryState("y" * 4_000))

    assert caught.value.before == estimate_tokens(talk().messages[:3])
    assert caught.value.after > caught.value.before
    assert conversation == talk()


@pytest.mark.parametrize("change", ["edit", "gone", "more", "swap"])
def test_a_summary_of_messages_that_changed_meanwhile_is_refused(change: str) -> None:
    conversation = talk()
    read = tuple(conversation.entries[:3])
    if change == "edit":
        conversation.splice(2, 3, [conversation.entries[2].edited(result("a", LONG + "!"))])
    elif change == "gone":
        conversation.splice(1, 3)
    elif change == "more":
        conversation.splice(1, 1, [ask("wait")])
    else:
        conversation.splice(0, 1, [ask("build it")])
    before = conversation.copy()

    with pytest.raises(SummaryStale):
        apply_summary(conversation, 3, STATE, read=read)

    assert conversation == before


def test_what_is_added_meanwhile_stays_behind_the_summary() -> None:
    conversation = talk()
    read = tuple(conversation.entries[:3])
    conversation.push(ask("and paint it"))

    apply_summary(conversation, 3, STATE, read=read)

    assert [entry.id for entry in conversation.entries] == [5, 3, 4]
    assert len(conversation.messages[0].parts) == 1


# -- undo -------------------------------------------------------------------


def saved(conversation: Conversation) -> MemoryStore:
    store = MemoryStore()
    save(store, "main", conversation)
    return store


def test_an_undone_compaction_is_what_it_was_ids_and_made_times_too() -> None:
    conversation = talk()
    store = saved(conversation)
    apply_summary(conversation, 3, STATE)
    save(store, "main", conversation)

    undone = undo_summary(conversation, store, "main", summary_author())
    save(store, "main", conversation)

    assert undone.restored == (0, 1, 2)
    assert undone.state == SummaryState()
    assert conversation == talk() == load(store, "main")
    assert made_times(load(store, "main")) == made_times(talk())


def test_what_came_after_the_summary_stays_behind_what_is_put_back() -> None:
    conversation = talk()
    store = saved(conversation)
    apply_summary(conversation, 3, STATE)
    conversation.push(ask("later"))
    save(store, "main", conversation)

    undo_summary(conversation, store, "main")

    assert [entry.id for entry in conversation.entries] == [0, 1, 2, 3, 5]


def test_ten_compactions_come_back_newest_first_each_with_the_state_it_built_on() -> None:
    conversation = talk()
    store = saved(conversation)
    states = []
    for number in range(10):
        states.append(conversation.copy())
        apply_summary(conversation, None, SummaryState(f"summary {number}"))
        conversation.extend([call("a"), result("a", LONG), reply(f"{number}")])
        save(store, "main", conversation)
        conversation.splice(1, 4)
        save(store, "main", conversation)
        conversation.extend([reply(LONG)])
        save(store, "main", conversation)

    for number in reversed(range(10)):
        undone = undo_summary(conversation, store, "main")
        save(store, "main", conversation)
        expected = states[number]
        assert undone.state == summary_state(expected)
        assert conversation.entries[: len(expected)] == expected.entries
        assert Compacted.of(conversation) == Compacted.of(expected)

    with pytest.raises(Nothing):
        undo_summary(conversation, store, "main")


def test_there_is_nothing_to_undo_where_nothing_was_compacted() -> None:
    conversation = talk()

    with pytest.raises(Nothing):
        undo_summary(conversation, saved(conversation), "main")


def test_a_summary_that_is_gone_cannot_be_undone() -> None:
    conversation = talk()
    store = saved(conversation)
    apply_summary(conversation, 3, STATE)
    conversation.splice(0, 1)
    save(store, "main", conversation)
    before = conversation.copy()

    with pytest.raises(SummaryGone):
        undo_summary(conversation, store, "main")

    assert conversation == before


@pytest.mark.parametrize("log", ["main", "other"])
def test_a_compaction_that_was_not_saved_cannot_be_undone(log: str) -> None:
    conversation = talk()
    store = saved(conversation)
    apply_summary(conversation, 3, STATE)
    before = conversation.copy()

    with pytest.raises(NotInLog):
        undo_summary(conversation, store, log)

    assert conversation == before


def test_a_log_that_does_not_read_is_told() -> None:
    conversation = talk()
    store = saved(conversation)
    apply_summary(conversation, 3, STATE)
    save(store, "main", conversation)
    data = store.read_log("main")
    store.replace_log("main", len(data), b"junk\n" + data)

    with pytest.raises(Load) as caught:
        undo_summary(conversation, store, "main")

    assert isinstance(caught.value.error, errors.Record)


def test_the_messages_come_back_as_they_were_just_before_and_not_as_they_were_first() -> None:
    conversation = talk()
    store = saved(conversation)
    conversation.splice(0, 1, [conversation.entries[0].edited(ask("build it well"))])
    apply_summary(conversation, 3, STATE)
    save(store, "main", conversation)

    undo_summary(conversation, store, "main")

    assert conversation.messages[0] == ask("build it well")


def test_many_bytes_are_put_back_by_several_splices(monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = talk()
    store = saved(conversation)
    apply_summary(conversation, 3, STATE)
    save(store, "main", conversation)
    monkeypatch.setattr("agentmem_cli.session.takeback.PART_BYTES", 200)
    changes = conversation.changes

    undo_summary(conversation, store, "main")
    save(store, "main", conversation)

    assert conversation.changes > changes + 2
    assert load(store, "main") == talk()
