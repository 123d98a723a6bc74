from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli import errors
from agentmem_cli.session.codec import Number
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.keys import CURRENT, MODEL, TITLE
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import load
from agentmem_cli.session.session import (
    SavedAgent,
    Session,
    choose_main,
    main_order,
    standing_agents,
)
from agentmem_cli.session.writer import save

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.store import Store


def agent(id_: str, parent: str | None = None, *, retired: bool = False) -> SavedAgent:
    return SavedAgent(id_, parent, 0, Conversation(), retired=retired)


def test_agents_nothing_spawned_come_first_then_by_id() -> None:
    agents = [agent("b", "z"), agent("a", "z"), agent("z"), agent("c")]

    assert [each.id for each in sorted(agents, key=main_order)] == ["c", "z", "a", "b"]


@pytest.mark.parametrize(
    ("agents", "current", "main"),
    [
        ([], None, None),
        ([("b", None, False), ("a", None, False)], None, "a"),
        ([("a", "b", False), ("b", None, False)], None, "b"),
        ([("a", None, True), ("b", None, False)], None, "b"),
        ([("a", None, True), ("b", "a", False), ("c", "b", False), ("d", None, False)], None, "d"),
        ([("a", None, True), ("b", "a", False)], None, None),
        ([("a", "gone", False), ("b", "gone", False)], None, "a"),
        ([("a", None, False), ("b", "a", False)], "b", "b"),
        ([("a", None, False), ("b", None, True)], "b", "a"),
        ([("a", None, False)], "nobody", "a"),
        ([("a", None, False)], 7, "a"),
        ([("a", "b", False), ("b", "a", False)], None, "a"),
    ],
)
def test_the_main_agent_is_the_first_that_stands(
    agents: list[tuple[str, str | None, bool]], current: JSON, main: str | None
) -> None:
    session = Session(
        [agent(id_, parent, retired=retired) for id_, parent, retired in agents],
        {CURRENT: current},
    )

    found = session.main_agent()

    assert choose_main(agents, current) == main
    assert (None if found is None else found.id) == main


def test_who_was_spawned_by_a_retired_agent_is_gone_with_it() -> None:
    agents = [("a", None, True), ("b", "a", False), ("c", "b", False), ("d", None, False)]

    assert standing_agents(agents) == {"d"}


def test_saved_values_of_another_shape_are_no_model_and_no_title() -> None:
    named, odd = agent("a"), agent("b")
    named.saved = {MODEL: "v/m", TITLE: "t"}
    odd.saved = {MODEL: {"a": 1}, TITLE: 7}

    assert (named.model(), named.title(), named.value(MODEL)) == ("v/m", "t", "v/m")
    assert (odd.model(), odd.title(), odd.value("x")) == (None, None, None)
    assert Session(saved={"k": 1}).value("k") == 1


def test_a_session_saves_every_agent_and_value_together(store: Store) -> None:
    session = Session([agent("a"), agent("b", "a"), agent("c", "b")], {"k": Number("1e400")})
    for each in session.agents:
        each.conversation.push(Message.user(each.id))
    session.agents[0].saved[TITLE] = "named"

    session.save(store)
    read = Session.read(store)

    assert {each.id: each.conversation for each in read.agents} == {
        each.id: each.conversation for each in session.agents
    }
    assert [(each.id, each.parent) for each in read.agents] == [("c", "b"), ("b", "a"), ("a", None)]
    assert read.agents[2].title() == "named"
    assert read.saved == {"k": Number("1e400")}
    assert all(not each.conversation.unsaved for each in session.agents)


def test_saving_again_writes_nothing(store: Store) -> None:
    session = Session([agent("a")], {"k": 1})
    session.agents[0].conversation.push(Message.user("x"))
    session.save(store)
    before = {log: store.read_log(log) for log in store.logs()}

    session.save(store)
    Session.read(store).save(store)

    assert {log: store.read_log(log) for log in store.logs()} == before


@pytest.mark.parametrize(("old", "new"), [(1, True), (1, 1.0), (0, False), (1, 2), (1, None)])
def test_a_value_of_another_kind_is_another_value(store: Store, old: JSON, new: JSON) -> None:
    Session(saved={"k": old}).save(store)
    session = Session.read(store)
    session.saved["k"] = new

    session.save(store)
    read = Session.read(store).saved.get("k")

    assert read == new
    assert type(read) is type(new)


def test_a_changed_log_refuses_the_whole_session(store: Store) -> None:
    session = Session([agent("a"), agent("b")])
    for each in session.agents:
        each.conversation.push(Message.user(each.id))
    session.save(store)
    other = load(store, "b")
    other.push(Message.user("first"))
    save(store, "b", other)
    before = {log: store.read_log(log) for log in store.logs()}
    for each in session.agents:
        each.conversation.push(Message.user("second"))

    with pytest.raises(errors.Changed) as caught:
        session.save(store)

    assert caught.value.log == "b"
    assert {log: store.read_log(log) for log in store.logs()} == before
    assert all(each.conversation.unsaved for each in session.agents)
