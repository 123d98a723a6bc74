"""What root makes in somebody's folder is that somebody's: else its owner would be shut out.

Only what was made a moment ago is given away, and by its descriptor: who owns the
folder may put other things in its place meanwhile.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

_OPEN_FOLDER: Final = (
    os.O_RDONLY
    | getattr(os, "O_DIRECTORY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


def give_file(descriptor: int, folder: int | None) -> None:
    """Give a new file to who owns the folder that it was made in.

    Args:
        descriptor: The file, open; nobody had it before.
        folder: The folder's descriptor; None: the system has no owners that matter (Windows).
    """
    if folder is None or not _is_root():
        return
    above = os.fstat(folder)
    if above.st_uid:
        with suppress(OSError):  # some disks have no owners
            os.fchown(descriptor, above.st_uid, above.st_gid)


def make_folder(path: str, mode: int, *, dir_fd: int | None = None) -> None:
    """Make a folder, of who owns the one that it is made in.

    Raises:
        OSError: The system refused.
    """
    os.mkdir(path, mode, dir_fd=dir_fd)
    if _is_root():
        with suppress(OSError):
            _give_folder(path, dir_fd)


def _give_folder(path: str, dir_fd: int | None) -> None:
    above = os.stat(os.path.dirname(os.path.abspath(path))) if dir_fd is None else os.fstat(dir_fd)
    if not above.st_uid:
        return
    descriptor = os.open(path, _OPEN_FOLDER, dir_fd=dir_fd)
    try:
        # Why looked into: another folder of root's may stand there by now, with things in it.
        if os.fstat(descriptor).st_uid == 0 and not os.listdir(descriptor):
            os.fchown(descriptor, above.st_uid, above.st_gid)
    finally:
        os.close(descriptor)


def _is_root() -> bool:
    return os.name != "nt" and os.geteuid() == 0
