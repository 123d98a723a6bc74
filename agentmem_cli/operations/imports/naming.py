"""Names that are safe as files, made of names that came from outside."""

from __future__ import annotations

import re
from typing import Final

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")

_BYTES_MAX: Final = 120
"""Bytes of a safe name: short enough that endings can be added on every file system."""

_DIGEST_DIGITS: Final = 10

_RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)")
"""What Windows takes for a device, whatever follows the dot."""

_ENDINGS = (".", ".rig-part", ".rig-trash")


def safe_name(name: str) -> str:
    """Return *name* as a single file name that every system takes.

    A name of letters, digits, ``.``, ``_`` and ``-`` stays as it is. Where
    something had to be replaced or cut, a digest of the whole name is added,
    so that two names never become one.
    """
    safe = _UNSAFE.sub("_", name)
    lossless = (
        safe == name
        and 0 < len(safe) <= _BYTES_MAX
        and not safe.startswith(".")
        and not safe.lower().endswith(_ENDINGS)
        and _RESERVED.match(safe) is None
    )
    if lossless:
        return safe
    import hashlib

    encoded = name.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(encoded).hexdigest()[:_DIGEST_DIGITS]
    stem = safe[: _BYTES_MAX - _DIGEST_DIGITS - 1].strip("._")
    if _RESERVED.match(stem):
        stem = f"_{stem}"
    return f"{stem}-{digest}" if stem else digest


def safe_path(name: str) -> str:
    """Return a ``/``-separated *name* with every part made safe; empty and dot parts go."""
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    return "/".join(safe_name(part) for part in parts) or safe_name(name)


def session_name(kind: str, session: str) -> str:
    """Return the folder name of an imported session: ``<kind>-<id made safe>``."""
    return f"{kind}-{safe_name(session)}"
