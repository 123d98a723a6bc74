"""What the bytes of a log's lines tell by themselves: stamps, strings that differ, a torn end."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.session.author import Author
from agentmem_cli.session.codec import loads, loads_fast
from agentmem_cli.session.lines import TORN, scan
from agentmem_cli.session.stamp import Stamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.session.source import OpenLog

_LAST_BYTES: Final = 64 << 10
"""Bytes of a log's end that are read at first to find its last line."""


def fields_of(raw: bytes) -> Object:
    """Return a record's fields; numbers may be inexact.

    Raises:
        ValueError: It is no JSON object.
    """
    try:
        fields = loads_fast(raw)
    except ValueError:
        fields = loads(raw)
    if not isinstance(fields, dict):
        msg = "no object"
        raise ValueError(msg)  # noqa: TRY004 - one error for every malformed line
    return fields


def stamp_of(fields: Object) -> Stamp | None:
    """Return a record's stamp; None: it has none."""
    seq, n, t = fields.get("seq"), fields.get("n"), fields.get("t")
    if type(seq) is int and type(n) is int and type(t) is int:
        return Stamp(n, seq, t)
    return None


def by_of(fields: Object) -> Author | None:
    """Return who made a record; None: it does not say, or not so that it could be read."""
    try:
        return Author.of(fields["by"])
    except (KeyError, ValueError):
        return None


_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"')


def strings_changed(old: bytes, new: bytes) -> int:
    """Return how many strings of a JSON text differ in another one; at least 1."""
    befores, afters = _STRING.findall(old), _STRING.findall(new)
    if len(befores) == len(afters):
        return sum(map(bytes.__ne__, befores, afters)) or 1
    return max(1, len(set(befores) - set(afters)))


def torn_at(opened: OpenLog) -> int:
    """Return where a log's torn tail begins; its size where there is none."""
    begin = _last_line(opened)
    torn: list[int] = []

    def note(damage: Damage) -> None:
        if damage.kind == TORN:
            torn.append(begin + damage.offset)

    for _ in scan(BytesLine(opened.read_at(begin, opened.size - begin)), note):
        pass
    return torn[0] if torn else opened.size


def _last_line(opened: OpenLog) -> int:
    """Return where the last line begins."""
    length = _LAST_BYTES
    while True:
        start = max(0, opened.size - length)
        tail = opened.read_at(start, opened.size - start)
        cut = tail.rfind(b"\n", 0, -1 if tail.endswith(b"\n") else None) + 1
        if cut or not start:
            return start + cut
        length *= 8


class BytesLine:
    """The last line of a log, as something to scan."""

    def __init__(self, data: bytes) -> None:
        """Give *data*."""
        self.size = len(data)
        self._data = data

    def lines(self, start: int = 0) -> Iterator[bytes]:
        """Yield its lines."""
        stream = io.BytesIO(self._data)
        stream.seek(start)
        return iter(stream)
