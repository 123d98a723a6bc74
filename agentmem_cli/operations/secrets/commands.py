"""Passwords that stand on command lines and in the settings of wireless networks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.secrets.places import told_password
from agentmem_cli.operations.secrets.plausible import is_code, is_example, is_hex, is_reference

if TYPE_CHECKING:
    from agentmem_cli.operations.secrets.spans import Confidence

    Found = list[tuple[int, int, Confidence | None]]

_SAID: Final = re.compile(
    rb"(?i)(?:options?|flags?|arguments?|switch|parameters?|which|that|this|these|with|without|you|"
    rb"but|instead|because|when|where|how|can|will|does|must|should|may|not|now|also|then|file|to|"
    rb"for|and|the|is|from|using|utility|command|tool|means|sets?|takes?|asks?|prompts?)[.,:;)]*"
)
"""Words that go on with a sentence about a command, where the command would have a password."""

_NETWORK: Final = re.compile(rb"[\w-]+\s*[=:]\s*\\?([\"']?)")
_NEAR_BYTES: Final = 300
"""Bytes on either side of a key in which its network's name stands."""

_KEY_MIN: Final = 8
_RAW_KEY: Final = 64


def command_password(data: bytes, start: int, end: int) -> Found:
    """Judge what stands where a command has its password; a plain word may be one."""
    before = data[max(0, start - 40) : start].rstrip(b" \t\"'\\").rpartition(b" ")[2]
    if _SAID.fullmatch(data[start:end]) or _SAID.fullmatch(before):
        return []
    return told_password(data, start, end)


def network_key(data: bytes, start: int, end: int) -> Found:
    """Judge the key of a wireless network; the match begins at its name.

    A plain word counts in quotes, or where the network's name stands near.
    """
    match = _NETWORK.match(data, start, end)
    if match is None:
        return []
    first = match.end()
    value = data[first:end].rstrip(b"\\").decode("utf-8", "replace")
    if len(value) < _KEY_MIN or is_reference(value) or is_example(value) or is_code(value):
        return []
    is_sure = match[1] or any(each.isdigit() for each in value)
    if not is_sure and not data[start:first].lower().startswith(b"wpa_passphrase"):
        near = data[max(0, start - _NEAR_BYTES) : end + _NEAR_BYTES].lower()
        if b"ssid" not in near:
            return []
    if is_hex(value) and len(value) > _KEY_MIN and len(value) != _RAW_KEY:
        return []
    return [(first, first + len(value.encode()), None)]
