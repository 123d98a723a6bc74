"""The notes of what is kept beside a source, after a rewrite: they say what is there now.

As in maps: a keyed digest whose key stands beside it lets guesses be tried, so
a file that changed gets a fresh key and the digest of its new bytes. A file
whose name changes in the notes is stored by the new one, since its name among
the session's files is made of that.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from agentmem_cli.errors import DamageError
from agentmem_cli.operations.imports.beside import NOTES, encoded, noted
from agentmem_cli.operations.imports.foreign import new_digest
from agentmem_cli.operations.imports.mapmending import as_text, asked, is_map, mend_maps, string_of
from agentmem_cli.operations.imports.maps import new_key, source_name
from agentmem_cli.session.images import BLOB_FOLDER
from agentmem_cli.session.refiling import copied

if TYPE_CHECKING:
    from agentmem_cli.operations.imports.beside import Beside
    from agentmem_cli.session.staged import Staged


def is_mended(name: str) -> bool:
    """Whether a file says what others of an import are, so that `mend_imports` writes it."""
    return is_map(name) or name == NOTES


def mend_imports(staged: Staged) -> None:
    """Write all that is not true of a session as it will be: its maps, and `NOTES`.

    Raises:
        OSError: Something could not be read or staged.
    """
    _mend_beside(staged)
    mend_maps(staged)


def _mend_beside(staged: Staged) -> None:
    try:
        data = staged.store.read_file(NOTES)
    except FileNotFoundError:
        return
    try:
        old = noted(staged.store)
    except DamageError:
        # Why: as of a damaged map.
        new = b"\n".join(as_text(staged, NOTES, data.split(b"\n")))
    else:
        mending = _Mending(staged)
        lines = enumerate(data.splitlines(), 1)
        found = [mending.note(each, *line) for each, line in zip(old, lines, strict=True)]
        kept = [each for each in found if each is not None]
        new = data if kept == old else encoded(kept)
    if new != data:
        staged.write_file(NOTES, new)


class _Mending:
    """The notes on their way."""

    def __init__(self, staged: Staged) -> None:
        self._staged = staged
        self._before = frozenset(staged.store.files())
        self._there = set(staged.files())

    def note(self, old: Beside, number: int, line: bytes) -> Beside | None:
        """Return what is to be noted of a file; None: it is given up."""
        told = asked(self._staged, NOTES, number, line)
        stored = self._renamed_blob(old.stored)
        if stored not in self._there:
            # Why not where it was gone before: that is a loss, and verify tells it.
            return None if old.stored in self._before else old
        new = old._replace(name=string_of(told, "name") or old.name, stored=stored)
        if stored == old.stored and string_of(told, "stored") != stored:
            new = new._replace(stored=self._moved(stored, source_name(new.name)))
        # Why also where key or digest were taken for something to go: fresh ones are as good.
        spoken = any(string_of(told, key) != getattr(old, key) for key in ("key", "digest"))
        if spoken or stored != old.stored or stored in self._staged.changed:
            new = _digested(self._staged, new)
        if new == old:
            return old
        return new._replace(seen=(), rewritten=self._staged.now_ms)

    def _renamed_blob(self, stored: str) -> str:
        if not stored.startswith(BLOB_FOLDER):
            return stored
        digest, dot, extension = stored.removeprefix(BLOB_FOLDER).partition(".")
        return f"{BLOB_FOLDER}{self._staged.digests.get(digest, digest)}{dot}{extension}"

    def _moved(self, old: str, new: str) -> str:
        """Have the file *old* stand at *new*, or at a name like it that is free; return it."""
        taken = {name.casefold() for name in self._there}
        tries = (new if count == 1 else f"{new}-{count}" for count in range(1, len(taken) + 2))
        free = next(each for each in tries if each.casefold() not in taken)
        self._staged.move_file(old, free)
        self._there.add(free)
        return free


def _digested(staged: Staged, each: Beside) -> Beside:
    """Return a file's note with its size and, where its name does not tell it, a fresh digest."""
    plain = hashlib.sha256()
    key = new_key()
    keyed = new_digest(bytes.fromhex(key))
    with staged.open_file(each.stored) as opened:
        for data in copied(opened, 0, opened.size):
            plain.update(data)
            keyed.update(data)
        size = opened.size
    if each.stored.startswith(f"{BLOB_FOLDER}{plain.hexdigest()}."):
        return each._replace(size=size, key="", digest="")
    return each._replace(size=size, key=key, digest=keyed.hexdigest())
