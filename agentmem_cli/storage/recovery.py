"""Finishing what a crash left undone, or taking it back (see `extending`).

Every step of a redo file is looked at before any is made: it waits (``todo``), is done by half
(``partial``), is ``done``, or something stands at its target that is neither the old nor the
new (``foreign``): then another program wrote meanwhile and nothing is forced.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import ConflictError
from agentmem_cli.storage import extending, redo, sweeping
from agentmem_cli.storage.layout import split
from agentmem_cli.storage.streams import is_start_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.storage.files import Folder


def finish(root: Folder, live: set[str]) -> list[redo.Step]:
    """Finish what a redo file in *root* says, or drop it where nothing was begun.

    Only for the holder of the session's lock. Part files that remain are
    removed, too, but for those named in *live*: some hold old bytes.

    Returns:
        The steps whose targets were looked at; empty where the change was dropped.

    Raises:
        ConflictError: Another program changed a file meanwhile; nothing was forced.
        OSError: The system refused; a later try goes on.
    """
    found = redo.read(root)
    made: list[redo.Step] = []
    if found is not None and found.steps and found.steps[0].kind == extending.KIND:
        if extending.take_back(root, found.steps[0], found.key):
            made.extend(found.steps)
    elif found is not None:
        states = [_state(root, step, found.key) for step in found.steps]
        if "foreign" not in states:
            pairs = list(zip(found.steps, states, strict=True))
            for step in [step for step, state in pairs if state == "partial"]:
                _cut_back(root, step)
            redo.apply(root, [step for step, state in pairs if state != "done"], [])
            made.extend(found.steps)
            _sync_folders(root, found.steps)
        elif any(state in {"done", "partial"} for state in states):
            raise _conflict(root, found.steps[states.index("foreign")])
    sweeping.sweep(root, live, strictly=True)
    redo.disarm(root)
    return made


class Outcome(NamedTuple):
    """What finishing a redo file, or taking it back, does to one file."""

    step: redo.Step
    keep: int
    """Bytes of it that stay; all of the part come after them."""
    aside: tuple[int, int] | None = None
    """The bytes from the first place to the second that are set aside before."""


class Outlook(NamedTuple):
    """What becomes of a redo file."""

    kind: str
    """`WHOLE`: `finish` finishes it, or takes it back. `NOT_WHOLE`: it does not say what was to
    be done. `FOREIGN`: another program wrote meanwhile."""
    changes: tuple[Outcome, ...] = ()
    """What `finish` does, in its order."""
    conflict: ConflictError | None = None
    """Why `finish` forces nothing; None: it drops what it does not do."""


def outlook(root: Folder) -> Outlook:
    """Return what becomes of a redo file in *root*; nothing is changed.

    Raises:
        FileNotFoundError: There is none.
        ConflictError: It is of another format.
        OSError: The system refused.
    """
    found = redo.read(root)
    if found is None:
        return Outlook(NOT_WHOLE)
    if found.steps and found.steps[0].kind == extending.KIND:
        (step,) = found.steps
        try:
            added = extending.added(root, step, found.key)
        except ConflictError as error:
            return Outlook(FOREIGN, (), error)
        if added is None:
            return Outlook(WHOLE)
        aside = None if added.is_told else (step.keep, added.size)
        return Outlook(WHOLE, (Outcome(step, step.keep, aside),))
    states = [_state(root, step, found.key) for step in found.steps]
    if "foreign" in states:
        begun = not {"done", "partial"}.isdisjoint(states)
        step = found.steps[states.index("foreign")]
        return Outlook(FOREIGN, (), _conflict(root, step) if begun else None)
    pairs = zip(found.steps, states, strict=True)
    changes = tuple(Outcome(step, step.keep) for step, state in pairs if state != "done")
    return Outlook(WHOLE, changes)


_ODD = {errno.ELOOP, errno.EINVAL}
"""What is said of a link, a folder or a pipe in the place of a file."""

WHOLE = "whole"
NOT_WHOLE = "not-whole"
FOREIGN = "foreign"


def _cut_back(root: Folder, step: redo.Step) -> None:
    folders, name = split(step.target)
    with root.walk(folders) as folder:
        folder.cut(name, step.keep)


def _sync_folders(root: Folder, steps: Iterable[redo.Step]) -> None:
    # What a crashed program renamed may not have reached the disk yet.
    for folders in dict.fromkeys(split(step.target)[0] for step in steps):
        # Why: what was to be removed may be gone with its folder.
        with contextlib.suppress(FileNotFoundError), root.walk(folders) as folder:
            folder.sync()


def _conflict(root: Folder, step: redo.Step) -> ConflictError:
    return ConflictError(
        f"{root.where(step.target)}: changed by another program before an interrupted change "
        "of several files could be finished",
        hint=(
            f"Keep a copy of {root.path}, look at this file, then run agentmem repair: "
            "it gives the unfinished change up and sets its bytes aside."
        ),
    )


def _state(root: Folder, step: redo.Step, key: bytes) -> str:
    """Return ``todo``, ``partial``, ``done`` or ``foreign`` for what stands at the target."""
    folders, name = split(step.target)
    try:
        folder = root.walk(folders)
    except FileNotFoundError:
        return "done" if step.kind == "remove" else "foreign"
    with folder:
        try:
            found = folder.found(name)
        except OSError as error:
            # Why the change is not to wait for it: a person, or a repair, has to clear the place.
            if error.errno in _ODD:
                return "foreign"
            raise
        if step.kind == "append":
            return "foreign" if found is None else _append_state(folder, name, step, key)
        return _whole_state(folder, name, None if found is None else found.st_size, step, key)


def _whole_state(folder: Folder, name: str, size: int | None, step: redo.Step, key: bytes) -> str:
    if size is None:
        if step.kind == "remove":
            return "done"
        return "todo" if step.old is None and _part_is_whole(folder, step, key) else "foreign"
    if size not in {step.old, step.size}:
        return "foreign"
    with folder.opened(name) as descriptor:
        digest = redo.digest_at(descriptor, 0, size, key)
    if step.kind == "replace" and (size, digest) == (step.size, step.digest):
        return "done"
    if (size, digest) != (step.old, step.old_digest):
        return "foreign"
    return "todo" if step.kind == "remove" or _part_is_whole(folder, step, key) else "foreign"


def _append_state(folder: Folder, name: str, step: redo.Step, key: bytes) -> str:
    with folder.opened(name) as descriptor:
        size = os.fstat(descriptor).st_size
        end = step.keep + step.size
        if size < step.keep or (
            redo.digest_at(descriptor, max(0, step.keep - redo.TAIL_BYTES), step.keep, key)
            != step.old_digest
        ):
            return "foreign"
        if size == end and redo.digest_at(descriptor, step.keep, end, key) == step.digest:
            return "done"
        if not _part_is_whole(folder, step, key):
            return "foreign"
        if size == step.old:
            return "todo"
        if size <= end and _is_begun(folder, descriptor, size, step):
            return "partial"
    return "foreign"


def _part_is_whole(folder: Folder, step: redo.Step, key: bytes) -> bool:
    if not step.part:
        return True
    try:
        with folder.opened(split(step.part)[1]) as descriptor:
            return (
                os.fstat(descriptor).st_size == step.size
                and redo.digest_at(descriptor, 0, step.size, key) == step.digest
            )
    except FileNotFoundError:
        return False


def _is_begun(folder: Folder, target: int, size: int, step: redo.Step) -> bool:
    """Return whether the bytes after ``keep`` are the first of our own."""
    if size == step.keep:
        return True
    with folder.opened(split(step.part)[1]) as source:
        return is_start_of(target, step.keep, size, source)
