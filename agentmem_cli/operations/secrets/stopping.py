"""What became of the targets on which work was going on when a run was ended."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from agentmem_cli.storage.layout import REDO

if TYPE_CHECKING:
    from agentmem_cli.operations.secrets.working import Outcome, Target

State = Literal["masked", "unchanged", "unfinished"]
"""``unfinished``: it is being changed, and the next command that changes it does the rest."""


class Begun(NamedTuple):
    """A target on which work was going on."""

    target: Target
    name: str
    """What it is called, with what of that is a secret hidden."""
    state: State


class Stopped(NamedTuple):
    """What is to be told of a run that was ended."""

    outcomes: tuple[Outcome, ...] = ()
    """Of targets that were done, and are not told yet."""
    begun: tuple[Begun, ...] = ()


def files_of(target: Target) -> dict[str, int]:
    """Return which file each name of a target is now: a change gives it another one."""
    if not target.is_session:
        return _numbers([target.path])
    found = [
        os.path.join(folder, name)  # noqa: PTH118 - thousands of names
        for folder, _, names in os.walk(target.path)
        for name in names
    ]
    return _numbers(found)


def _numbers(paths: list[str]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for path in paths:
        try:
            numbers[path] = os.lstat(path).st_ino
        except OSError:
            continue
    return numbers


def state_of(target: Target, before: dict[str, int]) -> State:
    """Say what became of a target since it had the files *before*."""
    if target.is_session and os.path.lexists(os.path.join(target.path, REDO)):  # noqa: PTH118 - as above
        return "unfinished"
    now = files_of(target)
    changed = any(now.get(path, number) != number for path, number in before.items())
    return "masked" if changed else "unchanged"
