"""What stands in a session's folders and is read by nobody.

A check that passed over it in silence would be cleaner than its reading was.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.storage.layout import (
    BLOBS,
    FILES,
    LOCK,
    LOG_END,
    LOGS,
    META,
    PART,
    PLUGINS,
    RECOVERED,
    REDO,
    file_path,
    is_leftover,
)
from agentmem_cli.storage.names import is_log_name, is_name

if TYPE_CHECKING:
    from collections.abc import Iterator


class Stray(NamedTuple):
    """One entry that no reader opens."""

    where: str
    """Its path below the session, with slashes."""
    kind: str
    """`LINK`, `BAD_NAME`, `NO_FILE` or `STRAY`."""


LINK: Final = "link"
"""A symbolic link: never followed."""
BAD_NAME: Final = "bad-name"
"""A log whose name no reader takes."""
STRAY: Final = "stray"
"""Neither a log nor a file of a session."""
NO_FILE: Final = "no-file"
"""A folder, a pipe or a device where a file belongs: a lock, a meta, a log, a blob."""


def strays(session: Path) -> Iterator[Stray]:
    """Yield the links, and what is neither a log nor a file.

    Leftovers are none; links are not followed.
    """
    yield from _no_files(session)
    yield from _beside(session)
    for top in (LOGS, FILES):
        if (session / top).is_symlink():
            yield Stray(top, LINK)
            continue
        for place, folders, files in os.walk(session / top):
            above = Path(place)
            for name in sorted([*folders, *files]):
                where = (above / name).relative_to(session).as_posix()
                if (above / name).is_symlink():
                    yield Stray(where, LINK)
                elif not _is_known(where, above / name):
                    yield Stray(where, _kind_of(where, above / name))


def _beside(session: Path) -> Iterator[Stray]:
    """Yield what stands beside the two folders and is none of the session's."""
    with suppress(FileNotFoundError), os.scandir(session) as entries:
        names = sorted(entry.name for entry in entries)
        for name in names:
            if name not in {LOGS, FILES, LOCK, REDO} and not is_leftover(name):
                yield Stray(name, STRAY)


def _no_files(session: Path) -> Iterator[Stray]:
    for where in (LOCK, REDO, file_path(META)):
        path = session / where
        if path.is_symlink():
            if where != file_path(META):  # that is met among the files
                yield Stray(where, LINK)
        elif path.exists() and not path.is_file():
            yield Stray(where, NO_FILE)
    inner = [file_path(name.rstrip("/")) for name in (RECOVERED, BLOBS, PLUGINS)]
    for where in (LOGS, FILES, *inner):
        path = session / where
        if path.exists() and not path.is_symlink() and not path.is_dir():
            yield Stray(where, NO_FILE)


def _kind_of(where: str, path: Path) -> str:
    """Return what an entry is that no reader opens, and that is no link."""
    top, _, name = where.partition("/")
    is_log = top == LOGS and name.endswith(LOG_END)
    if is_log and is_log_name(name.removesuffix(LOG_END)):
        return NO_FILE
    if is_log and path.is_file():
        return BAD_NAME
    return NO_FILE if top == FILES and not path.is_file() else STRAY


def _is_known(where: str, path: Path) -> bool:
    """Whether an entry is read, leads to what is, or is a leftover (told of elsewhere)."""
    top, _, name = where.partition("/")
    if is_leftover(where):
        # Why not a folder: no program leaves one that is called so, and none takes it away.
        return path.is_symlink() or not (path.is_dir() and where.endswith(PART))
    if where in {file_path(META), file_path(RECOVERED.rstrip("/"))}:
        return True  # whatever it is, it is told of
    if path.is_dir():
        return top == FILES and not _is_blob(name)
    if not path.is_file():
        return False
    if top == FILES:
        return is_name(name)
    return name.endswith(LOG_END) and is_log_name(name.removesuffix(LOG_END))


def _is_blob(name: str) -> bool:
    """Whether a name below ``files/`` is one that a blob has."""
    digest = name.removeprefix(BLOBS).partition(".")[0]
    return name.startswith(BLOBS) and len(digest) == _DIGEST and _HEX.issuperset(digest)


_DIGEST: Final = 64
_HEX: Final = frozenset("0123456789abcdef")
