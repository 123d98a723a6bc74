"""Secrets made when a test runs, and a detector that knows only these.

No test holds a value that looks like a key of anybody's. The stand-in has the
one method of the real detector, so what is tested with it is what is done with
findings, and not which there are.
"""

from __future__ import annotations

import random
import re
import string
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.secrets.encoded import decoded
from agentmem_cli.operations.secrets.looking import Looking
from agentmem_cli.operations.secrets.masks import Masks
from agentmem_cli.operations.secrets.spans import Span, Spans, merged

if TYPE_CHECKING:
    from agentmem_cli.operations.secrets.given import Given
    from agentmem_cli.operations.secrets.spans import Confidence

LETTERS: Final = string.ascii_letters + string.digits
KEY: Final = bytes(range(32))
"""The key of masks in tests."""

_RULES: Final[tuple[tuple[str, str, Confidence], ...]] = (
    (r"tok_[A-Za-z0-9]{24}", "vendor-token", "high"),
    (
        r"(?:password|api_key)[\"']?\s{0,4}[=:]\s{0,4}[\"']?([^\s\"'\\\]]{4,})",
        "password",
        "medium",
    ),
    (r"pw is ([^\s\"'\\]{6,})", "password", "low"),
    (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        "private-key",
        "high",
    ),
)


def made(seed: int, size: int, alphabet: str = LETTERS) -> str:
    """Return *size* characters that look like nothing."""
    chosen = random.Random(seed)
    return "".join(chosen.choice(alphabet) for _ in range(size))


def token(seed: int = 1) -> str:
    """Return a token of the form that the stand-in knows."""
    return f"tok_{made(seed, 24)}"


def pem(seed: int = 1, lines: int = 6) -> str:
    """Return a private key as it stands in a file."""
    label = "RSA PRIVATE KEY"
    body = "\n".join(made(seed + n, 64, LETTERS + "+/") for n in range(lines))
    return f"-----BEGIN {label}-----\n{body}\n{made(seed + 99, 22)}==\n-----END {label}-----"


class StandIn:
    """Finds what `token`, `pem` and plain assignments look like."""

    def __init__(self, cap: int = 1_000_000) -> None:
        self.cap = cap
        self._rules = [(re.compile(rule.encode()), kind, sure) for rule, kind, sure in _RULES]

    @property
    def is_ready(self) -> bool:
        """Whether a look begins at once."""
        return True

    def kinds(self) -> frozenset[str]:
        """Return what it finds."""
        return frozenset(kind for _, kind, _ in _RULES)

    def scan(self, data: bytes) -> Spans:
        """Return what is found; no more than the cap."""
        every: list[Span] = []
        for rule, kind, sure in self._rules:
            for found in rule.finditer(data):
                start, end = found.span(rule.groups)
                every.append(Span(start, end, kind, sure, f"test.{kind}"))
        every += _in_base64(data)
        spans = merged(sorted(every)[: self.cap])
        spans.capped = max(0, len(every) - self.cap)
        return spans


def _in_base64(data: bytes) -> list[Span]:
    found = []
    for blob in re.finditer(rb"[A-Za-z0-9+/]{32,}={0,2}", data):
        plain = decoded(blob[0])
        if plain is not None and re.search(rb"tok_[A-Za-z0-9]{24}", plain):
            found.append(Span(*blob.span(), "vendor-token", "high", "test.base64"))
    return found


def looking(
    given: Given | None = None, *, aggressive: bool = False, cap: int = 1_000_000
) -> Looking:
    """Return a look with the stand-in."""
    wanted = Looking(StandIn(cap), Masks(KEY), aggressive=aggressive, threads=2)
    return wanted if given is None else wanted._replace(given=given)
