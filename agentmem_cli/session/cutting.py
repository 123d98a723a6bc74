"""Where a compaction may cut a conversation: never between a call and its result.

Source: DESIGN.md, "Compaction".
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.counting import DEFAULT_COUNTER, size_of
from agentmem_cli.session.message import call_id
from agentmem_cli.session.pairing import UNANSWERED, UNASKED, calls_of, owes_nothing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.session.codec import Object


class Shape(NamedTuple):
    """What of a message a cut depends on."""

    tokens: int
    """What it is estimated to take."""
    role: str
    asked: tuple[str, ...] = ()
    """The ids of its calls."""
    answered: tuple[str, ...] = ()
    """The ids that its results answer."""
    owes: bool = True
    """Whether its calls need results."""
    only_results: bool = False


_PER_MESSAGE: Final = DEFAULT_COUNTER.per_message
_BYTES_PER_TOKEN: Final = DEFAULT_COUNTER.bytes_per_token
_new: Final = tuple.__new__
"""Makes a shape without the Python function that a NamedTuple's own constructor is."""


def shape_of(value: Object) -> Shape:
    """Return the shape of the message whose JSON is *value*."""
    role, content = value.get("role"), value.get("content")
    named = role if type(role) is str else ""
    if type(content) is list and len(content) == 1 and type(part := content[0]) is dict:
        # Why apart, and counted here: a compaction comes here for every message of a log, and
        # most hold a text alone, or one result.
        kind = part.get("type")
        if kind == "text" and type(text := part.get("text")) is str:
            size = len(text) if text.isascii() else size_of(text)
            tokens = _PER_MESSAGE - int(-size // _BYTES_PER_TOKEN)
            return _new(Shape, (tokens, named, (), (), True, False))
        if kind == "toolresult":
            tokens = _PER_MESSAGE + DEFAULT_COUNTER.count_result(part)
            answered = (call_id(part.get("call")) or "",)
            return _new(Shape, (tokens, named, (), answered, True, True))
    tokens = DEFAULT_COUNTER.count_value(value)
    if type(content) is not list:
        return Shape(tokens, named)
    calls = calls_of(value)
    if not (calls.asked or calls.answered):
        return Shape(tokens, named)
    owes = not (calls.asked and owes_nothing(value))
    return Shape(tokens, named, calls.asked, calls.answered, owes, calls.only_results)


def loose_problems(shapes: Sequence[Shape]) -> Counter[tuple[str, str | None]]:
    """Count the calls without a result and the results without a call, paired as for a cut."""
    found: Counter[tuple[str, str | None]] = Counter()
    for shape in shapes:
        found.update((UNANSWERED, id_) for id_ in shape.asked if shape.owes)
        found.update((UNASKED, id_) for id_ in shape.answered)
    for call, _, id_ in _pairs(shapes):
        if id_ is not None:
            found[UNASKED, id_] -= 1
            if shapes[call].owes:
                found[UNANSWERED, id_] -= 1
    return +found


def find_cut(shapes: Sequence[Shape], start: int, keep_tokens: int, *, forced: bool) -> int | None:
    """Return where the kept part begins; None: there is nothing to do.

    Walking back from the newest message, it is the first legal place at which
    *keep_tokens* are kept. The first message that is not summarized yet is
    always summarized.

    Args:
        shapes: Of every message.
        start: How many of the first messages are summaries already.
        keep_tokens: Tokens to keep as they are.
        forced: Take the newest legal place where that is not reached.

    Returns:
        An index greater than *start*.
    """
    parting = _parting(shapes)
    kept = 0
    newest: int | None = None
    for index in range(len(shapes) - 1, start, -1):
        shape = shapes[index]
        kept += shape.tokens
        if parting[index] or not _may_begin(shape):
            continue
        if kept >= keep_tokens:
            return index
        newest = index if newest is None else newest
    return newest if forced else None


def _may_begin(shape: Shape) -> bool:
    if shape.role == "user":
        return not shape.answered
    return shape.role in ("assistant", "system")


def _parting(shapes: Sequence[Shape]) -> list[bool]:
    """Say of each index whether a cut before it parts a call from its result.

    A result belongs to the first call with its id that waits, whatever lies
    between (results that come late, out of order, or beside a text), until
    the id is called again. A call that waits at the end may be answered yet.
    """
    edges = [0] * (len(shapes) + 1)
    for call, result, _ in _pairs(shapes):
        edges[call + 1] += 1
        edges[result + 1] -= 1
    depth = 0
    parts: list[bool] = []
    for edge in edges[: len(shapes)]:
        depth += edge
        parts.append(depth > 0)
    return parts


def _pairs(shapes: Sequence[Shape]) -> Iterator[tuple[int, int, str | None]]:
    """Yield the indexes of calls and of their results, and the id that they share.

    Of the calls that wait at the end, one with the last index, and no id.
    """
    waiting: dict[str, list[int]] = {}
    last = -1
    for index, shape in enumerate(shapes):
        if shape.role == "assistant":
            last = index if shape.asked and shape.owes else -1
            for id_ in dict.fromkeys(shape.asked):
                waiting[id_] = [index] * shape.asked.count(id_)
        elif shape.role == "user" and not shape.only_results:
            last = -1
        for id_ in shape.answered:
            calls = waiting.get(id_)
            if calls:
                yield calls.pop(0), index, id_
    if any(last in calls for calls in waiting.values()):
        yield last, len(shapes) - 1, None
