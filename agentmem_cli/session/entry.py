"""Entries: a message with its id, author and time, decoded when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentmem_cli.session.author import Author
    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.images import BlobFiles
    from agentmem_cli.session.message import Message


class Source(Protocol):
    """Where located entries are decoded from: a log that was opened."""

    @property
    def files(self) -> BlobFiles:
        """The files that its blobs are among."""
        ...

    def entry(self, offset: int, length: int, index: int) -> tuple[bytes, Object]:
        """Return an entry as it stands in the log.

        Args:
            offset: Where its record begins in the log, in bytes.
            length: The record's bytes, without the line's end.
            index: The entry's index among the record's entries.

        Returns:
            The message's bytes and the entry's other fields.
        """
        ...

    def block(self, offset: int, length: int) -> bytes:
        """Return the log's bytes from *offset* on, *length* of them or up to its end."""
        ...

    def restored(self, message: Message) -> Message:
        """Return *message* with its blobs' data put back."""
        ...


class Entry:
    """A message in a conversation.

    An entry folded from a log keeps where its message lies and decodes it
    when it is first asked for; so a conversation's memory grows with the
    number of its entries, not with their bytes.
    """

    __slots__ = ("_index", "_length", "_message", "_offset", "_source", "author", "id", "made")

    def __init__(  # noqa: PLR0913, PLR0917 - made 300,000 times a second by a fold
        self,
        id_: int,
        message: Message | None,
        author: Author | None = None,
        made: int | None = None,
        source: Source | None = None,
        offset: int = 0,
        length: int = 0,
        index: int = 0,
    ) -> None:
        """Keep the fields; *message* is None for an entry that lies in *source*."""
        self.id = id_
        """Counted from 0 in the order messages are first made; never reused."""
        self.author = author
        """None: what the user typed, the model's reply, a tool's result."""
        self.made = made
        """When it was made, in ms since 1970-01-01 UTC; None: not in a conversation yet."""
        self._message = message
        self._source = source
        self._offset = offset
        self._length = length
        self._index = index

    @property
    def message(self) -> Message:
        """The message, images put back. Decoded anew each time unless `hold` was called."""
        if self._message is not None:
            return self._message
        assert self._source is not None
        return self._source.restored(self.stored)

    @property
    def stored(self) -> Message:
        """The message as the log holds it: an image's data is a ``blob:`` reference."""
        if self._message is not None:
            return self._message
        from agentmem_cli.session.message import Message

        assert self._source is not None
        raw, _ = self._source.entry(self._offset, self._length, self._index)
        return Message(raw)

    @property
    def extra(self) -> Object:
        """Fields of the entry that this version does not know."""
        if self._source is None:
            return {}
        _, fields = self._source.entry(self._offset, self._length, self._index)
        return {key: value for key, value in fields.items() if key not in _KNOWN}

    @property
    def blob_files(self) -> BlobFiles | None:
        """The files that its images' blobs are among; None: its images are inline."""
        return None if self._source is None else self._source.files

    def located(self) -> tuple[int, int] | None:
        """Where its record lies in its log, as (offset, length) in bytes; None: nowhere yet."""
        return None if self._source is None else (self._offset, self._length)

    def copy(self, made: int | None) -> Entry:
        """Return the same entry with another time *made*."""
        return type(self)(
            self.id,
            self._message,
            self.author,
            made,
            self._source,
            self._offset,
            self._length,
            self._index,
        )

    def with_message(self, message: Message) -> Entry:
        """Return this entry with its *message* in another form; the time stays."""
        return Entry(self.id, message, self.author, self.made).with_extra(self.extra)

    def edited(self, message: Message) -> Entry:
        """Return this entry with another *message*; id and author stay, the time is open."""
        return Entry(self.id, message, self.author).with_extra(self.extra)

    def with_extra(self, extra: Object) -> Entry:
        """Return this entry, which lies in no log, with fields this version does not know."""
        if not extra:
            return self
        assert self._message is not None
        return _EntryWithMore(self.id, self._message, self.author, self.made, extra)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entry):
            return NotImplemented
        if self.id != other.id or self.author != other.author:
            return False
        if self._is_at(other):
            return True
        return self.message == other.message

    def _is_at(self, other: Entry) -> bool:
        return (
            self._source is not None
            and self._source is other._source
            and self._offset == other._offset
            and self._index == other._index
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Entry({self.id}, {self.stored!r})"


class PlainEntry(Entry):
    """The one entry of a record that `agentmem_cli.session.source.plain_push` knew.

    It holds a message and an id, and its bytes were looked at: they can be cut out.
    """

    __slots__ = ()

    @property
    def stored(self) -> Message:
        """The message as the log holds it: an image's data is a ``blob:`` reference."""
        from agentmem_cli.session.message import Message
        from agentmem_cli.session.source import message_in

        return Message(message_in(self.record(), self.id))

    @property
    def extra(self) -> Object:
        """Nothing: a plain entry has no more fields."""
        return {}

    def record(self) -> bytes:
        """Return the bytes of its record, without the line's end."""
        assert self._source is not None
        return self._source.block(self._offset, self._length)


def encoded(
    entries: Iterable[Entry], written: int | None, encode: Callable[[Entry, int | None], bytes]
) -> list[bytes]:
    """Return the inside of a JSON array of *entries*, in pieces.

    Why pieces, and one loop: an undo may put 100,000 entries back that are
    copied out of their log, which is read in blocks where they stand side by side.

    Args:
        entries: What is put.
        written: A made time that equals this is left out.
        encode: Makes the JSON of what is no plain entry.
    """
    parts: list[bytes] = []
    source: Source | None = None
    start = behind = 0
    block = b""
    for entry in entries:
        if type(entry) is not PlainEntry:
            parts += (encode(entry, written), b",")
            continue
        offset = entry._offset  # noqa: SLF001 - its own module
        end = offset - start + entry._length  # noqa: SLF001
        if offset < start or end > len(block) or entry._source is not source:  # noqa: SLF001
            length = end - offset + start
            source, start, end = entry._source, offset, length  # noqa: SLF001
            assert source is not None
            block = source.block(offset, max(length, _BLOCK_BYTES if offset == behind else 0))
        behind = start + end + 1
        made = entry.made
        parts.append(block[block.index(_MESSAGE, offset - start) : end - _CLOSING_BYTES])
        parts.append(b"}," if made is None or made == written else b',"made":%d},' % made)
    return [*parts[:-1], parts[-1][:-1]] if parts else parts


class _EntryWithMore(Entry):
    """An entry with fields that this version does not know."""

    __slots__ = ("_extra",)

    def __init__(
        self,
        id_: int,
        message: Message,
        author: Author | None,
        made: int | None,
        extra: Object,
    ) -> None:
        super().__init__(id_, message, author, made)
        self._extra = extra

    @property
    def extra(self) -> Object:
        return self._extra

    def copy(self, made: int | None) -> Entry:
        assert self._message is not None
        return _EntryWithMore(self.id, self._message, self.author, made, self._extra)


_MESSAGE: Final = b'{"message":'
_CLOSING_BYTES: Final = len(b"}]}")
_BLOCK_BYTES: Final = 256 << 10
"""Bytes read at once where entries stand side by side."""

_KNOWN = frozenset({"message", "author", "id", "made"})
