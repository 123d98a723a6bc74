from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import loads_object, same
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.images import BLOB_FOLDER, blob_name
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import HeldFiles
from agentmem_cli.session.record import encode_entry
from agentmem_cli.session.source import LogSource
from agentmem_cli.storage.logfile import BytesLog
from tests.strategies import base64_data, foreign_fields, messages

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object

PIXELS = b"pixels"
NAME = blob_name(PIXELS, "png")


def located(record: bytes, index: int = 0, *, before: bytes = b"") -> Entry:
    source = LogSource(BytesLog(before + record + b"\n"), HeldFiles({BLOB_FOLDER + NAME: PIXELS}))
    return Entry(4, None, Author.rig(), 9, source, len(before), len(record), index)


MESSAGES = b'{"message": {"role":"user","x":1.10} ,"id":4,"newer":[18446744073709551616]}'
OTHER = b'{"id":5,"made":1,"message":{"role":"system","content":"a"}}'
ARRAY = b"[" + MESSAGES + b" , " + OTHER + b"]"


@pytest.mark.parametrize(
    "record",
    [
        b'{"type":"push","entries":' + ARRAY + b"}",
        b'{"with":' + ARRAY + b',"type":"splice"}',
        b'{"type":"reset","state":{"halt":null,"entries":' + ARRAY + b"}}",
        b'{"entries":1,"type":"push","entries":' + ARRAY + b"}",
        b'{"entries":[7],"type":"splice","with":' + ARRAY + b"}",
        b'{"entries":[7],"with":{},"type":"reset","state":{"entries":' + ARRAY + b"}}",
    ],
)
def test_an_entry_is_decoded_from_where_it_lies(record: bytes) -> None:
    first, second = located(record, 0, before=b"{}\n"), located(record, 1, before=b"{}\n")

    assert first.message.raw == b'{"role":"user","x":1.10}'
    assert same(first.extra, {"newer": [2**64]})
    assert second.message == Message.system("a")
    assert second.extra == {}
    assert first.located() == (3, len(record))
    assert repr(first).startswith("Entry(4, Message(")


def test_a_stored_image_is_put_back_in_the_message_and_not_in_what_is_stored() -> None:
    part = f'{{"type":"image","data":{{"type":"url","value":"blob:{NAME}"}}}}'.encode()
    record = (
        b'{"type":"push","entries":[{"id":4,"message":{"role":"user","content":[' + part + b"]}}]}"
    )

    entry = located(record)

    assert entry.stored.raw == b'{"role":"user","content":[' + part + b"]}"
    assert entry.message == Message.user([{"type": "image", "data": base64_data(PIXELS)}])
    assert entry.blob_files is not None


def test_bytes_that_are_not_utf8_read_as_replacements() -> None:
    entry = located(b'{"type":"push","entries":[{"message":{"role":"a\xff"},"id":4}]}')

    assert entry.message.role == "a\ufffd"


@given(message=messages(), more=foreign_fields())
def test_an_entry_encodes_to_what_it_is_read_from(message: Message, more: Object) -> None:
    made = Entry(4, message, Author.rig(), 9).with_extra(more)

    raw = encode_entry(made, None)
    read = located(b'{"type":"push","entries":[' + raw + b"]}")

    assert read == made
    assert encode_entry(read, None) == raw
    assert same(read.extra, more)
    assert same(loads_object(raw)["message"], message.value)


def test_unknown_fields_stay_through_every_way_an_entry_goes() -> None:
    entry = located(b'{"type":"push","entries":' + ARRAY + b"}")
    more = {"newer": [2**64]}

    edited = entry.edited(Message.system("b"))

    assert edited.extra == more
    assert edited.copy(3).extra == more
    assert edited.copy(3).made == 3
    assert entry.with_message(Message.system("b")).copy(1).extra == more
    assert entry.copy(1).extra == more
    assert (edited.id, edited.author, edited.made) == (4, Author.rig(), None)
    assert entry.with_message(Message.system("b")).made == 9


def test_entries_are_equal_by_message_id_and_author() -> None:
    here, there = (
        located(b'{"type":"push","entries":' + ARRAY + b"}"),
        located(b'{"type":"splice","with":' + ARRAY + b"}"),
    )
    message = Message(b'{"x":1.10,"role":"user"}')

    assert here == there
    assert here == Entry(4, message, Author.rig())
    assert here != Entry(5, message, Author.rig())
    assert here != Entry(4, message)
    assert here != Entry(4, Message.system("a"), Author.rig())
    assert here != 4
    assert here == here.copy(77)
