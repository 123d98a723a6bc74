"""The map beside a kept source: how far it was read, and which line became what.

It is JSON lines. The first is the header; then one a thing that was made, in
the source's order::

    {"line":7,"n":12,"fp":"9c0f…","id":4,"raw":"aa00bb07"}

``log`` stands there where it is not the main agent's, ``id`` for a message,
``aside`` for an aside, ``key`` for a saved value; ``blobs`` names the blobs
that a message refers to, ``awaited`` the files beside the source that it
refers to and that were not to be had. ``time`` tells where the source did not say when:
``before`` (the time of the one before it was taken), ``after`` (of the next)
or ``file`` (the file's own). ``fp`` is a keyed fingerprint of content and
source time: a source whose bytes were rewritten is known again by the
sequence of them.
"""

from __future__ import annotations

import hashlib
import os
from io import BytesIO
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import DamageError
from agentmem_cli.operations.imports.adapter import MAIN
from agentmem_cli.operations.imports.naming import safe_path
from agentmem_cli.operations.imports.standing import aside_code, entry_code, value_code
from agentmem_cli.session.codec import dumps, loads, loads_fast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentmem_cli.session.codec import JSON, Object

FOLDER: Final = "plugins/import/"
"""Where sources and maps stand among a session's files."""

MAP_END: Final = ".map.jsonl"
"""How a map's name ends; before it stands its source's."""

BESIDE_END: Final = ".beside.jsonl"
"""How the name of `beside.NOTES` ends."""

VERSION: Final = 1
"""Of the map, and of what adapters make: fingerprints of another one say nothing."""

NO_DIGEST: Final = "-"
"""What stands for a digest or a fingerprint that may not be told: it equals none."""

NO_PRINT: Final = NO_DIGEST

_HINT: Final = "Import with --again as a new session, or restore the file."

_KEY_BYTES: Final = 16


class MapHeader(NamedTuple):
    """How far a source was read."""

    kind: str
    """The adapter's kind."""
    source: str
    """The source's name, as it was."""
    agent: str
    """The agent whose transcript it is."""
    size: int
    """Bytes that were read."""
    whole: int
    """Bytes up to the last whole record: less where the end was torn."""
    lines: int
    """Lines that were read."""
    items: int
    """Lines of this map after the header."""
    kept: int
    """Bytes of the source that are kept in the session; 0: it is not kept."""
    key: str
    """The key of digest and fingerprints, hex; fresh for every source."""
    digest: str
    """The keyed digest of the bytes that were read, hex."""
    imported: int
    """When, ms since 1970-01-01 UTC."""
    ends: Mapping[str, tuple[int, int]]
    """By the log: its bytes, and its last ``n``, right after this import."""
    body: str
    """The digest of this map's other lines, hex: `body_digest`."""
    seen: tuple[int, int, int] | None = None
    """`foreign.ForeignFile.seen` of the source then; None: an older version wrote this."""
    made: tuple[int, int, int] | None = None
    """How many messages, asides and saved values there are; None: as for ``seen``."""
    path: str = ""
    """Where the source stood, links resolved; empty: as for ``seen``."""
    rewritten: int | None = None
    """When the source, as it is kept, or what is said of it here, was rewritten in place, in ms;
    None: neither was."""

    def encode(self) -> bytes:
        """Return the map's first line."""
        ends: Object = {log: list(end) for log, end in self.ends.items()}
        seen = None if self.seen is None else list(self.seen)
        made = None if self.made is None else list(self.made)
        fields = {**self._asdict(), "ends": ends, "seen": seen, "made": made}
        if self.rewritten is None:
            del fields["rewritten"]
        return dumps({"map": VERSION, **fields}) + b"\n"


class Known(NamedTuple):
    """Something that was imported before."""

    map_line: bytes
    """Its line of the map, without the end."""
    line: int
    """The source line it came from, counted from 1."""
    print: str
    """Its fingerprint."""
    open: bool
    """Whether the source may still go on with it."""
    log: str
    """The log it is in."""
    id: int | None
    """The entry's id, for a message."""
    n: int
    """The ``n`` of its record."""
    code: int
    """What it is, as `standing.LogIndex` says it."""
    blobs: tuple[str, ...]
    """The blobs that a message refers to."""
    awaited: tuple[str, ...] = ()
    """`adapter.Said.awaited` of it."""


class OldMap:
    """A map that was read."""

    def __init__(self, name: str, data: bytes) -> None:
        """Read the map *data* of the source kept as *name*.

        Raises:
            DamageError: It is no map of this version.
        """
        self.name = name
        self._data = data
        end = data.find(b"\n")
        head = data if end < 0 else data[:end]
        self._begin = len(head) + 1
        try:
            self.header = _header(head)
        except (ValueError, KeyError, TypeError) as error:
            msg = f"files/{name}{MAP_END}: not a map of this version ({error})"
            raise DamageError(msg, hint=_HINT) from None

    @property
    def is_whole(self) -> bool:
        """Whether its lines are, byte for byte, those that its header was written for."""
        digest = body_digest()
        digest.update(memoryview(self._data)[self._begin :])
        return digest.hexdigest() == self.header.body

    @property
    def data(self) -> bytes:
        """The whole map."""
        return self._data

    @property
    def lines(self) -> list[bytes]:
        """All its lines behind the header; the last one is what follows the last line's end."""
        return self._data[self._begin :].split(b"\n")

    def counts(self) -> tuple[int, int, int]:
        """Return how many messages, asides and saved values it holds."""
        # Why by text: a quote inside a string is escaped, so these stand between fields only.
        fields = (b'","id":', b'","aside":', b'","key":')
        if self.header.made is not None:
            return self.header.made
        messages, asides, values = (sum(each in line for line in self._lines()) for each in fields)
        return messages, asides, values

    def blobs(self) -> set[str]:
        """Return the names of all blobs that its things refer to."""
        return {name for known in self._having(b',"blobs":[') for name in known.blobs}

    def awaiting(self) -> Iterator[Known]:
        """Yield the messages that refer to files which were not to be had."""
        return self._having(b',"awaited":[')

    def _having(self, field: bytes) -> Iterator[Known]:
        # Why by text: as in `counts`. Most maps have no such line, so all are looked at first.
        if field in self._data:
            yield from (_known(line) for line in self._lines() if field in line)

    def _lines(self) -> Iterator[bytes]:
        """Yield its whole lines behind the header, without their ends."""
        # Why not split: most of the times a map is read, nothing but its digest is asked for.
        lines = BytesIO(self._data)
        lines.seek(self._begin)
        for line in lines:
            if line.endswith(b"\n"):
                yield line[:-1]

    def known(self) -> Iterator[Known]:
        """Yield what was imported, in the source's order.

        Raises:
            DamageError: A line is damaged.
        """
        count = 0
        for count, line in enumerate(self._lines(), 1):
            try:
                yield _known(line)
            except (ValueError, KeyError, TypeError):
                msg = f"files/{self.name}{MAP_END}, line {count + 1}: damaged"
                raise DamageError(msg, hint=_HINT) from None
        if count != self.header.items or not self._data.endswith(b"\n"):
            msg = f"files/{self.name}{MAP_END}: {count} lines, not {self.header.items}"
            raise DamageError(msg, hint=_HINT)


def _known(line: bytes) -> Known:
    try:
        value = loads_fast(line)
    except ValueError:
        value = loads(line)  # Why: a foreign id can hold half a character.
    if not isinstance(value, dict):
        msg = "no object"
        raise TypeError(msg)
    entry = value.get("id")
    blobs, awaited = value.get("blobs", []), value.get("awaited", [])
    if isinstance(entry, int):
        code = entry_code(entry)
    elif "key" in value:
        code = value_code(_string(value["key"]))
    else:
        code = aside_code(_number(value["aside"]))
    return Known(
        line,
        _number(value["line"]),
        _string(value["fp"]),
        value.get("open") is True,
        _string(value.get("log", MAIN)),
        entry if isinstance(entry, int) else None,
        _number(value["n"]),
        code,
        tuple(map(_string, blobs)) if isinstance(blobs, list) else (),
        tuple(map(_string, awaited)) if isinstance(awaited, list) else (),
    )


def read_header(data: bytes) -> MapHeader | None:
    """Return the header that a map begins with; None: it is none of this version.

    Args:
        data: The map, or the beginning of it.
    """
    try:
        return _header(data.partition(b"\n")[0])
    except (ValueError, KeyError, TypeError):
        return None


def _header(line: bytes) -> MapHeader:
    value = loads(line)
    if not isinstance(value, dict) or value.pop("map", None) != VERSION:
        msg = "no header"
        raise ValueError(msg)
    text = {key: _string(value[key]) for key in ("kind", "source", "agent", "key", "digest")}
    number = {key: _number(value[key]) for key in _NUMBERS}
    header = MapHeader(
        text["kind"],
        text["source"],
        text["agent"],
        number["size"],
        number["whole"],
        number["lines"],
        number["items"],
        number["kept"],
        text["key"],
        text["digest"],
        number["imported"],
        _ends(value.get("ends")),
        _string(value.get("body", "")),
        _three(value.get("seen")),
        _three(value.get("made")),
        _string(value.get("path", "")),
        None if value.get("rewritten") is None else _number(value["rewritten"]),
    )
    bytes.fromhex(header.key)
    return header


def _ends(value: JSON) -> dict[str, tuple[int, int]]:
    """Read the logs' ends; without them nothing is taken for unchanged unseen."""
    ends = {}
    for log, end in value.items() if isinstance(value, dict) else ():
        if isinstance(end, list) and len(end) == len(("bytes", "n")):
            ends[log] = (_number(end[0]), _number(end[1]))
    return ends


def _three(value: JSON) -> tuple[int, int, int] | None:
    if not isinstance(value, list):
        return None
    one, two, three = map(_number, value)
    return one, two, three


_NUMBERS: Final = ("size", "whole", "lines", "items", "kept", "imported")


def _number(value: object) -> int:
    if type(value) is not int or value < 0:
        msg = f"{value!r} is no number"
        raise ValueError(msg)
    return value


def _string(value: object) -> str:
    if not isinstance(value, str):
        msg = f"{value!r} is no text"
        raise TypeError(msg)
    return value


def source_name(name: str) -> str:
    """Return the name that a source called *name* is kept under, among the session's files."""
    safe = safe_path(name)
    return FOLDER + (f"{safe}_" if safe.endswith((MAP_END, BESIDE_END)) else safe)


def body_digest() -> hashlib.blake2b:
    """Return the hash of a map's lines behind its header, their ends included."""
    return hashlib.blake2b(digest_size=_KEY_BYTES)


def new_key() -> str:
    """Return a fresh key, hex."""
    return os.urandom(_KEY_BYTES).hex()
