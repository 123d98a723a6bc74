"""Sources that need not be read again: the disk says that nobody has written to them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.adapter import MAIN
from agentmem_cli.operations.imports.maps import FOLDER, MAP_END, read_header, source_name
from agentmem_cli.operations.imports.opening import open_regular

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Stream, Transcript
    from agentmem_cli.operations.imports.maps import MapHeader
    from agentmem_cli.storage.directory import DirStore

HEADER_BYTES: Final = 64 << 10
"""More than a map's first line has."""

PIECE_BYTES: Final = 128 << 10
"""Bytes compared at once: two pieces stay in a processor's own cache, whatever it is."""

_SETTLED_MS: Final = 2_000
"""How long a file must have been left alone when it was read, for its times to tell a later
change: no disk's clock is coarser."""


def headers_of(store: DirStore) -> dict[str, MapHeader]:
    """Return the header of each map of a session, by the source's name among its files."""
    found: dict[str, MapHeader] = {}
    for name in store.files():
        if name.startswith(FOLDER) and name.endswith(MAP_END):
            with store.open_file(name) as file:
                header = read_header(file.read_at(0, HEADER_BYTES))
            if header is not None:
                found[name.removesuffix(MAP_END)] = header
    return found


def unchanged(
    transcript: Transcript, store: DirStore, *, keep_source: bool
) -> tuple[list[MapHeader] | None, bool]:
    """Return the headers of all sources of *transcript* where none holds another byte.

    That is told by size, both times and identity of the file, as long as it
    had been left alone for a while when it was read; else by comparing it with
    what is kept of it. Whatever does not fit is no error.

    Returns:
        None for the headers: it is not known so. And whether bytes were read.
    """
    found: list[MapHeader] = []
    read = False
    for stream in transcript.streams:
        header = _header_for(stream, store)
        if header is None or (keep_source and not header.kept):
            return None, read
        if not _is_as_seen(stream.path, header):
            read = True
            if not _is_as_kept(stream, store, header):
                return None, True
        found.append(header)
    return found or None, read


def _header_for(stream: Stream, store: DirStore) -> MapHeader | None:
    name = source_name(stream.name) + MAP_END
    try:
        # Why by its name first: looking for it costs more than all the rest.
        with store.open_file(name) as file:
            return read_header(file.read_at(0, HEADER_BYTES))
    except FileNotFoundError:
        if stream.agent != MAIN:
            return None
    headers = headers_of(store).values()
    return next((header for header in headers if header.agent == MAIN), None)


def _is_as_seen(path: Path, header: MapHeader) -> bool:
    # Why not there: Windows has no time that every change of a file sets.
    if os.name == "nt" or header.seen is None or header.made is None:
        return False
    found = path.stat()
    times = (found.st_mtime_ns, found.st_ctime_ns)
    if found.st_size != header.size or (*times, found.st_ino) != header.seen:
        return False
    return max(times) // 1_000_000 + _SETTLED_MS <= header.imported


def _is_as_kept(stream: Stream, store: DirStore, header: MapHeader) -> bool:
    """Whether a source is, byte for byte, what the session keeps of it."""
    if header.made is None or not header.kept == header.size == stream.path.stat().st_size:
        return False
    # Why not by the digest: to hash takes several times as long as to read both.
    try:
        kept = store.open_file(source_name(header.source))
    except FileNotFoundError:
        return False
    with kept, open_regular(stream.path) as file:
        return _are_same(file, kept.stream(), header.size)


def _are_same(one: FileIO, other: FileIO, size: int) -> bool:
    """Whether two files hold the same *size* bytes each, and no more."""
    # Why into the same memory each time: fresh memory costs more than the reading.
    left, right = bytearray(PIECE_BYTES), bytearray(PIECE_BYTES)
    done = 0
    while count := one.readinto(left):
        if other.readinto(right) != count:
            return False
        if left != right if count == PIECE_BYTES else left[:count] != right[:count]:
            return False
        done += count
    return done == size and not other.readinto(right)
