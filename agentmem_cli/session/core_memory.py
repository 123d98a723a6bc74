"""Core memory: a few bounded blocks of text that a model always sees.

One block a type, six types, shown in a fixed order. Sizes are UTF-8 bytes; the
bytes used are those of the contents alone. A change that fails changes
nothing. Times are given, in milliseconds since 1970-01-01 UTC: nothing here
reads a clock.

Source: DESIGN.md, "Core memory".
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from uuid import UUID, uuid4

from agentmem_cli.errors import (
    BadBlockType,
    BadConfig,
    BlockNotFound,
    BlockTooLarge,
    CoreMemoryError,
    Full,
    LabelTooLong,
)
from agentmem_cli.limits import (
    BLOCK_BYTES_MAX,
    CORE_MEMORY_BYTES_MAX,
    CORE_MEMORY_BYTES_MIN,
    LABEL_BYTES_MAX,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "BadBlockType",
    "BadConfig",
    "BlockNotFound",
    "BlockTooLarge",
    "CoreMemory",
    "CoreMemoryConfig",
    "CoreMemoryError",
    "Full",
    "LabelTooLong",
    "MemoryBlock",
    "MemoryBlockId",
    "MemoryBlockType",
    "size_of",
]


class MemoryBlockId(UUID):
    """A block's identity: it stays when the content is set anew."""

    @classmethod
    def new(cls) -> Self:
        """Return a random one."""
        return cls(int=uuid4().int)


class MemoryBlockType(StrEnum):
    """What a block is for. The order here is the order in which blocks are shown."""

    SYSTEM = "system"
    PERSONA = "persona"
    HUMAN = "human"
    FACTS = "facts"
    GOALS = "goals"
    SCRATCH = "scratch"

    @property
    def order(self) -> int:
        """Its place among the six, from 0."""
        return _ORDER[self]

    @classmethod
    def parse(cls, name: str) -> MemoryBlockType:
        """Return the type of this name; case does not matter.

        Raises:
            BadBlockType: There is none.
        """
        try:
            return cls(name.lower())
        except ValueError:
            raise BadBlockType(name, tuple(each.value for each in cls)) from None


_ORDER: Final = {each: place for place, each in enumerate(MemoryBlockType)}


class CoreMemoryConfig:
    """How much a core memory may hold."""

    __slots__ = ("max_bytes",)

    def __init__(self, max_bytes: int = CORE_MEMORY_BYTES_MAX) -> None:
        """Allow *max_bytes* UTF-8 bytes of contents, 4,096 to 32,768.

        Raises:
            BadConfig: It is another number, or none.
        """
        known = type(max_bytes) is int
        if not known or not CORE_MEMORY_BYTES_MIN <= max_bytes <= CORE_MEMORY_BYTES_MAX:
            raise BadConfig(max_bytes, CORE_MEMORY_BYTES_MIN, CORE_MEMORY_BYTES_MAX)
        self.max_bytes: Final = max_bytes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CoreMemoryConfig):
            return NotImplemented
        return self.max_bytes == other.max_bytes

    def __hash__(self) -> int:
        return hash(self.max_bytes)

    def __repr__(self) -> str:
        return f"CoreMemoryConfig(max_bytes={self.max_bytes})"


class MemoryBlock(NamedTuple):
    """One block."""

    id: MemoryBlockId
    block_type: MemoryBlockType
    label: str | None
    content: str
    created_at_ms: int
    """When a block of this type was set first, ms since 1970-01-01 UTC."""
    modified_at_ms: int
    """When it was set last."""

    @property
    def size_bytes(self) -> int:
        """The content's UTF-8 bytes."""
        return size_of(self.content)


def size_of(text: str) -> int:
    """Return the UTF-8 bytes of *text*; half of a surrogate pair counts 3."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


class CoreMemory:
    """A bounded set of blocks, one a type."""

    def __init__(self, config: CoreMemoryConfig | None = None) -> None:
        """Begin empty, with the clock at 0.

        Args:
            config: How much it may hold; None: `CoreMemoryConfig()`.
        """
        self._config = CoreMemoryConfig() if config is None else config
        self._blocks: dict[MemoryBlockType, MemoryBlock] = {}
        self._used = 0
        self._clock_ms = 0

    @classmethod
    def with_config(cls, config: CoreMemoryConfig) -> Self:
        """Return an empty one that may hold what *config* allows."""
        return cls(config)

    def __eq__(self, other: object) -> bool:
        """Whether blocks, with ids and times, and the configuration are the same."""
        if not isinstance(other, CoreMemory):
            return NotImplemented
        return self._config == other._config and self._blocks == other._blocks

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        share = f"{self.utilization():.1%}"
        return f"<CoreMemory {self._used} of {self._config.max_bytes} bytes, {share}>"

    def set_clock_ms(self, ms: int) -> None:
        """Let it be *ms* now; what is set from here on is set then."""
        self._clock_ms = ms

    def clock_ms(self) -> int:
        """Return what time it is here, in ms."""
        return self._clock_ms

    def set_block(self, block_type: MemoryBlockType | str, content: str) -> MemoryBlockId:
        """Set the block of a type. One that is there keeps id and created time, not its label.

        Returns:
            The block's id.

        Raises:
            BadBlockType: There is no such type.
            BlockTooLarge: The content is larger than one block may be.
            Full: With it the contents would be larger than all may be.
        """
        return self._set(block_type, None, content)

    def set_block_with_label(
        self, block_type: MemoryBlockType | str, label: str, content: str
    ) -> MemoryBlockId:
        """Set the block of a type with a label; else as `set_block`.

        Raises:
            LabelTooLong: The label is longer than one may be.
        """
        return self._set(block_type, label, content)

    def _set(
        self, block_type: MemoryBlockType | str, label: str | None, content: str
    ) -> MemoryBlockId:
        kind = MemoryBlockType.parse(block_type)
        size = self.check(kind, label, content)
        old = self._blocks.get(kind)
        now = self._clock_ms
        new = MemoryBlock(
            MemoryBlockId.new() if old is None else old.id,
            kind,
            label,
            content,
            now if old is None else old.created_at_ms,
            now,
        )
        self._used += size - (0 if old is None else old.size_bytes)
        self._blocks[kind] = new
        return new.id

    def check(self, block_type: MemoryBlockType, label: str | None, content: str) -> int:
        """See whether a block could be set so; nothing changes.

        Returns:
            The content's UTF-8 bytes.

        Raises:
            BlockTooLarge: See `set_block`.
            LabelTooLong: See `set_block_with_label`.
            Full: See `set_block`.
            TypeError: A content or label is no text.
        """
        texts: tuple[object, ...] = (content, "" if label is None else label)
        for text in texts:
            if not isinstance(text, str):
                msg = f"a block's content and label are texts, not {type(text).__name__}"
                raise TypeError(msg)
        size = size_of(content)
        if size > BLOCK_BYTES_MAX:
            raise BlockTooLarge(size, BLOCK_BYTES_MAX)
        label_size = 0 if label is None else size_of(label)
        if label_size > LABEL_BYTES_MAX:
            raise LabelTooLong(label_size, LABEL_BYTES_MAX)
        old = self._blocks.get(block_type)
        after = self._used - (0 if old is None else old.size_bytes) + size
        if after > self._config.max_bytes:
            raise Full(self._used, self._config.max_bytes, size, after - self._config.max_bytes)
        return size

    def put_back(self, block: MemoryBlock) -> None:
        """Set a block as it was, with its id and its times.

        Raises:
            BlockTooLarge: See `set_block`.
            LabelTooLong: See `set_block_with_label`.
            Full: See `set_block`.
        """
        size = self.check(block.block_type, block.label, block.content)
        old = self._blocks.get(block.block_type)
        self._used += size - (0 if old is None else old.size_bytes)
        self._blocks[block.block_type] = block

    def get_block(self, block_type: MemoryBlockType | str) -> MemoryBlock | None:
        """Return the block of a type; None: there is none."""
        return self._blocks.get(MemoryBlockType.parse(block_type))

    def get_content(self, block_type: MemoryBlockType | str) -> str | None:
        """Return what the block of a type says; None: there is none."""
        block = self.get_block(block_type)
        return None if block is None else block.content

    def has_block(self, block_type: MemoryBlockType | str) -> bool:
        """Return whether there is a block of a type; an empty one is one."""
        return self.get_block(block_type) is not None

    def remove_block(self, block_type: MemoryBlockType | str) -> MemoryBlock:
        """Take the block of a type out, and return it.

        Raises:
            BlockNotFound: There is none.
        """
        kind = MemoryBlockType.parse(block_type)
        block = self._blocks.pop(kind, None)
        if block is None:
            raise BlockNotFound(kind)
        self._used -= block.size_bytes
        return block

    def clear(self) -> None:
        """Take all blocks out."""
        self._blocks.clear()
        self._used = 0

    def block_count(self) -> int:
        """Return how many blocks there are."""
        return len(self._blocks)

    def used_bytes(self) -> int:
        """Return the UTF-8 bytes of all contents."""
        return self._used

    def available_bytes(self) -> int:
        """Return how many more bytes of content there is room for."""
        return self._config.max_bytes - self._used

    def max_bytes(self) -> int:
        """Return how many bytes of content there may be."""
        return self._config.max_bytes

    def utilization(self) -> float:
        """Return the share of the bytes allowed that is used, 0.0 to 1.0."""
        return self._used / self._config.max_bytes

    def is_empty(self) -> bool:
        """Return whether there is no block."""
        return not self._blocks

    def blocks_ordered(self) -> Iterator[MemoryBlock]:
        """Yield the blocks in the order they are shown in."""
        for kind in MemoryBlockType:
            if kind in self._blocks:
                yield self._blocks[kind]

    def config(self) -> CoreMemoryConfig:
        """Return how much it may hold."""
        return self._config

    def render(self, *, escape: bool = True) -> str:
        """Return the text that a model sees.

        Args:
            escape: Whether a block is kept from forging another one; without,
                contents and labels stand as they are.
        """
        from agentmem_cli.session.core_text import render

        return render(self.blocks_ordered(), escape=escape)
