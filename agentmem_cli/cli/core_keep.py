"""The verbs of core memory about whole blocks: remove, clear, protect, unprotect, config."""

from __future__ import annotations

from typing import Annotated

import typer

from agentmem_cli.cli.core_options import (
    ByOption,
    ForceOption,
    LogOption,
    MatchAllOption,
    MatchOption,
    ReasonOption,
    TypeArg,
    check_text,
    look_at,
    open_core,
    request_of,
    type_of,
)
from agentmem_cli.cli.options import DryRunOption, JsonOption, SessionArg


def remove(
    context: typer.Context,
    session: SessionArg,
    block: TypeArg,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchOption = None,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Take a block out; its past stays."""
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core.verbs import remove as take_out

    opened = open_core(context, session, agent, change=not dry_run)
    request = request_of(
        opened.settings, by=by, reason=reason, match=if_match, force=force, dry_run=dry_run
    )
    done = take_out(opened.store, opened.log, type_of(block), request)
    return tell_change(opened, done, dry_run=dry_run, json=json)


def clear(
    context: typer.Context,
    session: SessionArg,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchAllOption = None,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Take all blocks out; their past stays, and undo brings them back.

    With --force also what other programs put under keys of core memory that is
    no block.
    """
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core.verbs import clear as take_out

    opened = open_core(context, session, agent, change=not dry_run)
    request = request_of(
        opened.settings, by=by, reason=reason, match=if_match, force=force, dry_run=dry_run
    )
    done = take_out(opened.store, opened.log, request)
    return tell_change(opened, done, dry_run=dry_run, json=json)


def protect(
    context: typer.Context,
    session: SessionArg,
    block: TypeArg,
    description: Annotated[
        str | None,
        typer.Option("--description", metavar="TEXT", help="What it is for, for people."),
    ] = None,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchOption = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Make a block read-only: no verb changes it until unprotect, nor does an undo."""
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core.verbs import protect as guard

    check_text(description, "--description")
    opened = open_core(context, session, agent, change=not dry_run)
    request = request_of(opened.settings, by=by, reason=reason, match=if_match, dry_run=dry_run)
    done = guard(
        opened.store,
        opened.log,
        type_of(block),
        request,
        read_only=True,
        description=description,
    )
    return tell_change(opened, done, dry_run=dry_run, json=json)


def unprotect(
    context: typer.Context,
    session: SessionArg,
    block: TypeArg,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchOption = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Let a read-only block be changed again."""
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core.verbs import protect as guard

    opened = open_core(context, session, agent, change=not dry_run)
    request = request_of(opened.settings, by=by, reason=reason, match=if_match, dry_run=dry_run)
    done = guard(opened.store, opened.log, type_of(block), request, read_only=False)
    return tell_change(opened, done, dry_run=dry_run, json=json)


def config(
    context: typer.Context,
    session: SessionArg,
    max_bytes: Annotated[
        int | None,
        typer.Option(
            "--max-bytes", metavar="N", help="How many bytes all contents may have: 4096 to 32768."
        ),
    ] = None,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchAllOption = None,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Set how much core memory may hold; without --max-bytes print it."""
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core.verbs import configure

    opened = open_core(context, session, agent, change=max_bytes is not None and not dry_run)
    if max_bytes is None:
        seen = look_at(opened, None)
        with opened.settings.output() as out:
            if json:
                told = {"session": opened.id, "agent": opened.agent, "log": opened.log}
                out.object("agentmem.core-config/1", {**told, "max_bytes": seen.values.max_bytes})
            else:
                out.line(f"max_bytes {seen.values.max_bytes}")
        return 0
    request = request_of(
        opened.settings, by=by, reason=reason, match=if_match, force=force, dry_run=dry_run
    )
    done = configure(opened.store, opened.log, max_bytes, request)
    return tell_change(opened, done, dry_run=dry_run, json=json)
