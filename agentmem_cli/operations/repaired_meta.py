"""The meta after a repair: made anew from the logs as they will be, a bad one set aside."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, cast

from agentmem_cli.limits import META_BYTES_MAX
from agentmem_cli.operations.listing import beginning_of, is_fresh, noted_sizes
from agentmem_cli.operations.lost_logs import LostLog, lost_logs, noted_lost, with_lost
from agentmem_cli.operations.metas import noted, rebuilt
from agentmem_cli.operations.repaired import Mended
from agentmem_cli.session.meta import META, BadMeta, SessionMeta
from agentmem_cli.session.refiling import copied
from agentmem_cli.storage.layout import RECOVERED

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def mend_meta(
    view: StagedView,
    *,
    logs_change: bool,
    damaged: int,
    ends: Mapping[str, int],
    tails: Mapping[str, int],
    now_ms: int,
) -> list[Mended]:
    """Write the meta anew where it is not of the logs as they will be; tell what was done.

    Args:
        view: The session as it will be.
        logs_change: Whether it has other logs then.
        damaged: Damaged places that are left in them.
        ends: Line ends that were missing in a log, and are there then: nothing else was lost
            where it was shorter by no more than these.
        tails: Bytes at the end of a log that are no records, and go out of it. Where the meta
            knows them as written they were records once.
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
    lost = {} if why is not None else _lost(view, old, seen, ends, tails)
    still = lost_logs(view.as_store(), old)
    is_back = still.keys() != noted_lost(old).keys()
    if why is None and not (logs_change or lost or is_back) and is_fresh(seen, old):
        return []
    aside = None
    if there and why is not None and seen.meta_size:
        aside = _set_aside(view)
    before, started = rebuilt(view.as_store(), old, None)
    sizes = {}
    for log in view.logs():
        with view.open_log(log) as opened:
            sizes[log] = opened.size
    found = {log: LostLog(size, now_ms) for log, size in lost.items()}
    meta = with_lost(noted(before, sizes, started, damaged), {**found, **still}.items())
    view.write_file(META, meta.encode())
    why = why or ("a log is whole again" if is_back else "it did not tell of them as they are")
    told = [Mended("meta", META, f"made anew from the logs ({why})", aside)]
    return told + [_told(log, size, seen, tails) for log, size in lost.items()]


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
    ends: Mapping[str, int],
    tails: Mapping[str, int],
) -> dict[str, int]:
    """Return the logs that are gone or shorter than the meta noted, and their bytes then."""
    sizes = {log: size for log, size, _ in seen.logs}
    lost: dict[str, int] = {}
    for log, size in (noted_sizes(meta) or {}).items():
        found = sizes.get(log, 0)
        kept = found - tails.get(log, 0) + ends.get(log, 0)
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
