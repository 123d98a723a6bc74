"""Replacing the past: what a rewrite asks at every place, and what it did.

A `Rewrite` is asked at every place of a session for what is to stand there
instead. Its upper hooks get decoded values and edit them in place; the lower
ones (`Rewrite.line` and what follows it) get bytes, and by default ask the
upper ones. See `rewriter.rewrite` for what happens with the answers.

Source: DESIGN.md, "Rewriting".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias

from agentmem_cli.session import mapping
from agentmem_cli.session.asking import rewrite_record
from agentmem_cli.session.codec import loads, loads_object
from agentmem_cli.session.forms import (
    FORM_KEYS,
    NAMING,
    is_aside_form,
    is_author_form,
    is_form,
    is_message_form,
    is_meta_form,
)
from agentmem_cli.session.mapping import edited, map_strings, map_tokens
from agentmem_cli.session.meta import META
from agentmem_cli.session.textual import is_textual

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem_cli.session.author import Author
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.session import TornTail
    from agentmem_cli.session.stamp import Stamp


@dataclass(frozen=True, slots=True)
class Record:
    """The place of a record in a log."""

    log: str
    """The log's name."""
    stamp: Stamp | None
    """Its stamp; None: the line is no record that could be read."""
    by: Author | None = None
    """Who made it, as it stands there now."""


@dataclass(frozen=True, slots=True)
class File:
    """The place of something in a file."""

    name: str
    """The file's name among the session's files."""


Place: TypeAlias = Record | File
"""Where something stands: in a record of a log, or in a file."""

How: TypeAlias = Literal["lines", "whole", "skip"]
"""How a file is gone through: line by line, at once, or not at all."""

HEAD_BYTES: Final = 64 << 10
"""Bytes of a file's beginning by which it is told how to go through it."""


class Rewrite:
    """What is asked at every place; by default nothing changes anywhere.

    Edit what you get in place and return whether you did. No hook can add or
    drop a record, or make another kind of one: a record whose stamp, ids or
    type would change is refused, and nothing is written.
    """

    def message(self, at: Record, message: Object) -> bool:  # noqa: ARG002 - names for overriders
        """Edit a message of an entry, as the log holds it (images are references)."""
        return False

    def aside(self, at: Record, aside: Object) -> bool:  # noqa: ARG002 - as above
        """Edit a side record. Its author is asked for by `author`."""
        return False

    def value(self, at: Place, key: str, value: JSON) -> tuple[JSON, bool]:  # noqa: ARG002 - as above
        """Return what is to stand for a saved value, and whether that is something else.

        Args:
            at: The record, or the file that the value is the JSON of.
            key: The saved value's key; of a file's JSON empty.
            value: It; may be edited in place and returned.
        """
        return value, False

    def author(self, at: Record, author: Object) -> bool:  # noqa: ARG002 - as above
        """Edit an author: of an entry, a side record, a record or a rewrite."""
        return False

    def key(self, at: Place, key: str) -> str:  # noqa: ARG002 - as above
        """Return what is to stand for a saved value's key."""
        return key

    def text(self, at: Place, text: str) -> str:  # noqa: ARG002 - as above
        """Return what is to stand for a text: a file that is no JSON, or what cannot be read."""
        return text

    def file(self, name: str, data: bytes) -> bytes:
        """Return what is to stand in a file.

        By default JSON goes to `value`, JSON lines go there line by line,
        other text to `text`, and what is no text is left.
        """
        if not is_textual(name, data[:HEAD_BYTES], HEAD_BYTES):
            return data
        return mapping.map_file(data, _FileHooks(self, File(name)))

    # -- below the hooks ---------------------------------------------------

    def hits(self, block: bytes) -> Sequence[int] | None:  # noqa: ARG002 - as above
        """Return the offsets of what may have to change in a *block* of whole lines.

        A line without one is kept as it is, unseen. None: every line is
        looked at. It is also asked for whole files.
        """
        return None

    def line(self, at: Record, raw: bytes) -> bytes:
        """Return what is to stand for a record's line, without its end.

        *raw* itself: it is to stay. By default the hooks above are asked, and
        where they change nothing but strings, only these change in the line.
        """
        record = loads_object(raw)
        return edited(raw, record) if rewrite_record(record, at, self) else raw

    def file_line(self, at: File, number: int, raw: bytes) -> bytes:  # noqa: ARG002 - as above
        """Return what is to stand for a JSON text of a file: one of its lines, or all of it.

        Args:
            at: The file.
            number: The line, from 1; 0 where *raw* is the whole file.
            raw: The text, without the line's end.

        Raises:
            ValueError: It is no JSON.
        """
        value, changed = self.value(at, "", loads(raw))
        return edited(raw, value) if changed else raw

    def damaged_line(self, at: Place, raw: bytes) -> bytes:
        """Return what is to stand for bytes that are no JSON.

        By default their runs of UTF-8 go to `text`.
        """
        return mapping.map_runs(raw, lambda text: self.text(at, text))

    def reading(self, name: str, head: bytes) -> How:
        """Return how a file is gone through, by its name and its first `HEAD_BYTES`.

        By default JSON lines go line by line, unless `file` is overridden:
        then everything is given to that.
        """
        if type(self).file is not Rewrite.file:
            return "whole"
        if not is_textual(name, head, HEAD_BYTES):
            return "skip"
        return "lines" if mapping.seems_lines(name, head) else "whole"


class _FileHooks(NamedTuple):
    """What `mapping.map_file` asks, for one file of a `Rewrite`."""

    with_: Rewrite
    at: File

    def json(self, number: int, raw: bytes) -> bytes:
        return self.with_.file_line(self.at, number, raw)

    def text(self, text: str) -> str:
        return self.with_.text(self.at, text)


class Strings(Rewrite):
    """Maps every string, keys included, of messages, asides, saved values, authors and files.

    A string that is part of the form (a field's name, a tag, the name of a
    log or a blob) is left.
    """

    def __init__(self, f: Callable[[str], str]) -> None:
        """Put ``f(text)`` in the place of every text."""
        self.f = f

    def message(self, at: Record, message: Object) -> bool:  # noqa: ARG002 - as in `Rewrite`
        """Map its strings."""
        return map_strings(message, self.f, is_message_form)[1]

    def aside(self, at: Record, aside: Object) -> bool:  # noqa: ARG002 - as in `Rewrite`
        """Map its strings, but its author's."""
        author = aside.pop("author", None)
        changed = map_strings(aside, self.f, is_aside_form)[1]
        if author is not None:
            aside["author"] = author
        return changed

    def value(self, at: Place, key: str, value: JSON) -> tuple[JSON, bool]:
        """Map its strings; the names of agents and sessions stay."""
        if key in NAMING:
            return value, False
        is_meta = isinstance(at, File) and at.name == META
        return map_strings(value, self.f, is_meta_form if is_meta else None)

    def author(self, at: Record, author: Object) -> bool:  # noqa: ARG002 - as in `Rewrite`
        """Map its strings."""
        return map_strings(author, self.f, is_author_form)[1]

    def key(self, at: Place, key: str) -> str:  # noqa: ARG002 - as in `Rewrite`
        """Map it, unless the format knows it."""
        return key if key in FORM_KEYS else self.f(key)

    def text(self, at: Place, text: str) -> str:  # noqa: ARG002 - as in `Rewrite`
        """Map it."""
        return self.f(text)

    def line(self, at: Record, raw: bytes) -> bytes:  # noqa: ARG002 - as in `Rewrite`
        """Map the strings of a record one by one, the losers among duplicate keys too."""
        return map_tokens(raw, self.f, _naming if _names(raw) else is_form)

    def file_line(self, at: File, number: int, raw: bytes) -> bytes:  # noqa: ARG002 - as in `Rewrite`
        """Map the strings of a JSON text one by one."""
        return map_tokens(raw, self.f, is_meta_form if at.name == META else None)


def _names(raw: bytes) -> bool:
    # Why by text first: almost no record saves such a value.
    if not any(key.encode() in raw for key in NAMING):
        return False
    record = loads_object(raw)
    return record.get("type") == "state" and record.get("key") in NAMING


def _naming(path: tuple[str | int, ...], *, is_key: bool, text: str) -> bool:
    return path[0] == "value" or is_form(path, is_key=is_key, text=text)


class Messages(Rewrite):
    """Edits messages and nothing else."""

    def __init__(self, f: Callable[[Record, Object], bool]) -> None:
        """Call ``f(place, message)`` for every message; it edits in place and tells whether."""
        self.f = f

    def message(self, at: Record, message: Object) -> bool:
        """Edit it."""
        return self.f(at, message)

    def reading(self, name: str, head: bytes) -> How:  # noqa: ARG002 - as in `Rewrite`
        """Leave every file."""
        return "skip"


# -- single values and files -----------------------------------------------


class _Files(Protocol):
    def read_file(self, name: str) -> bytes: ...

    def write_file(self, name: str, data: bytes) -> None: ...


def rewrite_value(value: JSON, at: Place, key: str, with_: Rewrite) -> tuple[JSON, bool]:
    """Return what *with_* puts in the place of a value, and whether that is something else.

    Args:
        value: Any JSON; it may be edited in place.
        at: Where it stands.
        key: Its key, where it is a saved value.
        with_: What is asked.
    """
    return with_.value(at, key, value)


def rewrite_file(files: _Files, name: str, with_: Rewrite) -> bool:
    """Rewrite one file; return whether that changed it. An absent one is left.

    Raises:
        ValueError: *name* is no file's name.
        OSError: It could not be read or written; it is as it was.
    """
    try:
        data = files.read_file(name)
    except FileNotFoundError:
        return False
    new = with_.file(name, data)
    if new == data:
        return False
    files.write_file(name, new)
    return True


# -- what was done ---------------------------------------------------------


class RewrittenLog(NamedTuple):
    """What a rewrite did to one log."""

    log: str
    records: int
    """Records that changed."""
    strings: int
    """Strings in them that changed."""


class Rewritten(NamedTuple):
    """What a rewrite did."""

    logs: tuple[RewrittenLog, ...] = ()
    """The logs of which a record changed."""
    files: tuple[str, ...] = ()
    """The files that changed, by the names they have now."""
    blobs_added: tuple[str, ...] = ()
    """Blobs that are new, by their names after ``blobs/``."""
    blobs_removed: tuple[str, ...] = ()
    """Blobs that went since no record names them any more."""
    set_aside: tuple[TornTail, ...] = ()
    """Torn tails that were set aside."""

    @property
    def changed(self) -> bool:
        """Whether anything changed."""
        return bool(self.logs or self.files or self.blobs_removed or self.set_aside)


# The package's public names: `Record` there is the error of a record that cannot be read.
FilePlace = File
RecordPlace = Record
