"""The commands that take changes back, and the one that edits by hand: splice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli.options import (
    AgentOption,
    DryRunOption,
    JsonOption,
    PlaceArg,
    SessionArg,
)
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from agentmem_cli.operations.restoring import Replaced
    from agentmem_cli.operations.undoing import Taken, Undoing
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.storage.directory import DirStore

StepsOption = Annotated[
    int, typer.Option("--steps", metavar="K", min=1, help="How many changes; 1 if not given.")
]


def undo(
    context: typer.Context,
    session: SessionArg,
    agent: AgentOption = None,
    steps: StepsOption = 1,
    compaction: Annotated[
        bool,
        typer.Option(
            "--compaction", help="The newest compaction; what came after it stays where it is."
        ),
    ] = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Take back the newest change that is not taken back yet.

    Changes are compactions, clearings, splices, restores, appends and edits of
    core memory; ten undos go ten changes back. Blocks of core memory that are
    read-only stay as they are. It writes a new record and removes none. A
    redaction is not undone, and what an undo brings back stays masked.
    """
    from agentmem_cli.cli.opening import open_to_change, open_to_look
    from agentmem_cli.operations.undoing import undo as run

    settings = Settings.of(context)
    found, store = (open_to_look if dry_run else open_to_change)(settings, session)
    log = _log(store, agent, found.id)
    done = run(
        store, log, steps=steps, compaction=compaction, at_ms=settings.now_ms, dry_run=dry_run
    )
    _print_undoing(settings, found.id, log, done, "undo", dry_run=dry_run, json=json)


def _log(store: DirStore, agent: str | None, session: str) -> str:
    """Return the log of an agent; where there is none, say how core memory goes back."""
    from agentmem_cli.errors import NotFoundError
    from agentmem_cli.operations.catalog import choose_agent, is_bare

    try:
        return choose_agent(store, agent)
    except NotFoundError as error:
        if is_bare(store):
            error.hint = f"Its core memory goes back by itself: agentmem core undo {session}"
        raise


def redo(
    context: typer.Context,
    session: SessionArg,
    agent: AgentOption = None,
    steps: StepsOption = 1,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Take the newest undo back, if nothing was changed since."""
    from agentmem_cli.cli.opening import open_to_change, open_to_look
    from agentmem_cli.operations.undoing import redo as run

    settings = Settings.of(context)
    found, store = (open_to_look if dry_run else open_to_change)(settings, session)
    log = _log(store, agent, found.id)
    done = run(store, log, steps=steps, at_ms=settings.now_ms, dry_run=dry_run)
    _print_undoing(settings, found.id, log, done, "redo", dry_run=dry_run, json=json)


def restore(
    context: typer.Context,
    session: SessionArg,
    place: PlaceArg,
    agent: AgentOption = None,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Make the conversation what it was at a place in time.

    It is one change, which undo takes back. Saved values and core memory stay
    as they are.
    """
    from agentmem_cli.cli.look import open_place
    from agentmem_cli.cli.opening import open_to_change
    from agentmem_cli.operations.restoring import restore as run

    settings = Settings.of(context)
    opened = open_place(settings, session, agent, place, change=True)
    store = opened.store if dry_run else open_to_change(settings, session)[1]
    done = run(store, opened.agent, opened.place, at_ms=settings.now_ms, dry_run=dry_run)
    _print_replaced(settings, opened.id, opened.agent, done, "restore", dry_run=dry_run, json=json)


def splice(
    context: typer.Context,
    session: SessionArg,
    range_: Annotated[
        str,
        typer.Argument(
            metavar="A:B",
            help="From message A up to message B, without B; by the numbers that show prints.",
        ),
    ],
    with_: Annotated[
        str | None,
        typer.Option(
            "--with",
            metavar="FILE",
            help="Messages to put there, as JSON lines; - is standard input.",
        ),
    ] = None,
    agent: AgentOption = None,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Also where calls and results would not pair.")
    ] = False,
    dry_run: DryRunOption = False,
    json: JsonOption = False,
) -> None:
    """Replace messages, or take them out.

    A and B may be left out: from the beginning, to the end. A:A puts messages
    in before A. It is refused where a call would lose its result, or a result
    its call.
    """
    from agentmem_cli.cli.opening import open_to_change, open_to_look
    from agentmem_cli.operations.catalog import choose_agent
    from agentmem_cli.operations.restoring import splice as run

    settings = Settings.of(context)
    bounds = _bounds(range_)
    messages = []
    if with_ is not None:
        from agentmem_cli.cli.given_files import read_given
        from agentmem_cli.operations.given import messages_of_lines

        messages = messages_of_lines(*read_given(with_, "--with"))
    found, store = (open_to_look if dry_run else open_to_change)(settings, session)
    log = choose_agent(store, agent)
    done = run(store, log, bounds, messages, at_ms=settings.now_ms, force=force, dry_run=dry_run)
    _print_replaced(settings, found.id, log, done, "splice", dry_run=dry_run, json=json)


def _bounds(words: str) -> tuple[int | None, int | None]:
    first, colon, second = words.partition(":")
    if not colon:
        msg = f"{words!r} is no range"
        raise UsageError(msg, hint="A range is A:B, by the numbers that agentmem show prints.")
    return _number(first, words), _number(second, words)


def _number(word: str, words: str) -> int | None:
    word = word.strip().removeprefix("#").removeprefix("m")
    if not word:
        return None
    if not word.isascii() or not word.isdigit():
        msg = f"{words!r} is no range: {word!r} is no number of a message"
        raise UsageError(msg, hint="agentmem show numbers the messages.")
    return int(word)


def _print_undoing(
    settings: Settings,
    session: str,
    log: str,
    done: Undoing,
    what: str,
    *,
    dry_run: bool,
    json: bool,
) -> None:
    from agentmem_cli.cli.changed import tell_written, written_fields
    from agentmem_cli.cli.render import count
    from agentmem_cli.cli.text import one_line

    tell_written(session, done.written)
    if done.passed:
        from agentmem_cli.cli.core_print import tell_passed

        tell_passed([edit for _, edit in done.passed])
    with settings.output() as out:
        if json:
            taken: list[JSON] = [_taken(each) for each in done.taken]
            fields: Object = {
                "session": session,
                "agent": log,
                "dry_run": dry_run,
                "changes": taken,
                "messages": done.messages,
            }
            out.object(f"agentmem.{what}/1", {**fields, **written_fields(done.written)})
            return
        verb = {"undo": "taken back", "redo": "made again"}[what]
        would = "would be " if dry_run else ""
        for each in done.taken:
            told = "; ".join(_told(each)) or "nothing of it is left to change"
            head = f"{each.kind} at n {each.n}, log {one_line(each.log)}"
            out.line(f"{one_line(session)}: {head}, {would}{verb}: {told}")
        out.line(
            f"  {count(done.messages, 'message')} {_stand(done.messages, dry_run=dry_run)} now"
        )


def _stand(messages: int, *, dry_run: bool) -> str:
    return "would stand" if dry_run else "stands" if messages == 1 else "stand"


def _taken(each: Taken) -> Object:
    return {
        "log": each.log,
        "n": each.n,
        "kind": each.kind,
        "gone": list(each.gone),
        "back": list(each.back),
        "changed": list(each.changed),
        "keys": list(each.keys),
    }


def _told(each: Taken) -> list[str]:
    from agentmem_cli.cli.render import count
    from agentmem_cli.cli.text import one_line

    if each.keys:
        return [", ".join(one_line(key) for key in each.keys)]
    parts = ((each.back, "back"), (each.gone, "gone"), (each.changed, "with another content"))
    return [f"{count(len(ids), 'message')} {word} ({_ids(ids)})" for ids, word in parts if ids]


def _ids(ids: tuple[int, ...]) -> str:
    """Return ids in their order, more than three side by side as a range."""
    runs: list[list[int]] = []
    for id_ in sorted(ids):
        if runs and runs[-1][-1] == id_ - 1:
            runs[-1].append(id_)
        else:
            runs.append([id_])
    told: list[str] = []
    for run in runs:
        if len(run) > 3:  # noqa: PLR2004 - a few are told one by one
            told.append(f"#{run[0]} to #{run[-1]}")
        else:
            told += [f"#{id_}" for id_ in run]
    if len(told) <= _RUNS_TOLD:
        return ", ".join(told)
    return ", ".join([*told[:_RUNS_TOLD], f"and others up to #{max(ids)}"])


_RUNS_TOLD: Final = 6
"""Ids, and runs of them, that are told one by one."""


def _print_replaced(
    settings: Settings,
    session: str,
    log: str,
    done: Replaced,
    what: str,
    *,
    dry_run: bool,
    json: bool,
) -> None:
    from agentmem_cli.cli.changed import tell_written, written_fields
    from agentmem_cli.cli.render import count
    from agentmem_cli.cli.text import one_line

    tell_written(session, done.written)
    with settings.output() as out:
        if json:
            fields: Object = {
                "session": session,
                "agent": log,
                "dry_run": dry_run,
                "gone": list(done.gone),
                "put": list(done.put),
                "changed": list(done.changed),
                "messages": done.messages,
            }
            out.object(f"agentmem.{what}/1", {**fields, **written_fields(done.written)})
            return
        name = f"{one_line(session)}, agent {one_line(log)}"
        if done.is_nothing:
            out.line(f"{name}: nothing to change")
            return
        told = [
            f"{count(len(ids), 'message')} {word} ({_ids(ids)})"
            for ids, word in ((done.gone, "gone"), (done.put, "put"), (done.changed, "changed"))
            if ids
        ]
        would = "would be " if dry_run else ""
        out.line(f"{name}: {would}{', '.join(told)}")
        out.line(
            f"  {count(done.messages, 'message')} {_stand(done.messages, dry_run=dry_run)} now"
        )
