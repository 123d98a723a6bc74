"""The files of a session on their way through a rewrite, the headers and the meta."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.message import Message
from agentmem_cli.session.meta import BadMeta, SessionMeta, title_of
from agentmem_cli.session.passing import Watcher, blocks, changed_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.images import BlobFiles
    from agentmem_cli.session.record import LogRewrite
    from agentmem_cli.session.rewriting import File, Record, Rewrite
    from agentmem_cli.session.source import OpenLog
    from agentmem_cli.storage.store import Sink

_OURS: Final = "agentmem"
"""The key of ``listed`` under which the logs' sizes stand."""

_MARK: Final = codecs.BOM_UTF8

REFERENCE: Final = re.compile(rb"blob:([0-9a-f]{64}\.[a-z0-9]+)")
"""A reference to a blob, as it stands in a line."""

REFERENCE_BYTES: Final = 5 + 64 + 1 + 16
"""A reference to a blob is not longer."""


def copied(opened: OpenLog, start: int, end: int, *, overlap: int = 0) -> Iterator[bytes]:
    """Yield the bytes from *start* to *end* in pieces, each with *overlap* bytes from before it."""
    for at in range(start, end, CHUNK_BYTES):
        begin = max(start, at - overlap)
        yield opened.read_at(begin, min(at + CHUNK_BYTES, end) - begin)


class FilePass:
    """One file on its way, line by line."""

    def __init__(self, at: File, opened: OpenLog, with_: Rewrite) -> None:
        """Take *opened*, the file at *at*, through *with_*."""
        self.changed = False
        """Whether a line changed."""
        self._at = at
        self._opened = opened
        self._with = with_

    def run(self, told: Callable[[int], None]) -> Iterator[bytes]:
        """Yield the file's new bytes in blocks."""
        for data, _ in self._blocks(told):
            yield data

    def stage(self, sink_of: Callable[[], Sink], told: Callable[[int], None]) -> bool:
        """Write the new bytes to *sink_of* of it, if they differ; return whether they do."""
        sink: Sink | None = None
        for data, offset in self._blocks(told):
            if sink is None and self.changed:
                sink = sink_of()
                for before in copied(self._opened, 0, offset):
                    sink.write(before)
            if sink is not None:
                sink.write(data)
        return self.changed

    def _blocks(self, told: Callable[[int], None]) -> Iterator[tuple[bytes, int]]:
        first = 1
        for block in blocks(self._opened, self._opened.size):
            whole = block.data
            number, counted = first, 0

            def change(start: int, raw: bytes) -> bytes:
                nonlocal number, counted
                number += whole.count(b"\n", counted, start)  # noqa: B023 - called at once
                counted = start
                return self._line(number, raw)

            data = changed_lines(whole, self._with.hits(whole), change)
            self.changed = self.changed or data is not whole
            told(len(whole))
            yield data, block.offset
            first += whole.count(b"\n")

    def _line(self, number: int, raw: bytes) -> bytes:
        mark = _MARK if number == 1 and raw.startswith(_MARK) else b""
        body = raw[len(mark) :]
        if not body.strip():
            return raw
        try:
            new = self._with.file_line(self._at, number, body)
        except ValueError:
            new = self._with.damaged_line(self._at, body)
        return raw if new is body else mark + new


def rewritten_header(raw: bytes, lineage: int, item: LogRewrite) -> bytes | None:
    """Return a header's line with a fresh *lineage* and one more of ``rewrites``.

    Returns:
        None where *raw* is no header.
    """
    try:
        fields = loads_object(raw)
    except ValueError:
        return None
    if fields.get("type") != "header":
        return None
    told = fields.get("rewrites")
    author: Object = {} if item.by is None else {"by": item.by.to_value()}
    fields["lineage"] = lineage
    fields["rewrites"] = [*(told if isinstance(told, list) else []), {"t": item.t, **author}]
    return dumps(fields)


# -- the meta --------------------------------------------------------------


def sized_meta(data: bytes, sizes: Mapping[str, tuple[int, int]]) -> bytes:
    """Return a meta that says how long the logs are now, where it said so of before.

    Args:
        data: It; one that cannot be read stays.
        sizes: By log, its bytes as they were and as they will be.
    """
    try:
        meta = loads_object(data)
    except ValueError:
        return data
    listed = meta.get("listed")
    ours = listed.get(_OURS) if isinstance(listed, dict) else None
    noted = ours.get("logs") if isinstance(ours, dict) else None
    if not isinstance(noted, dict):
        return data
    fresh: Object = {log: new for log, (old, new) in sizes.items() if noted.get(log) == old}
    if not fresh:
        return data
    noted.update(fresh)
    return dumps(meta)


class Titles:
    """Makes a title anew that is the beginning of a text which changes.

    A title has 60 characters, so half of what went from the text may stand in
    it, where nothing finds it.
    """

    def __init__(self, files: BlobFiles) -> None:
        """Look for the text that the title of the meta in *files* was made of."""
        self._new: str | None = None
        try:
            self._title = SessionMeta.read(files).title
        except (BadMeta, OSError):
            self._title = None

    def look(self, old: Object, new: Object) -> None:
        """Look at a record as it was and as it will be."""
        if self._title is None or self._new is not None:
            return
        for before, after in zip(_texts(old), _texts(new), strict=False):
            if before != after and title_of(before) == self._title:
                self._new = title_of(after)
                return

    def settled(self, old: bytes, new: bytes) -> bytes:
        """Return the meta *new*, its title made anew where *old* had one of a text that changed."""
        if self._new is None:
            return new
        try:
            meta = loads_object(new)
        except ValueError:
            return new
        meta["title"] = self._new
        told = dumps(meta)
        return new if old == told else told


def _texts(record: Object) -> Iterator[str]:
    """Yield the texts of a record that a title may be made of."""
    entries: JSON = record.get("entries") or record.get("with")
    if record.get("type") == "state":
        value = record.get("value")
        yield value if isinstance(value, str) else ""
    for entry in entries if isinstance(entries, list) else ():
        message = entry.get("message") if isinstance(entry, dict) else None
        yield Message.of(message).text if isinstance(message, dict) else ""


class Watching(Watcher):
    """Takes note of what a log's changes mean for the rest of the session."""

    def __init__(self, titles: Titles, unnamed: set[str], numbers: set[int]) -> None:
        """Add to what is given: blobs that a record no longer names, and the ``n`` of records."""
        self._titles = titles
        self._unnamed = unnamed
        self._numbers = numbers

    def changed(self, at: Record, old: Object, new: Object) -> None:
        """Note its ``n``, and whether the title was made of it."""
        assert at.stamp is not None
        self._numbers.add(at.stamp.n)
        self._titles.look(old, new)

    def changed_bytes(self, old: bytes, new: bytes) -> None:
        """Note which blobs it names no longer."""
        names = set(REFERENCE.findall(old))
        if names:
            self._unnamed.update(name.decode() for name in names.difference(REFERENCE.findall(new)))
