"""What an import does to a session: everything, in one batch, or nothing."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import AgentMemError, ConflictError
from agentmem_cli.operations.imports.adapter import MAIN, Kept, Noted, Said
from agentmem_cli.operations.imports.logs import SessionOut
from agentmem_cli.operations.imports.losses import (
    UNMEASURED,
    GivenBack,
    check_blobs,
    check_lost,
    check_others,
)
from agentmem_cli.operations.imports.maplines import Placed, fingerprint
from agentmem_cli.operations.imports.nowhere import Behind
from agentmem_cli.operations.imports.picked import Facts
from agentmem_cli.operations.imports.report import Counts
from agentmem_cli.operations.imports.returning import put_back
from agentmem_cli.operations.imports.sources import has_come, merged, read_beside
from agentmem_cli.operations.metas import noted
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.images import (
    BLOB_FOLDER,
    REFERENCE,
    blob_name,
    blob_names,
    decode_base64,
    image_parts,
)
from agentmem_cli.session.keys import FORKED_FROM, TITLE
from agentmem_cli.session.meta import META, BadMeta, SessionMeta
from agentmem_cli.session.session import choose_main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Item
    from agentmem_cli.operations.imports.logs import LogOut
    from agentmem_cli.operations.imports.maps import Known, OldMap
    from agentmem_cli.operations.imports.sources import SourceIn, Timed
    from agentmem_cli.operations.imports.standing import Standing
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.storage.store import Batch, Sink, Store


class Target(NamedTuple):
    """The session that is written to."""

    store: Store
    batch: Batch
    folds: Mapping[str, LogFold]
    """Its logs as they are; empty for a new session."""
    standing: Standing
    """What of the maps stands in these logs."""
    maps: Sequence[OldMap]
    """Its maps as they are."""


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
    older: bool = False
    """Whether sources that end before what was imported of them are taken for older copies."""


class Importing:
    """One import on its way."""

    def __init__(self, sources: Sequence[SourceIn], target: Target, wishes: Wishes) -> None:
        """Import *sources*, the main one first, into *target*."""
        self.counts = Counts()
        self.out = SessionOut(target.batch, target.store, target.folds)
        self._sources = sources
        self._target = target
        self._wishes = wishes
        self.facts = Facts()
        self._blobs: set[str] | None = None
        self.standing = target.standing
        self._given_back: Counter[str] = Counter()
        self._messages_given_back = 0
        self._ended_early = False
        self._read = 0
        self._whole = sum(source.file.size for source in sources)

    @property
    def is_older(self) -> bool:
        """Whether the sources hold nothing but a beginning of what was imported of them."""
        counts = self.counts
        return self._ended_early and not (
            counts.new or counts.edited or counts.restored or counts.titled
        )

    def run(self) -> None:
        """Write logs, blobs, sources, maps and meta to the batch.

        Raises:
            ConflictError: A source does not go on from what was imported of it.
            DamageError: The session lacks something that no source can restore.
            OSError: Reading a source, or writing, failed.
        """
        streams = [self._items(source) for source in self._sources]
        begins = [getattr(source.stream, "begins", None) for source in self._sources]
        for index, timed in merged(streams, begins):
            self._take(self._sources[index], timed)
        self._give_title()
        self.out.finish()
        for source in self._sources:
            self._check_end(source)
        target = self._target
        read = {source.name for source in self._sources if source.old is not None}
        check_others(self.standing, [old for old in target.maps if old.name not in read])
        back = GivenBack(self.counts.restored, self._messages_given_back, self._given_back)
        path = self._sources[0].stream.path
        check_lost(path, self.standing, target.folds, self._old_meta(), back)
        check_blobs(path, self.standing.blobs_lost, self._blobs or ())
        for source in self._sources:
            self._finish(source)
        self._write_meta()

    def _give_title(self) -> None:
        """Save the title that stands beside the source, where it has none of its own."""
        title = self._wishes.title
        main = self.out.logs.get(self.out.log_name(MAIN))
        if title is None or main is None or main.updated is None or self._wishes.older:
            return
        if not self.facts.has_title and not (main.fold and TITLE in main.fold.saved):
            before = main.size
            self.out.set_value(main, main.updated, TITLE, title)
            if (meta := self._old_meta()) is not None and meta.title == title:
                # Why: the log had it, and lost it; no map names it.
                self._given_back[main.name] += main.size - before
            self.facts.keep(Kept(0, None, TITLE, title), MAIN)
            # Why not among the new: no line of the source has it, so no map knows it.
            self.counts.titled = True

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
        if old is None or not source.same_prefix or not source.kept_whole:
            return self._target.batch.open_file(source.name)
        return Behind(self._target.batch, source.name, old.header.size)

    def _check_end(self, source: SourceIn) -> None:
        """See that nothing was imported that the source does not hold any more."""
        known = source.next_known()
        if known is None:
            return
        while known is not None:
            self.standing.has(known, partial(source.is_print, known))
            known = source.next_known()
        is_older = self._wishes.older and source.is_shorter
        self._ended_early = self._ended_early or is_older
        if not (is_older or self.standing.lost):
            raise _parted(source)

    def _finish(self, source: SourceIn) -> None:
        earlier = 0 if source.old is None else source.old.header.kept
        kept = source.bytes_read if self._wishes.keep_source else earlier
        ends = {name: (out.size, out.last_n) for name, out in self.out.logs.items()}
        source.finish(self._target.batch, self._wishes.now_ms, kept, ends)

    def _take(self, source: SourceIn, timed: Timed) -> None:
        item, t, told = timed
        agent = item.agent if item.agent != MAIN else source.stream.agent
        self.facts.look(item, agent)
        self._count(item)
        source.count(item)
        known = source.next_known()
        stands = known is None or self.standing.has(known, partial(source.is_print, known))
        if known is not None and stands and source.trusts(known, item):
            if not self.standing.has_blobs(known):
                self._body(item)
            self.counts.known += 1
            source.note_again(known)
            return
        body = self._body(item)
        print_ = fingerprint(source.key, item, body)
        if known is None:
            out = self._log(source, agent)
            placed = self._put(out, item, t, body)
            source.note(item, placed, print_, told, self._blobs_of(item, body))
            self.facts.keep(item, agent)
            self.counts.new += 1
        elif not stands:
            if not (known.open or known.print == print_ or source.trusts(known, item)):
                raise _parted(source)
            placed = self._restore(source, known, timed, body, agent)
            source.note(item, placed, print_, told, self._blobs_of(item, body))
            self.facts.keep(item, agent)
        elif known.print == print_:
            self.standing.has_blobs(known)
            source.note_again(known)
            self.counts.known += 1
        elif known.open and self._wishes.older and source.is_shorter:
            # Why: the source has gone on with it since; going back would lose that.
            source.note_again(known)
            self.counts.known += 1
            self._ended_early = True
        else:
            placed = self._edit(source, known, timed, body)
            source.note(item, placed, print_, told, self._blobs_of(item, body))

    def _restore(
        self, source: SourceIn, known: Known, timed: Timed, body: bytes, agent: str
    ) -> Placed:
        """Put in once more what the log has lost; it gets a place and an id of its own."""
        out = self._log(source, agent)
        before = out.size
        placed = None
        is_message = isinstance(timed.item, Said)
        if is_message and self.standing.was_pushed(known) and known.id is not None:
            placed = self.out.edit(out, timed.t, known.id, body)
        if placed is None:
            placed = put_back(self.out, self.standing, out, known, timed, body)
        if placed is None:
            placed = self._put(out, timed.item, timed.t, body)
            self._messages_given_back += is_message and out.name == MAIN
        # Why: how often a message had been changed, and how long it was before, nobody knows.
        self._given_back[out.name] += UNMEASURED if known.open else out.size - before
        self.counts.restored += 1
        return placed

    def _blobs_of(self, item: Item, body: bytes) -> list[str]:
        """Return the blobs of ours that a message refers to."""
        if self._blobs is None or not isinstance(item, Said) or REFERENCE.encode() not in body:
            return []
        return [name for name in blob_names(item.message) if BLOB_FOLDER + name in self._blobs]

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

    def _edit(self, source: SourceIn, known: Known, timed: Timed, body: bytes) -> Placed:
        """Change what the source has gone on with, or written anew, or of which a file has come.

        Raises:
            ConflictError: It has not gone on with it but differs.
        """
        item, t, _ = timed
        out = self.out.logs.get(known.log)
        if out is not None and isinstance(item, Kept) and getattr(source.stream, "anew", False):
            self.counts.new += 1
            return self.out.set_value(out, t, item.key, self._value(item))
        came = has_come(known, item)
        if not (known.open or came) or not isinstance(item, Said):
            raise _parted(source)
        if known.id is None or out is None or out.fold is None:
            raise _parted(source)
        placed = None
        if known.open or self._is_as_imported(source, known, item, out):
            placed = self.out.edit(out, t, known.id, body)
        if placed is None:
            # Why: a message that was compacted away since stays away; the source is kept.
            self.counts.known += 1
            return Placed(known.log, known.n, known.id)
        self.counts.edited += 1
        return placed

    @staticmethod
    def _is_as_imported(source: SourceIn, known: Known, item: Item, out: LogOut) -> bool:
        """Whether the message stands as it was imported, and nobody has changed it since."""
        assert out.fold is not None
        conversation = out.fold.conversation
        index = None if known.id is None else conversation.index_of(known.id)
        if index is None:
            return False
        stands = conversation.entries[index].stored.raw
        return source.is_print(known, "said", item.time or 0, stands)

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
            part["lost"] = "unreadable"
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
        counts = self.counts
        if not (counts.new or counts.edited or counts.restored or counts.titled):
            return
        main = self.out.logs.get(self.out.log_name(MAIN)) or self._first_agent()
        times = [out.updated for out in self.out.logs.values() if out.updated is not None]
        meta = self.facts.meta(self._old_meta(), self._sources[0].kind, main)
        meta = meta._replace(updated=max(times, default=None))
        if not (self._target.folds or self._target.maps):
            meta = self._noted(meta)
        data = meta.encode()
        self._target.batch.write_file(META, data)

    def _first_agent(self) -> LogOut | None:
        """Return the log that readers take for the main one where that has none."""
        logs = self.out.logs.values()
        chosen = choose_main([(out.name, out.parent, False) for out in logs], None)
        return next((out for out in logs if out.name == chosen), None)

    def _noted(self, meta: SessionMeta) -> SessionMeta:
        """Return *meta* with the logs that it is true of, all written whole just now."""
        logs = self.out.logs
        started = [out.started for out in logs.values() if out.started is not None]
        sizes = {name: out.size for name, out in logs.items()}
        return noted(meta, sizes, min(started, default=None), 0)

    def _old_meta(self) -> SessionMeta | None:
        if not (self._target.folds or self._target.maps):
            return None
        try:
            return SessionMeta.read(self._target.store)
        except BadMeta:
            return None


def _parted(source: SourceIn) -> AgentMemError:
    msg = f"{source.stream.path}: it does not go on from what was imported of it earlier"
    return ConflictError(msg, hint="Give --again to import it as a session of its own.")
