"""A foreign JSON-lines file, read as a stream and with patience.

A transcript is written by a program that can be killed, on a disk that can be
full, and copied by tools that change encodings. So: one bad line costs that
line and no other, whatever can be read of it is read, and every place is
counted with its line and byte. The file is opened once, for reading only, and
nothing past the size it had then is looked at.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import stat
from io import FileIO
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

from agentmem_cli.errors import ConflictError, Unrecognised
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.imports.adapter import Line
from agentmem_cli.operations.imports.documents import DOCUMENT_BYTES_MAX, Elements, spread
from agentmem_cli.operations.imports.mending import DEPTH_MAX, Place, depth, mend
from agentmem_cli.operations.imports.opening import open_regular
from agentmem_cli.operations.imports.packed import Unpacked, is_packed
from agentmem_cli.session.codec import loads, loads_fast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from agentmem_cli.operations.imports.adapter import Tally
    from agentmem_cli.session.codec import JSON, Object

_Chunk = TypeVar("_Chunk", bytes, bytearray)

_BLANK: Final = b" \t\r\n"

_ARRAY = re.compile(rb"[ \t\r\n]*\[[ \t\r\n]*\{")
"""How an array of records begins; an array of anything else is a line that cannot be used."""

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks, the longer before the shorter that it begins with."""

_DIGITS: Final = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))  # noqa: PLR2004
"""Turns every digit into a zero and everything else into a blank."""

_LONG_RUN: Final = b"0" * 19
"""What an integer beyond 64 bits has at least, with every digit a zero."""

_POINT: Final = ord(".")


class ForeignFile:
    """A source file, read only, as long as it was when it was first looked at.

    It is open only while it is read: a session can have more files than a
    process may have open.
    """

    def __init__(self, path: Path) -> None:
        """Look at *path*.

        Raises:
            OSError: It cannot be opened.
            Unrecognised: It is no regular file.
        """
        self.path = path
        # Why before opening: to open a pipe is to wait for its writer.
        if not stat.S_ISREG(path.stat().st_mode):
            msg = f"{path}: not a regular file"
            raise Unrecognised(msg, hint="Give a transcript file.")
        with open_regular(path) as handle:
            state = os.fstat(handle.fileno())
        self._file = (state.st_dev, state.st_ino)
        self._reading: FileIO | None = None
        self.size = state.st_size
        """Its bytes then."""
        self.seen = (state.st_mtime_ns, state.st_ctime_ns, state.st_ino)
        """What changes with its bytes: its times in nanoseconds, and which file it is."""
        self.modified_ms = max(1, state.st_mtime_ns // 1_000_000)
        """The file's modification time, ms since 1970-01-01 UTC."""

    def __enter__(self) -> ForeignFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it where a reading was not finished; twice is fine."""
        if self._reading is not None:
            self._reading.close()

    def chunks(self) -> Iterator[bytes]:
        """Yield its bytes from the start, up to the size it had. One reading at a time.

        Raises:
            OSError: It cannot be read.
            ConflictError: Another file stands there now.
        """
        yield from self._read(FileIO.read)

    def lent_chunks(self) -> Iterator[bytearray]:
        """Yield what `chunks` does in one buffer, each until the next is asked for.

        Fresh memory costs more than the reading.
        """
        buffer = bytearray(CHUNK_BYTES)

        def read(handle: FileIO, most: int) -> bytearray:
            got = handle.readinto(memoryview(buffer)[:most]) or 0
            return buffer if got == CHUNK_BYTES else buffer[:got]

        yield from self._read(read)

    def _read(self, read: Callable[[FileIO, int], _Chunk]) -> Iterator[_Chunk]:
        if not self.size:
            return
        handle = self._reading = open_regular(self.path)
        try:
            state = os.fstat(handle.fileno())
            if (state.st_dev, state.st_ino) != self._file:
                msg = f"{self.path}: it was replaced while it was read"
                raise ConflictError(msg, hint="Run the command again.")
            offset = 0
            while offset < self.size:
                chunk = read(handle, min(CHUNK_BYTES, self.size - offset))
                if not chunk:
                    return
                offset += len(chunk)
                if offset == self.size:
                    handle.close()  # Why here: who asked may be long in coming back.
                yield chunk
        finally:
            handle.close()

    def digest(self, key: bytes, length: int) -> str:
        """Return the keyed digest (hex) of its first *length* bytes."""
        hasher = new_digest(key)
        left = length
        for chunk in self.chunks():
            hasher.update(chunk[:left])
            left -= len(chunk)
            if left <= 0:
                break
        return hasher.hexdigest()


def brief(chunks: Iterable[bytes | bytearray]) -> Iterator[bytes]:
    """Yield *chunks* without those that are nothing but the inside of one long text.

    It is for a look at what the records of `ForeignFile.lent_chunks` are: a line
    that holds an image is then as short as others. Later offsets are wrong.
    """
    for index, chunk in enumerate(chunks):
        if not index or len(chunk) < CHUNK_BYTES or not _is_inside(chunk):
            yield bytes(chunk)


def _is_inside(chunk: bytes | bytearray) -> bool:
    # Why the comma: without it two numbers of a long list could become one that is none.
    return chunk.isascii() and not any(mark in chunk for mark in (b'"', b"\\", b"\n", b",", b"\0"))


def new_digest(key: bytes) -> hashlib.blake2b:
    """Return the hash that sources are known again by: blake2b of 32 bytes, keyed."""
    return hashlib.blake2b(key=key, digest_size=32)


def read_lines(
    chunks: Iterable[bytes], accepts: Callable[[Object], bool], tally: Tally
) -> Iterator[Line]:
    """Yield the records of a foreign JSON-lines file in their order.

    Args:
        chunks: The file's bytes; UTF-8, or UTF-16 or UTF-32 with a byte order mark.
        accepts: Whether an object salvaged from a damaged line is a record.
        tally: Where lines, records and flaws are counted.

    Yields:
        One a record. Numbers are exact, but for the spelling of floats.
    """
    packed: list[Unpacked] = []
    decoded, mark, exact = _as_utf8(chunks, packed)
    first = next(decoded, b"")
    decoded = _chained(first, decoded)
    if _ARRAY.match(first) is not None:
        yield from _read_array(decoded, mark, accepts, tally, exact=exact)
    elif spread(first.lstrip(_BLANK).partition(b"\n")[0]):
        yield from _read_object(decoded, mark, accepts, tally, exact=exact)
    else:
        yield from _read_each(decoded, mark, accepts, tally, exact=exact)
    for each in packed:
        if each.why is not None:
            tally.flaw(max(1, tally.lines), None, each.why, lost=True)


def _read_each(
    decoded: Iterable[bytes],
    mark: int,
    accepts: Callable[[Object], bool],
    tally: Tally,
    *,
    exact: bool,
) -> Iterator[Line]:
    """Yield the records of JSON lines."""
    offset = mark
    for number, (piece, ended) in enumerate(_pieces(decoded), 1):
        tally.lines = number
        value = _whole(piece)
        if value is not None:
            tally.records += 1
            yield Line(number, value, offset if exact else None)
        else:
            place = Place(number, offset, ended=ended, exact=exact)
            for mended in mend(piece, place, accepts, tally):
                tally.records += 1
                yield Line(number, mended, offset if exact else None)
        offset += len(piece) + 1


def _read_array(
    decoded: Iterable[bytes],
    mark: int,
    accepts: Callable[[Object], bool],
    tally: Tally,
    *,
    exact: bool,
) -> Iterator[Line]:
    """Yield the elements of an array, or of several, as records."""
    elements = Elements()
    for number, at, piece, ended in elements.cut(decoded):
        offset = mark + at
        tally.lines = number
        value = _whole(piece) if piece else {"messages": []}
        if value is not None:
            tally.records += 1
            yield Line(number, value, offset if exact else None)
            continue
        place = Place(number, offset, ended=ended, exact=exact)
        for mended in mend(piece, place, accepts, tally):
            tally.records += 1
            yield Line(number, mended, offset if exact else None)
    tally.lines = elements.lines


def _read_object(
    decoded: Iterator[bytes],
    mark: int,
    accepts: Callable[[Object], bool],
    tally: Tally,
    *,
    exact: bool,
) -> Iterator[Line]:
    """Yield an object that is spread over several lines; if it is none, what each line is."""
    held: list[bytes] = []
    size = 0
    for chunk in decoded:
        held.append(chunk)
        size += len(chunk)
        if size > DOCUMENT_BYTES_MAX:
            break
    else:
        whole = b"".join(held)
        value = _whole(whole)
        if value is not None:
            tally.records += 1
            tally.lines = len(whole.rstrip().split(b"\n"))
            yield Line(1, value, mark if exact else None)
            return
        held = [whole]
    again = chain(held, decoded)
    yield from _read_each(again, mark, accepts, tally, exact=exact)


def _whole(piece: bytes) -> Object | None:
    """Decode a line that is as it should be; None: `mend` has to look at it."""
    if len(piece) > CHUNK_BYTES:
        return _large(piece)
    try:
        value = loads(piece) if _has_long_number(piece) else loads_fast(piece)
    except ValueError:
        return None
    if type(value) is not dict:
        return None
    if piece.count(b"{") + piece.count(b"[") > DEPTH_MAX and depth(value) > DEPTH_MAX:
        return None
    return value


def _has_long_number(piece: bytes) -> bool:
    """Whether an integer beyond 64 bits can be in *piece*; one in a string costs time only."""
    digits = piece.translate(_DIGITS)
    at = digits.find(_LONG_RUN)
    while at >= 0:
        # Why: behind a point it is a fraction, which the fast decoder reads exactly.
        if at == 0 or piece[at - 1] != _POINT:
            return True
        end = digits.find(b" ", at)
        at = -1 if end < 0 else digits.find(_LONG_RUN, end)
    return False


def _large(piece: bytes) -> Object | None:
    """Decode a large line, as `_whole` does: few values and long texts, so the values are seen."""
    try:
        value = loads_fast(piece)
        if type(value) is dict and _has_large_float(value):
            value = loads(piece)
    except ValueError:
        return None
    return value if type(value) is dict and depth(value) <= DEPTH_MAX else None


def _has_large_float(value: JSON) -> bool:
    """Whether a float is in *value* that can have been an integer beyond 64 bits."""
    todo = [value]
    while todo:
        item = todo.pop()
        kind = type(item)
        if kind is dict:
            todo.extend(item.values())  # type: ignore[union-attr]
        elif kind is list:
            todo.extend(item)  # type: ignore[arg-type]
        elif kind is float and abs(item) >= _LARGE:  # type: ignore[arg-type]
            return True
    return False


_LARGE: Final = 2.0**63
"""The smallest float that orjson makes of an integer."""


def _pieces(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines without their ends, and whether each had one."""
    carried: list[bytes] = []
    for chunk in chunks:
        pieces = chunk.split(b"\n")
        if len(pieces) > 1:
            carried.append(pieces[0])
            whole = b"".join(carried)
            carried.clear()
            yield whole, True
            del whole
            for piece in pieces[1:-1]:
                yield piece, True
        carried.append(pieces[-1])
    rest = b"".join(carried)
    if rest:
        yield rest, False


def _as_utf8(chunks: Iterable[bytes], packed: list[Unpacked]) -> tuple[Iterator[bytes], int, bool]:
    """Look at the first bytes and return UTF-8, unpacked; who unpacks is added to *packed*.

    Returns:
        The bytes without a mark, the mark's length, and whether an offset in
        them is an offset in the source.
    """
    source = iter(chunks)
    first = next(source, b"")
    if is_packed(first):
        packed.append(Unpacked(_chained(first, source)))
        decoded, mark_bytes, _ = _as_utf8(packed[-1], [])
        return decoded, mark_bytes, False
    for mark, encoding in _MARKS:
        if first.startswith(mark):
            first = first[len(mark) :]
            if encoding == "utf-8":
                return _chained(first, source), len(mark), True
            return _recoded(_chained(first, source), encoding), len(mark), False
    return _chained(first, source), 0, True


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _recoded(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")
