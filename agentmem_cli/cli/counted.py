"""The command stats, and how it prints."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli.many import EveryOption, check_named
from agentmem_cli.cli.options import (
    JsonOption,
    LabelOption,
    LargerOption,
    ModelOption,
    OlderOption,
    SessionsArg,
    SinceOption,
    TitleOption,
    UntilOption,
)
from agentmem_cli.cli.settings import Settings
from agentmem_cli.cli.sought import Filtered
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from agentmem_cli.cli.output import Output
    from agentmem_cli.operations.catalog import Found
    from agentmem_cli.operations.measuring import Measures
    from agentmem_cli.session.codec import JSON

SCHEMA: Final = "agentmem.stats/1"
"""What one session is made of."""

_TROUBLE: Final = 2

_NAMES: Final = {
    "messages": "messages",
    "tool_output": "tool output",
    "images": "images in logs",
    "asides": "asides",
    "values": "saved values",
    "past": "past (taken out or replaced)",
    "other": "headers, damage",
    "blobs": "blobs",
    "sources": "kept sources",
    "files": "other files",
}
_NAME_COLUMNS: Final = max(map(len, _NAMES.values()))
_NUMBER_COLUMNS: Final = 20
"""What a size and a share take behind a name."""

_BAR_COLUMNS: Final = 40
"""Columns of the longest bar, where the screen has room for it."""

_EIGHTHS: Final = " ▏▎▍▌▋▊▉"

_TOOLS: Final = 12
"""Tools that are listed by name for a person; the rest is counted."""


def stats(
    context: typer.Context,
    sessions: SessionsArg = None,
    everything: EveryOption = False,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", metavar="ID", help="Only the logs of agents whose ids begin so; no files."
        ),
    ] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    model: ModelOption = None,
    label: LabelOption = None,
    title: TitleOption = None,
    larger: LargerOption = None,
    older: OlderOption = None,
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="FOLDER", help="Only sessions that worked there."),
    ] = None,
    json: JsonOption = False,
) -> int | None:
    """Show what sessions are made of: bytes, messages, calls, tokens.

    Every byte counts once: of messages and tool output that stand now, of
    what was taken out or replaced, of blobs and kept sources. Tokens are
    estimated from the texts. Several sessions are added up; JSON has an object
    for each.
    """
    from agentmem_cli.cli.sought import sessions_to_read

    settings = Settings.of(context)
    check_named(sessions, everything=everything)
    if agent == "":
        raise UsageError("--agent is empty")
    given = Filtered(since, until, model, label, title, larger, older, project)
    found = sessions_to_read(settings, sessions, given)
    measured: list[tuple[Found, Measures]] = []
    failed = False
    with settings.output(paged=not json) as out:
        for one in found:
            measures = _measured(settings, one, agent)
            if measures is None:
                failed = True
            elif json:
                out.object(SCHEMA, _value(one, measures))
            else:
                measured.append((one, measures))
        if not json:
            _print(settings, out, measured)
    if not found:
        from agentmem_cli.cli.output import talk

        talk("No session to look at.")
    return _TROUBLE if failed else None


def _measured(settings: Settings, found: Found, agent: str | None) -> Measures | None:
    from agentmem_cli.cli.output import warn
    from agentmem_cli.cli.render import count, progress
    from agentmem_cli.cli.sought import agents_to_read, open_to_read
    from agentmem_cli.errors import SessionError
    from agentmem_cli.operations.measuring import measure

    store = open_to_read(settings, found)
    if store is None:
        return None
    try:
        logs = None if agent is None else agents_to_read(store, agent)
        size = sum(store.log_stat(log).size for log in store.logs())
        with progress(f"stats {found.id}", size, settings) as advance, _no_collecting():
            measures = measure(store, logs, advance)
    except (SessionError, FileNotFoundError) as error:
        warn(f"{found.id}: {error}")
        return None
    if measures.damaged:
        places = count(measures.damaged, "damaged place")
        warn(f"{found.id}: {places}; agentmem verify names them all")
    return measures


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Let nobody look for cycles: a fold makes none, and a tenth of its time goes there."""
    import gc

    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _value(found: Found, measures: Measures) -> dict[str, JSON]:
    return {
        "session": found.id,
        "size_bytes": measures.size_bytes,
        "bytes": {**measures.bytes},
        "agents": measures.agents,
        "records": measures.records,
        "messages": measures.messages,
        "roles": {**measures.roles},
        "tool_calls": {**measures.calls},
        "estimated_tokens": measures.tokens,
        "blobs": measures.blobs,
        "sources": measures.sources,
        "damaged_places": measures.damaged,
        "largest": [
            {
                "agent": large.agent,
                "id": large.id,
                "address": f"{found.id}:{large.agent}:m{large.id}",
                "size_bytes": large.size_bytes,
                "gist": large.gist,
            }
            for large in measures.largest
        ],
    }


def _print(settings: Settings, out: Output, measured: Sequence[tuple[Found, Measures]]) -> None:
    from agentmem_cli.cli.render import count, size, styled
    from agentmem_cli.cli.text import one_line

    if not measured:
        return
    all_of = [measures for _, measures in measured]
    name = measured[0][0].id if len(measured) == 1 else count(len(measured), "session")
    whole = sum(measures.size_bytes for measures in all_of)
    told = [
        count(sum(measures.agents for measures in all_of), "agent"),
        count(sum(measures.records for measures in all_of), "record"),
        size(whole),
    ]
    out.line(f"{styled(one_line(name), 'bold', settings)}: {', '.join(told)}")
    out.line()
    _print_bytes(settings, out, _added(measures.bytes for measures in all_of), whole)
    out.line()
    roles = _added(measures.roles for measures in all_of)
    parts = [f"{number:,} {one_line(role)}" for role, number in _most(roles)]
    messages = count(sum(roles.values()), "message")
    out.line(f"{messages} ({', '.join(parts)})" if parts else messages)
    tokens = sum(measures.tokens for measures in all_of)
    out.line(f"{count(tokens, 'token')}, estimated")
    _print_calls(out, _added(measures.calls for measures in all_of))
    blobs = sum(measures.blobs for measures in all_of)
    sources = sum(measures.sources for measures in all_of)
    out.line(f"{count(blobs, 'blob')}, {count(sources, 'file')} of kept sources")
    _print_largest(settings, out, measured)


def _print_bytes(settings: Settings, out: Output, found: Mapping[str, int], whole: int) -> None:
    from agentmem_cli.cli.render import size, styled
    from agentmem_cli.cli.text import pad

    most = max(found.values(), default=0)
    room, narrow = 0, False
    if settings.columns is not None:
        narrow = settings.columns < _NAME_COLUMNS + _NUMBER_COLUMNS
        room = min(_BAR_COLUMNS, settings.columns - _NAME_COLUMNS - 22)
    for kind, number in found.items():
        share = 100 * number / whole if whole else 0.0
        line = f"  {_NAMES[kind]:<{_NAME_COLUMNS}}  {size(number):>7}  {share:5.1f} %"
        if narrow:
            assert settings.columns is not None
            name = pad(_NAMES[kind], max(settings.columns - 11, 8))
            line = f"  {name}  {size(number):>7}"
        if room > 0 and most:
            line += "  " + styled(_bar(number / most, room), "blue", settings)
        out.line(line.rstrip())


def _bar(share: float, columns: int) -> str:
    """Return a bar of *share* of *columns*, to an eighth of one; something is never nothing."""
    eighths = max(round(share * columns * 8), 1 if share else 0)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def _print_calls(out: Output, calls: Mapping[str, int]) -> None:
    from agentmem_cli.cli.render import count
    from agentmem_cli.cli.text import cell

    told = [f"{number:,} {cell(name, 40)}" for name, number in _most(calls)]
    if len(told) > _TOOLS:
        told = [*told[:_TOOLS], f"and {count(len(told) - _TOOLS, 'more tool')}"]
    number = count(sum(calls.values()), "tool call")
    out.line(f"{number} ({', '.join(told)})" if told else number)


def _print_largest(
    settings: Settings, out: Output, measured: Sequence[tuple[Found, Measures]]
) -> None:
    from agentmem_cli.cli.render import Column, size, table
    from agentmem_cli.operations.measuring import LARGEST

    rows = [
        (large.size_bytes, f"{found.id}:{large.agent}:m{large.id}", large.gist)
        for found, measures in measured
        for large in measures.largest
    ]
    rows.sort(key=lambda row: -row[0])
    if not rows:
        return
    out.line()
    columns = [Column("LARGEST", "right"), Column("MESSAGE", least=12), Column("SAYS", least=8)]
    cells = [[size(number), place, gist] for number, place, gist in rows[:LARGEST]]
    table(out, columns, cells, settings)


def _added(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    from collections import Counter

    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def _most(found: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
