"""Kinds of damage to a log, and what `verify` and `repair` say of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def _torn(lines: list[bytes], _: int) -> bytes | None:
    return b"".join(lines) + lines[-1][: len(lines[-1]) // 2]


def _zeros(lines: list[bytes], place: int) -> bytes | None:
    return _put(lines, place, b"\0" * 40 + b"\n")


def _half(lines: list[bytes], place: int) -> bytes | None:
    at = 1 + place % len(lines[1:] or lines)
    return _put(lines, place, lines[at % len(lines)][:30] + b"\n")


def _put(lines: list[bytes], place: int, junk: bytes) -> bytes | None:
    """Put *junk* somewhere between the header and the last record."""
    if len(lines) < 2:
        return None
    at = 1 + place % (len(lines) - 1)
    return b"".join([*lines[:at], junk, *lines[at:]])


def _glued(lines: list[bytes], place: int) -> bytes | None:
    if len(lines) < 3:
        return None
    at = 1 + place % (len(lines) - 2)
    return b"".join([*lines[:at], lines[at][:-1], *lines[at + 1 :]])


def _twice(lines: list[bytes], place: int) -> bytes | None:
    if len(lines) < 2:
        return None
    at = 1 + place % (len(lines) - 1)
    return b"".join([*lines[: at + 1], *lines[at:]])


def _cut(lines: list[bytes], _: int) -> bytes | None:
    return b"".join(lines)[: -len(lines[-1]) // 2]


HURTS: dict[str, Callable[[list[bytes], int], bytes | None]] = {
    "torn": _torn,
    "zeros": _zeros,
    "half": _half,
    "glued": _glued,
    "twice": _twice,
    "cut": _cut,
    "meta": lambda lines, _: b"".join(lines),
}
"""What can be done to a log; a record is lost by `cut` alone."""

NAMED: dict[str | None, set[str]] = {
    None: set(),
    "torn": {"torn-tail"},
    "zeros": {"zeroed"},
    "half": {"not-json"},
    "glued": {"welded", "shorter-log"},
    "cut": {"torn-tail", "shorter-log"},
    "twice": {"stamp", "not-applied", "unasked-result"},
    "meta": {"meta"},
}
"""How `verify` calls it."""
MENDED = {
    "torn": {"torn-tail"},
    "cut": {"torn-tail"},
    "zeros": {"set-aside"},
    "half": {"set-aside"},
    "glued": {"salvaged"},
    "twice": {"copy"},
    "meta": {"meta"},
}
"""What `repair` says that it did."""
NOTICED = {"consecutive-replies", "unanswered-call", "stale-meta", "shorter-log", "lost-record"}
"""What `verify` tells of sessions to which nothing was done."""
