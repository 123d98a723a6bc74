"""`gc`: blobs that nothing names, and what commands left that were stopped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.doubts import doubts_of, refuse_unread
from agentmem_cli.session.codec import dumps, loads
from agentmem_cli.session.images import BLOB_FOLDER
from agentmem_cli.session.refiling import copied
from agentmem_cli.session.writer import changing
from agentmem_cli.storage.care import clear_leftovers, left_in_root, remove_left
from agentmem_cli.storage.layout import REDO
from agentmem_cli.storage.seen import IDLE_MS, refuse_busy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.store import LogFile

YOUNG_MS: Final = 3_600_000
"""How long a blob that nothing names stays: another program writes it before the record."""

UNUSED: Final = "unused-blob"
LEFTOVER: Final = "leftover"


class Garbage(NamedTuple):
    """One thing to be removed."""

    kind: str
    """`UNUSED` or `LEFTOVER`."""
    name: str
    """A blob's name among the session's files; else a path below the session, or the root."""
    size: int | None
    """Its bytes; None: it was not measured."""
    why: str


class Collected(NamedTuple):
    """What was found, and what became of it."""

    removed: tuple[Garbage, ...]
    """What is removed now, or would be."""
    young: tuple[Garbage, ...]
    """Blobs that nothing names and that are too young to be sure of."""
    kept: tuple[Garbage, ...] = ()
    """Blobs that nothing names, of a session that lost something that may have named them."""


class Wanted(NamedTuple):
    """What is wanted."""

    now_ms: int
    if_idle_ms: int | None = IDLE_MS
    young_ms: int = YOUNG_MS
    though_lost: bool = False
    """Whether blobs go that only lost records may have named."""
    dry_run: bool = False
    progress: Callable[[int], None] | None = None


def collect(store: DirStore, wanted: Wanted) -> Collected:
    """Remove what nobody needs in a session; a dry run only says what that is.

    Raises:
        errors.ConflictError: Another program is writing to it.
        errors.Busy: The lock was not free in time.
        errors.DamageError: A log is gone, damaged, or cannot be read, so it is not known what is
            named; nothing was removed.
        OSError: A file in it cannot be read; or the system refused.
    """
    refuse_busy(store, wanted.if_idle_ms, wanted.now_ms, locked=False)
    if wanted.dry_run:
        refuse_busy(store, wanted.if_idle_ms, wanted.now_ms)
        done = _blobs(store, wanted)
        names = store.leftovers()
    else:
        with changing(""), store.batch() as batch:
            refuse_busy(store, wanted.if_idle_ms, wanted.now_ms)
            done = _blobs(store, wanted)
            for each in done.removed:
                batch.remove_file(each.name)
        names = clear_leftovers(store) if store.leftovers() else []
    why = "a program that was stopped left it"
    left = tuple(Garbage(LEFTOVER, name, None, why) for name in names if name != REDO)
    return done._replace(removed=done.removed + left)


def collect_root(root: str, *, dry_run: bool) -> list[Garbage]:
    """Remove sessions half made or half removed under *root*.

    Raises:
        OSError: The system refused.
    """
    left = left_in_root(root)
    gone = left if dry_run else [each for each in left if remove_left(root, each.name)]
    return [Garbage(LEFTOVER, each.name, None, each.why) for each in gone]


def _blobs(store: DirStore, wanted: Wanted) -> Collected:
    names = unnamed(store, wanted.progress)
    if not (names or store.leftovers()):
        return Collected((), ())
    # Why for a leftover, too: where a log is gone, it may be what is left of it.
    doubts = doubts_of(store)
    refuse_unread(store, doubts)
    found: list[Garbage] = []
    young: list[Garbage] = []
    kept: list[Garbage] = []
    for name in names:
        stat = store.file_stat(name)
        age_ms = wanted.now_ms - stat.mtime_ns // 1_000_000
        if doubts.lost and not wanted.though_lost:
            where, lost = doubts.lost[0]
            why = f"nothing names it, but what is lost may have ({where}: {lost}); --though-lost"
            kept.append(Garbage(UNUSED, name, stat.size, why))
        elif age_ms < wanted.young_ms:
            why = "nothing names it, but a record may be about to: it is young"
            young.append(Garbage(UNUSED, name, stat.size, why))
        else:
            found.append(Garbage(UNUSED, name, stat.size, "nothing in the session names it"))
    return Collected(tuple(found), tuple(young), tuple(kept))


def unnamed(store: DirStore, progress: Callable[[int], None] | None = None) -> list[str]:
    """Return the blobs that no log and no file of a session names, sorted.

    A blob is named wherever its digest stands: in the past too, in any agent's log, in a
    damaged line, in a kept source, in a map, in what was set aside. In a log it may be
    spelled by the numbers of its characters. What lies among blobs and has other bytes than its
    name says is none of them.

    Raises:
        OSError: A log or a file cannot be read.
    """
    files = store.files()
    blobs = {
        name: name.removeprefix(BLOB_FOLDER).partition(".")[0].encode()
        for name in files
        if name.startswith(BLOB_FOLDER)
    }
    left = set(blobs.values())
    for opened in _texts(store, [name for name in files if name not in blobs]):
        if not left:
            break
        left -= set(_digests(opened, left))
        if progress is not None:
            progress(opened.size)
    candidates = sorted(name for name, digest in blobs.items() if digest in left)
    # Why compared: what somebody else put there, or what was damaged, is no garbage of ours.
    return [name for name in candidates if store.file_sha256(name).encode() == blobs[name]]


def _texts(store: DirStore, files: list[str]) -> Iterator[LogFile]:
    """Open each log and file, one after the other."""
    for log in store.logs():
        with store.open_log(log) as opened:
            yield opened
    for name in files:
        with store.open_file(name) as opened:
            yield opened


def _digests(opened: LogFile, wanted: set[bytes]) -> Iterator[bytes]:
    """Yield which of *wanted* stand in a file, plainly or as JSON may spell them."""
    odd = any(not _PLAIN.fullmatch(name) for name in wanted)
    spelled = False
    for data in copied(opened, 0, opened.size, overlap=_OVERLAP_BYTES):
        for found in _DIGEST.finditer(data):
            run = found[0]
            if len(run) == _DIGEST_BYTES:
                yield from {run} & wanted
            else:
                # Why: other digits may stand right before or behind a name.
                yield from (name for name in wanted if name in run)
        if odd:
            yield from (name for name in wanted if name in data)
        spelled = spelled or b"\\u00" in data
    if spelled:
        yield from _spelled(opened, wanted)


def _spelled(opened: LogFile, wanted: set[bytes]) -> Iterator[bytes]:
    for line in opened.lines():
        if b"\\u00" in line:
            try:
                plain = dumps(loads(line))
            except ValueError:
                plain = _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), line)
            yield from (name for name in wanted if name in plain)


_DIGEST_BYTES: Final = 64
_OVERLAP_BYTES: Final = 255
_DIGEST: Final = re.compile(rb"[0-9a-f]{64,}")
_PLAIN: Final = re.compile(rb"[0-9a-f]{64}")
_ESCAPE: Final = re.compile(rb"\\u00([2-7][0-9a-fA-F])")
