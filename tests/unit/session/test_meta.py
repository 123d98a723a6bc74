from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.limits import META_BYTES_MAX, TITLE_CHARACTERS_MAX
from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import Number, dumps, same
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.keys import MODEL, TITLE
from agentmem_cli.session.message import Message
from agentmem_cli.session.meta import META, BadMeta, SessionMeta, excerpt, first_title, title_of
from agentmem_cli.session.session import SavedAgent, Session
from agentmem_cli.storage.memory import MemoryStore
from tests.strategies import json_objects, json_values, messages, texts

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

WHOLE: Object = {
    "title": "A title",
    "labels": {"team": "blue"},
    "updated": 1_700_000_000_000,
    "model": "v/m",
    "messages": 3,
    "listed": {"pinned": True},
    "newer": [Number("1e400")],
}


def test_a_meta_comes_back_as_it_was_written_unknown_fields_too() -> None:
    store = MemoryStore()
    meta = SessionMeta.decode(dumps(WHOLE))

    meta.write(store)

    assert store.read_file(META) == dumps(WHOLE)
    assert SessionMeta.read(store) == meta
    assert meta.title == "A title"
    assert meta.extra == {"newer": [Number("1e400")]}


def test_an_empty_title_or_model_counts_as_missing() -> None:
    meta = SessionMeta.decode(b'{"title":"","labels":{},"updated":5,"model":"","messages":0}')

    assert (meta.title, meta.model, meta.updated, meta.messages) == (None, None, 5, 0)


def test_an_absent_meta_is_an_empty_one() -> None:
    assert SessionMeta.read(MemoryStore()) == SessionMeta()
    assert SessionMeta().encode() == b"{}"


@given(value=json_objects(), known=st.dictionaries(st.sampled_from(sorted(WHOLE)), json_values()))
def test_a_meta_of_any_shape_reads_and_keeps_what_it_does_not_know(
    value: Object, known: Object
) -> None:
    given_ = {**value, **known}

    meta = SessionMeta.decode(dumps(given_))
    again = SessionMeta.decode(meta.encode())

    assert again == meta._replace(odd=())
    for key in given_.keys() - (WHOLE.keys() - {"newer"}):
        assert same(meta.extra[key], given_[key])


@pytest.mark.parametrize("field", sorted(WHOLE.keys() - {"newer"}))
@pytest.mark.parametrize("value", [None, True, 1.5, [], Number("1e400"), [1], "\ud800"])
def test_a_field_of_another_shape_counts_as_missing(field: str, value: JSON) -> None:
    meta = SessionMeta.decode(dumps({field: value}))

    missing = meta._replace(odd=()) == SessionMeta()

    taken = value is None or (field in {"title", "model"} and isinstance(value, str))
    assert missing or taken
    assert meta.odd == (() if taken else (field,))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "0 bytes, none of them JSON"),
        (b"\0" * 1_043, "1043 bytes, none of them JSON"),
        (b" \r\n", "none of them JSON"),
        (dumps(WHOLE)[:60], "60 bytes, not JSON"),
        (dumps(WHOLE) + b"\0" * 200, "ends at byte 136, 200 bytes follow it"),
        (dumps(WHOLE) + b"x" * 1_111, "ends at byte 136, 1111 bytes follow it"),
        ('{"title":"日本"}'.encode() + b"}}", "ends at byte 18, 2 bytes follow it"),
        (b"\n {} {}", "ends at byte 4, 3 bytes follow it"),
        (b"[]", "no object"),
        (b"null\n", "no object"),
        (b'"x"', "no object"),
        (b"42", "no object"),
        (b'{"title":"\xff"}', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"a":' * 2_000 + b"1" + b"}" * 2_000, "nested"),
        (b"[" * 100_000, "nested"),
        (b"{" + b" " * META_BYTES_MAX + b"}", f"at most {META_BYTES_MAX}"),
    ],
)
def test_bytes_that_are_no_meta_say_where_they_go_wrong(data: bytes, told: str) -> None:
    with pytest.raises(BadMeta) as caught:
        SessionMeta.decode(data)

    assert told in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"[]", b'{"a":1}x', b'{"title":"\\ud800"}', b'{"title":"t","x":1e400}', dumps(WHOLE)]
)
def test_a_quick_reading_shows_what_an_exact_one_shows(data: bytes) -> None:
    def shown(exact: bool) -> object:
        try:
            return SessionMeta.decode(data, exact=exact)._replace(extra={})
        except BadMeta as error:
            return str(error)

    assert shown(exact=False) == shown(exact=True)


@given(data=st.binary(max_size=40))
def test_any_bytes_are_a_meta_or_a_bad_one(data: bytes) -> None:
    try:
        meta = SessionMeta.decode(data)
    except BadMeta as error:
        told = str(error)
    else:
        told = meta.encode().decode()

    assert told


def test_a_meta_of_the_largest_size_reads() -> None:
    data = b'{"title":"' + b"a" * (META_BYTES_MAX - 12) + b'"}'

    assert len(data) == META_BYTES_MAX
    assert SessionMeta.decode(data).title is not None


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        (" \n\t ", ""),
        ("  a \n\n b\u2028c\u3000d ", "a b c d"),
        ("a" * 60, "a" * 60),
        ("a" * 61, "a" * 59 + "…"),
        ("a" * 58 + " b", "a" * 58 + " b"),
        ("a" * 58 + " bc", "a" * 58 + "…"),
        ("a" * 58 + "  b\n", "a" * 58 + " b"),
        ("ab " * 40, "ab " * 19 + "ab…"),
        (" " * 10_000 + "late", "late"),
        ("a" + " " * 10_000 + "b", "a b"),
        ("世" * 61, "世" * 59 + "…"),
    ],
)
def test_a_title_is_one_line_of_at_most_sixty_characters(text: str, title: str) -> None:
    assert title_of(text) == title


@given(text=texts(200) | st.text("ab \n", max_size=200))
def test_a_title_holds_the_words_of_the_text_as_far_as_they_go(text: str) -> None:
    title = title_of(text)
    words = " ".join(text.split())

    assert len(title) <= TITLE_CHARACTERS_MAX
    assert title == words or (title.endswith("…") and words.startswith(title[:-1]))
    assert title_of(title) == title


def agent_of(conversation: Conversation, saved: Object | None = None) -> SavedAgent:
    return SavedAgent("main", None, 5, conversation, saved or {}, updated_ms=9)


def test_a_meta_made_of_a_session_tells_of_its_main_agent() -> None:
    conversation = Conversation([Message.user("  Mend\nthe roof "), Message.assistant("yes")])
    session = Session([agent_of(conversation, {MODEL: "v/m"})])

    meta = SessionMeta.of(session)

    assert meta == SessionMeta(title="Mend the roof", updated=9, model="v/m", messages=2)


def test_a_saved_title_goes_before_a_made_one_and_an_odd_one_does_not() -> None:
    conversation = Conversation([Message.user("said")])

    named = SessionMeta.of(Session([agent_of(conversation, {TITLE: "named"})]))
    odd = SessionMeta.of(Session([agent_of(conversation, {TITLE: 7, MODEL: []})]))

    assert named.title == "named"
    assert (odd.title, odd.model) == ("said", None)


def test_a_session_without_agents_has_an_empty_meta() -> None:
    assert SessionMeta.of(Session()) == SessionMeta()


def test_the_first_title_is_what_the_user_typed() -> None:
    conversation = Conversation()
    conversation.push(Message.user("from a plugin"), Author.plugin("p"))
    conversation.push(Message.user("  "))
    conversation.push(Message.assistant("reply"))
    conversation.push(Message.tool_result("a", "sh", "result"))
    conversation.push(Message.user("typed"), Author.user())

    assert first_title(agent_of(conversation)) == "typed"
    assert first_title(agent_of(Conversation())) is None


TOOL: Object = {"type": "toolcall", "id": "a", "function": {"name": "sh"}}


@pytest.mark.parametrize(
    ("message", "author", "line"),
    [
        (Message.user("hi\nthere"), None, "user: hi there"),
        (Message.assistant([TOOL, TOOL]), None, "assistant: sh, sh"),
        (Message.assistant([TOOL, {"type": "text", "text": "now"}]), None, "assistant: now"),
        (Message.assistant([{"type": "toolcall", "function": 7}]), None, "assistant: a tool"),
        (Message.tool_result("a", "sh", "x"), None, "user: result of sh"),
        (Message.user([{"type": "image"}, {"odd": 1}]), None, "user: image, a part"),
        (Message.of({}), None, "unknown: (empty)"),
        (Message.of({"role": 7, "content": 7}), None, "unknown: (empty)"),
        (Message.system("rules"), Author.rig(), "rig: rules"),
        (Message.user("x"), Author.plugin("cron"), "cron: x"),
        (Message.user("x"), Author.agent("b", title="The\nhelper"), "The helper: x"),
        (Message.user("x"), Author([7], title=7), "unknown: x"),
    ],
)
def test_an_excerpt_says_who_and_what(message: Message, author: Author | None, line: str) -> None:
    assert excerpt(Entry(0, message, author)) == line


@given(message=messages())
def test_an_excerpt_is_one_line_of_any_message(message: Message) -> None:
    line = excerpt(Entry(0, message))

    assert len(line.splitlines()) <= 1
    assert len(line) <= 2 * TITLE_CHARACTERS_MAX + 2
