"""The changes a conversation is folded from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agentmem_cli.limits import U64_MAX

if TYPE_CHECKING:
    from agentmem_cli.session.aside import Aside
    from agentmem_cli.session.author import Author
    from agentmem_cli.session.codec import JSON, Object
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


def halt_named(value: JSON) -> JSON:
    """Return a halt as it is written here; what is none stays as it is.

    The crate documents the names of its variants, not how they are written,
    so the names themselves are read too.
    """
    return _HALT_NAMES.get(value, value) if isinstance(value, str) else value


_HALT_NAMES: Final = {"Stopped": "stopped", "Kept": "kept"}


def next_ids(value: Object) -> tuple[int, int]:
    """Return the next ids of an entry and of a side record that a reset's state tells.

    The crate documents no names of these fields, so every whole number whose
    name begins with ``next`` counts: too great an id does no harm, one that
    was given before does. Where none is told both are 0.
    """
    message = aside = 0
    for key, item in value.items():
        if not key.startswith("next") or type(item) is not int or not 0 <= item <= U64_MAX:
            continue
        if "aside" in key:
            aside = max(aside, item)
        else:
            message = max(message, item)
    return message, aside


Change: TypeAlias = Push | Splice | SetHalt | SetAside | Reset


class ChangeRecord(NamedTuple):
    """A change with who made it and when."""

    change: Change
    by: Author | None
    at: int
    """Milliseconds since 1970-01-01 UTC."""
