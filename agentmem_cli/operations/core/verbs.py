"""What can be done to core memory: each verb says what is to come of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.errors import BlockNotFound, UsageError
from agentmem_cli.operations.core import back, lines
from agentmem_cli.operations.core.changing import (
    Changed,
    Current,
    Request,
    Wish,
    change,
    check_seen,
    edited,
)
from agentmem_cli.operations.core.planning import draft
from agentmem_cli.session.core_memory import MemoryBlockType
from agentmem_cli.session.core_values import key_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.core_values import CoreValues, StoredBlock
    from agentmem_cli.storage.directory import DirStore


def _one(
    store: DirStore,
    log: str,
    kind: MemoryBlockType,
    request: Request,
    edit: Callable[[StoredBlock | None], StoredBlock | None],
) -> Changed:
    def make(current: Current) -> Wish:
        return Wish({kind: edited(current, kind, request, edit)})

    return change(store, log, request, make)


def _there(kind: MemoryBlockType, block: StoredBlock | None) -> StoredBlock:
    if block is None:
        raise BlockNotFound(kind)
    return block


def set_content(  # noqa: PLR0913 - what a block is made of
    store: DirStore,
    log: str,
    kind: MemoryBlockType,
    content: str,
    request: Request,
    *,
    label: str | None = None,
    description: str | None = None,
) -> Changed:
    """Set a block; one that is there keeps all but its content and its label.

    Args:
        store: The session.
        log: The log that holds it.
        kind: Its type.
        content: What it is to say.
        request: How.
        label: Its label; None: none.
        description: What it is for; None: as it is.

    Raises:
        CoreMemoryError: See `change` and `edited`. Nothing was written.
    """

    def edit(now: StoredBlock | None) -> StoredBlock:
        made = draft(kind, content, label, like=now)
        return made if description is None else made._replace(description=description)

    return _one(store, log, kind, request, edit)


def edit_content(
    store: DirStore,
    log: str,
    kind: MemoryBlockType,
    request: Request,
    edit: Callable[[str], str],
    *,
    create: bool = False,
) -> Changed:
    """Edit what a block says; its label and all else stay.

    Args:
        store: The session.
        log: The log that holds it.
        kind: Its type.
        request: How.
        edit: Gets the content and returns the new one.
        create: Begin with an empty block where there is none.

    Raises:
        BlockNotFound: There is none.
        CoreMemoryError: See `change` and `edited`. Nothing was written.
    """

    def made(now: StoredBlock | None) -> StoredBlock:
        if now is None and create:
            return draft(kind, edit(""))
        block = _there(kind, now)
        return draft(kind, edit(block.content), block.label, like=block)

    return _one(store, log, kind, request, made)


def append(
    store: DirStore, log: str, kind: MemoryBlockType, text: str, request: Request
) -> Changed:
    """Add to a block, which is made where there is none; see `lines.append`."""
    return edit_content(
        store, log, kind, request, lambda content: lines.append(content, text), create=True
    )


def insert(
    store: DirStore, log: str, kind: MemoryBlockType, text: str, line: int, request: Request
) -> Changed:
    """Put lines into a block; see `lines.insert`."""
    return edit_content(
        store, log, kind, request, lambda content: lines.insert(content, text, line)
    )


def set_label(
    store: DirStore, log: str, kind: MemoryBlockType, label: str | None, request: Request
) -> Changed:
    """Give a block a label, or take it away (None)."""

    def edit(now: StoredBlock | None) -> StoredBlock:
        block = _there(kind, now)
        return draft(kind, block.content, label, like=block)

    return _one(store, log, kind, request, edit)


def protect(
    store: DirStore,
    log: str,
    kind: MemoryBlockType,
    request: Request,
    *,
    read_only: bool,
    description: str | None = None,
) -> Changed:
    """Guard a block from changes, or let it be changed again."""

    def edit(now: StoredBlock | None) -> StoredBlock:
        block = _there(kind, now)
        told = block.description if description is None else description
        return block._replace(read_only=read_only, description=told)

    def make(current: Current) -> Wish:
        return Wish({kind: edited(current, kind, request, edit)}, guarded=False)

    return change(store, log, request, make)


def remove(store: DirStore, log: str, kind: MemoryBlockType, request: Request) -> Changed:
    """Take a block out."""

    def edit(now: StoredBlock | None, values: CoreValues) -> None:
        if now is None and key_of(kind) not in values.bad:
            raise BlockNotFound(kind)

    def make(current: Current) -> Wish:
        block = edited(current, kind, request, lambda now: edit(now, current.values))
        return Wish({kind: block})

    return change(store, log, request, make)


def clear(store: DirStore, log: str, request: Request) -> Changed:
    """Take all blocks out; by force also what other programs put there that is no block."""

    def make(current: Current) -> Wish:
        check_seen(current, request)
        values = current.values
        kinds = [kind for kind in MemoryBlockType if kind in values.blocks]
        others = dict.fromkeys(values.bad if request.force else ())
        return Wish(dict.fromkeys(kinds), others=others)

    return change(store, log, request, make)


def configure(store: DirStore, log: str, max_bytes: int, request: Request) -> Changed:
    """Set how many bytes of contents there may be.

    Raises:
        BadConfig: There is no such bound.
        Full: There are more already.
    """

    def make(current: Current) -> Wish:
        check_seen(current, request)
        return Wish({}, max_bytes=max_bytes)

    return change(store, log, request, make)


def undo(store: DirStore, log: str, request: Request, *, steps: int = 1) -> Changed:
    """Take back the newest changes that stand, by a change that says so.

    Changes of what is read-only, and protections, are passed by.

    Raises:
        NotFoundError: There are not so many.
        BlockProtected: There are so many only with changes of what is read-only.
        CoreMemoryError: See `change`. Nothing was written.
    """
    if steps < 1:
        msg = f"--steps {steps}: there is nothing to be done"
        raise UsageError(msg)

    def make(current: Current) -> Wish:
        check_seen(current, request)
        taken = back.newest(current.past, current.values, steps)
        passed = tuple(back.passed_by(current.past, taken))
        return back.as_before(taken, current.values)._replace(passed=passed)

    return change(store, log, request, make)


def restore(
    store: DirStore,
    log: str,
    kind: MemoryBlockType,
    then: CoreValues,
    request: Request,
    *,
    place: str | None = None,
) -> Changed:
    """Let a block be what it was *then*, at *place*; whether it is read-only stays as it is.

    Raises:
        BlockNotFound: It was not there.
        NotABlock: What was there was no block.
    """
    from agentmem_cli.operations.core.looking import stored_of

    try:
        old = stored_of(then, kind, place)
    except BlockNotFound as error:
        error.hint = f"agentmem core remove SESSION {kind.value} takes out one that is there now."
        raise

    def edit(now: StoredBlock | None) -> StoredBlock:
        return old._replace(read_only=now is not None and now.read_only)

    return _one(store, log, kind, request, edit)
