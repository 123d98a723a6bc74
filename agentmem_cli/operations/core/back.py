"""Taking changes of core memory back: which of them, and what that makes of the values.

An undo leaves what is read-only as it is, and neither makes nor lifts a
protection: only `protect` and `unprotect` do. So changes that it may not take
are passed by, and older ones go.

Source: DESIGN.md, "Core memory on a session".
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from agentmem_cli.errors import NotFoundError
from agentmem_cli.operations.core.changing import Wish
from agentmem_cli.operations.core.history import standing, takable
from agentmem_cli.operations.core.planning import Raw
from agentmem_cli.operations.core.refusals import BlockProtected
from agentmem_cli.session.core_values import CONFIG, is_usable, key_of, type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.operations.core.history import Edit, Version
    from agentmem_cli.operations.core.planning import Wanted
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.core_values import CoreValues, StoredBlock


def guarded_keys(values: CoreValues) -> set[str]:
    """Return the keys of the blocks that are read-only."""
    return {key_of(kind) for kind, stored in values.blocks.items() if stored.read_only}


def newest(past: Sequence[Edit], values: CoreValues, steps: int) -> list[Edit]:
    """Return the changes that an undo of *steps* takes back, the newest first.

    Raises:
        BlockProtected: There are so many only with changes of what is read-only.
        NotFoundError: There are not so many.
    """
    live = standing(past)
    guarded = guarded_keys(values)
    found = list(islice(takable(live, guarded), steps))
    if len(found) == steps:
        return found
    held = held_back(live, guarded)
    if held and len(found) + len(held) >= steps:
        raise protected_by(values, held)
    told = f"{len(found)} change{'s' if len(found) != 1 else ''} of core memory"
    msg = f"{told} can be undone, not {steps}" if found else "there is nothing to undo"
    raise NotFoundError(msg, hint="agentmem core history SESSION shows them.")


def held_back(live: Sequence[Edit], guarded: set[str]) -> list[Edit]:
    """Return the changes that stand and that an undo passes by, but for protections."""
    going = {each.n for each in takable(live, guarded)}
    return [each for each in live if each.n not in going and not each.protects]


def protected_by(values: CoreValues, held: Sequence[Edit]) -> BlockProtected:
    """Return the error that names the read-only blocks that keep changes from going."""
    keys = {key for each in held for key in each.keys}
    guarded = guarded_keys(values)
    named = [kind for kind in values.blocks if key_of(kind) in guarded & keys]
    return BlockProtected(named)


def passed_by(past: Sequence[Edit], taken: Sequence[Edit]) -> list[Edit]:
    """Return the changes that stand and are newer than the oldest of *taken*, the newest first."""
    numbers = {each.n for each in taken}
    oldest = min(numbers)
    return [each for each in reversed(standing(past)) if each.n > oldest and each.n not in numbers]


def as_before(taken: Sequence[Edit], now: CoreValues) -> Wish:
    """Return what makes core memory what it was before changes.

    Whether a block is read-only stays as it is. What was no block comes back
    byte for byte.

    Args:
        taken: The changes that are taken back, in any order; each value
            becomes what it was before the oldest of those that put it.
        now: Core memory as it stands.
    """
    blocks: Wanted = {}
    config: dict[str, JSON] | None = None
    others: dict[str, Raw | None] = {}
    oldest: dict[str, Version] = {}
    for edit in sorted(taken, key=lambda each: each.n):
        for version in edit.versions:
            oldest.setdefault(version.key, version)
    for key, version in oldest.items():
        kind, value = type_of(key), version.before
        if kind is not None and (value is None or version.old is not None):
            blocks[kind] = _kept(version.old, now.blocks.get(kind))
        elif key == CONFIG and value is None:
            config = {}
        elif key == CONFIG and isinstance(value, dict) and is_usable(key, value):
            config = value
        else:
            others[key] = None if value is None else Raw(value, version.raw)
    n = min(each.n for each in taken)
    return Wish(blocks, config=config, undoes=n, others=others)


def _kept(old: StoredBlock | None, now: StoredBlock | None) -> StoredBlock | None:
    """Return a block as it was, but for whether it is read-only."""
    if old is None or now is None:
        return old
    return old._replace(read_only=now.read_only)
