"""What a repair tells: what was mended, and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.writer import RECOVERED

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


class Repaired(NamedTuple):
    """What a repair came to."""

    done: tuple[Mended, ...]
    left: tuple[Left, ...]


_STEM_BYTES: Final = 180
"""Bytes of a log's name in that of a recovered file: the digest behind it needs the rest."""


def recovered_name(log: str, digest: str) -> str:
    """Return the name of the file for bytes of *log* that have the SHA-256 *digest*."""
    stem = log.encode()[:_STEM_BYTES].decode("utf-8", "ignore")
    return f"{RECOVERED}{stem}-{digest}.part"


def told_of(log: str, counts: Counts, file: str | None) -> Iterator[Mended]:
    """Yield what was done to one log."""
    size = sum(length for _, length in counts.aside)
    torn = 1 if counts.torn else 0
    if torn:
        yield Mended("torn-tail", log, f"{counts.torn} bytes were set aside", file)
    if len(counts.aside) > torn:
        why = f"{size - counts.torn} bytes were set aside"
        yield Mended("set-aside", log, why, file, len(counts.aside) - torn)
    told = (
        ("header", counts.header, "the header was made anew"),
        ("salvaged", counts.split, "whole records got lines of their own"),
        ("lost-record", counts.lost, "lost places were filled by a side record that says so"),
        ("reset", counts.reset, "changes that do not apply became resets"),
        ("order", counts.moved, "records that stood out of order stand in it"),
        ("stamp", counts.stamped, "records got the stamp of the place they stand in"),
        ("copy", counts.copies, "records stood twice and stand once"),
    )
    for kind, count, why in told:
        if count:
            yield Mended(kind, log, why, None, count)
