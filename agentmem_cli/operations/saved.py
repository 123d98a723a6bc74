"""Saved values of a log: looking at them, and changing one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError, ConflictError, NotFoundError, UsageError
from agentmem_cli.operations.metas import is_current, refresh
from agentmem_cli.operations.refused import words_of
from agentmem_cli.session.codec import same
from agentmem_cli.session.core_values import PREFIX
from agentmem_cli.session.keys import MODEL, SESSION, TITLE
from agentmem_cli.session.reader import open_log, reading
from agentmem_cli.session.record import Saved
from agentmem_cli.session.source import LogSource
from agentmem_cli.session.values import ValuesFold
from agentmem_cli.session.writer import append_records

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.session.meta import SessionMeta
    from agentmem_cli.session.record import LogRecord
    from agentmem_cli.session.session import TornTail
    from agentmem_cli.storage.directory import DirStore

GUARDED: Final = (
    (PREFIX, "it is core memory, whose blocks have bounds, authors and a past: see agentmem core"),
    ("rig::", "it is one of the keys of rig, which relies on what stands there"),
    ("agentmem.", "this program relies on what stands there"),
)
"""How keys begin that are not anybody's to set, and why."""

_LISTED: Final = frozenset({TITLE, MODEL})
"""Values that a listing shows, by way of the meta."""


class Held(NamedTuple):
    """A saved value as it stands."""

    key: str
    value: JSON
    n: int
    t: int
    """When it was written, ms since 1970-01-01 UTC."""


class Values(NamedTuple):
    """The saved values of a log."""

    log: str
    held: tuple[Held, ...]
    """In the order in which they were written last."""
    damages: list[Damage]


class Changed(NamedTuple):
    """What a change came to."""

    log: str
    key: str
    before: JSON
    """None: there was no such value."""
    value: JSON
    """None: it was removed."""
    n: int | None
    """The ``n`` of its record; None: nothing was to be changed."""
    torn: TornTail | None
    meta_error: str | None
    """Why the meta could not be written; the change is made all the same."""


def log_of(store: DirStore, agent: str | None) -> str:
    """Return the log whose values are meant: an agent's, the main one's, or the session's own.

    The session's own it is too where nothing is named and there is no agent, but something saved.

    Raises:
        NotFoundError: There is no such agent, or no agent at all.
        AmbiguousError: More than one begins so.
    """
    from agentmem_cli.operations.catalog import choose_agent, is_bare

    if agent == SESSION or (agent is None and is_bare(store)):
        return SESSION
    if agent is None and all(log == SESSION for log in store.logs()):
        hint = f"--agent {SESSION} names the values of the session itself."
        raise NotFoundError("the session has no agent yet", hint=hint)
    return choose_agent(store, agent)


def values_of(store: DirStore, log: str) -> Values:
    """Return the saved values of a log as they stand, around damage.

    Raises:
        SessionError: The operating system refused.
    """
    if log not in store.logs():
        return Values(log, (), [])
    with reading(f"log {log!r}"):
        fold = ValuesFold(log, LogSource(open_log(store, log), store), "")
        fold.run()
        newest = {noted.key: noted for noted in fold.noted}
        held = [
            Held(noted.key, value, noted.n, noted.t)
            for noted in sorted(newest.values(), key=lambda noted: noted.offset)
            if (value := fold.value(noted)) is not None
        ]
    return Values(log, tuple(held), fold.damages)


def value_of(values: Values, key: str) -> Held:
    """Return one saved value.

    Raises:
        NotFoundError: There is none of this key.
    """
    for held in values.held:
        if held.key == key:
            return held
    from difflib import get_close_matches

    near = get_close_matches(key, [held.key for held in values.held], n=1)
    hint = f"Did you mean {near[0]}?" if near else "agentmem value list SESSION lists them."
    raise NotFoundError(f"log {values.log!r} has no saved value {key!r}", hint=hint)


def check_key(key: str, *, force: bool) -> None:
    """See that *key* may be changed.

    Raises:
        UsageError: It is empty, no text in UTF-8, or somebody relies on it and *force* is false.
    """
    if not key:
        raise UsageError("the key is empty")
    try:
        key.encode()
    except UnicodeEncodeError:
        raise UsageError("the key is not UTF-8") from None
    for prefix, why in GUARDED:
        if key.startswith(prefix) and not force:
            msg = f"{key!r} is not changed: {why}"
            raise UsageError(msg, hint="--force does it all the same.")


def change_value(
    store: DirStore, log: str, key: str, value: JSON, *, force: bool, now_ms: int
) -> Changed:
    """Save a value, or with None remove it; the same one again is not written.

    Args:
        store: The session; it must be there.
        log: The log; started where it is not there.
        key: The value's key.
        value: Any JSON but null.
        force: Whether keys that somebody relies on may be changed.
        now_ms: When.

    Raises:
        UsageError: The key may not be changed.
        NotFoundError: What is to be removed is not there.
        ConflictError: The agent is retired. Nothing was written.
        SessionError: The log does not read. Nothing was written.
        Busy: The lock was not free in time.
    """
    check_key(key, force=force)
    found: list[JSON] = []

    def make(fold: LogFold | None) -> list[LogRecord]:
        saved = {} if fold is None else fold.saved
        if fold is not None and fold.retired:
            msg = f"agent {log!r} is retired"
            raise ConflictError(msg, hint="Name another one by --agent.")
        before = saved.get(key)
        if value is None and before is None:
            raise NotFoundError(f"log {log!r} has no saved value {key!r}")
        found.append(before)
        return [] if same(before, value) else [Saved(key, value)]

    with store.lock():
        current = is_current(store)
        done = append_records(store, log, make, at=now_ms)
        error = None
        if done.records:
            known = current and key not in _LISTED
            started = now_ms if done.fold is None else None
            error = _refresh(store, now_ms, known=known, started_ms=started, torn=done.torn)
    n = done.last_n if done.records else None
    return Changed(log, key, found[0], value, n, done.torn, error)


def _refresh(
    store: DirStore, now_ms: int, *, known: bool, started_ms: int | None, torn: TornTail | None
) -> str | None:
    def update(meta: SessionMeta) -> SessionMeta:
        return meta._replace(updated=max(meta.updated or 0, now_ms))

    try:
        refresh(store, update, current=known, started_ms=started_ms, torn=(now_ms, [torn]))
    except (OSError, AgentMemError) as error:
        # Why: the logs are the truth; a listing goes by them until the next change.
        return words_of(error)
    return None
