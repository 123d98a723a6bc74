"""`rename`: another name for a session, or for a file that a plugin keeps in one."""

# ruff: noqa: PTH118, PTH119, PTH120 - names under the root are text

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentmem_cli.errors import ConflictError, NotFoundError, UsageError
from agentmem_cli.operations.catalog import Found, names
from agentmem_cli.operations.imports.beside import NOTES, encoded, noted
from agentmem_cli.operations.imports.maps import BESIDE_END, FOLDER, MAP_END
from agentmem_cli.operations.imports.naming import safe_name
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.meta import META
from agentmem_cli.session.refiling import copied
from agentmem_cli.storage.layout import PLUGINS
from agentmem_cli.storage.names import check_name

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.store import Batch


def rename_session(found: Found, store: DirStore, new: str) -> Found:
    """Give a session's folder another name, under its lock.

    Args:
        found: The session.
        store: It, open.
        new: One plain name.

    Returns:
        The session as it is called now.

    Raises:
        UsageError: *new* is no name that every system takes.
        ConflictError: There is something of that name beside it.
        OSError: The system refused; nothing changed.
    """
    check_plain(new, "session")
    folder = os.path.dirname(found.path)
    target = os.path.join(folder, new)
    with store.lock():
        # Why by names: some disks take two names that differ in case for one.
        taken = {name.casefold(): name for name in names(folder)}
        other = taken.get(new.casefold())
        is_itself = other is not None and other == os.path.basename(found.path)
        if (other is not None and not is_itself) or (other is None and os.path.lexists(target)):
            msg = f"there is a session or file called {other or new!r} in {folder}"
            raise ConflictError(msg, hint="Choose another name.")
        if other == new:
            msg = f"the session is called {new!r} already"
            raise UsageError(msg)
        _forget_given_name(store)
        store.move(new)
    return Found(new if found.id == os.path.basename(found.path) else target, target)


def check_plain(new: str, thing: str) -> None:
    """See that *new* is a name that every system takes for a *thing*.

    Raises:
        UsageError: It is not; the hint has one that is.
    """
    if not new.strip():
        msg = f"the new name of {'an' if thing[0] in 'aeiou' else 'a'} {thing} is empty"
        raise UsageError(msg)
    if new.startswith("-"):
        raise UsageError(f"{new!r} begins with a dash; commands would take it for an option")
    safe = safe_name(new)
    if safe != new:
        msg = f"{new!r} is no name that every system takes"
        raise UsageError(msg, hint=f"This one is: {safe}")


def _forget_given_name(store: DirStore) -> None:
    """Take out of the meta what a session was called when it was started."""
    try:
        meta = loads_object(store.read_file(META))
    except (FileNotFoundError, ValueError):
        return
    listed = meta.get("listed")
    if isinstance(listed, dict) and "name" in listed:
        del listed["name"]
        store.write_file(META, dumps(meta))


def forks_of(root: Path, session: str) -> list[str]:
    """Return the sessions under *root* that say they were forked from *session*."""
    from agentmem_cli.operations.listing import rows

    return [row.id for row in rows(str(root)) if row.forked_from and row.forked_from[0] == session]


# -- files of plugins ------------------------------------------------------


def rename_file(store: DirStore, old: str, new: str) -> list[tuple[str, str]]:
    """Give a plugin's file another name; with a kept source its map goes along.

    Args:
        store: The session.
        old: Its name among the session's files, with or without ``plugins/``.
        new: What it is to be called, likewise.

    Returns:
        The files that were renamed: old and new names.

    Raises:
        UsageError: A name leads out of the plugins' folder, or *old* is a map.
        NotFoundError: There is no such file.
        ConflictError: There is one of the new name.
    """
    old, new = (name if name.startswith(PLUGINS) else PLUGINS + name for name in (old, new))
    _check_names(old, new)
    with store.batch() as batch:
        files = batch.files()
        if old not in files:
            raise NotFoundError(f"no such file: {old!r}", hint=_there(files))
        pairs = [(old, new)]
        if old.startswith(FOLDER) and old + MAP_END in files:
            pairs.append((old + MAP_END, new + MAP_END))
        elif old.startswith(FOLDER):
            _note_beside(batch, old, new)
        # Why whatever the case: some disks take such names for one.
        taken = {name.casefold() for name in files} - {name.casefold() for name, _ in pairs}
        for source, target in pairs:
            if target.casefold() in taken or target == source:
                raise ConflictError(f"there is a file called {target!r} already")
            _copy(store, batch, source, target, new if source != old else None)
            batch.remove_file(source)
    return pairs


def _check_names(old: str, new: str) -> None:
    for name in (old, new):
        try:
            check_name(name)
        except ValueError as error:
            raise UsageError(f"no file of a plugin can be called so: {error}") from None
    if old.startswith(FOLDER) != new.startswith(FOLDER):
        raise UsageError("a kept source stays in plugins/import/, and no other file goes there")
    ends = (MAP_END, BESIDE_END)
    if old.startswith(FOLDER) and (old.endswith(ends) or new.endswith(ends)):
        raise UsageError("a map goes with its source", hint="Rename the source.")


def _note_beside(batch: Batch, old: str, new: str) -> None:
    """Say where a file that stood beside the source is kept now."""
    there = noted(batch)
    kept = [each._replace(stored=new) if each.stored == old else each for each in there]
    if kept != there:
        batch.write_file(NOTES, encoded(kept))


def _copy(store: DirStore, batch: Batch, source: str, target: str, named: str | None) -> None:
    """Stage *source* as *target*; where it is the map of a source that is *named*, say so in it."""
    with store.open_file(source) as opened:
        sink = batch.open_file(target)
        start = 0
        if named is not None:
            first = next(iter(opened.lines()), b"")
            sink.write(_renamed_map(first, named))
            start = len(first)
        for data in copied(opened, start, opened.size):
            sink.write(data)


def _renamed_map(first: bytes, new: str) -> bytes:
    """Return a map's first line with its source's new name."""
    try:
        fields = loads_object(first)
    except ValueError:
        return first
    fields["source"] = new.rpartition("/")[2]
    return dumps(fields) + b"\n"


def _there(files: list[str]) -> str:
    mine = [name for name in files if name.startswith(PLUGINS) and not name.endswith(MAP_END)]
    more = f" and {len(mine) - 9} more" if len(mine) > 9 else ""  # noqa: PLR2004 - nine are enough
    return f"There are: {', '.join(mine[:9]) or 'none'}{more}."
