"""What an import did, or would do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.errors import AgentMemError
    from agentmem_cli.operations.imports.adapter import Flaw
    from agentmem_cli.session.session import TornTail


@dataclass(frozen=True, slots=True)
class Report:
    """What became of one source.

    Of every line of the source something is told: it is a record counted in
    ``types``, a flaw in ``lost`` and ``unusable``, the torn end, or blank.
    """

    source: Path
    """The file that was read."""
    kind: str
    """The adapter's word for its format."""
    session: str
    """The session's folder name under the root."""
    path: Path
    """The session's folder."""
    lines: int
    """Lines of the source, all its files together."""
    messages: int
    """Messages in the source, those known before included."""
    asides: int
    """Side records made of the source, those known before included."""
    values: int
    """Saved values put, those known before included."""
    agents: int
    """Agents with a log."""
    new: int
    """Messages, asides and values that this import added."""
    edited: int
    """Messages that the source has gone on with since, or of which a file beside it has come,
    and that were changed by this import."""
    known: int
    """Messages, asides and values that were there before."""
    blobs: int
    """Attachments written as files by this import."""
    bytes: int
    """Bytes of the source that were read."""
    types: dict[str, int] = field(default_factory=dict)
    """Every record of the source by its type."""
    left: dict[str, int] = field(default_factory=dict)
    """The records that nothing was made of, by type; they stand in the kept source only."""
    lost: int = 0
    """Places of the source that could not be used."""
    mended: int = 0
    """Places that were read in spite of damage, or though a file they refer to is not to be had."""
    unusable: tuple[Flaw, ...] = ()
    """The first of both, in order: line, byte and why."""
    torn: tuple[int, int | None, int] | None = None
    """Where the source is cut off: line, byte, and how many bytes were not used."""
    torn_ends: tuple[tuple[Path, tuple[int, int | None, int]], ...] = ()
    """The same of every file of it that is, each with its path; ``torn`` is the first."""
    restored: int = 0
    """What the session had lost since it was imported and this import put in again."""
    set_aside: tuple[TornTail, ...] = ()
    """Torn ends of logs that were moved out of the way."""
    titled: bool = False
    """Whether this import took the session's title from what stands beside the source."""
    created: bool = False
    """Whether the session was not there before."""
    older: bool = False
    """Whether it is an older copy: a beginning of what was imported of it before."""
    kept_source: bool = False
    """Whether the source's bytes are kept in the session."""
    dry_run: bool = False
    """Whether nothing was written on purpose."""
    alone: tuple[str, ...] = ()
    """Sessions that hold an agent of this one by itself, since it was imported without it."""
    forked_from: tuple[str, int | None] | None = None
    """The session that it is a fork of, and how many messages stand in both."""
    files: tuple[Path, ...] = ()
    """Every file that was read, the main one first."""

    @property
    def shared(self) -> int:
        """How many of its messages stand in the session that it is a fork of, too."""
        return (self.forked_from[1] or 0) if self.forked_from is not None else 0

    @property
    def nothing_new(self) -> bool:
        """Whether the source held nothing that the session did not."""
        return not (self.new or self.edited or self.restored or self.titled or self.created)


class Counts:
    """What was made of the sources."""

    __slots__ = (
        "asides",
        "blobs",
        "edited",
        "known",
        "messages",
        "new",
        "restored",
        "titled",
        "values",
    )

    def __init__(self) -> None:
        """Start at nothing."""
        self.messages = self.asides = self.values = 0
        self.new = self.edited = self.known = self.restored = 0
        self.blobs = 0
        self.titled = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of several sources: its report, or why there is none."""

    source: Path
    report: Report | None = None
    error: AgentMemError | OSError | None = None
    skipped: str | None = None
    """Why it was not tried: `folders.OTHER`, `folders.OLD`, or what `walking.Passed.why` says.
    Or `folders.WAITING`, beside the error that says what it holds instead of messages."""


def plural(lines: int) -> str:
    """Return a number of lines in words."""
    return "1 line" if lines == 1 else f"{lines} lines"
