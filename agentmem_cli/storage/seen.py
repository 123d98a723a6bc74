"""Knowing a session again that was looked at without its lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli import errors
from agentmem_cli.storage.layout import LOCK
from agentmem_cli.storage.store import open_file_of, open_log_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentmem_cli.storage.directory import Stat
    from agentmem_cli.storage.store import LogFile, Store

IDLE_MS: Final = 60_000
"""How long another program must have left a session alone, unless it is told otherwise."""

TAIL_BYTES: Final = 4 << 10
"""Bytes of the end by which a log or a file is known again."""


class Seen(NamedTuple):
    """A log or a file as it was read, so that it is known again."""

    size: int
    """Its bytes."""
    tail: bytes
    """The last of them."""
    mtime_ns: int | None
    """Its time, ns since 1970; None: the store has none."""


def see(store: Store) -> dict[str, Seen]:
    """Return how all logs and files of *store* are now: ``logs/<log>`` and ``files/<name>``."""
    seen: dict[str, Seen] = {}
    for log in store.logs():
        with open_log_of(store, log) as opened:
            seen[f"logs/{log}"] = _seen(opened, _mtime(store, "log_stat", log))
    for name in store.files():
        with open_file_of(store, name) as opened:
            seen[f"files/{name}"] = _seen(opened, _mtime(store, "file_stat", name))
    return seen


def _seen(opened: LogFile, mtime_ns: int | None) -> Seen:
    begin = max(0, opened.size - TAIL_BYTES)
    return Seen(opened.size, opened.read_at(begin, opened.size - begin), mtime_ns)


def _mtime(store: Store, method: str, name: str) -> int | None:
    stat = getattr(store, method, None)
    return None if stat is None else int(stat(name).mtime_ns)


def times(store: Store) -> dict[str, tuple[int, int]]:
    """Return bytes and time (ns) of all logs and files, as far as *store* says them."""
    logs: Callable[[str], Stat] | None = getattr(store, "log_stat", None)
    files: Callable[[str], Stat] | None = getattr(store, "file_stat", None)
    if logs is None or files is None:
        return {}
    found = {f"logs/{log}": logs(log) for log in store.logs()}
    found.update((f"files/{name}", files(name)) for name in store.files())
    return {name: (stat.size, stat.mtime_ns) for name, stat in found.items()}


def check_same(before: Mapping[str, object], after: Mapping[str, object]) -> None:
    """See that two looks at a session saw the same.

    Raises:
        errors.Stale: They did not.
    """
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            raise errors.Stale(name)


def refuse_busy(store: Store, if_idle_ms: int | None, now_ms: int, *, locked: bool = True) -> None:
    """See that no other program is writing to *store*.

    Before the lock is taken (not *locked*) this matters where there is no lock
    file yet: taking it makes that file, whose time would then say that all logs
    are older than the last change of ours. Elsewhere it waits for the lock.

    Raises:
        errors.ConflictError: A log was written by another program within *if_idle_ms*.
    """
    path = getattr(store, "path", None)
    if not locked and (path is None or (path / LOCK).exists()):
        return
    others: Callable[[], list[str]] | None = getattr(store, "written_by_others", None)
    if if_idle_ms is None or others is None:
        return
    for log in others():
        changed_ms = (_mtime(store, "log_stat", log) or 0) // 1_000_000
        if now_ms - changed_ms < if_idle_ms:
            idle_s = max(0, now_ms - changed_ms) / 1000
            msg = f"log {log!r}: another program wrote to it {idle_s:.0f} s ago"
            hint = "End that program, or wait; --if-idle and --force say how long is enough."
            raise errors.ConflictError(msg, hint=hint)


def check_seen(store: Store, expect: Mapping[str, Seen]) -> None:
    """See that *store* is as `see` said.

    Raises:
        errors.Stale: A log or a file is not.
    """
    check_same(expect, see(store))
