"""Which logs a repair found gone or shorter, as the meta says from then on, until one is back.

The note stands under `OURS` in ``listed``: for each log the bytes that it had
(``size``) and when it was found short of them (``t``, ms). A log that is as long
again need not have its old records again: more may have been added to what was
left. It has them where the line that ends at the old end was written before
the loss was found, and no repair has made the log anew since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.listing import OURS, noted_sizes
from agentmem_cli.session.heads import read_head, stamp_before
from agentmem_cli.session.keys import REPAIRS
from agentmem_cli.session.mending_counts import was_begun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.meta import SessionMeta
    from agentmem_cli.session.session import TornTail
    from agentmem_cli.storage.store import Store

LOST_LOGS: Final = "lost"
"""The note's key."""


class LostLog(NamedTuple):
    """What is known of a log that is gone or shorter than it was."""

    size: int
    """The bytes that it had."""
    noted_ms: int
    """When it was found gone or shorter."""


def noted_lost(meta: SessionMeta) -> dict[str, LostLog]:
    """Return the logs that *meta* calls gone or shorter, whether they are still or not."""
    ours = meta.listed.get(OURS)
    told = ours.get(LOST_LOGS) if isinstance(ours, dict) else None
    found: dict[str, LostLog] = {}
    for log, note in told.items() if isinstance(told, dict) else ():
        size, t = (note.get("size"), note.get("t")) if isinstance(note, dict) else (None, None)
        if type(size) is int and type(t) is int:
            found[log] = LostLog(size, t)
    return found


def lost_logs(store: Store, meta: SessionMeta) -> dict[str, LostLog]:
    """Return the logs that *meta* calls gone or shorter, and that are so still.

    Raises:
        OSError: A log cannot be read.
    """
    logs = set(store.logs())
    return {
        log: lost
        for log, lost in noted_lost(meta).items()
        if log not in logs or not _is_back(store, log, lost)
    }


def with_lost(meta: SessionMeta, lost: Iterable[tuple[str, LostLog]]) -> SessionMeta:
    """Return *meta* with a note of these logs, and of no others."""
    ours = meta.listed.get(OURS)
    kept: dict[str, JSON] = dict(ours) if isinstance(ours, dict) else {}
    kept.pop(LOST_LOGS, None)
    told: dict[str, JSON] = {log: {"size": each.size, "t": each.noted_ms} for log, each in lost}
    if told:
        kept[LOST_LOGS] = told
    return meta._replace(listed={**meta.listed, OURS: kept})


def with_lost_end(store: Store, meta: SessionMeta, torn: TornTail, at_ms: int) -> SessionMeta:
    """Return *meta* with a note of what a change has set aside of a log, where that were records.

    They were where the meta knows their bytes as written. A record that was only begun is none.

    Args:
        store: The session.
        meta: Its meta as it was before the change.
        torn: The torn end that was set aside.
        at_ms: When, in ms.
    """
    size = (noted_sizes(meta) or {}).get(torn.log)
    if torn.set_aside is None or type(size) is not int or size <= torn.kept:
        return meta
    if was_begun(store.read_file(torn.set_aside)[:CHUNK_BYTES]):
        return meta
    known = {**noted_lost(meta)}
    known.setdefault(torn.log, LostLog(size, at_ms))
    return with_lost(meta, known.items())


def _is_back(store: Store, log: str, lost: LostLog) -> bool:
    header = read_head(store, log).header
    told = None if header is None else header.extra.get(REPAIRS)
    for repair in told if isinstance(told, list) else []:
        t = repair.get("t") if isinstance(repair, dict) else None
        if type(t) is int and t >= lost.noted_ms:
            return False  # it is what the repair made of the rest; its header is longer
    with store.open_log(log) as opened:
        last = stamp_before(opened, lost.size)
    return last is not None and last.t < lost.noted_ms
