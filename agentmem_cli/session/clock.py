"""The one home of the clock and of chance; both can be handed in instead."""

from __future__ import annotations

import os
import time

from agentmem_cli.limits import U64_MAX


def now_ms() -> int:
    """Return the time now, in milliseconds since 1970-01-01 UTC."""
    return time.time_ns() // 1_000_000


def fresh_lineage() -> int:
    """Return a random lineage: 64 bits, never 0 (begun from nothing) or 2**64-1 (detached)."""
    while True:
        number = int.from_bytes(os.urandom(8), "big")
        if 0 < number < U64_MAX:
            return number
