"""One session as a listing needs it, in as few system calls as can be.

No lock, no store, no objects but the answer: a listing calls this thousands
of times. Links inside the session are never followed.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.limits import META_BYTES_MAX
from agentmem_cli.storage.folder import Place
from agentmem_cli.storage.layout import FILES, LOG_END, LOGS, META, REDO
from agentmem_cli.storage.logfile import OpenLog
from agentmem_cli.storage.names import check_log_name, is_log_name
from agentmem_cli.storage.watching import WATCH

if TYPE_CHECKING:
    from collections.abc import Iterator

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class Survey(NamedTuple):
    """What lies in one session directory.

    ``meta`` is the content of meta.json, None where there is none or it is
    larger than ``META_BYTES_MAX``; ``meta_size`` is its bytes (0: none) and
    ``meta_mtime_ns`` its time in nanoseconds. ``logs`` are name, bytes and
    time of each log, by name. ``old_layout`` says that a log stands at the
    top, ``unfinished`` that a change was cut short or is under way.
    """

    meta: bytes | None
    meta_size: int
    meta_mtime_ns: int
    logs: list[tuple[str, int, int]]
    old_layout: bool
    unfinished: bool


def survey(path: str) -> Survey:
    """Look at the session directory *path*.

    Raises:
        FileNotFoundError: It is not there.
        OSError: It is no directory, or it cannot be read.
    """
    if WATCH.tell is not None:
        WATCH.tell(0, 1)
    has_files = has_logs = old_layout = unfinished = False
    with os.scandir(path) as entries:
        for entry in entries:
            name = entry.name
            if name == FILES:
                has_files = entry.is_dir(follow_symlinks=False)
            elif name == LOGS:
                has_logs = entry.is_dir(follow_symlinks=False)
            elif name == REDO:
                unfinished = True
            elif name.endswith(LOG_END) and entry.is_file(follow_symlinks=False):
                old_layout = True
    meta, size, mtime_ns = _meta(f"{path}/{FILES}/{META}") if has_files else (None, 0, 0)
    logs = _logs(f"{path}/{LOGS}") if has_logs else []
    return Survey(meta, size, mtime_ns, logs, old_layout, unfinished)


def survey_in(root: Place) -> Survey:
    """Look at the open session directory *root* as `survey` does, whatever its path leads to.

    Raises:
        OSError: A folder in it cannot be read.
    """
    if root.fd is None:
        return survey(root.path)
    if WATCH.tell is not None:
        WATCH.tell(0, 1)
    found = {entry.name: entry for entry in root.entries()}
    old_layout = any(
        name.endswith(LOG_END) and entry.is_file(follow_symlinks=False)
        for name, entry in found.items()
    )
    meta, size, mtime_ns = None, 0, 0
    if FILES in found:
        # Why so: absent, a link or unreadable, the logs tell the same.
        with suppress(OSError), root.child(FILES) as files, files.opened(META) as descriptor:
            meta, size, mtime_ns = _content(descriptor)
    logs: list[tuple[str, int, int]] = []
    if LOGS in found and stat.S_ISDIR(root.lstat(LOGS).st_mode):
        with root.child(LOGS) as folder:
            logs = _logs_of(folder.entries())
    return Survey(meta, size, mtime_ns, logs, old_layout, REDO in found)


def has_log(path: str, log: str) -> bool:
    """Whether the session directory *path* has a log of this name, which is a safe one."""
    check_log_name(log)
    try:
        return stat.S_ISREG(os.lstat(f"{path}/{LOGS}/{log}{LOG_END}").st_mode)
    except OSError:
        return False


def glance(path: str) -> Survey:
    """Look at the session directory *path* as `survey` does, but for an older layout.

    Reading the directory itself is what a survey costs most by. It is enough
    of a look where the meta is one of ours and of the logs as they stand.

    Raises:
        OSError: A folder in it cannot be read.
    """
    if WATCH.tell is not None:
        WATCH.tell(0, 1)
    meta, size, mtime_ns = None, 0, 0
    if _is_folder(f"{path}/{FILES}"):
        meta, size, mtime_ns = _meta(f"{path}/{FILES}/{META}")
    logs = _logs(f"{path}/{LOGS}") if _is_folder(f"{path}/{LOGS}") else []
    # Why not lexists: it makes an exception of every session that is well.
    unfinished = os.access(f"{path}/{REDO}", os.F_OK)
    return Survey(meta, size, mtime_ns, logs, False, unfinished)  # noqa: FBT003 - a field


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _meta(path: str) -> tuple[bytes | None, int, int]:
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return None, 0, 0  # absent, a link or unreadable: the logs tell the same
    try:
        return _content(descriptor)
    finally:
        os.close(descriptor)


def _content(descriptor: int) -> tuple[bytes | None, int, int]:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        return None, 0, 0
    size = found.st_size
    data = os.read(descriptor, size) if size <= META_BYTES_MAX else None
    return data, size, found.st_mtime_ns


def _logs(path: str) -> list[tuple[str, int, int]]:
    with os.scandir(path) as entries:
        return _logs_of(entries)


def _logs_of(entries: Iterator[os.DirEntry[str]]) -> list[tuple[str, int, int]]:
    logs = []
    for entry in entries:
        name = _log_name(entry.name)
        if name and entry.is_file(follow_symlinks=False):
            found = entry.stat(follow_symlinks=False)
            logs.append((name, found.st_size, found.st_mtime_ns))
    logs.sort()
    return logs


# Why: thousands of sessions have logs of the same few names.
@lru_cache(maxsize=1_000)
def _log_name(file_name: str) -> str:
    """Return the log that a file's name says, or an empty text."""
    name = file_name.removesuffix(LOG_END)
    return name if name != file_name and is_log_name(name) else ""


def head_and_tail(
    path: str, log: str, head_bytes: int, tail_bytes: int
) -> tuple[bytes, bytes, int]:
    """Return the first and the last bytes of a log, and its size.

    Args:
        path: The session directory.
        log: The log's name.
        head_bytes: Bytes wanted of its beginning.
        tail_bytes: Bytes wanted of its end.

    Returns:
        Head, tail, size in bytes. In a log shorter than both together head
        and tail overlap; in one that is shorter than either, that is the log.

    Raises:
        FileNotFoundError: There is no such log.
        OSError: A link stands on the way, or the system refused.
    """
    check_log_name(log)
    with Place.at(path) as root, root.child(LOGS) as folder:
        opened = OpenLog(folder.open(f"{log}{LOG_END}", os.O_RDONLY))
    with opened:
        head = opened.read_at(0, head_bytes)
        if opened.size <= min(head_bytes, tail_bytes):
            return head, head, opened.size
        tail = opened.read_at(max(0, opened.size - tail_bytes), tail_bytes)
        return head, tail, opened.size
