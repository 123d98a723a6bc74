"""What is to become of one file of a batch."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from agentmem_cli.storage.layout import META, file_path, log_of, split
from agentmem_cli.storage.logfile import BytesLog, OpenLog
from agentmem_cli.storage.streams import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentmem_cli.storage.files import Folder
    from agentmem_cli.storage.spool import Spool
    from agentmem_cli.storage.store import LogFile


class Target:
    """What is to become of one file."""

    __slots__ = ("heads", "keep", "kind", "lines", "old", "path", "shared", "spool")

    def __init__(self, path: str, old: int | None, spool: Spool) -> None:
        """Add nothing to a file of *old* bytes, to begin with (None: there is none)."""
        self.path = path
        self.old = old
        self.kind = "append"
        self.keep = old or 0
        self.spool = spool
        self.shared = False
        """Whether the file has another name as well (a hard link)."""
        self.lines: Iterable[bytes] | None = None
        """What is added besides, made when the batch ends."""
        self.heads: Sequence[bytes] = ()
        """How each of these lines begins."""

    @property
    def size(self) -> int:
        """Its bytes as the batch has left it."""
        return (self.keep if self.kind == "append" else 0) + self.spool.size

    def settle(self) -> bool:
        """Take the plainest form of the change; return whether there is one at all."""
        if self.kind == "remove":
            return self.old is not None
        if self.kind == "append" and self.old is None:
            # A new file appears whole: an append to nothing could leave an empty one.
            self.kind = "replace"
            return bool(self.spool.size) or log_of(self.path) is None
        return self.kind == "replace" or self.spool.size > 0 or self.keep != self.old

    @property
    def rank(self) -> int:
        """When it is made: new files, other files, logs, meta, removals.

        Blobs thus stand before the record that names them, and meta is never
        older than the logs it is of.
        """
        if self.kind == "remove":
            return 4
        if self.path == file_path(META):
            return 3
        if log_of(self.path) is not None:
            return 2
        return 0 if self.old is None else 1


def unshare(root: Folder, target: Target, renew: Callable[[Target], Spool]) -> None:
    """Make a new file of one that is added to and has another name: what that names stays.

    Args:
        root: The session directory.
        target: What is to become of the file.
        renew: Gives a target a new spool, of which its whole content is made.

    Raises:
        OSError: The system refused.
    """
    if not target.shared or target.kind != "append" or not target.settle():
        return
    added, (folders, name) = target.spool.content(), split(target.path)
    spool = renew(target)
    with root.walk(folders) as folder, folder.opened(name) as old:
        for chunk in chunks(old, 0, target.keep):
            spool.write(chunk)
    spool.write(added)


def open_target(root: Folder, path: str, target: Target | None) -> LogFile:
    """Open what will stand at the relative *path* below *root* when the batch is made.

    Raises:
        FileNotFoundError: Nothing will.
        OSError: The system refused.
    """
    if target is not None and target.kind == "replace":
        if not target.spool.part:
            return BytesLog(target.spool.content())
        target.spool.flush()
        return _open(root, target.spool.part)
    if target is None or target.kind == "remove" or target.old is None:
        gone = target is not None and target.kind == "remove"
        if target is not None and not gone and target.spool.size:
            return BytesLog(target.spool.content())
        return _open(root, path, gone=gone)
    opened = _open(root, path)
    opened.size = target.keep
    if not target.spool.size:
        return opened
    with opened:
        return BytesLog(opened.read_at(0, target.keep) + target.spool.content())


def _open(root: Folder, path: str, *, gone: bool = False) -> OpenLog:
    folders, name = split(path)
    if gone:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), root.where(path))
    with root.walk(folders) as folder:
        return OpenLog(folder.open(name, os.O_RDONLY))
