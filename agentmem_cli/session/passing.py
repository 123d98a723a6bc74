"""One log on its way through a rewrite: blocks of lines in, blocks of lines out.

They are folded as they pass. What is folded is what is written, byte for byte,
so a log that passed folds strictly. Blocks without a hit are neither cut into
lines here nor copied.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli import errors
from agentmem_cli.session.forms import form_of
from agentmem_cli.session.lines import odd_line, whole_records
from agentmem_cli.session.rawlines import by_of, fields_of, stamp_of, strings_changed
from agentmem_cli.session.rewriting import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.images import BlobFiles
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.session.rewriting import Rewrite
    from agentmem_cli.session.source import OpenLog

_ENDLESS: Final = 1 << 62

BLOCK_BYTES: Final = 256 << 10
"""Bytes of a block, about; a larger one was slower, since it is fresh memory each time."""


def _why(raw: bytes, error: ValueError) -> str:
    """Say what is wrong with a line, in the words in which `verify` does."""
    damages: list[Damage] = []
    for _ in odd_line(raw + b"\n", 1, 0, damages.append, last=False):
        pass
    return damages[0].why if damages else str(error)


class Block(NamedTuple):
    """Some whole lines of a file; only the file's last one may lack its end."""

    offset: int
    """Where they begin, in bytes from the file's beginning."""
    data: bytes


def blocks(opened: OpenLog, end: int) -> Iterator[Block]:
    """Yield the first *end* bytes of a file in blocks of whole lines; a long line is one alone."""
    begin, wanted = 0, BLOCK_BYTES
    while begin < end:
        data = opened.read_at(begin, min(wanted, end - begin))
        if not data:
            return  # it was cut since it was opened
        at_end = begin + len(data) >= end or len(data) < min(wanted, end - begin)
        cut = len(data) if at_end else data.rfind(b"\n") + 1
        if not cut:
            wanted *= 4  # Why read again: a line so long is rare, and pieces would be copied twice.
            continue
        # What is behind the cut is read once more: less than to keep and to join it.
        yield Block(begin, data if cut == len(data) else data[:cut])
        begin += cut
        wanted = BLOCK_BYTES


def changed_lines(
    data: bytes, hits: Sequence[int] | None, change: Callable[[int, bytes], bytes]
) -> bytes:
    """Return a block with the lines that hold a hit put through *change*.

    Args:
        data: The block.
        hits: Offsets in it; None: every line holds one.
        change: Gets where a line begins in the block, and its bytes without the end.

    Returns:
        *data* itself where no line changes.
    """
    pieces: list[bytes] = []
    kept = 0
    for start, end in _candidates(data, hits):
        raw = data[start:end]
        new = change(start, raw)
        if new is not raw and new != raw:
            pieces += (data[kept:start], new)
            kept = end
    return b"".join((*pieces, data[kept:])) if pieces else data


def _candidates(data: bytes, hits: Sequence[int] | None) -> Iterator[tuple[int, int]]:
    """Yield where each line to be looked at begins and ends, its end left out."""
    if hits is None:
        start = 0
        while start < len(data):
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            yield start, end
            start = end + 1
        return
    passed = -1
    for hit in sorted(hits):
        if hit > passed:
            start = data.rfind(b"\n", 0, hit) + 1
            end = data.find(b"\n", hit)
            passed = len(data) if end < 0 else end
            yield start, passed


class Watcher:
    """Is told of what changes in a log; this one takes no notice."""

    def changed(self, at: Record, old: Object, new: Object) -> None:
        """Take note of a record that changed: as it was and as it will be."""

    def changed_bytes(self, old: bytes, new: bytes) -> None:
        """Take note of a line that changed, whether it could be read or not."""


class LogPass:
    """One log on its way. It is a `lines.Bytes` that `fold.LogFold` can read, once."""

    size = _ENDLESS
    """Not known before: a torn tail is none of this."""

    def __init__(
        self,
        log: str,
        opened: OpenLog,
        keep: int,
        with_: Rewrite,
        watcher: Watcher,
        *,
        as_text: bool,
    ) -> None:
        """Take the first *keep* bytes of *opened*, whole lines, through *with_*.

        Args:
            log: The log's name.
            opened: It, as it is.
            keep: Its bytes without a torn tail.
            with_: What is asked.
            watcher: Is told of what changes.
            as_text: Whether lines that cannot be read are mapped as text; else they are refused.
        """
        self.log = log
        self.records = 0
        """Records that changed."""
        self.strings = 0
        """Strings in them that changed."""
        self._opened = opened
        self._keep = keep
        self._with = with_
        self._watcher = watcher
        self._as_text = as_text
        self._data = b""
        self._base = 0
        self._write: Callable[[bytes], object] | None = None
        self._stage: Callable[[int], Callable[[bytes], object]] | None = None
        self._header: Callable[[bytes], bytes] | None = None
        self._told: Callable[[int], None] = len_of
        self.folded = 0

    def run(
        self,
        files: BlobFiles,
        stage: Callable[[int], Callable[[bytes], object]],
        header: Callable[[bytes], bytes],
        told: Callable[[int], None],
    ) -> LogFold:
        """Pass the log, and return what it comes to.

        Args:
            files: What the blobs are among.
            stage: Called before the first line that changes is passed on,
                with the bytes that stand before its block; returns what takes
                the log's bytes from there on.
            header: Gives the header's line anew, without its end; for a log that changes.
            told: Called with the bytes just read.

        Raises:
            errors.SessionError: A line cannot be read or applied.
        """
        # Why here: files that are no session's are rewritten without a fold.
        from agentmem_cli.session.fold import LogFold
        from agentmem_cli.session.source import LogSource

        self._stage, self._header, self._told = stage, header, told
        source = LogSource(self, files)
        return LogFold(self.log, source, strict=not self._as_text).run()

    def lines(self, start: int = 0) -> Iterator[bytes]:
        """Yield the lines as they will stand."""
        assert start == 0
        for block in blocks(self._opened, self._keep):
            self._data = data = self._passed(block)
            self._told(len(block.data))
            # Why not split: it would take the ends away, and this runs at the speed of C.
            yield from io.BytesIO(data)
            self._base += len(data)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return bytes of the block that is passing."""
        begin = offset - self._base
        assert begin >= 0
        assert begin + length <= len(self._data)
        return self._data[begin : begin + length]

    def _passed(self, block: Block) -> bytes:
        hits = self._with.hits(block.data)
        if hits is not None and not hits and self._write is None:
            return block.data

        def change(start: int, raw: bytes) -> bytes:
            return self._changed(block.offset + start, raw)

        data = changed_lines(block.data, hits, change)
        if self._write is None and data is not block.data:
            assert self._stage is not None
            self._write = self._stage(block.offset)
        if self._write is not None:
            if block.offset == 0:
                assert self._header is not None
                first, newline, rest = data.partition(b"\n")
                data = b"".join((self._header(first), newline, rest))
            self._write(data)
        return data

    def _changed(self, offset: int, raw: bytes) -> bytes:
        if not raw.strip():
            return raw
        try:
            return self._record(offset, raw)
        except ValueError as error:
            if not self._as_text:
                raise self._refusal(offset, f"it cannot be read: {_why(raw, error)}") from None
        new = self._damaged(raw)
        if new != raw:
            self.records += 1
            self.strings += 1
            self._watcher.changed_bytes(raw, new)
        return new

    def _record(self, offset: int, raw: bytes) -> bytes:
        """Return a record's new line.

        Raises:
            ValueError: It is no record.
        """
        fields = fields_of(raw)
        at = Record(self.log, stamp_of(fields), by_of(fields))
        if at.stamp is None:
            msg = "it has no stamp"
            raise ValueError(msg)
        new = self._with.line(at, raw)
        if new is raw or new == raw:
            return raw
        told = self._checked(offset, fields, new)
        self.records += 1
        self.strings += strings_changed(raw, new)
        self._watcher.changed_bytes(raw, new)
        self._watcher.changed(at, fields, told)
        return new

    def _checked(self, offset: int, fields: Object, new: bytes) -> Object:
        """Return the fields of a record's new line, which is of the same form."""
        try:
            told = fields_of(new)
        except ValueError:
            told = {}
        if b"\n" in new or form_of(fields) != form_of(told):
            why = "the rewrite would make another record of it (its stamp, ids, type or places)"
            raise self._refusal(offset, why)
        return told

    def _refusal(self, offset: int, why: str) -> errors.Record:
        """Return the error that names the line at *offset* of the log as it is."""
        # Why only now: to count the lines of what is passed costs more than to search it.
        before = (block.data.count(b"\n") for block in blocks(self._opened, offset))
        return errors.Record(self.log, sum(before) + 1, why)

    def _damaged(self, raw: bytes) -> bytes:
        """Return a damaged line's new bytes: whole records in it as such, the rest as text."""
        pieces: list[bytes] = []
        nowhere = Record(self.log, None, None)
        at = 0
        for start, length, fields in whole_records(raw):
            pieces.append(self._text(nowhere, raw[at:start]))
            at = start + length
            record = raw[start:at]
            place = Record(self.log, stamp_of(fields), by_of(fields))
            try:
                pieces.append(self._with.line(place, record))
            except ValueError:
                pieces.append(self._text(place, record))
        pieces.append(self._text(nowhere, raw[at:]))
        return b"".join(pieces)

    def _text(self, at: Record, raw: bytes) -> bytes:
        return self._with.damaged_line(at, raw) if raw else raw


def len_of(_: int) -> None:
    """Take no notice."""
