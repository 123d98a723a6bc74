"""A log's changes in order, and how each is taken back.

A change is what one append did to a conversation: messages added, a range
replaced (an edit, a clearing, a restored place), a compaction with its side
record. A change that took another back says so by a side record of the kind
`UNDO`; one that took such a change back brings the first one back.

Source: DESIGN.md, "Undo".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agentmem_cli.session.change import Push, Reset, SetAside, SetHalt, Splice
from agentmem_cli.session.codec import loads_fast
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.entry import PlainEntry
from agentmem_cli.session.fold import LogFold
from agentmem_cli.session.lines import LINE_END, Line, odd_line, torn_line
from agentmem_cli.session.reader import open_log, reading
from agentmem_cli.session.record import decode_by
from agentmem_cli.session.source import LogSource, plain_push
from agentmem_cli.session.summaries import COMPACTED, summary_in
from agentmem_cli.session.values import Noted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.aside import Aside
    from agentmem_cli.session.author import Author
    from agentmem_cli.session.change import Change, ChangeRecord
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.storage.store import Store

UNDO: Final = "agentmem.undo"
"""The kind of the side record of a change that takes another one back: ``{"undoes": n}``."""


OURS: Final = "agentmem"
"""The plugin that undoes, restores and splices here, as the author of its records."""


class Pushed(NamedTuple):
    """Entries that were added at the end."""

    ids: tuple[int, ...]


class Spliced(NamedTuple):
    """A range that was replaced."""

    at: int
    """Where it began, from 0."""
    removed: tuple[Entry, ...]
    """What stood there just before."""
    put: tuple[int, ...]
    """The ids of what stood there then."""
    before: int | None
    """The id right before the range; None: it began the conversation."""


class AsideSet(NamedTuple):
    """A side record that was put, replaced or removed."""

    id: int
    before: Aside | None


class HaltSet(NamedTuple):
    """A halt that was set or cleared."""

    before: str | None


Step = Pushed | Spliced | AsideSet | HaltSet


class Unit:
    """One change, as it is undone: all of it together."""

    __slots__ = ("by", "last_seq", "n", "steps", "summary", "t", "undoes")

    def __init__(self, n: int, t: int, seq: int, step: Step) -> None:
        """Begin with the record at *n* and *seq*, written at *t* ms."""
        self.n = n
        """The ``n`` of its first record."""
        self.t = t
        self.last_seq = seq
        """The ``seq`` of its last record."""
        self.steps: list[Step] = [step]
        self.undoes: int | None = None
        """The ``n`` of the change that it takes back; None: it takes none back."""
        self.summary: int | None = None
        """The id of the summary that it put; None: it is no compaction."""
        self.by: Author | None = None
        """Who made it; None: it does not say."""

    @property
    def kind(self) -> str:
        """``append``, ``compaction``, ``undo``, what its author calls it, or ``splice``."""
        if self.undoes is not None:
            return "undo"
        if self.summary is not None:
            return "compaction"
        if isinstance(self.steps[0], Pushed):
            return "append"
        if self.by is not None and self.by.name in _NAMES:
            return _NAMES[self.by.name] or str(self.by.title)
        return "splice"


Noticed: TypeAlias = Unit | tuple[int, int]
"""A change; of one that added one entry, as almost all do, its ``n`` and the entry's id."""


def unit_of(noticed: Noticed) -> Unit:
    """Return a change as it is undone."""
    if isinstance(noticed, Unit):
        return noticed
    n, id_ = noticed
    return Unit(n, 0, -1, Pushed((id_,)))


_NAMES: Final = {"clearing": "clearing", OURS: None}
"""What changes are called by the plugin that made them; None: by its title."""


class Journal(Conversation):
    """A conversation that notes, while its log is folded, how each change is taken back."""

    __slots__ = ("_fold", "_units", "barrier")

    def __init__(self, fold: LogFold) -> None:
        """Note what *fold* applies until `finish`."""
        super().__init__()
        self._fold: LogFold | None = fold
        # Why pairs for plain pushes: a log has 100,000 of them.
        self._units: list[Noticed] = []
        self.barrier: int | None = None
        """The ``n`` of the last reset, which nothing goes back past; None: there was none."""

    def finish(self) -> None:
        """Stop noting: what is applied from now on is edited live."""
        self._fold = None

    def push_new(self, entry: Entry) -> None:
        """Fold a push of one new *entry* in, and note it."""
        fold = self._fold
        if fold is not None:
            self._units.append((fold.last_n, entry.id))
        # Why not by way of the other: a log has 100,000 of them.
        self.next_message = entry.id + 1
        self._entries.append(entry)
        if self._ids is not None:
            self._ids.add(entry.id)

    def push_entries(self, entries: tuple[Entry, ...]) -> None:
        """Fold a push of *entries* in, and note it."""
        super().push_entries(entries)
        fold = self._fold
        if fold is not None and entries:
            if len(entries) == 1:
                self._units.append((fold.last_n, entries[0].id))
            else:
                ids = tuple(entry.id for entry in entries)
                self._units.append(Unit(fold.last_n, fold.last_t or 0, fold.last_seq, Pushed(ids)))

    def apply(self, change: Change | ChangeRecord) -> None:
        """Fold one change in, and note it; see `Conversation.apply`."""
        fold = self._fold
        if fold is None or isinstance(change, Push):
            super().apply(change)
        elif isinstance(change, Splice):
            step, next_id = self._spliced(change), self.next_message
            super().apply(change)
            summary = summary_in(change)
            # Why: one with an older id was put back; the compaction was an earlier one.
            fresh = summary is not None and summary.id >= next_id
            self._note_splice(fold, step, summary if fresh else None)
        elif isinstance(change, SetAside):
            before = self.asides.get(change.id)
            super().apply(change)
            self._note_aside(fold, change, AsideSet(change.id, before))
        elif isinstance(change, SetHalt):
            halt = HaltSet(self.halt)
            super().apply(change)
            unit = self._joined(fold)
            if unit is not None and unit.t == fold.last_t:
                self._join(fold, unit, halt)
        else:
            super().apply(change)
            if isinstance(change, Reset):
                self._units.clear()
                self.barrier = fold.last_n

    def name_newest(self, n: int, by: Author | None) -> None:
        """Say who made the change whose first record is that at *n*, if one begins there."""
        last = self._units[-1] if self._units else None
        if isinstance(last, Unit) and last.n == n:
            last.by = by

    def units(self) -> Sequence[Noticed]:
        """Return the changes since the last reset, oldest first."""
        return self._units

    def replaced_by(self, summary: int) -> tuple[Entry, ...] | None:
        """Return what the newest compaction with this *summary* replaced; None: there is none."""
        for unit in reversed(self._units):
            if isinstance(unit, Unit) and unit.summary == summary:
                first = unit.steps[0]
                assert isinstance(first, Spliced)
                return first.removed
        return None

    def _spliced(self, change: Splice) -> Spliced:
        entries = self._entries
        from_, to = change.from_, change.to
        put = tuple(entry.id for entry in change.with_)
        before = entries[from_ - 1].id if 0 < from_ <= len(entries) else None
        return Spliced(from_, tuple(entries[from_:to]), put, before)

    def _note_splice(self, fold: LogFold, step: Spliced, summary: Entry | None) -> None:
        unit = self._joined(fold)
        if unit is not None and unit.t == fold.last_t and not step.removed:
            last = unit.steps[-1]
            # Why: what is too large for one record is put by several, side by side.
            if isinstance(last, Spliced) and last.put and step.at == last.at + len(last.put):
                unit.steps[-1] = last._replace(put=last.put + step.put)
                unit.last_seq = fold.last_seq
                return
        unit = Unit(fold.last_n, fold.last_t or 0, fold.last_seq, step)
        unit.summary = None if summary is None else summary.id
        self._units.append(unit)

    def _note_aside(self, fold: LogFold, change: SetAside, step: AsideSet) -> None:
        unit = self._joined(fold)
        if unit is None:
            return
        aside = change.aside
        if aside is not None and aside.kind == UNDO:
            value = aside.value
            undoes = value.get("undoes") if isinstance(value, dict) else None
            unit.undoes = undoes if type(undoes) is int else None
            unit.last_seq = -2  # Why: the mark ends the change; nothing joins it.
        elif (aside is not None and aside.kind == COMPACTED) or (
            step.before is not None and step.before.kind == COMPACTED and unit.summary is None
        ):
            self._join(fold, unit, step)

    def _joined(self, fold: LogFold) -> Unit | None:
        """Return the change that a record right behind it may belong to."""
        last = self._units[-1] if self._units else None
        if not isinstance(last, Unit) or last.last_seq + 1 != fold.last_seq:
            return None
        return last if isinstance(last.steps[0], Spliced) else None

    def _join(self, fold: LogFold, unit: Unit, step: Step) -> None:
        unit.steps.append(step)
        unit.last_seq = fold.last_seq


class JournalFold(LogFold):
    """A strict fold of a log into a `Journal`, with the places of chosen saved values."""

    def __init__(self, log: str, source: LogSource, prefix: str) -> None:
        """Note the saved values whose keys begin with *prefix*."""
        super().__init__(log, source, strict=True)
        self.journal = Journal(self)
        self.conversation = self.journal
        self.noted: list[Noted] = []
        """In the log's order."""
        self._prefix = prefix

    def _run_whole(self) -> None:
        """Fold every line, as `LogFold` does; entries are such that their bytes can be copied.

        An undo may put back most of a large log, which need not be decoded again then.
        """
        source, journal = self.source, self.journal
        log, size = source.log, source.log.size
        offset = 0
        for number, line in enumerate(log.lines(), 1):
            after = offset + len(line)
            if after > size or line[-1] != LINE_END:
                if offset < size:
                    self._report(torn_line(number, offset, size - offset))
                return
            push = plain_push(line)
            expected = self.last_seq + 1
            # Why so: what `fold` asks of a plain push.
            if (
                push is not None
                and push[0] == expected != 0
                and push[1] > self.last_n
                and push[3] >= journal.next_message
            ):
                self.last_seq, self.last_n, self.last_t, id_ = push
                self.records += 1
                length = len(line) - 1
                journal.push_new(PlainEntry(id_, None, None, push[2], source, offset, length, 0))
                journal.changes += 1
            else:
                self._take_line(line, number, offset, last=after == size)
            offset = after

    def _take_line(self, line: bytes, number: int, offset: int, *, last: bool) -> None:
        try:
            fields = loads_fast(line)
        except ValueError:
            fields = None
        if type(fields) is dict:
            self._take(Line(number, offset, len(line) - 1, fields))
            return
        for found in odd_line(line, number, offset, self._report, last=last):
            self._take(found)

    def _take(self, line: Line) -> None:
        super()._take(line)
        fields = line.fields
        if "by" in fields:
            self.journal.name_newest(self.last_n, decode_by(fields))
        key = fields.get("key")
        if fields.get("type") == "state" and type(key) is str and key.startswith(self._prefix):
            self.noted.append(
                Noted(key, self.last_n, self.last_t or 0, line.number, line.offset, line.length)
            )


def fold_journal(store: Store, log: str, prefix: str = "\0") -> JournalFold:
    """Fold a log strictly, noting its changes.

    Raises:
        FileNotFoundError: There is no such log.
        errors.SessionError: It does not read.
    """
    fold = JournalFold(log, LogSource(open_log(store, log), store), prefix)
    with reading(f"log {log!r}"):
        fold.run()
    fold.journal.finish()
    return fold


def read_journal(store: Store, log: str) -> Journal:
    """Return the conversation of a log with its changes; see `fold_journal`."""
    return fold_journal(store, log).journal
