"""One log folded: header, conversation, saved values, and what did not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli import errors
from agentmem_cli.limits import CHUNK_BYTES, U64_MAX
from agentmem_cli.session.applied import CannotApply
from agentmem_cli.session.codec import is_exact, loads_fast
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.keys import FORMAT
from agentmem_cli.session.lines import (
    LINE_END,
    TORN,
    Damage,
    Line,
    odd_line,
    scan,
    torn_line,
)
from agentmem_cli.session.record import (
    CHANGES,
    BadRecord,
    Header,
    decode_by,
    decode_change,
    decode_entries,
    decode_header,
    decode_saved,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.source import LogSource, OpenLog

BAD_FORMAT: Final = "format"
"""The header names another format, or none."""
BAD_HEADER: Final = "header"
"""The log does not begin with a header, or it is not whole."""
BAD_STAMP: Final = "stamp"
"""``seq`` is not dense, or ``n`` does not increase."""
BAD_RECORD: Final = "record"
"""A field is missing or has another shape."""
UNKNOWN_TYPE: Final = "unknown-type"
"""A type that this version does not know; a newer program wrote it."""
NOT_APPLIED: Final = "not-applied"
"""The change does not fit the conversation it stands in."""


def _plain_push(fields: Object, seq: int, n: int) -> int:
    """Return the id of the entry that a record pushes; -1: it is another record, or has more.

    Args:
        fields: The record.
        seq: What its ``seq`` must be.
        n: What its ``n`` must be greater than.
    """
    # Why with get: of a record that is none each of them may be missing.
    get = fields.get
    if get("type") != "push" or get("seq") != seq or seq == 0 or "by" in fields:
        return -1
    entries, told = get("entries"), get("n")
    if type(told) is not int or told <= n or type(get("t")) is not int:
        return -1
    if type(entries) is not list or len(entries) != 1 or type(get("seq")) is not int:
        return -1
    (entry,) = entries
    if type(entry) is not dict or len(entry) != 2 or type(entry.get("message")) is not dict:  # noqa: PLR2004 - message and id
        return -1
    id_ = entry.get("id")
    return id_ if type(id_) is int and id_ < U64_MAX else -1


class Cut(NamedTuple):
    """Where a fold ends: before the first record that is past one of the bounds."""

    n: int | None = None
    """Records with this ``n`` or a greater one are past it."""
    t: int | None = None
    """Records whose running latest time is later than this (ms) are past it."""
    future: int | None = None
    """Times later than this (ms; the time now) do not move the running latest time."""


class LogFold:
    """What a log comes to.

    Strict, the first damage raises (`errors.Record`, `errors.Format`) and
    ``damages`` holds a torn tail at most. Lenient, everything is named in
    ``damages``, and what can be read and applied is.
    """

    def __init__(self, log: str, source: LogSource, *, strict: bool) -> None:
        """Begin with nothing; *log* is the log's name."""
        self.log = log
        self.strict = strict
        self.header: Header | None = None
        self.header_n: int = 0
        """The header's ``n``."""
        self.started_ms: int | None = None
        """The header's time."""
        self.conversation = Conversation()
        self.saved: dict[str, JSON] = {}
        self.retired = False
        self.records = 0
        """Records that were read, the header too."""
        self.last_seq = -1
        self.last_n = -1
        self.last_t: int | None = None
        self.damages: list[Damage] = []
        self.ended = False
        """Whether a cut ended the fold before the log's end."""
        self.clashes: list[tuple[int, int]] = []
        """After a cut by ``n``: line and ``n`` of the records that make it ambiguous."""
        self.end = 0
        """Where the next record would be appended: bytes up to the last whole line's end."""
        self.lines = 0
        """Lines up to there, where the fold went to the log's end."""
        self.source = source
        """Where its entries are decoded from."""
        self._latest: int | None = None
        self._repeated: list[tuple[int, int]] = []
        self._repeats = False
        """Whether the stamp of the record in hand is one that another record has."""
        self._last_line = 0

    @property
    def torn(self) -> Damage | None:
        """The torn tail, where there is one."""
        found = [damage for damage in self.damages if damage.kind == TORN]
        return found[-1] if found else None

    def run(self, cut: Cut | None = None, on_record: OnRecord | None = None) -> LogFold:
        """Fold the whole log, or up to *cut*; return self.

        Args:
            cut: Where to stop.
            on_record: Called with every record's line and fold after it was folded.

        Raises:
            errors.Record: A record cannot be read or applied (strict).
            errors.Format: The header names another format (strict).
        """
        source = self.source
        if cut is None and on_record is None:
            self._run_whole()
            return self._ended_at(source.log.size)
        take = self._take
        lines = scan(source.log, self._report)
        first: Line | None = None
        for line in lines:
            if cut is not None and self._is_past(cut, line.fields):
                self.ended = True
                first = line
                break
            take(line)
            if on_record is not None:
                on_record(line, self)
        if cut is not None and cut.n is not None and not self.strict:
            self._find_clashes(cut.n, first, lines)
        return self._ended_at(source.log.size)

    def go_on(self, log: OpenLog) -> Iterator[Line]:
        """Fold what was added to the log since, and yield each record after it was folded.

        What was torn then is read again: it may be whole by now.

        Args:
            log: The log, opened again. Up to `end` it is what was folded.
        """
        self.damages = [damage for damage in self.damages if damage.kind != TORN]
        self.source.log = log
        start, before = self.end, self.lines
        for line in scan(log, self._report, start=start, number=before + 1):
            self._take(line)
            yield line
        self._ended_at(log.size)
        self.lines = before + _line_ends(log, start, self.end)

    def _ended_at(self, size: int) -> LogFold:
        torn = self.torn
        self.end = size if torn is None else torn.offset
        self.conversation.lineage = 0 if self.header is None else self.header.lineage
        return self

    def _run_whole(self) -> None:
        """Fold every line; a push of one new entry, as almost all are, goes a shorter way.

        It comes to the same as `_take` of every line of `scan`, in half the time.
        """
        source, conversation = self.source, self.conversation
        log, size = source.log, source.log.size
        offset = number = 0
        for number, line in enumerate(log.lines(), 1):
            after = offset + len(line)
            if after > size or line[-1] != LINE_END:
                if offset < size:
                    self._report(torn_line(number, offset, size - offset))
                self.lines = number - 1
                return
            try:
                fields = loads_fast(line)
            except ValueError:
                fields = None
            if type(fields) is dict:
                id_ = _plain_push(fields, self.last_seq + 1, self.last_n)
                if id_ >= conversation.next_message:
                    t = fields["t"]
                    self.last_seq += 1
                    self.last_n = fields["n"]  # type: ignore[assignment]
                    self.last_t = t  # type: ignore[assignment]
                    self.records += 1
                    entry = Entry(id_, None, None, t, source, offset, len(line) - 1, 0)  # type: ignore[arg-type]
                    self._push_plain(entry, fields, offset, len(line))
                    conversation.changes += 1
                else:
                    self._take(Line(number, offset, len(line) - 1, fields))
            else:
                for found in odd_line(line, number, offset, self._report, last=after == size):
                    self._take(found)
            offset = after
        self.lines = number if self.torn is None else number - 1

    def _push_plain(self, entry: Entry, fields: Object, offset: int, size: int) -> None:  # noqa: ARG002 - for who looks in
        """Add the only entry of a plain push.

        Args:
            entry: It.
            fields: The record.
            offset: Where that begins, in bytes.
            size: Its bytes, the end of the line too.
        """
        self.conversation.push_new(entry)

    def _report(self, damage: Damage) -> None:
        if self.strict and damage.kind != TORN:
            raise errors.Record(self.log, damage.line, damage.why)
        self.damages.append(damage)

    def _fault(self, line: Line, kind: str, why: str) -> None:
        if self.strict:
            raise errors.Record(self.log, line.number, why)
        self.damages.append(Damage(line.number, line.offset, line.length, kind, why))

    def _find_clashes(self, n: int, first: Line | None, rest: Iterable[Line]) -> None:
        """Name what makes a cut by *n* ambiguous: a smaller one later, or its neighbours twice."""
        self.clashes.extend((line, found) for line, found in self._repeated if found == n - 1)
        is_at = first is not None and first.fields.get("n") == n
        for line in rest:
            found = line.fields.get("n")
            if type(found) is not int or not (found < n or (is_at and found == n)):
                continue
            if first is not None and is_at and found == n:
                self.clashes.append((first.number, n))
                first = None
            self.clashes.append((line.number, found))

    def _is_past(self, cut: Cut, fields: Object) -> bool:
        n, t = fields.get("n"), fields.get("t")
        if cut.n is not None and type(n) is int and n >= cut.n:
            return True
        if cut.t is None or type(t) is not int or (cut.future is not None and t > cut.future):
            return False
        self._latest = t if self._latest is None else max(self._latest, t)
        return self._latest > cut.t

    def _take(self, line: Line) -> None:
        fields = line.fields
        seq, n, t = fields.get("seq"), fields.get("n"), fields.get("t")
        if type(seq) is not int or type(n) is not int or type(t) is not int:
            self._fault(line, BAD_RECORD, "a record without a stamp (seq, n and t)")
            return
        self._repeats = False
        if seq != self.last_seq + 1 or n <= self.last_n:
            self._check_stamp(line, seq, n)
            n = max(self.last_n, n)
        self._last_line = line.number
        self.last_seq = seq
        self.last_n = n
        self.last_t = t
        self.records += 1
        kind = fields.get("type")
        if self.records == 1:
            self._take_header(line, n, t)
        elif kind == "push":
            self._take_change(line, t)
        elif not isinstance(kind, str):
            self._fault(line, BAD_RECORD, "a record without a type (a string)")
        elif kind in CHANGES:
            self._take_change(line, t)
        else:
            self._take_other(line, kind)

    def _check_stamp(self, line: Line, seq: int, n: int) -> None:
        if seq != self.last_seq + 1:
            self._fault(line, BAD_STAMP, f"seq {seq} follows {self.last_seq}")
        elif n <= self.last_n:
            self._fault(line, BAD_STAMP, f"n {n} does not increase (it was {self.last_n})")
        self._repeats = n <= self.last_n
        # Why the newest alone: what stands there of the line before can only be that.
        if n == self.last_n and self._repeated[-1:] != [(self._last_line, n)]:
            self._repeated.append((self._last_line, n))
        if self._repeats:
            self._repeated.append((line.number, n))

    def _take_change(self, line: Line, t: int) -> None:
        fields = line.fields
        try:
            if fields["type"] == "push":
                # Why: almost every record is one, and needs none of the steps below.
                entries = decode_entries(fields, t, self.source, line.offset, line.length)
                if "by" in fields:
                    decode_by(fields)
                self.conversation.push_entries(entries)
            else:
                if fields["type"] in _EXACT:
                    fields = self.source.exact(line.offset, line.length)
                change = decode_change(fields, t, self.source, line.offset, line.length)
                decode_by(fields)
                self.conversation.apply(change)
        except BadRecord as error:
            self._fault(line, BAD_RECORD, str(error))
        except CannotApply as error:
            why = f"the change does not apply: {error}"
            if self._repeats and self.damages:
                # Why one damage: what stands at a stamp that another record has cannot but fail.
                last = self.damages[-1]
                self.damages[-1] = last._replace(why=f"{last.why}; {why}")
            else:
                self._fault(line, NOT_APPLIED, why)
        else:
            self.conversation.changes += 1

    def _take_header(self, line: Line, n: int, t: int) -> None:
        fields = line.fields
        if fields.get("type") != "header":
            self._fault(line, BAD_HEADER, "the log does not begin with a header")
            kind = fields.get("type")
            if isinstance(kind, str) and kind in CHANGES:
                self._take_change(line, t)
            return
        found = fields.get("format")
        if found != FORMAT:
            told = found if isinstance(found, str) else None
            if self.strict:
                raise errors.Format(self.log, told)
            self._fault(line, BAD_FORMAT, f"the header names the format {told!r}")
        try:
            header = decode_header(fields)
        except BadRecord as error:
            self._fault(line, BAD_HEADER, str(error))
            return
        if header.log != self.log:
            self._fault(line, BAD_HEADER, f"the header names the log {header.log!r}")
        self.header, self.header_n, self.started_ms = header, n, t

    def _take_other(self, line: Line, kind: str) -> None:
        if kind == "state":
            try:
                fields = line.fields
                if not is_exact(fields.get("value")):
                    fields = self.source.exact(line.offset, line.length)
                saved = decode_saved(fields)
            except BadRecord as error:
                self._fault(line, BAD_RECORD, str(error))
                return
            if saved.value is None:
                self.saved.pop(saved.key, None)
            else:
                self.saved[saved.key] = saved.value
        elif kind == "retired":
            self.retired = True
        elif kind == "header":
            self._fault(line, BAD_HEADER, "a second header")
        else:
            self._fault(line, UNKNOWN_TYPE, f"a record of the unknown type {kind!r}")


def _line_ends(log: OpenLog, start: int, end: int) -> int:
    found = 0
    for offset in range(start, end, CHUNK_BYTES):
        found += log.read_at(offset, min(CHUNK_BYTES, end - offset)).count(b"\n")
    return found


_EXACT: Final = frozenset({"aside", "reset"})

if TYPE_CHECKING:
    OnRecord = Callable[[Line, LogFold], None]
