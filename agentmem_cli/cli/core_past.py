"""The verbs of core memory about its past: history, diff, blame, undo, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentmem_cli.cli.core_options import (
    AnyTypeArg,
    ByOption,
    ForceOption,
    LogOption,
    MatchAllOption,
    MatchOption,
    ReasonOption,
    TypeArg,
    look_at,
    look_at_each,
    open_core,
    place_at,
    request_of,
    type_of,
    warn_damages,
)
from agentmem_cli.cli.options import DryRunOption, JsonOption, PlaceArg, SessionArg

if TYPE_CHECKING:
    from agentmem_cli.cli.core_options import Open
    from agentmem_cli.operations.core.history import Edit, Version
    from agentmem_cli.session.codec import Object


def history(
    context: typer.Context,
    session: SessionArg,
    block: AnyTypeArg = None,
    last: Annotated[
        int | None, typer.Option("--last", metavar="N", min=0, help="Only the newest N.")
    ] = None,
    agent: LogOption = None,
    json: JsonOption = False,
) -> None:
    """List the changes: who, when, what, why; newest first.

    N is the place right before the change, which --as-of takes; the place
    behind it is one more.
    """
    from agentmem_cli.cli.output import talk
    from agentmem_cli.operations.core.history import edits, standing
    from agentmem_cli.operations.core.looking import follow

    opened = open_core(context, session, agent)
    kind = None if block is None else type_of(block)
    fold = follow(opened.store, opened.log)
    made = edits(fold)
    warn_damages(opened, [] if fold is None else fold.damages)
    stand = {edit.n for edit in standing(made)}
    shown = [
        (edit, version, edit.n in stand)
        for edit in reversed(made)
        for version in reversed(edit.versions)
        if kind is None or version.block_type is kind
    ]
    shown = shown if last is None else shown[:last]
    if json:
        with opened.settings.output() as out:
            for edit, version, stands in shown:
                told = _version(opened, edit, version, stands=stands)
                out.object("agentmem.core-version/1", told)
    elif shown:
        _print_history(opened, shown)
    else:
        talk("No changes.")


def _print_history(opened: Open, shown: list[tuple[Edit, Version, bool]]) -> None:
    from agentmem_cli.cli.core_print import when
    from agentmem_cli.cli.render import Column, table
    from agentmem_cli.operations.core.history import action_of

    columns = (
        Column("N", "right"),
        Column("TIME", spare=1),
        Column("BY", least=6),
        Column("BLOCK"),
        Column("WHAT"),
        Column("BYTES", "right", spare=2),
        Column("WHY", least=8),
    )
    rows = []
    for edit, version, stands in shown:
        what = action_of(version)
        if edit.undoes is not None:
            what += f", undoes {edit.undoes}"
        elif not stands and not edit.changes_nothing:
            what += ", undone"
        rows.append(
            (
                str(edit.n),
                when(opened.settings, version.t),
                version.by,
                version.key.removeprefix("core_memory."),
                what,
                _sizes(version),
                version.reason or "",
            )
        )
    with opened.settings.output(paged=True) as out:
        table(out, columns, rows, opened.settings)


def _sizes(version: Version) -> str:
    before, after = version.old, version.new
    old = "-" if before is None else f"{before.block.size_bytes:,}"
    new = "-" if after is None else f"{after.block.size_bytes:,}"
    return f"{old} -> {new}"


def _version(opened: Open, edit: Edit, version: Version, *, stands: bool) -> Object:
    from agentmem_cli.cli.clock import utc_time
    from agentmem_cli.operations.core.history import action_of

    before, after = version.old, version.new
    return {
        "session": opened.id,
        "log": opened.log,
        "n": edit.n,
        "behind": version.n + 1,
        "time": utc_time(version.t),
        "key": version.key,
        "type": None if version.block_type is None else version.block_type.value,
        "action": action_of(version),
        "by": version.by,
        "reason": version.reason,
        "undoes": edit.undoes,
        "stands": stands,
        "before_bytes": None if before is None else before.block.size_bytes,
        "after_bytes": None if after is None else after.block.size_bytes,
        "label": None if after is None else after.label,
        "hash": None if after is None else after.digest(),
    }


def diff(
    context: typer.Context,
    session: SessionArg,
    first: PlaceArg,
    second: PlaceArg = "now",
    agent: LogOption = None,
    json: JsonOption = False,
) -> int:
    """Show what became of the blocks between two places in time.

    The second place is now unless it is given. The exit status is 1 where
    anything differs.
    """
    from agentmem_cli.cli.text import visible
    from agentmem_cli.operations.core.differing import differences

    opened = open_core(context, session, agent)
    old, new = look_at_each(opened, first, second)
    found = differences(old.values, new.values)
    with opened.settings.output(paged=not json) as out:
        for each in found:
            if json:
                out.object(
                    "agentmem.core-diff/1",
                    {
                        "session": opened.id,
                        "log": opened.log,
                        "from": first,
                        "to": second,
                        **each.to_object(),
                    },
                )
                continue
            for line in each.lines(first, second):
                out.line(visible(line))
    return 1 if found else 0


def blame(
    context: typer.Context,
    session: SessionArg,
    block: TypeArg,
    agent: LogOption = None,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="PLACE", help="As it was at this place in time."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Say of each line of a block who wrote it, when and why."""
    from agentmem_cli.cli.clock import utc_time
    from agentmem_cli.cli.core_print import when
    from agentmem_cli.cli.render import Column, table
    from agentmem_cli.operations.core import history as past
    from agentmem_cli.operations.core.looking import follow, stored_of

    opened = open_core(context, session, agent)
    kind = type_of(block)
    stored_of(look_at(opened, as_of).values, kind, as_of)
    cut = None if as_of is None else place_at(opened, as_of).cut
    made = past.edits(follow(opened.store, opened.log, cut))
    found = past.blame(past.versions_of(made, kind))
    columns = (
        Column("N", "right"),
        Column("TIME", spare=1),
        Column("BY", least=6),
        Column("LINE", "right"),
        Column("TEXT", least=20),
        Column("WHY", least=8),
    )
    rows = []
    with opened.settings.output(paged=not json) as out:
        for line in found:
            version = line.version
            if not json:
                text = line.text.removesuffix("\n")
                at = when(opened.settings, version.t)
                who, why = version.by, version.reason or ""
                rows.append((str(version.n), at, who, str(line.number), text, why))
                continue
            out.object(
                "agentmem.core-line/1",
                {
                    "type": kind.value,
                    "line": line.number,
                    "text": line.text,
                    "n": version.n,
                    "time": utc_time(version.t),
                    "by": version.by,
                    "reason": version.reason,
                },
            )
        if rows:
            table(out, columns, rows, opened.settings)


def undo(
    context: typer.Context,
    session: SessionArg,
    steps: Annotated[
        int, typer.Option("--steps", metavar="K", help="How many changes; 1 if not given.")
    ] = 1,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchAllOption = None,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Take the newest changes back, by a new one.

    Only changes that stand are taken: those that were undone, and
    undos, are passed by, so ten undos go ten changes back. What is
    read-only stays as it is, and so does that it is: changes of it are
    passed by, and older ones go. Conversations stay as they are.
    """
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core.verbs import undo as take_back

    opened = open_core(context, session, agent, change=not dry_run)
    request = request_of(
        opened.settings, by=by, reason=reason, match=if_match, force=force, dry_run=dry_run
    )
    done = take_back(opened.store, opened.log, request, steps=steps)
    return tell_change(opened, done, dry_run=dry_run, json=json)


def restore(
    context: typer.Context,
    session: SessionArg,
    block: TypeArg,
    as_of: Annotated[
        str, typer.Option("--as-of", metavar="PLACE", help="The place in time; it must be given.")
    ],
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchOption = None,
    merge: Annotated[
        bool,
        typer.Option("--merge", help="With --if-match: merge where others changed other lines."),
    ] = False,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Let a block be what it was at a place in time."""
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core.looking import look
    from agentmem_cli.operations.core.verbs import restore as bring_back

    opened = open_core(context, session, agent, change=not dry_run)
    kind = type_of(block)
    request = request_of(
        opened.settings,
        by=by,
        reason=reason,
        match=if_match,
        merge=merge,
        force=force,
        dry_run=dry_run,
    )
    then = look(opened.store, opened.log, place_at(opened, as_of)).values
    done = bring_back(opened.store, opened.log, kind, then, request, place=as_of)
    return tell_change(opened, done, dry_run=dry_run, json=json)
