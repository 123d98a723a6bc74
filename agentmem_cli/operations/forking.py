"""Forks: a new session, or a new agent of one, that begins as another stood at a place at rest."""

# ruff: noqa: PTH118, PTH119 - names of the root are text

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError, ConflictError, NotFoundError, UsageError
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.append import agent_to_append, keep_main
from agentmem_cli.operations.blobs import references
from agentmem_cli.operations.catalog import Found
from agentmem_cli.operations.metas import is_current, noted, rebuilt, refresh
from agentmem_cli.operations.renaming import check_plain
from agentmem_cli.operations.repaired_meta import StagedView
from agentmem_cli.operations.searching import entries_of
from agentmem_cli.session.clock import fresh_lineage
from agentmem_cli.session.images import BLOB_FOLDER
from agentmem_cli.session.keys import FORKED_FROM, SESSION
from agentmem_cli.session.lines import scan
from agentmem_cli.session.live import RestPlace, rest_place
from agentmem_cli.session.meta import META, BadMeta, SessionMeta
from agentmem_cli.session.reader import fold_log, open_log
from agentmem_cli.session.record import Saved, decode_header, encode_header, encode_record
from agentmem_cli.session.source import LogSource
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.session.writer import last_n

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentmem_cli.operations.places import Place
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.storage.batch import DirBatch
    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.store import Batch, Sink

_NAMES_MAX: Final = 10_000
"""Names that are tried for a fork that nobody named."""


class Forked(NamedTuple):
    """A fork that was made."""

    found: Found
    """The session that it stands in."""
    agent: str
    """Its log."""
    source_agent: str
    n: int
    """The ``n`` of the last record that both hold."""
    messages: int
    """Messages that both hold."""
    left: int
    """Messages of the source at the place asked for that stand behind the place at rest."""
    blobs: int
    """Blobs that were copied."""
    lost: tuple[str, ...]
    """Blobs that it names, and that were not there to be copied."""
    meta_error: str | None = None
    """Why the meta could not be written; the fork is made all the same."""


class _Start(NamedTuple):
    """What a fork begins with."""

    store: DirStore
    session: str
    log: str
    place: RestPlace
    messages: int
    left: int


def fork_session(  # noqa: PLR0913 - what is forked, at which place, and what comes of it
    root: Path,
    found: Found,
    store: DirStore,
    log: str,
    place: Place,
    *,
    new: str | None,
    now_ms: int,
    lock_wait_s: float,
) -> Forked:
    """Make a new session under *root* of an agent's log and of the session's saved values.

    Both end at the last place before *place* where the conversation is at
    rest: it owes no reply, and no call waits for its result. Stamps stay. The
    blobs that the log names are copied. It appears whole, or not at all.

    Args:
        root: Where sessions are.
        found: The session that is forked.
        store: It, opened.
        log: The agent's log.
        place: Where it is forked.
        new: What the fork is to be called; None: the session's name behind ``fork-``.
        now_ms: The time now.
        lock_wait_s: Seconds to wait for a lock.

    Raises:
        NotFoundError: There is no place at rest.
        ConflictError: There is a session of this name.
        UsageError: The name is none that every system takes.
        SessionError: A log does not read. Nothing was written.
        OSError: The meta does not, or the system refused. Nothing was written.
    """
    from agentmem_cli.storage.directory import DirStore

    name = _free_name(root, found) if new is None else new
    check_plain(name, "session")
    path = os.path.join(root, name)
    if os.path.lexists(path):
        msg = f"there is a session or file called {name!r} under {root}"
        raise ConflictError(msg, hint="Choose another name.")
    made = DirStore.open(path, lock_wait_s=lock_wait_s)
    # Why the lock of the source: it must not be replaced while it is copied.
    with store.lock():
        start = _start(found, store, log, place)
        old = _old_meta(store)
        with made.beginning() as batch:
            sink, last = _copy_log(batch, start, (log, log), start.place.end, alone=True)
            own_end = _own_end(store, start.place.n)
            if own_end:
                _copy_log(batch, start, (SESSION, SESSION), own_end, alone=True)
            note = Saved(FORKED_FROM, _note(start))
            sink.write(encode_record(Stamp(start.place.n + 1, last + 1, now_ms), note))
            copied, lost = _copy_blobs(batch, start)
            logs = [log, SESSION] if own_end and log != SESSION else [log]
            _write_meta(_Beginning(made, batch, logs), start, old, now_ms)
    return Forked(
        Found(name, path), log, log, start.place.n, start.messages, start.left, copied, lost
    )


def fork_agent(
    found: Found, store: DirStore, log: str, place: Place, name: str, *, now_ms: int
) -> Forked:
    """Start another agent of the same session as a fork of one.

    Args:
        found: The session.
        store: It, opened.
        log: The agent's log that is forked.
        place: Where it is forked; see `fork_session`.
        name: What the new agent is called.
        now_ms: The time now.

    Raises:
        NotFoundError: There is no place at rest.
        ConflictError: There is an agent of this name.
        UsageError: No agent can be called so.
        SessionError: The log does not read. Nothing was written.
        Busy: The lock was not free in time.
    """
    target, given = agent_to_append(store, name)
    if target in store.logs():
        raise ConflictError(f"there is an agent called {target!r}", hint="Choose another name.")
    if given is not None:
        hint = f"This one is: {target}"
        raise UsageError(f"{name!r} is no name that every system takes", hint=hint)
    error = None
    with store.lock():
        current = is_current(store)
        keep_main(store, target, now_ms)
        # Why under the lock: the source must not be replaced between the two.
        start = _start(found, store, log, place)
        with store.batch() as batch:
            sink, last = _copy_log(batch, start, (log, target), start.place.end, alone=False)
            note = Saved(FORKED_FROM, _note(start))
            n = max(last_n(store), start.place.n) + 1
            sink.write(encode_record(Stamp(n, last + 1, now_ms), note))
        try:
            refresh(store, lambda meta: meta, current=current, started_ms=None)
        except (OSError, AgentMemError) as problem:
            # Why: the logs are the truth; a listing goes by them until the next change.
            error = str(problem)
    return Forked(found, target, log, start.place.n, start.messages, start.left, 0, (), error)


def _start(found: Found, store: DirStore, log: str, place: Place) -> _Start:
    whole = fold_log(store, log, cut=place.cut)
    before = None if place.cut is None else whole.last_n + 1
    rest = rest_place(store, log, before=before)
    if rest is None:
        msg = f"agent {log!r} is nowhere at rest before {place.words}"
        hint = "It owes a reply, or a call waits for its result, at every place before."
        raise NotFoundError(msg, hint=hint)
    from agentmem_cli.session.fold import Cut

    kept = fold_log(store, log, cut=Cut(n=rest.n + 1))
    messages = len(kept.conversation)
    return _Start(store, found.id, log, rest, messages, max(0, len(whole.conversation) - messages))


def _note(start: _Start) -> JSON:
    return {
        "session": start.session,
        "agent": start.log,
        "n": start.place.n,
        "at": start.messages,
    }


def _free_name(root: Path, found: Found) -> str:
    from agentmem_cli.operations.imports.naming import safe_name

    # Why in front: behind it, the beginning of the session's name would mean both.
    base = safe_name(f"fork-{os.path.basename(found.path)}")
    for number in range(1, _NAMES_MAX):
        name = base if number == 1 else f"{base}-{number}"
        if not os.path.lexists(os.path.join(root, name)):
            return name
    msg = f"there are too many forks called {base!r}"
    raise ConflictError(msg, hint="Say what this one is to be called.")


def _copy_log(
    batch: Batch, start: _Start, names: tuple[str, str], end: int, *, alone: bool
) -> tuple[Sink, int]:
    """Copy a log up to byte *end* under a new header.

    Args:
        batch: Where to.
        start: What is forked.
        names: The log, and what it is called there.
        end: Where a record ends.
        alone: Whether the agent that spawned it is left behind.

    Returns:
        What takes more of it, and the last record's ``seq``.
    """
    source, target = names
    opened = open_log(start.store, source)
    records = scan(opened, _refuse)
    first = next(records)
    header = decode_header(LogSource(opened, start.store).exact(first.offset, first.length))
    n, t = first.fields["n"], first.fields["t"]
    assert isinstance(n, int)
    assert isinstance(t, int)
    parent = None if alone else header.parent
    made = replace(header, log=target, lineage=fresh_lineage(), parent=parent)
    sink = batch.open_append(target, 0)
    sink.write(encode_header(Stamp(n, 0, t), made))
    begin = first.offset + first.length + 1
    for offset in range(begin, end, CHUNK_BYTES):
        sink.write(opened.read_at(offset, min(CHUNK_BYTES, end - offset)))
    seq = 0
    for line in records:
        if line.offset >= end:
            break
        told = line.fields.get("seq")
        seq = told if isinstance(told, int) else seq
    return sink, seq


def _refuse(_: object) -> None:
    """Pass over damage: what is copied was folded strictly, and ends before it."""


def _own_end(store: DirStore, n: int) -> int:
    """Return where the session's own log ends at a place; 0: it holds nothing yet."""
    if SESSION not in store.logs():
        return 0
    fold_log(store, SESSION)
    end = records = 0
    for line in scan(open_log(store, SESSION), _refuse):
        told = line.fields.get("n")
        if isinstance(told, int) and told > n:
            break
        end = line.offset + line.length + 1
        records += 1
    return end if records > 1 else 0


def _copy_blobs(batch: Batch, start: _Start) -> tuple[int, tuple[str, ...]]:
    """Copy the blobs that the copied records name; return how many, and which are missing.

    Raises:
        OSError: One is there and cannot be read.
    """
    names: dict[str, None] = {}
    for fields in _records_before(start):
        for entry in entries_of(fields):
            names.update(dict.fromkeys(name for _, name, _ in references(entry)))
    lost = []
    for name in names:
        try:
            batch.write_file(BLOB_FOLDER + name, start.store.read_file(BLOB_FOLDER + name))
        except (FileNotFoundError, ValueError):
            lost.append(name)
    return len(names) - len(lost), tuple(lost)


def _records_before(start: _Start) -> Iterator[Object]:
    opened = open_log(start.store, start.log)
    for line in scan(opened, _refuse):
        if line.offset >= start.place.end:
            return
        yield line.fields


class _Beginning(StagedView):
    """A session that is not there yet, as its batch will make it."""

    def __init__(self, store: DirStore, batch: DirBatch, logs: list[str]) -> None:
        """Look at *store*, which is not there, through *batch*, which makes *logs*."""
        super().__init__(store, batch)
        self._names = sorted(logs)

    def logs(self) -> list[str]:
        """Return the names of all logs."""
        return self._names


def _write_meta(view: StagedView, start: _Start, old: SessionMeta, now_ms: int) -> None:
    """Write the meta of a new session: its logs tell all but labels and the note of the fork."""
    meta, started_ms = rebuilt(view.as_store(), SessionMeta(), None)
    listed: dict[str, JSON] = {**meta.listed}
    listed["forked_from"] = {"session": start.session, "at": start.messages}
    if "cwd" in old.listed:
        listed.setdefault("cwd", old.listed["cwd"])
    meta = meta._replace(
        title=meta.title or old.title,
        labels=old.labels,
        updated=max(meta.updated or 0, now_ms),
        listed=listed,
    )
    sizes = {}
    for log in view.logs():
        with view.open_log(log) as opened:
            sizes[log] = opened.size
    view.write_file(META, noted(meta, sizes, started_ms, 0).encode())


def _old_meta(store: DirStore) -> SessionMeta:
    try:
        return SessionMeta.read(store)
    except BadMeta:
        return SessionMeta()  # Why only then: what the disk did not give may have labels in it.
