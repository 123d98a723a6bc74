"""Names that say that what stands beside them is a secret."""

from __future__ import annotations

import re
from typing import Final

_SECRET: Final = re.compile(
    r"pass|pwd|secret|token|api_?key|_key\b|^key\b|auth|cred|cookie|session|^sig$|"
    r"bearer|jwt|dsn|salt|private|license_key|connection_?string|conn_str|webhook|^pin$|otp|"
    r"account_?key|access_?key|shared_?key|mnemonic|seed_?phrase"
)
_OTHER: Final = re.compile(
    r"(?:^|_)(?:ids?|uuid|count|counts|tokens|name|names|type|types|path|file|files|dir|ttl|"
    r"expiry|expires|expires_?(?:in|at)|at|limit|usage|url|uri|policy|length|size|hint|format|"
    r"public_?key|version|field|label|kind|mode|status|state|scopes?|budget)$"
)
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]+")
_LENGTH_MIN: Final = 3
_LENGTH_MAX: Final = 64

_KNOWN_MAX: Final = 10_000


class _Names(dict[str, bool]):
    """What was judged once is looked up: transcripts have few names, and each very often."""

    def __missing__(self, name: str) -> bool:
        if len(self) >= _KNOWN_MAX:
            self.clear()
        judged = self[name] = _judge(name)
        return judged


SECRET_NAMES: Final = _Names()
"""Does a key of this name hold a secret? Counters, ids and times do not."""


def _judge(name: str) -> bool:
    if not _LENGTH_MIN <= len(name) <= _LENGTH_MAX:
        return False
    plain = _CAMEL.sub("_", name.lstrip("-_/")).lower()
    return _SECRET.search(plain) is not None and _OTHER.search(plain) is None
