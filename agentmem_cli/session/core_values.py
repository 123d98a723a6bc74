"""Core memory as saved values of a log: their keys, their shape, and what they come to.

A block is the saved value ``core_memory.<type>``, an object; ``core_memory.config``
holds the bound. Another program may have put anything there: what is no block
is kept, and named with why.

Source: DESIGN.md, "Core memory on a session".
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.limits import (
    BLOCK_BYTES_MAX,
    CORE_MEMORY_BYTES_MAX,
    CORE_MEMORY_BYTES_MIN,
    DESCRIPTION_BYTES_MAX,
    LABEL_BYTES_MAX,
)
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.core_memory import (
    CoreMemory,
    CoreMemoryConfig,
    MemoryBlock,
    MemoryBlockId,
    MemoryBlockType,
    size_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentmem_cli.session.codec import JSON, Object

PREFIX: Final = "core_memory."
"""How the keys of core memory begin."""

CONFIG: Final = "core_memory.config"
"""The saved value that holds ``max_bytes``."""

USER: Final = "user"
"""Who changes a block, where nobody is named."""

_TYPES: Final = {f"{PREFIX}{each.value}": each for each in MemoryBlockType}
_FIELDS: Final = frozenset(
    {
        "content",
        "label",
        "id",
        "created",
        "modified",
        "by",
        "reason",
        "undoes",
        "read_only",
        "description",
    }
)


class BadValue(ValueError):
    """A saved value under a key of core memory is no block, and no configuration."""


class StoredBlock(NamedTuple):
    """A block as a log holds it."""

    block: MemoryBlock
    by: str = USER
    """Who changed it last, in that one's own words."""
    reason: str | None = None
    """Why."""
    undoes: int | None = None
    """The ``n`` of the first record that this change took back; None: it took none back."""
    read_only: bool = False
    """Whether it is guarded from changes."""
    description: str | None = None
    """What the block is for, for people."""
    extra: Object = {}  # noqa: RUF012 - never changed in place
    """Fields this version does not know, kept."""

    @property
    def content(self) -> str:
        """What the block says."""
        return self.block.content

    @property
    def label(self) -> str | None:
        """Its label; None: it has none."""
        return self.block.label

    def says_as(self, other: StoredBlock) -> bool:
        """Whether all but who changed it, when and why is as in *other*."""
        return (
            self.block._replace(modified_at_ms=0) == other.block._replace(modified_at_ms=0)
            and self.read_only == other.read_only
            and self.description == other.description
            and self.extra == other.extra
        )

    def digest(self) -> str:
        """Return the SHA-256, in hex digits, of what the block says and how it is kept."""
        told: JSON = [self.content, self.label, self.description, self.read_only]
        return hashlib.sha256(dumps(told)).hexdigest()

    def to_value(self) -> Object:
        """Return the saved value; fields that say nothing are left out."""
        block = self.block
        value: Object = {"content": block.content}
        if block.label is not None:
            value["label"] = block.label
        value["id"] = str(block.id)
        value["created"] = block.created_at_ms
        value["modified"] = block.modified_at_ms
        value["by"] = self.by
        if self.reason is not None:
            value["reason"] = self.reason
        if self.undoes is not None:
            value["undoes"] = self.undoes
        if self.read_only:
            value["read_only"] = True
        if self.description is not None:
            value["description"] = self.description
        return {**value, **self.extra}


def key_of(block_type: MemoryBlockType) -> str:
    """Return the key of the saved value that a block is."""
    return f"{PREFIX}{block_type.value}"


def type_of(key: str) -> MemoryBlockType | None:
    """Return the type whose block a key holds; None: it holds none of the six."""
    return _TYPES.get(key)


def read_block(block_type: MemoryBlockType, value: JSON) -> StoredBlock:
    """Read a block from its saved value; fields that are missing count as not said.

    Raises:
        BadValue: It has another shape. One that is larger than it may be is a block
            (see `CoreValues.large`): a mask can be longer than what it stands for.
    """
    if not isinstance(value, dict):
        msg = f"it is {_told(value)}, not an object with a content"
        raise BadValue(msg)
    content, label = value.get("content"), value.get("label")
    if not isinstance(content, str):
        msg = "it has no content (a text)"
        raise BadValue(msg)
    texts = {name: _text(value, name) for name in ("label", "by", "reason", "description")}
    times = {name: _whole(value, name) for name in ("created", "modified", "undoes")}
    modified = times["modified"] or 0
    created = times["created"]
    return StoredBlock(
        MemoryBlock(
            _id(value.get("id")),
            block_type,
            label if isinstance(label, str) else None,
            content,
            modified if created is None else created,
            modified,
        ),
        texts["by"] or USER,
        texts["reason"],
        times["undoes"],
        _flag(value, "read_only"),
        texts["description"],
        {name: item for name, item in value.items() if name not in _FIELDS},
    )


NO_ID: Final = MemoryBlockId(int=0)
"""The id of a block that another program put without one; the next change gives it one."""


def _id(value: JSON) -> MemoryBlockId:
    if value is None:
        return NO_ID
    try:
        return MemoryBlockId(value if isinstance(value, str) else "")
    except ValueError:
        msg = f"its id is {_told(value)}, not a UUID"
        raise BadValue(msg) from None


def _text(value: Object, name: str) -> str | None:
    text = value.get(name)
    if text is not None and not isinstance(text, str):
        msg = f"its {name} is {_told(text)}, not a text"
        raise BadValue(msg)
    return text


def _whole(value: Object, name: str) -> int | None:
    number = value.get(name)
    if number is not None and type(number) is not int:
        msg = f"its {name} is {_told(number)}, not a whole number"
        raise BadValue(msg)
    return number


def _flag(value: Object, name: str) -> bool:
    flag = value.get(name, False)
    if not isinstance(flag, bool):
        msg = f"its {name} is {_told(flag)}, not true or false"
        raise BadValue(msg)
    return flag


def _told(value: JSON) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


def read_max_bytes(value: JSON) -> int:
    """Read the bound from the saved value `CONFIG`.

    Raises:
        BadValue: It is none that a core memory can have.
    """
    found = value.get("max_bytes") if isinstance(value, dict) else value
    if type(found) is int and CORE_MEMORY_BYTES_MIN <= found <= CORE_MEMORY_BYTES_MAX:
        return found
    wanted = f"a whole number from {CORE_MEMORY_BYTES_MIN} to {CORE_MEMORY_BYTES_MAX}"
    if isinstance(value, dict) and found is None:
        msg = f"it has no max_bytes ({wanted})"
    elif isinstance(value, dict) or type(found) is int:
        msg = f"its max_bytes is {_numbered(found)}, not {wanted}"
    else:
        msg = f"it is {_told(value)}, not an object with max_bytes ({wanted})"
    raise BadValue(msg)


def _numbered(value: JSON) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return dumps(value).decode() if is_number else _told(value)


def is_usable(key: str, value: JSON) -> bool:
    """Whether a saved value under a key of core memory is a block, or a configuration."""
    kind = type_of(key)
    try:
        if kind is not None:
            read_block(kind, value)
        elif key == CONFIG:
            read_max_bytes(value)
        else:
            return False
    except BadValue:
        return False
    return True


class CoreValues(NamedTuple):
    """What the saved values of a log come to, as core memory."""

    blocks: dict[MemoryBlockType, StoredBlock]
    """The blocks, in the order they are shown in."""
    max_bytes: int
    """How many bytes of contents there may be."""
    bad: dict[str, str]
    """Keys of core memory whose values could not be used, each with why."""
    raw: dict[str, JSON]
    """The saved values as they are, by key."""

    @classmethod
    def of(cls, saved: Mapping[str, JSON]) -> CoreValues:
        """Read core memory from the saved values of a log; the other ones are passed by."""
        raw = {key: value for key, value in saved.items() if key.startswith(PREFIX)}
        blocks: dict[MemoryBlockType, StoredBlock] = {}
        bad: dict[str, str] = {}
        max_bytes = CORE_MEMORY_BYTES_MAX
        for key, kind in _TYPES.items():
            if raw.get(key) is not None:
                try:
                    blocks[kind] = read_block(kind, raw[key])
                except BadValue as error:
                    bad[key] = str(error)
        if raw.get(CONFIG) is not None:
            try:
                max_bytes = read_max_bytes(raw[CONFIG])
            except BadValue as error:
                bad[CONFIG] = str(error)
        for key in raw:
            if key != CONFIG and key not in _TYPES:
                bad[key] = "there is no such type of a block"
        return cls(blocks, max_bytes, bad, raw)

    @property
    def large(self) -> dict[str, str]:
        """Keys of blocks that are larger than one may be, each with why."""
        found: dict[str, str] = {}
        for kind, stored in self.blocks.items():
            size = stored.block.size_bytes
            told = [f"its content is {size} bytes; a block holds {BLOCK_BYTES_MAX}"]
            told = told if size > BLOCK_BYTES_MAX else []
            for name, text, most in (
                ("label", stored.label, LABEL_BYTES_MAX),
                ("description", stored.description, DESCRIPTION_BYTES_MAX),
            ):
                size = size_of(text or "")
                told += [f"its {name} is {size} bytes; {most} are allowed"] if size > most else []
            if told:
                found[key_of(kind)] = ", and ".join(told)
        return found

    @property
    def used_bytes(self) -> int:
        """UTF-8 bytes of all contents."""
        return sum(each.block.size_bytes for each in self.blocks.values())

    @property
    def over_bytes(self) -> int:
        """By how many bytes the contents are more than there may be; 0: they are not."""
        return max(0, self.used_bytes - self.max_bytes)

    def shown(self) -> Iterator[MemoryBlock]:
        """Yield the blocks in the order they are shown in."""
        for each in self.blocks.values():
            yield each.block

    def memory(self) -> CoreMemory:
        """Return the model of it.

        Raises:
            Full: Another program put more than there may be.
            BlockTooLarge: A block is larger than it may be.
            LabelTooLong: A label is longer than it may be.
        """
        made = CoreMemory(CoreMemoryConfig(self.max_bytes))
        for block in self.shown():
            made.put_back(block)
        return made
