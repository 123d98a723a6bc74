"""The verbs of core memory that change what a block says: set, append, replace, insert, label."""

from __future__ import annotations

from typing import Annotated

import typer

from agentmem_cli.cli.core_options import (
    ByOption,
    ForceOption,
    LogOption,
    MatchOption,
    MergeOption,
    ReasonOption,
    TextArg,
    TypeArg,
    check_text,
    open_core,
    request_of,
    text_of,
    type_of,
)
from agentmem_cli.cli.options import DryRunOption, JsonOption, SessionArg
from agentmem_cli.errors import UsageError


def set_(
    context: typer.Context,
    session: SessionArg,
    block: TypeArg,
    text: TextArg = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="TEXT", help="Its label; without it the block has none."),
    ] = None,
    description: Annotated[
        str | None,
        typer.Option("--description", metavar="TEXT", help="What it is for, for people."),
    ] = None,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchOption = None,
    merge: MergeOption = False,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Set what a block says; one that is not there is made.

    A block that is there keeps its id and when it was made. Its label goes
    unless it is given again.
    """
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core.verbs import set_content

    check_text(label, "--label")
    check_text(description, "--description")
    opened = open_core(context, session, agent, change=not dry_run)
    request = request_of(
        opened.settings,
        by=by,
        reason=reason,
        match=if_match,
        merge=merge,
        force=force,
        dry_run=dry_run,
    )
    done = set_content(
        opened.store,
        opened.log,
        type_of(block),
        text_of(text),
        request,
        label=label,
        description=description,
    )
    return tell_change(opened, done, dry_run=dry_run, json=json)


def append(
    context: typer.Context,
    session: SessionArg,
    block: TypeArg,
    text: TextArg = None,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchOption = None,
    merge: MergeOption = False,
    force: ForceOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Add text to the end of a block, on a line of its own.

    A newline is put between only where the block is not empty and does not
    end in one. A block that is not there is made.
    """
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core.verbs import append as add

    opened = open_core(context, session, agent, change=not dry_run)
    request = request_of(
        opened.settings,
        by=by,
        reason=reason,
        match=if_match,
        merge=merge,
        force=force,
        dry_run=dry_run,
    )
    done = add(opened.store, opened.log, type_of(block), text_of(text), request)
    return tell_change(opened, done, dry_run=dry_run, json=json)


def replace(
    context: typer.Context,
    session: SessionArg,
    block: TypeArg,
    old: Annotated[
        str, typer.Option("--old", metavar="TEXT", help="What is looked for, as plain text.")
    ],
    new: Annotated[
        str, typer.Option("--new", metavar="TEXT", help="What takes its place; may be empty.")
    ],
    everywhere: Annotated[
        bool, typer.Option("--all", help="Replace it wherever it stands, from the left.")
    ] = False,
    nth: Annotated[
        int | None,
        typer.Option("--nth", metavar="N", help="Replace this one only; the first is 1."),
    ] = None,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchOption = None,
    merge: MergeOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Replace a text in a block, which must stand there exactly once.

    Ones that overlap are counted too. With - for one of both texts, that is
    standard input.
    """
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core import lines
    from agentmem_cli.operations.core.verbs import edit_content

    if everywhere and nth is not None:
        raise UsageError("--all and --nth do not go together")
    if old == new == "-":
        raise UsageError("only one of --old and --new can be standard input")
    opened = open_core(context, session, agent, change=not dry_run)
    request = request_of(
        opened.settings, by=by, reason=reason, match=if_match, merge=merge, dry_run=dry_run
    )
    before, after = text_of(old, "--old"), text_of(new, "--new")

    def edit(content: str) -> str:
        return lines.replace(content, before, after, everywhere=everywhere, nth=nth)

    done = edit_content(opened.store, opened.log, type_of(block), request, edit)
    return tell_change(opened, done, dry_run=dry_run, json=json)


def insert(
    context: typer.Context,
    session: SessionArg,
    block: TypeArg,
    text: TextArg = None,
    line: Annotated[
        str,
        typer.Option("--line", metavar="N", help="0: the top, N: after line N, end: the end."),
    ] = "end",
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchOption = None,
    merge: MergeOption = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Put lines into a block."""
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core.lines import END
    from agentmem_cli.operations.core.verbs import insert as put

    if line != "end" and not (line.isascii() and line.isdigit()):
        hint = "0 is the top, N is after line N, end is after the last."
        raise UsageError(f"--line: {line!r} is no line", hint=hint)
    at = END if line == "end" else int(line)
    opened = open_core(context, session, agent, change=not dry_run)
    request = request_of(
        opened.settings, by=by, reason=reason, match=if_match, merge=merge, dry_run=dry_run
    )
    done = put(opened.store, opened.log, type_of(block), text_of(text), at, request)
    return tell_change(opened, done, dry_run=dry_run, json=json)


def label(
    context: typer.Context,
    session: SessionArg,
    block: TypeArg,
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The label; it may be empty.")
    ] = None,
    none: Annotated[bool, typer.Option("--none", help="Take the label away.")] = False,
    agent: LogOption = None,
    reason: ReasonOption = None,
    by: ByOption = None,
    if_match: MatchOption = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> int:
    """Give a block a label, which a model sees in its tag."""
    from agentmem_cli.cli.core_print import tell_change
    from agentmem_cli.operations.core.verbs import set_label

    if (text is None) != none:
        raise UsageError("give either a label or --none")
    opened = open_core(context, session, agent, change=not dry_run)
    request = request_of(opened.settings, by=by, reason=reason, match=if_match, dry_run=dry_run)
    wanted = None if none else text_of(text, "the label")
    done = set_label(opened.store, opened.log, type_of(block), wanted, request)
    return tell_change(opened, done, dry_run=dry_run, json=json)
