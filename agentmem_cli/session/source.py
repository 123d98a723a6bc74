"""Where located entries are decoded from: a log that was opened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

from agentmem_cli.session.codec import elements, loads_fast, loads_object, loads_text, members
from agentmem_cli.session.images import put_back

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.images import BlobFiles
    from agentmem_cli.session.lines import Bytes
    from agentmem_cli.session.message import Message

    class OpenLog(Bytes, Protocol):
        """An opened log whose bytes can be read again."""

        def read_at(self, offset: int, length: int) -> bytes:
            """Return *length* bytes from *offset*."""
            ...


class LogSource:
    """An opened log and the files that its blobs are among.

    It goes on reading the log that was opened when that is replaced
    underneath. The last record read is kept, so that its entries cost one
    decoding together.
    """

    __slots__ = ("_files", "_kept", "log", "lost")

    def __init__(self, log: OpenLog, files: BlobFiles) -> None:
        """Read records from *log* and blobs from *files*."""
        self.log = log
        self._files = files
        self.lost: list[Exception] = []
        """Why images could not be put back, in the order it was found."""
        self._kept: tuple[int, list[tuple[bytes, Object]]] = (-1, [])

    @property
    def files(self) -> BlobFiles:
        """The files that the log's blobs are among."""
        return self._files

    def exact(self, offset: int, length: int) -> Object:
        """Return a record's fields, decoded exactly; bytes that are not UTF-8 as U+FFFD."""
        raw = self.log.read_at(offset, length)
        try:
            return loads_object(raw)
        except UnicodeDecodeError:
            return loads_object(_repaired(raw))

    def entry(self, offset: int, length: int, index: int) -> tuple[bytes, Object]:
        """Return an entry's message bytes and its other fields, as the log holds them."""
        kept = self._kept  # Why: read once, so that two threads do not mix two records.
        if kept[0] != offset:
            kept = self._kept = (offset, self._entries(offset, length))
        return kept[1][index]

    def block(self, offset: int, length: int) -> bytes:
        """Return the log's bytes from *offset* on, *length* of them or up to its end."""
        return self.log.read_at(offset, length)

    def restored(self, message: Message) -> Message:
        """Return *message* with its blobs' data put back; failures go to ``lost``."""
        restored, failures = put_back(message, self._files)
        self.lost.extend(failures)
        return restored

    def _entries(self, offset: int, length: int) -> list[tuple[bytes, Object]]:
        raw = self.log.read_at(offset, length)
        plain = plain_push(raw)
        if plain is not None:
            return [(message_in(raw, plain[3]), {"id": plain[3]})]
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            text = raw.decode("utf-8", "replace")
        start = _array_start(text)
        return [_split(text[begin:end]) for begin, end in elements(text, start)]


_NUMBER: Final = rb"(0|[1-9][0-9]{0,17})"
_PUSH: Final = re.compile(
    rb'\{"seq":%b,"n":%b,"t":%b,"type":"push","entries":\[\{"message":(\{.*\}),"id":%b\}\]\}\n?\Z'
    % ((_NUMBER,) * 4),
    re.DOTALL,
)


def plain_push(line: bytes) -> tuple[int, int, int, int] | None:
    """Return ``seq``, ``n``, ``t`` and the id of a push of one entry that holds no more than that.

    Almost every record of a log is one, as it is written here. What stands
    between its beginning and its end is decoded by itself, so it is the
    message and nothing else, and can be cut out.

    Args:
        line: A record, with or without its line's end.

    Returns:
        None: it may be another record.
    """
    found = _PUSH.match(line)
    if found is None:
        return None
    seq, n, t, message, id_ = found.groups()
    try:
        # Why within arrays: nested as deep as in the line, where that is bounded;
        # and one value in each, lest several things that follow one another are taken.
        boxes: list[list[list[JSON]]] = loads_fast(b"[[[%b]]]" % message)  # type: ignore[assignment]
        [[[_]]] = boxes
    except ValueError:
        return None
    return int(seq), int(n), int(t), int(id_)


def message_in(record: bytes, id_: int) -> bytes:
    """Return the message's bytes of a record that `plain_push` knew, without its line's end."""
    begin = record.index(MESSAGE) + len(MESSAGE)
    return record[begin : -len(b',"id":%d}]}' % id_)]


MESSAGE: Final = b'"message":'
"""What stands before an entry's message."""


def _array_start(text: str) -> int:
    """Where a record's array of entries begins, whichever type it has."""
    spans = members(text)
    start, stop = spans["type"]
    kind = loads_text(text[start:stop])
    if kind != "reset":
        # Why: by the type, since a record may hold the other's key as one nobody knows.
        return spans["with" if kind == "splice" else "entries"][0]
    begin, end = spans["state"]
    return begin + members(text[begin:end])["entries"][0]


def _split(text: str) -> tuple[bytes, Object]:
    spans = members(text)
    begin, end = spans.pop("message")
    fields: Object = {key: loads_text(text[start:stop]) for key, (start, stop) in spans.items()}
    return text[begin:end].encode(), fields


def _repaired(raw: bytes) -> bytes:
    return raw.decode("utf-8", "replace").encode()
