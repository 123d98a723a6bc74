"""What is to be masked by its place: found once, and asked for when the lines pass again."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.operations.secrets.deltas import Part
    from agentmem_cli.session.tokens import Path


class Spot(NamedTuple):
    """Characters of one string of an event, by the string's place among its leaves."""

    leaf: int
    start: int
    end: int
    mask: str
    """What is to stand there."""


class Streamed(NamedTuple):
    """Characters of a piece of a message that was streamed."""

    path: Path
    start: int
    end: int
    mask: str


def event_key(raw: bytes) -> bytes:
    """Return what tells an event from others: it is masked alike wherever it stands."""
    return blake2b(raw, digest_size=16).digest()


class Marks:
    """Places of what was found.

    Attributes:
        spots: Of events, by `event_key`.
        lines: Of pieces of streamed messages, by source and line.
        probes: Texts of which one is in every line that has such a place.
        streamed: Sources in which messages were streamed in pieces.
        documents: Those of them that are one JSON document.
    """

    def __init__(self) -> None:
        self.spots: dict[bytes, list[Spot]] = {}
        self.lines: dict[tuple[str, int], list[Streamed]] = {}
        self.probes: set[str] = set()
        self.streamed: set[str] = set()
        self.documents: set[str] = set()
        self._taken: set[tuple[str, int, Streamed]] = set()

    def take(self, name: str, parts: Iterable[Part], mask: str) -> bool:
        """Note that *parts* of the source *name* are one value; the first gets its mask.

        Returns:
            Whether that is new.
        """
        is_new = False
        for part in parts:
            piece = Streamed(part.path, part.start, part.end, mask if part.is_first else "")
            if (name, part.line, piece) not in self._taken:
                self._taken.add((name, part.line, piece))
                self.lines.setdefault((name, part.line), []).append(piece)
                is_new = True
        return is_new
