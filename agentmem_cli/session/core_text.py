"""Core memory as the text that a model sees, back again, and what in it is suspicious.

A block cannot forge another: in contents and labels ``<`` is written ``&lt;``
where a tag of this text would follow, in any case and behind spaces and
slashes, and ``&`` is written ``&amp;`` where it would read as one of the three
entities. All else, ordinary code above all, stands as it is. Reading back is
one pass from the left, so that the two are inverse for every text.

Source: DESIGN.md, "Core memory".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import NotCoreMemory
from agentmem_cli.session.core_memory import CoreMemory, CoreMemoryConfig, MemoryBlockType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.session.core_memory import MemoryBlock

BEGIN: Final = "<core_memory>\n"
END: Final = "</core_memory>"

_TAG: Final = re.compile(r"<(?=[\s/]*(?:block|core_memory))", re.IGNORECASE)
_ENTITY: Final = re.compile(r"&(?=(?:lt|amp|quot);)")
_ESCAPED: Final = re.compile(r"&(lt|amp|quot);")
_TYPES: Final = frozenset(each.value for each in MemoryBlockType)
_SIGNS: Final = {"lt": "<", "amp": "&", "quot": '"'}

_BLOCK: Final = re.compile(
    r'<block type="([a-z]+)"(?: label="([^"]*)")?>\n(.*?)\n</block>\n', re.DOTALL
)


def render(blocks: Iterable[MemoryBlock], *, escape: bool = True) -> str:
    """Return the text of *blocks*, which come in the order they are shown in.

    Args:
        blocks: The blocks.
        escape: Whether contents and labels are kept from forging a tag.
    """
    parts = [BEGIN]
    for block in blocks:
        content, label = block.content, block.label
        if escape:
            content = _escaped(content)
            label = None if label is None else _escaped(label).replace('"', "&quot;")
        told = "" if label is None else f' label="{label}"'
        parts.append(f'<block type="{block.block_type.value}"{told}>\n{content}\n</block>\n')
    parts.append(END)
    return "".join(parts)


def _escaped(text: str) -> str:
    return _TAG.sub("&lt;", _ENTITY.sub("&amp;", text))


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: _SIGNS[found[1]], text)


def parse(text: str, *, config: CoreMemoryConfig | None = None, clock_ms: int = 0) -> CoreMemory:
    """Return the core memory that *text* was rendered from: its blocks, with fresh ids.

    Args:
        text: What `render` gave; a newline more at the end does no harm.
        config: How much it may hold; None: the default.
        clock_ms: When the blocks count as set, ms since 1970-01-01 UTC.

    Raises:
        NotCoreMemory: It is no such text; the place is told.
        CoreMemoryError: A block, a label or all of them are too large.
    """
    memory = CoreMemory(config)
    memory.set_clock_ms(clock_ms)
    if not text.startswith(BEGIN):
        raise NotCoreMemory(0, "it does not begin with <core_memory>")
    at = len(BEGIN)
    while (found := _BLOCK.match(text, at)) is not None:
        name, label, content = found.groups()
        if name not in _TYPES or memory.has_block(name):
            raise NotCoreMemory(at, f"{name!r} is no type of a block, or stands twice")
        if label is None:
            memory.set_block(name, _plain(content))
        else:
            memory.set_block_with_label(name, _plain(label), _plain(content))
        at = found.end()
    if text[at:] not in (END, END + "\n"):
        raise NotCoreMemory(at, "neither a block nor the end stands there")
    return memory


class Suspicion(NamedTuple):
    """Something in a block that a reader may be deceived by."""

    block_type: MemoryBlockType
    where: str
    """``content`` or ``label``."""
    line: int
    """Counted from 1."""
    column: int
    """In characters, counted from 1."""
    kind: str
    """``tag``, ``invisible``, ``bidi``, ``control`` or ``surrogate``."""
    shown: str
    """What stands there, made visible."""


_SUSPICIOUS: Final = re.compile(
    r"(?P<tag><[\s/]*(?:block|core_memory|system|human|assistant)\b[^>\n]{0,40}>?)"
    r"|(?P<invisible>[\U000e0000-\U000e007f\u200b\u2060-\u2064\ufeff\u00ad]+)"
    r"|(?P<bidi>[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+)"
    r"|(?P<control>[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+|\r(?!\n))"
    r"|(?P<surrogate>[\ud800-\udfff]+)",
    re.IGNORECASE,
)


def lint(memory: CoreMemory) -> list[Suspicion]:
    """Return what in the blocks may deceive.

    That is what looks like a tag, cannot be seen, drives a terminal, or is half of a
    surrogate pair, which is no text.
    """
    return lint_blocks(memory.blocks_ordered())


def lint_blocks(blocks: Iterable[MemoryBlock]) -> list[Suspicion]:
    """Return the same as `lint` of blocks that may be more than a core memory holds."""
    found: list[Suspicion] = []
    for block in blocks:
        for where, text in (("label", block.label or ""), ("content", block.content)):
            for match in _SUSPICIOUS.finditer(text):
                before = text[: match.start()]
                line_start = before.rfind("\n") + 1
                found.append(
                    Suspicion(
                        block.block_type,
                        where,
                        before.count("\n") + 1,
                        match.start() - line_start + 1,
                        str(match.lastgroup),
                        _visible(match[0]),
                    )
                )
    return found


_SHOWN_MAX: Final = 16


def _visible(text: str) -> str:
    """Return *text* with what cannot be seen spelled out, the beginning of a long one."""
    shown = "".join(
        each if each.isprintable() else f"U+{ord(each):04X} " for each in text[:_SHOWN_MAX]
    )
    return shown.strip() + ("…" if len(text) > _SHOWN_MAX else "")
