"""Finding sessions: the words of a person to a session directory."""

# ruff: noqa: PTH100, PTH114, PTH118 - a listing joins 10,000 names; Path costs ten times a join

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import AmbiguousError, Io, NotFoundError, UsageError
from agentmem_cli.session.keys import SESSION
from agentmem_cli.storage.layout import FILES, LOG_END, LOGS, TRASH
from agentmem_cli.storage.root import is_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentmem_cli.storage.directory import DirStore

LAST = "@last"
"""The session that a listing shows first: the last updated one."""


class Found(NamedTuple):
    """A session that words named."""

    id: str
    """What it is called: its name under the root, else its path. Accepted back."""
    path: str


def names(root: str) -> list[str]:
    """Return the names of the directories under *root* that may be sessions, in order.

    Raises:
        Io: The root cannot be read. A root that is not there has no sessions.
    """
    try:
        with os.scandir(root) as entries:
            found = [
                entry.name
                for entry in entries
                if not entry.name.endswith(TRASH) and entry.name[0] != "." and is_folder(entry)
            ]
    except FileNotFoundError:
        return []
    except OSError as error:
        msg = f"{root}: {error.strerror or error}"
        raise Io(msg, hint="Name another root by --root or AGENTMEM_ROOT.") from error
    found.sort()
    return found


def is_session(path: str) -> bool:
    """Whether *path* is a directory that holds a session, of an older layout too.

    One that must not be read counts: what is wrong with it is told where it is opened.
    """
    try:
        with os.scandir(path) as entries:
            return any(
                entry.is_dir(follow_symlinks=False)
                if entry.name in (LOGS, FILES)
                else entry.name.endswith(LOG_END) and entry.is_file(follow_symlinks=False)
                for entry in entries
            )
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False


def find(root: Path, words: str) -> Found:
    """Find the session that *words* name.

    They are a path where they hold a separator; else a name under the root,
    a session directory here, the beginning of one name under the root, what
    a session under it was called when it was started, or ``@last``.

    Raises:
        NotFoundError: No session is named so; nothing was made.
        AmbiguousError: More than one name begins so.
    """
    if not words or "\0" in words:
        msg = f"no session is named {words!r}"
        raise UsageError(msg)
    if "/" in words or os.sep in words or words in (".", ".."):
        path = os.path.abspath(words)
        above, name = os.path.split(path)
        if name in (LOGS, FILES) and is_session(above):
            msg = f"{path} is a part of a session"
            raise NotFoundError(msg, hint=f"The session is {_id_of(root, above)}.")
        if is_session(path):
            return Found(_id_of(root, path), path)
        msg = f"no session at {path}"
        raise NotFoundError(msg, hint="A session is a directory with logs/ in it.")
    if words == LAST:
        return last(root)
    path = os.path.join(root, words)
    if is_session(path):
        return Found(words, path)
    if is_session(words):
        here = os.path.abspath(words)
        return Found(_id_of(root, here), here)
    return _by_beginning(root, words)


def find_all(root: Path, words: Sequence[str]) -> list[Found]:
    """Find each of several sessions; none named means all under the root."""
    if words:
        return [find(root, word) for word in words]
    paths = ((name, os.path.join(root, name)) for name in names(str(root)))
    return [Found(name, path) for name, path in paths if is_session(path)]


def last(root: Path) -> Found:
    """Find the session that a listing shows first: the last updated one.

    Raises:
        NotFoundError: There is none under the root.
    """
    from agentmem_cli.operations.listing import SORTS, ordered, rows

    first = next(iter(ordered(rows(str(root)), SORTS[0])), None)
    if first is None:
        msg = f"there is no session under {root}"
        raise NotFoundError(msg, hint="agentmem import brings transcripts in.")
    return Found(first.id, os.path.join(root, first.id))


def _by_beginning(root: Path, words: str) -> Found:
    everything = names(str(root))
    fitting = [name for name in everything if name.startswith(words)]
    fitting = [name for name in fitting if is_session(os.path.join(root, name))]
    if len(fitting) == 1:
        return Found(fitting[0], os.path.join(root, fitting[0]))
    if fitting:
        msg = f"{len(fitting):,} sessions begin with {words!r}"
        raise AmbiguousError(msg, fitting, hint="Give more of the name.")
    safe = _safe_name(words)
    path = os.path.join(root, safe)
    if is_session(path):
        return Found(safe, path)
    path = os.path.join(root, words)
    if os.path.lexists(path):
        what = "a link" if os.path.islink(path) else "there"
        msg = f"no such session: {words!r} is {what}, but holds none (under {root})"
        raise NotFoundError(msg, hint="A session is a directory with logs/ in it.")
    msg = f"no such session: {words!r} (under {root})"
    raise NotFoundError(msg, hint=_suggestion(root, words, everything))


def _safe_name(words: str) -> str:
    # Why here: it needs hashlib, which most runs of `list` do without.
    from agentmem_cli.operations.imports.naming import safe_name

    return safe_name(words)


def _suggestion(root: Path, words: str, everything: list[str]) -> str:
    from agentmem_cli.operations.suggesting import near

    found = near(words, everything)
    while found is not None and not is_session(os.path.join(root, found)):
        everything = [name for name in everything if name != found]
        found = near(words, everything)
    return f"Did you mean {found}?" if found else "agentmem list shows what there is."


def _id_of(root: Path, path: str) -> str:
    """Call a session by its name where it stands right under the root."""
    folder, name = os.path.split(path)
    same = os.path.realpath(folder) == os.path.realpath(root)
    return name if same else path


def is_linked(found: Found) -> bool:
    """Whether a session is a link under the root: what it leads to is not the root's to change."""
    return os.sep not in found.id and os.path.islink(found.path)


def open_session(found: Found, *, lock_wait_s: float, finish: bool = True) -> DirStore:
    """Open a session's store.

    Args:
        found: Which.
        lock_wait_s: Seconds to wait for its lock.
        finish: Finish first what a crash left undone, so that what is shown
            is the old state or the new.

    Returns:
        It; where a link under the root stands for it, every change is refused.

    Raises:
        OldLayout: It has an older layout.
        Io: The operating system refused.
    """
    from agentmem_cli.storage.directory import DirStore

    try:
        store = DirStore.open(found.path, lock_wait_s=lock_wait_s)
        store.look_only = is_linked(found)
        if finish and store.pending():
            store.recover()
    except OSError as error:
        msg = f"{found.path}: {error.strerror or error}"
        raise Io(msg) from error
    return store


def open_finished(found: Found, *, lock_wait_s: float) -> DirStore:
    """Open a session's store to read it: a change that was cut short is seen as finished.

    Nothing is written and no lock is taken.

    Args:
        found: Which.
        lock_wait_s: Seconds to wait for a change under way that cannot be seen whole.

    Raises:
        OldLayout: It has an older layout.
        ConflictError: A change was cut short that can be neither finished nor dropped.
        Io: The operating system refused.
    """
    from agentmem_cli.storage.trial_store import as_finished

    store = open_session(found, lock_wait_s=lock_wait_s, finish=False)
    if not store.pending():
        return store
    try:
        return as_finished(store, lock_wait_s)
    except OSError as error:
        msg = f"{found.path}: {error.strerror or error}"
        raise Io(msg) from error


def choose_agent(store: DirStore, words: str | None) -> str:
    """Return the log of the agent that *words* name; None: the main agent.

    Raises:
        NotFoundError: There is no such agent, or no agent at all.
        AmbiguousError: More than one begins so.
    """
    agents = [log for log in store.logs() if log != SESSION]
    if words is None:
        return _main_agent(store, agents)
    if not words:
        msg = "--agent is empty"
        raise UsageError(msg)
    for exact in (words, _safe_name(words)):
        if exact in agents:
            return exact
    fitting = [agent for agent in agents if agent.startswith(words)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        msg = f"{len(fitting)} agents begin with {words!r}"
        raise AmbiguousError(msg, fitting, hint="Give more of the id.")
    from agentmem_cli.operations.suggesting import near

    msg = f"no such agent: {words!r}"
    found = near(words, agents)
    hint = f"Did you mean {found}? " if found else ""
    more = f" and {len(agents) - 9} more" if len(agents) > 9 else ""  # noqa: PLR2004 - named
    raise NotFoundError(msg, hint=f"{hint}There are: {', '.join(agents[:9]) or 'none'}{more}.")


def log_to_look(store: DirStore, words: str | None) -> str:
    """Do as `choose_agent`; of a session without an agent, its own log, where it has one.

    That is what only core memory or values were saved in: it can be looked at, too.

    Raises:
        NotFoundError: There is no such agent, or no record at all.
        AmbiguousError: More than one begins so.
    """
    return SESSION if words in (None, SESSION) and is_bare(store) else choose_agent(store, words)


def is_bare(store: DirStore) -> bool:
    """Whether a session has saved something, and no agent."""
    return store.logs() == [SESSION]


def _lost_agents(store: DirStore) -> list[str]:
    """Return the agents whose logs are gone, as the meta knows."""
    from agentmem_cli.operations.listing import noted_sizes
    from agentmem_cli.operations.lost_logs import noted_lost
    from agentmem_cli.session.meta import BadMeta, SessionMeta

    try:
        meta = SessionMeta.read(store)
    except (BadMeta, OSError):
        return []
    known = {*noted_lost(meta), *(noted_sizes(meta) or {})}
    return sorted(known - {SESSION, *store.logs()})


def _main_agent(store: DirStore, agents: list[str]) -> str:
    from agentmem_cli.session.heads import main_log

    main = main_log(store)
    if main is not None:
        return main
    if agents:
        msg = "every agent of this session is retired"
        raise NotFoundError(msg, hint=f"Name one by --agent: {', '.join(agents[:9])}.")
    msg = "the session has no agent yet"
    hint = "agentmem append adds the first message."
    lost = _lost_agents(store)
    if lost:
        msg = f"the session has no agent any more: {', '.join(map(repr, lost[:9]))} lost its log"
        hint = "Put the log back, or import its source again; agentmem verify tells what is lost."
    elif is_bare(store):
        only = "It has core memory or values only, which agentmem core export gives out."
        hint = f"{only} {hint}"
    raise NotFoundError(msg, hint=hint)
