"""A conversation as a provider wants to hear it: every call followed by its result.

A transcript may hold other messages between a call and its result, a call
that nothing answered, or a result nobody asked for. What goes to a provider
holds none of these: a result is moved up behind its call, a call without one
is told as unanswered, and a result without a call is left out and counted.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.message import call_id, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.entry import Entry

UNANSWERED: Final = "[agentmem] There is no result: the call was not answered."
"""The text of the error result that stands for one that is missing."""

EMPTY: Final = "(no output)"
"""The text of a result that holds nothing: providers refuse an empty one."""


class Answered(NamedTuple):
    """A call and what answers it."""

    call: Object
    """The part of type ``toolcall``."""
    result: Object | None
    """The part of type ``toolresult``; None: nothing answers it."""
    message: Object | None = None
    """The message that the result stands in."""


class Turn(NamedTuple):
    """One message, its results with it."""

    value: Object
    """The message, images as base64."""
    parts: tuple[Object, ...]
    """Its parts but for results."""
    answered: tuple[Answered, ...] = ()
    """Its calls, in the order they are answered; those that nothing answers come last."""


class Left:
    """What an export could not say, or said in other words."""

    __slots__ = ("mended", "orphans", "parts", "system", "unanswered")

    def __init__(self) -> None:
        """Start at nothing."""
        self.unanswered = 0
        """Calls that got an error result."""
        self.orphans = 0
        """Results that answer no call; left out."""
        self.parts: Counter[str] = Counter()
        """Parts that the shape has no place for, by type; left out."""
        self.system = 0
        """System messages that became text of the user's."""
        self.mended = 0
        """Calls and contents that were put otherwise than they stood, as no provider takes them."""


_Place = tuple[int, int]
"""The index of an entry and of a part in it."""


def turns(entries: Sequence[Entry], left: Left) -> Iterator[Turn]:
    """Yield the conversation's messages, each call with its result.

    It reads the entries twice: once to see what answers what. Messages that
    hold nothing but results are not yielded.
    """
    answers, orphans = _paired(entries)
    left.orphans += orphans
    for index, entry in enumerate(entries):
        value = entry.message.value
        parts = parts_of(value)
        if value.get("role") == "assistant":
            answered = _answered(entries, index, parts, answers)
            left.unanswered += sum(each.result is None for each in answered)
            yield Turn(value, tuple(parts), answered)
            continue
        own = tuple(part for part in parts if part.get("type") != "toolresult")
        if own or not parts:
            yield Turn(value, own)


def _paired(entries: Sequence[Entry]) -> tuple[dict[_Place, _Place], int]:
    """Find what answers what.

    A result answers the first call with its id that waits. A call waits
    until the same id is called again by a later message.
    """
    waiting: dict[str, deque[_Place]] = {}
    answers: dict[_Place, _Place] = {}
    orphans = 0
    for index, entry in enumerate(entries):
        value = entry.stored.value
        again: set[str] = set()
        reply = value.get("role") == "assistant"
        for at, part in enumerate(parts_of(value)):
            kind = part.get("type")
            if reply and kind == "toolcall":
                id_ = call_id(part.get("id")) or ""
                if id_ not in again:
                    again.add(id_)
                    waiting[id_] = deque()
                waiting[id_].append((index, at))
            elif kind == "toolresult":
                calls = waiting.get(call_id(part.get("call")) or "")
                if calls:
                    answers[calls.popleft()] = (index, at)
                else:
                    orphans += 1
    return answers, orphans


def _answered(
    entries: Sequence[Entry], index: int, parts: Sequence[Object], answers: dict[_Place, _Place]
) -> tuple[Answered, ...]:
    found: list[tuple[_Place, Object]] = []
    missing: list[Object] = []
    for at, part in enumerate(parts):
        if part.get("type") == "toolcall":
            place = answers.get((index, at))
            if place is None:
                missing.append(part)
            else:
                found.append((place, part))
    found.sort(key=lambda each: each[0])
    told: list[Answered] = []
    opened: tuple[int, Object] = (-1, {})
    for (entry, at), call in found:
        if opened[0] != entry:
            opened = (entry, entries[entry].message.value)
        told.append(Answered(call, parts_of(opened[1])[at], opened[1]))
    told.extend(Answered(call, None) for call in missing)
    return tuple(told)
