from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.limits import U64_MAX
from agentmem_cli.session.aside import Aside
from agentmem_cli.session.author import Author
from agentmem_cli.session.change import (
    ChangeRecord,
    Push,
    Reset,
    SetAside,
    SetHalt,
    Splice,
    State,
)
from agentmem_cli.session.conversation import BEGUN, DETACHED, CannotApply, Conversation
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.message import Message

if TYPE_CHECKING:
    from agentmem_cli.session.change import Change

A, B, C = (Message.user(text) for text in "abc")


def note(after: int | None = None, *, saved: bool = True) -> Aside:
    return Aside("note", Author.rig(), after=after, saved=saved)


def texts_of(conversation: Conversation) -> str:
    return "".join(message.text for message in conversation.messages)


def test_a_conversation_begins_with_nothing_or_with_messages() -> None:
    assert Conversation() == Conversation([])
    assert Conversation().lineage == BEGUN
    assert texts_of(Conversation([A, B])) == "ab"
    assert len(Conversation([A, B]).unsaved) == 1
    assert Conversation().unsaved == ()


def test_a_push_is_an_entry_with_the_next_id_and_its_time() -> None:
    conversation = Conversation()

    ids = [
        conversation.push(A, at=5),
        conversation.push(B, Author.rig(), by=Author.user(), at=6),
        *conversation.extend([C, A], at=7),
    ]

    assert ids == [0, 1, 2, 3]
    assert [entry.made for entry in conversation] == [5, 6, 7, 7]
    assert conversation.entries[1].author == Author.rig()
    assert [record.by for record in conversation.unsaved] == [None, Author.user(), None]
    assert conversation.extend([]) == []
    assert len(conversation.unsaved) == 3


def test_a_splice_gives_new_ids_to_messages_and_keeps_those_of_entries() -> None:
    conversation = Conversation([A, B, C])
    edited = conversation.entries[1].edited(A)

    gone = conversation.splice(0, 2, [C, edited], at=9)

    assert [entry.id for entry in gone] == [0, 1]
    assert [entry.id for entry in conversation] == [3, 1, 2]
    assert [entry.made for entry in conversation][:2] == [9, 9]
    assert conversation.unsaved[-1].change[:3] == (0, 2, (0, 1))
    assert conversation.next_message == 4


def test_a_splice_of_nothing_by_nothing_is_no_change() -> None:
    conversation = Conversation([A])
    before = conversation.unsaved

    assert conversation.splice(1, 1) == []
    assert conversation.unsaved == before


def test_entries_put_back_keep_the_time_they_were_made() -> None:
    conversation = Conversation()
    conversation.push(A, at=5)
    gone = conversation.splice(0, 1, at=6)

    conversation.restore(0, 0, gone, at=7)

    assert conversation.entries == gone
    assert conversation.entries[0].made == 5
    assert conversation.next_message == 1


@pytest.mark.parametrize(("low", "high"), [(-1, 0), (1, 0), (0, 3), (3, 3)])
def test_a_range_outside_the_conversation_is_refused(low: int, high: int) -> None:
    conversation = Conversation([A, B])

    with pytest.raises(CannotApply, match="outside"):
        conversation.splice(low, high, [C])

    assert texts_of(conversation) == "ab"
    assert conversation.next_message == 2


def entry(id_: int) -> Entry:
    return Entry(id_, C)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (Push((entry(1),)), "stands already"),
        (Push((entry(7), entry(7))), "twice"),
        (Splice(0, 1, (1,), ()), "does not stand"),
        (Splice(0, 2, (0,), ()), "outside"),
        (Splice(1, 3, (1, 2), ()), "outside"),
        (Splice(1, 0, (), ()), "outside"),
        (Splice(0, 1, (0,), (entry(1),)), "stands already"),
        (Splice(0, 1, (0,), (entry(7), entry(7))), "twice"),
        (SetHalt("newer"), "no such halt"),
        (Reset(State((entry(1), entry(1)))), "twice"),
        (Reset(State(halt="newer")), "no such halt"),
    ],
)
def test_a_change_that_does_not_fit_is_refused_whole(change: Change, told: str) -> None:
    conversation = Conversation([A, B])
    copy = conversation.copy()

    with pytest.raises(CannotApply, match=told):
        conversation.apply(change)

    assert conversation == copy
    assert conversation.state() == copy.state()


def test_an_applied_change_is_no_unsaved_one() -> None:
    conversation = Conversation()

    conversation.apply(ChangeRecord(Push((entry(5),)), None, 1))
    conversation.apply(Splice(0, 1, (5,), (entry(5), entry(2))))
    conversation.apply(Push((entry(3),)))

    assert [each.id for each in conversation] == [5, 2, 3]
    assert conversation.next_message == 6
    assert conversation.unsaved == ()


def test_a_reset_replaces_everything_and_no_id_comes_twice() -> None:
    conversation = Conversation([A, B])
    conversation.put_aside(note())

    conversation.apply(Reset(State((entry(9),), {4: note()}, "kept", 3, 1)))

    assert [each.id for each in conversation] == [9]
    assert (conversation.next_message, conversation.next_aside) == (10, 5)
    assert conversation.halt == "kept"
    assert conversation.asides == {4: note()}
    assert conversation.push(A) == 10


def test_a_halt_is_set_once_and_cleared() -> None:
    conversation = Conversation()

    for halt in ("stopped", "stopped", "kept", None, None):
        conversation.set_halt(halt)

    assert [record.change for record in conversation.unsaved] == [
        SetHalt("stopped"),
        SetHalt("kept"),
        SetHalt(None),
    ]
    with pytest.raises(CannotApply, match="newer"):
        conversation.set_halt("newer")


def test_side_records_are_put_replaced_and_removed() -> None:
    conversation = Conversation()
    first = conversation.put_aside(note())
    second = conversation.put_aside(note(0))
    conversation.put_aside(note(1), first)
    conversation.remove_aside(second)
    conversation.remove_aside(second)
    conversation.remove_aside(99)

    assert conversation.asides == {first: note(1)}
    assert conversation.put_aside(note()) == 2
    assert [record.change for record in conversation.unsaved][-2] == SetAside(second, None)
    assert len(conversation.unsaved) == 5


def test_an_unsaved_side_record_makes_no_change_and_does_not_count_in_equality() -> None:
    conversation = Conversation()

    id_ = conversation.put_aside(note(saved=False))

    assert conversation.unsaved == ()
    assert conversation == Conversation()
    assert conversation.state().asides == {}
    conversation.remove_aside(id_)
    assert conversation.asides == {}
    assert conversation.unsaved == ()


def test_an_unsaved_side_record_in_the_place_of_a_saved_one_removes_that() -> None:
    conversation = Conversation()
    id_ = conversation.put_aside(note())

    conversation.put_aside(note(saved=False), id_)

    assert conversation.unsaved[-1].change == SetAside(id_, None)
    assert conversation.asides == {id_: note(saved=False)}


def test_side_records_stand_after_the_nearest_earlier_entry_that_is_there() -> None:
    conversation = Conversation([A, B, C])
    ids = [conversation.put_aside(note(after)) for after in (None, 0, 1, 2, 7)]

    whole = conversation.asides_after()
    gone = conversation.splice(0, 2)
    part = conversation.asides_after()
    conversation.restore(0, 0, gone)

    assert {key: [id_ for id_, _ in items] for key, items in whole.items()} == {
        None: [ids[0]],
        0: [ids[1]],
        1: [ids[2]],
        2: [ids[3], ids[4]],
    }
    assert {key: [id_ for id_, _ in items] for key, items in part.items()} == {
        None: ids[:3],
        2: ids[3:],
    }
    assert conversation.asides_after() == whole
    assert Conversation().asides_after() == {}


def test_taking_the_unsaved_changes_counts_them_as_saved() -> None:
    conversation = Conversation([A])
    conversation.push(B)

    taken = conversation.take_unsaved()

    assert len(taken) == 2
    assert conversation.unsaved == ()
    assert conversation.changes == 2
    assert conversation.continues(BEGUN, 2)
    assert not conversation.continues(BEGUN, 1)
    assert not conversation.continues(7, 2)


def test_conversations_are_equal_by_entries_saved_side_records_and_halt() -> None:
    def made(at: int = 1, author: Author | None = None, text: str = "a") -> Conversation:
        conversation = Conversation()
        conversation.push(Message.user(text), author, at=at)
        return conversation

    other_id = Conversation([A, A])
    other_id.splice(0, 1)
    halted, aside = made(), made()
    halted.set_halt("kept")
    aside.put_aside(note())
    detached = made(at=2)
    detached.lineage = DETACHED
    detached.take_unsaved()

    assert made() == detached
    assert made() != made(author=Author.rig())
    assert made() != made(text="b")
    assert made() != other_id
    assert made() != halted
    assert made() != aside
    assert made() != "a"
    assert U64_MAX == DETACHED


def test_an_entry_is_found_by_its_id() -> None:
    conversation = Conversation([A, B, C])
    conversation.splice(0, 1)

    assert conversation.index_of(2) == 1
    assert conversation.index_of(0) is None
    assert repr(conversation) == "Conversation(2 entries, 0 asides)"
