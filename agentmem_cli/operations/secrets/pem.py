"""How far a private key in text goes: from its first line to its last, or to where it was cut."""

from __future__ import annotations

import re
from typing import Final

PEM_BYTES_MAX: Final = 65_536
_END: Final = re.compile(rb"-{4,5} ?END [A-Z0-9 ]{0,40}(?:PRIVATE KEY(?: BLOCK)?|KEY) ?-{4,5}")
_BEGIN: Final = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# A line of the body: base64, or a header; behind what a log, a diff or a listing puts before it;
# or a row of such lines with their line breaks escaped.
_BODY: Final = re.compile(
    rb"(?:\s|\\+[nrt]|[\"'+,|>#*]|\d{1,5}[\t|:\xe2])*"
    rb"(?:[A-Za-z0-9+/=]{16,}|[A-Za-z0-9+/]{1,76}={0,2}(?=[\s\"'\\]|$)|=[A-Za-z0-9+/]{4}"
    rb"|(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|Subject|Key-Type):[^\n\\]{0,200})"
)
_TAIL: Final = re.compile(rb"(?:[A-Za-z0-9+/=]{16,}(?:\s|\\+[nrt]|[\"'+,|>#*]|\d{1,5}[\t|:])*)+$")


def whole_key(data: bytes, start: int, end: int) -> int | None:
    """Return where the key ends whose first line is ``data[start:end]``; None: there is no body."""
    limit = min(len(data), start + PEM_BYTES_MAX)
    close = _END.search(data, end, limit)
    again = _BEGIN.search(data, end, limit)
    if close is not None and (again is None or close.start() < again.start()):
        if close.start() - end < 40 and not _has_body(data[end : close.start()]):
            return None
        at = close.end()
        # An escaped line break before the closing quote is the last part of the key's value.
        while data[at : at + 2] == b"\\n" and data[at + 2 : at + 3] in (b'"', b"'", b"\\"):
            at += 2
        return at
    at = end
    while (match := _BODY.match(data, at, limit)) is not None and match.end() > at:
        at = match.end()
    return at if _has_body(data[end:at]) else None


def cut_key(data: bytes, start: int) -> int | None:
    """Return where the body begins whose last line is at *start*, where its first is not there."""
    floor = max(0, start - PEM_BYTES_MAX)
    window = data[floor:start]
    begin = None
    for begin in _BEGIN.finditer(window):
        pass
    last_end = None
    for last_end in _END.finditer(window):
        pass
    if begin is not None and (last_end is None or last_end.start() < begin.start()):
        return None
    match = _TAIL.search(window)
    if match is None or not _has_body(match.group()):
        return None
    return floor + match.start()


def _has_body(text: bytes) -> bool:
    run = re.search(rb"[A-Za-z0-9+/]{24}", text)
    return run is not None and len(set(run.group())) > 8
