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
        numbers: The lines of those in a source that are one event, by its `event_key`.
        probes: Texts of which one is in every line that has such a place.
        streamed: Sources in which messages were streamed in pieces.
        documents: Those of them that are one JSON document.
    """

    def __init__(self) -> None:
        self.spots: dict[bytes, list[Spot]] = {}
        self.lines: dict[tuple[str, int], list[Streamed]] = {}
        self.numbers: dict[tuple[str, bytes], set[int]] = {}
        self.probes: set[str] = set()
        self.streamed: set[str] = set()
        self.documents: set[str] = set()
        self._taken: set[tuple[str, int, Streamed]] = set()

    def parts_of(self, name: str, number: int, raw: bytes, *, is_record: bool) -> list[Streamed]:
        """Return what is to be masked of a line by its place in the source *name*.

        Why a record by its bytes: the lines of a log are not counted when they pass, and
        its stamp does not tell which one it is where lines are blank, missing or damaged.
        """
        if not self.lines:
            return []
        numbers = self.numbers.get((name, event_key(raw)), ()) if is_record else (number,)
        return [part for each in numbers for part in self.lines.get((name, each), ())]

    def take(self, name: str, keys: dict[int, bytes], parts: Iterable[Part], mask: str) -> bool:
        """Note that *parts* of the source *name* are one value; the first gets its mask.

        Args:
            name: The source.
            keys: The `event_key` of each line.
            parts: Where the value stands.
            mask: What is to stand there.

        Returns:
            Whether that is new.
        """
        is_new = False
        for part in parts:
            piece = Streamed(part.path, part.start, part.end, mask if part.is_first else "")
            if (name, part.line, piece) not in self._taken:
                self._taken.add((name, part.line, piece))
                self.numbers.setdefault((name, keys[part.line]), set()).add(part.line)
                self.lines.setdefault((name, part.line), []).append(piece)
                is_new = True
        return is_new
