"""Which changes stand, and taking one back.

Source: DESIGN.md, "Undo".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.journal import (
    OURS,
    AsideSet,
    HaltSet,
    Pushed,
    Spliced,
    Unit,
    unit_of,
)
from agentmem_cli.session.refusals import Moved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.author import Author
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.journal import Noticed

PART_BYTES: Final = 8 << 20
"""Bytes of entries that one splice puts back; more of them are put back by several."""


class Changes(NamedTuple):
    """Which changes stand, and which were taken back."""

    done: dict[int, Noticed]
    """Those that stand, by their ``n``."""
    undos: dict[int, tuple[Unit, Unit]]
    """Those that took one back and were not taken back, with the one they took back."""


def resolve(units: Sequence[Noticed]) -> Changes:
    """Follow *units* in order: what each undo took back, and what brought it back."""
    done: dict[int, Noticed] = {}
    undos: dict[int, tuple[Unit, Unit]] = {}
    for unit in units:
        if not isinstance(unit, Unit):
            done[unit[0]] = unit
            continue
        undoes = unit.undoes
        if undoes is None and isinstance(unit.steps[0], Spliced):
            undoes = _uncompacted(unit, unit.steps[0], done)
        if undoes is None:
            done[unit.n] = unit
        elif undoes in done:
            undos[unit.n] = (unit, unit_of(done.pop(undoes)))
        elif undoes in undos:
            _, first = undos.pop(undoes)
            done[first.n] = first
        else:
            done[unit.n] = unit
    return Changes(done, undos)


def _uncompacted(unit: Unit, step: Spliced, done: dict[int, Noticed]) -> int | None:
    """Return the compaction that *unit* took back without saying so, as the crate does it."""
    if len(step.removed) != 1 or unit.summary is not None or len(unit.steps) == 1:
        return None
    if unit.by is not None and unit.by.name == OURS:
        return None  # Why: ours say so; a restored place is a change of its own.
    summary = step.removed[0].id
    for n, earlier in reversed(done.items()):
        if not isinstance(earlier, Unit) or earlier.summary != summary:
            continue
        first = earlier.steps[0]
        if isinstance(first, Spliced):
            same = tuple(entry.id for entry in first.removed) == step.put
            return n if same else None
    return None


def take_back(
    conversation: Conversation, unit: Unit, *, by: Author | None = None, at: int | None = None
) -> None:
    """Make *conversation* what it was before *unit*, as far as that change reached.

    Raises:
        Moved: What it put does not stand as it put it.
    """
    first, *rest = unit.steps
    # Why the messages first: side records belong to the splice that they follow.
    for step in (first, *reversed(rest)):
        match step:
            case Pushed():
                place = _find(conversation, unit.n, step.ids)
                conversation.restore(place, place + len(step.ids), (), by=by, at=at)
            case Spliced():
                place = (
                    _find(conversation, unit.n, step.put)
                    if step.put
                    else _gap(conversation, unit.n, step)
                )
                end = place + len(step.put)
                restore_in_parts(conversation, place, end, step.removed, by=by, at=at)
            case AsideSet():
                if step.before is None:
                    conversation.remove_aside(step.id, by=by, at=at)
                else:
                    conversation.put_aside(step.before, step.id, by=by, at=at)
            case HaltSet():
                conversation.set_halt(step.before, by=by, at=at)


def restore_in_parts(
    conversation: Conversation,
    from_: int,
    to: int,
    entries: Sequence[Entry],
    *,
    by: Author | None = None,
    at: int | None = None,
) -> None:
    """Put *entries* back where the range stands, as `Conversation.restore` does.

    It is one splice; more than `PART_BYTES` go in several, side by side, so
    that no record is too large to be read in little memory.
    """
    part: list[Entry] = []
    size, seen = 0, -1
    for entry in entries:
        located = entry.located()
        offset, length = (-1, len(entry.stored.raw)) if located is None else located
        if located is None or offset != seen:
            size += length
            seen = offset
        if part and size > PART_BYTES:
            conversation.restore(from_, to, part, by=by, at=at)
            from_ = to = from_ + len(part)
            part, size = [], length
        part.append(entry)
    conversation.restore(from_, to, part, by=by, at=at)


def _find(conversation: Conversation, n: int, ids: Sequence[int]) -> int:
    entries = conversation.entries
    # Why from the end: what is taken back was mostly put there last.
    for place in range(len(entries) - len(ids), -1, -1):
        if entries[place].id == ids[0]:
            if all(entries[place + i].id == id_ for i, id_ in enumerate(ids)):
                return place
            break
    told = f"message {ids[0]}" if len(ids) == 1 else f"messages {ids[0]} to {ids[-1]}"
    raise Moved(n, f"{told} do not stand as it put them")


def _gap(conversation: Conversation, n: int, step: Spliced) -> int:
    """Return where a range was taken out and nothing was put."""
    if step.before is None:
        return 0
    place = conversation.index_of(step.before)
    if place is None:
        raise Moved(n, f"message {step.before}, which it took others out behind, is gone")
    return place + 1
