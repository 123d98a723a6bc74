"""Findings as they may be told: where and of what kind, and nothing of what was found.

A place can be named by a secret (a file's name, a key on the way to a
string), so every word of a place goes through `Veil` first.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.operations.secrets.findings import Finding, Findings
    from agentmem_cli.operations.secrets.literals import Automaton
    from agentmem_cli.operations.secrets.masks import Masks

VEILED = "[...]"
"""What is shown in the place of a value."""

BLOBS = "files/blobs/"
"""How the names of blobs begin in findings."""

_WORD_MAX = 60
"""Characters of a key that are shown."""


class Row(NamedTuple):
    """One finding."""

    session: str | None
    """The session that it is of; None: a file outside any."""
    name: str
    """Its log or file."""
    line: int
    """Counted from 1; 0: the name itself, or the file as a whole."""
    seq: int | None
    """Its record's number in the log."""
    n: int | None
    """Its record's place in the session."""
    path: str
    """The keys and indices that lead to its string; "" for text."""
    is_key: bool
    kind: str
    confidence: str
    rule: str
    fate: str
    """``mask``, or why it is not masked: see `findings.Finding`."""
    fingerprint: str
    """Tells that two values are the same, and nothing else; "" where none is wanted."""


class Skipped(NamedTuple):
    """Something that could not be looked into."""

    session: str | None
    name: str
    line: int
    why: str


class Veil:
    """Hides every value that was found from what is told."""

    def __init__(self, values: Iterable[str]) -> None:
        """Hide *values*; those that overlap are hidden as one."""
        self._values = [_bytes(value) for value in {*values} if value]
        self._search: Automaton | None = None
        self._told: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """Return *text* with every value hidden."""
        told = self._told.get(text)
        if told is None:
            if len(self._told) >= _TOLD_MAX:
                self._told.clear()
            told = self._told[text] = self._hidden(_bytes(text)) if self._values else text
        return told

    def _hidden(self, text: bytes) -> str:
        # Why not value by value: there may be as many as there are texts.
        if self._search is None:
            from agentmem_cli.operations.secrets.literals import automaton

            self._search = automaton(self._values, overlapping=True)
        pieces: list[bytes] = []
        at = 0
        found = self._search.find_matches_as_indexes(text, overlapping=True)
        for _, start, end in sorted(found, key=itemgetter(1)):
            if start >= at:
                pieces += (text[at:start], VEILED.encode())
            at = max(at, end)
        return b"".join((*pieces, text[at:])).decode("utf-8", "surrogatepass")

    def path(self, path: Iterable[str | int]) -> str:
        """Write the way to a string: ``message.content[0].text``."""
        told = ""
        for part in path:
            if isinstance(part, int):
                told += f"[{part}]"
            else:
                word = self(part)
                word = word if len(word) <= _WORD_MAX else f"{word[:_WORD_MAX]}…"
                told += f".{word}" if told else word
        return told


_TOLD_MAX: Final = 10_000
"""Texts whose telling is kept, as most are asked for again: paths of files, keys."""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def rows_of(
    findings: Findings,
    masks: Masks,
    session: str | None,
    *,
    fingerprints: bool = True,
    also: Iterable[str] = (),
) -> list[Row]:
    """Return what may be told of *findings*, with or without fingerprints; *also* is hidden."""
    veil = Veil({*also, *(finding.value for finding in findings.rows)})
    session = None if session is None else veil(session)
    return [
        _row(finding, masks if fingerprints else None, session, veil) for finding in findings.rows
    ]


def _row(finding: Finding, masks: Masks | None, session: str | None, veil: Veil) -> Row:
    place = finding.place
    return Row(
        session,
        veil(place.name),
        place.line,
        None if place.stamp is None else place.stamp[0],
        None if place.stamp is None else place.stamp[1],
        veil.path(finding.path),
        finding.is_key,
        finding.kind,
        finding.confidence,
        finding.rule,
        finding.fate,
        "" if masks is None else masks.fingerprint(finding.value),
    )


def skipped_of(findings: Findings, session: str | None, also: Iterable[str] = ()) -> list[Skipped]:
    """Return what could not be looked into; *also* is hidden."""
    veil = Veil({*also, *(finding.value for finding in findings.rows)})
    session = None if session is None else veil(session)
    return [
        Skipped(session, veil(each.place.name), each.place.line, veil(each.why))
        for each in findings.unread
    ]
