"""Records: a log's line to a value and back.

Keys are written in the order ``seq``, ``n``, ``t``, ``by``, ``type``, then the
record's own, without spaces; they are read in any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agentmem_cli.limits import U64_MAX
from agentmem_cli.session.aside import Aside, listed_asides
from agentmem_cli.session.author import Author, is_plain
from agentmem_cli.session.change import (
    Change,
    ChangeRecord,
    Push,
    Reset,
    SetAside,
    SetHalt,
    Splice,
    State,
    halt_named,
    next_ids,
)
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.entry import Entry, encoded
from agentmem_cli.session.keys import FORMAT
from agentmem_cli.session.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.entry import Source
    from agentmem_cli.session.stamp import Stamp

CHANGES: Final = frozenset({"push", "splice", "halt", "aside", "reset"})
"""The types of records that are changes of a conversation."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first record of a log."""

    log: str
    """Its own name."""
    lineage: int
    """Unsigned 64 bits; which conversations go on with this log."""
    parent: str | None = None
    """The agent that spawned this one."""
    rewrites: tuple[LogRewrite, ...] = ()
    """Who replaced its past and when, oldest first."""
    extra: Object = field(default_factory=dict)
    """Fields this version does not know, kept."""


class LogRewrite(NamedTuple):
    """One rewrite in place of a log."""

    t: int
    """Milliseconds since 1970-01-01 UTC."""
    by: Author | None


class Saved(NamedTuple):
    """A saved value put; None removes it."""

    key: str
    value: JSON
    raw: bytes | None = None
    """The JSON that is written as it is, without a newline; None: *value* is encoded."""


class Retired(NamedTuple):
    """The agent is gone for good."""


LogRecord: TypeAlias = ChangeRecord | Saved | Retired
"""Every record after the header. (The seed's three kinds: Change, Saved, Retired.)"""


class BadRecord(ValueError):
    """A line is JSON, but no record of this format."""


def encode_header(stamp: Stamp, header: Header) -> bytes:
    """Return the header's line, its end included."""
    own: Object = {"format": FORMAT, "log": header.log, "lineage": header.lineage}
    if header.parent is not None:
        own["parent"] = header.parent
    if header.rewrites:
        own["rewrites"] = [
            {"t": at} if by is None else {"t": at, "by": by.to_value()}
            for at, by in header.rewrites
        ]
    own.update(header.extra)
    return _line(stamp, None, "header", b"," + dumps(own)[1:-1])


def encode_record(stamp: Stamp, record: LogRecord) -> bytes:  # noqa: PLR0911 - one a type
    """Return the record's line, its end included. ``stamp.t`` is what is written as ``t``."""
    if isinstance(record, Saved):
        value = dumps(record.value) if record.raw is None else record.raw
        body = b',"key":' + dumps(record.key) + b',"value":' + value
        return _line(stamp, None, "state", body)
    if isinstance(record, Retired):
        return _line(stamp, None, "retired", b"")
    change = record.change
    match change:
        case Push():
            body = b',"entries":[' + encode_entries(change.entries, stamp.t) + b"]"
            return _line(stamp, record.by, "push", body)
        case Splice():
            head = dumps({"from": change.from_, "to": change.to, "removed": list(change.removed)})
            with_ = (b',"with":[', *encoded(change.with_, stamp.t, encode_entry), b"]")
            return _line(stamp, record.by, "splice", b"," + head[1:-1], *with_)
        case SetHalt():
            return _line(stamp, record.by, "halt", b',"halt":' + dumps(change.halt))
        case SetAside():
            aside = None if change.aside is None else change.aside.to_value()
            own: Object = {"id": change.id, "aside": aside}
            return _line(stamp, record.by, "aside", b"," + dumps(own)[1:-1])
        case Reset():
            return _line(stamp, record.by, "reset", b',"state":' + _state(change.state))


def encode_entries(entries: Iterable[Entry], written: int | None) -> bytes:
    """Return entries as the inside of a JSON array; a made time equal to *written* is left out."""
    return b"".join(encoded(entries, written, encode_entry))


def _made(made: int | None, written: int | None) -> bytes:
    return b"" if made in (None, written) else b',"made":%d' % made


def encode_entry(entry: Entry, written: int | None) -> bytes:
    """Return one entry's JSON; a made time equal to *written* (ms) is left out.

    Raises:
        ValueError: The bytes that the message was made of are no JSON object.
    """
    message = entry.stored
    raw = message.raw
    if entry.located() is None:
        # Why: bytes handed in may be anything, and spread over lines; a record may not.
        value = message.value
        raw = dumps(value) if b"\n" in raw else raw
    author = b"" if entry.author is None else b',"author":' + dumps(entry.author.to_value())
    more = b"," + dumps(extra)[1:-1] if (extra := entry.extra) else b""
    made = _made(entry.made, written)
    return b'{"message":%b%b,"id":%d%b%b}' % (raw, author, entry.id, made, more)


def decode_header(fields: Object) -> Header:
    """Read a header from its fields.

    Raises:
        BadRecord: A field is missing or has another shape. (The format is
            checked by the caller, who names what was found.)
    """
    log, lineage = fields.get("log"), fields.get("lineage")
    if not isinstance(log, str) or not _is_u64(lineage):
        msg = "a header names its log and its lineage (a 64-bit number)"
        raise BadRecord(msg)
    assert isinstance(lineage, int)
    parent, rewrites = fields.get("parent"), fields.get("rewrites", [])
    if parent is not None and not isinstance(parent, str):
        msg = "a header's parent is an agent's id"
        raise BadRecord(msg)
    extra = {key: item for key, item in fields.items() if key not in _HEADER}
    return Header(log, lineage, parent, tuple(map(_rewrite, _array(rewrites))), extra)


_HEADER = frozenset({"seq", "n", "t", "type", "format", "log", "lineage", "parent", "rewrites"})


def decode_change(
    fields: Object, written: int, source: Source | None, offset: int, length: int
) -> Change:
    """Read a change from its record's fields.

    Args:
        fields: The record, decoded. Numbers outside stamps and ids may be inexact.
        written: The record's ``t`` in ms: when its new entries were made.
        source: Where the entries' messages are decoded from when asked for;
            None: entries hold the messages of *fields* themselves.
        offset: Where the record begins in its log, in bytes.
        length: The record's bytes, without the line's end.

    Raises:
        BadRecord: It is no change, or a field has another shape.
    """
    kind = fields.get("type")
    if kind == "push":
        return Push(decode_entries(fields, written, source, offset, length))
    if kind == "splice":
        return _splice(fields, written, source, offset, length)
    if kind == "halt":
        halt = halt_named(fields.get("halt"))
        if halt is not None and not isinstance(halt, str):
            msg = "a halt is a string or null"
            raise BadRecord(msg)
        return SetHalt(halt)
    if kind == "aside":
        return _aside(fields)
    if kind == "reset":
        return Reset(_reset(fields.get("state"), written, source, offset, length))
    msg = f"a record of the unknown type {kind!r}"
    raise BadRecord(msg)


def decode_entries(
    fields: Object, written: int, source: Source | None, offset: int, length: int
) -> tuple[Entry, ...]:
    """Read the entries of a push, as `decode_change` does."""
    values = fields.get("entries")
    # Why: almost every record of a log is a push of one entry without author or time.
    if source is not None and type(values) is list and len(values) == 1:
        value = values[0]
        if type(value) is dict and len(value) == 2 and type(value.get("message")) is dict:  # noqa: PLR2004
            id_ = value.get("id")
            if type(id_) is int and 0 <= id_ < U64_MAX:
                return (Entry(id_, None, None, written, source, offset, length, 0),)
    return _entries(values, written, source, offset, length)


def decode_by(fields: Object) -> Author | None:
    """Read who made a record; None where it does not say.

    Raises:
        BadRecord: It says so in another shape.
    """
    by = fields.get("by")
    try:
        return None if by is None else Author.of(by)
    except ValueError as error:
        raise BadRecord(str(error)) from None


def decode_saved(fields: Object) -> Saved:
    """Read a saved value.

    Raises:
        BadRecord: It has no key.
    """
    key = fields.get("key")
    if not isinstance(key, str):
        msg = "a saved value has a key"
        raise BadRecord(msg)
    return Saved(key, fields.get("value"))


def _line(stamp: Stamp, by: Author | None, kind: str, *body: bytes) -> bytes:
    head = line_head(stamp, by)
    return b"".join((head, b'"type":"', kind.encode(), b'"', *body, b"}\n"))


def line_head(stamp: Stamp, by: Author | None) -> bytes:
    """Return how the line of a record begins, up to its type."""
    who = b"" if by is None else b'"by":' + dumps(by.to_value()) + b","
    return b'{"seq":%d,"n":%d,"t":%d,%b' % (stamp.seq, stamp.n, stamp.t, who)


def _state(state: State) -> bytes:
    asides: list[JSON] = [
        {"id": id_, "aside": aside.to_value()} for id_, aside in state.asides.items()
    ]
    rest = dumps(
        {
            "asides": asides,
            "halt": state.halt,
            "next_message": state.next_message,
            "next_aside": state.next_aside,
        }
    )
    return b'{"entries":[' + encode_entries(state.entries, None) + b"]," + rest[1:]


def _entries(
    values: JSON, written: int, source: Source | None, offset: int, length: int
) -> tuple[Entry, ...]:
    if type(values) is not list:
        msg = "entries are an array"
        raise BadRecord(msg)
    made: list[Entry] = []
    for index, value in enumerate(values):
        if type(value) is not dict:
            msg = "an entry is an object"
            raise BadRecord(msg)
        message, id_, author = value.get("message"), value.get("id"), value.get("author")
        if type(message) is not dict or type(id_) is not int or not 0 <= id_ < U64_MAX:
            msg = "an entry has a message (an object) and an id (a number)"
            raise BadRecord(msg)
        if author is not None and source is not None and not is_plain(author):
            author = source.entry(offset, length, index)[1]["author"]
        who = None if author is None else _author(author)
        at = value.get("made", written)
        if type(at) is not int:
            msg = "an entry's made time is a number"
            raise BadRecord(msg)
        if source is None:
            more = {key: item for key, item in value.items() if key not in _ENTRY}
            made.append(Entry(id_, Message.of(message), who, at).with_extra(more))
        else:
            made.append(Entry(id_, None, who, at, source, offset, length, index))
    return tuple(made)


_ENTRY = frozenset({"message", "author", "id", "made"})


def _author(value: JSON) -> Author:
    try:
        return Author.of(value)
    except ValueError as error:
        raise BadRecord(str(error)) from None


def _splice(
    fields: Object, written: int, source: Source | None, offset: int, length: int
) -> Splice:
    from_, to, removed = fields.get("from"), fields.get("to"), fields.get("removed")
    if type(from_) is not int or type(to) is not int or not 0 <= from_ <= to:
        msg = "a splice goes from one index to another"
        raise BadRecord(msg)
    ids = [id_ for id_ in _array(removed) if type(id_) is int]
    if len(ids) != len(_array(removed)):
        msg = "a splice names the ids it removed"
        raise BadRecord(msg)
    with_ = _entries(fields.get("with", []), written, source, offset, length)
    return Splice(from_, to, tuple(ids), with_)


def _aside(fields: Object) -> SetAside:
    id_ = fields.get("id")
    if type(id_) is not int or id_ < 0:
        msg = "an aside has an id (a number)"
        raise BadRecord(msg)
    return SetAside(id_, _aside_value(fields.get("aside")))


def _aside_value(value: JSON) -> Aside | None:
    try:
        return None if value is None else Aside.of(value)
    except ValueError as error:
        raise BadRecord(str(error)) from None


def _reset(value: JSON, written: int, source: Source | None, offset: int, length: int) -> State:
    if type(value) is not dict:
        msg = "a reset holds a state"
        raise BadRecord(msg)
    asides: dict[int, Aside] = {}
    try:
        for item in listed_asides(value.get("asides", [])):
            id_, aside = _aside(item)
            if aside is not None:
                asides[id_] = aside
    except ValueError as error:
        raise BadRecord(str(error)) from None
    halt = halt_named(value.get("halt"))
    counts = [value.get(key, 0) for key in ("next_message", "next_aside")]
    if (halt is not None and not isinstance(halt, str)) or not all(map(_is_u64, counts)):
        msg = "a reset's halt is a string, its next ids are numbers"
        raise BadRecord(msg)
    entries = _entries(value.get("entries", []), written, source, offset, length)
    return State(entries, asides, halt, *next_ids(value))


def _rewrite(value: JSON) -> LogRewrite:
    if type(value) is not dict or type(at := value.get("t")) is not int:
        msg = "a header's rewrites have a time"
        raise BadRecord(msg)
    return LogRewrite(at, decode_by(value))


def _array(value: JSON) -> list[JSON]:
    if type(value) is not list:
        msg = "an array is missing"
        raise BadRecord(msg)
    return value


def _is_u64(value: JSON) -> bool:
    return type(value) is int and 0 <= value <= U64_MAX
