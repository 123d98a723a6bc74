"""Which matches of the engine are secrets, and where exactly they stand.

A rule says where to look; here is decided what is there. Nothing is taken for a
secret by its entropy alone: a value counts because of the vendor's mark that it
bears or of the place that it stands in, and entropy only takes values out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.secrets import commands, kinds, pem, places
from agentmem_cli.operations.secrets.assigned import (
    assigned_key,
    assigned_password,
    assigned_secret,
    is_named_aws,
    whole_password,
)
from agentmem_cli.operations.secrets.extents import trimmed
from agentmem_cli.operations.secrets.helpers import is_told_by_name
from agentmem_cli.operations.secrets.spans import Span
from agentmem_cli.operations.secrets.web_tokens import is_nobodys
from agentmem_cli.operations.secrets.words import is_wordy, likeness

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.operations.secrets.spans import Confidence

    Found = list[tuple[int, int, Confidence | None]]
    Judge = Callable[[bytes, int, int], Found]

_AWS_KEY: Final = "aws-secret-access-key"
_AWS: Final = frozenset({"aws-access-key-id", "aws-session-token"})
_DIGIT: Final = re.compile(rb"\d")
_REPEATED: Final = re.compile(rb"(?i)^[a-z_-]{0,12}(.)\1{7,}$")


def judge(data: bytes, start: int, end: int, rule: str, *, visible: bool = True) -> list[Span]:
    """Return the secrets that *rule* found at ``data[start:end]``: none, one, or several.

    Args:
        data: The text that was searched.
        start: Where the match begins, in bytes.
        end: Where it ends.
        rule: The rule's id.
        visible: False where the catalogue hides the rule, as one that helps others.
    """
    kind, confidence = kinds.kind_of(rule), kinds.confidence_of(rule)
    if not visible and kinds.is_helper(rule):
        confidence = "medium" if is_told_by_name(data, start, end, kinds.vendor_of(rule)) else "low"
    if kind == _AWS_KEY and not is_named_aws(data, start):
        kind = "secret"
    own = _JUDGES.get(kinds.bare(rule))
    if own is not None:
        found = own(data, start, end)
        return [
            Span(first, last, kind, confidence if sure is None else sure, rule)
            for first, last, sure in found
            if last > first
        ]
    if (kind in _AWS and b"EXAMPLE" in data[start:end]) or _REPEATED.search(data[start:end]):
        return []
    if rule.startswith("agentmem."):
        # The catalogue's rules ask for words nearby, or for the end of a value; ours do not.
        end = trimmed(data, start, end, b".")
        if _is_worded(data[start:end]):
            return []
    if _is_within(data, start, end) or (kind == "jwt" and is_nobodys(_text(data, start, end))):
        return []
    return [Span(start, end, kind, confidence, rule)]


def _text(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode("utf-8", "replace")


def _is_worded(token: bytes) -> bool:
    """Is there nothing but a mark and words, as in ``sk_live_your_key``?"""
    return _DIGIT.search(token) is None and is_wordy(token.decode("utf-8", "replace"))


def _is_within(data: bytes, start: int, end: int) -> bool:
    """Is the match a piece of a longer text in base64, in which every mark occurs by chance?"""
    before = _RUN_BEFORE.search(data[max(0, start - _RUN_BYTES) : start])
    after = _RUN.match(data, end, end + _RUN_BYTES)
    run = (before.group() if before else b"") + (after.group() if after else b"")
    return len(run) >= _RUN_BYTES and likeness(run.decode("ascii")) < _WORDS


_RUN_BYTES: Final = 24
_WORDS: Final = 0.55
_RUN: Final = re.compile(rb"[A-Za-z0-9+/_-]+={0,2}")
_RUN_BEFORE: Final = re.compile(rb"[A-Za-z0-9+/_-]*[+/_=-]$")


def _private_key(data: bytes, start: int, end: int) -> Found:
    close = data.find(b"-----", start + 11, end)
    last = pem.whole_key(data, start, close + 5 if close >= 0 else end)
    return [] if last is None else [(start, last, None)]


def _private_key_end(data: bytes, start: int, end: int) -> Found:
    first = pem.cut_key(data, start)
    return [] if first is None else [(first, end, None)]


_JUDGES: Final[dict[str, Judge]] = {
    "private-key": _private_key,
    "private-key-end": _private_key_end,
    "secret": assigned_secret,
    "password": assigned_password,
    "whole-password": whole_password,
    "aws-secret-access-key": assigned_key,
    "url-password": places.url_password,
    "generic-credential-uri": places.url_password,
    "mongodb-connection-string": places.connection,
    "url-user": places.url_user,
    "authorization": places.authorization,
    "bearer-token": places.bearer,
    "basic-credentials": places.basic,
    "curl-auth-header": places.bearer,
    "curl-auth-user": places.user_and_password,
    "curl-user": places.user_and_password,
    "cookie": places.cookies,
    "mnemonic": places.phrase,
    "query-secret": places.query,
    "netrc": places.netrc,
    "pgpass": places.told_password,
    "npm-auth": places.told_secret,
    "docker-auth": places.told_secret,
    "kube-key": places.encoded_key,
    "putty-key": places.encoded_key,
    "kubernetes-secret-yaml": places.member,
    "sql-password": places.told_password,
    "mysql-password": places.told_password,
    "client-password": places.told_password,
    "command-password": commands.command_password,
    "wifi-password": commands.network_key,
    "piped-password": places.told_password,
    "option-secret": places.option,
    "prose-password": places.prose_password,
    "prose-credentials": places.prose_password,
    "prose-secret": places.prose_secret,
    "nuget-config-password": places.told_password,
    "hashicorp-tf-password": places.told_password,
}
"""How the matches of rules are judged that find a place; of all others the match is the secret."""
