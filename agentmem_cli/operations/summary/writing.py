"""A summary written from what a conversation tells, within a bound.

An earlier summary of its own is read back and gone on with; one that a model
or a person wrote is kept as a part of the new one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.summary.facts import Exchange, Facts, facts_of, one_line
from agentmem_cli.session.summarizer import snippet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentmem_cli.session.codec import Object

BYTES_PER_TOKEN: Final = 4
"""As estimates count them."""

FIRST: Final = "First request"
EARLIER: Final = "Earlier summary"
COURSE: Final = "What was asked, and what came of it"
FINDINGS: Final = "Decisions and findings"
COMMITS: Final = "Commits"
ERRORS: Final = "Errors that were not seen to be solved"
WORK: Final = "Work so far"
STEPS: Final = "Last steps"
REPLY: Final = "Last reply"
LONG_REPLY: Final = "Last longer reply"
LATEST: Final = "Latest request"
FOCUS: Final = "What concerns the focus"

_HEADINGS: Final = (
    FIRST, EARLIER, FOCUS, COURSE, FINDINGS, COMMITS, ERRORS, WORK, STEPS, LONG_REPLY, REPLY,
    LATEST,
)  # fmt: skip

_SHARES: Final = {
    FIRST: 0.25,
    EARLIER: 0.35,
    LATEST: 0.25,
    REPLY: 0.15,
    LONG_REPLY: 0.1,
    FOCUS: 0.3,
    COURSE: 0.4,
    FINDINGS: 0.2,
    COMMITS: 0.08,
    ERRORS: 0.06,
    WORK: 0.05,
    STEPS: 0.08,
}
"""What part of the bound a section may take; what one leaves over goes to those after it."""

_ASKED_CHARS, _CAME_CHARS = 400, 300
_NOD_CHARS = 8
_THAT: Final = "(the first request)"
_STEP_CHARS, _OUTCOME_CHARS = 140, 120
_STEPS, _ERRORS, _FILES = 12, 8, 12


class Section(NamedTuple):
    """A heading, and the lines below it."""

    heading: str
    lines: list[str]
    """A text that stands word for word is one line here, however many it has."""
    gone: int = 0
    """How many lines an earlier summary left out."""


def summarize(
    values: Iterable[Object], previous: str, max_tokens: int, *, carried: bool, focus: str = ""
) -> str:
    """Return a summary of the messages whose JSON are *values*.

    It is made by rules alone and always the same for the same messages: the
    first and the last request word for word, each request with what came of
    it, decisions and findings, commits, errors, tools and files, the last
    steps and the last reply.

    Args:
        values: The messages, oldest first.
        previous: The earlier summary; empty: there is none.
        max_tokens: What it may take, as estimates count.
        carried: The newest request stands behind the summary anyway, or stays.
        focus: What to keep above all: sentences that say most of its words; may be empty.
    """
    facts = facts_of(values, focus)
    earlier = _read(previous)
    sections = _sections(facts, earlier, previous, carried=carried)
    return _fitted(sections, max_tokens * BYTES_PER_TOKEN)


def _sections(
    facts: Facts, earlier: dict[str, list[str]] | None, previous: str, *, carried: bool
) -> list[Section]:
    old = earlier or {}
    requests = facts.requests
    first = "\n".join(old.get(FIRST, [])) or (requests[0] if requests else "")
    foreign = [previous.strip()] if earlier is None and previous.strip() else []
    latest = "" if carried or not requests or requests[-1] == first else requests[-1]
    exchanges = [each for each in facts.exchanges if _worth(each)]
    named = ((_THAT if each.request == first else each.request, each) for each in exchanges)
    new = (_told(name, each.outcome) for name, each in named)
    course = [*dict.fromkeys([*_items(old.get(COURSE)), *new])]
    reply = facts.last_reply or "\n".join(old.get(REPLY, []))
    longer = facts.last_long_reply or "\n".join(old.get(LONG_REPLY, []))

    def left(heading: str) -> int:
        return _left_out(old.get(heading))

    found = [
        Section(FIRST, [first] if first else []),
        Section(EARLIER, foreign or (["\n".join(old[EARLIER])] if EARLIER in old else [])),
        Section(FOCUS, [*dict.fromkeys([*_items(old.get(FOCUS)), *facts.focused])], left(FOCUS)),
        Section(COURSE, course, left(COURSE)),
        Section(FINDINGS, _findings(facts, _items(old.get(FINDINGS))), left(FINDINGS)),
        Section(COMMITS, [*_items(old.get(COMMITS)), *dict.fromkeys(facts.commits)], left(COMMITS)),
        Section(ERRORS, [_failed(step) for step in facts.open_errors()[-_ERRORS:]]),
        Section(WORK, _work(facts, old.get(WORK))),
        Section(STEPS, _steps(facts)),
        Section(LONG_REPLY, [longer] if longer and longer != reply else []),
        Section(REPLY, [reply] if reply else []),
        Section(LATEST, [latest] if latest else []),
    ]
    return [section for section in found if section.lines]


def _told(request: str, outcome: str) -> str:
    asked = _head(one_line(request), _ASKED_CHARS)
    came = _head(one_line(outcome), _CAME_CHARS)
    return f"{asked} => {came}" if came else asked


def _head(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} [...]"


def _worth(exchange: Exchange) -> bool:
    """Whether an exchange is more than a nod."""
    return len(exchange.request) >= _NOD_CHARS or len(exchange.outcome) >= _NOD_CHARS


def _findings(facts: Facts, old: list[str]) -> list[str]:
    """Return sentences that say a decision; where they are few, those that give a reason too."""
    least = 2 if sum(each.weight > 1 for each in facts.findings) >= _STEPS else 1
    new = [each.text for each in facts.findings if each.weight >= least]
    return [*dict.fromkeys([*old, *new])]


def _failed(step: tuple[str, str, str, bool]) -> str:
    tool, what, outcome, _ = step
    told = snippet(outcome, _OUTCOME_CHARS) or "(no output)"
    return f"{tool} {snippet(what, _STEP_CHARS)}: {told}"


def _steps(facts: Facts) -> list[str]:
    lines: list[str] = []
    for step in facts.steps[max(facts.since, len(facts.steps) - _STEPS) :]:
        outcome = snippet(step.outcome, _OUTCOME_CHARS)
        failed = " (failed)" if step.failed else ""
        told = f": {outcome}" if outcome else " (no result)"
        lines.append(f"{step.tool} {snippet(step.what, _STEP_CHARS)}{failed}{told}")
    return lines


def _work(facts: Facts, old: Sequence[str] | None) -> list[str]:
    lines = []
    if old and not (facts.tools or facts.changed):
        return list(_items(old))
    if facts.tools:
        tools = ", ".join(f"{name} {count}" for name, count in facts.tools.most_common())
        since = " since the last summary" if old else ""
        lines.append(f"tools called{since}: {tools}")
    if facts.changed:
        most = facts.changed.most_common(_FILES)
        folder = _common_folder([path for path, _ in most])
        files = ", ".join(f"{path[len(folder) :]} ({count})" for path, count in most)
        more = len(facts.changed) - len(most)
        below = f" below {folder}" if folder else ""
        lines.append(f"changed most{below}: {files}" + (f", and {more} more" if more > 0 else ""))
    return lines


def _common_folder(paths: Sequence[str]) -> str:
    """Return the folder that all *paths* lie below, with its slash; empty: it is no gain."""
    first, last = min(paths), max(paths)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    return first[: first.rfind("/", 0, same) + 1] if len(paths) > 1 else ""


def _fitted(sections: list[Section], room: int) -> str:
    """Return the sections as text of *room* bytes at most.

    Where there is no room for all, the oldest lines of a list go first, and a
    text loses its middle; either says how much is gone.
    """
    bound, spare, texts = room, 0, {}
    order = sorted(sections, key=lambda section: _ORDER.index(section.heading))
    total = sum(_SHARES[section.heading] for section in sections)
    for section in order:
        share = int(bound * _SHARES[section.heading] / max(total, 1.0)) + spare
        text = _shown(section, share)
        spare = max(0, share - _size(text))
        texts[section.heading] = text
    told = [texts[section.heading] for section in sections if texts[section.heading]]
    return "\n".join(told).strip()


_ORDER: Final = (
    FIRST, LATEST, FOCUS, REPLY, LONG_REPLY, WORK, COMMITS, ERRORS, STEPS, EARLIER, COURSE,
    FINDINGS,
)  # fmt: skip
"""Who gets room first: what is short, and what is most needed."""

_VERBATIM: Final = frozenset({FIRST, LATEST, REPLY, LONG_REPLY, EARLIER})


def _shown(section: Section, room: int) -> str:
    heading = f"## {section.heading}\n"
    left = room - _size(heading) - 2
    if section.heading in _VERBATIM:
        text = _quoted(section.lines[0])
        if _size(text) <= left:
            return f"{heading}{text}\n"
        cut = _cut(section.lines[0], left)
        return f"{heading}{_quoted(cut)}\n" if cut else ""
    kept: list[str] = []
    gone = _gone(len(section.lines) + section.gone)
    left -= _size(gone) + 1
    for line in reversed(section.lines):
        size = _size(line) + len("- \n")
        if size > left:
            break
        left -= size
        kept.append(f"- {line}\n")
    missing = len(section.lines) - len(kept) + section.gone
    if not kept:
        return ""
    earlier = f"- {_gone(missing)}\n" if missing else ""
    return heading + earlier + "".join(reversed(kept))


def _gone(count: int) -> str:
    return "(1 earlier one was left out)" if count == 1 else f"({count} earlier ones were left out)"


def _left_out(lines: Sequence[str] | None) -> int:
    """Return how many lines of a list an earlier summary says that it left out."""
    found = (_LEFT_OUT.fullmatch(line.removeprefix("- ")) for line in lines or ())
    return sum(int(each[1]) for each in found if each)


def _cut(text: str, room: int) -> str:
    """Return *text* cut to *room* bytes when it is quoted; empty: not even a piece fits."""
    most = max(0, room - 60)
    while most > _STEP_CHARS:
        cut = snippet(text, most)
        if _size(_quoted(cut)) <= room:
            return cut
        most = most * 3 // 4
    return ""


def _quoted(text: str) -> str:
    """Return *text* so that no line of it can be taken for a heading of ours."""
    return "\n".join(
        f" {line}" if _HEADING.match(line.lstrip()) else line for line in text.splitlines()
    )


_HEADING: Final = re.compile("## (?:" + "|".join(map(re.escape, _HEADINGS)) + r")\s*\Z")


def _read(previous: str) -> dict[str, list[str]] | None:
    """Read a summary of ours back, as lines by heading; None: it is not one of ours."""
    found: dict[str, list[str]] = {}
    heading: str | None = None
    for line in previous.strip().splitlines():
        if _HEADING.match(line):
            heading = line.removeprefix("## ").strip()
            found[heading] = []
        elif heading is None:
            return None
        else:
            found[heading].append(line)
    return found or None


def _items(lines: Sequence[str] | None) -> list[str]:
    items = [line.removeprefix("- ") for line in lines or () if line.strip()]
    return [item for item in items if not _LEFT_OUT.fullmatch(item)]


_LEFT_OUT: Final = re.compile(r"\(([0-9]{1,9}) earlier ones? w(?:as|ere) left out\)")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
