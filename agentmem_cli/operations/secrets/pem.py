"""How far a private key in text goes: from its first line to its last, or to where it was cut."""

from __future__ import annotations

import re
from typing import Final

PEM_BYTES_MAX: Final = 65_536
_END: Final = re.compile(rb"-{4,5} ?END [A-Z0-9 ]{0,40}KEY(?: BLOCK)? ?-{4,5}")
# What stands between two lines of a key: line breaks, also escaped ones, quotes, and what a log,
# a diff or a listing puts before a line.
_BETWEEN: Final = re.compile(rb"(?:\s|\\+[nrt]|[\"'+,|>#*]|\d{1,5}(?:[\t|:]|\xe2\x86\x92))*")
_HEADER: Final = re.compile(
    rb"(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|Subject|Key-Type|X-[\w-]{1,20}):[^\n\\]{0,200}"
)
_RUN: Final = re.compile(rb"[A-Za-z0-9+/]+={0,2}|=[A-Za-z0-9+/]{4}")
_LAST: Final = re.compile(rb"(?:[A-Za-z0-9+/]+={0,2}|=[A-Za-z0-9+/]{4})$")
_BETWEEN_BACK: Final = re.compile(rb"(?:\\[nr]|[\s\"'+,|>#*])$")
_LINE_MIN: Final = 24
_DISTINCT_MIN: Final = 8


def whole_key(data: bytes, start: int, end: int) -> int | None:
    """Return where the key ends whose first line is ``data[start:end]``; None: there is no body."""
    limit = min(len(data), start + PEM_BYTES_MAX)
    again = data.find(b"-----BEGIN ", end, limit)
    limit = again if again >= 0 else limit
    close = _END.search(data, end, limit)
    if close is None:
        return _body_end(data, end, limit)
    if not _is_body(data[end : close.start()]):
        return None
    at = close.end()
    # An escaped line break before the closing quote is the last part of the key's value.
    while data[at : at + 2] == b"\\n" and data[at + 2 : at + 3] in (b'"', b"'", b"\\"):
        at += 2
    return at


def cut_key(data: bytes, start: int) -> int | None:
    """Return where the body begins whose last line is at *start*; None: its first line is there."""
    floor = max(0, start - PEM_BYTES_MAX)
    begin = data.rfind(b"-----BEGIN ", floor, start)
    if begin > data.rfind(b"-----END ", floor, start):
        return None
    first, at, width = None, start, 0
    while (run := _run_before(data, floor, at)) is not None:
        size = _length(data, run, at)
        if width and size != width:
            break
        # The last line of all may be shorter than the others.
        width = size if first is not None and size >= _LINE_MIN else width
        first = at = run
    return first if first is not None and _is_body(data[first:start]) else None


def _length(data: bytes, first: int, limit: int) -> int:
    """Return the length of the run of base64 that begins at *first*."""
    run = _RUN.match(data, first, limit)
    return 0 if run is None else run.end() - first


def _run_before(data: bytes, floor: int, at: int) -> int | None:
    while (sign := _BETWEEN_BACK.search(data[max(floor, at - 2) : at])) is not None:
        at -= len(sign.group())
    run = _LAST.search(data[max(floor, at - 128) : at])
    return None if run is None else at - len(run.group())


def _body_end(data: bytes, at: int, limit: int) -> int | None:
    """Return where the lines of a body end that begins at *at*, all but the last equally long."""
    first, width = at, 0
    while True:
        between = _BETWEEN.match(data, at, limit)
        begin = between.end() if between else at
        header = _HEADER.match(data, begin, limit)
        if header is not None:
            at = header.end()
            continue
        run = _RUN.match(data, begin, limit)
        if run is None:
            break
        size = run.end() - begin
        if not width and size < _LINE_MIN:
            break
        if width and (size > width or (size < width and not _may_end(data, run.end(), limit))):
            break
        at = run.end()
        if width and size < width:
            break
        width = width or size
    return at if _is_body(data[first:at]) else None


def _may_end(data: bytes, at: int, limit: int) -> bool:
    return at >= limit or data[at : at + 1] in (b"\n", b"\r", b'"', b"'", b"\\", b"`")


def _is_body(text: bytes) -> bool:
    """Is there a line of base64 in *text*, and not only a name or a row of one letter?"""
    return any(
        len(run) >= _LINE_MIN and len(set(run)) > _DISTINCT_MIN for run in _RUN.findall(text)
    )
