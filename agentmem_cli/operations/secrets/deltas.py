"""Pieces of one message that were streamed, a line each, read as the text they are.

A secret that was cut between two pieces stands in neither of them. So pieces of
one message in lines that follow one another, or in a list of one line, are joined and
looked at as one text; what is found is masked in the first of them, and its rest taken
out of the others. Where pieces have ids, these tell messages apart; but some programs
number each piece with one, so what has all but its ids in common is joined, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.secrets.literals import automaton, places
from agentmem_cli.operations.secrets.marks import event_key
from agentmem_cli.session.codec import loads_fast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.tokens import Path

MARKS: Final = (b'elta"', b'hunk"', b'eltas"', b'hunks"')
"""What a line of a piece has one of in it."""

_SEARCH: Final = automaton(list(MARKS), overlapping=False)
"""All of them in one pass, where a pass for each takes twice as long."""

RUN_CHARACTERS_MAX: Final = 1 << 20
"""Characters of pieces that are joined; a longer message is looked at in parts that overlap."""

OVERLAP_CHARACTERS: Final = 1 << 14
"""Characters that two such parts have in common: more than any key."""

_NAMES: Final = (
    "text", "content", "partial_json", "thinking", "delta", "chunk", "arguments", "value"
)  # fmt: skip
_MEMBER: Final = re.compile(r"delta|chunk|.*(?:Delta|Chunk|_delta|_chunk)")
_LIST: Final = re.compile(r"(?:.*_)?(?:deltas|chunks)|.*(?:Deltas|Chunks)")
_IDS: Final = ("id", "item_id", "message_id", "messageId", "index", "output_index", "content_index")
_TYPED: Final = re.compile(r"(?i)(?:.*[_.])?(?:delta|chunk)")
_DEPTH_MAX: Final = 6


class Piece(NamedTuple):
    """A piece of a message."""

    line: int
    stream: tuple[object, ...]
    """What pieces of one message have in common."""
    path: Path
    text: str

    @property
    def loose(self) -> tuple[object, ...]:
        """What they have in common where each piece has an id of its own."""
        return tuple(part for part in self.stream if type(part) is not _Id)


class _Id(NamedTuple):
    """An id among what pieces have in common: a message's, or one piece's."""

    value: JSON


class Part(NamedTuple):
    """Characters of one piece, and what is to stand there."""

    line: int
    path: Path
    start: int
    end: int
    is_first: bool


def may_stream(data: bytes) -> bool:
    """May a piece of a message be in *data*?"""
    return bool(places(_SEARCH, data))


def pieces_of(line: int, raw: bytes) -> list[Piece]:
    """Return the pieces of messages that a line is; none, for nearly all lines."""
    try:
        value = loads_fast(raw)
    except ValueError:
        return []
    found: list[Piece] = []
    for path, each in _objects(value, ()):
        _look(each, path, (), line, found)
    return found


def _look(
    value: dict[str, JSON], path: Path, stream: tuple[object, ...], line: int, found: list[Piece]
) -> None:
    here = (*stream, *_ids(value))
    kind = value.get("type") or value.get("object") or value.get("sessionUpdate")
    if isinstance(kind, str) and _TYPED.fullmatch(kind):
        here = (*here, kind)
        before = len(found)
        _texts(value, path, here, line, found)
        if len(found) > before:
            return
    for key, member in value.items():
        at = (*path, key)
        if _MEMBER.fullmatch(key) or (_LIST.fullmatch(key) and isinstance(member, list)):
            _member(member, at, here, line, found)
        elif len(path) < _DEPTH_MAX:
            for inner, each in _objects(member, at):
                # Why: choices are answers beside one another, other lists one after the other.
                one = (*here, inner[-1]) if key == "choices" else here
                _look(each, inner, one, line, found)


def _ids(value: dict[str, JSON]) -> Iterator[object]:
    for name in _IDS:
        member = value.get(name)
        if isinstance(member, str | int):
            yield _Id(member) if name == "id" else member


def _objects(member: JSON, at: Path) -> Iterator[tuple[Path, dict[str, JSON]]]:
    if isinstance(member, dict):
        yield at, member
    elif isinstance(member, list):
        for index, each in enumerate(member):
            if isinstance(each, dict):
                yield (*at, index), each


def _member(
    value: JSON, path: Path, stream: tuple[object, ...], line: int, found: list[Piece]
) -> None:
    if isinstance(value, str):
        found.append(Piece(line, (*stream, *_names(path)), path, value))
    elif isinstance(value, dict):
        _texts(value, path, (*stream, *_ids(value)), line, found)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            if not isinstance(each, list):
                _member(each, (*path, index), stream, line, found)


def _names(path: Path) -> Iterator[str]:
    """Yield a path without places in lists, which pieces of one message have each their own."""
    return (part for part in path if isinstance(part, str))


def _texts(
    value: dict[str, JSON], path: Path, stream: tuple[object, ...], line: int, found: list[Piece]
) -> None:
    for name in _NAMES:
        member = value.get(name)
        at = (*path, name)
        if isinstance(member, str):
            found.append(Piece(line, (*stream, *_names(at)), at, member))
        else:
            for inner, each in _objects(member, at):
                _texts(each, inner, stream, line, found)
    calls = value.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            at = (*path, "tool_calls", index, "function")
            number = call.get("index", index)
            _texts(call["function"], at, (*stream, number), line, found)  # type: ignore[arg-type]


class Run:
    """Pieces of one message, and the text they make."""

    def __init__(self, pieces: list[Piece], keys: dict[int, bytes]) -> None:
        """Join *pieces*; *keys* has the `event_key` of each line that one stands in."""
        self.pieces = pieces
        self.keys = keys
        self.text = "".join(piece.text for piece in pieces)

    def parts(self, start: int, end: int) -> Iterator[Part]:
        """Yield the parts of pieces that characters of the text are."""
        at = 0
        first = True
        for piece in self.pieces:
            begin, stop = max(start, at), min(end, at + len(piece.text))
            if begin < stop:
                yield Part(piece.line, piece.path, begin - at, stop - at, first)
                first = False
            at += len(piece.text)


class Streams:
    """Joins pieces as their lines pass."""

    def __init__(self) -> None:
        self._open: dict[tuple[object, ...], list[Piece]] = {}
        self._sizes: dict[tuple[object, ...], int] = {}
        """Characters of each since it was looked at last."""
        self._keys: dict[int, bytes] = {}

    def pass_by(self, line: int, raw: bytes) -> Iterator[Run]:
        """Take the next line; yield the texts that are whole now."""
        pieces = pieces_of(line, raw) if may_stream(raw) else []
        if not pieces:
            yield from self.end()
            return
        self._keys[line] = event_key(raw)
        for piece in pieces:
            for stream in dict.fromkeys((piece.stream, piece.loose)):
                held = self._open.setdefault(stream, [])
                held.append(piece)
                size = self._sizes[stream] = self._sizes.get(stream, 0) + len(piece.text)
                if size > RUN_CHARACTERS_MAX:
                    yield Run(held, self._keys)
                    self._keep_end(stream, held)

    def _keep_end(self, stream: tuple[object, ...], held: list[Piece]) -> None:
        kept: list[Piece] = []
        size = 0
        for piece in reversed(held):
            if size > OVERLAP_CHARACTERS:
                break
            kept.append(piece)
            size += len(piece.text)
        self._open[stream] = kept[::-1]
        self._sizes[stream] = 0
        lines = {piece.line for pieces in self._open.values() for piece in pieces}
        self._keys = {line: self._keys[line] for line in lines}

    @property
    def is_open(self) -> bool:
        """Whether the next line may go on with a message."""
        return bool(self._open)

    def end(self) -> Iterator[Run]:
        """Yield the texts that are whole, since no piece follows."""
        if not self._open:
            return
        # What has an id in common has all else in common, too: it is one run twice.
        told = {
            tuple((each.line, each.path) for each in held): held for held in self._open.values()
        }
        runs = [Run(pieces, self._keys) for pieces in told.values() if len(pieces) > 1]
        self._keys = {}
        self._open.clear()
        self._sizes.clear()
        yield from runs


def joined(lines: Iterable[tuple[int, bytes]]) -> Iterator[Run]:
    """Yield the messages of several pieces among *lines*, by their numbers."""
    streams = Streams()
    for number, raw in lines:
        yield from streams.pass_by(number, raw)
    yield from streams.end()
