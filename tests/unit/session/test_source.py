"""An entry as its record holds it: a plain push is cut out, anything else is read."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given

from agentmem_cli.session.change import ChangeRecord, Push
from agentmem_cli.session.entry import Entry, PlainEntry
from agentmem_cli.session.record import encode_entries, encode_record
from agentmem_cli.session.source import LogSource, plain_push
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.storage.logfile import BytesLog
from agentmem_cli.storage.memory import MemoryStore
from tests.strategies import messages

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.message import Message

HEAD = b'{"seq":1,"n":1,"t":1,"type":"push","entries":[{"message":'


def read(line: bytes) -> tuple[bytes, Object]:
    return LogSource(BytesLog(line), MemoryStore()).entry(0, len(line), 0)


def read_slowly(line: bytes) -> tuple[bytes, Object]:
    with patch("agentmem_cli.session.source.plain_push", return_value=None):
        return read(line)


@given(messages())
def test_a_push_is_cut_out_as_it_would_be_read(message: Message) -> None:
    record = ChangeRecord(Push((Entry(7, message, None, 1),)), None, 1)
    line = encode_record(Stamp(1, 1, 1), record)[:-1]

    assert read(line) == read_slowly(line) == (message.raw, {"id": 7})


@pytest.mark.parametrize(
    "rest",
    [
        b'{"a":1},"id":1}],"x":[{"y":{},"id":5}]}',
        b'{"a":1},"message":{"b":2},"id":1}]}',
        b'{"a":1},"id":1,"id":2}]}',
        b'{"a":1},"x":[{"id":1}],"id":2}]}',
        b'{"a":1},"id":1},{"message":{},"id":2}]}',
        b'{"a":1},"id":1}],"entries":[{"message":{},"id":2}]}',
        b' {"a":1} ,"id":2}]}',
        b'{"a":"\\ud800"},"id":2}]}',
    ],
)
def test_what_only_looks_like_a_plain_push_is_read(rest: bytes) -> None:
    line = HEAD + rest

    assert read(line) == read_slowly(line)


def test_a_plain_entry_is_put_back_as_any_other_is() -> None:
    line = HEAD + b'{"a":[1,"\\u0041"]},"id":7}]}'
    source = LogSource(BytesLog(line + b"\n" + line + b"\n"), MemoryStore())
    places = [(0, len(line)), (len(line) + 1, len(line)), (0, len(line))]

    for made, told in ((1, b""), (2, b',"made":2')):
        plain = [PlainEntry(7, None, None, made, source, *place) for place in places]
        other = [Entry(7, None, None, made, source, *place) for place in places]

        assert encode_entries(plain, 1) == encode_entries(other, 1)
        assert encode_entries(plain, 1).count(b'"id":7' + told + b"}") == len(places)
        assert [each.stored.raw for each in plain] == [each.stored.raw for each in other]
        assert type(plain[0].copy(3)) is PlainEntry
    assert encode_entries([], 1) == b""


@pytest.mark.parametrize("rest", [b'{"a":1}]],[[{"b":2},"id":2}]}', b'{"a":1},{"b":2},"id":2}]}'])
def test_what_is_no_json_is_no_plain_push(rest: bytes) -> None:
    assert plain_push(HEAD + b'{"a":1},"id":2}]}') == (1, 1, 1, 2)
    assert plain_push(HEAD + rest) is None
