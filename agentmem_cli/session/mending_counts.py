"""What mending a log came to, and the bytes that go out of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.session.refiling import copied

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.session.source import OpenLog


class Counts(NamedTuple):
    """What a mended log came to."""

    edited: bool = False
    """Whether anything but a torn end changes."""
    lost: int = 0
    """Places that a side record of the kind `LOST` stands in now."""
    reset: int = 0
    """Changes that did not apply, and are resets now."""
    stamped: int = 0
    """Records that got the stamp of the place they stand in."""
    split: int = 0
    """Whole records that shared a line with others or with damaged bytes."""
    ends: int = 0
    """Line ends that were missing between whole records, and stand there now."""
    copies: int = 0
    """Records that stood twice, byte for byte, and stand once now."""
    clashes: int = 0
    """Records whose stamp another one has that stays."""
    moved: int = 0
    """Records that stood out of order."""
    header: int = 0
    """Whether the header was made anew: 1, else 0."""
    torn: int = 0
    """Bytes of the torn end."""
    tail: int = 0
    """Bytes at the log's end that are no record, and whose place nothing says."""
    aside: tuple[tuple[int, int], ...] = ()
    """Where in the old log the bytes lie that go out of it: offsets and lengths."""


_CONTROL: Final = re.compile(rb"[\0-\x1f]")
"""Bytes that stand in no record as it is written."""


def was_begun(data: bytes) -> bool:
    """Whether a torn end begins as a record that was only begun: it was never whole then."""
    return data.startswith(b'{"') and _CONTROL.search(data) is None


def tail_of(log: OpenLog, aside: Sequence[tuple[int, int]], torn: int) -> int:
    """Return how many of a log's last bytes go out of it, line ends between them.

    The *torn* bytes at its end are none of them where they are a record that was only begun:
    that was never whole, as far as they say.
    """
    end = log.size
    for offset, length in reversed(aside):
        if end - (offset + length) > 1:
            break
        end = offset
    if 0 < torn == log.size - end and was_begun(log.read_at(end, min(torn, CHUNK_BYTES))):
        return 0
    return log.size - end


def joined(log: OpenLog, aside: Sequence[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the bytes that go out of a log, a newline between one run and the next."""
    for index, (offset, length) in enumerate(aside):
        if index:
            yield b"\n"
        yield from copied(log, offset, offset + length)
