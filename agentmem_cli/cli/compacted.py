"""How `compact` and `clear` tell what they did, or would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.cli.changed import tell_written, written_fields
from agentmem_cli.cli.output import talk
from agentmem_cli.cli.render import count
from agentmem_cli.cli.text import one_line, visible

if TYPE_CHECKING:
    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.clearing import Clearing
    from agentmem_cli.operations.compacting import Compaction, Plan
    from agentmem_cli.operations.nearing import Nearing
    from agentmem_cli.operations.weighing import Weighed
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.summaries import SummaryState


def print_plan(
    settings: Settings, session: str, log: str, weighed: Weighed, plan: Plan | None
) -> None:
    """Print what a model would be asked, as one JSON object."""
    head: Object = {"session": session, "agent": log, "tokens_before": weighed.tokens}
    with settings.output() as out:
        if plan is None:
            out.object("agentmem.compact-plan/1", {**head, "keep_from": None, "request": None})
            talk("There is nothing to compact.")
            return
        request = plan.request()
        asked: Object = {
            "system": request.system,
            "message": request.message.value,
            "max_tokens": request.max_tokens,
        }
        out.object(
            "agentmem.compact-plan/1",
            {
                **head,
                "keep_from": plan.keep_from,
                "replaces": [entry.id for entry in plan.read],
                "tokens_gone": plan.tokens_gone,
                "previous": plan.state.summary or None,
                "tracked": _tracked(plan.state),
                "request": asked,
            },
        )


def print_compaction(
    settings: Settings,
    session: str,
    log: str,
    nearing: Nearing,
    window: int | None,
    *,
    dry_run: bool,
    json: bool,
) -> None:
    """Print what a compaction came to, and what was cleared before it."""
    done, clearing = nearing
    cleared = 0 if clearing is None else clearing.cleared.results
    tell_written(session, done.written)
    _tell_fit(done, window)
    with settings.output() as out:
        if json:
            fields: Object = {
                "session": session,
                "agent": log,
                "dry_run": dry_run,
                "compacted": done.why_not is None,
                "why_not": done.why_not,
                "cleared": cleared,
                "tokens_before": done.tokens_before,
                "tokens_after": done.tokens_after,
                "replaced": list(done.replaced),
                "kept": done.kept,
                "summary_id": done.summary,
                "summary": done.state.summary if done.summary is not None else None,
                "tracked": _tracked(done.state),
            }
            out.object("agentmem.compact/1", {**fields, **written_fields(done.written)})
            return
        name = f"{one_line(session)}, agent {one_line(log)}"
        if clearing is not None:
            would = "would be cleared first" if dry_run else "cleared first"
            gain = count(clearing.cleared.tokens)
            out.line(f"{name}: {count(cleared, 'output')} of {gain} tokens {would}")
        if done.why_not is not None:
            out.line(f"{name}: not compacted, {done.why_not} ({count(done.tokens_before)} tokens)")
            return
        would = "would go" if dry_run else "went"
        after = "?" if done.tokens_after is None else count(done.tokens_after)
        out.line(f"{name}: {count(done.tokens_before)} tokens before, {after} after")
        gone = count(len(done.replaced), "message")
        out.line(f"  {gone} {would}, {count(done.kept)} kept as they are")
        _print_tracked(out, done.state)
        if dry_run and done.summary is not None:
            out.line()
            out.line(visible(done.state.summary))
    if not dry_run and done.why_not is None:
        talk("agentmem undo brings the messages back.")


def _tell_fit(done: Compaction, window: int | None) -> None:
    if window is not None and done.tokens_after is not None and done.tokens_after > window:
        after = count(done.tokens_after)
        talk(f"{after} tokens do not fit a window of {count(window)}: what is kept is that long.")


def print_clearing(
    settings: Settings, session: str, log: str, done: Clearing, *, dry_run: bool, json: bool
) -> None:
    """Print what a clearing came to."""
    tell_written(session, done.written)
    with settings.output() as out:
        if json:
            fields: Object = {
                "session": session,
                "agent": log,
                "dry_run": dry_run,
                "results": done.cleared.results,
                "tokens_cleared": done.cleared.tokens,
                "tokens_before": done.tokens_before,
                "tokens_after": done.tokens_after,
                "messages": list(done.ids),
            }
            out.object("agentmem.clear/1", {**fields, **written_fields(done.written)})
            return
        name = f"{one_line(session)}, agent {one_line(log)}"
        if not done.cleared.results:
            out.line(f"{name}: nothing to clear ({count(done.tokens_before)} tokens)")
            return
        would = "would be cleared" if dry_run else "cleared"
        before, after = count(done.tokens_before), count(done.tokens_after)
        out.line(f"{name}: {before} tokens before, {after} after")
        told = count(done.cleared.results, "output")
        out.line(f"  {told} of {count(done.cleared.tokens)} tokens {would}")
    if not dry_run and done.cleared.results:
        talk("agentmem undo brings the outputs back.")


def _print_tracked(out: Output, state: SummaryState) -> None:
    for name, values in state.tracked:
        if values:
            out.line(f"  {one_line(name)}: {count(len(values))} kept track of")


def _tracked(state: SummaryState) -> list[JSON]:
    return [{"name": name, "values": list(values)} for name, values in state.tracked]
