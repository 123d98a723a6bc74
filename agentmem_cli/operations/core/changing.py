"""Changing core memory: planned, checked and written under the session's lock, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import AgentMemError, ConflictError
from agentmem_cli.operations.core.history import Edit, edits, version_with, writers_since
from agentmem_cli.operations.core.lines import merge
from agentmem_cli.operations.core.looking import (
    digest,
    follow,
    hash_of,
    look,
    rendered,
)
from agentmem_cli.operations.core.planning import Told, plan
from agentmem_cli.operations.core.refusals import BlockChanged, MergeConflict, NotABlock
from agentmem_cli.session.core_values import PREFIX, CoreValues, key_of
from agentmem_cli.session.values import ValuesFold
from agentmem_cli.session.writer import append_records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentmem_cli.operations.core.planning import Plan, Raw, Wanted
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.core_memory import MemoryBlockType
    from agentmem_cli.session.core_values import StoredBlock
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.meta import SessionMeta
    from agentmem_cli.session.record import LogRecord
    from agentmem_cli.session.session import TornTail
    from agentmem_cli.storage.directory import DirStore


class Request(NamedTuple):
    """How a change is to be made."""

    now_ms: int
    by: str | None = None
    """Who changes it; None: the user."""
    reason: str | None = None
    match: str | None = None
    """The hash of what the caller had seen; None: whatever is there."""
    merge: bool | None = None
    """Merge with what was changed since, where other lines were; None: nobody could ask for it."""
    force: bool | None = None
    """Let values of other programs that are no blocks give way; None: nobody could ask for it."""
    dry_run: bool = False


class Wish(NamedTuple):
    """What is to come of a change."""

    blocks: Wanted
    max_bytes: int | None = None
    """The new bound; None: as it is."""
    config: Mapping[str, JSON] | None = None
    """The configuration as it is to be; None: as it is."""
    undoes: int | None = None
    guarded: bool = True
    """Whether read-only blocks stay as they are."""
    each: bool = False
    """Whether the blocks say themselves by whom and why, where the request does not."""
    others: Mapping[str, Raw | None] = {}
    """What is no block and is to stand at a key; None: nothing."""
    passed: tuple[Edit, ...] = ()
    """Newer changes that an undo leaves, since they are of what is read-only."""


class Current:
    """Core memory as it stands while a change is made."""

    def __init__(self, values: CoreValues, past: Callable[[], list[Edit]]) -> None:
        """Keep the *values*, and what reads their *past* if it is asked for."""
        self.values = values
        self._past = past
        self._made: list[Edit] | None = None

    @property
    def past(self) -> list[Edit]:
        """Its changes, oldest first."""
        if self._made is None:
            self._made = self._past()
        return self._made


class Changed(NamedTuple):
    """What a change came to."""

    log: str
    plan: Plan
    refused: AgentMemError | None
    """In a dry run: why it would be refused; None: it would be done."""
    first_n: int | None
    """The ``n`` of the first record written; None: nothing was."""
    last_n: int | None
    torn: TornTail | None
    """A torn tail of the log that was set aside first."""
    meta_error: str | None
    """Why the meta could not be written; the change is made all the same."""
    passed: tuple[Edit, ...] = ()
    """Newer changes that an undo left, the newest first."""


def change(store: DirStore, log: str, request: Request, make: Callable[[Current], Wish]) -> Changed:
    """Make a change of core memory: everything of it as one append, or nothing.

    Args:
        store: The session.
        log: The log that holds the blocks; started where it is not there.
        request: How.
        make: Gets core memory as it stands under the lock, and says what is
            to come of it.

    Raises:
        CoreMemoryError: It may not be made. Nothing was written.
        SessionError: The log does not read. Nothing was written.
        ConflictError: The agent is retired. Nothing was written.
        Busy: The lock was not free in time.
        OSError: Nothing was written.
    """
    if request.dry_run:
        return _dry(store, log, request, make)
    from agentmem_cli.operations.metas import is_current
    from agentmem_cli.session.heads import read_head

    made: list[tuple[Plan, Wish]] = []
    with store.lock():
        known = is_current(store)
        last = read_head(store, log).last if log in store.logs() else None
        # Why: a time of its own tells the records of one change from those of the next.
        at = request.now_ms + (last is not None and last.t == request.now_ms)

        def records(fold: LogFold | None) -> list[LogRecord]:
            if fold is not None and fold.retired:
                msg = f"agent {log!r} is retired"
                raise ConflictError(msg, hint="Name another one by --agent.")
            saved = {} if fold is None else fold.saved
            current = Current(CoreValues.of(saved), lambda: _past(fold))
            planned, wish = _planned(current, request, make, at)
            planned.check(force=request.force, guarded=wish.guarded)
            made.append((planned, wish))
            return planned.records()

        done = append_records(store, log, records, at=at)
        known = known and done.torn is None
        error = None
        if done.records and (known or done.torn is not None):
            error = _refresh(store, at, started=done.fold is None, known=known, torn=done.torn)
    first = done.first_n if done.records else None
    last_n = done.last_n if done.records else None
    planned, wish = made[0]
    return Changed(log, planned, None, first, last_n, done.torn, error, wish.passed)


def _past(fold: LogFold | None) -> list[Edit]:
    if fold is None:
        return []
    followed = ValuesFold(fold.log, fold.source, PREFIX)
    followed.run()
    return edits(followed)


def _planned(
    current: Current, request: Request, make: Callable[[Current], Wish], t: int
) -> tuple[Plan, Wish]:
    wish = make(current)
    told = Told(request.by, request.reason, wish.undoes, wish.each)
    planned = plan(
        current.values,
        wish.blocks,
        told,
        t=t,
        max_bytes=wish.max_bytes,
        config=wish.config,
        others=wish.others,
    )
    return planned, wish


def _dry(store: DirStore, log: str, request: Request, make: Callable[[Current], Wish]) -> Changed:
    current = Current(look(store, log).values, lambda: edits(follow(store, log)))
    planned, wish = _planned(current, request, make, request.now_ms)
    refused: AgentMemError | None = None
    try:
        planned.check(force=request.force, guarded=wish.guarded)
    except AgentMemError as error:
        refused = error
    return Changed(log, planned, refused, None, None, None, None, wish.passed)


def _refresh(
    store: DirStore, at_ms: int, *, started: bool, known: bool, torn: TornTail | None
) -> str | None:
    """Let the meta be true of the logs again, as it was before the change, or lost an end."""
    from agentmem_cli.operations.metas import refresh

    def update(meta: SessionMeta) -> SessionMeta:
        return meta._replace(updated=max(meta.updated or 0, at_ms))

    try:
        began = at_ms if started else None
        refresh(store, update, current=known, started_ms=began, torn=(at_ms, [torn]))
    except (OSError, AgentMemError) as error:
        # Why: the logs are the truth; a listing goes by them until the next change.
        return str(error)
    return None


def edited(
    current: Current,
    block_type: MemoryBlockType,
    request: Request,
    edit: Callable[[StoredBlock | None], StoredBlock | None],
) -> StoredBlock | None:
    """Return a block as *edit* makes it, or its edit of what the caller had seen, merged.

    Raises:
        NotABlock: Another program put something else there.
        BlockChanged: It is not what the caller had seen.
        MergeConflict: Both changed the same lines.
    """
    values = current.values
    now = values.blocks.get(block_type)
    key = key_of(block_type)
    if key in values.bad and not request.force:
        raise NotABlock(key, values.bad[key], forcible=request.force is not None)
    found = hash_of(now)
    if request.match in (None, found):
        return edit(now)
    what = f"the block {block_type.value!r}"
    who = None if now is None else now.by
    changed = BlockChanged(what, found, who, merges=request.merge is not None and now is not None)
    if not request.merge or now is None:
        raise changed
    base = version_with(current.past, block_type, str(request.match))
    if base is None:
        changed.hint = "No version of the block ever had the hash that was given."
        raise changed
    wanted = edit(base)
    if wanted is None:
        raise changed
    return merged(base, wanted, now, current.past)


def merged(
    base: StoredBlock | None, yours: StoredBlock, theirs: StoredBlock, past: Sequence[Edit]
) -> StoredBlock:
    """Make two changes of a block one; what only one side changed is as it made it.

    Args:
        base: What both began from.
        yours: One side.
        theirs: The other side, which stands there.
        past: The changes of core memory, to tell whose that side is.

    Raises:
        MergeConflict: Both changed the same lines, or the label.
    """
    began = "" if base is None else base.content
    name = side_of(base, theirs, past)
    result = merge(began, yours.content, theirs.content, name=name)
    if result.conflicts:
        raise MergeConflict(theirs.block.block_type, result.text)
    label = _one_of(
        theirs.block.block_type,
        None if base is None else base.label,
        yours.label,
        theirs.label,
    )
    block = theirs.block._replace(content=result.text, label=label)
    return theirs._replace(block=block)


def side_of(base: StoredBlock | None, theirs: StoredBlock, past: Sequence[Edit]) -> str:
    """Return what the side that stands there is called: all who changed it since *base*."""
    names = writers_since(past, theirs.block.block_type, base)
    # Why one line: it stands behind a mark.
    return " ".join(f"by {', '.join(names) or theirs.by}".split())


def _one_of(
    block_type: MemoryBlockType, base: str | None, yours: str | None, theirs: str | None
) -> str | None:
    if yours in (base, theirs):
        return theirs
    if theirs == base:
        return yours
    told = [f"label: {each!r}" if each is not None else "no label" for each in (yours, theirs)]
    raise MergeConflict(block_type, f"yours: {told[0]}\nthere: {told[1]}\n")


def check_seen(current: Current, request: Request) -> None:
    """See whether all of core memory is what the caller had seen, by the hash of its rendering.

    Raises:
        BlockChanged: It is not.
    """
    if request.match is None:
        return
    found = digest(rendered(current.values))
    if found != request.match:
        raise BlockChanged("core memory", found)
