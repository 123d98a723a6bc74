"""The meta after a repair: made anew from the logs as they will be, a bad one set aside."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple, cast

from agentmem_cli.limits import META_BYTES_MAX
from agentmem_cli.operations.listing import beginning_of, is_fresh, noted_sizes
from agentmem_cli.operations.lost_logs import LostLog, lost_logs, noted_lost, with_lost
from agentmem_cli.operations.metas import noted, rebuilt
from agentmem_cli.operations.metas_told import told_wrong
from agentmem_cli.operations.repaired import Mended
from agentmem_cli.session.meta import META, BadMeta, SessionMeta
from agentmem_cli.session.refiling import copied
from agentmem_cli.storage.layout import RECOVERED

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from agentmem_cli.operations.metas_told import Told
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.batch import DirBatch
    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.store import LogFile, Store
    from agentmem_cli.storage.survey import Survey


class StagedView:
    """A session as a batch will leave it, to be read like a store."""

    def __init__(self, store: DirStore, batch: DirBatch) -> None:
        """Look at *store* through *batch*."""
        self.store = store
        self.batch = batch

    def as_store(self) -> Store:
        """Return it as a store, for what only reads."""
        return cast("Store", self)

    def logs(self) -> list[str]:
        """Return the names of all logs."""
        return self.store.logs()

    def open_log(self, name: str) -> LogFile:
        """Open a log as it will be."""
        return self.batch.open_staged_log(name)

    def read_file(self, name: str) -> bytes:
        """Return a file's bytes as they will be."""
        return self.batch.read_file(name)

    def write_file(self, name: str, data: bytes) -> None:
        """Put *data* at *name*."""
        self.batch.write_file(name, data)


class Edits(NamedTuple):
    """What a repair does to the logs, as far as the meta has to tell it."""

    edited: Collection[str]
    """The logs that are others afterwards."""
    refused: bool
    """Whether a log is left as it is, since a newer program wrote it. What that one told in the
    meta is not told anew: only what was done to the other logs is noted."""
    damaged: int
    """Damaged places that are left."""
    ends: Mapping[str, int]
    """Line ends that were missing in a log, and are there then: nothing else was lost where it
    was shorter by no more than these."""
    tails: Mapping[str, int]
    """Bytes at the end of a log that are no records, and go out of it. Where the meta knows them
    as written they were records once."""
    told: Mapping[str, Told | None]
    """What each log tells afterwards."""


def mend_meta(view: StagedView, edits: Edits, now_ms: int) -> list[Mended]:
    """Write the meta anew where it is not of the logs as they will be; tell what was done.

    Args:
        view: The session as it will be.
        edits: What was done to its logs.
        now_ms: When a log is found gone or shorter, in ms.

    Raises:
        OSError: What is there cannot be read, so it must not be written over.
    """
    seen = view.store.survey()
    there = META in view.store.files()
    if not seen.logs and not there:
        return []
    if there and seen.meta is None and seen.meta_size <= META_BYTES_MAX:
        # Why: a survey passes over what it cannot read, and labels stand nowhere else.
        data = view.store.read_file(META)
        seen = seen._replace(meta=data, meta_size=len(data))
    old, why = _read(seen) if there else (SessionMeta(), "there was none")
    wrong: str | None = None
    lost = {} if why is not None else _lost(view, old, seen, edits)
    still = lost_logs(view.as_store(), old)
    is_back = still.keys() != noted_lost(old).keys()
    changed = bool(edits.edited or lost or is_back)
    if edits.refused:
        stays = why is not None or not changed
    else:
        stays = why is None and not changed and is_fresh(seen, old)
        if stays:
            wrong = told_wrong(view.as_store(), old, edits.told)
            stays = wrong is None
    if stays:
        return []
    aside = None
    if there and why is not None and seen.meta_size:
        aside = _set_aside(view)
    before, started = (old, None) if edits.refused else rebuilt(view.as_store(), old, None)
    sizes = _sizes(view)
    if edits.refused:
        touched = {*edits.edited, *lost}
        kept = {log: size for log, size in (noted_sizes(old) or {}).items() if log not in touched}
        sizes = {**kept, **{log: size for log, size in sizes.items() if log in touched}}
    found = {log: LostLog(size, now_ms) for log, size in lost.items()}
    meta = with_lost(noted(before, sizes, started, edits.damaged), {**found, **still}.items())
    view.write_file(META, meta.encode())
    why = why or wrong
    why = why or ("a log is whole again" if is_back else "it did not tell of them as they are")
    told = [Mended("meta", META, f"made anew from the logs ({why})", aside)]
    return told + [_told(log, size, seen, edits.tails) for log, size in lost.items()]


def _sizes(view: StagedView) -> dict[str, JSON]:
    sizes: dict[str, JSON] = {}
    for log in view.logs():
        with view.open_log(log) as opened:
            sizes[log] = opened.size
    return sizes


def _told(log: str, size: int, seen: Survey, tails: Mapping[str, int]) -> Mended:
    found = {name: length for name, length, _ in seen.logs}
    note = "the meta says so from now on"
    kept = found.get(log, 0) - tails.get(log, 0)
    if log in found and found[log] >= size:
        why = f"the last {size - kept} of its {size} bytes are records no more; {note}"
        return Mended("shorter-log", log, why)
    if log in found:
        return Mended(
            "shorter-log", log, f"{size - found[log]} of its {size} bytes are gone; {note}"
        )
    return Mended("lost-log", log, f"all of its {size} bytes are gone; {note}")


def _read(seen: Survey) -> tuple[SessionMeta, str | None]:
    """Return the meta, or what can be read of it and why that is not all."""
    if seen.meta is None:
        return SessionMeta(), f"{seen.meta_size} bytes, more than a meta may have"
    try:
        meta = SessionMeta.decode(seen.meta)
    except BadMeta as error:
        return beginning_of(seen.meta) or SessionMeta(), str(error)
    return meta, meta.trouble


def _lost(
    view: StagedView,
    meta: SessionMeta,
    seen: Survey,
    edits: Edits,
) -> dict[str, int]:
    """Return the logs that are gone or shorter than the meta noted, and their bytes then."""
    sizes = {log: size for log, size, _ in seen.logs}
    lost: dict[str, int] = {}
    for log, size in (noted_sizes(meta) or {}).items():
        found = sizes.get(log, 0)
        kept = found - edits.tails.get(log, 0) + edits.ends.get(log, 0)
        if type(size) is not int or kept >= size:
            continue
        # Why not where it is as long as it was: what shortened it was no rewrite.
        if log in sizes and found < size and _is_rewritten(view, log):
            continue
        lost[log] = size
    return lost


def _is_rewritten(view: StagedView, log: str) -> bool:
    from agentmem_cli.session.heads import read_head

    header = read_head(view.store, log).header
    return header is not None and bool(header.rewrites)


def _set_aside(view: StagedView) -> str:
    digest = hashlib.sha256()
    with view.store.open_file(META) as opened:
        for data in copied(opened, 0, opened.size):
            digest.update(data)
        name = f"{RECOVERED}{META}-{digest.hexdigest()}.part"
        sink = view.batch.open_file(name)
        for data in copied(opened, 0, opened.size):
            sink.write(data)
    return name
