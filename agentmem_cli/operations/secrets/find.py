"""Whole sources looked at: decoded here, scanned on other threads, nothing held.

A source is lines of JSON, a JSON document, or a text. Lines of JSON are events
of their own; lines that are no JSON are looked at together with those around
them, so that a key on several lines is one thing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeAlias

from agentmem_cli.operations.secrets.blocks import blocks, lines_of
from agentmem_cli.operations.secrets.deltas import Run, Streams, joined, may_stream
from agentmem_cli.operations.secrets.findings import Findings, Place, beyond
from agentmem_cli.operations.secrets.here import Here
from agentmem_cli.operations.secrets.looking import Eye, Found, gathered
from agentmem_cli.operations.secrets.marks import Marks, Spot, Streamed, event_key
from agentmem_cli.operations.secrets.plain import Characters, Plain
from agentmem_cli.operations.secrets.quick import text_of_json
from agentmem_cli.session.codec import loads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from types import TracebackType

    from agentmem_cli.operations.secrets.blocks import Block, Readable
    from agentmem_cli.operations.secrets.findings import Finding
    from agentmem_cli.operations.secrets.looking import Looking

AHEAD_MAX: Final = 6
"""Blocks, and texts, that wait or are looked at; more would only hold memory."""

AT_FIRST_MAX: Final = 12
"""Blocks that wait while the rules are not ready, since there is nothing else to do."""

TOGETHER_BYTES: Final = 8 << 10
"""Bytes of events that are looked at in one go.

A call of the engine costs as much as some kilobytes, and each rule that may fit goes over
all of them.
"""

TEXT_BYTES: Final = 256 << 10
"""Bytes of lines of a text that are looked at together."""

TEXT_OVERLAP: Final = 16 << 10
"""Bytes that two such looks have in common: more than any key on several lines."""

_SEALED: Final = re.compile(rb'"encrypted_?[cC]ontent"\s*:\s*"|"redacted_thinking"')


class _Event(NamedTuple):
    line: int
    raw: bytes
    text: bytes | None
    """What is scanned; None: the event is looked at string by string."""


class _Line(NamedTuple):
    """A line that is no JSON, on its way to those around it."""

    line: int
    raw: bytes


class _Text(NamedTuple):
    line: int
    raw: bytes
    skip: int
    """Bytes at the beginning that were looked at already."""


_Seen: TypeAlias = "tuple[bytes, Found]"
"""An event's key, and what it holds."""


class _Held(NamedTuple):
    """What a block holds, in the order of its lines."""

    events: int
    each: list[_Line | _Seen]


class Search:
    """A look at any number of sources; use it in a ``with`` block.

    Attributes:
        findings: What was found so far.
        marks: Where.
    """

    def __init__(self, looking: Looking, advance: Callable[[int], None] | None = None) -> None:
        self.looking = looking
        self.findings = Findings()
        self.marks = Marks()
        self.eye = Eye(looking)
        self.findings.values.update(looking.given.literals)
        self._advance = advance
        self._alone: list[Finding] = []
        """What stands in one piece of a streamed message, and may be known by those before it."""
        # Why on this thread: an expression of the user's may take for ever, and it is this one
        # alone whose search a signal ends.
        here = bool(looking.given.patterns)
        threads = max(1, looking.threads)
        self._pool = Here() if here else ThreadPoolExecutor(threads, "agentmem-scan")
        self._blocks: deque[Future[_Held]] = deque()
        self._waiting: deque[Future[list[_Seen]] | list[_Seen]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for what is being looked at, or drop it where there is an error."""
        self._pool.shutdown(wait=True, cancel_futures=error is not None)

    def lines(self, name: str, source: Readable, *, is_log: bool = False) -> None:
        """Look at a source line by line."""
        text = _Gathering()
        streams = Streams()
        before = len(self.findings.rows)
        for block in blocks(source):
            self.seen(block.data)
            # Why here: till the rules are ready the other threads wait, and this one need not.
            events = None if self.eye.is_ready else list(_events(block))
            self._blocks.append(self._pool.submit(self._look, name, block, is_log, events))
            if streams.is_open or may_stream(block.data):
                for number, raw in enumerate(lines_of(block.data), block.line):
                    for run in streams.pass_by(number, raw):
                        self._run(name, run)
            self._ordered(name, text, AHEAD_MAX if events is None else AT_FIRST_MAX)
        self._ordered(name, text, 0)
        self._text(name, text.flush())
        for run in streams.end():
            self._run(name, run)
        self._gather(0)
        self._end(before)

    def whole(self, name: str, data: bytes, *, is_log: bool = False) -> None:
        """Look at a JSON document."""
        self.seen(data)
        self.findings.events += 1
        before = len(self.findings.rows)
        self._take(event_key(data), self.eye.look(data, Place(name), is_record=is_log))
        for run in joined([(0, data)]) if may_stream(data) else ():
            self.marks.documents.add(name)
            self._run(name, run)
        self._end(before)

    def _end(self, before: int) -> None:
        """Put what one source holds in order: its findings are those from *before* on."""
        own = self.findings.rows[before:]
        own += beyond(self._alone, own)
        self._alone = []
        self.findings.rows[before:] = sorted(own, key=lambda row: row.place.line)

    def seen(self, data: bytes) -> None:
        """Note that *data* is being looked at."""
        self.findings.size += len(data)
        if b"crypted" in data or b"redacted_thinking" in data:
            self.findings.opaque += len(_SEALED.findall(data))
        if self._advance is not None:
            self._advance(len(data))

    def _ordered(self, name: str, text: _Gathering, keep: int) -> None:
        """Take what blocks hold, in the order of the lines, until only *keep* are ahead."""
        while len(self._blocks) > keep:
            held = self._blocks.popleft().result()
            self.findings.events += held.events
            for each in held.each:
                if not isinstance(each, _Line):
                    self._text(name, text.flush())
                    self._waiting.append([each])
                    continue
                if each.line != text.next:
                    self._text(name, text.flush())
                self._text(name, text.add(each.line, each.raw))
            self._gather(AHEAD_MAX)

    def _text(self, name: str, text: _Text | None) -> None:
        if text is not None:
            self.findings.events += 1
            self._waiting.append(self._pool.submit(self._look_at_text, name, text))
            self._gather(AHEAD_MAX)

    def _gather(self, keep: int) -> None:
        while len(self._waiting) > keep:
            first = self._waiting.popleft()
            for key, found in first if isinstance(first, list) else first.result():
                self._take(key, found)

    def _take(self, key: bytes, found: Found) -> None:
        gathered(self.findings, found)
        if found.spots:
            self.marks.spots.setdefault(key, []).extend(found.spots)
        self.marks.probes.update(found.probes)
        for place, parts in found.lines.items():
            self.marks.lines.setdefault(place, []).extend(parts)

    # -- on other threads --------------------------------------------------

    def _look(
        self,
        name: str,
        block: Block,
        is_log: bool,  # noqa: FBT001 - of a thread
        events: list[_Event | _Line] | None,
    ) -> _Held:
        # Why decoded here, too: a thread that decodes for the others has them wait for their
        # turn behind each call of the engine, some milliseconds after one of microseconds.
        if self.eye.is_blind:
            return _Held(sum(1 for _ in lines_of(block.data)), [])
        found: list[_Line | _Seen] = []
        small: list[_Event] = []
        size = count = 0
        for event in _events(block) if events is None else events:
            if isinstance(event, _Event) and event.text is not None:
                small.append(event)
                size += len(event.text)
                if size < TOGETHER_BYTES:
                    continue
            count += len(small)
            found += self._together(name, small, is_log=is_log)
            small, size = [], 0
            if isinstance(event, _Line):
                found.append(event)
            elif event.text is None:
                count += 1
                found.append(self._one(name, event, is_log=is_log))
        found += self._together(name, small, is_log=is_log)
        return _Held(count + len(small), found)

    def _look_at_text(self, name: str, text: _Text) -> list[_Seen]:
        return list(_by_line(text, self.eye.plain(Plain(text.raw), Place(name, text.line))))

    def _together(self, name: str, events: list[_Event], *, is_log: bool) -> Iterator[_Seen]:
        """Look at events in one go, since most hold nothing; then at each that may."""
        for index in self.eye.touched([each.text or b"" for each in events]) if events else ():
            yield self._one(name, events[index], is_log=is_log)

    def _one(self, name: str, each: _Event, *, is_log: bool) -> _Seen:
        place = Place(name, each.line, _stamp(each.raw) if is_log else None)
        return event_key(each.raw), self.eye.look(each.raw, place, is_record=is_log)

    def _run(self, name: str, run: Run) -> None:
        """Look at a message that was streamed in pieces."""
        self.marks.streamed.add(name)
        first = run.pieces[0]
        found = self.eye.plain(Plain(run.text.encode("utf-8", "replace")), Place(name, first.line))
        self._streamed(name, run, found)

    def _streamed(self, name: str, run: Run, found: Found) -> None:
        text = Characters(run.text)
        spots = iter(found.spots)
        for row in found.rows:
            parts = list(run.parts(text.at(row.start), text.at(row.end)))
            mask = next(spots).mask if row.fate == "mask" else ""
            if not parts:
                continue
            place = Place(name, parts[0].line)
            path, begin, stop = parts[0].path, parts[0].start, parts[0].end
            if row.fate == "mask" and not self.marks.take(name, run.keys, parts, mask):
                continue
            # Why: a value in one piece was found with the line, unless what says so came before.
            rows = self._alone if len(parts) == 1 else self.findings.rows
            rows.append(row._replace(place=place, path=path, start=begin, end=stop))
        self.findings.parts.update(found.parts)
        for value, kind in found.values.items():
            self.findings.values.setdefault(value, kind)


_OPENS: Final = frozenset({b"{", b"[", b'"'})


def _events(block: Block) -> Iterator[_Event | _Line]:
    for number, raw in enumerate(lines_of(block.data), block.line):
        yield _event(number, raw)


def _event(number: int, raw: bytes) -> _Event | _Line:
    """Return a line as an event; as a line alone where it is no JSON."""
    if raw[:1] not in _OPENS and raw.lstrip()[:1] not in _OPENS:
        return _Line(number, raw)
    try:
        return _Event(number, raw, text_of_json(raw))
    except ValueError:
        pass
    try:
        loads(raw)
    except ValueError:  # `TooDeep` as well
        return _Line(number, raw)
    return _Event(number, raw, None)


class _Gathering:
    """Lines that are no JSON, gathered so that what stands on several of them is seen whole.

    Attributes:
        next: The number of the line that goes on with them; another begins anew.
    """

    def __init__(self) -> None:
        self.next = 0
        self._lines: list[bytes] = []
        self._first = 0
        self._size = 0
        self._skip = 0

    def add(self, number: int, raw: bytes) -> _Text | None:
        """Take a line; return a text that is long enough to be looked at."""
        if not self._lines:
            self._first = number
        self.next = number + 1
        self._lines.append(raw)
        self._size += len(raw) + 1
        if self._size < TEXT_BYTES + self._skip:
            return None
        text = _Text(self._first, b"\n".join(self._lines), self._skip)
        self._keep_end()
        return text

    def _keep_end(self) -> None:
        size = count = 0
        for line in reversed(self._lines):
            # Why the last one even if it is longer: what begins in it may end in the next.
            if size + len(line) >= (TEXT_OVERLAP if count else TEXT_BYTES):
                break
            size += len(line) + 1
            count += 1
        self._first += len(self._lines) - count
        self._lines = self._lines[len(self._lines) - count :]
        self._size = self._skip = size

    def flush(self) -> _Text | None:
        """Return what is left; None: nothing, or blank lines only."""
        lines, self._lines = self._lines, []
        skip, self._skip, self._size = self._skip, 0, 0
        if len(lines) == 0 or not any(map(bytes.strip, lines)):
            return None
        text = b"\n".join(lines)
        return _Text(self._first, text, skip) if len(text) > skip else None


def _by_line(text: _Text, found: Found) -> Iterator[_Seen]:
    """Part what was found in a text among its lines, since these are masked one by one.

    What stands on several lines is masked in the first, and goes from the
    others; these are known by their numbers, since such a line alone says nothing.
    """
    lines = text.raw.split(b"\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    spots = iter(found.spots)
    for row in found.rows:
        spot = next(spots) if row.fate == "mask" else None
        pieces = _pieces(lines, starts, row)
        own = Found.none()
        index, start, end = pieces[0]
        place = row.place._replace(line=text.line + index)
        if row.end > text.skip:
            own.rows.append(row._replace(place=place, start=start, end=end))
        if spot is not None and len(pieces) == 1:
            own.spots.append(Spot(0, start, end, spot.mask))
        elif spot is not None:
            masks = [spot.mask, *("" for _ in pieces[1:])]
            for (at, first, last), mask in zip(pieces, masks, strict=True):
                where = (row.place.name, text.line + at)
                own.lines.setdefault(where, []).append(Streamed((), first, last, mask))
        if spot is not None:
            own.probes.extend(lines[at][x:y].decode("utf-8", "replace") for at, x, y in pieces)
        yield event_key(lines[index]), own
    yield b"", found._replace(rows=[], spots=[], probes=[])


def _pieces(lines: list[bytes], starts: list[int], row: Finding) -> list[tuple[int, int, int]]:
    """Return the lines that a finding in their text covers: the index, and bytes of it."""
    pieces: list[tuple[int, int, int]] = []
    index = bisect_right(starts, row.start) - 1
    while index < len(lines) and starts[index] < row.end:
        start = max(row.start - starts[index], 0)
        end = min(row.end - starts[index], len(lines[index]))
        if start < end:
            pieces.append((index, start, end))
        index += 1
    return pieces


def _stamp(raw: bytes) -> tuple[int, int] | None:
    try:
        record = loads(raw)
    except ValueError:
        return None
    if not isinstance(record, dict):
        return None
    seq, n = record.get("seq"), record.get("n")
    return (seq, n) if isinstance(seq, int) and isinstance(n, int) else None
