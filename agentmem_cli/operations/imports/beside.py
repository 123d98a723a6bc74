"""What stands in a session's own folder beside its transcripts, kept byte for byte.

A tool keeps more there than its transcripts: outputs that were too long for a
line, notes, files of versions to come. Whatever a record refers to becomes a
blob; so that the export gives the whole folder back, the rest is kept beside
the sources, and one file, `NOTES`, says what is where, one a line::

    {"name":"<id>/tool-results/x.txt","stored":"blobs/….txt","size":7,"key":"","digest":"",
     "seen":[…]}

What is a blob is told by its name, so it has no digest of its own. Where a
rewrite changed the file, or what is said of it here, ``rewritten`` says when.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import DamageError
from agentmem_cli.operations.imports.foreign import new_digest
from agentmem_cli.operations.imports.maps import BESIDE_END, FOLDER, new_key, source_name
from agentmem_cli.operations.imports.opening import is_plain
from agentmem_cli.operations.imports.sources import ATTACHED_BYTES_MAX, read_beside
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.images import BLOB_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.operations.imports.adapter import Tally, Transcript
    from agentmem_cli.session.codec import Object
    from agentmem_cli.storage.store import Batch, Files

NOTES: Final = f"{FOLDER}session{BESIDE_END}"
"""The file that says what is kept, and where."""


class Beside(NamedTuple):
    """A file that is kept."""

    name: str
    """Its path from the folder of the main transcript, ``/``-separated."""
    stored: str
    """Its name among the session's files."""
    size: int
    """Its bytes."""
    key: str
    """The key of its digest, hex; empty of a blob."""
    digest: str
    """Its keyed digest, hex; empty of a blob."""
    seen: tuple[int, ...]
    """Its times in nanoseconds and its identity, when it was read."""
    rewritten: int | None = None
    """When it, or what is said of it here, was rewritten in place, in ms; None: neither was."""

    def is_same(self, data: bytes) -> bool:
        """Whether *data* are its bytes."""
        if len(data) != self.size:
            return False
        if not self.key:
            stem = self.stored.removeprefix(BLOB_FOLDER).partition(".")[0]
            return hashlib.sha256(data).hexdigest() == stem
        hasher = new_digest(bytes.fromhex(self.key))
        hasher.update(data)
        return hasher.hexdigest() == self.digest


def noted(store: Files) -> list[Beside]:
    """Return what a session keeps beside its sources.

    Raises:
        DamageError: `NOTES` are damaged.
    """
    try:
        data = store.read_file(NOTES)
    except FileNotFoundError:
        return []
    try:
        return [_noted(loads_object(line)) for line in data.splitlines()]
    except (ValueError, KeyError, TypeError):
        msg = f"files/{NOTES}: damaged"
        raise DamageError(msg, hint="Import with --again as a new session.") from None


def _noted(value: Object) -> Beside:
    texts = [value[key] for key in ("name", "stored", "key", "digest")]
    size, seen = value["size"], value["seen"]
    if not (isinstance(size, int) and isinstance(seen, list)):
        raise TypeError
    name, stored, key, digest = (each for each in texts if isinstance(each, str))
    bytes.fromhex(key)
    rewritten = value.get("rewritten")
    if not (rewritten is None or isinstance(rewritten, int)):
        raise TypeError
    times = tuple(each for each in seen if isinstance(each, int))
    return Beside(name, stored, size, key, digest, times, rewritten)


def keep_beside(transcript: Transcript, batch: Batch, tally: Tally) -> None:
    """Keep what stands beside the sources of *transcript*; what is gone there stays kept.

    Args:
        transcript: The source.
        batch: Where to; what records refer to is a blob there by now.
        tally: Where it is counted what cannot be kept.
    """
    old = {each.name: each for each in noted(batch)}
    kept = dict(old)
    files: set[str] = set()
    for name, path in _files(transcript):
        if not files:
            files = set(batch.files())
        was = old.get(name)
        try:
            # Why before reading: what is written meanwhile is read again next time.
            seen = _seen(path)
            if was is not None and was.seen == seen and was.stored in files:
                continue
            data = read_beside(path)
        except OSError as error:
            why = f"{name} is not kept: {error.strerror or error}"
            tally.flaw(max(1, tally.lines), None, why, lost=True)
            continue
        if was is not None and was.stored in files and was.is_same(data):
            kept[name] = was._replace(seen=seen)
        else:
            kept[name] = _keep(name, data, seen, files, batch)
    if kept != old:
        batch.write_file(NOTES, encoded(kept.values()))


def _keep(name: str, data: bytes, seen: tuple[int, ...], files: set[str], batch: Batch) -> Beside:
    blob = f"{BLOB_FOLDER}{hashlib.sha256(data).hexdigest()}."
    stored = next((each for each in files if each.startswith(blob)), None)
    if stored is not None:
        return Beside(name, stored, len(data), "", "", seen)
    stored = source_name(name)
    key = new_key()
    hasher = new_digest(bytes.fromhex(key))
    hasher.update(data)
    batch.write_file(stored, data)
    return Beside(name, stored, len(data), key, hasher.hexdigest(), seen)


def check_beside(store: Files) -> Iterator[tuple[str, str]]:
    """Yield the files that are not as `NOTES` say, and why."""
    try:
        there = noted(store)
    except DamageError:
        yield NOTES, "damaged: it says not what stood beside the source"
        return
    for each in there:
        place = f"what stood beside the source as {each.name}"
        try:
            data = store.read_file(each.stored)
        except FileNotFoundError:
            yield each.stored, f"{place} is gone"
            continue
        if not each.is_same(data):
            yield each.stored, f"not the bytes of {place}"


def encoded(kept: Iterable[Beside]) -> bytes:
    """Return the bytes of `NOTES` that say what is kept."""
    return b"".join(dumps(_told(each)) + b"\n" for each in sorted(kept))


def _told(each: Beside) -> Object:
    told: Object = {**each._asdict(), "seen": [*each.seen]}
    if each.rewritten is None:
        del told["rewritten"]
    return told


def rewritten_beside(store: Files) -> str | None:
    """Return a file of `NOTES` that was rewritten in place, as it is kept; None: there is none."""
    try:
        data = store.read_file(NOTES)
    except FileNotFoundError:
        return None
    # Why by text: a quote inside a string is escaped, so this stands between fields only.
    if b',"rewritten":' not in data:
        return None
    return next((each.stored for each in noted(store) if each.rewritten is not None), None)


def is_all_kept(transcript: Transcript, store: Files) -> bool:
    """Whether nothing stands beside *transcript* that is new since it was imported."""
    there = list(_files(transcript))
    if not there:
        return True
    try:
        known = {each.name: each for each in noted(store)}
    except DamageError:
        return True
    return all(_is_kept(path, known.get(name)) for name, path in there)


def _is_kept(path: Path, was: Beside | None) -> bool:
    """Whether a file is what is kept of it; one that cannot be kept counts as kept."""
    try:
        if was is not None and was.seen == _seen(path):
            return True
        if was is None or was.size != path.stat().st_size:
            return path.stat().st_size > ATTACHED_BYTES_MAX or not os.access(path, os.R_OK)
        return was.is_same(read_beside(path))
    except OSError:
        return True


def _seen(path: Path) -> tuple[int, ...]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _files(transcript: Transcript) -> Iterator[tuple[str, Path]]:
    """Yield the regular files beside the sources by their names; no link is followed."""
    base = transcript.streams[0].path.parent
    taken = {stream.path for stream in transcript.streams}
    for top in transcript.beside:
        if top.is_symlink():
            continue
        for folder, folders, names in os.walk(top):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                if path not in taken and is_plain(path):
                    yield path.relative_to(base).as_posix(), path
