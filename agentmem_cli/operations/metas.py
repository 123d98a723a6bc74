"""Keeping a session's meta: written after each change, never trusted over the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.limits import META_BYTES_MAX
from agentmem_cli.operations.listing import OURS, beginning_of, is_fresh
from agentmem_cli.session.meta import META, BadMeta, SessionMeta

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.session import TornTail
    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.store import Store


class Refreshed(NamedTuple):
    """What became of a meta."""

    set_aside: str | None = None
    """Where the unreadable one went, among the files; None: it was readable."""
    why: str | None = None
    """Why it was not readable."""
    labels_lost: bool = False
    """Whether labels, if it had any, are gone with it."""


def is_current(store: DirStore) -> bool:
    """Whether a session's meta is there, readable, and of the logs as they stand now."""
    try:
        seen = store.survey()
        return seen.meta is not None and is_fresh(seen, SessionMeta.decode(seen.meta))
    except (OSError, BadMeta):
        return False


def refresh(
    store: DirStore,
    update: Callable[[SessionMeta], SessionMeta],
    *,
    current: bool,
    started_ms: int | None = None,
    damaged: int | None = None,
    torn: tuple[int, Sequence[TornTail | None]] = (0, ()),
) -> Refreshed:
    """Write the meta anew by *update*, with the logs' sizes that it is true of.

    One that cannot be read is set aside under ``recovered/`` first, byte for
    byte. It is a cache: where this fails, the change it follows stands.

    Args:
        store: The session.
        update: Gets the meta as it was, or as the logs tell it.
        current: Whether it was `is_current` before the change that it follows;
            if not, it is first made anew from the logs.
        started_ms: When a log that it may not know yet was started, in ms.
        damaged: Damaged places of all logs; None: as it notes.
        torn: When the change was made, in ms, and the torn ends that it has set aside.

    Returns:
        What was set aside on the way.

    Raises:
        SessionError: It could not be written; what was there stays.
        OSError: It could not be written; what was there stays.
    """
    with store.lock():
        before, done = _readable(store)
        at_ms, ends = torn
        for end in filter(None, ends):
            # Why here: an import with nothing new needs none of what it needs.
            from agentmem_cli.operations.lost_logs import with_lost_end

            before = with_lost_end(store, before, end, at_ms)
        known = current and done.why is None
        if not known:
            before, started_ms = rebuilt(store, before, started_ms)
        meta = update(before)
        before_ours = before.listed.get(OURS)
        ours: dict[str, JSON] = dict(before_ours) if isinstance(before_ours, dict) else {}
        if damaged is None and not known:
            ours.pop("damaged", None)
        sizes = {log: store.log_stat(log).size for log in store.logs()}
        meta = meta._replace(listed={**meta.listed, OURS: ours})
        noted(meta, sizes, started_ms, damaged).write(store)
    return done


def noted(
    meta: SessionMeta, sizes: Mapping[str, JSON], started_ms: int | None, damaged: int | None
) -> SessionMeta:
    """Return *meta* with our note of the logs that it is true of.

    Args:
        meta: A session's meta.
        sizes: Each log's bytes.
        started_ms: When a log that it may not know yet was started, in ms.
        damaged: Damaged places of all logs; None: as it notes.
    """
    before = meta.listed.get(OURS)
    ours: dict[str, JSON] = dict(before) if isinstance(before, dict) else {}
    ours["logs"] = dict(sizes)
    told = ours.get("started")
    if started_ms is not None:
        ours["started"] = min(told, started_ms) if type(told) is int else started_ms
    if damaged is not None:
        ours["damaged"] = damaged
    return meta._replace(listed={**meta.listed, OURS: ours})


def _readable(store: DirStore) -> tuple[SessionMeta, Refreshed]:
    """Return the meta, or set it aside and return what of it can still be read."""
    meta: SessionMeta | None = None
    try:
        size = store.file_stat(META).size
        if size > META_BYTES_MAX:
            # Why: never read; 600 MB of it may stand there.
            why = f"{size} bytes, more than a meta may have"
        else:
            data = store.read_file(META)
            try:
                meta = SessionMeta.decode(data)
                if not meta.odd:
                    return meta, Refreshed()
                why = meta.trouble or ""
            except BadMeta as error:
                why = str(error)
                meta = beginning_of(data)
    except FileNotFoundError:
        return SessionMeta(), Refreshed()
    name = store.set_file_aside(META)
    return meta or SessionMeta(), Refreshed(name, why, labels_lost=meta is None)


def rebuilt(
    store: Store, old: SessionMeta, started_ms: int | None
) -> tuple[SessionMeta, int | None]:
    """Return *old* with what the logs tell, and when the first of them was started."""
    from agentmem_cli.operations.imports.adapter import CWD
    from agentmem_cli.session.heads import main_log, read_head
    from agentmem_cli.session.meta import first_title
    from agentmem_cli.session.reader import agent_of, fold_log

    main = main_log(store)
    if main is None:
        return old, started_ms
    heads = [read_head(store, log) for log in store.logs()]
    started = [head.t for head in heads if head.t is not None]
    updated = [head.last.t for head in heads if head.last is not None]
    agent = agent_of(fold_log(store, main, strict=False))
    cwd = agent.saved.get(CWD)
    rebuilt = old._replace(
        title=agent.title() or old.title or first_title(agent),
        updated=max(updated, default=old.updated),
        model=agent.model() or old.model,
        messages=len(agent.conversation),
        listed={**old.listed, "cwd": cwd} if isinstance(cwd, str) else old.listed,
    )
    return rebuilt, min(started, default=started_ms)
