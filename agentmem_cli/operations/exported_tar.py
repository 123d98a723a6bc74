"""A whole session as a tar: the same bytes for the same session, whoever makes it and when.

Names are sorted, owners are nobody, modes are 0600 and 0700, and times are
those of the records. What is no part of a session (its lock, what a crash
left, what somebody put beside its folders) is not in it.
"""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import Stale, UsageError
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.imports.naming import safe_name
from agentmem_cli.session.heads import read_head
from agentmem_cli.storage.layout import (
    FILES,
    LOCK,
    LOGS,
    META,
    REDO,
    file_path,
    is_leftover,
    log_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.logfile import OpenLog

_BLOCK: Final = 512
"""Bytes that everything in a tar is a multiple of."""

_RECORD: Final = 20 * _BLOCK
"""Bytes that a whole tar is a multiple of."""

_MARK_BYTES: Final = 4 << 10
"""Bytes of both ends of a log, by which it is known again at the end."""

_FILE_MODE: Final = 0o600
_FOLDER_MODE: Final = 0o700


class Told(NamedTuple):
    """What an export holds."""

    logs: int
    files: int
    left: tuple[str, ...]
    """Names at the top of the session that are no part of it."""


def contents(store: DirStore) -> Told:
    """Say what a tar of *store* holds, and what of its folder is left out."""
    own = {LOGS, FILES, LOCK, REDO}
    with store.folder() as root:
        left = [
            each.name
            for each in root.entries()
            if each.name not in own and not is_leftover(each.name)
        ]
    return Told(len(store.logs()), len(store.files()), tuple(sorted(left)))


def check_whole(store: DirStore) -> None:
    """See that no change of several files waits to be finished.

    Raises:
        UsageError: One does.
    """
    if store.pending():
        msg = f"{store.path.name}: a change was cut short, and what is there is neither old nor new"
        raise UsageError(msg, hint="Any command that changes the session finishes it, or says why.")


def tar_of(store: DirStore) -> Iterator[bytes]:
    """Yield the bytes of a tar of *store*.

    No lock is taken: a log that grows meanwhile is in it as long as it was.

    Raises:
        Stale: Something was replaced meanwhile. What was yielded is no whole tar.
        OSError: A file cannot be read.
    """
    top = _top_name(store.path.name)
    logs, files = store.logs(), store.files()
    times = {log: _time_of(store, log) for log in logs}
    newest = max(times.values(), default=0)
    members: dict[str, tuple[str, int]] = {}
    for log in logs:
        members[log_path(log)] = (log, times[log])
    members.update((file_path(name), (name, newest)) for name in files)
    folders = {above for path in members for above in _above(path)}
    seen: dict[str, tuple[int, bytes, bytes]] = {}
    total = 0
    for path in sorted({"", *folders, *members}, key=lambda path: path.split("/")):
        if path not in members:
            header = _header(f"{top}/{path}".rstrip("/"), newest, None)
            total += len(header)
            yield header
            continue
        name, mtime = members[path]
        with _opened(store, path, name) as opened:
            header = _header(f"{top}/{path}", mtime, opened.size)
            total += len(header) + opened.size
            yield header
            seen[path] = _mark(opened, opened.size)
            yield from _data(path, opened)
            padding = -opened.size % _BLOCK
            total += padding
            if padding:
                yield bytes(padding)
    _check_same(store, members, seen)
    end = 2 * _BLOCK
    yield bytes(end + -(total + end) % _RECORD)


def _top_name(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        return safe_name(name)
    return name


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def _time_of(store: DirStore, log: str) -> int:
    """Return the time of a log's last record, in seconds; 0 where it has none."""
    last = read_head(store, log).last
    return 0 if last is None else min(max(last.t // 1000, 0), 8**11 - 1)


def _header(name: str, mtime: int, size: int | None) -> bytes:
    """Return the blocks that stand before a file of *size* bytes; None: a folder."""
    told = tarfile.TarInfo(name)
    told.mtime = mtime
    told.mode = _FOLDER_MODE if size is None else _FILE_MODE
    if size is None:
        told.type = tarfile.DIRTYPE
    else:
        told.size = size
    return told.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def _opened(store: DirStore, path: str, name: str) -> OpenLog:
    return store.open_log(name) if path == log_path(name) else store.open_file(name)


def _mark(opened: OpenLog, size: int) -> tuple[int, bytes, bytes]:
    begin = max(0, size - _MARK_BYTES)
    return size, opened.read_at(0, min(size, _MARK_BYTES)), opened.read_at(begin, size - begin)


def _data(path: str, opened: OpenLog) -> Iterator[bytes]:
    for offset in range(0, opened.size, CHUNK_BYTES):
        wanted = min(CHUNK_BYTES, opened.size - offset)
        data = opened.read_at(offset, wanted)
        if len(data) != wanted:
            raise Stale(path)
        yield data


def _check_same(
    store: DirStore,
    members: dict[str, tuple[str, int]],
    seen: dict[str, tuple[int, bytes, bytes]],
) -> None:
    """See that nothing was replaced since it was read; a log may have grown."""
    if store.pending():
        raise Stale(REDO)
    for path, (name, _) in members.items():
        if path == file_path(META):
            continue  # Why: it is a cache of the logs, and a listing brings it up to date.
        size, *_ = before = seen[path]
        try:
            with _opened(store, path, name) as opened:
                grown = opened.size >= size if path == log_path(name) else opened.size == size
                if not grown or _mark(opened, size) != before:
                    raise Stale(path)
        except FileNotFoundError:
            raise Stale(path) from None
