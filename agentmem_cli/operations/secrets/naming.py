"""Names that say that what stands beside them is a secret."""

from __future__ import annotations

import re
from typing import Final

_SECRET: Final = re.compile(
    r"pass|pwd|secret|token|api_?key|_key\b|^key\b|auth|cred|cookie|session|^sig$|"
    r"bearer|jwt|dsn|salt|private|license_key|connection_?string|conn_str|webhook|^pin$|otp|"
    r"account_?key|access_?key|shared_?key|mnemonic|seed_?phrase|"
    r"kennwort|senha|contrase|пароль|密码"
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


WHOLE: Final = "=\x02"
"""Stands between a password's name and a value that goes to the end of its line, whatever
signs are in it: quotes, backslashes, blanks, or digits alone."""

_PASSWORD: Final = re.compile(
    r"(?i)(?:.*(?:passw(?:or)?d|passphrase|passcode|passwort|kennwort|senha|contrase[nñ]a|пароль|密码)"
    r"|(?:.*[^a-z])?(?:(?:db|smtp|mail|user|admin|root|sudo|ftp|ssh|vpn|wifi|auth|login|redis|mysql"
    r"|pg)?pass|pwd))(?:[_.-]?\d)?"
)
_ODD: Final = re.compile(r"[\s\"'`,;)\]}>\\]")
_WHOLE_MAX: Final = 128


def named(name: str, value: str) -> str:
    """Return what is put before *value*, which stands under a secret's name, for the detector."""
    is_odd = value.isdecimal() or _ODD.search(value) is not None
    if not is_odd or len(value) > _WHOLE_MAX or "\n" in value or not is_password_name(name):
        return f"{name}="
    return f"{name}{WHOLE}"


def is_password_name(name: str) -> bool:
    """Is what stands under *name* a password, by the name's last word?"""
    return len(name) <= _LENGTH_MAX and _PASSWORD.fullmatch(name) is not None


def named_number(name: str, number: int) -> str:
    """Return what the detector is told of *number*, which stands under *name*; "": nothing.

    Not where the name may count those that pass.
    """
    return "" if name.lower() == "pass" or not is_password_name(name) else f"{name}{WHOLE}{number}"


def _judge(name: str) -> bool:
    if not _LENGTH_MIN <= len(name) <= _LENGTH_MAX:
        return False
    plain = _CAMEL.sub("_", name.lstrip("-_/")).lower()
    return _SECRET.search(plain) is not None and _OTHER.search(plain) is None
