"""What a repair tells: what was mended, and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.mending_counts import Counts


class Mended(NamedTuple):
    """One thing that was mended, or would be."""

    kind: str
    """A word that scripts can rely on."""
    where: str
    """The log or file; empty: the session itself."""
    why: str
    """What was done."""
    file: str | None = None
    """Where bytes of it are now, among the session's files."""
    places: int = 1
    """How many places."""


class Left(NamedTuple):
    """What cannot be mended, and stays as it is."""

    kind: str
    where: str
    why: str


LOST_KINDS: Final = frozenset({"lost-log", "shorter-log", "lost-record", "missing-blob"})
"""What is gone: a repair notes it where it was, so that the rest can be used, and mends nothing."""


class Repaired(NamedTuple):
    """What a repair came to."""

    done: tuple[Mended, ...]
    """All that it changed, in its order."""
    left: tuple[Left, ...]

    @property
    def mended(self) -> tuple[Mended, ...]:
        """What is as it was meant to be."""
        return tuple(each for each in self.done if each.kind not in LOST_KINDS)

    @property
    def lost(self) -> tuple[Mended, ...]:
        """What is lost, and noted from now on."""
        return tuple(each for each in self.done if each.kind in LOST_KINDS)


def told_of(log: str, counts: Counts, file: str | None) -> Iterator[Mended]:
    """Yield what was done to one log."""
    size = sum(length for _, length in counts.aside)
    torn = 1 if counts.torn else 0
    if torn:
        yield Mended("torn-tail", log, f"{_bytes(counts.torn)} set aside", file)
    if len(counts.aside) > torn:
        why = f"{_bytes(size - counts.torn)} set aside"
        yield Mended("set-aside", log, why, file, len(counts.aside) - torn)
    told = (
        ("header", counts.header, "the header was made anew"),
        ("salvaged", counts.split, "whole records got lines of their own"),
        ("lost-record", counts.lost, "a side record stands there now and says so"),
        ("reset", counts.reset, "changes that do not apply became resets"),
        ("order", counts.moved, "records that stood out of order stand in it"),
        ("stamp", counts.stamped, "records got the stamp of the place they stand in"),
        ("copy", counts.copies, "records stood twice and stand once"),
        ("clash", counts.clashes, "records of a stamp that another one has went out of the log"),
    )
    for kind, count, why in told:
        if count:
            yield Mended(kind, log, why, None, count)


def _bytes(count: int) -> str:
    return "1 byte was" if count == 1 else f"{count:,} bytes were"
