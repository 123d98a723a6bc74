"""Opening what stands in a folder of somebody else's: never waiting, and regular files alone."""

from __future__ import annotations

import errno
import os
import stat
from io import FileIO
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

# Why: to open a pipe is to wait for its writer. To a regular file it makes no difference.
_AT_ONCE: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def open_regular(path: Path) -> FileIO:
    """Open the regular file *path* for reading, without a buffer.

    Links are followed: whether one may be is for the caller to say (`is_plain`).

    Raises:
        OSError: It cannot be opened, or is no regular file.
    """
    # Why before opening: some devices do something when they are opened.
    _check(path, path.stat().st_mode)
    opened = FileIO(path, opener=lambda name, flags: os.open(name, flags | _AT_ONCE))
    try:
        _check(path, os.fstat(opened.fileno()).st_mode)
    except BaseException:
        opened.close()
        raise
    return opened


def _check(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def is_plain(path: Path) -> bool:
    """Whether *path* is a regular file and no link; what cannot be looked at is none."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False
