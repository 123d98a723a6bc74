"""The verbs of core memory that look: list, show, get, render, lint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentmem_cli.cli.core_options import (
    AnyTypeArg,
    AsOfOption,
    LogOption,
    TypeArg,
    look_at,
    open_core,
    type_of,
)
from agentmem_cli.cli.options import JsonOption, SessionArg

if TYPE_CHECKING:
    from agentmem_cli.cli.core_options import Open
    from agentmem_cli.operations.core.looking import Budget, Seen
    from agentmem_cli.session.codec import JSON


def list_blocks(
    context: typer.Context,
    session: SessionArg,
    agent: LogOption = None,
    as_of: AsOfOption = None,
    json: JsonOption = False,
) -> None:
    """List the blocks, and what they take of what they may.

    SHARE is of the bound, TOKENS an estimate: a token for four bytes. The
    last line counts what is really sent, with tags and labels.
    """
    from agentmem_cli.cli.core_print import when
    from agentmem_cli.cli.render import Column, count, table
    from agentmem_cli.operations.core.looking import budget, measure

    opened = open_core(context, session, agent)
    seen = look_at(opened, as_of)
    room = budget(seen.values)
    if json:
        _print_list(opened, seen, room, as_of)
        return
    columns = (
        Column("TYPE"),
        Column("LABEL", least=8),
        Column("BYTES", "right"),
        Column("SHARE", "right", spare=2),
        Column("TOKENS", "right", spare=3),
        Column("MODIFIED", spare=1),
        Column("BY", least=8),
        Column(""),
    )
    rows = [
        (
            kind.value,
            "-" if stored.label is None else stored.label,
            count(stored.block.size_bytes),
            f"{stored.block.size_bytes / room.max_bytes:.1%}",
            count(measure(stored.content).tokens),
            when(opened.settings, stored.block.modified_at_ms),
            stored.by,
            "read-only" if stored.read_only else "",
        )
        for kind, stored in seen.values.blocks.items()
    ]
    with opened.settings.output() as out:
        if rows:
            table(out, columns, rows, opened.settings)
        for line in _budget_lines(room):
            out.line(line)


def _budget_lines(room: Budget) -> list[str]:
    from agentmem_cli.cli.render import count

    left = (
        f"{count(room.over_bytes)} too many"
        if room.over_bytes
        else f"room for {count(room.available_bytes)} more"
    )
    used = f"{count(room.used_bytes)} of {count(room.max_bytes)} bytes"
    sent, content = room.sent, room.content
    return [
        (
            f"contents: {used} ({room.used_bytes / room.max_bytes:.1%}), {left}; "
            f"{count(content.characters)} characters, about {count(content.tokens, 'token')}"
        ),
        (
            f"as sent: {count(sent.bytes)} bytes, {count(sent.characters)} characters, "
            f"about {count(sent.tokens, 'token')}"
        ),
    ]


def _print_list(opened: Open, seen: Seen, room: Budget, as_of: str | None) -> None:
    from agentmem_cli.cli.core_print import block_object, size_object

    blocks: list[JSON] = []
    for stored in seen.values.blocks.values():
        told = block_object(stored)
        told.pop("content")
        blocks.append(told)
    with opened.settings.output() as out:
        out.object(
            "agentmem.core/1",
            {
                "session": opened.id,
                "agent": opened.agent,
                "log": opened.log,
                "place": as_of or "now",
                "n": seen.n,
                "blocks": blocks,
                "used_bytes": room.used_bytes,
                "max_bytes": room.max_bytes,
                "room_bytes": room.available_bytes,
                "over_bytes": room.over_bytes,
                "content": size_object(room.content),
                "sent": size_object(room.sent),
                "unusable": {**seen.values.bad},
            },
        )


def show(
    context: typer.Context,
    session: SessionArg,
    block: AnyTypeArg = None,
    agent: LogOption = None,
    as_of: AsOfOption = None,
    json: JsonOption = False,
) -> None:
    """Show blocks, with who changed them last, when and why."""
    from agentmem_cli.cli.core_print import block_object, head_of, when
    from agentmem_cli.cli.output import talk
    from agentmem_cli.cli.render import count, styled
    from agentmem_cli.cli.text import one_line, visible
    from agentmem_cli.operations.core.looking import stored_of

    opened = open_core(context, session, agent)
    kind = None if block is None else type_of(block)
    values = look_at(opened, as_of).values
    chosen = list(values.blocks.values()) if kind is None else [stored_of(values, kind, as_of)]
    settings = opened.settings
    with settings.output(paged=not json) as out:
        for stored in chosen:
            if json:
                out.object("agentmem.core-block/1", block_object(stored))
                continue
            size = count(stored.block.size_bytes, "byte")
            at = when(settings, stored.block.modified_at_ms)
            why = f": {one_line(stored.reason)}" if stored.reason is not None else ""
            told = f"{size}, {at} by {one_line(stored.by)}{why}"
            out.line(f"{styled(head_of(stored), 'bold', settings)}  {told}")
            if stored.description is not None:
                out.line(f"    ({one_line(stored.description)})")
            for line in visible(stored.content.removesuffix("\n")).split("\n"):
                out.line(f"    {line}" if line else "")
            out.line()
    if not chosen and not json:
        talk("No blocks.")


def get(
    context: typer.Context,
    session: SessionArg,
    block: TypeArg,
    hash_: Annotated[
        bool,
        typer.Option("--hash", help="Print its hash instead, for --if-match."),
    ] = False,
    agent: LogOption = None,
    as_of: AsOfOption = None,
    json: JsonOption = False,
) -> None:
    """Print what one block says, byte for byte.

    On a terminal a newline follows, and what would drive the terminal is
    shown visibly.
    """
    from agentmem_cli.cli.core_print import block_object, put_text
    from agentmem_cli.operations.core.looking import encode, stored_of

    opened = open_core(context, session, agent)
    stored = stored_of(look_at(opened, as_of).values, type_of(block), as_of)
    with opened.settings.output() as out:
        if json:
            out.object("agentmem.core-block/1", block_object(stored))
        elif hash_:
            out.line(stored.digest())
        else:
            put_text(out, encode(stored.content))


def render(
    context: typer.Context,
    session: SessionArg,
    digest: Annotated[
        bool, typer.Option("--digest", help="Print the SHA-256 of these bytes instead.")
    ] = False,
    no_escape: Annotated[
        bool,
        typer.Option("--no-escape", help="Leave tags in contents as they are: they can forge."),
    ] = False,
    agent: LogOption = None,
    as_of: AsOfOption = None,
    json: JsonOption = False,
) -> None:
    """Print the exact bytes that a model sees, or saw once."""
    from agentmem_cli.cli.core_print import put_text
    from agentmem_cli.operations.core.looking import digest as sha256
    from agentmem_cli.operations.core.looking import rendered

    opened = open_core(context, session, agent)
    seen = look_at(opened, as_of)
    data = rendered(seen.values, escape=not no_escape)
    with opened.settings.output() as out:
        if json:
            told: dict[str, JSON] = {
                "session": opened.id,
                "agent": opened.agent,
                "log": opened.log,
                "place": as_of or "now",
                "n": seen.n,
                "text": data.decode("utf-8", "surrogatepass"),
                "bytes": len(data),
                "digest": sha256(data),
            }
            out.object("agentmem.core-render/1", told)
        elif digest:
            out.line(sha256(data))
        else:
            put_text(out, data)


def lint(
    context: typer.Context,
    session: SessionArg,
    agent: LogOption = None,
    as_of: AsOfOption = None,
    json: JsonOption = False,
) -> int:
    """Name what in the blocks may deceive a reader.

    Tags, what cannot be seen, marks of direction, terminal escapes, halves of
    surrogate pairs, which are no UTF-8; also values that are no blocks, and
    contents, labels and descriptions that are too large. The exit status
    is 1 where there is anything.
    """
    from agentmem_cli.cli.output import talk
    from agentmem_cli.cli.text import one_line
    from agentmem_cli.operations.core.linting import findings

    opened = open_core(context, session, agent)
    found = findings(look_at(opened, as_of).values)
    with opened.settings.output() as out:
        for each in found:
            if json:
                out.object("agentmem.core-finding/1", each._asdict())
                continue
            where = f"{each.key.removeprefix('core_memory.')}"
            if each.line is not None:
                where += f" {each.where}, line {each.line}, column {each.column}"
            out.line(one_line(f"{where}: {each.kind}: {each.shown}"))
    if not found and not json:
        talk("Nothing found.")
    return 1 if found else 0
