"""The commands that make a conversation smaller: compact, clear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentmem_cli.cli.options import AgentOption, DryRunOption, JsonOption, SessionArg
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from agentmem_cli.operations.compacting import Wish
    from agentmem_cli.operations.summarizing import Source
    from agentmem_cli.session.policy import CompactionPolicy

PolicyOption = Annotated[
    str | None,
    typer.Option("--policy", metavar="FILE", help="A policy as JSON; - is standard input."),
]
SummarizerOption = Annotated[
    str | None,
    typer.Option(
        "--summarizer",
        metavar="COMMAND",
        help=(
            "A command that reads the request and prints the summary, like: ollama run MODEL. "
            "No shell is started."
        ),
    ),
]
SummaryFileOption = Annotated[
    str | None,
    typer.Option("--summary-file", metavar="FILE", help="The summary itself; - is standard input."),
]
TimeLimitOption = Annotated[
    float | None,
    typer.Option(
        "--time-limit",
        metavar="SECONDS",
        min=0.1,
        help="How long the command may take; 600 if not given.",
    ),
]


def compact(
    context: typer.Context,
    session: SessionArg,
    agent: AgentOption = None,
    summarizer: SummarizerOption = None,
    summary_file: SummaryFileOption = None,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            metavar="TOKENS",
            min=0,
            help="Keep this much of the newest talk; the newest message alone where all is less.",
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option("--window", metavar="TOKENS", min=1, help="How much the model can take."),
    ] = None,
    if_over: Annotated[
        bool,
        typer.Option(
            "--if-over",
            help="Only where less of the window is free than the reserve of the policy.",
        ),
    ] = False,
    focus: Annotated[
        str, typer.Option("--focus", metavar="TEXT", help="What to keep above all.")
    ] = "",
    policy: PolicyOption = None,
    time_limit: TimeLimitOption = None,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Print what a model would be asked, as JSON; change nothing."),
    ] = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Put a summary in the place of older messages.

    Without --summarizer and --summary-file the embedded summarizer writes it:
    by rules, without a model or a network. The newest request of the user
    stays word for word, and no call is parted from its result. The log keeps
    everything: undo brings it back.
    """
    from agentmem_cli.cli.compacted import print_compaction, print_plan
    from agentmem_cli.cli.opening import open_to_change, open_to_look
    from agentmem_cli.operations.catalog import choose_agent
    from agentmem_cli.operations.compacting import compact as run
    from agentmem_cli.operations.compacting import read_plan
    from agentmem_cli.operations.nearing import Nearing, compact_if_over

    settings = Settings.of(context)
    _refuse_idle(policy, summary_file, window, focus, if_over=if_over)
    wish = _wish(policy, keep, window, focus, if_over=if_over)
    source = _source(settings, summarizer, summary_file, time_limit)
    opening = open_to_look if plan or dry_run else open_to_change
    found, store = opening(settings, session)
    log = choose_agent(store, agent)
    if plan:
        print_plan(settings, found.id, log, *read_plan(store, log, wish))
        return
    at_ms = settings.now_ms
    if if_over:
        done = compact_if_over(store, log, wish, source, at_ms=at_ms, dry_run=dry_run)
    else:
        done = Nearing(run(store, log, wish, source, at_ms=at_ms, dry_run=dry_run))
    print_compaction(settings, found.id, log, done, wish.window, dry_run=dry_run, json=json)


def clear(
    context: typer.Context,
    session: SessionArg,
    agent: AgentOption = None,
    keep: Annotated[
        int | None,
        typer.Option(
            "--keep",
            metavar="TOKENS",
            min=0,
            help="Keep the newest outputs up to this; 40000 if not given.",
        ),
    ] = None,
    keep_under: Annotated[
        int | None,
        typer.Option(
            "--keep-under",
            metavar="TOKENS",
            min=0,
            help="Keep outputs shorter than this; 200 if not given.",
        ),
    ] = None,
    policy: PolicyOption = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Replace old outputs of tools by a short note.

    Calls, errors and short outputs stay, and so does the last message. The
    log keeps the outputs: undo brings them back.
    """
    from dataclasses import replace

    from agentmem_cli.cli.compacted import print_clearing
    from agentmem_cli.cli.opening import open_to_change, open_to_look
    from agentmem_cli.operations.catalog import choose_agent
    from agentmem_cli.operations.clearing import clear as run
    from agentmem_cli.session.clearing import ClearToolOutputs

    settings = Settings.of(context)
    rule = ClearToolOutputs() if policy is None else _policy(policy)[0].clearing
    if keep is not None:
        rule = replace(rule, keep_tokens=keep)
    if keep_under is not None:
        rule = replace(rule, keep_under=keep_under)
    found, store = (open_to_look if dry_run else open_to_change)(settings, session)
    log = choose_agent(store, agent)
    done = run(store, log, rule, at_ms=settings.now_ms, dry_run=dry_run)
    print_clearing(settings, found.id, log, done, dry_run=dry_run, json=json)


def _refuse_idle(
    policy: str | None, summary_file: str | None, window: int | None, focus: str, *, if_over: bool
) -> None:
    """Refuse options that do nothing beside each other."""
    if "-" == policy == summary_file:
        msg = "--policy and --summary-file cannot both be standard input"
        raise UsageError(msg)
    if if_over and window is None:
        msg = "--if-over needs --window"
        raise UsageError(msg, hint="How many tokens the model takes, like: --window 200000")
    if focus.strip() and summary_file is not None:
        msg = "--focus is of no use with --summary-file: the summary is written already"
        raise UsageError(msg)


def _wish(
    file: str | None, keep: int | None, window: int | None, focus: str, *, if_over: bool
) -> Wish:
    from dataclasses import replace

    from agentmem_cli.cli.output import talk
    from agentmem_cli.operations.compacting import DEFAULT_POLICY, TRACKED, Wish

    if file is None:
        return Wish(DEFAULT_POLICY, keep, window, focus)
    policy, named = _policy(file)
    if "tracked" not in named:
        # Why: who says how much is kept does not ask to lose the files.
        policy = replace(policy, tracked=TRACKED)
    idle = [name for name in ("keep_recent", "near_window") if name in named and not if_over]
    if idle:
        talk(f"Of the policy {' and '.join(idle)} count with --if-over only.")
    return Wish(policy, keep, window, focus)


def _policy(file: str) -> tuple[CompactionPolicy, frozenset[str]]:
    """Read a policy, and which fields it names."""
    from agentmem_cli.cli.given_files import read_given
    from agentmem_cli.session.codec import loads
    from agentmem_cli.session.policy import CompactionPolicy

    data, where = read_given(file, "--policy")
    try:
        value = loads(data)
    except ValueError as error:
        msg = f"{where}: not JSON ({error})"
        raise UsageError(msg) from None
    try:
        return CompactionPolicy.from_json(value), frozenset(value)  # type: ignore[arg-type]
    except UsageError as error:
        msg = f"{where}: {error}"
        raise UsageError(msg, hint=error.hint) from None


def _source(
    settings: Settings, summarizer: str | None, summary_file: str | None, time_limit: float | None
) -> Source:
    from agentmem_cli.operations.summarizing import TIME_LIMIT_S, Embedded, GivenText, command_of

    if summarizer is not None and summary_file is not None:
        msg = "--summarizer and --summary-file cannot be given together"
        raise UsageError(msg)
    if summarizer is not None:
        limit_s = TIME_LIMIT_S if time_limit is None else time_limit
        return command_of(summarizer, settings.environ, limit_s)
    if time_limit is not None:
        msg = "--time-limit is of use with --summarizer only"
        raise UsageError(msg)
    if summary_file is None:
        return Embedded()
    from agentmem_cli.cli.given_files import read_given

    data, where = read_given(summary_file, "--summary-file")
    try:
        return GivenText(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        msg = f"{where}: byte {error.start} is not UTF-8"
        raise UsageError(msg) from None
