"""Which names a store takes, checked before the disk is touched.

Names can come from what a log says (a blob's name), so every store checks
every one of them. They are ``/``-separated and relative whatever the system.
"""

from __future__ import annotations

import os
import re

from agentmem_cli.limits import NAME_PART_BYTES_MAX
from agentmem_cli.storage.layout import LOG_END, PART, TRASH

_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"]
)


_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,200}")


def check_name(name: str) -> None:
    r"""Refuse *name* unless it can stand for a file inside a store.

    A good name is relative and ``/``-separated, has no empty, ``.`` or ``..``
    part, no ``\``, no control character, at most ``NAME_PART_BYTES_MAX``
    bytes of UTF-8 a part, and no part that ends as leftovers do.

    Args:
        name: The name as a caller or a log gives it.

    Raises:
        ValueError: It is no such name; the text says why.
    """
    if not name:
        raise ValueError("a name must not be empty")
    if name.startswith("/"):
        raise ValueError(f"the name {name!r} is not relative")
    if "\\" in name:
        raise ValueError(f"the name {name!r} has a backslash")
    if not name.isprintable() and any(_is_control(character) for character in name):
        raise ValueError(f"the name {name!r} has a control character")
    for part in name.split("/"):
        why = _fault(part)
        if why:
            raise ValueError(f"the name {name!r} has {why}")


def check_log_name(name: str) -> None:
    """Refuse *name* unless it can name a log: one part, room for ``.jsonl``.

    Args:
        name: A log's name, without folder and ending.

    Raises:
        ValueError: It is no such name; the text says why.
    """
    check_name(name)
    if "/" in name:
        raise ValueError(f"the log name {name!r} has more than one part")
    if len(name.encode()) + len(LOG_END) > NAME_PART_BYTES_MAX:
        raise ValueError(f"the log name {name!r} is too long")


def is_log_name(name: str) -> bool:
    """Return whether *name* passes `check_log_name`."""
    # Why: a listing asks for 10,000 logs, and almost every name is of the plain kind.
    if _PLAIN.fullmatch(name) and not name.endswith((PART, TRASH)) and os.name != "nt":
        return name not in {".", ".."}
    try:
        check_log_name(name)
    except ValueError:
        return False
    return True


def is_name(name: str) -> bool:
    """Return whether *name* passes `check_name`."""
    try:
        check_name(name)
    except ValueError:
        return False
    return True


def _is_control(character: str) -> bool:
    # C0, DEL and C1: the whole of Unicode's category Cc.
    return character < " " or "\x7f" <= character <= "\x9f"


def _fault(part: str) -> str:
    """Return what is wrong with one *part* of a name, or an empty text."""
    if not part:
        return "an empty part"
    if part in {".", ".."}:
        return f"the part {part!r}"
    if part.endswith((PART, TRASH)):
        return f"a part that ends like a leftover ({PART}, {TRASH})"
    try:
        size = len(part.encode())
    except UnicodeEncodeError:
        return "half a character (a lone surrogate)"
    if size > NAME_PART_BYTES_MAX:
        return f"a part of {size} bytes (at most {NAME_PART_BYTES_MAX})"
    return _windows_fault(part) if os.name == "nt" else ""


def _windows_fault(part: str) -> str:
    # Windows would take these for something else: a stream, a device, another name.
    if any(character in '<>:"|?*' for character in part):
        return "a character that Windows does not take"
    if part[-1] in ". ":
        return "a part that ends in a dot or a space, which Windows drops"
    if part.partition(".")[0].rstrip(" ").lower() in _DEVICES:
        return f"the part {part!r}, a device on Windows"
    return ""
