"""Which sessions belong to a project: by the folder they worked in, never by a file's name.

Folders come from transcripts of any machine. They are compared by whole
parts, after Unicode's composed form (one folder can be written in two ways),
and those of Windows without case and with either slash.
"""

# ruff: noqa: PTH100, PTH111 - Path.resolve follows links, and a transcript has the path unfollowed

from __future__ import annotations

import os
import re
import unicodedata
from typing import Final, NamedTuple

_WINDOWS: Final = re.compile(r"[A-Za-z]:(?:[\\/]|$)|\\\\")
"""How an absolute path of Windows begins: with a drive, or two backslashes."""

_LONG: Final = re.compile(r"\\\\[?.]\\(?=[A-Za-z]:)")
"""What Windows puts in front of a path that may be long."""


class Folder(NamedTuple):
    """A folder, in a form in which two spellings of it are equal."""

    windows: bool
    parts: tuple[str, ...]


def is_windows(path: str) -> bool:
    """Whether *path* is an absolute one of Windows."""
    return _WINDOWS.match(path) is not None


def folder_of(path: str) -> Folder:
    """Return the folder that *path* names, of whatever system."""
    path = unicodedata.normalize("NFC", path)
    windows = is_windows(path)
    if windows:
        path = _LONG.sub("", path).replace("\\", "/").casefold()
    return Folder(windows, tuple(part for part in path.split("/") if part not in ("", ".")))


class Project:
    """What ``--project`` asks for: a folder, or the name of one."""

    def __init__(self, words: str) -> None:
        """Take *words*: a path if there is a slash in it (or it is ``.``, ``..`` or ``~``)."""
        self._folder: Folder | None = None
        self._word = unicodedata.normalize("NFC", words)
        if is_windows(words):
            self._folder = folder_of(words)
        elif "/" in words or "\\" in words or words in (".", "..", "~"):
            # Why not resolved: a transcript has the path as its tool saw it, links and all.
            self._folder = folder_of(os.path.abspath(os.path.expanduser(words)))

    def holds(self, cwd: str | None) -> bool:
        """Whether *cwd* is the folder or lies below it; of a name, has a part called so."""
        if cwd is None:
            return False
        own = folder_of(cwd)
        if self._folder is None:
            return (self._word.casefold() if own.windows else self._word) in own.parts
        above = self._folder
        return above.windows == own.windows and own.parts[: len(above.parts)] == above.parts
