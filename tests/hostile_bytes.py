"""Some megabytes of each kind that a reader may take too much time, memory or stack for."""

from __future__ import annotations

from typing import Final

MIB: Final = 1 << 20

STAMP: Final = b'"seq":2,"n":2,"t":1767225602000'
"""What makes an object a record of a log, without its braces."""


def _within(record: bytes, value: bytes) -> bytes:
    return b"{" + record + b',"value":' + value + b"}"


ANYWHERE: Final = {
    "arrays that never close": b"[" * (3 * MIB),
    "objects that never close": b'{"a":' * 600_000,
    "brackets that close nothing": b"]}" * (3 * MIB // 2),
    "an object in 300,000 others": b'{"a":' * 300_000 + b"1" + b"}" * 300_000,
    "two million digits": b"7" * (2 * MIB),
    "a string of escapes": b'"' + b'\\u00e9\\n\\"\\ud83d' * 170_000 + b'"',
    "a string that never ends": b'"' + b"\\\\" * (3 * MIB // 2),
    "quotation marks": b'"' * (3 * MIB),
    "beginnings of objects": b'{"' * (3 * MIB // 2),
    "one text without a line end": b"x" * (4 * MIB),
    "words": b"key = value ==> other: " * 140_000,
    "NULs": b"\0" * (3 * MIB),
    "bytes that are no UTF-8": b"\xff" * (3 * MIB),
    "marks of a byte order": b"\xef\xbb\xbf" * MIB,
    "carriage returns": b"\r" * (3 * MIB),
    "a million blank lines": b"\n" * 1_000_000,
    "200,000 tiny objects": b'{"a":1}\n' * 200_000,
    "200,000 tiny lines": b"a=b ==> c\n" * 200_000,
    "250,000 keys": b"{" + b",".join(b'"k%d":0' % at for at in range(250_000)) + b"}",
    "one key 500,000 times": b"{" + b",".join([b'"k":0'] * 500_000) + b"}",
    "a million numbers": b"[" + b",".join([b"0"] * 1_000_000) + b"]",
}
"""For any reader."""

RECORDS: Final = {
    "a deep value": _within(
        STAMP + b',"type":"state","key":"k"', b'{"a":' * 300_000 + b"1" + b"}" * 300_000
    ),
    "a long number": _within(STAMP + b',"type":"state","key":"k"', b"7" * (2 * MIB)),
    "a long fraction": _within(
        STAMP + b',"type":"state","key":"k"', b"0." + b"7" * MIB + b"e" + b"9" * MIB
    ),
    "a long stamp": b'{"seq":' + b"7" * (2 * MIB) + b',"n":2,"t":0,"type":"state"}',
    "a long text of escapes": b"{"
    + STAMP
    + b',"type":"push","entries":[{"id":1,"message":{"role":"user","content":[{"type":"text",'
    + b'"text":"'
    + b'\\u00e9\\n\\"\\ud83d' * 130_000
    + b'"}]}}]}',
    "100,000 records without a type": (b"{" + STAMP + b"}\n") * 100_000,
    "50,000 records of one place": (b"{" + STAMP + b',"type":"state","key":"k","value":1}\n')
    * 50_000,
    "100,000 cut records on a line": (b"{" + STAMP + b',"type":"pu') * 80_000,
    "20,000 records on a line": (b"{" + STAMP + b',"type":"state","key":"k","value":1}') * 40_000,
    "NULs before a record": b"\0" * (3 * MIB) + b"{" + STAMP + b',"type":"retired"}',
}
"""For what reads records of a log, besides."""
