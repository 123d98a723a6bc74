"""Starting sessions, and adding messages to them."""

# ruff: noqa: PTH118 - names of the root are text

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentmem_cli.errors import AgentMemError, ConflictError, UsageError
from agentmem_cli.operations.catalog import Found
from agentmem_cli.operations.imports.naming import safe_name
from agentmem_cli.operations.metas import Refreshed, is_current, refresh
from agentmem_cli.operations.refused import words_of
from agentmem_cli.session.change import ChangeRecord, Push
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.keys import CURRENT, NAME, SESSION
from agentmem_cli.session.meta import SessionMeta, title_of
from agentmem_cli.session.record import Saved
from agentmem_cli.session.writer import append_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from agentmem_cli.session.author import Author
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.message import Message
    from agentmem_cli.session.record import LogRecord
    from agentmem_cli.session.session import TornTail
    from agentmem_cli.session.writer import Appended
    from agentmem_cli.storage.directory import DirStore

MAIN = "main"
"""The log of the first agent of a session that is started here."""

_SEPARATORS: Final = ("/", "\\", "\0")
"""What parts a path on some system, or ends it."""


class Started(NamedTuple):
    """A session that was started."""

    found: Found
    name: str
    """The name as it was given."""


def new(
    root: Path,
    name: str | None,
    *,
    title: str | None,
    labels: Mapping[str, str],
    now_ms: int,
    lock_wait_s: float,
) -> Started:
    """Start an empty session under *root*.

    Args:
        root: Where sessions are.
        name: What it is to be called; None: the time and four random letters.
            A name that some system would not take as a file gets a safe one,
            and stands in the meta as it was given.
        title: What a listing shows.
        labels: Labels of the meta.
        now_ms: The time now.
        lock_wait_s: Seconds to wait for its lock.

    Raises:
        ConflictError: There is one of this name.
        UsageError: The name is empty or white space.
    """
    from agentmem_cli.storage.directory import DirStore

    given = _invented(now_ms) if name is None else name
    if not given.strip():
        msg = "a session's name must not be empty"
        raise UsageError(msg)
    if given.startswith("-"):
        msg = f"a session's name does not begin with a dash: {given!r}"
        raise UsageError(msg, hint="Commands would take it for an option.")
    if any(sign in given for sign in _SEPARATORS) or given in (".", ".."):
        msg = f"a session's name is one word, not a path: {given!r}"
        raise UsageError(msg, hint="Choose the folder by --root.")
    safe = safe_name(given)
    path = os.path.join(root, safe)
    if os.path.lexists(path):
        msg = f"there is a session or file called {safe!r} under {root}"
        raise ConflictError(msg, hint="Choose another name.")
    store = DirStore.open(path, lock_wait_s=lock_wait_s)
    shown = title if title is not None else (given if safe != given else None)
    listed: dict[str, JSON] = {"name": given} if safe != given else {}

    def fill(_: SessionMeta) -> SessionMeta:
        return SessionMeta(shown, dict(labels), now_ms, None, 0, listed)

    refresh(store, fill, current=True, started_ms=now_ms, damaged=0)
    return Started(Found(safe, path), given)


def _invented(now_ms: int) -> str:
    import secrets
    from datetime import UTC, datetime

    stamp = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%d-%H%M%S")
    return f"{stamp}-{secrets.token_hex(2)}"


class Added(NamedTuple):
    """What an append came to."""

    agent: str
    ids: tuple[int, ...]
    """The new entries' ids."""
    first_n: int
    last_n: int
    torn: TornTail | None
    """A torn tail that was set aside first."""
    meta: Refreshed
    """What became of the meta."""
    meta_error: str | None
    """Why the meta could not be written; the messages are there all the same."""


def append(
    store: DirStore,
    agent: str,
    messages: Sequence[Message],
    *,
    author: Author | None = None,
    name: str | None = None,
    at_ms: int,
) -> Added:
    """Append *messages* to an agent's log as one record.

    Args:
        store: The session; it must be there.
        agent: The agent's log; started where it is not there.
        messages: At least one.
        author: Who wrote them; None: the user typed, the model replied.
        name: The agent's name as it was given, where its log is called otherwise.
        at_ms: When.

    Raises:
        SessionError: The log does not read. Nothing was written.
        ConflictError: The agent is retired. Nothing was written.
        Busy: The lock was not free in time.
    """
    assert messages
    ids: list[int] = []
    current = False

    def make(fold: LogFold | None) -> list[LogRecord]:
        nonlocal current
        current = is_current(store)
        if fold is not None and fold.retired:
            msg = f"agent {agent!r} is retired"
            raise ConflictError(msg, hint="Name another one by --agent; a new name starts one.")
        first = 0 if fold is None else fold.conversation.next_message
        entries = tuple(
            Entry(first + index, message, author, at_ms) for index, message in enumerate(messages)
        )
        ids.extend(entry.id for entry in entries)
        records: list[LogRecord] = [ChangeRecord(Push(entries), None, at_ms)]
        if fold is None and name is not None:
            records.insert(0, Saved(NAME, name))
        return records

    keep_main(store, agent, at_ms)
    done = append_records(store, agent, make, at=at_ms)
    meta, error = _refresh_meta(store, done, messages, current=current, name=name, at_ms=at_ms)
    return Added(agent, tuple(ids), done.first_n, done.last_n, done.torn, meta, error)


def keep_main(store: DirStore, agent: str, at_ms: int) -> None:
    """Save which agent is talked to, where a new one would take its place by its id alone.

    It says no more than what was true before, so a crash after it does no harm.
    """
    from agentmem_cli.session.heads import main_log

    logs = store.logs()
    main = main_log(store) if agent not in logs else None
    if main is not None and main_log(store, joined_by=agent) != main:
        append_records(store, SESSION, lambda _: [Saved(CURRENT, main)], at=at_ms)


def _refresh_meta(
    store: DirStore,
    done: Appended,
    messages: Sequence[Message],
    *,
    current: bool,
    name: str | None,
    at_ms: int,
) -> tuple[Refreshed, str | None]:
    """Bring the meta up to date; a cache that cannot be written is no failure of the append."""
    from agentmem_cli.session.heads import main_log

    agent = done.log
    count = (0 if done.fold is None else len(done.fold.conversation)) + len(messages)

    def update(meta: SessionMeta) -> SessionMeta:
        changes: dict[str, Any] = {"updated": max(meta.updated or 0, at_ms)}
        if known and main_log(store) == agent:
            changes["messages"] = count
            changes["title"] = meta.title if meta.title is not None else _first_title(messages)
        if name is not None and done.fold is None:
            names = meta.listed.get("names")
            others = names if isinstance(names, dict) else {}
            changes["listed"] = {**meta.listed, "names": {**others, agent: name}}
        return meta._replace(**changes)

    started = at_ms if done.fold is None else done.fold.started_ms
    known = False
    try:
        with store.lock():
            # Why: where another program appended since, only the logs know the count.
            known = current and store.log_stat(agent).size == done.size
            alone = [log for log in store.logs() if log != SESSION] == [agent]
            damaged = 0 if alone else None
            told = refresh(
                store,
                update,
                current=known,
                started_ms=started,
                damaged=damaged,
                torn=(at_ms, [done.torn]),
            )
    except (OSError, AgentMemError) as error:
        # Why: the logs are the truth; a listing goes by them until the next change.
        return Refreshed(), words_of(error)
    return told, None


def _first_title(messages: Iterable[Message]) -> str | None:
    texts = (message.text for message in messages if message.role == "user")
    return next((title_of(text) for text in texts if text.strip()), None)


def agent_to_append(store: DirStore, words: str | None) -> tuple[str, str | None]:
    """Return the log to append to, and the agent's given name where the log is called otherwise.

    An unknown agent is started; without words it is the main agent, or the
    log `MAIN` where there is none.

    Raises:
        NotFoundError: Every agent is retired.
        UsageError: The name is empty.
    """
    from agentmem_cli.operations.catalog import choose_agent

    agents = [log for log in store.logs() if log != SESSION]
    if words is None:
        return (choose_agent(store, None) if agents else MAIN), None
    if not words.strip() or words == SESSION:
        msg = f"no agent can be called {words!r}"
        raise UsageError(msg)
    if words in agents:
        return words, None
    if words.startswith("-"):
        msg = f"{words!r} begins with a dash; commands would take it for an option"
        raise UsageError(msg)
    safe = safe_name(words)
    if safe in agents:
        return safe, None
    taken = {log.casefold(): log for log in agents}
    if safe.casefold() in taken:
        msg = f"an agent is called {taken[safe.casefold()]!r}, which some disks take for {words!r}"
        raise ConflictError(msg, hint="Choose another name.")
    return safe, words if safe != words else None
