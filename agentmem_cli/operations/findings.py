"""What a verification found, and how much it looked at."""

from __future__ import annotations

from typing import Final, NamedTuple

PROBLEM: Final = "problem"
"""Damage, or what breaks a promise: the exit status is 1."""
NOTICE: Final = "notice"
"""Worth knowing, no damage: the exit status stays 0."""


class Finding(NamedTuple):
    """One place that is not as it should be."""

    level: str
    """`PROBLEM` or `NOTICE`."""
    kind: str
    """A word that scripts can rely on."""
    where: str
    """The log or file it is in; empty: the session itself."""
    line: int | None
    """The line of the log, from 1."""
    byte: int | None
    """Where it begins, in bytes from the beginning."""
    length: int | None
    """How many bytes it concerns."""
    why: str


class Checked(NamedTuple):
    """How much was read."""

    logs: int
    records: int
    messages: int
    blobs: int
    bytes: int
    unchecked_files: int
    """Plugins' files: their bytes are theirs, and were not looked into."""


class Report(NamedTuple):
    """What a verification found."""

    findings: tuple[Finding, ...]
    checked: Checked

    @property
    def problems(self) -> int:
        """How many findings are problems."""
        return sum(finding.level == PROBLEM for finding in self.findings)
