"""What was found, where, and what is to become of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from agentmem_cli.operations.secrets.spans import Confidence
    from agentmem_cli.session.tokens import Path

Fate = Literal["mask", "structural", "name", "bytes", "stray", "allowed", "unsure"]
"""``mask``: it is masked. ``structural``: an id, a time, a signature,
a number: told, not changed.
``name``: the name of a file or session. ``bytes``: in bytes that are no text. ``stray``: in
something that is no log and no file of the session. ``allowed``: the user keeps it.
``unsure``: not masked unless ``--aggressive``."""


class Place(NamedTuple):
    """Where an event stands."""

    name: str
    """A file: ``logs/main.jsonl``, ``files/meta.json``, or the path of one outside a session."""
    line: int = 0
    """Counted from 1; 0: the file as a whole, or its name."""
    stamp: tuple[int, int] | None = None
    """``seq`` and ``n``, of a record."""


class Finding(NamedTuple):
    """A secret in one string."""

    place: Place
    path: Path
    """Keys and indices to the string; empty in a text."""
    is_key: bool
    start: int
    """Characters of that string; bytes, in a text."""
    end: int
    kind: str
    confidence: Confidence
    rule: str
    value: str
    """The secret itself. It never goes to a screen, a log or a file."""
    fate: Fate


class Unread(NamedTuple):
    """What could not be looked into, and why."""

    place: Place
    why: str


class Findings:
    """All that a look has found.

    Attributes:
        rows: Every finding, by place.
        unread: What could not be looked into.
        values: What is masked wherever it stands: the value, and its kind.
        parts: Lines of keys, masked wherever they stand as they are: the line, and its kind.
        opaque: Encrypted contents, which nobody here can look into. They are told.
        events: Records, documents and texts that were looked at.
        size: Bytes that were looked at.
    """

    def __init__(self) -> None:
        self.rows: list[Finding] = []
        self.unread: list[Unread] = []
        self.values: dict[str, str] = {}
        self.parts: dict[str, str] = {}
        self.opaque = 0
        self.events = 0
        self.size = 0

    def to_mask(self) -> list[Finding]:
        """Return what is to be masked."""
        return [row for row in self.rows if row.fate == "mask"]

    def left(self) -> list[Finding]:
        """Return what stays though it is sure: in structure, names, bytes that are no text."""
        return [row for row in self.rows if row.fate in {"structural", "name", "bytes", "stray"}]


def beyond(rows: list[Finding], told: list[Finding]) -> list[Finding]:
    """Return those of *rows* that stand in a string at no place where one of *told* does."""
    at: dict[tuple[str, int, Path], list[Finding]] = {}
    for each in told if rows else ():
        at.setdefault((each.place.name, each.place.line, each.path), []).append(each)
    return [
        row
        for row in rows
        if not any(
            row.start < each.end and each.start < row.end
            for each in at.get((row.place.name, row.place.line, row.path), ())
        )
    ]
