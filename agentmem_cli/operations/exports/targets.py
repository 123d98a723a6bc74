"""Where an export may be written: what stands at a path, and whether it may go.

Everything is looked at before the first byte is written, and told with what
to do. Of folders only the one that was asked for is made, not those above
it: a path that is mistyped would be made too.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from agentmem_cli.errors import ConflictError, NotFoundError, UsageError
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.imports.foreign import new_digest

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from agentmem_cli.operations.export import Original

_FOR_FORCE = "--force writes over it."


def is_stream(path: Path) -> bool:
    """Whether a pipe or a device of characters stands at *path*: it takes bytes, and keeps none."""
    found = _found(path)
    return found is not None and (stat.S_ISFIFO(found.st_mode) or stat.S_ISCHR(found.st_mode))


def check_file(path: Path, store: Path, root: Path, *, force: bool) -> None:
    """See that a file may be written at *path*.

    Args:
        path: The file; a pipe or a device is one too.
        store: The session's folder.
        root: The folder of all sessions.
        force: Whether a file that is there may be written over.

    Raises:
        ConflictError: Something stands there.
        NotFoundError: The folder that it would stand in is not there.
        UsageError: It would stand in a session.
        OSError: It cannot be looked at.
    """
    if is_stream(path):
        return
    _check_place(path, store, root)
    _check_new(path, force=force)
    folder = path.parent
    if not folder.exists():
        msg = f"{folder}: no such folder, so {path.name} was not written"
        raise NotFoundError(msg, hint="Make the folder first, or look at how it is spelt.")
    if not folder.is_dir():
        raise _in_the_way(folder, path)


def check_folder(
    folder: Path, names: Sequence[str], store: Path, root: Path, *, force: bool
) -> None:
    """See that files of *names* may be written in *folder*.

    It need not be there, the one above it must. The other arguments and the
    errors are those of `check_file`.
    """
    _check_place(folder, store, root)
    if folder.exists() and not folder.is_dir():
        count = len(names)
        told = "this session goes" if count == 1 else f"the {count} files of this session go"
        msg = f"{folder}: a file, and {told} into a folder"
        hint = "Name a folder with -o; --agent NAME exports the transcript of one agent alone."
        raise ConflictError(msg, hint=hint)
    if folder.is_symlink() and not folder.exists():
        msg = f"{folder}: a symbolic link that leads nowhere"
        raise ConflictError(msg, hint="Name a folder with -o.")
    if not (folder.exists() or folder.absolute().parent.is_dir()):
        msg = f"{folder.parent}: no such folder, so {folder.name}/ was not made"
        raise NotFoundError(msg, hint="Make the folder first, or look at how it is spelt.")
    for name in names:
        path = folder / name
        for above in path.relative_to(folder).parents:
            if (folder / above).exists() and not (folder / above).is_dir():
                raise _in_the_way(folder / above, path)
        _check_new(path, force=force)


def _in_the_way(there: Path, path: Path) -> ConflictError:
    msg = f"{there}: a file, so {path} cannot stand in it"
    return ConflictError(msg, hint="Name another place with -o.")


def _check_place(path: Path, store: Path, root: Path) -> None:
    # Why above it: what stands at the path itself can be a link.
    place = path.absolute().parent.resolve() / path.name
    top = root.resolve()
    above = place.parents
    inside = store.resolve() in (place, *above) or (top in above and place.parent != top)
    if inside:
        msg = f"{path}: in a session's own folder, where no export goes"
        raise UsageError(msg, hint="Name a place outside of the sessions with -o.")


def _check_new(path: Path, *, force: bool) -> None:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISDIR(found.st_mode) or (stat.S_ISLNK(found.st_mode) and path.is_dir()):
        msg = f"{path}: a folder, and one file is to be written"
        raise ConflictError(msg, hint=f"Name a file in it: -o {path / 'FILE'}")
    if stat.S_ISLNK(found.st_mode):
        msg = f"{path}: a symbolic link; it is not followed, nor written over"
        raise ConflictError(msg, hint="Name the file that it leads to, or another one.")
    if not stat.S_ISREG(found.st_mode):
        msg = f"{path}: no regular file; it is not written over"
        raise ConflictError(msg, hint="Name another file with -o.")
    if not force:
        msg = f"{path}: is there already"
        raise ConflictError(msg, hint=_FOR_FORCE)


def check_no_source(path: Path, sources: Sequence[Original]) -> None:
    """See that *path* is none of the transcripts that the session was imported from.

    A file that begins with all that was read of a source is taken for it, or
    for a copy of it: it can hold more than the session does.

    Raises:
        ConflictError: It is one.
        OSError: It cannot be read.
    """
    for source in sources:
        if begins_with(path, source):
            msg = f"{path}: the transcript that this session was imported from, or a copy of it"
            raise ConflictError(msg, hint="It is not written over, by --force either.")


def begins_with(path: Path, source: Original) -> bool:
    """Whether the file at *path* begins with all that was read of *source*."""
    found = _found(path)
    if found is None or not stat.S_ISREG(found.st_mode) or not 0 < source.size <= found.st_size:
        return False
    if not source.key:
        return False
    hasher = new_digest(source.key)
    left = source.size
    with path.open("rb", buffering=0) as file:
        while left and (block := file.read(min(CHUNK_BYTES, left))):
            hasher.update(block)
            left -= len(block)
    return hasher.hexdigest() == source.digest


def _found(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
