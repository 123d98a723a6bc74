"""Which matches of the engine are secrets, and where exactly they stand."""

from __future__ import annotations

from agentmem_cli.operations.secrets import kinds
from agentmem_cli.operations.secrets.spans import Span


def judge(data: bytes, start: int, end: int, rule: str) -> Span | None:
    """Return the secret that *rule* matched at ``data[start:end]``; None: it is none."""
    if kinds.is_helper(rule) or not data[start:end]:
        return None
    return Span(start, end, kinds.kind_of(rule), kinds.confidence_of(rule), rule)
