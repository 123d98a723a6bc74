"""How `list` prints its rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from agentmem_cli.cli.clock import age, utc_time
from agentmem_cli.cli.opening import warn_of_writers
from agentmem_cli.cli.output import json_line, talk, warn
from agentmem_cli.cli.render import GAP, Column, count, size, table
from agentmem_cli.cli.text import one_line, width
from agentmem_cli.operations.listing import is_held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.listing import Row
    from agentmem_cli.session.codec import JSON

SCHEMA: Final = "agentmem.session/1"
"""One session of a listing."""

_ID: Final = "ID"
_TITLE: Final = "TITLE"

_ID_LEAST: Final = 12
"""Characters of an id that are always shown, so that it stays the same as sessions come."""

_TITLE_LEAST: Final = 8
"""Columns that titles have on the narrowest screen."""

_WIDE: Final = 140
"""Columns of a screen on which there is room for the folder too."""

_GIVEN_UP: Final = (
    ("PROJECT", 24),
    ("AGENTS", 24),
    ("SIZE", 24),
    ("LABELS", 24),
    ("MSGS", 24),
    ("UPDATED", _TITLE_LEAST),
)
"""What goes on a narrow screen, the first one first, where a title would have less than this."""


def print_json(settings: Settings, shown: Sequence[Row], *, tree: bool = False) -> None:
    """Print one object a session; with *tree* each has its agents."""
    root = str(settings.root)
    with settings.output() as out:
        for row in shown:
            fields: dict[str, JSON] = {
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
                "forked_from": _fork_value(row),
                "part_of": _part_value(root, row),
                "damaged_places": row.damaged,
                "problem": row.problem,
                "path": f"{root}/{row.id}",
            }
            if tree:
                from agentmem_cli.cli.listed_tree import agent_values

                fields["tree"] = agent_values(f"{root}/{row.id}", row)
            out.write_bytes(json_line(fields))
    _warn(shown)
    _warn_of_readers(settings, shown)


def _fork_value(row: Row) -> JSON:
    if row.forked_from is None:
        return None
    session, at = row.forked_from
    return {"session": session, "at": at}


def _part_value(root: str, row: Row) -> JSON:
    if row.part_of is None:
        return None
    session, agent = row.part_of
    return {"session": session, "agent": agent, "held": is_held(root, row.part_of)}


def print_table(
    settings: Settings,
    shown: Sequence[Row],
    *,
    fitting: int,
    everything: int,
    tree: bool = False,
    project: bool = False,
) -> None:
    """Print a table, and on standard error how many of how many sessions it has.

    Args:
        settings: The settings of this run.
        shown: The rows.
        fitting: How many sessions fit the filters.
        everything: How many there are.
        tree: Whether the agents are to be listed under their sessions.
        project: Whether the folder is to be shown; on a wide screen it is anyway.
    """
    labelled = any(row.labels for row in shown)
    damaged = any(row.damaged or row.problem for row in shown)
    wide = settings.columns is not None and settings.columns >= _WIDE
    placed = (project or wide) and any(row.cwd for row in shown)
    columns = _columns(placed=placed, labelled=labelled, damaged=damaged)
    lines: list[list[str]] = []
    for row in shown:
        cells = _cells(settings, row)
        if placed:
            cells.insert(-1, row.cwd or "")
        if labelled:
            cells.append(" ".join(f"{key}={value}" for key, value in row.labels.items()))
        if damaged:
            cells.append(_damage(row))
        lines.append(cells)
    if settings.columns is not None and _least_width(columns, lines, None) > settings.columns:
        at = [column.title for column in columns].index(_TITLE)
        lines = [
            [*line[:at], _short_title(row), *line[at + 1 :]]
            for row, line in zip(shown, lines, strict=True)
        ]
        marked = max(width(_short_title(row)) - width(row.title or "") for row in shown)
        columns, lines = _narrowed(str(settings.root), settings.columns, columns, lines, marked)
    if tree:
        from agentmem_cli.cli.listed_tree import with_agents

        lines = with_agents(settings, shown, columns, lines)
    if shown:
        with settings.output(paged=True) as out:
            table(out, columns, lines, settings)
    _tell(settings, len(shown), fitting, everything)
    _warn(shown)
    _warn_of_readers(settings, shown)


def _cells(settings: Settings, row: Row) -> list[str]:
    """Return what a row always has, the title last."""
    return [
        row.id,
        "?" if row.updated_ms is None else age(row.updated_ms, settings.now_ms),
        "?" if row.messages is None else count(row.messages),
        f"1+{count(row.agents - 1)}" if row.agents > 1 else count(row.agents),
        size(row.size_bytes),
        _title(str(settings.root), row),
    ]


def _columns(*, placed: bool, labelled: bool, damaged: bool) -> list[Column]:
    columns = [
        Column(_ID, least=_ID_LEAST, style="cyan"),
        Column("UPDATED"),
        Column("MSGS", "right"),
        Column("AGENTS", "right"),
        Column("SIZE", "right"),
    ]
    if placed:
        columns.append(Column("PROJECT", least=12))
    columns.append(Column(_TITLE, least=_TITLE_LEAST))
    if labelled:
        columns.append(Column("LABELS", least=8))
    if damaged:
        columns.append(Column("DAMAGE", style="red"))
    return columns


def _title(root: str, row: Row) -> str:
    """Return a title with what tells the session apart from another one that holds as much."""
    title = row.title or ""
    if row.forked_from is not None:
        session, at = row.forked_from
        place = "" if at is None else f" at {at}"
        title = f"{title} (forked from {session}{place})".lstrip()
    if row.part_of is not None:
        session, agent = row.part_of
        too = ", which holds it too" if is_held(root, row.part_of) else ""
        title = f"{title} (agent {agent} of {session}{too})".lstrip()
    return title


def _short_title(row: Row) -> str:
    """Return the same for a screen that cuts titles at their ends."""
    told = []
    if row.forked_from is not None:
        at = row.forked_from[1]
        told.append("fork" if at is None else f"fork at {at}")
    if row.part_of is not None:
        told.append("agent")
    title = row.title or ""
    return f"[{', '.join(told)}] {title}".rstrip() if told else title


def _narrowed(
    root: str,
    screen_columns: int,
    columns: list[Column],
    lines: list[list[str]],
    marked: int,
) -> tuple[list[Column], list[list[str]]]:
    """Fit a table to a screen so that ids can be typed off it and titles keep some room.

    Ids are cut to a beginning that no other session has; then whole columns
    go, the least telling first. What is still too wide `table` cuts. Titles need *marked*
    columns more, which say of what a session is a fork, so that something is left of them.
    """
    if _least_width(columns, lines, None) <= screen_columns:
        return columns, lines
    length = _telling_length(root, [line[0] for line in lines])
    lines = [[line[0][:length], *line[1:]] for line in lines]
    columns = [columns[0]._replace(least=None), *columns[1:]]
    for title, room in _GIVEN_UP:
        if _least_width(columns, lines, room + marked) <= screen_columns:
            break
        kept = [at for at, column in enumerate(columns) if column.title != title]
        columns = [columns[at] for at in kept]
        lines = [[line[at] for at in kept] for line in lines]
    return columns, lines


def _least_width(
    columns: Sequence[Column], lines: Sequence[Sequence[str]], title_room: int | None
) -> int:
    """Return the columns that a table takes, with titles cut to *title_room* (None: whole)."""
    total = len(GAP) * (len(columns) - 1)
    for at, column in enumerate(columns):
        cells = [column.title, *(one_line(line[at]) for line in lines)]
        own = max(width(words) for words in cells)
        if column.title == _TITLE and title_room is not None:
            own = min(own, title_room)
        total += own
    return total


def _telling_length(root: str, ids: Sequence[str]) -> int:
    """Return how many characters tell each of *ids* from every other session under *root*."""
    from bisect import bisect_left

    from agentmem_cli.operations.catalog import names

    everything = names(root)
    length = _ID_LEAST
    for id_ in ids:
        at = bisect_left(everything, id_)
        beside = [*everything[max(0, at - 1) : at], *everything[at + 1 : at + 2]]
        shared = max((_shared(id_, other) for other in beside), default=0)
        length = max(length, shared + 1)
    return length


def _shared(one: str, other: str) -> int:
    """Return how many characters the beginnings of two names share."""
    for at, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return at
    return min(len(one), len(other))


def _damage(row: Row) -> str:
    if row.damaged:
        return count(row.damaged, "place")
    if row.problem is not None:
        return "meta" if row.problem.startswith("meta") else "yes"
    return "?" if row.damaged is None else ""


def _tell(settings: Settings, shown: int, fitting: int, everything: int) -> None:
    if everything == 0:
        talk(
            f"No sessions under {one_line(str(settings.root))}.",
            "agentmem import brings transcripts in, agentmem new starts one.",
        )
    elif fitting == 0:
        talk(f"None of {count(everything, 'session')} fits.")
    elif shown < fitting:
        talk(f"{count(shown)} of {count(fitting, 'session')}; --limit 0 shows all of them.")
    elif fitting < everything:
        talk(f"{count(fitting)} of {count(everything, 'session')} fit.")
    else:
        talk(count(fitting, "session"))


def _warn(shown: Sequence[Row]) -> None:
    bad = [row for row in shown if row.problem is not None]
    if bad:
        more = f" (and {count(len(bad) - 1, 'more session')})" if len(bad) > 1 else ""
        warn(f"{bad[0].id}: {bad[0].problem}{more}; what is listed of it comes from the logs.")


def _warn_of_readers(settings: Settings, shown: Sequence[Row]) -> None:
    """Warn once where other users of the machine may read sessions."""
    if os.name == "nt":
        return
    warn_of_writers(settings.root)
    # Why: where the root lets nobody in, no session under it does.
    if not _lets_in(str(settings.root)):
        return
    loose = [row.id for row in shown if _lets_in(f"{settings.root}/{row.id}")]
    if loose:
        more = f" (and {count(len(loose) - 1, 'more session')})" if len(loose) > 1 else ""
        warn(
            f"{loose[0]}{more}: other users of this machine may get at it; "
            f"chmod -R go= {settings.root} keeps them out"
        )


def _lets_in(path: str) -> bool:
    try:
        return bool(os.lstat(path).st_mode & 0o077)
    except OSError:
        return False
