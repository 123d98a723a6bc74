"""A session: all its logs folded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from agentmem_cli.session.keys import CURRENT, MODEL, TITLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.errors import SessionError
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.record import LogRewrite
    from agentmem_cli.storage.store import Store


class TornTail(NamedTuple):
    """A log's end was cut off; readers stop before it."""

    log: str
    kept: int
    """Bytes of the log that are whole."""
    cut: int
    """Bytes after them."""
    set_aside: str | None
    """The file that the next writer moved them to; None: they still stand in the log."""


class LostImage(NamedTuple):
    """An image's bytes are not there, or not those they should be."""

    log: str
    why: str


Repair: TypeAlias = TornTail | LostImage
"""What a reader had to put up with."""


class Unreadable(NamedTuple):
    """A log that does not read."""

    log: str
    error: SessionError


@dataclass(slots=True)
class SavedAgent:
    """An agent, as its log has it."""

    id: str
    """Its log's name."""
    parent: str | None
    """The agent that spawned it; None: nobody did."""
    started_ms: int
    """When its log was started: milliseconds since 1970-01-01 UTC."""
    conversation: Conversation
    saved: dict[str, JSON] = field(default_factory=dict)
    """Saved values by key."""
    retired: bool = False
    rewrites: tuple[LogRewrite, ...] = ()
    """Who replaced its past, oldest first."""
    started_n: int = 0
    """The header's ``n``."""
    updated_ms: int | None = None
    """The last record's time."""

    def value(self, key: str) -> JSON:
        """Return the saved value of *key*; None: there is none."""
        return self.saved.get(key)

    def model(self) -> str | None:
        """Return its model (``vendor/model``); None also where the value has another shape."""
        value = self.saved.get(MODEL)
        return value if isinstance(value, str) else None

    def title(self) -> str | None:
        """Return its title; None also where the value has another shape."""
        value = self.saved.get(TITLE)
        return value if isinstance(value, str) else None


@dataclass(slots=True)
class Session:
    """All logs of a session."""

    agents: list[SavedAgent] = field(default_factory=list)
    """In the order their logs were started."""
    saved: dict[str, JSON] = field(default_factory=dict)
    """The session's own saved values."""
    repairs: list[Repair] = field(default_factory=list)
    """What the reader had to put up with."""

    @classmethod
    def read(cls, store: Store) -> Session:
        """Read every log of *store* strictly.

        Raises:
            agentmem_cli.errors.SessionError: A record of any log cannot be
                read or applied, a header names another format, or the
                operating system refused.
        """
        from agentmem_cli.session.reader import read_session

        return read_session(store)

    @classmethod
    def read_lenient(cls, store: Store) -> tuple[Session, list[Unreadable]]:
        """Read every log that reads; return the others with what is wrong with each."""
        from agentmem_cli.session.reader import read_session_lenient

        return read_session_lenient(store)

    def main_agent(self) -> SavedAgent | None:
        """Return the agent that is talked to; None: there is none.

        The first by `main_order` that is not retired and was not spawned by a
        retired one; the saved value ``rig::current_agent`` names another.
        """
        found = choose_main(
            [(agent.id, agent.parent, agent.retired) for agent in self.agents],
            self.saved.get(CURRENT),
        )
        return next((agent for agent in self.agents if agent.id == found), None)

    def value(self, key: str) -> JSON:
        """Return the session's own saved value of *key*; None: there is none."""
        return self.saved.get(key)

    def save(self, store: Store) -> None:
        """Append every agent's unsaved changes and changed values to *store*, together.

        Raises:
            agentmem_cli.errors.Changed: A log does not hold what its
                conversation continues. Nothing was written.
            OSError: Nothing was written.
        """
        from agentmem_cli.session.writer import save_session

        save_session(store, self)


def main_order(agent: SavedAgent) -> tuple[bool, str]:
    """Return the key that agents are ordered by: those nothing spawned first, then by id."""
    return (agent.parent is not None, agent.id)


def choose_main(agents: Sequence[tuple[str, str | None, bool]], current: JSON) -> str | None:
    """Choose the main agent.

    Args:
        agents: Each agent's id, parent and whether it is retired.
        current: The saved value ``rig::current_agent`` of the session's log.

    Returns:
        Its id; None: there is none.
    """
    alive = standing_agents(agents)
    if isinstance(current, str) and current in alive:
        return current
    ordered = sorted((parent is not None, id_) for id_, parent, _ in agents if id_ in alive)
    return ordered[0][1] if ordered else None


def standing_agents(agents: Sequence[tuple[str, str | None, bool]]) -> set[str]:
    """Return the ids of the agents that are not retired and that no retired one spawned."""
    parents = {id_: parent for id_, parent, _ in agents}
    gone = {id_ for id_, _, retired in agents if retired}

    def stands(id_: str) -> bool:
        seen: set[str] = set()
        at: str | None = id_
        while at is not None and at not in seen:
            if at in gone:
                return False
            seen.add(at)
            at = parents.get(at)
        return True

    return {id_ for id_ in parents if stands(id_)}
