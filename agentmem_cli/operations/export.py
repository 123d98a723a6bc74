"""Giving sessions out: the source an import kept, or messages in a provider's shape."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import DamageError, NotFoundError
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.exports.anthropic import anthropic
from agentmem_cli.operations.exports.openai import openai
from agentmem_cli.operations.exports.openai_back import openai_back
from agentmem_cli.operations.exports.turns import turns
from agentmem_cli.operations.imports.adapter import MAIN
from agentmem_cli.operations.imports.beside import noted
from agentmem_cli.operations.imports.foreign import new_digest
from agentmem_cli.operations.imports.maps import FOLDER, MAP_END
from agentmem_cli.operations.imports.naming import safe_name, safe_path
from agentmem_cli.operations.imports.openai import KIND as OPENAI_MESSAGES
from agentmem_cli.operations.imports.sources import find_maps
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.storage.names import check_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agentmem_cli.operations.exports.turns import Left, Turn
    from agentmem_cli.operations.imports.beside import Beside
    from agentmem_cli.operations.imports.maps import OldMap
    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.storage.directory import DirStore

SHAPES: Final[dict[str, Callable[[Iterable[Turn], Left], Iterator[Object]]]] = {
    "openai": openai,
    "anthropic": anthropic,
}
"""The shapes of messages that there are."""

_WAITING_BYTES: Final = 256 << 10

_HEADER_BYTES: Final = 64 << 10
"""More than a map's first line has."""


def messages(
    entries: Sequence[Entry], shape: str, left: Left, *, kind: str | None = None
) -> Iterator[Object]:
    """Yield the messages of a conversation in a provider's shape.

    Calls and results always pair: a result stands behind its call, a call
    without one gets an error result that says so, a result without a call is
    left out. Texts that are empty are left out, an empty result says so.

    Args:
        entries: The conversation's entries.
        shape: A key of `SHAPES`.
        left: Where it is counted what was left out or said in other words.
        kind: The kind of source that the conversation was imported from, if
            it was: messages that were OpenAI's become again what they were.
    """
    if shape == "openai" and kind == OPENAI_MESSAGES:
        return openai_back(turns(entries, left), left)
    return SHAPES[shape](turns(entries, left), left)


def kind_of(store: DirStore, log: str) -> str | None:
    """Return the kind of source that an agent was imported from; None: it was not."""
    for name in store.files():
        if not (name.startswith(FOLDER) and name.endswith(MAP_END)):
            continue
        with store.open_file(name) as file:
            head = file.read_at(0, _HEADER_BYTES).partition(b"\n")[0]
        try:
            header = loads_object(head)
        except ValueError:
            continue
        if safe_name(str(header.get("agent"))) == log:
            return str(header.get("kind"))
    return None


def as_array(found: Iterable[Object], counted: list[int]) -> Iterator[bytes]:
    """Yield the bytes of a JSON array of *found*, one a line; *counted* gets their number."""
    waiting = [b"["]
    size = number = 0
    for number, message in enumerate(found, 1):
        waiting.append((b"\n" if number == 1 else b",\n") + dumps(message))
        size += len(waiting[-1])
        if size >= _WAITING_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    waiting.append(b"\n]\n")
    counted.append(number)
    yield b"".join(waiting)


class Original(NamedTuple):
    """A source that an import read."""

    name: str
    """What it was called, ``/``-separated."""
    stored: str
    """Its name among the session's files."""
    agent: str
    """The agent whose transcript it is, as the source names it."""
    size: int
    """Bytes that were read of it."""
    kept: int
    """Bytes of it that the session keeps; 0 where it was imported without its source."""
    key: bytes
    """The key of its digest; empty of a blob, whose name tells it."""
    digest: str
    """The keyed digest of the bytes that were read, hex; empty of a blob."""
    rewritten: int | None = None
    """When the bytes that are kept were rewritten in place, in ms; None: they are as they came."""

    @property
    def log(self) -> str:
        """The log that the agent has here, if its name had not to be made another's."""
        return safe_name(self.agent)


def originals(store: DirStore, agent: str | None = None) -> list[Original]:
    """Return the sources of an imported session, the main one first.

    What stood beside them in the session's own folder comes last.

    Args:
        store: The session.
        agent: The log of the agent whose source alone is wanted; None: all of them.

    Raises:
        NotFoundError: It was not imported, or there is no source of *agent*.
        DamageError: A map is damaged.
    """
    found = sorted(map(_original, find_maps(store)), key=lambda each: each.agent != MAIN)
    if not found:
        msg = f"{store.path.name}: no import made this session, so there is no original"
        raise NotFoundError(msg, hint="--as messages exports any session.")
    if agent is None:
        return [*found, *map(_beside, noted(store))]
    wanted = [each for each in found if agent in (each.log, each.agent)]
    if not wanted:
        msg = f"{store.path.name}: there is no source of the agent {agent!r} alone"
        raise NotFoundError(msg, hint="It came from another agent's; leave --agent out.")
    return wanted


def _original(old: OldMap) -> Original:
    header = old.header
    key = bytes.fromhex(header.key)
    return Original(
        header.source,
        old.name,
        header.agent,
        header.size,
        header.kept,
        key,
        header.digest,
        header.rewritten,
    )


def _beside(each: Beside) -> Original:
    key = bytes.fromhex(each.key)
    return Original(
        each.name, each.stored, MAIN, each.size, each.size, key, each.digest, each.rewritten
    )


def check_kept(store: DirStore, original: Original) -> None:
    """See that a source is kept, and what is kept of it is what was read.

    Raises:
        NotFoundError: It is not kept.
        DamageError: The kept bytes are others.
    """
    if original.size and not original.kept:
        msg = f"{original.name}: its bytes are not kept (it was imported with --no-source)"
        raise NotFoundError(msg, hint="Import it again without --no-source, if you have it still.")
    # Why: a blob is called by its digest, and has no other.
    hasher = new_digest(original.key) if original.key else hashlib.sha256()
    digest = original.digest or original.stored.rpartition("/")[2].partition(".")[0]
    size = 0
    for chunk in kept_bytes(store, original):
        hasher.update(chunk)
        size += len(chunk)
    if size != original.kept or (size == original.size and hasher.hexdigest() != digest):
        msg = f"files/{original.stored}: {size} bytes that are not those that were imported"
        raise DamageError(msg)


def kept_bytes(store: DirStore, original: Original) -> Iterator[bytes]:
    """Yield the bytes of a source as they are kept.

    Raises:
        DamageError: The file is gone.
        OSError: It cannot be read.
    """
    try:
        opened = store.open_file(original.stored)
    except FileNotFoundError:
        msg = f"files/{original.stored}: the kept source is gone"
        raise DamageError(msg) from None
    with opened as file:
        for offset in range(0, file.size, CHUNK_BYTES):
            yield file.read_at(offset, min(CHUNK_BYTES, file.size - offset))


def target_names(found: Sequence[Original]) -> list[str]:
    """Return a name below one folder for each source: its own where that is safe there.

    A name that leads out of the folder, or that another one has already
    (whatever the case), is made a safe one that is nobody else's.
    """
    taken: set[str] = set()
    names: list[str] = []
    for original in found:
        name = original.name if _is_safe(original.name) else safe_path(original.name)
        tries = (name, safe_path(original.stored.removeprefix(FOLDER)))
        free = (each for each in tries if each.casefold() not in taken)
        name = next(free, "") or safe_name(f"{name} {len(taken)}")
        taken.add(name.casefold())
        names.append(name)
    return names


def _is_safe(name: str) -> bool:
    try:
        check_name(name)
    except ValueError:
        return False
    # Why: there a colon names a drive or a stream, and some names are devices.
    return os.name != "nt" or safe_path(name) == name
