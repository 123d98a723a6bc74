"""A change of core memory, planned: what becomes what, whether it may be, and its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import BlockTooLarge, Full, LabelTooLong
from agentmem_cli.limits import (
    BLOCK_BYTES_MAX,
    CORE_MEMORY_BYTES_MAX,
    DESCRIPTION_BYTES_MAX,
    LABEL_BYTES_MAX,
)
from agentmem_cli.operations.core.refusals import (
    BlockProtected,
    BoundTooLow,
    DescriptionTooLong,
    NotABlock,
)
from agentmem_cli.session.codec import same
from agentmem_cli.session.core_memory import (
    CoreMemoryConfig,
    MemoryBlock,
    MemoryBlockId,
    MemoryBlockType,
    size_of,
)
from agentmem_cli.session.core_values import (
    CONFIG,
    NO_ID,
    USER,
    StoredBlock,
    is_usable,
    key_of,
    read_max_bytes,
    type_of,
)
from agentmem_cli.session.record import Saved

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.core_values import CoreValues
    from agentmem_cli.session.record import LogRecord

Wanted = dict[MemoryBlockType, StoredBlock | None]
"""What blocks are to be; None: not there. Blocks that are not named stay."""


class Told(NamedTuple):
    """Who changes core memory, and why."""

    by: str | None = None
    """None: nobody is named, which is the user."""
    reason: str | None = None
    undoes: int | None = None
    """The ``n`` of the first record that is taken back."""
    each: bool = False
    """Whether a block that comes in keeps what it says itself, where this says nothing."""

    @property
    def fields(self) -> Object:
        """What of it a removal, or the configuration, has to say."""
        pairs: Object = {"by": self.by, "reason": self.reason, "undoes": self.undoes}
        return {name: item for name, item in pairs.items() if item is not None}


class BlockChange(NamedTuple):
    """What becomes of one block."""

    block_type: MemoryBlockType
    before: StoredBlock | None
    after: StoredBlock | None

    @property
    def size_before(self) -> int:
        """Its content's bytes until now."""
        return 0 if self.before is None else self.before.block.size_bytes

    @property
    def size_after(self) -> int:
        """Its content's bytes from now on."""
        return 0 if self.after is None else self.after.block.size_bytes


class Raw(NamedTuple):
    """A saved value that is no block, and no configuration."""

    value: JSON
    data: bytes | None = None
    """Its JSON as a log had it; None: it is encoded anew."""


class OtherChange(NamedTuple):
    """A saved value that is no block comes, or goes."""

    key: str
    block: StoredBlock | None
    """The block that stood there."""
    after: Raw | None
    """What stands there from now on; None: nothing."""


class Plan(NamedTuple):
    """What a change does. Nothing is written by making one."""

    before: CoreValues
    changes: tuple[BlockChange, ...]
    """Only blocks that do change, in the order they are shown in."""
    config: JSON
    """The configuration from now on."""
    max_bytes: int
    """How many bytes of contents there may be from now on."""
    told: Told
    asked: tuple[str, ...] = ()
    """Keys of what was asked for, whether or not it is another value."""
    others: tuple[OtherChange, ...] = ()
    """What else comes or goes."""
    kept: Mapping[str, Raw | None] = {}
    """What else was asked for, whether or not it is another value."""

    @property
    def changes_config(self) -> bool:
        """Whether the configuration becomes another."""
        return self.before.raw.get(CONFIG) != self.config

    @property
    def changes_nothing(self) -> bool:
        """Whether everything stays as it is."""
        return not self.changes and not self.changes_config and not self.others

    @property
    def used_after(self) -> int:
        """Bytes of all contents from now on."""
        grown = sum(each.size_after - each.size_before for each in self.changes)
        gone = sum(each.block.block.size_bytes for each in self.others if each.block is not None)
        return self.before.used_bytes + grown - gone

    @property
    def over_bytes(self) -> int:
        """By how many bytes that is too much."""
        return max(0, self.used_after - self.max_bytes)

    @property
    def room_bytes(self) -> int:
        """How many bytes of contents there is room for then."""
        return max(0, self.max_bytes - self.used_after)

    def check(self, *, force: bool | None = False, guarded: bool = True) -> None:
        """See whether it may be done.

        Args:
            force: Whether values of other programs that are no blocks give way;
                None: they do not, and nobody could ask for it.
            guarded: Whether read-only blocks stay as they are.

        Raises:
            BlockProtected: It would change a read-only block.
            NotABlock: It would replace what another program put.
            BlockTooLarge: A content is larger than a block may be.
            LabelTooLong: A label is longer than one may be.
            DescriptionTooLong: A description is.
            Full: All contents would be larger than they may be.
        """
        held = [each.block_type for each in self.changes if each.before and each.before.read_only]
        blocks = [each.block for each in self.others if each.block is not None]
        held += [each.block.block_type for each in blocks if each.read_only]
        held += self._marked_held()
        if guarded and held:
            raise BlockProtected(held)
        keys = [key_of(each.block_type) for each in self.changes]
        keys += [CONFIG] if self.changes_config else []
        keys += [each.key for each in self.others]
        for key in keys:
            if key in self.before.bad and not force:
                raise NotABlock(key, self.before.bad[key], forcible=force is not None)
        self._check_sizes()

    def _check_sizes(self) -> None:
        if self.told.undoes is None:
            # Why not of an undo: what stood there once may stand there again.
            for change in self.changes:
                _check_size(change)
        grown = [each for each in self.changes if each.after and _says_more(each)]
        if self.over_bytes and not grown and self.max_bytes < self.before.max_bytes:
            raise BoundTooLow(self.used_after, self.max_bytes)
        if self.over_bytes and grown:
            asked = sum(each.size_after for each in grown)
            raise Full(self.before.used_bytes, self.max_bytes, asked, self.over_bytes)

    def _marked_held(self) -> list[MemoryBlockType]:
        """Return the read-only block that only gets the mark of an undo."""
        stored = next(
            (each for kind, each in self.before.blocks.items() if key_of(kind) == self.mark), None
        )
        return [] if stored is None or not stored.read_only else [stored.block.block_type]

    @property
    def mark(self) -> str | None:
        """The key that tells of an undo of changes that together come to nothing."""
        if self.told.undoes is None or not self.changes_nothing:
            return None
        there = [key for key in self.asked if key in self.before.raw]
        free = [key for key in there if key not in self.before.bad]
        return next(iter(free or there or self.asked), None)

    def records(self) -> list[LogRecord]:
        """Return what is written: nothing where nothing changes, but for the mark of an undo."""
        made: list[LogRecord] = []
        if self.mark is not None:
            now = self.before.raw.get(self.mark)
            if now is not None and self.mark not in self.before.bad:
                return [Saved(self.mark, _said(now, self.told))]
            return self._put(self.mark, self.kept.get(self.mark))
        if self.changes_config:
            made += self._put(CONFIG, None if self.config is None else Raw(self.config))
        for change in self.changes:
            value = None if change.after is None else Raw(change.after.to_value())
            made += self._put(key_of(change.block_type), value)
        for each in self.others:
            made += self._put(each.key, each.after)
        return made

    def _put(self, key: str, after: Raw | None) -> list[LogRecord]:
        """Return the record of a value, or, where it has no room for who and why, two."""
        value = None if after is None else after.value
        record = Saved(key, value, None if after is None else after.data)
        if (isinstance(value, dict) and is_usable(key, value)) or not self.told.fields:
            return [record]
        # Why: the record before says it, and all else as it was, so far as that can be read.
        now: JSON = self.before.raw.get(key)
        if not is_usable(key, now):
            now = {"max_bytes": CORE_MEMORY_BYTES_MAX} if key == CONFIG else {"content": ""}
        return [Saved(key, _said(now, self.told)), record]


def _check_size(change: BlockChange) -> None:
    """See whether what a block says is no larger than it may be, unless it gets smaller."""
    before, after = change.before, change.after
    if after is None:
        return
    size = change.size_after
    if size > BLOCK_BYTES_MAX and _says_more(change) and not size < change.size_before:
        raise BlockTooLarge(size, BLOCK_BYTES_MAX)
    label_size = size_of(after.label or "")
    if label_size > LABEL_BYTES_MAX and (before is None or before.label != after.label):
        raise LabelTooLong(label_size, LABEL_BYTES_MAX)
    told_size = size_of(after.description or "")
    same_told = before is not None and before.description == after.description
    if told_size > DESCRIPTION_BYTES_MAX and not same_told:
        raise DescriptionTooLong(told_size, DESCRIPTION_BYTES_MAX)


def _says_more(change: BlockChange) -> bool:
    """Whether the content itself becomes another one, so that there must be room for it."""
    assert change.after is not None
    return change.before is None or change.before.content != change.after.content


_TOLD = frozenset({"by", "reason", "undoes"})


def plan(  # noqa: PLR0913 - what a change is made of
    values: CoreValues,
    wanted: Wanted,
    told: Told,
    *,
    t: int,
    max_bytes: int | None = None,
    config: Mapping[str, JSON] | None = None,
    others: Mapping[str, Raw | None] | None = None,
) -> Plan:
    """Plan a change; see `Plan.check` for whether it may be done.

    Args:
        values: Core memory as it stands.
        wanted: What blocks are to be. Who and why come from *told*, the times
            from *t*, the identity of a block that has none is made up.
        told: Who and why.
        t: When, ms since 1970-01-01 UTC.
        max_bytes: The new bound; None: as it is.
        config: The saved value of the configuration as it is to be, an empty
            one for none; None: as it is, but for *max_bytes*.
        others: What is no block and is to stand at a key; None: nothing.

    Raises:
        BadConfig: There is no such bound.
    """
    changes = tuple(_changes(values, wanted, told, t))
    now = values.raw.get(CONFIG)
    bound, kept = values.max_bytes, now
    if max_bytes is not None:
        bound = CoreMemoryConfig(max_bytes).max_bytes
        if CONFIG in values.bad or bound != values.max_bytes:
            rest = now if isinstance(now, dict) and CONFIG not in values.bad else {}
            kept = _said({**rest, "max_bytes": bound}, told)
    elif config is not None:
        bound, kept = CORE_MEMORY_BYTES_MAX, None
        if config:
            bound, kept = read_max_bytes(dict(config)), _said(dict(config), told)
    moved = tuple(_others(values, others or {}))
    for each in moved:
        if each.key == CONFIG:
            value = None if each.after is None else each.after.value
            # Why also then a bound: a number alone is one.
            bound = read_max_bytes(value) if is_usable(CONFIG, value) else CORE_MEMORY_BYTES_MAX
    asked = (*map(key_of, wanted), *(() if config is None else (CONFIG,)), *(others or {}))
    return Plan(values, changes, kept, bound, told, asked, moved, dict(others or {}))


def _others(values: CoreValues, wanted: Mapping[str, Raw | None]) -> Iterator[OtherChange]:
    for key, after in wanted.items():
        kind = type_of(key)
        now = values.raw.get(key)
        if not same(now, None if after is None else after.value):
            block = None if kind is None else values.blocks.get(kind)
            yield OtherChange(key, block, after)


def _changes(values: CoreValues, wanted: Wanted, told: Told, t: int) -> Iterator[BlockChange]:
    for kind in MemoryBlockType:
        if kind not in wanted:
            continue
        old, new = values.blocks.get(kind), wanted[kind]
        if new is None:
            if key_of(kind) in values.raw:
                yield BlockChange(kind, old, None)
        elif old is None or not old.says_as(_identified(new, old)):
            yield BlockChange(kind, old, _stamped(_identified(new, old), told, t))


def _said(value: JSON, told: Told) -> Object:
    """Return a value with who and why of this change, and nothing of the one before.

    A configuration that is a number alone becomes the object that says the same.
    """
    if not isinstance(value, dict):
        value = {"max_bytes": value}
    rest = {name: item for name, item in value.items() if name not in _TOLD}
    return {**rest, **told.fields}


def _identified(new: StoredBlock, old: StoredBlock | None) -> StoredBlock:
    """Return *new* with the identity of the block that is there, unless it brings its own."""
    if new.block.id != NO_ID or old is None:
        return new
    block = old.block
    return new._replace(block=new.block._replace(id=block.id, created_at_ms=block.created_at_ms))


def _stamped(new: StoredBlock, told: Told, t: int) -> StoredBlock:
    block = new.block
    fresh = block.id == NO_ID
    return new._replace(
        block=block._replace(
            id=MemoryBlockId.new() if fresh else block.id,
            created_at_ms=t if fresh and not block.created_at_ms else block.created_at_ms,
            modified_at_ms=t,
        ),
        by=told.by or (new.by if told.each else USER),
        reason=told.reason or (new.reason if told.each else None),
        undoes=told.undoes,
    )


def draft(
    block_type: MemoryBlockType,
    content: str,
    label: str | None = None,
    *,
    like: StoredBlock | None = None,
) -> StoredBlock:
    """Return a block that says *content*, to be planned.

    Args:
        block_type: Its type.
        content: What it is to say.
        label: Its label; None: none.
        like: Keep this one's identity, description and what else it holds.
    """
    if like is None:
        return StoredBlock(MemoryBlock(NO_ID, block_type, label, content, 0, 0))
    return like._replace(block=like.block._replace(label=label, content=content))
