"""The stamp that every record carries."""

from __future__ import annotations

from typing import NamedTuple


class Stamp(NamedTuple):
    """Where and when a record was made.

    Source: DESIGN.md, "Stamps".
    """

    n: int
    """Place among all the session's records in the order they were made, from 0."""
    seq: int
    """Place in its log, dense from the header's 0."""
    t: int
    """When it was written: milliseconds since 1970-01-01 UTC. May go backwards."""
