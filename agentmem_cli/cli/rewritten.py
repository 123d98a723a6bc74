"""The commands that replace the past by other words or names: remap, rewrite, rename."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentmem_cli.cli.many import (
    AllOption,
    BusyForceOption,
    IdleOption,
    Sought,
    check_asks,
    idle_ms,
    sessions_meant,
)
from agentmem_cli.cli.options import (
    DryRunOption,
    JsonOption,
    LabelOption,
    LargerOption,
    ModelOption,
    OlderOption,
    SessionArg,
    SinceOption,
    TitleOption,
    UntilOption,
    YesOption,
)
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from agentmem_cli.operations.replacing import Replacements
    from agentmem_cli.operations.rewrites import Wanted

DamagedOption = Annotated[
    str,
    typer.Option(
        "--damaged",
        metavar="HOW",
        help="What to do with a log that does not read: refuse it, or as-text.",
    ),
]
ProjectOption = Annotated[
    str | None,
    typer.Option("--project", metavar="FOLDER", help="Only sessions that worked in this folder."),
]

_HOW_DAMAGED = ("refuse", "as-text")


def remap(
    context: typer.Context,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="OLD=NEW... [SESSION]...",
            help="Folders that moved, then sessions.",
        ),
    ],
    everything: AllOption = False,
    everywhere: Annotated[
        bool,
        typer.Option("--everywhere", help="In texts, outputs and kept files too."),
    ] = False,
    project: ProjectOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    model: ModelOption = None,
    label: LabelOption = None,
    title: TitleOption = None,
    larger: LargerOption = None,
    older: OlderOption = None,
    damaged: DamagedOption = "refuse",
    if_idle: IdleOption = "60s",
    force: BusyForceOption = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> int | None:
    """Write the new path of a folder that moved into sessions.

    Whole parts only: /home/ada/proj=/srv/proj leaves /home/ada/proj-docker
    alone. Working folders and the arguments of tool calls change, texts with
    --everywhere only. It replaces what is there and cannot be undone.
    """
    given = dict(locals())
    from agentmem_cli.cli.rewritten_words import run_remap
    from agentmem_cli.operations.moves import parse_moves

    settings = Settings.of(context)
    moves = parse_moves([word for word in words if "=" in word])
    if not moves:
        msg = "no OLD=NEW is given"
        raise UsageError(msg, hint="Like /home/ada/proj=/srv/proj.")
    sought = Sought(given)
    named = [word for word in words if "=" not in word]
    found = sessions_meant(settings, named, sought, everything=everything)
    wanted = _wanted(settings, damaged, if_idle, force=force, dry_run=dry_run, yes=yes)
    return run_remap(settings, found, moves, wanted, everywhere=everywhere, yes=yes, json=json)


def rewrite(
    context: typer.Context,
    replace_file: Annotated[
        str,
        typer.Option(
            "--replace-file",
            metavar="FILE",
            help="What is replaced by what, one pair a line; - is standard input.",
        ),
    ],
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION]...",
            help="Sessions; with --files, paths.",
        ),
    ] = None,
    everything: AllOption = False,
    files: Annotated[
        bool,
        typer.Option("--files", help="The words are files, folders or patterns of them."),
    ] = False,
    project: ProjectOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    model: ModelOption = None,
    label: LabelOption = None,
    title: TitleOption = None,
    larger: LargerOption = None,
    older: OlderOption = None,
    damaged: DamagedOption = "refuse",
    if_idle: IdleOption = "60s",
    force: BusyForceOption = False,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    json: JsonOption = False,
) -> int | None:
    """Replace texts by others, in every string of sessions or files.

    A line of the file is: literal ==> new, or: regex:expression ==> new.
    Lines that begin with # are passed over; docs and README tell the rest.
    Bytes that are no text stay; the exit status is 1 where they may hold it.
    It replaces what is there and cannot be undone.
    """
    given = dict(locals())
    from agentmem_cli.cli.rewritten_files import run_rewrite_files
    from agentmem_cli.cli.rewritten_words import run_rewrite

    settings = Settings.of(context)
    sought = Sought(given)
    if files and (everything or sought.given):
        raise UsageError("--files works on files, and --all and filters on sessions")
    found = (
        []
        if files
        else sessions_meant(settings, targets, sought, everything=everything, or_files=True)
    )
    wanted = _wanted(settings, damaged, if_idle, force=force, dry_run=dry_run, yes=yes)
    if files:
        pairs = _replacements(replace_file)
        return run_rewrite_files(
            settings, targets or (), pairs, wanted, force=force, yes=yes, json=json
        )
    pairs = _replacements(replace_file)
    return run_rewrite(settings, found, pairs, wanted, yes=yes, json=json)


def _wanted(
    settings: Settings, damaged: str, if_idle: str, *, force: bool, dry_run: bool, yes: bool
) -> Wanted:
    from agentmem_cli.operations.rewrites import Wanted

    if damaged not in _HOW_DAMAGED:
        msg = f"--damaged: {damaged!r} is none of {', '.join(_HOW_DAMAGED)}"
        raise UsageError(msg)
    if not dry_run:
        check_asks(settings, yes=yes)
    return Wanted(
        settings.now_ms,
        if_idle_ms=idle_ms(if_idle, force=force),
        damaged="as-text" if damaged == "as-text" else "refuse",
        dry_run=dry_run,
    )


def _replacements(file: str) -> Replacements:
    from agentmem_cli.cli.given_files import read_given
    from agentmem_cli.operations.replacing import parse_replacements

    data, where = read_given(file, "--replace-file")
    return parse_replacements(data, where)


def rename(
    context: typer.Context,
    session: SessionArg,
    new: Annotated[
        str | None,
        typer.Argument(metavar="[NEW]", help="What the session is to be called."),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="OLD=NEW", help="Rename an agent of it, and its log."),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="OLD=NEW", help="Rename a file that a plugin keeps."),
    ] = None,
    if_idle: IdleOption = "60s",
    force: BusyForceOption = False,
    json: JsonOption = False,
) -> None:
    """Rename a session, one of its agents, or a file in it.

    The name of a session is that of its folder. That of an agent stands in
    headers, authors and maps too, and changes in all of them or in none.
    """
    from agentmem_cli.cli.rewritten_words import run_rename

    settings = Settings.of(context)
    given = [each for each in (new, agent, file) if each is not None]
    if len(given) != 1:
        msg = "rename takes a new name, --agent OLD=NEW or --file OLD=NEW: one of them"
        raise UsageError(msg)
    pair = None
    if new is None:
        old, sign, name = given[0].partition("=")
        if not sign or not old or not name:
            msg = f"{'--agent' if agent is not None else '--file'}: {given[0]!r} is no OLD=NEW"
            raise UsageError(msg)
        pair = (old, name)
    run_rename(
        settings,
        session,
        new,
        agent=pair if agent is not None else None,
        file=pair if file is not None else None,
        if_idle_ms=idle_ms(if_idle, force=force),
        json=json,
    )
