"""The lines of a map: what is written of a thing that was made, and its fingerprint."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.imports.adapter import MAIN, Kept, Noted, Said
from agentmem_cli.operations.imports.standing import value_code
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.keys import FORKED_FROM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.operations.imports.adapter import Item
    from agentmem_cli.operations.imports.maps import Known

_PRINT_BYTES: Final = 8


def fingerprint(key: bytes, item: Item, body: bytes) -> str:
    """Return the keyed fingerprint (hex) of an item's content and source time.

    Ids and line numbers do not count: a tool may add ids when it rewrites
    its own files.

    Args:
        key: The map's key.
        item: The item.
        body: What it says: a message's or value's JSON, an aside's kind.
    """
    return fingerprint_of(key, _KINDS[type(item)], item.time or 0, body)


def fingerprint_of(key: bytes, kind: str, time_ms: int, body: bytes) -> str:
    """Return the fingerprint of an item of a *kind* (``said``, ``noted``, ``kept``)."""
    head = b"%s %d " % (kind.encode(), time_ms)
    hasher = hashlib.blake2b(head, key=key, digest_size=_PRINT_BYTES)
    hasher.update(body)
    return hasher.hexdigest()


def is_print(key: bytes, known: Known, kind: str, time_ms: int, body: bytes) -> bool:
    """Whether *known* was such an item; the other arguments are `fingerprint_of`'s."""
    if kind == "kept" and known.code == value_code(FORKED_FROM):
        return True  # Why: the writer adds a place to this one's value.
    return fingerprint_of(key, kind, time_ms, body) == known.print


_KINDS: Final = {Said: "said", Noted: "noted", Kept: "kept"}


class Placed(NamedTuple):
    """Where an item came to stand."""

    log: str
    """The log's name."""
    n: int
    """The record's ``n``."""
    id: int
    """The entry's or aside's id; for a saved value it has no meaning."""


def _states(item: Said) -> bytes:
    """Return the fields of a message that a later import may change."""
    own = b',"open":true' if item.open else b""
    return own + b',"awaited":' + dumps(list(item.awaited)) if item.awaited else own


def map_line(
    item: Item, placed: Placed, print_: str, told: str, blobs: Sequence[str] = ()
) -> bytes:
    """Return an item's line of the map, its end included.

    Args:
        item: The item.
        placed: Where it stands.
        print_: Its fingerprint.
        told: Where its time was taken from; empty: the source says it.
        blobs: The names of the blobs that it refers to.
    """
    if isinstance(item, Said):
        own = b'"id":%d' % placed.id + _states(item)
    elif isinstance(item, Kept):
        own = b'"key":' + dumps(item.key)
    else:
        own = b'"aside":%d' % placed.id
    if placed.log != MAIN:
        own += b',"log":' + dumps(placed.log)
    if blobs:
        own += b',"blobs":' + dumps(list(blobs))
    if item.raw:
        own += b',"raw":' + dumps(item.raw)
    if told:
        own += b',"time":' + dumps(told)
    return b'{"line":%d,"n":%d,"fp":"%b",%b}\n' % (item.line, placed.n, print_.encode(), own)
