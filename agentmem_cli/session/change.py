"""The changes a conversation is folded from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from agentmem_cli.session.aside import Aside
    from agentmem_cli.session.author import Author
    from agentmem_cli.session.entry import Entry


class Push(NamedTuple):
    """Entries added at the end."""

    entries: tuple[Entry, ...]


class Splice(NamedTuple):
    """The entries ``from_`` up to ``to`` (half-open, counted from 0) replaced by ``with_``.

    It applies only where exactly the ids of ``removed`` stand.
    """

    from_: int
    to: int
    removed: tuple[int, ...]
    with_: tuple[Entry, ...]


class SetHalt(NamedTuple):
    """Why the last user message stays unanswered: ``stopped``, ``kept``, or None (cleared)."""

    halt: str | None


class SetAside(NamedTuple):
    """The side record ``id`` put or replaced, or removed by None."""

    id: int
    aside: Aside | None


@dataclass(frozen=True, slots=True)
class State:
    """A whole conversation, as a reset holds it."""

    entries: tuple[Entry, ...] = ()
    asides: dict[int, Aside] = field(default_factory=dict)
    halt: str | None = None
    next_message: int = 0
    """The id that the next new entry gets."""
    next_aside: int = 0
    """The id that the next new aside gets."""


class Reset(NamedTuple):
    """The whole conversation replaced."""

    state: State


Change: TypeAlias = Push | Splice | SetHalt | SetAside | Reset


class ChangeRecord(NamedTuple):
    """A change with who made it and when."""

    change: Change
    by: Author | None
    at: int
    """Milliseconds since 1970-01-01 UTC."""
