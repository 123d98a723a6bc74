"""How `show` and `as-of` print conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.cli.clock import screen_time, utc_time
from agentmem_cli.cli.markdown import attachment, print_markdown, short
from agentmem_cli.cli.output import talk, warn
from agentmem_cli.cli.render import count, styled
from agentmem_cli.cli.text import cell, one_line, visible
from agentmem_cli.operations.damage import causes
from agentmem_cli.operations.transcript import (
    Attachment,
    Call,
    Note,
    Part,
    Result,
    Text,
    Turn,
    transcript,
    window,
)
from agentmem_cli.operations.travel import view_agent, view_session
from agentmem_cli.session.keys import SESSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.places import Place
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.storage.directory import DirStore

FORMATS: Final = ("text", "markdown", "json", "html")
"""What `show --format` takes."""

_FOLD_LINES: Final = 4
"""Lines of a tool result that are printed unless all of it was asked for."""

_FOLD_COLUMNS: Final = 160
"""Columns of a folded line where no screen says how wide it is."""

_INDENT: Final = "    "

_TOLD: Final = 3
"""Damaged places of a log that are told one by one."""


class Opened(NamedTuple):
    """A session that was found and opened, an agent of it, and a place in time."""

    id: str
    store: DirStore
    agent: str
    place: Place


def print_conversation(
    settings: Settings,
    opened: Opened,
    format_: str,
    *,
    from_id: int | None,
    to_id: int | None,
    last: int | None,
    full: bool,
    asides: bool,
) -> None:
    """Print an agent's conversation in one of `FORMATS`."""
    fold = view_agent(opened.store, opened.agent, opened.place)
    wanted = window(fold.conversation, from_id=from_id, to_id=to_id, last=last)
    if format_ == "html":
        _print_page(settings, opened, fold, wanted, full=full, asides=asides)
        return
    items = transcript(opened.store, fold.conversation, wanted, asides=asides)
    with settings.output(paged=format_ != "json") as out:
        if format_ == "json":
            out.object("agentmem.show/1", {**head_of(opened, fold), "shown": len(wanted)})
        _print_items(settings, out, items, format_, full=full)
    warn_of(opened.id, opened.agent, fold.damages)
    if format_ != "json" and not fold.conversation.entries:
        talk(_nothing(opened))
    elif format_ == "text" and len(wanted) < len(fold.conversation):
        talk(f"{count(len(wanted))} of {count(len(fold.conversation), 'message')}")


def _nothing(opened: Opened) -> str:
    if opened.agent != SESSION:
        return "No messages."
    session = one_line(opened.id)
    return f"No conversation yet. What was saved: agentmem core show {session}"


def _print_page(
    settings: Settings,
    opened: Opened,
    fold: LogFold,
    wanted: range,
    *,
    full: bool,
    asides: bool,
) -> None:
    from agentmem_cli.cli.page import page_bytes

    pieces = page_bytes(settings, opened, fold, wanted, unfolded=full, asides=asides)
    with settings.output() as out:
        for piece in pieces:
            out.write_bytes(piece)
    warn_of(opened.id, opened.agent, fold.damages)


def print_view(settings: Settings, opened: Opened, *, last: int, full: bool, json: bool) -> None:
    """Print a session at a place in time: counts, values, core memory, the last messages."""
    view = view_session(opened.store, opened.agent, opened.place)
    fold = view.chosen
    conversation = fold.conversation
    wanted = window(conversation, last=last)
    items = transcript(opened.store, conversation, wanted)
    with settings.output(paged=not json) as out:
        if json:
            out.object(
                "agentmem.as-of/1",
                {
                    **head_of(opened, fold),
                    "shown": len(wanted),
                    "asides": len(conversation.asides),
                    "halt": conversation.halt,
                    "agents": [_agent(one) for one in (fold, *view.others) if one.log != SESSION],
                    "saved": {**fold.saved},
                    "session_saved": {**view.saved},
                    "core_memory": {**view.core_memory},
                },
            )
        else:
            _print_counts(settings, out, opened, fold, view.others)
            _print_values(out, {**view.saved, **fold.saved})
        _print_items(settings, out, items, "json" if json else "text", full=full)
    for one in (fold, *view.others):
        warn_of(opened.id, one.log, one.damages)


def warn_of(session: str, log: str, damages: Iterable[Damage]) -> None:
    """Say on standard error what of a session's log could not be used."""
    found = causes(damages)
    where = f"{session}/logs/{log}.jsonl"
    for damage in found[:_TOLD]:
        warn(f"{where}, line {damage.line}, byte {damage.offset}: {damage.why}")
    if len(found) > _TOLD:
        more = count(len(found) - _TOLD, "more damaged place")
        warn(f"{where}: {more}; agentmem verify names them all")


def head_of(opened: Opened, fold: LogFold) -> dict[str, JSON]:
    """Return the fields of ``agentmem.show/1`` but for how many messages are shown."""
    return {
        "session": opened.id,
        "agent": opened.agent,
        "place": opened.place.words,
        "n": fold.last_n + 1,
        "messages": len(fold.conversation),
        "records": fold.records,
        "damaged": [
            {
                "line": damage.line,
                "byte": damage.offset,
                "length": damage.length,
                "kind": damage.kind,
                "why": damage.why,
            }
            for damage in causes(fold.damages)
        ],
    }


def _agent(fold: LogFold) -> dict[str, JSON]:
    header = fold.header
    return {
        "id": fold.log,
        "parent": None if header is None else header.parent,
        "messages": len(fold.conversation),
        "records": fold.records,
        "retired": fold.retired,
    }


def _print_counts(
    settings: Settings, out: Output, opened: Opened, fold: LogFold, others: Iterable[LogFold]
) -> None:
    when = "" if fold.last_t is None else f", {screen_time(fold.last_t, settings.zone).strip()}"
    title = f"{one_line(opened.id)} as of {one_line(opened.place.words)}"
    out.line(styled(title, "bold", settings) + f" (n {fold.last_n + 1}{when})")
    for one in (fold, *others):
        if one.log == SESSION:
            out.line(f"  no agent yet, {count(one.records, 'record')}")
            continue
        told = [
            count(len(one.conversation), "message"),
            count(one.records, "record"),
            count(len(one.conversation.asides), "aside"),
        ]
        if one.retired:
            told.append("retired")
        out.line(f"  agent {one_line(one.log)}: {', '.join(told)}")
    if fold.conversation.halt is not None:
        out.line(f"  halt: {fold.conversation.halt}")


def _print_values(out: Output, saved: dict[str, JSON]) -> None:
    from agentmem_cli.operations.travel import CORE_MEMORY
    from agentmem_cli.session.codec import dumps

    for title, is_core in (("saved values", False), ("core memory", True)):
        chosen = {
            key: value for key, value in saved.items() if key.startswith(CORE_MEMORY) == is_core
        }
        if chosen:
            out.line(f"  {title}:")
        blocks = _blocks(chosen) if is_core else {}
        for key, value in chosen.items():
            told = dumps(value)[:4_000].decode("utf-8", "replace")
            out.line(f"    {blocks.get(key) or f'{one_line(key)} = {cell(told, 200)}'}")
    out.line()


def _blocks(saved: dict[str, JSON]) -> dict[str, str]:
    """Return what a person reads of the blocks of core memory, by key; no block: nothing."""
    from agentmem_cli.cli.core_print import head_of
    from agentmem_cli.session.core_values import CoreValues, key_of

    told = {}
    for kind, stored in CoreValues.of(saved).blocks.items():
        size = count(stored.block.size_bytes, "byte")
        said = cell(stored.content[:4_000], 120)
        told[key_of(kind)] = f"{head_of(stored)}, {size}, by {one_line(stored.by)}: {said}"
    return told


def _print_items(
    settings: Settings,
    out: Output,
    items: Iterator[Turn | Note],
    format_: str,
    *,
    full: bool,
) -> None:
    for item in items:
        print_item(settings, out, item, format_, full=full)


def print_item(
    settings: Settings,
    out: Output,
    item: Turn | Note,
    format_: str,
    *,
    full: bool,
    agent: str | None = None,
) -> None:
    """Print a message or a side record; of several agents with the *agent* that it is of."""
    if format_ == "json":
        out.object(*value_of(item, agent))
    elif format_ == "markdown":
        print_markdown(settings, out, item, agent)
    else:
        _print_text(settings, out, item, full=full, agent=agent)


def value_of(item: Turn | Note, agent: str | None = None) -> tuple[str, dict[str, JSON]]:
    """Return the schema and the fields of a message or a side record."""
    of: dict[str, JSON] = {} if agent is None else {"agent": agent}
    if isinstance(item, Note):
        return "agentmem.aside/1", {**of, "id": item.id, "aside": item.aside.to_value()}
    return (
        "agentmem.message/1",
        {
            **of,
            "id": item.id,
            "index": item.place,
            "role": item.role,
            "author": item.author,
            "made": None if item.made_ms is None else utc_time(item.made_ms),
            "error": item.error,
            "unanswered": [
                part.id for part in item.parts if isinstance(part, Call) and not part.answered
            ],
            "message": item.value,
        },
    )


_ROLE_STYLES: Final = {"user": "green", "assistant": "blue", "system": "magenta"}


def _print_text(
    settings: Settings, out: Output, item: Turn | Note, *, full: bool, agent: str | None
) -> None:
    columns = settings.columns or _FOLD_COLUMNS
    if isinstance(item, Note):
        of = "" if agent is None else f"{cell(agent, 40)} "
        told = f"{of}[aside {item.id} {item.aside.kind}] {short(item.aside.value)}"
        out.line(styled(cell(told, columns), "dim", settings))
        out.line()
        return
    out.line(_title(settings, item, agent))
    for part in item.parts:
        for line in _lines(part, columns - len(_INDENT), full=full):
            out.line(f"{_INDENT}{line}" if line else "")
    if item.error is not None:
        for line in _folded(f"error: {visible(item.error)}", columns - len(_INDENT), full=full):
            out.line(styled(f"{_INDENT}{line}", "red", settings))
    out.line()


def _title(settings: Settings, item: Turn, agent: str | None) -> str:
    results = [part for part in item.parts if isinstance(part, Result)]
    role = "result" if results and len(results) == len(item.parts) else item.role
    words = [f"#{item.id}", styled(one_line(role), _ROLE_STYLES.get(role, "yellow"), settings)]
    if agent is not None:
        words.insert(0, styled(cell(agent, 40), "bold", settings))
    if item.author is not None:
        words.append(f"({cell(item.author, 40)})")
    if item.made_ms is not None:
        words.append(styled(screen_time(item.made_ms, settings.zone).strip(), "dim", settings))
    if item.stop is not None:
        words.append(f"[{cell(item.stop, 20)}]")
    return " ".join(words)


def _lines(part: Part, columns: int, *, full: bool) -> Iterator[str]:
    if isinstance(part, Text):
        text = visible(part.text)
        if part.kind == "reasoning":
            yield from _folded(f"(thinking) {text}", columns, full=full)
        else:
            yield from text.split("\n")
    elif isinstance(part, Call):
        told = f"-> {part.name} {short(part.arguments, whole=full)}"
        yield one_line(told) if full else cell(told, columns)
        if not part.answered:
            yield "   (no result)"
    elif isinstance(part, Result):
        yield from _result_lines(part, columns, full=full)
    elif isinstance(part, Attachment):
        yield one_line(attachment(part))
    else:
        yield cell(f"[{part.name}] {short(part.value)}", columns)


def _result_lines(part: Result, columns: int, *, full: bool) -> Iterator[str]:
    marks = ", ".join(
        word for word, on in (("error", part.is_error), ("no call", not part.asked)) if on
    )
    name = one_line(part.name or part.call)
    yield f"<- {name}{f' ({marks})' if marks else ''}"
    for inner in part.parts:
        if isinstance(inner, Text):
            lines = _folded(visible(inner.text), columns - 3, full=full)
        else:
            lines = _lines(inner, columns - 3, full=full)
        for line in lines:
            yield f"   {line}" if line else ""


def _folded(text: str, columns: int, *, full: bool) -> Iterator[str]:
    lines = text.expandtabs(4).split("\n")
    if full or len(lines) <= _FOLD_LINES + 1:
        yield from lines if full else (cell(line, columns) for line in lines)
        return
    yield from (cell(line, columns) for line in lines[:_FOLD_LINES])
    yield f"... {count(len(lines) - _FOLD_LINES, 'more line')} (--full prints them)"
