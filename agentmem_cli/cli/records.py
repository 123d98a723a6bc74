"""How `log` prints records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.cli.clock import screen_time, utc_time
from agentmem_cli.cli.render import styled
from agentmem_cli.cli.shown import warn_of
from agentmem_cli.cli.text import cell, one_line, pad
from agentmem_cli.operations.records import Shown, merged, records

if TYPE_CHECKING:
    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.storage.directory import DirStore

SCHEMA = "agentmem.record/1"
"""One record of a log."""

_WIDTH = 160
_NUMBER = 6
_TIME = 26
_TIMED = 60
"""Columns of a screen on which there is room for times."""


def print_records(
    settings: Settings,
    session: str,
    store: DirStore,
    logs: list[str],
    *,
    kinds: frozenset[str],
    key: str | None,
    oneline: bool,
    json: bool,
) -> None:
    """Print the records of a session's *logs*, by ``n`` and then by log."""
    damages: dict[str, list[Damage]] = {}

    def report(log: str, damage: Damage) -> None:
        damages.setdefault(log, []).append(damage)

    parts = [
        records(store, log, report, kinds=kinds, key=key, details=not (json or oneline), exact=json)
        for log in logs
    ]
    with settings.output(paged=not json) as out:
        for shown in merged(parts):
            if json:
                _print_json(out, shown)
            else:
                _print_text(settings, out, shown, several=len(logs) > 1, oneline=oneline)
    for log, found in damages.items():
        warn_of(session, log, found)


def _print_json(out: Output, shown: Shown) -> None:
    out.object(
        SCHEMA,
        {
            "log": shown.log,
            "line": shown.line,
            "n": shown.n,
            "seq": shown.seq,
            "time": None if shown.t is None else utc_time(shown.t),
            "type": shown.type,
            "by": shown.by,
            "record": shown.fields,
        },
    )


def _print_text(
    settings: Settings, out: Output, shown: Shown, *, several: bool, oneline: bool
) -> None:
    columns = settings.columns or _WIDTH
    head = f"{pad('?' if shown.n is None else str(shown.n), _NUMBER, 'right')}  "
    indent = " " * len(head)
    if columns >= _TIMED:
        told = "?" if shown.t is None else screen_time(shown.t, settings.zone)
        head += f"{pad(told, _TIME)}  "
    log = f"{cell(shown.log, 12)} " if several else ""
    by = f" by {one_line(shown.by)}" if shown.by is not None else ""
    told = f"{log}{one_line(shown.type):8}{by} {one_line(shown.gist)}"
    out.line(head + cell(told, max(_NUMBER, columns - len(head))))
    if not oneline:
        for detail in shown.details:
            out.line(styled(cell(f"{indent}{one_line(detail)}", columns), "dim", settings))
