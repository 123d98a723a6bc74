"""How messages look in Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.cli.clock import screen_time
from agentmem_cli.cli.render import count, size
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
from agentmem_cli.session.keys import TITLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.fold import LogFold


def print_markdown(
    settings: Settings, out: Output, item: Turn | Note, agent: str | None = None
) -> None:
    """Print a message or a side record as Markdown; of several agents with the *agent*."""
    for line in markdown_lines(settings, item, agent):
        out.line(line)


def markdown_head(settings: Settings, session: str, place: str, fold: LogFold) -> Iterator[str]:
    """Yield the lines that a page about a conversation begins with: its title, and what it is."""
    title = fold.saved.get(TITLE)
    entries = fold.conversation.entries
    yield f"# {_plain(cell(title if isinstance(title, str) else session, 200))}"
    yield ""
    told = [f"session {_code(session)}", f"agent {_code(fold.log)}", count(len(entries), "message")]
    if place != "now":
        told.append(f"as of {_code(place)}")
    made = [each.made for each in (entries[0], entries[-1])] if entries else []
    times = [screen_time(each, settings.zone).strip() for each in made if each is not None]
    yield ", ".join([*told, " to ".join(dict.fromkeys(times))] if times else told)
    yield ""


def markdown_lines(
    settings: Settings, item: Turn | Note, agent: str | None = None
) -> Iterator[str]:
    """Yield the lines that a message or a side record is in Markdown, safe for a screen."""
    of = "" if agent is None else f"{_plain(agent)} "
    if isinstance(item, Note):
        value = _plain(cell(short(item.aside.value), 200))
        yield f"> {of}aside {item.id} {_code(item.aside.kind)}: {value}"
        yield ""
        return
    when = "" if item.made_ms is None else f" - {screen_time(item.made_ms, settings.zone).strip()}"
    who = f" ({_plain(item.author)})" if item.author is not None else ""
    yield f"## {of}{item.id} {_plain(item.role)}{who}{when}"
    yield ""
    for part in item.parts:
        yield from _markdown(part)
        yield ""
    if item.error is not None:
        yield "**Error**"
        yield ""
        yield from _fenced(visible(item.error), "")
        yield ""


_OPEN_LINES: Final = 12
"""Lines of a tool result that stand open; a longer one is folded."""


def _markdown(part: Part) -> Iterator[str]:
    if isinstance(part, Text):
        lines = _prose(visible(part.text).split("\n"))
        if part.kind == "reasoning":
            yield from (f"> {line}" for line in lines)
        else:
            yield from lines
    elif isinstance(part, Call):
        mark = "" if part.answered else " (no result)"
        yield f"**Call** {_code(part.name)}{mark}"
        yield ""
        yield from _fenced(visible(short(part.arguments, whole=True)), "json")
    elif isinstance(part, Result):
        yield from _result(part)
    elif isinstance(part, Attachment):
        yield _plain(attachment(part))
    else:
        assert isinstance(part, Other)
        yield f"**{_plain(part.name)}**"
        yield ""
        yield from _fenced(visible(short(part.value, whole=True)), "json")


def _result(part: Result) -> Iterator[str]:
    mark = " (error)" if part.is_error else ""
    name = part.name or part.call
    lines = sum(inner.text.count("\n") + 1 for inner in part.parts if isinstance(inner, Text))
    folded = lines > _OPEN_LINES
    if folded:
        told = f"<b>Result</b> <code>{_html(one_line(name))}</code>{mark}, {count(lines, 'line')}"
        yield f"<details><summary>{told}</summary>"
    else:
        yield f"**Result** {_code(name)}{mark}"
    for inner in part.parts:
        yield ""
        if isinstance(inner, Text):
            yield from _fenced(visible(inner.text), "")
        else:
            yield from _markdown(inner)
    if folded:
        yield ""
        yield "</details>"


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


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


def _plain(text: str) -> str:
    """Return *text*, on one line, as Markdown that means nothing but these signs."""
    return re.sub(r"[\\`*<\[\]~|]|(?<!\w)_|_(?!\w)", r"\\\g<0>", one_line(text))


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r"( {0,3})(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r"( {0,3})(=+|-+)[ \t]*")
_TAG = re.compile(r"(?<!\\)(\\*)<(?=[A-Za-z/!?])")
_TICKS = re.compile(r"(?<!\\)(\\*)(`+)")

_MARKS: Final = frozenset("`~#=-")
"""What a line begins with that may be more than text."""

_BELOW: Final = 2
"""Levels that headings in a text go down, so that none looks like the beginning of a message."""


def _prose(lines: list[str]) -> Iterator[str]:
    """Yield *lines*, a message's own Markdown, so that they cannot reach beyond it.

    Headings stand below those of messages, tags are text, and a fence that is
    left open is closed. In code nothing changes.
    """
    fence: str | None = None
    above = ""
    loose = False
    for line in lines:
        first = line.lstrip(" ")[:1]
        # Why first: most lines are plain, and every expression would be asked in vain.
        if fence is None and first not in _MARKS and "`" not in line and "<" not in line:
            loose = loose and first != ""
            above = line
            yield line
            continue
        found = _FENCE.match(line) if first in _MARKS else None
        marks, rest = (found[1], found[2]) if found is not None else ("", "")
        if fence is not None:
            if marks.startswith(fence) and not rest.strip():
                fence = None
            yield line
        elif marks and (marks[0] == "~" or "`" not in rest):
            fence = marks
            yield line
        else:
            spans = _spans(line)
            # Why to the end of the paragraph: what is open in one line can close in a later one.
            loose = bool(line.strip()) and (loose or spans is None)
            yield _line(line, above, [] if loose or spans is None else spans)
        above = "" if fence is not None or marks else line
    if fence is not None:
        yield fence


def _spans(line: str) -> list[tuple[int, int]] | None:
    """Return where the code spans of a line are; None: one of them may go on in the next line."""
    if "`" not in line:
        return []
    runs = [(found.start(2), len(found[2]), bool(found[1])) for found in _TICKS.finditer(line)]
    closing: dict[int, int] = {}
    ends: list[int | None] = []
    for index in range(len(runs) - 1, -1, -1):
        ends.append(closing.get(runs[index][1]))
        closing[runs[index][1]] = index
    ends.reverse()
    spans = []
    index = 0
    while index < len(runs):
        start, _, escaped = runs[index]
        end = ends[index]
        if end is None or escaped:
            return None
        spans.append((start, runs[end][0] + runs[end][1]))
        index = end + 1
    return spans


def _line(line: str, above: str, spans: list[tuple[int, int]]) -> str:
    """Return a line of prose, where *above* stands right above it, and *spans* are code."""
    marked = line.lstrip(" ")[:1] in _MARKS
    if marked and above.strip() and (under := _UNDERLINE.fullmatch(line)):
        return f"{under[1]}\\{line[under.end(1) :]}"
    made, at = [], 0
    for start, end in spans:
        made += [_TAG.sub(_as_text, line[at:start]), line[start:end]]
        at = end
    line = "".join([*made, _TAG.sub(_as_text, line[at:])])
    heading = _HEADING.match(line) if marked else None
    if heading is None:
        return line
    return f"{heading[1]}{'#' * min(6, len(heading[2]) + _BELOW)}{line[heading.end() :]}"


def _as_text(tag: re.Match[str]) -> str:
    # Why: one that has a backslash already would get its meaning back by another.
    return tag[0] if len(tag[1]) % 2 else f"{tag[1]}\\<"


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
