"""Ids, hosts and names of accounts, which the catalogue knows only as helpers of a secret.

Alone they open nothing, and in prose, in addresses and in lists they are left. But
where settings give one to its vendor's own name (``PLIVO_AUTH_ID=...``) it tells
which account is meant, and most often the secret stands in the line below.
"""

from __future__ import annotations

import re
from typing import Final

from agentmem_cli.operations.secrets.plausible import is_code, is_example, is_reference
from agentmem_cli.operations.secrets.words import is_wordy

_NAME: Final = re.compile(
    rb"([A-Za-z][A-Za-z0-9_. -]{0,60}?)\\?[\"'`]?\s{0,3}(?::=|=>|[:=])\s{0,3}\\?[\"'`]?(?:https?://)?$"
)
"""A name that is given what follows."""

_NAME_BYTES: Final = 100
_END: Final = re.compile(rb"[\s\"'`;,)\]}\\]|$")


def is_told_by_name(data: bytes, start: int, end: int, vendor: str) -> bool:
    """Is the helper at ``data[start:end]`` given to a name in settings, and *vendor* named there?

    Args:
        data: The text.
        start: Where it begins, in bytes.
        end: Where it ends.
        vendor: The word that its name, or itself, must have in it.
    """
    line = data.rfind(b"\n", max(0, start - _NAME_BYTES), start) + 1
    name = _NAME.search(data[max(line, start - _NAME_BYTES) : start])
    if name is None or _END.match(data, end) is None:
        return False
    value = data[start:end].decode("utf-8", "replace")
    if vendor not in name[1].decode("ascii").lower() and vendor not in value.lower():
        return False
    if is_reference(value) or is_example(value) or (is_code(value) and "." not in value):
        return False
    return any(each.isdigit() for each in value) or "-" in value or not is_wordy(value)
