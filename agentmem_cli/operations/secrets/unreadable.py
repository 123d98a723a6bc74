"""Lines that are no text to any rule: packed, or of two bytes a character, behind lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.operations.secrets.blocks import lines_of
from agentmem_cli.operations.secrets.findings import Place, Unread
from agentmem_cli.session.rewriting import HEAD_BYTES
from agentmem_cli.session.textual import why_unread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.operations.secrets.blocks import Block


def unread_line(name: str, line: int, raw: bytes) -> list[Unread]:
    """Return why a line of a file cannot be looked into; empty where it can."""
    # Why looked at first: most lines are plain.
    why = why_unread(raw[:HEAD_BYTES]) if b"\0" in raw or not raw.isascii() else None
    return [] if why is None else [Unread(Place(name, line), why)]


def unread_lines(name: str, block: Block) -> Iterator[Unread]:
    """Yield what of a block cannot be looked into, line by line."""
    if b"\0" in block.data or b"\x1f\x8b" in block.data:
        for line, raw in enumerate(lines_of(block.data), block.line):
            yield from unread_line(name, line, raw)
