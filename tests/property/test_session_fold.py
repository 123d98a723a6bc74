"""Laws of the fold: what a log comes to is what the live value was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.session.change import ChangeRecord
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.reader import as_of, history, load
from agentmem_cli.session.writer import save
from agentmem_cli.storage.memory import MemoryStore
from tests.strategies import Edit, Editor, histories


@given(history_=histories())
def test_folding_a_log_from_scratch_equals_the_live_value(history_: list[Edit]) -> None:
    store = MemoryStore()
    live = Editor().run(history_)

    save(store, "main", live)
    folded = load(store, "main")

    assert folded == live
    assert folded.next_message == live.next_message
    assert not live.unsaved


@given(history_=histories(5))
def test_after_every_edit_the_saved_log_folds_to_the_live_value(history_: list[Edit]) -> None:
    store = MemoryStore()
    editor = Editor()
    equal: list[bool] = []

    for edit in history_:
        live = editor.run([edit])
        save(store, "main", live)
        equal.append(load(store, "main") == live)

    assert equal == [True] * len(history_)


@given(before=histories(4), after=histories(4))
def test_unsaved_changes_folded_over_a_copy_of_the_old_value_give_an_equal_one(
    before: list[Edit], after: list[Edit]
) -> None:
    store = MemoryStore()
    editor = Editor()
    save(store, "main", editor.run(before))
    live_old, read_old = editor.conversation.copy(), load(store, "main")
    live = editor.run(after)

    for change in live.unsaved:
        live_old.apply(change)
        read_old.apply(change)

    assert live_old == live
    assert read_old == live


@given(history_=histories())
def test_edits_of_a_value_that_was_read_equal_edits_of_the_live_one(history_: list[Edit]) -> None:
    half = len(history_) // 2
    store = MemoryStore()
    one = Editor()
    save(store, "main", one.run(history_[:half]))
    other = Editor(load(store, "main"))
    other.at = one.at
    other.conversation.next_aside = one.conversation.next_aside

    one.run([edit for edit in history_[half:] if not _needs_the_gone(edit)])
    other.run([edit for edit in history_[half:] if not _needs_the_gone(edit)])

    assert other.conversation == one.conversation


def _needs_the_gone(edit: Edit) -> bool:
    return type(edit).__name__ in {"RestoreEdit", "RemoveAsideEdit", "AsideEdit"}


@given(history_=histories(5))
def test_as_of_every_place_is_what_was_live_at_that_moment(history_: list[Edit]) -> None:
    store = MemoryStore()
    remembered = [Conversation()]  # before the header
    editor = Editor()
    for edit in history_:
        before = editor.conversation.copy()
        live = editor.run([edit])
        for change in live.unsaved:
            before.apply(change)
            remembered.append(before.copy())
        save(store, "main", live)
    count = len(history(store, "main"))

    seen = [as_of(store, "main", n) for n in range(count + 2)]

    assert count == len(remembered) - 1
    assert seen == [Conversation(), *remembered][: count + 2]
    assert seen[-1] == load(store, "main") == editor.conversation


@given(history_=histories(4))
def test_the_history_holds_the_changes_that_were_made(history_: list[Edit]) -> None:
    store = MemoryStore()
    live = Editor().run(history_)
    made = list(live.unsaved)

    save(store, "main", live)
    read = history(store, "main")

    assert [record for _, record in read] == made
    assert [stamp.seq for stamp, _ in read] == list(range(1, len(made) + 1))
    assert [stamp.t for stamp, _ in read] == [change.at for change in made]


@given(history_=histories(4))
def test_ids_are_never_given_twice(history_: list[Edit]) -> None:
    made: list[int] = []
    live = Editor().run(history_)
    before = Conversation()

    for record in live.unsaved:
        known = {entry.id for entry in before.entries} | set(made)
        before.apply(record)
        made += [entry.id for entry in before.entries if entry.id not in known]

    assert len(made) == len(set(made))
    assert max(made, default=-1) < live.next_message


@given(history_=histories(4))
def test_a_change_that_does_not_fit_changes_nothing(history_: list[Edit]) -> None:
    live = Editor().run(history_)
    copy = live.copy()
    count = len(live)

    with pytest.raises(ValueError, match="outside"):
        live.splice(count, count + 1)

    assert live == copy
    assert live.unsaved == copy.unsaved
    assert live.next_message == copy.next_message


@given(history_=histories(4), more=st.booleans())
def test_a_copy_goes_its_own_way(history_: list[Edit], more: bool) -> None:
    live = Editor().run(history_)
    remembered = live.copy()

    copy = live.copy()
    Editor(copy).run(history_)
    if more:
        copy.set_halt("kept" if copy.halt != "kept" else None)

    assert live == remembered
    assert all(isinstance(change, ChangeRecord) for change in copy.unsaved)
