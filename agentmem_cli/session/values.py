"""A log followed for some of its saved values, each with its stamp, decoded when asked for."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import is_exact, loads_fast, members
from agentmem_cli.session.fold import BAD_RECORD, LogFold
from agentmem_cli.session.lines import scan

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.lines import Line
    from agentmem_cli.session.source import LogSource


class Noted(NamedTuple):
    """Where a log says a saved value."""

    key: str
    n: int
    t: int
    """When it was written, ms since 1970-01-01 UTC."""
    line: int
    """The line it stands in, counted from 1."""
    offset: int
    """Where it begins, in bytes."""
    length: int
    """Its bytes, without the line's end."""


# Why: a NamedTuple's own constructor is a Python function, and this is done for every record.
_made = tuple.__new__


class ValuesFold(LogFold):
    """A fold that looks at stamps, and at saved values whose keys begin alike.

    It is lenient, and applies no change of the conversation: that is what
    makes it about as fast as parsing the lines. ``saved`` stays empty; the
    values are decoded by `value` or `newest`.
    """

    def __init__(self, log: str, source: LogSource, prefix: str) -> None:
        """Note the saved values of *log* whose keys begin with *prefix*."""
        super().__init__(log, source, strict=False)
        self.noted: list[Noted] = []
        """In the log's order."""
        self._prefix = prefix

    def _run_whole(self) -> None:
        for line in scan(self.source.log, self._report):
            self._take(line)

    def _take(self, line: Line) -> None:
        number, offset, length, fields = line
        seq, n, t = fields.get("seq"), fields.get("n"), fields.get("t")
        if type(seq) is not int or type(n) is not int or type(t) is not int:
            self._fault(line, BAD_RECORD, "a record without a stamp (seq, n and t)")
            return
        if seq != self.last_seq + 1 or n <= self.last_n:
            self._check_stamp(line, seq, n)
            n = max(self.last_n, n)
        self.last_seq = seq
        self.last_n = n
        self.last_t = t
        self.records += 1
        if fields.get("type") == "state":
            key = fields.get("key")
            if type(key) is str and key.startswith(self._prefix):
                self.noted.append(_made(Noted, (key, n, t, number, offset, length)))
        elif self.records == 1:
            self._take_header(line, n, t)

    def value(self, noted: Noted) -> JSON:
        """Return a saved value, decoded exactly; None: it removes the one before."""
        # Why: ids and times of blocks look inexact to `loads`, which costs five times as much.
        with suppress(ValueError):
            fields = loads_fast(self.source.log.read_at(noted.offset, noted.length))
            if isinstance(fields, dict) and is_exact(value := fields.get("value")):
                return value
        return self.source.exact(noted.offset, noted.length).get("value")

    def raw(self, noted: Noted) -> bytes | None:
        """Return the JSON of a saved value as the log has it; None: its line is no UTF-8."""
        try:
            text = self.source.log.read_at(noted.offset, noted.length).decode()
        except UnicodeDecodeError:
            return None
        start, end = members(text)["value"]
        return text[start:end].encode()

    def author(self, noted: Noted) -> str | None:
        """Return whom a record names as who wrote it; None: nobody."""
        by = self.source.exact(noted.offset, noted.length).get("by")
        try:
            author = None if by is None else Author.of(by)
        except ValueError:
            return None
        if author is None:
            return None
        names = (author.title, author.from_, author.name)
        return next(each for each in names if isinstance(each, str))

    def newest(self) -> dict[str, JSON]:
        """Return the values as they stand where the fold ended, by key."""
        last = {noted.key: noted for noted in self.noted}
        values = {key: self.value(noted) for key, noted in last.items()}
        return {key: value for key, value in values.items() if value is not None}
