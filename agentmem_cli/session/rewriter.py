"""Rewriting a session in place: all of it or nothing.

Everything is staged under the session's lock and checked before anything is
swapped. What a crash leaves, the next command finishes; so a rewrite is made
whole without its maker, who may be unable to find a secret a second time.

Source: DESIGN.md, "Rewriting".
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from agentmem_cli import errors
from agentmem_cli.session.clock import fresh_lineage
from agentmem_cli.session.clock import now_ms as clock_ms
from agentmem_cli.session.codec import loads_object
from agentmem_cli.session.following import Following
from agentmem_cli.session.images import BLOB_FOLDER
from agentmem_cli.session.meta import META
from agentmem_cli.session.passing import LogPass
from agentmem_cli.session.rawlines import torn_at
from agentmem_cli.session.reader import reading
from agentmem_cli.session.record import LogRewrite, decode_header
from agentmem_cli.session.refiling import (
    REFERENCE,
    REFERENCE_BYTES,
    FilePass,
    Titles,
    Watching,
    copied,
    rewritten_header,
    sized_meta,
)
from agentmem_cli.session.rewriting import (
    HEAD_BYTES,
    File,
    Record,
    Rewrite,
    Rewritten,
    RewrittenLog,
)
from agentmem_cli.session.session import TornTail
from agentmem_cli.session.staged import Staged
from agentmem_cli.session.writer import changing
from agentmem_cli.storage.layout import RECOVERED, recovered_name
from agentmem_cli.storage.seen import IDLE_MS, Seen, check_same, check_seen, refuse_busy, times
from agentmem_cli.storage.store import batch_of, open_file_of, open_log_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from agentmem_cli.session.author import Author
    from agentmem_cli.session.source import OpenLog
    from agentmem_cli.storage.store import Batch, Store

TRIES: Final = 3
"""How often a rewrite begins where programs that take no lock write meanwhile."""

_NAMED: Final = re.compile(r"-([0-9a-f]{64})\.part$")


def rewrite(  # noqa: PLR0913 - one a wish, all of them named
    store: Store,
    by: Author | None,
    with_: Rewrite,
    *,
    damaged: Literal["refuse", "as-text"] = "refuse",
    expect: Mapping[str, Seen] | None = None,
    skip: Callable[[str], bool] | None = None,
    finish: Callable[[Staged], None] | None = None,
    check: Callable[[Staged], None] | None = None,
    if_idle_ms: int | None = IDLE_MS,
    now_ms: int | None = None,
    drop_blobs: Collection[str] = (),
    progress: Callable[[int], None] | None = None,
    wait_s: float | None = None,
) -> Rewritten:
    """Rewrite every log and file of *store* in place, or nothing.

    Every record keeps its place and its stamp. A log of which a record changes
    gets a fresh lineage, and its header says who rewrote it. The past is
    replaced: this cannot be undone. Where something changes meanwhile it
    begins again, so a place can be asked for more than once.

    Args:
        store: The session.
        by: Who rewrites, for the headers.
        with_: What is asked at every place.
        damaged: Whether a log that does not read strictly is refused, or its
            unreadable lines are mapped as text.
        expect: What `see` said when the session was looked at; None: anything.
        skip: Which files, by name, are left to *finish*.
        finish: Called when all is staged, to write what depends on it.
        check: Called last; raises where something must not be so.
        if_idle_ms: For how long another program must have left the logs alone;
            None: it need not have. What this program wrote last counts as idle.
        now_ms: The time now, ms since 1970-01-01 UTC; None: by the clock.
        drop_blobs: Names of blobs to give up: what referred to them has unknown data then.
        progress: Called with the bytes read since the last call.
        wait_s: Seconds to wait for the lock; None: what the store was opened with.

    Returns:
        What changed.

    Raises:
        errors.Record: A log does not read strictly, or a record would become another one.
        errors.Format: A log is of another format.
        errors.Stale: A log or file is not as *expect* has it.
        errors.ConflictError: Another program is writing to the session.
        errors.Busy: The lock was not free in time.
        OSError: The system refused. As with all the others, nothing changed,
            unless the error's notes say that the next command finishes it.
    """
    at_ms = clock_ms() if now_ms is None else now_ms
    wishes = _Wishes(damaged == "as-text", expect, skip, finish, check, drop_blobs, progress)

    def once() -> Rewritten:
        with changing(""), batch_of(store, wait_s) as batch:
            refuse_busy(store, if_idle_ms, at_ms)
            return _once(Staged(store, batch, by, at_ms), with_, wishes)

    refuse_busy(store, if_idle_ms, at_ms, locked=False)
    for _ in range(0 if expect is not None else TRIES - 1):
        with suppress(errors.Stale, errors.Changed):
            return once()
    return once()


class _Wishes(NamedTuple):
    """Arguments of `rewrite`."""

    as_text: bool
    expect: Mapping[str, Seen] | None
    skip: Callable[[str], bool] | None
    finish: Callable[[Staged], None] | None
    check: Callable[[Staged], None] | None
    dropped: Collection[str]
    progress: Callable[[int], None] | None


def _once(staged: Staged, with_: Rewrite, wishes: _Wishes) -> Rewritten:
    """Stage a rewrite under the lock; what is returned is true when the batch is made."""
    store = staged.store
    if wishes.expect is not None:
        check_seen(store, wishes.expect)
    before = times(store)
    staged.dropped = frozenset(wishes.dropped)
    work = _Work(staged, with_, wishes)
    work.run()
    if wishes.finish is not None:
        wishes.finish(staged)
    if wishes.check is not None:
        wishes.check(staged)
    # Why: a program that takes no lock may have added what nobody looked at.
    check_same(before, times(store))
    done = work.done()
    if done.changed and hasattr(staged.batch, "clears"):
        staged.batch.clears = True
    elif not done.changed and hasattr(staged.batch, "sweep"):
        # Why: a rewrite that was killed when all was done may have left its old bytes.
        staged.batch.sweep()
    return done


class _Work:
    """One rewrite on its way; its steps come in the order of its methods."""

    def __init__(self, staged: Staged, with_: Rewrite, wishes: _Wishes) -> None:
        self._staged = staged
        self._store: Store = staged.store
        self._batch: Batch = staged.batch
        self._with = staged.with_ = with_
        self._as_text = wishes.as_text
        self._skip = wishes.skip
        self._told: Callable[[int], None] = wishes.progress or _pass_by
        self._logs: list[RewrittenLog] = []
        self._sizes: dict[str, tuple[int, int]] = {}
        self._torn: list[TornTail] = []
        self._added: list[str] = []
        self._blobs_gone: set[str] = set()
        self._unnamed: set[str] = set()
        self._titles = Titles(self._store)

    def run(self) -> None:
        skip = self._skip
        names = [name for name in self._store.files() if skip is None or not skip(name)]
        self._named_by_bytes(names)
        if self._staged.digests or self._staged.dropped:
            self._with = Following(self._with, self._staged.digests, self._staged.dropped)
            self._staged.with_ = self._with
        for log in self._store.logs():
            self._log(log)
        for name in names:
            if not name.startswith((BLOB_FOLDER, RECOVERED)) and name != META:
                self._file(name)
        self._unname()
        if META in names:
            self._meta()

    def done(self) -> Rewritten:
        staged = self._staged
        return Rewritten(
            tuple(self._logs),
            tuple(sorted(staged.changed)),
            tuple(sorted(self._added)),
            tuple(sorted(self._blobs_gone)),
            tuple(self._torn),
        )

    # -- files named by their bytes ----------------------------------------

    def _named_by_bytes(self, names: list[str]) -> None:
        for name in names:
            if name.startswith(BLOB_FOLDER):
                self._blob(name)
            elif name.startswith(RECOVERED):
                self._recovered(name)

    def _blob(self, name: str) -> None:
        with open_file_of(self._store, name) as opened:
            if self._with.reading(name, opened.read_at(0, HEAD_BYTES)) == "skip":
                return
            data = opened.read_at(0, opened.size)
        self._told(len(data))
        new = self._whole(name, data)
        if new == data:
            return
        short = name.removeprefix(BLOB_FOLDER)
        digest, _, extension = short.partition(".")
        if digest != hashlib.sha256(data).hexdigest():
            self._staged.write_file(name, new)  # Why: a lost image; its name says nothing of it.
            return
        fresh = hashlib.sha256(new).hexdigest()
        target = f"{fresh}.{extension}"
        self._staged.digests[digest] = fresh
        self._staged.write_file(BLOB_FOLDER + target, new)
        self._staged.remove_file(name)
        self._added.append(target)
        self._blobs_gone.add(short)

    def _recovered(self, name: str) -> None:
        def passed() -> FilePass:
            return FilePass(File(name), open_file_of(self._store, name), self._with)

        digest = hashlib.sha256()
        first = passed()
        for data in first.run(self._told):
            digest.update(data)
        if not first.changed:
            return
        named = _NAMED.search(name)
        target = name
        if named is not None:
            fresh = digest.hexdigest()
            target = f"{name[: named.start(1)]}{fresh}{name[named.end(1) :]}"
            self._staged.digests[named[1]] = fresh
            self._staged.remove_file(name)
        # Why once more: only now it is known what it is called.
        sink = self._batch.open_file(target)
        for data in passed().run(_pass_by):
            sink.write(data)
        self._staged.changed.add(target)

    # -- logs --------------------------------------------------------------

    def _log(self, log: str) -> None:
        with reading(f"log {log!r}"), open_log_of(self._store, log) as opened:
            keep = torn_at(opened)
            size = self._pass(log, opened, keep)
            if keep < opened.size:
                self._set_aside(log, opened, keep, staged=size is not None)
            self._sizes[log] = (opened.size, keep if size is None else size)

    def _pass(self, log: str, opened: OpenLog, keep: int) -> int | None:
        """Stage a log's new bytes; return their number, None where nothing changes."""
        written = 0
        numbers = self._staged.records.setdefault(log, set())
        watcher = Watching(self._titles, self._unnamed, numbers)
        passing = LogPass(log, opened, keep, self._with, watcher, as_text=self._as_text)

        def stage(before: int) -> Callable[[bytes], object]:
            sink = self._batch.open_log_new(log, opened.size)

            def write(data: bytes) -> None:
                nonlocal written
                written += len(data)
                sink.write(data)

            if before:
                self._copy_begin(log, opened, before, write)
            return write

        passing.run(self._store, stage, lambda raw: self._header(log, raw), self._told)
        if not passing.records:
            del self._staged.records[log]
            return None
        self._logs.append(RewrittenLog(log, passing.records, passing.strings))
        return written

    def _copy_begin(
        self, log: str, opened: OpenLog, end: int, write: Callable[[bytes], object]
    ) -> None:
        """Write what stood before the first block that changes, the header anew."""
        first = next(iter(opened.lines()))
        write(self._header(log, first[:-1]) + b"\n")
        for data in copied(opened, len(first), end):
            write(data)

    def _header(self, log: str, raw: bytes) -> bytes:
        """Return a log's header with a fresh lineage, and who rewrote it.

        Raises:
            errors.Record: It would be none any more.
        """
        staged = self._staged
        new = rewritten_header(raw, fresh_lineage(), LogRewrite(staged.now_ms, staged.by))
        if new is None:
            return raw  # Why not refused here: the fold does so, unless damage is let pass.
        try:
            decode_header(loads_object(new))
        except ValueError as error:
            if not self._as_text:
                raise errors.Record(log, 1, str(error)) from None
        return new

    def _set_aside(self, log: str, opened: OpenLog, keep: int, *, staged: bool) -> None:
        tail = opened.read_at(keep, opened.size - keep)
        new = self._with.damaged_line(Record(log, None, None), tail)
        name = recovered_name(log, hashlib.sha256(new).hexdigest())
        self._staged.write_file(name, new)
        if not staged:
            self._batch.cut_log(log, opened.size, keep)
        self._torn.append(TornTail(log, keep, len(tail), name))

    # -- other files -------------------------------------------------------

    def _whole(self, name: str, data: bytes) -> bytes:
        found = self._with.hits(data)
        return data if found is not None and not found else self._with.file(name, data)

    def _file(self, name: str) -> None:
        with open_file_of(self._store, name) as opened:
            how = self._with.reading(name, opened.read_at(0, HEAD_BYTES))
            if how == "skip":
                return
            if how == "whole":
                data = opened.read_at(0, opened.size)
                self._told(len(data))
                new = self._whole(name, data)
                if new != data:
                    self._staged.write_file(name, new)
                return
            passing = FilePass(File(name), opened, self._with)
            if passing.stage(lambda: self._batch.open_file(name), self._told):
                self._staged.changed.add(name)

    def _unname(self) -> None:
        """Remove the blobs that no record names any more since this rewrite."""
        there = {name.removeprefix(BLOB_FOLDER) for name in self._store.files()}
        lost = (self._unnamed | self._staged.dropped) & there
        lost -= self._blobs_gone
        if lost - self._staged.dropped:
            for log in self._store.logs():
                with self._staged.open_log(log) as opened:
                    for data in copied(opened, 0, opened.size, overlap=REFERENCE_BYTES):
                        names = {found.decode() for found in REFERENCE.findall(data)}
                        lost -= names - self._staged.dropped
        for name in lost:
            self._staged.remove_file(BLOB_FOLDER + name)
            self._blobs_gone.add(name)

    def _meta(self) -> None:
        """Rewrite the meta, and have it say how long the logs are now."""
        data = self._store.read_file(META)
        new = (
            self._whole(META, data)
            if self._with.reading(META, data[:HEAD_BYTES]) != "skip"
            else data
        )
        sizes = {log: pair for log, pair in self._sizes.items() if pair[0] != pair[1]}
        new = self._titles.settled(data, new)
        if new != data:
            self._staged.changed.add(META)
        if sizes:
            new = sized_meta(new, sizes)
        if new != data or self._logs:
            # Why also where it is the same: it must not look older than the logs.
            self._batch.write_file(META, new)


def _pass_by(_: int) -> None:
    """Take no notice."""
