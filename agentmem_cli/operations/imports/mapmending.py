"""The maps of imports after a rewrite: they say of sources and logs what is there now.

A map holds digests of its source and fingerprints of what was made of it, and
the key of both stands beside them: who has the map can try guesses. So where a
source changes its map gets a fresh key, the digest of the new bytes and no
fingerprints; where only records change, the fingerprints of these go. No
import goes on with such a map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.errors import DamageError
from agentmem_cli.operations.imports.adapter import MAIN
from agentmem_cli.operations.imports.foreign import new_digest
from agentmem_cli.operations.imports.maps import (
    FOLDER,
    MAP_END,
    NO_DIGEST,
    NO_PRINT,
    OldMap,
    body_digest,
    new_key,
)
from agentmem_cli.session.codec import dumps, loads_object
from agentmem_cli.session.refiling import copied
from agentmem_cli.session.rewriting import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.operations.imports.maps import MapHeader
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.staged import Staged


def is_map(name: str) -> bool:
    """Whether a file of a session is the map of an import."""
    return name.startswith(FOLDER) and name.endswith(MAP_END)


def mend_maps(staged: Staged) -> None:
    """Write every map anew that is not true of a session as it will be.

    Raises:
        OSError: A map could not be read or staged.
    """
    for name in staged.store.files():
        if is_map(name):
            data = staged.store.read_file(name)
            try:
                old = OldMap(name.removesuffix(MAP_END), data)
            except DamageError:
                # Why: nothing can be said of what it means; what it says goes as of any file.
                new = b"\n".join(as_text(staged, name, data.split(b"\n")))
            else:
                new = _Mending(staged, name, old).run()
            if new != data:
                staged.write_file(name, new)


def as_text(staged: Staged, name: str, lines: list[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file that is none of ours as the rewrite would have them."""
    for number, line in enumerate(lines, 1):
        yield asked(staged, name, number, line)


def asked(staged: Staged, name: str, number: int, line: bytes) -> bytes:
    """Return a line as the rewrite would have it, whatever that does to the map."""
    found = staged.with_.hits(line)
    if not line.strip() or (found is not None and not found):
        return line
    try:
        return staged.with_.file_line(File(name), number, line)
    except ValueError:
        return staged.with_.damaged_line(File(name), line)


class _Mending:
    """One map on its way."""

    def __init__(self, staged: Staged, name: str, old: OldMap) -> None:
        self._staged = staged
        self._name = name
        self._old = old
        header = old.header
        self._source_changed = old.name in staged.changed
        # Why: of bytes that are not there, the digest can only serve to try guesses.
        whole = header.kept == header.size
        self._touched = False
        self._lines: list[bytes] = []
        for number, line in enumerate(old.lines, 2):
            self._lines.append(self._item(number, line))
        self._keyless = self._source_changed or (self._touched and not whole)

    def run(self) -> bytes:
        header = self._told(self._old.header)
        if not self._touched and not self._source_changed and header == self._old.header:
            return self._old.data
        if self._keyless:
            self._lines = [_printless(line) for line in self._lines]
            header = self._resourced(header)
        body = b"\n".join(self._lines)
        digest = body_digest()
        digest.update(body)
        header = header._replace(body=digest.hexdigest(), made=self._old.counts(), ends={})
        return header.encode() + body

    def _told(self, header: MapHeader) -> MapHeader:
        """Return the header with what may be told of the source's name and place."""
        new = asked(self._staged, self._name, 1, header.encode()[:-1])
        source, path = (string_of(new, key) for key in ("source", "path"))
        named = header
        # Why not the agent: that is the name of a log, which no rewrite changes.
        if source is not None and path is not None:
            named = header._replace(source=source, path=path)
        # Why: an import that went on would write down what it is called and where it stands.
        return named if named == header else named._replace(rewritten=self._staged.now_ms)

    def _resourced(self, header: MapHeader) -> MapHeader:
        """Return the header with what is to be said of the source now, under a fresh key."""
        header = header._replace(
            key=new_key(), digest=NO_DIGEST, seen=None, rewritten=self._staged.now_ms
        )
        if not header.kept:
            return header
        hasher = new_digest(bytes.fromhex(header.key))
        at = end = 0
        with self._staged.open_file(self._old.name) as opened:
            for data in copied(opened, 0, opened.size):
                hasher.update(data)
                end = at + data.rfind(b"\n") + 1 if b"\n" in data else end
                at += len(data)
        if header.kept != header.size:
            return header._replace(kept=at, size=max(at + 1, header.size))
        whole = at if header.whole == header.size else end
        return header._replace(kept=at, size=at, whole=whole, digest=hasher.hexdigest())

    def _item(self, number: int, line: bytes) -> bytes:
        """Return an item's line, and note whether it is another one."""
        if not line:
            return line
        new = self._mended(number, line)
        self._touched = self._touched or new != line
        return new

    def _mended(self, number: int, line: bytes) -> bytes:
        told = asked(self._staged, self._name, number, line)
        try:
            value = loads_object(line)
        except ValueError:
            return told
        log = value.get("log", MAIN)
        changed = self._staged.records.get(log if isinstance(log, str) else MAIN, ())
        if value.get("n") in changed:
            value["fp"] = NO_PRINT
        elif told == line and not _holds(value, self._staged):
            return line
        raw = string_of(told, "raw")
        if raw is not None:
            value["raw"] = raw
        if isinstance(value.get("awaited"), list):
            value["awaited"] = loads_object(told).get("awaited", [])
        if isinstance(key := value.get("key"), str):
            value["key"] = self._staged.with_.key(File(self._name), key)
        if isinstance(blobs := value.get("blobs"), list):
            value["blobs"] = list(_blobs(blobs, self._staged))
        return dumps(value)


def _holds(value: Object, staged: Staged) -> bool:
    blobs = value.get("blobs")
    return isinstance(blobs, list) and blobs != list(_blobs(blobs, staged))


def _blobs(names: list[JSON], staged: Staged) -> Iterator[JSON]:
    """Yield a message's blobs by the names they will have; those given up go."""
    for name in names:
        if not isinstance(name, str):
            yield name
        elif name not in staged.dropped:
            digest, dot, extension = name.partition(".")
            yield f"{staged.digests.get(digest, digest)}{dot}{extension}"


def string_of(line: bytes, key: str) -> str | None:
    """Return the text of a member of a JSON line; None: it has none."""
    try:
        found = loads_object(line).get(key)
    except ValueError:
        return None
    return found if isinstance(found, str) else None


def _printless(line: bytes) -> bytes:
    if not line:
        return line
    try:
        value = loads_object(line)
    except ValueError:
        return line
    if "fp" in value:
        value["fp"] = NO_PRINT
    return dumps(value)
