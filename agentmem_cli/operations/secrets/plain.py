"""A text that is no JSON, or no longer: a torn line, a log, what a plugin keeps.

Bytes are looked at as they are, whether or not all of them are UTF-8. A line of
JSON that was torn is no JSON, but what it says still stands there escaped, so
such a text is looked at a second time without its escapes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from agentmem_cli.session.tokens import apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_ESCAPE: Final = re.compile(
    rb"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
    rb'|u([0-9a-fA-F]{4})|(["\\/bfnrt]))'
)
_SHORT: Final = {
    b'"': b'"',
    b"\\": b"\\",
    b"/": b"/",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
}
LAYERS_MAX: Final = 3
"""How often escapes are taken off: JSON in JSON in JSON."""


class Characters:
    """A text's bytes, and which character each begins or ends.

    It is asked for rising places, so that a long text is gone through once.
    """

    def __init__(self, text: str) -> None:
        self.data = text.encode("utf-8", "replace")
        self._ascii = self.data.isascii()
        self._bytes = self._characters = 0

    def at(self, place: int) -> int:
        """Return how many characters are whole before the byte *place*."""
        if self._ascii:
            return place
        if place < self._bytes:
            self._bytes = self._characters = 0
        self._characters += len(self.data[self._bytes : place].decode("utf-8", "ignore"))
        self._bytes = place
        return self._characters


class View:
    """Some bytes without their escapes, and where each of them stood."""

    def __init__(self, data: bytes) -> None:
        pieces: list[bytes] = []
        self._new: list[int] = [0]
        self._old: list[int] = [0]
        at = size = 0
        for found in _ESCAPE.finditer(data):
            plain = data[at : found.start()]
            made = _unescaped(found)
            pieces += (plain, made)
            size += len(plain)
            self._mark(size, found.start())
            size += len(made)
            at = found.end()
            self._mark(size, at)
        pieces.append(data[at:])
        self.data = b"".join(pieces)

    def _mark(self, new: int, old: int) -> None:
        self._new.append(new)
        self._old.append(old)

    def start(self, at: int) -> int:
        """Return where the byte *at* stood; of an escape, where that begins."""
        index = bisect_right(self._new, at) - 1
        into = at - self._new[index]
        return self._old[index] + (0 if self._is_escape(index) else into)

    def end(self, at: int) -> int:
        """Return the byte behind the one before *at*."""
        if at == 0:
            return 0
        index = bisect_right(self._new, at - 1) - 1
        if self._is_escape(index):
            return self._old[index + 1]
        return self._old[index] + at - self._new[index]

    def _is_escape(self, index: int) -> bool:
        # Marks come in pairs, the beginning of an escape and its end, after the first.
        return index % 2 == 1


def _unescaped(found: re.Match[bytes]) -> bytes:
    if found[4] is not None:
        return _SHORT[found[4]]
    if found[3] is not None:
        return chr(int(found[3], 16)).encode("utf-8", "replace")
    pair = bytes.fromhex((found[1] + found[2]).decode())
    return pair.decode("utf-16-be").encode()


def spelled(data: bytes) -> list[View]:
    """Return *data* without the escapes of JSON, layer by layer, where it may have some.

    Only escapes of what JSON could write as it is count: a slash, and characters by their
    numbers. How it must write the others is known beforehand.
    """
    views: list[View] = []
    while len(views) < LAYERS_MAX and (b"\\/" in data or b"\\u" in data):
        views.append(View(data))
        data = views[-1].data
    return views


class Plain:
    """Bytes that are looked at as a text; all its offsets are bytes of ``raw``."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._views: list[View] = []
        data = raw
        if b'\\"' not in raw:
            return
        while len(self._views) < LAYERS_MAX and b"\\" in data:
            view = View(data)
            self._views.append(view)
            data = view.data

    def texts(self) -> list[bytes]:
        """Return the bytes as they are, then without a layer of escapes, and so on."""
        return [self.raw, *(view.data for view in self._views)]

    def place(self, layer: int, start: int, end: int) -> tuple[int, int]:
        """Return where bytes of one of `texts` stand in ``raw``."""
        for view in reversed(self._views[:layer]):
            start, end = view.start(start), view.end(end)
        return start, end

    def masked(
        self,
        changes: Mapping[int, Sequence[tuple[int, int, str]]],
        *,
        unsigned: Callable[[], None],  # noqa: ARG002 - as of a document
    ) -> bytes:
        """Return the bytes with *changes* made; 0 is the one key there is."""
        edits = [
            (start, max(start, self._whole(end)), new.encode())
            for start, end, new in changes.get(0, ())
        ]
        return apply_edits(self.raw, edits)

    def _whole(self, end: int) -> int:
        """Leave the backslash before a quote where it is, which a torn line needs."""
        if self.raw[end : end + 1] != b'"':
            return end
        before = self.raw[:end]
        count = len(before) - len(before.rstrip(b"\\"))
        return end - count % 2
