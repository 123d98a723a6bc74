"""Names and ids of calls as OpenAI's chat completions take them."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.exports.content import tool_name
from agentmem_cli.session.message import call_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.codec import Object

ID_CHARS_MAX: Final = 40
"""Characters of a call's id."""

NAME_CHARS_MAX: Final = 64
"""Characters of a function's name."""

NAMELESS: Final = "tool"
"""The name of a tool that a call does not name."""

_DIGEST_DIGITS: Final = 8
_NOT_OF_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def ids_of(calls: Sequence[Object], number: int) -> dict[int, str]:
    """Return an id for each call of one reply, by the identity of its part.

    It is the call's own where it has one, short enough and not another's of
    the same reply: a result names its call by it alone.

    Args:
        calls: The parts of type ``toolcall``; two of them may be equal.
        number: The reply's place, which ids that are made up have in them.
    """
    own = {id(part): _told(part) for part in calls}
    taken: set[str] = set()
    # Why first: what is made up must not take an id that a later call has.
    reserved = {told for told in own.values() if told and len(told) <= ID_CHARS_MAX}
    given: dict[int, str] = {}
    for at, part in enumerate(calls):
        told = own[id(part)]
        if not told or len(told) > ID_CHARS_MAX or told in taken:
            told = _made(told, f"call_{number}_{at}", taken | reserved)
        taken.add(told)
        given[id(part)] = told
    return given


def _told(call: Object) -> str:
    """Return a call's id; empty: it has none, or one that an import has made up."""
    return "" if "id_as" in call else call_id(call.get("id")) or ""


def _made(told: str, otherwise: str, taken: set[str]) -> str:
    base = told or otherwise
    if len(base) > ID_CHARS_MAX:
        encoded = told.encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(encoded).hexdigest()[:_DIGEST_DIGITS]
        base = f"{told[: ID_CHARS_MAX - _DIGEST_DIGITS - 1]}-{digest}"
    made, again = base, 1
    while made in taken:
        again += 1
        end = f"-{again}"
        made = base[: ID_CHARS_MAX - len(end)] + end
    return made


def function_name(call: Object) -> str:
    """Return the name of the tool that *call* calls, as a function may be called there."""
    return plain_name(tool_name(call))


def plain_name(name: str) -> str:
    """Return *name* as a function may be called: letters, digits, ``_`` and ``-``, never none."""
    return _NOT_OF_NAMES.sub("_", name)[:NAME_CHARS_MAX] or NAMELESS
