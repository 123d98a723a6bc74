"""Changes applied in order: the one fold, for reading a log and for live edits alike.

Source: DESIGN.md, "Reading is a fold".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.aside import Aside
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.message import Message

HALTS = ("stopped", "kept")
"""What a halt can be."""


class CannotApply(ValueError):
    """A change does not fit the conversation it is applied to."""


class Applied:
    """What the changes so far come to: entries, side records and a halt."""

    __slots__ = ("_entries", "_ids", "asides", "halt", "next_aside", "next_message")

    def __init__(self) -> None:
        """Begin from nothing."""
        self._entries: list[Entry] = []
        self._ids: set[int] | None = None
        self.asides: dict[int, Aside] = {}
        """The side records by id, in the order they were put. Change them by `put_aside`."""
        self.halt: str | None = None
        """Why the last user message stays unanswered. Change it by `set_halt`."""
        self.next_message = 0
        """The id that the next new entry gets."""
        self.next_aside = 0
        """The id that the next new aside gets."""

    @property
    def entries(self) -> list[Entry]:
        """The entries in order. Not to be changed in place: use `push` and `splice`."""
        return self._entries

    @property
    def messages(self) -> list[Message]:
        """The messages in order, each decoded anew."""
        return [entry.message for entry in self._entries]

    def __len__(self) -> int:
        return len(self._entries)

    def index_of(self, id_: int) -> int | None:
        """Return where the entry with the id *id_* stands, counted from 0; None: nowhere."""
        for index, entry in enumerate(self._entries):
            if entry.id == id_:
                return index
        return None

    def state(self) -> State:
        """Return all of it as a reset would hold it; unsaved asides are left out."""
        return State(
            tuple(self._entries),
            {id_: aside for id_, aside in self.asides.items() if aside.saved},
            self.halt,
            self.next_message,
            self.next_aside,
        )

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
            self.push_entries(change.entries)
        elif type(change) is Splice:
            self._apply_splice(change)
        elif type(change) is SetAside:
            self._apply_aside(change)
        elif type(change) is SetHalt:
            self._apply_halt(change)
        else:
            assert type(change) is Reset
            self._apply_reset(change)

    def push_entries(self, entries: tuple[Entry, ...]) -> None:
        """Fold a push of *entries* in, as `apply` does.

        Raises:
            CannotApply: An id stands already. Nothing changed.
        """
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

    def push_new(self, entry: Entry) -> None:
        """Fold a push of one *entry* in whose id is new: ``next_message`` or a greater one."""
        self.next_message = entry.id + 1
        self._entries.append(entry)
        if self._ids is not None:
            self._ids.add(entry.id)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Applied):
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
        return f"{type(self).__name__}({len(self._entries)} entries, {len(self.asides)} asides)"

    def _saved_asides(self) -> dict[int, Aside]:
        return {id_: aside for id_, aside in self.asides.items() if aside.saved}

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
