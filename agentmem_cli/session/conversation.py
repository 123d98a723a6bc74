"""The fold: a conversation is its changes applied in order.

Reading a log and editing a live value run through the same ``apply``, so
that folding the unsaved changes of an edited conversation over a copy of
what it was gives an equal one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.limits import U64_MAX
from agentmem_cli.session.change import (
    Change,
    ChangeRecord,
    Push,
    Reset,
    SetAside,
    SetHalt,
    Splice,
    State,
)
from agentmem_cli.session.clock import now_ms
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.session.aside import Aside
    from agentmem_cli.session.author import Author

BEGUN = 0
"""The lineage of a conversation begun from nothing and never saved."""

DETACHED = U64_MAX
"""The lineage of a conversation that continues no log."""

HALTS = ("stopped", "kept")
"""What a halt can be."""


class CannotApply(ValueError):
    """A change does not fit the conversation it is applied to."""


class Conversation:
    """Entries, side records and a halt, with the changes that are not saved yet.

    Two conversations are equal when their entries (message, id, author),
    saved asides and halt are; times, lineage and unsaved changes do not count.

    Source: DESIGN.md, "Reading is a fold".
    """

    __slots__ = (
        "_entries",
        "_ids",
        "_unsaved",
        "asides",
        "changes",
        "halt",
        "lineage",
        "next_aside",
        "next_message",
    )

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        """Begin from nothing, then push *messages* if there are any."""
        self._entries: list[Entry] = []
        self._ids: set[int] | None = None
        self._unsaved: list[ChangeRecord] = []
        self.asides: dict[int, Aside] = {}
        """The side records by id, in the order they were put. Change them by `put_aside`."""
        self.halt: str | None = None
        """Why the last user message stays unanswered. Change it by `set_halt`."""
        self.lineage = BEGUN
        """Which log this value continues (unsigned 64 bits), `BEGUN` or `DETACHED`."""
        self.changes = 0
        """How many changes of its log it holds, unsaved ones not counted."""
        self.next_message = 0
        """The id that the next new entry gets."""
        self.next_aside = 0
        """The id that the next new aside gets."""
        pushed = list(messages)
        if pushed:
            self.extend(pushed)

    @property
    def entries(self) -> list[Entry]:
        """The entries in order. Not to be changed in place: use `push` and `splice`."""
        return self._entries

    @property
    def messages(self) -> list[Message]:
        """The messages in order, each decoded anew."""
        return [entry.message for entry in self._entries]

    @property
    def unsaved(self) -> tuple[ChangeRecord, ...]:
        """The changes made since it was read or saved."""
        return tuple(self._unsaved)

    def __len__(self) -> int:
        return len(self._entries)

    def index_of(self, id_: int) -> int | None:
        """Return where the entry with the id *id_* stands, counted from 0; None: nowhere."""
        for index, entry in enumerate(self._entries):
            if entry.id == id_:
                return index
        return None

    def push(
        self,
        message: Message,
        author: Author | None = None,
        *,
        by: Author | None = None,
        at: int | None = None,
    ) -> int:
        """Add *message* at the end.

        Args:
            message: What is added.
            author: Who wrote it; None: the user typed it, or the model replied.
            by: Who makes the change; None: nobody in particular.
            at: When, in ms since 1970-01-01 UTC; None: now.

        Returns:
            The new entry's id.
        """
        at = now_ms() if at is None else at
        self._make(Push((Entry(self.next_message, message, author, at),)), by, at)
        return self._entries[-1].id

    def extend(
        self, messages: Iterable[Message], *, by: Author | None = None, at: int | None = None
    ) -> list[int]:
        """Add *messages* at the end as one change; return their ids."""
        at = now_ms() if at is None else at
        entries = tuple(
            Entry(self.next_message + index, message, None, at)
            for index, message in enumerate(messages)
        )
        if entries:
            self._make(Push(entries), by, at)
        return [entry.id for entry in entries]

    def splice(
        self,
        from_: int,
        to: int,
        with_: Iterable[Entry | Message] = (),
        *,
        by: Author | None = None,
        at: int | None = None,
    ) -> list[Entry]:
        """Replace the entries *from_* up to *to* (half-open, from 0) by *with_*.

        A message becomes a new entry. An entry keeps its id and author: where
        its id is among those replaced, it is that message edited.

        Returns:
            The entries that were replaced.

        Raises:
            CannotApply: The range is outside the conversation, or an id would
                stand twice. Nothing changed.
        """
        at = now_ms() if at is None else at
        return self._splice(from_, to, [self._new(item) for item in with_], by, at)

    def restore(
        self,
        from_: int,
        to: int,
        entries: Iterable[Entry],
        *,
        by: Author | None = None,
        at: int | None = None,
    ) -> list[Entry]:
        """Replace as `splice` does, by *entries* put back as they were, made times and all."""
        at = now_ms() if at is None else at
        return self._splice(from_, to, [entry.copy(entry.made) for entry in entries], by, at)

    def set_halt(
        self, halt: str | None, *, by: Author | None = None, at: int | None = None
    ) -> None:
        """Say why the last user message stays unanswered (one of `HALTS`), or clear it."""
        if halt != self.halt:
            self._make(SetHalt(halt), by, now_ms() if at is None else at)

    def put_aside(
        self,
        aside: Aside,
        id_: int | None = None,
        *,
        by: Author | None = None,
        at: int | None = None,
    ) -> int:
        """Put a side record; with *id_* it replaces the one with that id.

        Returns:
            Its id. An aside with ``saved`` false makes no change.
        """
        id_ = self.next_aside if id_ is None else id_
        change = SetAside(id_, aside)
        if aside.saved:
            self._make(change, by, now_ms() if at is None else at)
        else:
            self.apply(change)
        return id_

    def remove_aside(self, id_: int, *, by: Author | None = None, at: int | None = None) -> None:
        """Remove the side record *id_*; an absent one is fine."""
        aside = self.asides.get(id_)
        if aside is None:
            return
        change = SetAside(id_, None)
        if aside.saved:
            self._make(change, by, now_ms() if at is None else at)
        else:
            self.apply(change)

    def normalize(self, *, by: Author | None = None, at: int | None = None) -> bool:
        """Mend what a provider would refuse, as one splice; return whether anything changed.

        Replies that stand side by side and can be one are merged, results
        nobody asked for go, calls nothing answered get a result that says so.

        Source: `agentmem_cli.session.pairing.normalize`.
        """
        from agentmem_cli.session.pairing import normalize

        at = now_ms() if at is None else at
        mended = normalize(self._entries, self.next_message)
        if mended is None:
            return False
        from_, to, entries = mended
        self._splice(from_, to, [entry.copy(entry.made or at) for entry in entries], by, at)
        return True

    def take_unsaved(self) -> list[ChangeRecord]:
        """Return the unsaved changes and count them as saved."""
        taken = self._unsaved
        self._unsaved = []
        self.changes += len(taken)
        return taken

    def continues(self, lineage: int, changes: int) -> bool:
        """Whether this value goes on from a log of that *lineage* that holds *changes* changes."""
        return self.lineage == lineage and self.changes == changes

    def state(self) -> State:
        """Return all of it as a reset would hold it; unsaved asides are left out."""
        return State(
            tuple(self._entries),
            {id_: aside for id_, aside in self.asides.items() if aside.saved},
            self.halt,
            self.next_message,
            self.next_aside,
        )

    def copy(self) -> Conversation:
        """Return an independent copy; entries are shared, since they never change."""
        made = Conversation()
        made._entries = list(self._entries)
        made._unsaved = list(self._unsaved)
        made.asides = dict(self.asides)
        for name in ("halt", "lineage", "changes", "next_message", "next_aside"):
            setattr(made, name, getattr(self, name))
        return made

    def asides_after(self) -> dict[int | None, list[tuple[int, Aside]]]:
        """Return the side records by the entry they stand after now.

        Returns:
            Entry ids (None: before the first) with (aside id, aside) in order.
            While an aside's entry is out, it stands after the nearest earlier
            entry that is still there.
        """
        placed: dict[int | None, list[tuple[int, Aside]]] = {}
        if not self.asides:
            return placed
        import bisect

        standing = sorted(entry.id for entry in self._entries)
        for id_, aside in self.asides.items():
            after: int | None = None
            if aside.after is not None:
                place = bisect.bisect_right(standing, aside.after)
                after = standing[place - 1] if place else None
            placed.setdefault(after, []).append((id_, aside))
        return placed

    def apply(self, change: Change | ChangeRecord) -> None:
        """Fold one change in; it does not become an unsaved one.

        Raises:
            CannotApply: It does not fit. Nothing changed.
        """
        if isinstance(change, ChangeRecord):
            change = change.change
        if type(change) is Push:
            self._apply_push(change)
        elif type(change) is Splice:
            self._apply_splice(change)
        elif type(change) is SetAside:
            self._apply_aside(change)
        elif type(change) is SetHalt:
            self._apply_halt(change)
        else:
            assert type(change) is Reset
            self._apply_reset(change)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Conversation):
            return NotImplemented
        return (
            self.halt == other.halt
            and len(self._entries) == len(other._entries)
            and self._saved_asides() == other._saved_asides()
            and self._entries == other._entries
        )

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __repr__(self) -> str:
        return f"Conversation({len(self._entries)} entries, {len(self.asides)} asides)"

    def _saved_asides(self) -> dict[int, Aside]:
        return {id_: aside for id_, aside in self.asides.items() if aside.saved}

    def _make(self, change: Change, by: Author | None, at: int) -> None:
        self.apply(change)
        self._unsaved.append(ChangeRecord(change, by, at))

    def _new(self, item: Entry | Message) -> Entry | Message:
        return item.copy(None) if isinstance(item, Entry) else item

    def _splice(
        self, from_: int, to: int, items: list[Entry] | list[Entry | Message],
        by: Author | None, at: int,
    ) -> list[Entry]:
        if not 0 <= from_ <= to <= len(self._entries):
            msg = f"the range {from_}:{to} is outside the {len(self._entries)} entries"
            raise CannotApply(msg)
        removed = self._entries[from_:to]
        entries: list[Entry] = []
        next_id = self.next_message
        for item in items:
            if isinstance(item, Message):
                entries.append(Entry(next_id, item, None, at))
                next_id += 1
            else:
                entries.append(item if item.made is not None else item.copy(at))
                next_id = max(next_id, item.id + 1)
        if removed or entries:
            ids = tuple(entry.id for entry in removed)
            self._make(Splice(from_, to, ids, tuple(entries)), by, at)
        return removed

    def _apply_push(self, change: Push) -> None:
        entries = change.entries
        next_id = self.next_message
        for entry in entries:
            id_ = entry.id
            if id_ < next_id and id_ in self._standing():
                msg = f"the id {id_} stands already"
                raise CannotApply(msg)
            if id_ >= next_id:
                next_id = id_ + 1
        if len(entries) > 1:
            _check_distinct(entries)
        self.next_message = next_id
        self._entries.extend(entries)
        if self._ids is not None:
            self._ids.update(entry.id for entry in entries)

    def _apply_splice(self, change: Splice) -> None:
        from_, to, removed, with_ = change
        there = self._entries[from_:to]
        if to > len(self._entries) or from_ > to or len(there) != len(removed):
            msg = f"the range {from_}:{to} is outside the {len(self._entries)} entries"
            raise CannotApply(msg)
        for entry, id_ in zip(there, removed, strict=True):
            if entry.id != id_:
                msg = f"the entry {id_} does not stand in the range {from_}:{to}"
                raise CannotApply(msg)
        _check_distinct(with_)
        gone = set(removed)
        next_id = self.next_message
        for entry in with_:
            if entry.id not in gone and entry.id < next_id and entry.id in self._standing():
                msg = f"the id {entry.id} stands already"
                raise CannotApply(msg)
        self._entries[from_:to] = with_
        if self._ids is not None:
            self._ids.difference_update(gone)
            self._ids.update(entry.id for entry in with_)
        self.next_message = max(next_id, *(entry.id + 1 for entry in with_)) if with_ else next_id

    def _apply_aside(self, change: SetAside) -> None:
        if change.aside is None:
            self.asides.pop(change.id, None)
        else:
            self.asides[change.id] = change.aside
        self.next_aside = max(self.next_aside, change.id + 1)

    def _apply_halt(self, change: SetHalt) -> None:
        if change.halt is not None and change.halt not in HALTS:
            msg = f"no such halt: {change.halt!r}"
            raise CannotApply(msg)
        self.halt = change.halt

    def _apply_reset(self, change: Reset) -> None:
        state = change.state
        _check_distinct(state.entries)
        if state.halt is not None and state.halt not in HALTS:
            msg = f"no such halt: {state.halt!r}"
            raise CannotApply(msg)
        self._entries = list(state.entries)
        self._ids = None
        self.asides = dict(state.asides)
        self.halt = state.halt
        least = max((entry.id + 1 for entry in state.entries), default=0)
        self.next_message = max(state.next_message, least)
        self.next_aside = max(state.next_aside, max(state.asides, default=-1) + 1)

    def _standing(self) -> set[int]:
        # Why: ids come in growing order almost always, so the set is rarely needed.
        if self._ids is None:
            self._ids = {entry.id for entry in self._entries}
        return self._ids


def _check_distinct(entries: tuple[Entry, ...]) -> None:
    if len({entry.id for entry in entries}) != len(entries):
        msg = "an id stands twice in one record"
        raise CannotApply(msg)
