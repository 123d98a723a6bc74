r"""Texts by their lines: edits that touch only what they name, and two changes made one.

A line ends in ``\n`` and nothing else; the last one may lack it. What an edit
does not name stays byte for byte: tabs, CR, and whether the end is a newline.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AmbiguousError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

END: Final = -1
"""After the last line, for `insert`."""

_PAIRS_MAX: Final = 1_000_000
"""Pairs of lines compared one by one; above it lines that stand often are passed by."""


def split_lines(text: str) -> list[str]:
    r"""Return the lines of *text*, each with its ``\n``."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def append(content: str, text: str) -> str:
    """Return *content* and *text*, on a line of its own where the content does not end in one.

    An empty text is no line, and changes nothing.
    """
    between = "" if not text or not content or content.endswith("\n") else "\n"
    return f"{content}{between}{text}"


def insert(content: str, text: str, line: int) -> str:
    """Return *content* with *text* on lines of its own behind line *line*.

    Args:
        content: What is there.
        text: What comes in; it gets a newline where something follows. So an
            empty one is an empty line, and behind the last line nothing.
        line: 0 is the top, N after line N, `END` after the last.

    Raises:
        UsageError: There is no such line.
    """
    lines = split_lines(content)
    if line != END and not 0 <= line <= len(lines):
        msg = f"--line {line}: the block has {len(lines)} line{'s' if len(lines) != 1 else ''}"
        raise UsageError(msg, hint="0 is the top, N is after line N, end is after the last.")
    at = len(lines) if line == END else line
    before, after = "".join(lines[:at]), "".join(lines[at:])
    if before and not before.endswith("\n") and text:
        before += "\n"
    if after and not text.endswith("\n"):
        text += "\n"
    return before + text + after


def places_of(content: str, old: str) -> list[int]:
    """Return where *old* stands in *content*, overlapping ones too, in characters from 0."""
    found: list[int] = []
    at = content.find(old)
    while at >= 0:
        found.append(at)
        at = content.find(old, at + 1)
    return found


def replace(
    content: str, old: str, new: str, *, everywhere: bool = False, nth: int | None = None
) -> str:
    """Return *content* with *new* in the place of *old*, which must stand there exactly once.

    Both are plain text.

    Args:
        content: What is there.
        old: What is looked for.
        new: What takes its place.
        everywhere: Replace each, from the left; of two that overlap the first.
        nth: Replace this one only, counted from 1, overlapping ones counted too.

    Raises:
        UsageError: *old* is empty, or *nth* is less than 1.
        NotFoundError: It does not stand there, or not so often.
        AmbiguousError: It stands there more than once.
    """
    if not old:
        msg = "an empty text stands everywhere, so it cannot be replaced"
        raise UsageError(msg)
    if nth is not None and nth < 1:
        raise UsageError(f"--nth {nth}: the first is 1")
    places = places_of(content, old)
    if not places:
        raise NotFoundError("the text to be replaced does not stand in the block")
    if everywhere:
        return content.replace(old, new)
    if nth is not None:
        if nth > len(places):
            often = "once" if len(places) == 1 else f"{len(places)} times"
            msg = f"--nth {nth}: the text stands {often} in the block"
            raise NotFoundError(msg)
        at = places[nth - 1]
    elif len(places) > 1:
        told = [f"line {content.count(chr(10), 0, at) + 1}" for at in places]
        msg = f"the text stands {len(places)} times in the block"
        hint = "Give more of the text, or --nth N for one of them, or --all."
        raise AmbiguousError(msg, told, hint=hint)
    else:
        (at,) = places
    return content[:at] + new + content[at + len(old) :]


class Step(NamedTuple):
    """Lines of one text that stand as other lines in the next."""

    same: bool
    start: int
    stop: int
    """Lines of the first text, from one to before another."""
    to_start: int
    to_stop: int
    """Lines of the second text."""


def steps(old: Sequence[str], new: Sequence[str]) -> Iterator[Step]:
    """Yield what leads from the lines *old* to the lines *new*, in order and without gaps."""
    head = 0
    shorter = min(len(old), len(new))
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    if head:
        yield Step(True, 0, head, 0, head)  # noqa: FBT003 - the field's own name says it
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    often = len(left) * len(right) > _PAIRS_MAX
    for tag, a, b, c, d in SequenceMatcher(None, left, right, often).get_opcodes():
        yield Step(tag == "equal", a + head, b + head, c + head, d + head)
    if tail:
        ends = (len(old) - tail, len(old), len(new) - tail, len(new))
        yield Step(True, *ends)  # noqa: FBT003 - the same


class Merged(NamedTuple):
    """Two changes of a text, made one."""

    text: str
    conflicts: int
    """How often both sides stand between marks, since both changed the same lines."""


YOURS: Final = "<<<<<<< "
BETWEEN: Final = "=======\n"
THEIRS: Final = ">>>>>>> "


def merge(base: str, yours: str, theirs: str, *, name: str = "now there") -> Merged:
    """Make the changes from *base* to *yours* and to *theirs* one text.

    Changes of different lines are both made, also of lines side by side. The
    same change on both sides is made once. Where both changed the same lines,
    or put something in at the same place, both stand between marks.

    Args:
        base: What both sides began from.
        yours: One side.
        theirs: The other side.
        name: What the other side is called at its marks.
    """
    lines = split_lines(base)
    sides = [split_lines(yours), split_lines(theirs)]
    pieces: list[str] = []
    conflicts = at = 0
    for start, stop, parts in _hunks(lines, sides):
        pieces += lines[at:start]
        at = stop
        mine, other = parts
        if mine == other or other == lines[start:stop]:
            pieces += mine
        elif mine == lines[start:stop]:
            pieces += other
        else:
            conflicts += 1
            pieces += _marked(mine, other, name)
    pieces += lines[at:]
    if any(not piece.endswith("\n") for piece in pieces[:-1]):
        # Why: one side took the last newline away, the other added lines behind it.
        return Merged("".join(_marked(sides[0], sides[1], name)), 1)
    return Merged("".join(pieces), conflicts)


def _marked(mine: Sequence[str], other: Sequence[str], name: str) -> list[str]:
    return [f"{YOURS}yours\n", *_ended(mine), BETWEEN, *_ended(other), f"{THEIRS}{name}\n"]


def _ended(lines: Sequence[str]) -> list[str]:
    return [line if line.endswith("\n") else f"{line}\n" for line in lines]


def _hunks(base: list[str], sides: list[list[str]]) -> Iterator[tuple[int, int, list[list[str]]]]:
    """Yield the ranges of *base* that a side changed, and what stands there on each side."""
    changed: list[tuple[int, int, int, list[str]]] = []
    for number, side in enumerate(sides):
        for step in steps(base, side):
            if not step.same:
                changed += _lines_of(step, number, side)
    changed.sort(key=lambda each: (each[0], each[1]))
    group: list[tuple[int, int, int, list[str]]] = []
    for each in changed:
        if group and not _meets(group, each):
            yield _hunk(base, group)
            group = []
        group.append(each)
    if group:
        yield _hunk(base, group)


def _lines_of(
    step: Step, number: int, side: list[str]
) -> Iterator[tuple[int, int, int, list[str]]]:
    """Yield a change of lines; line by line where as many stand there as before."""
    if step.stop - step.start != step.to_stop - step.to_start:
        yield step.start, step.stop, number, side[step.to_start : step.to_stop]
        return
    for old, new in zip(
        range(step.start, step.stop), range(step.to_start, step.to_stop), strict=True
    ):
        yield old, old + 1, number, [side[new]]


def _meets(
    group: list[tuple[int, int, int, list[str]]], each: tuple[int, int, int, list[str]]
) -> bool:
    """Whether a change shares a line with one of *group*, or puts something in where one does."""
    start, stop = each[0], each[1]
    first = group[0][0]
    last = max(change[1] for change in group)
    return start < last or (start == stop == first == last)


def _hunk(
    base: list[str], group: list[tuple[int, int, int, list[str]]]
) -> tuple[int, int, list[list[str]]]:
    start = group[0][0]
    stop = max(change[1] for change in group)
    parts: list[list[str]] = []
    for number in (0, 1):
        part: list[str] = []
        at = start
        for begin, end, side, new in group:
            if side == number:
                part += base[at:begin] + new
                at = end
        parts.append(part + base[at:stop])
    return start, stop, parts
