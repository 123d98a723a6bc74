"""How `list --tree` prints the agents of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.cli.clock import age, utc_time
from agentmem_cli.cli.output import warn
from agentmem_cli.cli.render import count, size
from agentmem_cli.operations.agents import agents_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.render import Column
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.agents import AgentRow
    from agentmem_cli.operations.listing import Row
    from agentmem_cli.session.codec import JSON

_INDENT = "  "


def agent_values(path: str, row: Row) -> JSON:
    """Return the agents of the session at *path* as JSON, parents before their children."""
    return [
        {
            "id": agent.id,
            "parent": agent.parent,
            "children": agent.children,
            "name": agent.name,
            "title": agent.title,
            "messages": agent.messages,
            "size_bytes": agent.size_bytes,
            "started": None if agent.started_ms is None else utc_time(agent.started_ms),
            "updated": None if agent.updated_ms is None else utc_time(agent.updated_ms),
            "retired": agent.retired,
        }
        for agent in _agents(path, row)
    ]


def with_agents(
    settings: Settings, shown: Sequence[Row], columns: Sequence[Column], lines: list[list[str]]
) -> list[list[str]]:
    """Return the *lines* of sessions with those of their agents behind each.

    A session with one agent only is its agent, and gets no line more.
    """
    titles = [column.title for column in columns]
    found: list[list[str]] = []
    for row, line in zip(shown, lines, strict=True):
        found.append(line)
        if row.agents > 1:
            agents = _agents(f"{settings.root}/{row.id}", row)
            cells = (_cells(settings, agent) for agent in agents)
            found.extend([told.get(title, "") for title in titles] for told in cells)
    return found


def _agents(path: str, row: Row) -> list[AgentRow]:
    try:
        return agents_of(path, row.messages)
    except OSError as error:
        warn(f"{row.id}: {error.strerror or error}")
        return []


def _cells(settings: Settings, agent: AgentRow) -> dict[str, str]:
    """Return an agent's cells by the titles of their columns."""
    updated = agent.updated_ms
    title = agent.title or ""
    if agent.name is not None:
        title = f"{agent.name}: {title}" if title else agent.name
    return {
        "ID": f"{_INDENT * (agent.depth + 1)}{agent.id}",
        "UPDATED": "?" if updated is None else age(updated, settings.now_ms),
        "MSGS": "?" if agent.messages is None else count(agent.messages),
        "AGENTS": f"+{count(agent.children)}" if agent.children else "",
        "SIZE": size(agent.size_bytes),
        "TITLE": f"{title} (retired)".lstrip() if agent.retired else title,
    }
