"""What a person can do where the system refused, and where a change was not made for that."""

from __future__ import annotations

import errno
from typing import Final

_ROOM: Final = "Make room on the disk and run the command again."
_OWNER: Final = "Look at the owner and the mode of the file and of its folder."
_HINTS: Final = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "Raise the limit of a file's size (ulimit -f), or make the file smaller.",
    errno.EROFS: "Choose another folder, with --root or (of an export) -o.",
    errno.EACCES: _OWNER,
    errno.EPERM: _OWNER,
    errno.EMFILE: "Raise the limit of open files (ulimit -n).",
}

UNCHANGED: Final = "nothing was changed"


def hint_of(error: BaseException) -> str | None:
    """Return what can be done about a refusal of the system, or an error that it caused."""
    cause = error if isinstance(error, OSError) else error.__cause__
    return _HINTS.get(cause.errno or 0) if isinstance(cause, OSError) else None


def is_refusal(error: BaseException) -> bool:
    """Whether the system refused, or refused what an error is about."""
    return isinstance(error, OSError) or isinstance(error.__cause__, OSError)


def words_of(error: Exception) -> str:
    """Return what *error* says in words, without its number or a quoted path."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    where = f"{error.filename}: " if error.filename is not None else ""
    return f"{where}{error.strerror}"
