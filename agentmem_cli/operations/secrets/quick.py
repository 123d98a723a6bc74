"""What an event says, gathered as fast as it goes; where each word stands is not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.secrets.naming import SECRET_NAMES, named_number
from agentmem_cli.operations.secrets.naming import named as before
from agentmem_cli.session.codec import loads, loads_fast

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON

INSIDE_MAX: Final = 8
"""Layers of JSON in a string of JSON that are looked into; what lies deeper is a text."""

OPTION_MAX: Final = 64
"""Characters of a name or an option that can say what the string behind it is."""


def text_of_json(raw: bytes) -> bytes | None:
    """Return what `Document.text` says, in another order, and fast.

    Returns:
        None where the document alone can tell: a key stands twice in an object, or it
        is nested very deeply.

    Raises:
        ValueError: *raw* is not JSON that `codec.loads_fast` reads.
    """
    pieces: list[str] = []
    try:
        if not _gather(raw, pieces, 0):
            return None
    except RecursionError:
        return None
    return "\n".join(pieces).encode("utf-8", "replace")


def _gather(raw: bytes, pieces: list[str], depth: int) -> bool:
    """Put what a JSON value says to *pieces*; return whether that is all of it."""
    said: list[str] = []
    inside: list[str] = []
    _walk(loads_fast(raw), said, inside, pieces)
    text = "\n".join(said)
    # Why the raw text: numbers alone are a string of the event that holds them.
    pieces.append(text or raw.decode())
    quotes = text.count('"')
    for each in inside:
        quotes += each.count('"')
        try:
            if depth == INSIDE_MAX:
                pieces.append(each)
            elif not _gather(each.encode(), pieces, depth + 1):
                return False
        except ValueError:
            if _is_json(each):
                return False
            pieces.append(each)
    # The loser of a duplicate key is not there any more, but the quotes around it are: a string
    # has two, and those that it says. One that is said by its number would upset the sum.
    strings = len(said) + len(inside)
    return raw.count(b'"') - quotes == 2 * strings and b"\\u0022" not in raw


def _is_json(text: str) -> bool:
    """Is *text* JSON all the same: with half a surrogate pair, or a number past all bounds?"""
    try:
        loads(text.encode())
    except ValueError:
        return False
    return True


def _walk(value: JSON, said: list[str], inside: list[str], named: list[str]) -> None:
    if type(value) is dict:
        _walk_object(value, said, inside, named)
    elif type(value) is list:
        _walk_list(value, said, inside, named)
    elif type(value) is str:
        (inside if value[:1] in _FIRST and may_be_json(value) else said).append(value)


def _walk_object(  # noqa: C901, PLR0912 - one loop over all strings of all lines: calls would cost most
    value: dict[str, JSON], said: list[str], inside: list[str], named: list[str]
) -> None:
    said.extend(value)
    for key, member in value.items():
        kind = type(member)
        if kind is str:
            if member[:1] in _FIRST and may_be_json(member):  # type: ignore[index,operator,arg-type]
                inside.append(member)  # type: ignore[arg-type]
            else:
                said.append(member)  # type: ignore[arg-type]
            if SECRET_NAMES[key]:
                named.append(f"{before(key, member)}{member}")  # type: ignore[arg-type]
        elif kind is dict:
            _walk_object(member, said, inside, named)  # type: ignore[arg-type]
        elif kind is list:
            _walk_list(member, said, inside, named)  # type: ignore[arg-type]
            if SECRET_NAMES[key]:
                named.extend(f"{before(key, each)}{each}" for each in member if type(each) is str)  # type: ignore[union-attr]
        elif kind is int and SECRET_NAMES[key]:
            named.append(named_number(key, member))  # type: ignore[arg-type]
    if "value" in value and "name" in value:
        name = value["name"]
        if type(name) is str and len(name) <= OPTION_MAX and SECRET_NAMES[name]:
            member = value["value"]
            named.append(f"{before(name, member if type(member) is str else '')}{member}")


def _walk_list(value: list[JSON], said: list[str], inside: list[str], named: list[str]) -> None:
    option = ""
    for member in value:
        kind = type(member)
        if kind is str:
            if option:
                named.append(f"{before(option, member)}{member}")  # type: ignore[arg-type]
                option = ""
            if member[:1] in _FIRST and may_be_json(member):  # type: ignore[index,operator,arg-type]
                inside.append(member)  # type: ignore[arg-type]
            else:
                said.append(member)  # type: ignore[arg-type]
            if member[:1] == "-" and len(member) <= OPTION_MAX and SECRET_NAMES[member]:  # type: ignore[index,arg-type]
                option = member  # type: ignore[assignment]
        elif kind is dict:
            _walk_object(member, said, inside, named)  # type: ignore[arg-type]
        elif kind is list:
            _walk_list(member, said, inside, named)  # type: ignore[arg-type]


_FIRST: Final = frozenset("{[ \t\r\n")


def may_be_json(text: str) -> bool:
    """Could *text* be an object or array? Looks at its ends alone."""
    first, last = text[:1], text[-1:]
    if first in _SPACE or last in _SPACE:
        stripped = text.strip(" \t\r\n")
        first, last = stripped[:1], stripped[-1:]
    return (first == "{" and last == "}") or (first == "[" and last == "]")


_SPACE: Final = frozenset(" \t\r\n")
