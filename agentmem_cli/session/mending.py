"""A damaged log made whole: what is to be set aside, and what stands in its place.

The log streams by twice: once to see which places are lost, once to write. Lines
that nothing is wrong with keep their bytes. All bytes that go out of the log, in
the order in which they stood, are one file; each lost place says where in it its
own lie.

Source: DESIGN.md, "Repairing".
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from agentmem_cli.session.aside import Aside
from agentmem_cli.session.author import Author
from agentmem_cli.session.change import ChangeRecord, Reset, SetAside
from agentmem_cli.session.clock import fresh_lineage
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.damaged import Gap, is_utf8, pieces, stamp_of
from agentmem_cli.session.fold import BAD_STAMP, NOT_APPLIED
from agentmem_cli.session.images import put_back
from agentmem_cli.session.keys import LOST, REPAIRS
from agentmem_cli.session.lines import Line
from agentmem_cli.session.mending_counts import Counts, tail_of
from agentmem_cli.session.mending_fold import MendingFold
from agentmem_cli.session.placing import ASIDE, STAYS
from agentmem_cli.session.record import (
    BadRecord,
    Header,
    LogRewrite,
    decode_header,
    encode_header,
    encode_record,
)
from agentmem_cli.session.refiling import copied
from agentmem_cli.session.stamp import Stamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.change import State
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.damaged import Piece, Survey
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.placing import Place
    from agentmem_cli.session.source import LogSource

BY: Final = Author.plugin("agentmem", "repair")
"""Who writes what stands in a lost place."""

RESET_BYTES_MAX: Final = 8 << 20
"""Bytes of a conversation that a reset says anew; of a larger one the place is only noted,
which comes to the same, so that no record is too large to be read in little memory."""


def mend(  # noqa: PLR0913 - one a wish, most of them named
    log: str,
    source: LogSource,
    survey: Survey,
    *,
    file: str,
    now_ms: int,
    sink_of: Callable[[], Callable[[bytes], object]] | None,
    told: Callable[[int], None],
    moved: int = 0,
    keep_first: bool = False,
) -> Counts:
    """Mend one log.

    Args:
        log: Its name.
        source: It, opened.
        survey: What `survey` found in it.
        file: Where the bytes that go out of it will stand, among the session's files.
        now_ms: The time now, in ms.
        sink_of: Called before the first byte is written, where any changes; returns
            what takes the new log. None: nothing is written.
        told: Called with the bytes read since the last call.
        moved: How many records stand elsewhere in *source* than in the log itself; then all of
            it is written.
        keep_first: Of different records of one stamp only the first stays.
    """
    work = _Mending(log, source, survey, file, now_ms, keep_first=keep_first)
    return work.run(sink_of, told, moved=moved)


class _Mending:
    """One log on its way."""

    def __init__(
        self,
        log: str,
        source: LogSource,
        survey: Survey,
        file: str,
        now_ms: int,
        *,
        keep_first: bool,
    ) -> None:
        self._log = log
        self._source = source
        self._survey = survey
        self._file = file
        self._now_ms = now_ms
        self._keep_first = keep_first
        self._fold = MendingFold(log, source, strict=False)
        self._next_aside = survey.next_aside
        self._aside: list[tuple[int, int]] = []
        self._aside_bytes = 0
        self._pending: tuple[int, int] | None = None
        self._stubs: dict[int, tuple[int, int]] = {}
        self._parent: str | None = None
        self._header: Line | None = None
        self._sink_of: Callable[[], Callable[[bytes], object]] | None = None
        self._write: Callable[[bytes], object] | None = None
        self._begun = False
        self._end_filled = False
        self._at = 0
        self._counts = Counts()

    def run(
        self,
        sink_of: Callable[[], Callable[[bytes], object]] | None,
        told: Callable[[int], None],
        *,
        moved: int,
    ) -> Counts:
        """Take every line; what is written goes to what *sink_of* returns."""
        self._sink_of = sink_of
        index = 0
        end = self._source.log.size
        seen = 0
        for piece in pieces(self._source.log):
            if piece.torn:
                end = piece.offset
                break
            self._piece(piece, index)
            index += sum(type(part) is Line for part in piece.parts)
            if piece.offset - seen > _TELL_BYTES:
                told(piece.offset - seen)
                seen = piece.offset
        self._end_of_log(end)
        if moved:
            self._add(moved=moved)
            self._edit(end, 0, b"")
        torn = self._source.log.size - end
        if torn:
            self._set_aside(end, torn)
        if self._begun:
            self._copy_to(end)
        told(self._source.log.size - seen)
        tail = 0 if self._end_filled else tail_of(self._source.log, self._aside, torn)
        return self._counts._replace(
            edited=self._begun, torn=torn, tail=tail, aside=tuple(self._aside)
        )

    # -- lines -------------------------------------------------------------

    def _piece(self, piece: Piece, index: int) -> None:
        """Take one line, and write what is to stand in its place where that is another one."""
        whole = piece.is_plain
        new: list[tuple[Line, bytes | None]] = []
        for part in piece.parts:
            if type(part) is Gap:
                self._note_stub(part)
                self._set_aside(part.offset, part.length)
                continue
            assert isinstance(part, Line)
            new.append((part, self._record(part, self._survey.places.get(index), piece)))
            index += 1
        if not piece.parts or (whole and new[0][1] is None):
            return
        if len(piece.parts) > 1:
            ends = sum(type(each) is Line is type(next_) for each, next_ in pairwise(piece.parts))
            self._add(split=len(new), ends=ends)
        lines = [self._raw(part) + b"\n" if told is None else told for part, told in new]
        self._edit(piece.offset, piece.length, b"".join(lines))

    def _record(self, line: Line, place: Place | None, piece: Piece) -> bytes | None:
        """Fold a record; return what is to stand in its place, None: it stands as it is."""
        fields = line.fields
        if place is not None and place.how == ASIDE:
            self._add(copies=1)
            self._set_aside(line.offset, line.length)
            return b""
        if place is not None and place.how == STAYS:
            if not self._keep_first and self._fold.takes_double(line):
                self._pending = None
                return None
            self._add(clashes=1)
            self._set_aside(line.offset, line.length)
            return b""
        seq, n, t = stamp_of(fields)
        before = b""
        moved = False
        if place is not None:
            before = self._fill(place.lost, t)
            moved = (seq, n) != (place.seq, place.n)
            seq, n = place.seq, place.n
            line = line._replace(fields={**fields, "seq": seq, "n": n})
        kinds = [kind for kind in self._fold.take(line) if kind != BAD_STAMP]
        mangled = piece.mangled and not is_utf8(self._source.log.read_at(line.offset, line.length))
        if not kinds and not moved and not mangled:
            self._pending = None
            if seq == 0 and fields.get("type") == "header":
                self._header = line
            return before + self._raw(line) + b"\n" if before else None
        self._set_aside(line.offset, line.length)
        new = self._instead(line, kinds, (seq, n, t))
        if not kinds:
            self._add(stamped=int(moved))
        self._pending = None
        return before + new

    def _instead(self, line: Line, kinds: list[str], stamp: tuple[int, int, int]) -> bytes:
        """Return what stands in the place of a record that went out of the log."""
        seq, n, t = stamp
        if not kinds:
            exact = self._source.exact(line.offset, line.length)
            data = dumps({**exact, "seq": seq, "n": n}) + b"\n"
            is_header = seq == 0 and line.fields.get("type") == "header"
            return self._renewed(data[:-1]) + b"\n" if is_header else data
        if seq == 0:
            return self._new_header(n, t, line.fields)
        if NOT_APPLIED in kinds and (state := self._state()) is not None:
            self._add(reset=1)
            change = Reset(state)
            self._fold.put(seq, n, t, change)
            return encode_record(Stamp(n, seq, t), ChangeRecord(change, BY, t))
        return self._lost(seq, n, t, self._fold.last_why)

    def _raw(self, line: Line) -> bytes:
        """Return a record's bytes; the header's with a fresh lineage."""
        raw = self._source.log.read_at(line.offset, line.length)
        return self._renewed(raw) if line is self._header else raw

    def _repairs(self, fields: Object) -> list[JSON]:
        """Return what a header tells of repairs, this one added."""
        told = fields.get(REPAIRS)
        return [*(told if isinstance(told, list) else []), {"t": self._now_ms}]

    def _renewed(self, raw: bytes) -> bytes:
        fields = loads_object(raw)
        return dumps({**fields, "lineage": fresh_lineage(), REPAIRS: self._repairs(fields)})

    # -- what stands in lost places ----------------------------------------

    def _fill(self, lost: tuple[tuple[int, int], ...], t: int) -> bytes:
        lines = []
        for seq, latest_n in lost:
            n = latest_n
            told = self._stubs.get(seq)
            at = self._fold.last_t if self._fold.last_t is not None else t
            if told is not None and self._fold.last_n < told[0] <= n:
                n, at = told
            if seq == 0:
                found = self._survey.header
                lines.append(self._new_header(n, t if told is None else at, found))
            else:
                lines.append(self._lost(seq, n, at, "no whole record stands here"))
        return b"".join(lines)

    def _lost(self, seq: int, n: int, t: int, why: str) -> bytes:
        value: Object = {"why": why}
        if self._pending is not None:
            begin, end = self._pending
            value = {"file": self._file, "at": begin, "bytes": end - begin, **value}
        entries = self._fold.conversation.entries
        after = entries[-1].id if entries else None
        change = SetAside(self._next_aside, Aside(LOST, BY, value, after))
        self._next_aside += 1
        self._fold.put(seq, n, t, change)
        self._add(lost=1)
        return encode_record(Stamp(n, seq, t), ChangeRecord(change, BY, t))

    def _new_header(self, n: int, t: int, fields: Object | None) -> bytes:
        """Make a header of what is left of the one that was there."""
        parent = self._parent
        rewrites: tuple[LogRewrite, ...] = ()
        extra: Object = {}
        if fields is not None:
            try:
                old = decode_header({**fields, "log": self._log, "lineage": 1})
            except BadRecord:
                told = fields.get("parent")
                parent = told if isinstance(told, str) else parent
            else:
                parent, rewrites, extra = old.parent, old.rewrites, old.extra
        extra = {**extra, REPAIRS: self._repairs(extra)}
        header = Header(self._log, fresh_lineage(), parent, rewrites, extra)
        self._fold.put_header(header, n, t)
        self._add(header=1)
        return encode_header(Stamp(n, 0, t), header)

    def _state(self) -> State | None:
        """Return the conversation as a reset holds it; None: it is too large for one."""
        state = self._fold.conversation.state()
        entries: list[Entry] = []
        size = 0
        for entry in state.entries:
            message = entry.stored
            if entry.blob_files is not None and b"blob:" in message.raw:
                # Why: blobs are named by pushes and splices only.
                message, _ = put_back(message, entry.blob_files, keep_lost=True)
            size += len(message.raw)
            if size > RESET_BYTES_MAX:
                return None
            entries.append(entry.with_message(message))
        return replace(state, entries=tuple(entries))

    def _note_stub(self, gap: Gap) -> None:
        """Note the stamp that a cut record begins with."""
        data = self._source.log.read_at(gap.offset, min(gap.length, _STUB_BYTES))
        found = _STUB.match(data)
        if found is None:
            return
        seq, n, t = (int(number) for number in found.groups())
        self._stubs.setdefault(seq, (n, t))
        if seq == 0 and (told := _PARENT.search(data)) is not None:
            self._parent = told[1].decode()

    def _end_of_log(self, end: int) -> None:
        """Fill the places of cut records that nothing follows, as far as they say which."""
        fold = self._fold
        last = max(self._stubs, default=-1)
        if fold.header is None or not fold.last_seq < last <= fold.last_seq + _STUBS_MAX:
            return
        count = last - fold.last_seq
        told = self._stubs[last][0]
        top = told if told - fold.last_n >= count else fold.last_n + count
        places = [(last - left, top - left) for left in reversed(range(count))]
        self._end_filled = True
        self._edit(end, 0, self._fill(tuple(places), fold.last_t or 0))

    # -- bytes -------------------------------------------------------------

    def _set_aside(self, offset: int, length: int) -> None:
        begin = self._aside_bytes + (1 if self._aside else 0)
        self._aside.append((offset, length))
        self._aside_bytes = begin + length
        self._pending = (self._pending[0] if self._pending else begin, self._aside_bytes)

    def _edit(self, offset: int, length: int, data: bytes) -> None:
        """Have *data* stand in the place of some bytes of the log."""
        if not self._begun:
            self._begun = True
            self._write = None if self._sink_of is None else self._sink_of()
            header = self._header
            if header is not None:
                self._keep_header(header)
            if header is not None and header.offset < offset:
                self._copy_to(header.offset)
                self._put(self._raw(header))
                self._at = header.offset + header.length
        self._copy_to(offset)
        self._put(data)
        self._at = offset + length

    def _keep_header(self, header: Line) -> None:
        """Set the header aside where writing it anew would lose more than its lineage."""
        raw = self._source.log.read_at(header.offset, header.length)
        if dumps(self._source.exact(header.offset, header.length)) != raw:
            pending = self._pending
            self._set_aside(header.offset, header.length)
            self._pending = pending

    def _copy_to(self, end: int) -> None:
        if self._write is not None:
            for data in copied(self._source.log, self._at, end):
                self._write(data)
        self._at = end

    def _put(self, data: bytes) -> None:
        if self._write is not None:
            self._write(data)

    def _add(self, **more: int) -> None:
        counts = self._counts
        self._counts = counts._replace(
            **{name: getattr(counts, name) + number for name, number in more.items()}
        )


_TELL_BYTES: Final = 4 << 20
_STUB_BYTES: Final = 4 << 10
_STUBS_MAX: Final = 1_000
"""Places that are filled at the end of a log by what a cut record says of itself."""
_STUB: Final = re.compile(
    rb'[\0\s]*\{"seq":([0-9]{1,18}),"n":([0-9]{1,18}),"t":(-?[0-9]{1,18})[,}]'
)
_PARENT: Final = re.compile(rb'"parent":"([A-Za-z0-9._-]+)"')
