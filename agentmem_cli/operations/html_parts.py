"""The messages of a conversation as HTML, one element each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from agentmem_cli.operations.html_images import attachment
from agentmem_cli.operations.html_markdown import markdown
from agentmem_cli.operations.html_words import arguments_gist, json_text
from agentmem_cli.operations.transcript import Attachment, Call, Note, Other, Result, Text, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.operations.html_words import Look
    from agentmem_cli.operations.transcript import Part
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.directory import DirStore

_ROLES: Final = ("user", "assistant", "system", "result")
"""Roles with a colour of their own."""


def is_result(turn: Turn) -> bool:
    """Whether a message holds results of tools and nothing else."""
    return bool(turn.parts) and all(isinstance(part, Result) for part in turn.parts)


def message(store: DirStore, look: Look, turn: Turn) -> Iterator[str]:
    """Yield one message; its anchor is ``m`` and its id, as places name it."""
    role = "result" if is_result(turn) else turn.role
    kind = role if role in _ROLES else "other"
    yield f'<article id="m{turn.id}" class="{kind}">\n{_head(look, turn, role)}\n'
    for part in turn.parts:
        yield from _part(store, look, part, turn.role)
    if turn.error is not None:
        yield '<div class="error"><b>error</b>\n'
        yield from look.plain(turn.error)
        yield "</div>\n"
    yield "</article>\n"


def note(look: Look, item: Note) -> Iterator[str]:
    """Yield one side record; its anchor is ``aside`` and its id."""
    aside = item.aside
    value = aside.value
    summary = f"aside {item.id} <b>{look.line(aside.kind)}</b> {_gist(look, value)}"
    yield f'<article id="aside{item.id}" class="aside">\n'
    yield from look.fold("note", summary, _value(look, value))
    yield "</article>\n"


def _head(look: Look, turn: Turn, role: str) -> str:
    told = [
        f'<a href="#m{turn.id}">#{turn.id}</a>',
        f'<span class="role">{look.line(role)}</span>',
    ]
    if turn.author is not None:
        told.append(f'<span class="who">{look.gist(turn.author)}</span>')
    if turn.made_ms is not None:
        told.append(look.moment(turn.made_ms))
    if turn.stop is not None:
        told.append(f'<span class="stop">{look.gist(turn.stop)}</span>')
    return f"<h2>{' '.join(told)}</h2>"


def _part(store: DirStore, look: Look, part: Part, role: str) -> Iterator[str]:
    match part:
        case Text():
            yield from _text(look, part, role)
        case Call():
            yield from _call(look, part)
        case Result():
            yield from _result(store, look, part)
        case Attachment():
            yield from attachment(store, look, part)
        case Other():
            summary = f"<b>{look.line(part.name)}</b> {_gist(look, part.value)}"
            yield from look.fold("part", summary, _value(look, part.value))
        case _:
            assert_never(part)


def _text(look: Look, part: Text, role: str) -> Iterator[str]:
    if part.kind == "reasoning":
        summary = f"<b>thinking</b> {look.gist(part.text)}"
        yield from look.fold("thinking", summary, look.plain(part.text))
    elif role == "assistant":
        yield '<div class="said">\n'
        yield from markdown(look, part.text)
        yield "</div>\n"
    else:
        # Why as it stands: people paste what only looks like a form.
        yield '<div class="said typed">\n'
        yield from look.plain(part.text)
        yield "</div>\n"


def _call(look: Look, part: Call) -> Iterator[str]:
    mark = "" if part.answered else ' <span class="mark">no result</span>'
    gist = look.gist(arguments_gist(part.arguments))
    summary = f"<b>{look.line(part.name)}</b>{mark} <code>{gist}</code>"
    yield from look.fold("call", summary, _value(look, part.arguments))


def _value(look: Look, value: JSON) -> Iterator[str]:
    """Yield a value in full: of an object each member, its texts as they read."""
    if not isinstance(value, dict):
        yield from look.plain(value if isinstance(value, str) else json_text(value))
        return
    yield "<dl>\n"
    for key, item in value.items():
        yield f"<dt>{look.line(key)}</dt><dd>\n"
        yield from look.plain(item if isinstance(item, str) else json_text(item))
        yield "</dd>\n"
    yield "</dl>\n"


def _gist(look: Look, value: JSON) -> str:
    return f"<code>{look.gist(arguments_gist(value))}</code>"


def _result(store: DirStore, look: Look, part: Result) -> Iterator[str]:
    marks = [
        f'<span class="mark">{word}</span> '
        for word, on in (("error", part.is_error), ("no call", not part.asked))
        if on
    ]
    texts = [inner.text for inner in part.parts if isinstance(inner, Text)]
    lines = sum(text.count("\n") + (not text.endswith("\n")) for text in texts if text)
    first = next((text for text in texts if text.strip()), "")
    count = f'<span class="count">{lines:,} {"line" if lines == 1 else "lines"}</span> '
    gist = look.gist(first.lstrip()[:1_000].partition("\n")[0])
    name = look.line(part.name or part.call)
    summary = f"<b>{name}</b> {''.join(marks)}{count if lines > 1 else ''}<code>{gist}</code>"
    yield from look.fold("outcome", summary, _inner(store, look, part))
    # Why outside of the fold: a picture is what somebody wanted to see.
    for inner in part.parts:
        if isinstance(inner, Attachment):
            yield from attachment(store, look, inner)


def _inner(store: DirStore, look: Look, part: Result) -> Iterator[str]:
    for inner in part.parts:
        if isinstance(inner, Text):
            yield from look.plain(inner.text)
        elif not isinstance(inner, Attachment):
            yield from _part(store, look, inner, "tool")
