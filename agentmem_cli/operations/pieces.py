"""What a message says: its texts, and where a needle stands in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.codec import dumps, loads_fast
from agentmem_cli.session.counting import reasoning_texts
from agentmem_cli.session.message import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentmem_cli.operations.needles import Needle
    from agentmem_cli.session.codec import JSON, Object

TOOL: Final = "tool"
"""The role of what tools answered, whichever message it stands in."""

TEXT: Final = "text"
REASONING: Final = "reasoning"
CALL: Final = "call"
RESULT: Final = "result"
OTHER: Final = "other"

_LAYERS_MAX: Final = 3
"""JSON inside of strings is looked into so many layers deep."""

_JSON_BEGINS: Final = re.compile(r'[ \t\r\n]*[{\["]')

# Why no set: a part's type comes from JSON, and an array has no hash.
_ATTACHMENTS: Final = ("image", "audio", "video", "document")


class Piece(NamedTuple):
    """A text of a message."""

    role: str
    part: str
    """`TEXT`, `REASONING`, `CALL`, `RESULT` or `OTHER`."""
    tool: str | None
    text: str | None
    """None: it is JSON."""
    value: JSON = None
    """Of a call its arguments, of an unknown part all of it: their strings are its texts."""


def texts_with(
    message: Object, needle: Needle, is_wanted: Callable[[Piece], bool] | None
) -> list[tuple[Piece, str]]:
    """Return the texts of a message in which *needle* stands, each with the piece that it is of.

    Args:
        message: Its JSON.
        needle: What is looked for.
        is_wanted: Which pieces are looked into; None: all of them.
    """
    told, content = message.get("role"), message.get("content")
    role = told if type(told) is str else "unknown"
    parts = content if type(content) is list else parts_of(message)
    found: list[tuple[Piece, str]] = []
    for part in parts:
        if type(part) is not dict:
            continue
        for piece in _pieces(role, part):
            if is_wanted is None or is_wanted(piece):
                found += [(piece, text) for text in _texts(piece, needle)]
    return found


def _pieces(role: str, part: Object) -> Iterator[Piece]:
    kind, text = part.get("type"), part.get("text")
    if kind == "text":
        if type(text) is str:
            yield Piece(role, TEXT, None, text)
    elif kind == "toolcall":
        yield _call(role, part)
    elif kind == "toolresult":
        yield from _result(part)
    elif kind == "reasoning":
        yield from (Piece(role, REASONING, None, each) for each in reasoning_texts(part))
    elif kind not in _ATTACHMENTS:
        yield Piece(role, OTHER, None, None, part)


def _call(role: str, part: Object) -> Piece:
    function = part.get("function")
    name: JSON = None
    arguments: JSON = None
    if type(function) is dict:
        name, arguments = function.get("name"), function.get("arguments")
    tool = name if type(name) is str else None
    return Piece(role, CALL, tool, None, arguments)


def _result(part: Object) -> Iterator[Piece]:
    name = part.get("name")
    tool = name if type(name) is str else None
    for inner in parts_of(part):
        kind, text = inner.get("type"), inner.get("text")
        if kind == "text":
            if type(text) is str:
                yield Piece(TOOL, RESULT, tool, text)
        elif kind == "json":
            yield Piece(TOOL, RESULT, tool, None, inner.get("value"))
        elif kind not in _ATTACHMENTS:
            yield Piece(TOOL, RESULT, tool, None, inner)


def _texts(piece: Piece, needle: Needle) -> Iterator[str]:
    """Yield the texts of a piece in which *needle* stands."""
    if piece.text is not None:
        found = _deep(piece.text, needle, _LAYERS_MAX)
        if found is not None:
            yield found
        return
    any_found = False
    for text in texts_inside(piece.value):
        found = _deep(text, needle, _LAYERS_MAX)
        if found is not None:
            any_found = True
            yield found
    # Why last: a text that is read as it was meant tells more than the JSON around it.
    if not any_found:
        whole = dumps(piece.value).decode()
        if piece.part == CALL and piece.tool:
            whole = f"{piece.tool} {whole}"
        if needle.is_in(whole):
            yield whole


def _deep(text: str, needle: Needle, layers: int) -> str | None:
    """Return the text, or the string of the JSON that it is, in which *needle* stands."""
    if needle.is_in(text):
        return text
    # Why a backslash: without one its strings stand in it as they are.
    if not layers or "\\" not in text or not _JSON_BEGINS.match(text):
        return None
    try:
        value = loads_fast(text.encode())
    except ValueError:
        return None
    for inner in texts_inside(value):
        found = _deep(inner, needle, layers - 1)
        if found is not None:
            return found
    return None


def texts_inside(value: object) -> Sequence[str]:
    """Return the strings of a JSON value, keys too, in their order."""
    found: list[str] = []
    todo: list[object] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, list):
            todo.extend(reversed(item))
        elif isinstance(item, dict):
            for key in reversed(item):
                todo += (item[key], key)
    return found
