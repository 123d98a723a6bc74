"""What an import does to a session: everything, in one batch, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import AgentMemError, ConflictError
from agentmem_cli.operations.imports.adapter import CWD, MAIN, Kept, Noted, Said
from agentmem_cli.operations.imports.logs import SessionOut
from agentmem_cli.operations.imports.maps import Placed, fingerprint
from agentmem_cli.operations.imports.sources import merged, read_beside
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.images import (
    BLOB_FOLDER,
    REFERENCE,
    blob_name,
    decode_base64,
    image_parts,
)
from agentmem_cli.session.keys import FORKED_FROM, MODEL, TITLE
from agentmem_cli.session.meta import META, BadMeta, SessionMeta, title_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Item
    from agentmem_cli.operations.imports.logs import LogOut
    from agentmem_cli.operations.imports.maps import Known
    from agentmem_cli.operations.imports.sources import SourceIn, Timed
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.storage.store import Batch, Sink, Store


class Target(NamedTuple):
    """The session that is written to."""

    store: Store
    batch: Batch
    folds: Mapping[str, LogFold]
    """Its logs as they are; empty for a new session."""


class Wishes(NamedTuple):
    """How an import is to be done."""

    keep_source: bool
    now_ms: int
    progress: Callable[[int, int], None] | None
    """Called with the bytes read so far and the bytes there are."""
    place_of: Callable[[str, str], int | None]
    """Finds, by a session's name and a foreign id, the ``n`` behind that record."""
    title: str | None = None
    """The title that something beside the source has; one that is known goes before."""


class Counts:
    """What was made of the sources."""

    __slots__ = ("asides", "blobs", "edited", "known", "messages", "new", "values")

    def __init__(self) -> None:
        """Start at nothing."""
        self.messages = self.asides = self.values = 0
        self.new = self.edited = self.known = 0
        self.blobs = 0


class Importing:
    """One import on its way."""

    def __init__(self, sources: Sequence[SourceIn], target: Target, wishes: Wishes) -> None:
        """Import *sources*, the main one first, into *target*."""
        self.counts = Counts()
        self.out = SessionOut(target.batch, target.store, target.folds)
        self._sources = sources
        self._target = target
        self._wishes = wishes
        self._facts = _Facts()
        self._blobs: set[str] | None = None
        self._read = 0
        self._whole = sum(source.file.size for source in sources)

    def run(self) -> None:
        """Write logs, blobs, sources, maps and meta to the batch.

        Raises:
            ConflictError: A source does not go on from what was imported of it.
            OSError: Reading a source, or writing, failed.
        """
        streams = [self._items(source) for source in self._sources]
        begins = [getattr(source.stream, "begins", None) for source in self._sources]
        for index, timed in merged(streams, begins):
            self._take(self._sources[index], timed)
        self._give_title()
        self.out.finish()
        for source in self._sources:
            self._finish(source)
        self._write_meta()

    def _give_title(self) -> None:
        """Save the title that stands beside the source, where it has none of its own."""
        title = self._wishes.title
        main = self.out.logs.get(self.out.log_name(MAIN))
        if title is None or main is None or main.updated is None:
            return
        if not self._facts.has_title and not (main.fold and TITLE in main.fold.saved):
            self.out.set_value(main, main.updated, TITLE, title)
            self._facts.keep(Kept(0, None, TITLE, title), MAIN)
            self.counts.new += 1
            self.counts.values += 1

    def _items(self, source: SourceIn) -> Iterator[Timed]:
        # Why a generator: the place for a source's bytes is opened when it is begun.
        yield from source.items(self._sink(source), self._progress)

    def _progress(self, count: int) -> None:
        self._read += count
        if self._wishes.progress is not None:
            self._wishes.progress(self._read, self._whole)

    def _sink(self, source: SourceIn) -> Sink | None:
        """Return where the source's bytes go."""
        if not self._wishes.keep_source:
            return None
        old = source.old
        if old is None or not source.same_prefix or old.header.kept != old.header.size:
            return self._target.batch.open_file(source.name)
        return _Behind(self._target.batch, source.name, old.header.size)

    def _finish(self, source: SourceIn) -> None:
        known = source.next_known()
        if known is not None:
            raise _parted(source)
        earlier = 0 if source.old is None else source.old.header.kept
        kept = source.bytes_read if self._wishes.keep_source else earlier
        source.finish(self._target.batch, self._wishes.now_ms, kept)

    def _take(self, source: SourceIn, timed: Timed) -> None:
        item, t, told = timed
        agent = item.agent if item.agent != MAIN else source.stream.agent
        self._facts.look(item, agent)
        self._count(item)
        source.count(item)
        known = source.next_known()
        if known is not None and source.trusts(known, item):
            self.counts.known += 1
            source.note_again(known)
            return
        body = self._body(item)
        print_ = fingerprint(source.key, item, body)
        if known is None:
            out = self._log(source, agent)
            source.note(item, self._put(out, item, t, body), print_, told)
            self._facts.keep(item, agent)
            self.counts.new += 1
        elif known.print == print_:
            source.note_again(known)
            self.counts.known += 1
        else:
            source.note(item, self._edit(source, known, t, body), print_, told)

    def _count(self, item: Item) -> None:
        if isinstance(item, Said):
            self.counts.messages += 1
        elif isinstance(item, Noted):
            self.counts.asides += 1
        else:
            self.counts.values += 1

    def _body(self, item: Item) -> bytes:
        """Return what an item says, as it is fingerprinted; images go to blobs on the way."""
        if isinstance(item, Said):
            for part, path in item.attached:
                self._store_file(part, path)
            for part in image_parts(item.message):
                self._store_image(part)
            return dumps(item.message)
        if isinstance(item, Noted):
            return item.kind.encode()
        return dumps([item.key, item.value])

    def _log(self, source: SourceIn, agent: str) -> LogOut:
        stream = source.stream
        # Why: an agent whose lines stand in another one's file was spawned by that one.
        return self.out.log(agent, stream.parent if agent == stream.agent else stream.agent)

    def _put(self, out: LogOut, item: Item, t: int, body: bytes) -> Placed:
        if isinstance(item, Said):
            return self.out.push(out, t, body, item.author)
        if isinstance(item, Noted):
            return self.out.put_aside(out, t, item.kind, {"line": item.line, **item.value})
        return self.out.set_value(out, t, item.key, self._value(item))

    def _value(self, item: Kept) -> JSON:
        """Return a saved value; a fork's is completed by the place in the session it left."""
        value = item.value
        if item.key == FORKED_FROM and isinstance(value, dict):
            session = value.get("session")
            n = self._wishes.place_of(session, item.raw) if isinstance(session, str) else None
            return value if n is None else {**value, "n": n}
        return value

    def _edit(self, source: SourceIn, known: Known, t: int, body: bytes) -> Placed:
        """Change the message that the source has gone on with.

        Raises:
            ConflictError: It has not gone on with it but differs.
        """
        out = self.out.logs.get(known.log)
        if not known.open or known.id is None or out is None or out.fold is None:
            raise _parted(source)
        placed = self.out.edit(out, t, known.id, body)
        if placed is None:
            # Why: a message that was compacted away since stays away; the source is kept.
            self.counts.known += 1
            return Placed(known.log, out.fold.last_n, known.id)
        self.counts.edited += 1
        return placed

    def _store_image(self, part: Object) -> None:
        data = part.get("data")
        if not isinstance(data, dict) or data.get("type") != "base64":
            return
        value = data.get("value")
        content = decode_base64(value) if isinstance(value, str) else None
        if content is None:
            return
        self._store_blob(part, content)

    def _store_file(self, part: Object, path: Path) -> None:
        try:
            content = read_beside(path)
        except OSError:
            return
        self._store_blob(part, content)

    def _store_blob(self, part: Object, content: bytes) -> None:
        name = blob_name(content, part.get("media_type"))
        if self._blobs is None:
            self._blobs = set(self._target.store.files())
        if BLOB_FOLDER + name not in self._blobs:
            self._target.batch.write_file(BLOB_FOLDER + name, content)
            self._blobs.add(BLOB_FOLDER + name)
            self.counts.blobs += 1
        part["data"] = {"type": "url", "value": REFERENCE + name}

    def _write_meta(self) -> None:
        if not (self.counts.new or self.counts.edited):
            return
        main = self.out.logs.get(self.out.log_name(MAIN))
        times = [out.updated for out in self.out.logs.values() if out.updated is not None]
        meta = self._facts.meta(self._old_meta(), self._sources[0].kind, main)
        data = meta._replace(updated=max(times, default=None)).encode()
        self._target.batch.write_file(META, data)

    def _old_meta(self) -> SessionMeta | None:
        if not self._target.folds:
            return None
        try:
            return SessionMeta.read(self._target.store)
        except BadMeta:
            return None


def _parted(source: SourceIn) -> AgentMemError:
    msg = f"{source.stream.path}: it does not go on from what was imported of it earlier"
    return ConflictError(msg, hint="Give --again to import it as a session of its own.")


class _Facts:
    """What a listing shows, picked up from the main agent's items."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._first_text: str | None = None
        self._fork: Object = {}

    @property
    def has_title(self) -> bool:
        """Whether the source said a title that is new."""
        return TITLE in self._values

    def look(self, item: Item, agent: str) -> None:
        """Pick up the first text that the user wrote, and how much a fork copied."""
        if isinstance(item, Noted) and item.kind == "import.fork" and agent == MAIN:
            at = item.value.get("messages", item.value.get("at"))
            if type(at) is int:
                self._fork["at"] = at
        if self._first_text is not None or agent != MAIN or not isinstance(item, Said):
            return
        if item.message.get("role") == "user" and item.author is None:
            text = "\n".join(_texts(item.message))
            self._first_text = text if text.strip() else None

    def keep(self, item: Item, agent: str) -> None:
        """Pick up a saved value that is new."""
        if not isinstance(item, Kept) or agent != MAIN:
            return
        if isinstance(item.value, str):
            self._values[item.key] = item.value
        elif item.key == FORKED_FROM and isinstance(item.value, dict):
            self._fork["session"] = item.value.get("session")

    def meta(self, old: SessionMeta | None, kind: str, main: LogOut | None) -> SessionMeta:
        """Return the session's meta; what stands in *old* stays unless the source says it anew."""
        base = SessionMeta() if old is None else old
        saved = {} if main is None or main.fold is None else main.fold.saved
        known = {key: value for key, value in saved.items() if isinstance(value, str)}
        title = self._values.get(TITLE) or base.title or known.get(TITLE)
        if title is None and self._first_text is not None:
            title = title_of(self._first_text)
        listed: dict[str, JSON] = {**base.listed, "source": kind}
        cwd = self._values.get(CWD) or known.get(CWD)
        if cwd is not None:
            listed["cwd"] = cwd
        if "session" in self._fork:
            listed["forked_from"] = {**self._fork}
        return base._replace(
            title=title,
            model=self._values.get(MODEL) or known.get(MODEL) or base.model,
            messages=None if main is None else main.entries,
            listed=listed,
        )


def _texts(message: Object) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and isinstance(text := part.get("text"), str):
                yield text


class _Behind:
    """A sink that drops the bytes a file holds already and adds the rest to it."""

    def __init__(self, batch: Batch, name: str, held: int) -> None:
        self._batch = batch
        self._name = name
        self._held = held

    def write(self, data: bytes) -> int:
        """Take *data* whole and return its length."""
        new = data[self._held :]
        self._held = max(0, self._held - len(data))
        if new:
            self._batch.append_file(self._name, new)
        return len(data)
