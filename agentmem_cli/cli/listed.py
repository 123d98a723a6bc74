"""How `list` prints its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.cli.clock import age, utc_time
from agentmem_cli.cli.output import json_line, talk, warn
from agentmem_cli.cli.render import Column, count, size, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.listing import Row

SCHEMA = "agentmem.session/1"
"""One session of a listing."""


def print_json(settings: Settings, shown: Sequence[Row]) -> None:
    """Print one object a session."""
    root = str(settings.root)
    with settings.output() as out:
        for row in shown:
            out.write_bytes(
                json_line(
                    {
                        "schema": SCHEMA,
                        "id": row.id,
                        "title": row.title,
                        "agents": row.agents,
                        "messages": row.messages,
                        "size_bytes": row.size_bytes,
                        "started": None if row.started_ms is None else utc_time(row.started_ms),
                        "updated": None if row.updated_ms is None else utc_time(row.updated_ms),
                        "model": row.model,
                        "labels": {**row.labels},
                        "cwd": row.cwd,
                        "damaged_places": row.damaged,
                        "problem": row.problem,
                        "path": f"{root}/{row.id}",
                    }
                )
            )
    _warn(shown)


def print_table(settings: Settings, shown: Sequence[Row], total: int) -> None:
    """Print a table, and on standard error how many of how many sessions it has."""
    labelled = any(row.labels for row in shown)
    damaged = any(row.damaged or row.problem for row in shown)
    columns = [
        Column("ID", least=12, style="cyan"),
        Column("UPDATED"),
        Column("MSGS", "right"),
        Column("AGENTS", "right"),
        Column("SIZE", "right"),
        Column("TITLE", least=12),
    ]
    if labelled:
        columns.append(Column("LABELS", least=8))
    if damaged:
        columns.append(Column("DAMAGE", style="red"))
    lines = []
    for row in shown:
        cells = [
            row.id,
            "?" if row.updated_ms is None else age(row.updated_ms, settings.now_ms),
            "?" if row.messages is None else count(row.messages),
            count(row.agents),
            size(row.size_bytes),
            row.title or "",
        ]
        if labelled:
            cells.append(" ".join(f"{key}={value}" for key, value in row.labels.items()))
        if damaged:
            cells.append(_damage(row))
        lines.append(cells)
    if shown:
        with settings.output(paged=True) as out:
            table(out, columns, lines, settings)
    _tell(settings, len(shown), total)
    _warn(shown)


def _damage(row: Row) -> str:
    if row.damaged:
        return count(row.damaged, "place")
    if row.problem is not None:
        return "meta" if row.problem.startswith("meta") else "yes"
    return "?" if row.damaged is None else ""


def _tell(settings: Settings, shown: int, total: int) -> None:
    if shown < total:
        talk(f"{count(shown)} of {count(total, 'session')}; --limit 0 shows all of them.")
    elif total == 0:
        talk(
            f"No sessions under {settings.root}.",
            "agentmem import brings transcripts in, agentmem new starts one.",
        )
    else:
        talk(count(total, "session"))


def _warn(shown: Sequence[Row]) -> None:
    bad = [row for row in shown if row.problem is not None]
    if bad:
        more = f" (and {len(bad) - 1} more sessions)" if len(bad) > 1 else ""
        warn(f"{bad[0].id}: {bad[0].problem}{more}; the facts are the logs' own.")
