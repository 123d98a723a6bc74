"""Which sessions belong to a project: by the folder they worked in, never by a file's name.

Folders come from transcripts of any machine. They are compared by whole
parts, after Unicode's composed form (one folder can be written in two ways),
without ``.``, ``..`` and doubled slashes, and those of Windows without case
and with either slash. A folder that a transcript gives relative to nothing
is somewhere, so a path never finds it and a name does.
"""

# ruff: noqa: PTH100, PTH111 - Path.resolve follows links, and a transcript can have them unfollowed

from __future__ import annotations

import os
import re
import unicodedata
from typing import Final, NamedTuple

_WINDOWS: Final = re.compile(r"[A-Za-z]:(?:[\\/]|$)|\\\\")
"""How an absolute path of Windows begins: with a drive, or two backslashes."""

_LONG: Final = re.compile(r"\\\\[?.]\\(?:(UNC)\\|(?=[A-Za-z]:))", re.IGNORECASE)
"""What Windows puts in front of a path that may be long."""

_UNIX, _OF_WINDOWS, _NOWHERE = "unix", "windows", "nowhere"


class Folder(NamedTuple):
    """A folder, in a form in which two spellings of it are equal."""

    system: str
    """Whose path it is: ``unix``, ``windows``, or ``nowhere`` for one that is relative."""
    parts: tuple[str, ...]


def is_windows(path: str) -> bool:
    """Whether *path* is an absolute one of Windows."""
    return _WINDOWS.match(path) is not None


def folder_of(path: str) -> Folder:
    """Return the folder that *path* names, of whatever system; ``~`` is the home of the caller."""
    path = unicodedata.normalize("NFC", path)
    if is_windows(path):
        path = _LONG.sub(lambda found: "\\\\" if found[1] else "", path)
        # Why: there is nothing above a drive, or a share of a machine.
        top = 2 if path.startswith("\\") else 1
        return Folder(_OF_WINDOWS, _parts(_folded(path.replace("\\", "/")), top))
    if path == "~" or path.startswith("~/"):
        path = unicodedata.normalize("NFC", os.path.expanduser(path))
    return Folder(_UNIX if path.startswith("/") else _NOWHERE, _parts(path))


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path.casefold())


def _parts(path: str, top: int = 0) -> tuple[str, ...]:
    """Return the parts of a path; what ``..`` takes back is gone, but for the first *top*."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[max(top, len(parts) - 1) :]
        elif part not in ("", "."):
            parts.append(part)
    return tuple(parts)


class Project:
    """What ``--project`` asks for: a folder, or the name of one."""

    def __init__(self, words: str) -> None:
        """Take *words*: a path if there is a slash in it (or it is ``.``, ``..`` or ``~``)."""
        self._folders: tuple[Folder, ...] = ()
        self._word = unicodedata.normalize("NFC", words)
        if is_windows(words):
            self._folders = (folder_of(words),)
        elif "/" in words or words in (".", "..", "~"):
            # Why both: a transcript has the path as its tool saw it, links followed or not.
            path = os.path.abspath(os.path.expanduser(words))
            self._folders = tuple(map(folder_of, dict.fromkeys((path, os.path.realpath(path)))))

    def holds(self, cwd: str | None) -> bool:
        """Whether *cwd* is the folder or lies below it; of a name, has a part called so."""
        if cwd is None:
            return False
        own = folder_of(cwd)
        if not self._folders:
            return self._is_named(own)
        return any(
            above.system == own.system and own.parts[: len(above.parts)] == above.parts
            for above in self._folders
        )

    def _is_named(self, own: Folder) -> bool:
        if own.system != _OF_WINDOWS:
            return self._word in own.parts
        # Why several: a name of Windows' can be told with its folder's, and no slash.
        asked = _parts(_folded(self._word.replace("\\", "/")))
        run = range(len(own.parts) - len(asked) + 1)
        return bool(asked) and any(own.parts[at : at + len(asked)] == asked for at in run)
