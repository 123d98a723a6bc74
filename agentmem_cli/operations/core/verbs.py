"""What can be done to core memory: each verb says what is to come of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.errors import BlockNotFound, NotFoundError, UsageError
from agentmem_cli.operations.core import history, lines
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
from agentmem_cli.operations.core.refusals import NotABlock
from agentmem_cli.session.core_memory import MemoryBlockType
from agentmem_cli.session.core_values import CONFIG, BadValue, key_of, read_block, type_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.operations.core.planning import Wanted
    from agentmem_cli.session.codec import JSON
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
    """Take all blocks out; what other programs put there that is no block stays."""

    def make(current: Current) -> Wish:
        check_seen(current, request)
        values = current.values
        kinds = [
            kind
            for kind in MemoryBlockType
            if kind in values.blocks or (request.force and key_of(kind) in values.bad)
        ]
        return Wish(dict.fromkeys(kinds))

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

    Raises:
        NotFoundError: There are not so many.
        CoreMemoryError: See `change`. Nothing was written.
    """
    if steps < 1:
        msg = f"--steps {steps}: there is nothing to be done"
        raise UsageError(msg)

    def make(current: Current) -> Wish:
        check_seen(current, request)
        live = history.standing(current.past)
        if len(live) < steps:
            told = f"{len(live)} change{'s' if len(live) != 1 else ''} of core memory"
            msg = f"{told} can be undone, not {steps}" if live else "there is nothing to undo"
            raise NotFoundError(msg, hint="agentmem core history SESSION shows them.")
        oldest = live[-steps].n
        return as_before(history.before(current.past, oldest), oldest)

    return change(store, log, request, make)


def as_before(values: dict[str, JSON], n: int) -> Wish:
    """Return what makes core memory what it was before the change at *n*.

    Args:
        values: The saved values as they were, of the keys changed since
            (`history.before`); None: there was none.
        n: The ``n`` of the first record of the oldest change that is taken back.

    Raises:
        NotABlock: What was there then was no block.
    """
    blocks: Wanted = {}
    config: dict[str, JSON] | None = None
    for key, value in values.items():
        kind = type_of(key)
        try:
            if kind is not None:
                blocks[kind] = None if value is None else read_block(kind, value)
            elif key == CONFIG:
                config = dict(value) if isinstance(value, dict) else {}
        except BadValue as error:
            raise NotABlock(key, f"before that change: {error}") from None
    return Wish(blocks, config=config, undoes=n)


def restore(
    store: DirStore, log: str, kind: MemoryBlockType, then: CoreValues, request: Request
) -> Changed:
    """Let a block be what it was *then*; whether it is read-only stays as it is.

    Raises:
        BlockNotFound: It was not there.
        NotABlock: What was there was no block.
    """
    from agentmem_cli.operations.core.looking import stored_of

    old = stored_of(then, kind)

    def edit(now: StoredBlock | None) -> StoredBlock:
        return old._replace(read_only=now is not None and now.read_only)

    return _one(store, log, kind, request, edit)
