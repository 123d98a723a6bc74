"""How messages look in Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentmem_cli.cli.clock import screen_time
from agentmem_cli.cli.render import size
from agentmem_cli.cli.text import cell, one_line, visible
from agentmem_cli.operations.transcript import (
    Attachment,
    Call,
    Note,
    Other,
    Part,
    Result,
    Text,
    Turn,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.session.codec import JSON


def print_markdown(settings: Settings, out: Output, item: Turn | Note) -> None:
    """Print a message or a side record as Markdown."""
    if isinstance(item, Note):
        value = cell(short(item.aside.value), 200)
        out.line(f"> aside {item.id} {_code(item.aside.kind)}: {value}")
        out.line()
        return
    when = "" if item.made_ms is None else f" - {screen_time(item.made_ms, settings.zone).strip()}"
    who = f" ({one_line(item.author)})" if item.author is not None else ""
    out.line(f"## {item.id} {one_line(item.role)}{who}{when}")
    out.line()
    for part in item.parts:
        for line in _markdown(part):
            out.line(line)
        out.line()
    if item.error is not None:
        out.line("**Error**")
        out.line()
        for line in _fenced(visible(item.error), ""):
            out.line(line)
        out.line()


def _markdown(part: Part) -> Iterator[str]:
    if isinstance(part, Text):
        lines = visible(part.text).split("\n")
        if part.kind == "reasoning":
            yield from (f"> {line}" for line in lines)
        else:
            yield from lines
            yield from _left_open(lines)
    elif isinstance(part, Call):
        mark = "" if part.answered else " (no result)"
        yield f"**Call** {_code(part.name)}{mark}"
        yield ""
        yield from _fenced(visible(short(part.arguments, whole=True)), "json")
    elif isinstance(part, Result):
        mark = " (error)" if part.is_error else ""
        yield f"**Result** {_code(part.name or part.call)}{mark}"
        for inner in part.parts:
            yield ""
            if isinstance(inner, Text):
                yield from _fenced(visible(inner.text), "")
            else:
                yield from _markdown(inner)
    elif isinstance(part, Attachment):
        yield one_line(attachment(part))
    else:
        assert isinstance(part, Other)
        yield f"**{one_line(part.name)}**"
        yield ""
        yield from _fenced(visible(short(part.value, whole=True)), "json")


def _fenced(text: str, language: str) -> Iterator[str]:
    """Yield *text* between fences that are longer than any run of backticks in it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield from text.split("\n")
    yield fence


def _code(text: str) -> str:
    """Return *text* as a code span, whatever backticks it has."""
    shown = one_line(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    if not longest:
        return f"`{shown}`"
    marks = "`" * (longest + 1)
    return f"{marks} {shown} {marks}"


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def _left_open(lines: list[str]) -> Iterator[str]:
    """Yield the fence that *lines* leave open, so that it does not swallow what follows."""
    fence: str | None = None
    for line in lines:
        found = _FENCE.match(line)
        if found is None:
            continue
        marks, rest = found[1], found[2]
        if fence is None:
            if marks[0] == "~" or "`" not in rest:
                fence = marks
        elif marks.startswith(fence) and not rest.strip():
            fence = None
    if fence is not None:
        yield fence


def attachment(part: Attachment) -> str:
    """Say what an attachment is, and how large."""
    if part.missing:
        return f"[{part.media}, missing]"
    return f"[{part.media}]" if part.size is None else f"[{part.media}, {size(part.size)}]"


def short(value: JSON, *, whole: bool = False) -> str:
    """Write a value as JSON; unless *whole* its first 4,000 bytes."""
    from agentmem_cli.session.codec import dumps

    data = dumps(value)
    return (data if whole else data[:4_000]).decode("utf-8", "replace")
