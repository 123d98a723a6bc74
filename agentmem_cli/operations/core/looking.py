"""Core memory of a session as it stands, or stood at a place in time."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import NotFoundError
from agentmem_cli.operations.places import Place, check_unambiguous, resolve
from agentmem_cli.session.core_text import render
from agentmem_cli.session.core_values import PREFIX, CoreValues
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.reader import open_log
from agentmem_cli.session.source import LogSource
from agentmem_cli.session.values import ValuesFold

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.core_memory import MemoryBlockType
    from agentmem_cli.session.core_values import StoredBlock
    from agentmem_cli.session.fold import Cut
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.storage.directory import DirStore

NOW = "now"
BYTES_PER_TOKEN = 4
"""What a token is counted as, in UTF-8 bytes, rounded up: an estimate."""


class Seen(NamedTuple):
    """Core memory at a place in time."""

    log: str
    """The log whose saved values it is."""
    values: CoreValues
    damages: list[Damage]
    """What of the log could not be used."""
    n: int
    """The place behind the last record that counts."""


def log_of(store: DirStore, agent: str | None) -> str:
    """Return the log that holds core memory: an agent's, or the session's own.

    Raises:
        NotFoundError: There is no such agent.
        AmbiguousError: More than one begins so.
    """
    if agent is None or agent == SESSION:
        return SESSION
    from agentmem_cli.operations.catalog import choose_agent

    return choose_agent(store, agent)


def place_of(
    store: DirStore, log: str, words: str, *, now_ms: int, read_time: Callable[[str], int]
) -> Place:
    """Resolve a place in time for core memory; see `agentmem_cli.operations.places.resolve`.

    ``~N`` counts back in the log of the core memory; messages and compactions
    are those of the main agent where that is the session's own log.

    Raises:
        NotFoundError: The session has no such place.
        AmbiguousError: The place's ``n`` stands at more than one record.
        UsageError: The words are no place.
    """
    counted = log
    if log == SESSION and (words == "before-compaction" or words.startswith("m")):
        from agentmem_cli.operations.catalog import choose_agent

        counted = choose_agent(store, None)
    try:
        return resolve(store, counted, words, now_ms=now_ms, read_time=read_time)
    except FileNotFoundError:
        msg = f"log {counted!r} has no records yet, so there is no place {words}"
        raise NotFoundError(msg) from None


def follow(store: DirStore, log: str, cut: Cut | None = None) -> ValuesFold | None:
    """Read a log for the saved values of core memory, leniently; None: there is no log.

    Raises:
        AmbiguousError: The cut's ``n`` stands twice in the log.
        SessionError: The operating system refused.
    """
    try:
        source = LogSource(open_log(store, log), store)
    except FileNotFoundError:
        return None
    fold = ValuesFold(log, source, PREFIX)
    fold.run(cut)
    check_unambiguous(fold, cut)
    return fold


def look(store: DirStore, log: str, place: Place | None = None) -> Seen:
    """Return core memory at *place*; None: now. Without a log it is empty.

    Raises:
        AmbiguousError: The place's ``n`` stands twice in the log.
        SessionError: The operating system refused.
    """
    fold = follow(store, log, None if place is None else place.cut)
    if fold is None:
        return Seen(log, CoreValues.of({}), [], 0)
    return Seen(log, CoreValues.of(fold.newest()), fold.damages, fold.last_n + 1)


class Size(NamedTuple):
    """How large a text is."""

    bytes: int
    """In UTF-8."""
    characters: int
    tokens: int
    """An estimate, by `BYTES_PER_TOKEN`."""


def measure(text: str) -> Size:
    """Return how large *text* is."""
    size = len(encode(text))
    return Size(size, len(text), -(-size // BYTES_PER_TOKEN))


class Budget(NamedTuple):
    """What core memory takes of what it may, and of what is sent to a model."""

    used_bytes: int
    """Of all contents: what counts against the bound."""
    max_bytes: int
    content: Size
    """All contents together."""
    sent: Size
    """The text that a model sees, with tags and labels."""

    @property
    def available_bytes(self) -> int:
        """How many more bytes of content there is room for."""
        return max(0, self.max_bytes - self.used_bytes)

    @property
    def over_bytes(self) -> int:
        """How many bytes are too many."""
        return max(0, self.used_bytes - self.max_bytes)


def budget(values: CoreValues) -> Budget:
    """Return what the blocks of *values* take."""
    contents = "".join(each.content for each in values.blocks.values())
    sent = render(values.shown())
    return Budget(values.used_bytes, values.max_bytes, measure(contents), measure(sent))


def encode(text: str) -> bytes:
    """Return *text* in UTF-8; half of a surrogate pair takes 3 bytes."""
    return text.encode("utf-8", "surrogatepass")


def rendered(values: CoreValues, *, escape: bool = True) -> bytes:
    """Return the exact bytes that a model sees: UTF-8, whatever the blocks hold.

    Half of a surrogate pair is no text, and cannot be sent; U+FFFD, of as many
    bytes, stands for it.
    """
    return _HALF.sub("\ufffd", render(values.shown(), escape=escape)).encode()


_HALF: Final = re.compile("[\ud800-\udfff]")


def digest(data: bytes) -> str:
    """Return the SHA-256 of *data*, in hex digits."""
    return hashlib.sha256(data).hexdigest()


NONE = "none"
"""The hash of a block that is not there."""


def hash_of(block: StoredBlock | None) -> str:
    """Return the hash that ``--if-match`` takes of a block."""
    return NONE if block is None else block.digest()


def stored_of(
    values: CoreValues, block_type: MemoryBlockType, place: str | None = None
) -> StoredBlock:
    """Return a block that is to be there, as it is stored.

    Args:
        values: Core memory.
        block_type: The block's type.
        place: The words of the place that they stood at, which an error names; None: now.

    Raises:
        NotABlock: Another program put something else there.
        BlockNotFound: It is not there; `BlockNotThen` where *place* is told.
    """
    from agentmem_cli.errors import BlockNotFound
    from agentmem_cli.operations.core.refusals import BlockNotThen, NotABlock
    from agentmem_cli.session.core_values import key_of

    key = key_of(block_type)
    if key in values.bad:
        raise NotABlock(key, values.bad[key], forcible=False)
    found = values.blocks.get(block_type)
    if found is None:
        raise BlockNotFound(block_type) if place in (None, NOW) else BlockNotThen(block_type, place)
    return found
