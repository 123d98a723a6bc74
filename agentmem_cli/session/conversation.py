"""Conversations: what a log comes to, and the edits that are not saved yet.

Reading a log and editing a live value run through the same ``apply``, so
that folding the unsaved changes of an edited conversation over a copy of
what it was gives an equal one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.limits import U64_MAX
from agentmem_cli.session.applied import HALTS, Applied, CannotApply
from agentmem_cli.session.change import Change, ChangeRecord, Push, SetAside, SetHalt, Splice
from agentmem_cli.session.clock import now_ms
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.session.aside import Aside
    from agentmem_cli.session.author import Author

BEGUN = 0
"""The lineage of a conversation begun from nothing and never saved."""

DETACHED = U64_MAX
"""The lineage of a conversation that continues no log."""


class Conversation(Applied):
    """Entries, side records and a halt, with the changes that are not saved yet.

    Two conversations are equal when their entries (message, id, author),
    saved asides and halt are; times, lineage and unsaved changes do not count.

    Source: DESIGN.md, "Reading is a fold".
    """

    __slots__ = ("_unsaved", "changes", "lineage")

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        """Begin from nothing, then push *messages* if there are any."""
        super().__init__()
        self._unsaved: list[ChangeRecord] = []
        self.lineage = BEGUN
        """Which log this value continues (unsigned 64 bits), `BEGUN` or `DETACHED`."""
        self.changes = 0
        """How many changes of its log it holds, unsaved ones not counted."""
        pushed = list(messages)
        if pushed:
            self.extend(pushed)

    @property
    def unsaved(self) -> tuple[ChangeRecord, ...]:
        """The changes made since it was read or saved."""
        return tuple(self._unsaved)

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
        return self._splice(from_, to, list(entries), by, at)

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
            Its id. An aside with ``saved`` false makes no change, but for the
            removal of a saved one that it replaces.
        """
        id_ = self.next_aside if id_ is None else id_
        change = SetAside(id_, aside)
        if aside.saved:
            self._make(change, by, now_ms() if at is None else at)
        else:
            self.remove_aside(id_, by=by, at=at)
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

    def copy(self) -> Conversation:
        """Return an independent copy; entries are shared, since they never change."""
        made = Conversation()
        made._entries = list(self._entries)
        made._unsaved = list(self._unsaved)
        made.asides = dict(self.asides)
        for name in ("halt", "lineage", "changes", "next_message", "next_aside"):
            setattr(made, name, getattr(self, name))
        return made

    def _make(self, change: Change, by: Author | None, at: int) -> None:
        self.apply(change)
        self._unsaved.append(ChangeRecord(change, by, at))

    def _new(self, item: Entry | Message) -> Entry | Message:
        return item.copy(None) if isinstance(item, Entry) else item

    def _splice(
        self,
        from_: int,
        to: int,
        items: list[Entry] | list[Entry | Message],
        by: Author | None,
        at: int,
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


__all__ = ["BEGUN", "DETACHED", "HALTS", "CannotApply", "Conversation"]
