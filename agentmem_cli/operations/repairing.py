"""`repair`: mends what `verify` named, sets aside, never deletes.

All of it is one batch: killed anywhere, a session is as it was or as it will be.
Leftovers and modes come after that; each of these is a step of its own.

Source: DESIGN.md, "Repairing".
"""

from __future__ import annotations

import hashlib
import re
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from agentmem_cli.operations.lost import NamedBlobs
from agentmem_cli.operations.metas_told import Told
from agentmem_cli.operations.repaired import Left, Mended, Repaired, told_of
from agentmem_cli.operations.repaired_meta import Edits, StagedView, mend_meta
from agentmem_cli.operations.repaired_places import (
    UNFINISHED,
    left_alone,
    mend_places,
    places_mended,
)
from agentmem_cli.operations.strays import LINK, NO_FILE
from agentmem_cli.session.aside import Aside
from agentmem_cli.session.change import ChangeRecord, SetAside
from agentmem_cli.session.damaged import survey
from agentmem_cli.session.fold import BAD_HEADER, BAD_STAMP, LogFold
from agentmem_cli.session.images import BLOB_FOLDER
from agentmem_cli.session.keys import LOST
from agentmem_cli.session.mending import BY, mend
from agentmem_cli.session.mending_counts import joined
from agentmem_cli.session.ordering import in_order
from agentmem_cli.session.reader import fold_log
from agentmem_cli.session.record import encode_record
from agentmem_cli.session.refiling import copied
from agentmem_cli.session.source import LogSource
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.session.writer import changing
from agentmem_cli.storage.care import clear_leftovers, tighten
from agentmem_cli.storage.layout import RECOVERED, REDO, is_part_of_ours, recovered_name
from agentmem_cli.storage.oddities import fixed_oddities
from agentmem_cli.storage.seen import IDLE_MS, refuse_busy
from agentmem_cli.storage.trial import TrialBatch
from agentmem_cli.storage.trial_store import TrialStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.damaged import Survey
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.session.mending_counts import Counts
    from agentmem_cli.session.ordering import Reordered
    from agentmem_cli.session.source import OpenLog
    from agentmem_cli.storage.batch import DirBatch
    from agentmem_cli.storage.directory import DirStore


class Wanted(NamedTuple):
    """What is wanted of a repair."""

    now_ms: int
    if_idle_ms: int | None = IDLE_MS
    tighten: bool = False
    """Whether others may no longer read it."""
    unknown: bool = False
    """Whether records of types that are not known are set aside; else their log stays."""
    keep_first: bool = False
    """Whether of different records of one stamp the first stays alone; else all of them do."""
    dry_run: bool = False
    progress: Callable[[int], None] | None = None


def repair(store: DirStore, wanted: Wanted) -> Repaired:
    """Mend a session.

    Args:
        store: The session.
        wanted: What is wanted.

    Returns:
        What was done, or with ``dry_run`` would be.

    Raises:
        errors.ConflictError: Another program is writing to it.
        errors.Busy: The lock was not free in time.
        OSError: The system refused; nothing changed, unless the error's notes say that the
            next command finishes it.
    """
    if fixed_oddities(store):
        return Repaired((), _in_turn(left_alone(store, wanted.progress)))
    refuse_busy(store, wanted.if_idle_ms, wanted.now_ms, locked=False)
    if wanted.dry_run:
        return _tried(store, wanted)
    done = mend_places(store)
    with changing(""), store.batch() as batch:
        refuse_busy(store, wanted.if_idle_ms, wanted.now_ms)
        # Why before: a change takes those of our own away with it.
        names = set(store.leftovers())
        done += _Work(store, batch, wanted).run()
    if store.leftovers():
        names.update(clear_leftovers(store))
    done += _cleared(sorted(names), done)
    done += _tightened(tighten(store) if wanted.tighten and store.loose() else [])
    # Why looked at again: what is left is what verify says is left.
    return Repaired(tuple(done), _in_turn(left_alone(store, wanted.progress)))


def _tried(store: DirStore, wanted: Wanted) -> Repaired:
    """Return what a repair would do, and what `verify` would say after it."""
    refuse_busy(store, wanted.if_idle_ms, wanted.now_ms)
    cleared: set[str] = set()
    with TrialBatch(store) as before:
        done = places_mended(store, before)
        begun = TrialStore(store, before)
        with TrialBatch(begun) as batch:
            # Why cast: a trial has as much of a batch as is used here.
            work = _Work(begun, cast("DirBatch", batch), wanted)
            done += work.run()
            # Why not those of an unfinished change: they go with it, or are set aside.
            names = store.leftovers()
            if any(each.kind == UNFINISHED for each in done):
                cleared.update(filter(is_part_of_ours, names))
            done += _cleared([each for each in names if each not in cleared], done)
            after = TrialStore(begun, batch)
            loose = after.loose() if wanted.tighten else []
            done += _tightened(loose)
            after.is_tight = wanted.tighten
            left = left_alone(after, wanted.progress)
    # Why: places are still looked at where the session lies.
    cleared.update(each.where for each in done)
    left = [each for each in left if each.kind not in _PLACES or each.where not in cleared]
    return Repaired(tuple(done), _in_turn(left))


def _cleared(names: list[str], done: list[Mended]) -> list[Mended]:
    told = {each.where for each in done}
    why = "removed: a program that was stopped left it"
    return [Mended("leftover", name, why) for name in names if name != REDO and name not in told]


def _tightened(names: list[str]) -> list[Mended]:
    return [Mended("loose-mode", name, "kept to its owner") for name in names]


def _in_turn(left: list[Left]) -> tuple[Left, ...]:
    return tuple(sorted(left, key=lambda each: (each.where, each.kind, each.why)))


class _Work:
    """One repair on its way; its steps come in the order of its methods."""

    def __init__(self, store: DirStore, batch: DirBatch, wanted: Wanted) -> None:
        self._done: list[Mended] = []
        self._store = store
        self._batch = batch
        self._wanted = wanted
        self._view = StagedView(store, batch)
        self._told = wanted.progress or _pass_by
        self._ends: dict[str, _End] = {}
        self._refused: set[str] = set()
        self._edited: set[str] = set()
        self._ends_put: dict[str, int] = {}
        self._tails: dict[str, int] = {}

    def run(self) -> list[Mended]:
        """Stage all of it; return what is mended then."""
        for log in self._store.logs():
            self._log(log)
        for name in self._store.files():
            if name.startswith((BLOB_FOLDER, RECOVERED)):
                self._named_by_bytes(name)
        self._lost_images()
        damaged = 0
        for log in self._store.logs():
            damaged += len(self._end(log).damages)
        edits = Edits(
            self._edited,
            bool(self._refused),
            damaged,
            ends=self._ends_put,
            tails=self._tails,
            told={log: self._end(log).told for log in self._store.logs()},
        )
        self._done += mend_meta(self._view, edits, self._wanted.now_ms)
        return self._done

    def _log(self, log: str) -> None:
        with self._store.open_log(log) as opened:
            source = LogSource(opened, self._store)
            fold = LogFold(log, source, strict=False).run()
            self._told(opened.size)
            self._ends[log] = _End.of(fold)
            if not fold.damages:
                return
            view = _in_order(opened, fold)
            source = source if view is None else LogSource(view, self._store)
            found = survey(source.log)
            if found.format is not None or (found.unknown and not self._wanted.unknown):
                self._refused.add(log)
                return
            moved = 0 if view is None else view.moved
            how = partial(self._mend, log, source, found, size=opened.size, moved=moved)
            counts = how("", write=False)
            if counts.edited or counts.aside:
                self._put(log, source.log, counts, opened.size, lambda name: how(name, write=True))

    def _put(
        self, log: str, read: OpenLog, counts: Counts, size: int, write: Callable[[str], object]
    ) -> None:
        """Stage what a log comes to, and the bytes that go out of it."""
        del self._ends[log]
        self._edited.add(log)
        self._ends_put[log] = counts.ends
        self._tails[log] = counts.tail
        digest = hashlib.sha256()
        for data in joined(read, counts.aside):
            digest.update(data)
        name = recovered_name(log, digest.hexdigest())
        if counts.edited:
            write(name)
        else:
            self._batch.cut_log(log, size, size - counts.torn)
        if counts.aside:
            sink = self._batch.open_file(name)
            for data in joined(read, counts.aside):
                sink.write(data)
        self._done += told_of(log, counts, name if counts.aside else None)

    def _mend(  # noqa: PLR0913 - most of them named
        self,
        log: str,
        source: LogSource,
        found: Survey,
        file: str,
        *,
        write: bool,
        size: int,
        moved: int,
    ) -> Counts:
        def sink_of() -> Callable[[bytes], object]:
            return self._batch.open_log_new(log, size).write

        return mend(
            log,
            source,
            found,
            file=file,
            now_ms=self._wanted.now_ms,
            sink_of=sink_of if write else None,
            told=self._told,
            moved=moved,
            keep_first=self._wanted.keep_first,
        )

    def _end(self, log: str) -> _End:
        """Return what a log comes to as it will be."""
        if log not in self._ends:
            self._ends[log] = _End.of(fold_log(self._view.as_store(), log, strict=False))
        return self._ends[log]

    def _named_by_bytes(self, name: str) -> None:
        """Set a blob aside that is not what its name says; call a recovered file what it is."""
        digest = self._store.file_sha256(name)
        self._told(self._store.file_stat(name).size)
        named = _DIGEST.search(name)
        if name.startswith(BLOB_FOLDER):
            short = name.removeprefix(BLOB_FOLDER)
            if short.partition(".")[0] == digest:
                return
            target, kind = f"{RECOVERED}{short}-{digest}.part", "mismatched-blob"
            why = "set aside: its bytes are not those that its name says"
        else:
            if named is None or named[1] == digest:
                return
            target, kind = f"{name[: named.start(1)]}{digest}.part", "mismatched-recovered"
            why = "called by the bytes that it has"
        with self._store.open_file(name) as opened:
            sink = self._batch.open_file(target)
            for data in copied(opened, 0, opened.size):
                sink.write(data)
        self._batch.remove_file(name)
        self._done.append(Mended(kind, name, why, target))

    # -- images that are lost ----------------------------------------------

    def _lost_images(self) -> None:
        """Note in each log which of the blobs that it names are lost."""
        there = set(self._batch.files())
        lost: dict[str, list[str]] = {}
        for log in self._store.logs():
            named = NamedBlobs()
            with self._batch.open_staged_log(log) as opened:
                if not any(b"blob:" in data for data in copied(opened, 0, opened.size, overlap=4)):
                    continue
            fold_log(self._view.as_store(), log, strict=False, on_record=named.look)
            names = [name for name in named.names if BLOB_FOLDER + name not in there]
            names = [name for name in names if name not in named.noted]
            if names and log not in self._refused:
                lost[log] = names
        for log, names in lost.items():
            self._note_lost(log, names)

    def _note_lost(self, log: str, names: list[str]) -> None:
        end = self._end(log)
        blobs: list[JSON] = [*names]
        change = SetAside(end.next_aside, Aside(LOST, BY, {"blobs": blobs}, end.after))
        last_n = max(self._end(each).last_n for each in self._store.logs())
        at = self._wanted.now_ms
        line = encode_record(Stamp(last_n + 1, end.last_seq + 1, at), ChangeRecord(change, BY, at))
        self._batch.append_log(log, end.size, line)
        del self._ends[log]
        self._edited.add(log)
        for name in names:
            self._done.append(
                Mended("missing-blob", log, f"blob {name} is gone; the log says so from now on")
            )


class _End(NamedTuple):
    """What a log comes to, as far as a repair needs it."""

    size: int
    last_seq: int
    last_n: int
    next_aside: int
    after: int | None
    """The id of the last message."""
    damages: tuple[Damage, ...]
    told: Told | None

    @classmethod
    def of(cls, fold: LogFold) -> _End:
        conversation = fold.conversation
        entries = conversation.entries
        return cls(
            fold.source.log.size,
            fold.last_seq,
            fold.last_n,
            conversation.next_aside,
            entries[-1].id if entries else None,
            tuple(fold.damages),
            Told.of(fold),
        )


_PLACES: Final = frozenset({LINK, NO_FILE})
_DIGEST: Final = re.compile(r"-([0-9a-f]{64})\.part$")


def _in_order(opened: OpenLog, fold: LogFold) -> Reordered | None:
    """Return a log with its records in order, where they are not."""
    if not any(damage.kind in {BAD_STAMP, BAD_HEADER} for damage in fold.damages):
        return None
    return in_order(opened)


def _pass_by(_: int) -> None:
    """Do nothing: nobody looks on."""
