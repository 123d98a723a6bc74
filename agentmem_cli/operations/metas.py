"""Keeping a session's meta: written after each change, never trusted over the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.operations.listing import OURS
from agentmem_cli.session.meta import META, BadMeta, SessionMeta

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.directory import DirStore


def refresh(
    store: DirStore,
    update: Callable[[SessionMeta], SessionMeta],
    *,
    started_ms: int | None = None,
    damaged: int | None = None,
) -> SessionMeta:
    """Write the meta anew by *update*, with the logs' sizes that it is true of.

    A meta that cannot be read is set aside under ``recovered/`` first, byte
    for byte. It is a cache: where this fails, the change it follows stands.

    Args:
        store: The session.
        update: Gets the meta as it was (empty where it was not readable).
        started_ms: When its first log was started, in ms; None: as noted.
        damaged: Damaged places of its logs; None: not every byte was read.

    Raises:
        OSError: It could not be written; what was there stays.
    """
    with store.lock():
        before = _readable(store)
        meta = update(before)
        noted = before.listed.get(OURS)
        ours: dict[str, JSON] = dict(noted) if isinstance(noted, dict) else {}
        ours["logs"] = {log: store.log_stat(log).size for log in store.logs()}
        if started_ms is not None:
            ours["started"] = started_ms
        ours.pop("damaged", None)
        if damaged is not None:
            ours["damaged"] = damaged
        meta = meta._replace(listed={**meta.listed, OURS: ours})
        meta.write(store)
    return meta


def _readable(store: DirStore) -> SessionMeta:
    try:
        return SessionMeta.read(store)
    except BadMeta:
        import hashlib

        data = store.read_file(META)
        store.write_file(f"recovered/{META}-{hashlib.sha256(data).hexdigest()}.part", data)
        return SessionMeta()
