from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.limits import U64_MAX
from agentmem_cli.session.aside import Aside
from agentmem_cli.session.author import Author, is_plain
from agentmem_cli.session.change import (
    ChangeRecord,
    Push,
    Reset,
    SetAside,
    SetHalt,
    Splice,
    State,
)
from agentmem_cli.session.codec import Number, loads_object, same
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.message import Message
from agentmem_cli.session.record import (
    BadRecord,
    Header,
    LogRewrite,
    Retired,
    Saved,
    decode_by,
    decode_change,
    decode_header,
    decode_saved,
    encode_header,
    encode_record,
)
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.session.writer import save
from agentmem_cli.storage.memory import MemoryStore
from tests.strategies import asides, authors, foreign_fields, json_values, messages, texts

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from agentmem_cli.session.change import Change
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.record import LogRecord

U64 = st.integers(0, U64_MAX)
STAMPS = st.builds(Stamp, U64, U64, st.integers(-(2**62), 2**62))


def entries(made: SearchStrategy[int | None]) -> SearchStrategy[tuple[Entry, ...]]:
    one = st.builds(Entry, st.integers(0, U64_MAX - 1), messages(), st.none() | authors(), made)
    with_more = st.builds(Entry.with_extra, one, foreign_fields())
    return st.lists(with_more, max_size=2).map(tuple)


def changes() -> SearchStrategy[Change]:
    halts = st.sampled_from([None, "stopped", "kept", "newer"])
    kept = st.dictionaries(U64, asides(), max_size=2)
    low = st.integers(0, 5)
    times = st.integers(-10, 2**60)
    some = entries(st.none() | times)
    spans = st.builds(
        lambda from_, more, removed, with_: Splice(from_, from_ + more, tuple(removed), with_),
        low,
        low,
        st.lists(U64, max_size=2),
        some,
    )
    return st.one_of(
        st.builds(Push, some),
        spans,
        st.builds(SetHalt, halts),
        st.builds(SetAside, U64, st.none() | asides()),
        st.builds(Reset, st.builds(State, entries(times), kept, halts, U64, U64)),
    )


def decoded(line: bytes) -> tuple[Stamp, LogRecord]:
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    fields = loads_object(line)
    n, seq, t = fields["n"], fields["seq"], fields["t"]
    assert isinstance(n, int)
    assert isinstance(seq, int)
    assert isinstance(t, int)
    stamp = Stamp(n, seq, t)
    if fields["type"] == "state":
        return stamp, decode_saved(fields)
    if fields["type"] == "retired":
        return stamp, Retired()
    return stamp, ChangeRecord(decode_change(fields, t, None, 0, 0), decode_by(fields), t)


@given(stamp=STAMPS, change=changes(), by=st.none() | authors())
def test_a_change_decodes_to_what_was_encoded(
    stamp: Stamp, change: Change, by: Author | None
) -> None:
    record = ChangeRecord(change, by, stamp.t)

    line = encode_record(stamp, record)
    again = decoded(line)

    assert again == (stamp, record)
    assert encode_record(*again) == line


@given(stamp=STAMPS, record=st.builds(Saved, texts(), json_values()) | st.just(Retired()))
def test_a_saved_value_and_an_end_decode_to_what_was_encoded(
    stamp: Stamp, record: LogRecord
) -> None:
    line = encode_record(stamp, record)
    again = decoded(line)

    assert again[0] == stamp
    assert encode_record(*again) == line
    if isinstance(record, Saved):
        assert isinstance(again[1], Saved)
        assert again[1].key == record.key
        assert same(again[1].value, record.value)


@given(
    stamp=STAMPS,
    header=st.builds(
        Header,
        texts(),
        U64,
        st.none() | texts(),
        st.lists(st.builds(LogRewrite, U64, st.none() | authors()), max_size=2).map(tuple),
        foreign_fields(),
    ),
)
def test_a_header_decodes_to_what_was_encoded(stamp: Stamp, header: Header) -> None:
    line = encode_header(stamp, header)

    again = decode_header(loads_object(line))

    assert again == header
    assert encode_header(stamp, again) == line


def test_records_are_written_key_by_key_without_spaces() -> None:
    at = Stamp(7, 3, 9)
    entry = Entry(4, Message.user("hi"), Author.rig(), 9)
    aside = Aside("note", Author.user(), 1, 4)
    by = Author.plugin("p")
    head = b'{"seq":3,"n":7,"t":9,"type":'
    author = b'"by":{"kind":{"plugin":"p"}},"type":'
    message = b'{"role":"user","content":[{"type":"text","text":"hi"}]}'
    whole = b'{"message":' + message + b',"author":{"kind":"rig"},"id":4}'
    note = b'{"kind":"note","after":4,"author":{"kind":"user"},"value":1}'

    def line(change: Change, who: Author | None = None) -> bytes:
        return encode_record(at, ChangeRecord(change, who, 9))

    assert line(Push((entry,))) == head + b'"push","entries":[' + whole + b"]}\n"
    assert line(SetHalt(None), by) == b'{"seq":3,"n":7,"t":9,' + author + b'"halt","halt":null}\n'
    assert line(Splice(1, 2, (0,), (entry,))) == (
        head + b'"splice","from":1,"to":2,"removed":[0],"with":[' + whole + b"]}\n"
    )
    assert line(SetAside(2, aside)) == head + b'"aside","id":2,"aside":' + note + b"}\n"
    assert line(SetAside(2, None)) == head + b'"aside","id":2,"aside":null}\n'
    assert line(Reset(State((entry,), {2: aside}, "kept", 5, 3))) == (
        head + b'"reset","state":{"entries":[' + whole[:-1] + b',"made":9}],"asides":[{"id":2,'
        b'"aside":' + note + b'}],"halt":"kept","next_message":5,"next_aside":3}}\n'
    )
    assert encode_record(at, Saved("k", None)) == head + b'"state","key":"k","value":null}\n'
    assert encode_record(at, Retired()) == head + b'"retired"}\n'
    assert encode_header(at, Header("main", 2**64 - 1, "boss", (LogRewrite(8, by),))) == (
        head + b'"header","format":"rig-session/4","log":"main","lineage":18446744073709551615,'
        b'"parent":"boss","rewrites":[{"t":8,"by":{"kind":{"plugin":"p"}}}]}\n'
    )


def test_a_made_time_is_written_only_where_it_is_another_than_the_records() -> None:
    change = ChangeRecord(Push((Entry(0, Message.user("a"), None, 5),)), None, 9)

    other = encode_record(Stamp(1, 1, 9), change)
    own = encode_record(Stamp(1, 1, 5), change)

    assert b'"made":5' in other
    assert b"made" not in own


def test_a_message_handed_in_over_several_lines_is_written_on_one() -> None:
    message = Message(b'{\n  "role": "user",\n  "content": [1.10]\n}')
    record = ChangeRecord(Push((Entry(0, message),)), None, 1)

    line = encode_record(Stamp(1, 1, 1), record)

    assert line.count(b"\n") == 1
    assert b'{"role":"user","content":[1.10]}' in line


@pytest.mark.parametrize("raw", [b"", b"garbage", b"[]", b'{"a":1', b'{"a":NaN}', b'{"a":"\xff"}'])
def test_bytes_that_are_no_message_are_never_written(raw: bytes) -> None:
    store = MemoryStore()
    conversation = Conversation([Message(raw)])

    with pytest.raises(ValueError, match=r"."):
        save(store, "main", conversation)

    assert store.logs() == []
    assert conversation.unsaved


ENTRY: Object = {"message": {}, "id": 0}


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "push"},
        {"type": "push", "entries": {}},
        {"type": "push", "entries": [7]},
        {"type": "push", "entries": [{"message": 7, "id": 0}]},
        {"type": "push", "entries": [{"message": {}}]},
        {"type": "push", "entries": [{**ENTRY, "id": -1}]},
        {"type": "push", "entries": [{**ENTRY, "id": U64_MAX}]},
        {"type": "push", "entries": [{**ENTRY, "id": True}]},
        {"type": "push", "entries": [{**ENTRY, "id": 1.0}]},
        {"type": "push", "entries": [{**ENTRY, "made": "x"}]},
        {"type": "push", "entries": [{**ENTRY, "author": "user"}]},
        {"type": "push", "entries": [{**ENTRY, "author": ["user"]}]},
        {"type": "splice", "from": 0, "to": 1},
        {"type": "splice", "from": 2, "to": 1, "removed": [], "with": []},
        {"type": "splice", "from": -1, "to": 1, "removed": [], "with": []},
        {"type": "splice", "from": 0, "to": 1, "removed": ["a"], "with": []},
        {"type": "splice", "from": 0, "to": 1, "removed": [0], "with": 7},
        {"type": "halt", "halt": 7},
        {"type": "aside", "id": -1, "aside": None},
        {"type": "aside", "id": "1", "aside": None},
        {"type": "aside", "id": 1, "aside": []},
        {"type": "aside", "id": 1, "aside": {"kind": 7, "author": {"kind": "rig"}}},
        {"type": "aside", "id": 1, "aside": {"kind": "a"}},
        {"type": "aside", "id": 1, "aside": {"kind": "a", "author": {"kind": "rig"}, "after": -1}},
        {"type": "reset"},
        {"type": "reset", "state": []},
        {"type": "reset", "state": {"entries": 7}},
        {"type": "reset", "state": {"asides": 7}},
        {"type": "reset", "state": {"asides": [7]}},
        {"type": "reset", "state": {"asides": [[0]]}},
        {"type": "reset", "state": {"asides": [{"kind": "note", "author": {}}]}},
        {"type": "reset", "state": {"asides": {"0": 7}}},
        {"type": "reset", "state": {"asides": {"00": {"kind": "note", "author": {}}}}},
        {"type": "reset", "state": {"halt": 7}},
        {"type": "reset", "state": {"next_message": -1}},
        {"type": "reset", "state": {"next_aside": 2**64}},
        {"type": "newer"},
        {"type": ["push"]},
        {"type": None},
        {},
    ],
)
def test_a_change_of_another_shape_is_a_bad_record(fields: Object) -> None:
    with pytest.raises(BadRecord):
        decode_change(fields, 0, None, 0, 0)


@pytest.mark.parametrize(
    "asides",
    [
        [{"id": 4, "aside": {"kind": "note", "author": {}, "after": 1}}],
        [[4, {"kind": "note", "author": {}, "after": 1}]],
        [{"id": 4, "kind": "note", "author": {}, "after": 1}],
        {"4": {"kind": "note", "author": {}, "after": 1}},
    ],
)
def test_a_resets_asides_are_read_however_they_are_held(asides: JSON) -> None:
    state: Object = {"entries": [{**ENTRY, "id": 1}], "asides": asides, "halt": "Kept"}

    change = decode_change({"type": "reset", "state": state}, 0, None, 0, 0)

    assert isinstance(change, Reset)
    assert change.state.asides == {4: Aside("note", Author.user(), after=1)}
    assert change.state.halt == "kept"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, (0, 0)),
        ({"next_message": 7, "next_aside": 3}, (7, 3)),
        ({"next_id": 7, "next_aside_id": U64_MAX}, (7, U64_MAX)),
        ({"next": 7, "next_entry": 9, "next_text": "x", "next_flag": True}, (9, 0)),
    ],
)
def test_a_resets_next_ids_are_read_by_whatever_name(
    told: Object, expected: tuple[int, int]
) -> None:
    change = decode_change({"type": "reset", "state": told}, 0, None, 0, 0)

    assert isinstance(change, Reset)
    assert (change.state.next_message, change.state.next_aside) == expected


@pytest.mark.parametrize("halt", ["stopped", "Stopped"])
def test_a_halt_is_read_as_it_is_written_or_named(halt: str) -> None:
    change = decode_change({"type": "halt", "halt": halt}, 0, None, 0, 0)

    assert change == SetHalt("stopped")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"log": 7, "lineage": 1},
        {"log": "a", "lineage": -1},
        {"log": "a", "lineage": 2**64},
        {"log": "a", "lineage": "1"},
        {"log": "a", "lineage": True},
        {"log": "a", "lineage": 1, "parent": 7},
        {"log": "a", "lineage": 1, "rewrites": {}},
        {"log": "a", "lineage": 1, "rewrites": [{}]},
        {"log": "a", "lineage": 1, "rewrites": [{"t": 1, "by": 7}]},
    ],
)
def test_a_header_of_another_shape_is_a_bad_record(fields: Object) -> None:
    with pytest.raises(BadRecord):
        decode_header(fields)


@pytest.mark.parametrize("key", [None, 7, ["a"]])
def test_a_saved_value_without_a_key_is_a_bad_record(key: JSON) -> None:
    with pytest.raises(BadRecord, match="key"):
        decode_saved({"key": key})


@pytest.mark.parametrize("by", ["user", 7, []])
def test_a_maker_of_another_shape_is_a_bad_record(by: JSON) -> None:
    with pytest.raises(BadRecord, match="author"):
        decode_by({"by": by})


@given(
    fields=st.dictionaries(
        st.sampled_from(
            [
                "type",
                "entries",
                "from",
                "to",
                "removed",
                "with",
                "halt",
                "id",
                "aside",
                "state",
                "key",
                "log",
                "lineage",
                "parent",
                "rewrites",
                "by",
            ]
        ),
        json_values(8) | st.sampled_from(["push", "splice", "halt", "aside", "reset"]),
    )
)
def test_fields_of_any_shape_are_a_record_or_a_bad_one(fields: Object) -> None:
    told: list[str] = []
    for decode in (
        decode_header,
        decode_saved,
        decode_by,
        lambda fields: decode_change(fields, 0, None, 0, 0),
    ):
        try:
            decode(fields)
        except BadRecord as error:
            told.append(str(error))
        else:
            told.append("a record")

    assert all(told)
    assert len(told) == 4


@pytest.mark.parametrize(
    ("author", "expected"),
    [
        ({"kind": "user"}, True),
        ({"kind": {"plugin": "p"}, "title": "t"}, True),
        ({"kind": "user", "x": 2**64}, False),
        ({"kind": {"plugin": Number("1e400")}}, False),
        ({"kind": "user", "x": [1]}, False),
        ("user", False),
    ],
)
def test_an_author_of_strings_is_plain(author: JSON, expected: bool) -> None:
    assert is_plain(author) is expected
