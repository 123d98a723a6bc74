"""The command `diff`: what changed between two places of a session."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Final

import typer

from agentmem_cli.cli.options import AgentOption, JsonOption, SessionArg
from agentmem_cli.cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.cli.output import Output
    from agentmem_cli.operations.differing import Differences, MessageChange, Side, ValueChange
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.entry import Entry

_PLACE_HELP: Final = "N, mN, ~N, a time, before-compaction, start or now."
_SIGNS: Final = {"added": "+", "gone": "-", "edited": "~", "moved": ">"}
_STYLES: Final = {"added": "green", "gone": "red", "edited": "yellow", "moved": "cyan"}
_ENDS: Final = 2
"""Messages that are told one by one at each end of many that went or came together."""
_EDIT_LINES: Final = 12
"""Lines of an edited message that are shown unless all are asked for."""
_VALUE_COLUMNS: Final = 60


def diff(
    context: typer.Context,
    session: SessionArg,
    first: Annotated[
        str, typer.Argument(metavar="A", help=f"The one place in time: {_PLACE_HELP}")
    ],
    second: Annotated[
        str, typer.Argument(metavar="B", help=f"The other one: {_PLACE_HELP}")
    ] = "now",
    agent: AgentOption = None,
    full: Annotated[
        bool, typer.Option("--full", help="Name every message that went or came, and every line.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Show what changed between two places in time.

    Messages that were added, edited or taken out, saved values, and core
    memory. The exit status is 0 where nothing differs, else 1.
    """
    from agentmem_cli.cli.addressed import aim
    from agentmem_cli.cli.look import open_place
    from agentmem_cli.cli.shown import warn_of
    from agentmem_cli.operations.differing import compare

    settings = Settings.of(context)
    session, agent, words = aim(settings, session, agent, {"A": first, "B": second})
    opened = open_place(settings, session, agent, words["A"] or "")
    other = open_place(settings, session, agent, words["B"] or "")
    found = compare(opened.store, opened.agent, opened.place, other.place)
    with settings.output(paged=not json) as out:
        if json:
            _print_json(out, opened.id, opened.agent, found)
        else:
            _print_text(settings, out, opened.id, found, full=full)
    for log, damages in found.damages.items():
        warn_of(opened.id, log, damages)
    return 0 if found.is_nothing else 1


def _print_json(out: Output, session: str, log: str, found: Differences) -> None:
    out.object(
        "agentmem.diff/1",
        {
            "session": session,
            "agent": log,
            "first": _side(found.first),
            "second": _side(found.second),
            "same": found.is_nothing,
            **{word: found.count(word) for word in _SIGNS},
        },
    )
    for change in found.messages:
        out.object(
            "agentmem.diff-message/1",
            {
                "change": change.change,
                "id": change.entry.id,
                "before": _message(change.before),
                "after": _message(change.after),
            },
        )
    for value in found.values:
        out.object("agentmem.diff-value/1", {**value._asdict()})
    for log_name, difference in found.core:
        out.object("agentmem.diff-core/1", {"log": log_name, **difference.to_object()})


def _side(side: Side) -> Object:
    return {
        "place": side.place.words,
        "n": side.n,
        "messages": side.messages,
        "tokens": side.tokens,
        "halt": side.halt,
    }


def _message(entry: Entry | None) -> JSON:
    return None if entry is None else entry.stored.value


def _print_text(
    settings: Settings, out: Output, session: str, found: Differences, *, full: bool
) -> None:
    from agentmem_cli.cli.render import count, styled
    from agentmem_cli.cli.text import one_line, visible

    one, other = found.first, found.second
    places = f"{one.place.words} (n {one.n}) -> {other.place.words} (n {other.n})"
    out.line(styled(f"{one_line(session)}: {one_line(places)}", "bold", settings))
    if found.is_nothing:
        out.line("  no difference")
        return
    counts = [f"{count(found.count(word))} {word}" for word in _SIGNS if found.count(word)]
    out.line(
        f"  messages {count(one.messages)} -> {count(other.messages)}, "
        f"tokens {count(one.tokens)} -> {count(other.tokens)}"
        + (f": {', '.join(counts)}" if counts else "")
    )
    if one.halt != other.halt:
        out.line(f"  halt {one.halt or 'none'} -> {other.halt or 'none'}")
    for word, group in groupby(found.messages, key=lambda each: each.change):
        for line in _told(list(group), full=full):
            out.line(styled(line, _STYLES[word], settings))
    for value in found.values:
        out.line(_value(value))
    for log_name, difference in found.core:
        out.line(f"core memory, log {one_line(log_name)}:")
        for line in difference.lines(one.place.words, other.place.words):
            out.line(f"  {visible(line)}")


def _told(changes: Sequence[MessageChange], *, full: bool) -> Iterator[str]:
    """Yield the lines of changes of one kind that stand side by side."""
    from agentmem_cli.cli.render import count
    from agentmem_cli.session.counting import estimate_tokens

    sign = _SIGNS[changes[0].change]
    few = full or len(changes) <= 2 * _ENDS + 1
    named = changes if few else [*changes[:_ENDS], *changes[-_ENDS:]]
    for at, change in enumerate(named):
        if not few and at == _ENDS:
            rest = changes[_ENDS:-_ENDS]
            tokens = estimate_tokens(each.entry.stored for each in rest)
            yield f"{sign} ... {count(len(rest), 'message')}, {count(tokens)} tokens"
        yield f"{sign} {_headline(change.entry)}"
        if change.change == "edited":
            lines = list(_edit(change))
            shown = lines if full else _some(lines)
            yield from shown
            if len(shown) < len(lines):
                yield f"    ... {count(len(lines) - len(shown), 'line')} more; --full has them"


def _some(lines: Sequence[str]) -> list[str]:
    """Return the first few of the lines that went, and of those that came."""
    left = {"-": _EDIT_LINES // 2, "+": _EDIT_LINES // 2}
    shown = []
    for line in lines:
        sign = line.strip()[:1]
        if left.get(sign, 1):
            shown.append(line)
            left[sign] = left.get(sign, 2) - 1
    return shown


def _headline(entry: Entry) -> str:
    from agentmem_cli.cli.text import cell
    from agentmem_cli.session.meta import excerpt

    return f"#{entry.id} {cell(excerpt(entry), 140)}"


def _edit(change: MessageChange) -> Iterator[str]:
    """Yield how a message's text changed, as a unified diff."""
    from difflib import unified_diff

    from agentmem_cli.cli.text import cell

    assert change.before is not None
    assert change.after is not None
    old, new = (list(_lines(entry)) for entry in (change.before, change.after))
    for line in list(unified_diff(old, new, lineterm="", n=1))[2:]:
        yield f"    {cell(line, 160)}"


def _lines(entry: Entry) -> Iterator[str]:
    """Yield what a message says, a line each; what is no text as JSON."""
    from agentmem_cli.session.codec import dumps
    from agentmem_cli.session.message import parts_of

    for part in entry.stored.parts:
        texts = [part] if part.get("type") == "text" else parts_of(part)
        for inner in texts or [part]:
            text = inner.get("text")
            if isinstance(text, str):
                yield from text.splitlines() or [""]
            else:
                yield dumps(inner).decode()


def _value(value: ValueChange) -> str:
    from agentmem_cli.cli.text import cell, one_line
    from agentmem_cli.session.codec import dumps

    sides = [
        "(none)" if side is None else cell(dumps(side).decode(), _VALUE_COLUMNS)
        for side in (value.before, value.after)
    ]
    return f"value {one_line(value.key)}, log {one_line(value.log)}: {sides[0]} -> {sides[1]}"
