"""The files beneath a folder that may be transcripts, and what is passed by on the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.storage.layout import LOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

LINK: Final = "a symbolic link; links in a folder are not followed"
"""Why a link was passed by, one that leads nowhere too."""

SPECIAL: Final = "not a regular file"
"""Why a pipe, a socket or a device was passed by."""

ENDINGS: Final = (".jsonl", ".jsonl.zst", ".json")
"""How names end, in small letters; capitals are taken too."""


class Passed(NamedTuple):
    """Something that has a transcript's name, or may lead to some, and was not looked into."""

    path: Path
    why: str
    """`LINK` or `SPECIAL`."""


class Walk(NamedTuple):
    """What was found beneath a folder."""

    files: list[Path]
    """Regular files, sorted by their paths."""
    passed: list[Passed]
    """Sorted too."""
    unread: list[OSError]
    """One a folder that could not be looked into; each names it."""


def walk(
    folder: Path, endings: tuple[str, ...] = ENDINGS, without: frozenset[str] = frozenset()
) -> Walk:
    """Find the files beneath *folder* whose names end in one of *endings*.

    No link is followed, and nothing is opened but folders. Sessions of ours
    are not looked into: the sources that they keep are imported already.

    Args:
        folder: Where to look.
        endings: In small letters; capitals are taken too.
        without: Names of files and folders that are left out silently.
    """
    found = Walk([], [], [])
    for place, folders, names in os.walk(folder, onerror=found.unread.append):
        if LOCK in names:
            folders.clear()
            continue
        folders[:] = [name for name in folders if name not in without]
        found.passed.extend(Passed(path, LINK) for path in _links(place, folders))
        for name in names:
            if name not in without:
                _look(Path(place, name), name.lower().endswith(endings), found)
    found.files.sort()
    found.passed.sort()
    return found


def _look(path: Path, is_named: bool, found: Walk) -> None:  # noqa: FBT001 - of its own module
    try:
        mode = path.lstat().st_mode
    except OSError as error:
        found.unread.append(error)
        return
    if is_named and stat.S_ISREG(mode):
        found.files.append(path)
    elif is_named:
        found.passed.append(Passed(path, LINK if stat.S_ISLNK(mode) else SPECIAL))


def _links(place: str, folders: list[str]) -> Iterator[Path]:
    """Yield the links among folders; `os.walk` does not follow them."""
    for name in folders:
        path = Path(place, name)
        if path.is_symlink():
            yield path
