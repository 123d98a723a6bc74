"""Addresses of messages, `SESSION:AGENT:mN`, as grep prints them: which session, which agent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.cli.text import one_line
from agentmem_cli.errors import AgentMemError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.catalog import Found
    from agentmem_cli.storage.directory import DirStore

# Why so: with any text before the colon, a word full of them takes time by the square.
_ADDRESS: Final = re.compile(r"(?P<head>.[^:]*:.+):[m#]?(?P<id>[0-9]{1,20})", re.DOTALL)
# A time has colons, too, and nothing but these.
_TIME: Final = re.compile(r"[0-9T :.+-]+")


class Aim(NamedTuple):
    """What a command is about, once its addresses are read.

    Attributes:
        session: Words for the session.
        agent: Words for the agent; None: the main one.
        words: The other words, an address as ``mN``.
    """

    session: str
    agent: str | None
    words: dict[str, str | None]


def is_address(words: str | None) -> bool:
    """Whether *words* are the address of a message, and no time."""
    return words is not None and bool(_ADDRESS.fullmatch(words)) and not _TIME.fullmatch(words)


def aim(
    settings: Settings, session: str | None, agent: str | None, given: Mapping[str, str | None]
) -> Aim:
    """Take the session and the agent out of the addresses among what is *given*.

    Args:
        settings: Where sessions are.
        session: Words for one; an address means its session and its agent; None: not given.
        agent: Words for one; None: not given.
        given: What may be an address, by how it is called.

    Raises:
        UsageError: No session is given, or an address is of another session or agent.
        NotFoundError: There is no such session or agent.
    """
    addresses = {name: words for name, words in given.items() if words and is_address(words)}
    words = dict(given)
    found, log = None, None
    if session is not None and is_address(session) and not names_session(settings, session):
        found, log, _ = _read(settings, "SESSION", session, None)
        session = found.id
    for name, address in addresses.items():
        if session is not None and found is None:
            from agentmem_cli.cli.opening import find_shown

            found = find_shown(settings, session)
        found, its_log, number = _read(settings, name, address, found)
        _same(name, address, log, its_log)
        log = its_log
        words[name] = f"m{number}"
    if session is None and found is None:
        raise UsageError("missing argument 'SESSION'", hint="agentmem show --help says more.")
    if log is not None:
        assert found is not None
        _same_as_option(settings, found, agent, log)
        agent = log
    return Aim(found.id if session is None and found else session or "", agent, words)


def aim_from(
    settings: Settings, session: str | None, agent: str | None, given: Mapping[str, str | None]
) -> Aim:
    """Do as `aim`; an address in the place of the session means from its message on, too."""
    alone = is_address(session) and not given["--from"] and not given["--to"]
    if alone and not names_session(settings, session):
        given = {**given, "--from": session}
    return aim(settings, session, agent, given)


def number_of(words: str) -> int:
    """Return the message that an address names."""
    match = _ADDRESS.fullmatch(words)
    assert match is not None, words
    return int(match["id"])


def local(session: str, store: DirStore, log: str | None, words: str) -> tuple[str, str] | None:
    """Return the log of an address of the session that is open, and its message as ``mN``.

    Args:
        session: What the session is called.
        store: The session.
        log: The log that must be meant; None: any of it.
        words: What was written; None is returned where it is no address.

    Raises:
        UsageError: It is of another session, or of another agent.
    """
    if not is_address(words):
        return None
    for its_session, its_agent in _readings(words):
        its_log = _log_of(store, its_agent)
        if its_log is not None and its_session in (session, one_line(session)):
            _same("PLACE", words, log, its_log)
            return its_log, f"m{number_of(words)}"
    msg = f"PLACE: {words!r} is no message of session {session}"
    raise UsageError(msg)


def _readings(words: str) -> Iterator[tuple[str, str]]:
    """Yield each way to part an address into a session and an agent: names may have colons."""
    match = _ADDRESS.fullmatch(words)
    assert match is not None, words
    head = match["head"]
    for at in reversed([at for at, sign in enumerate(head) if sign == ":"]):
        if head[:at] and head[at + 1 :]:
            yield head[:at], head[at + 1 :]


def names_session(settings: Settings, words: str | None) -> bool:
    """Whether there is one session that *words* name."""
    from agentmem_cli.cli.opening import find_shown

    try:
        find_shown(settings, words or "")
    except AgentMemError:
        return False
    return True


def _read(
    settings: Settings, name: str, words: str, wanted: Found | None
) -> tuple[Found, str, int]:
    """Return the session, the log and the message that an address names."""
    from agentmem_cli.cli.opening import find_shown

    failed: AgentMemError | None = None
    other: Found | None = None
    for session, agent in _readings(words):
        try:
            found = find_shown(settings, session)
        except AgentMemError as error:
            failed = failed or error
            continue
        if wanted is not None and found.path != wanted.path:
            other = found
            continue
        log = _log_of(_store(settings, found), agent)
        if log is not None:
            return found, log, number_of(words)
        msg = f"{name}: session {found.id} has no agent {agent!r}"
        failed = UsageError(msg, hint="agentmem list --tree names the agents.")
    if other is not None and wanted is not None:
        msg = f"{name}: {words!r} is a message of session {other.id}, not of {wanted.id}"
        raise UsageError(msg, hint="Leave SESSION out, or name that session.")
    if failed is not None and (wanted is None or isinstance(failed, UsageError)):
        raise failed
    msg = f"{name}: {words!r} is no message of {wanted.id if wanted else 'any session'}"
    raise UsageError(msg)


def _store(settings: Settings, found: Found) -> DirStore:
    from agentmem_cli.operations.catalog import open_session

    return open_session(found, lock_wait_s=settings.lock_wait_s, finish=False)


def _log_of(store: DirStore, agent: str) -> str | None:
    logs = store.logs()
    if agent in logs:
        return agent
    return next((log for log in logs if one_line(log) == agent), None)


def _same(name: str, words: str, log: str | None, its_log: str) -> None:
    if log not in (None, its_log):
        msg = f"{name}: {words!r} is a message of agent {its_log}, not of {log}"
        raise UsageError(msg, hint="Messages are counted for each agent by itself.")


def _same_as_option(settings: Settings, found: Found, agent: str | None, log: str) -> None:
    from agentmem_cli.operations.catalog import choose_agent

    if agent is None:
        return
    chosen = choose_agent(_store(settings, found), agent)
    if chosen != log:
        msg = f"the address is of a message of agent {log}, and --agent means {chosen}"
        raise UsageError(msg, hint="Leave --agent out.")
