"""What TAB offers for a value, by what stands for it in the help."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SESSIONS: Final = "@sessions"
AGENTS: Final = "@agents"
PLACES: Final = "@places"
MESSAGES: Final = "@messages"
KEYS: Final = "@keys"
FILES: Final = "@files"
FOLDERS: Final = "@folders"

# A value whose words stand in the program: they are asked there, so that none is missed.
_LISTS: Final = {
    "list --sort": "agentmem_cli.operations.listing:SORTS",
    "show --format": "agentmem_cli.cli.shown:FORMATS",
    "log --kind": "agentmem_cli.operations.records:TYPES",
    "export --as": "agentmem_cli.cli.exported:FORMS",
    "export --shape": "agentmem_cli.cli.exported:SHAPES",
    "grep --role": "agentmem_cli.cli.found:ROLES",
    "append --role": "agentmem_cli.operations.given:ROLES",
    "core export --format": "agentmem_cli.cli.core_files:FORMATS",
    "import --from": "agentmem_cli.operations.imports.sniff:kinds",
}

# Values that are one of a few words, which the help names.
_NAMED_IN_HELP: Final = frozenset(
    {"BY", "FORM", "FORMAT", "GROUPS", "HOW", "KIND", "ROLE", "SHAPE", "SHELL", "TYPE"}
)
_ROW: Final = re.compile(r"(?:[a-z0-9-]+, )*[a-z0-9-]+(?: it)?,? or [a-z0-9-]+")

_WORDS: Final = {
    "TIME": ("today", "yesterday", "1h", "2h", "1d", "7d", "30d"),
    "LENGTH": ("1h", "12h", "1d", "7d", "30d", "90d"),
    "SIZE": ("100kB", "1MB", "10MB", "100MB", "1GB"),
}
_DYNAMIC: Final = {
    "SESSION": SESSIONS,
    "ID": AGENTS,
    "PLACE": PLACES,
    "MESSAGE": MESSAGES,
    "FILE": FILES,
    "PATH": FILES,
    "SOURCE": FILES,
    "DIR": FOLDERS,
    "FOLDER": FOLDERS,
}

_WITH_SAVED: Final = ("value", "log")
"""Commands whose KEY is that of a saved value, not of a label."""


def offered(key: str, metavar: str, told: str, listed: Sequence[str]) -> tuple[str, ...]:
    """Return what TAB offers for a value.

    Args:
        key: The command and the option: ``show --format``.
        metavar: What stands for the value.
        told: The help of the option.
        listed: What the option itself offers.

    Returns:
        Words, or one of the names above; nothing where nothing is known.
    """
    if key in _LISTS:
        return _list(_LISTS[key])
    if listed:
        return tuple(listed)
    name = re.sub(r"[^A-Z=: ]", "", metavar).split(" ")[-1]
    if name == "KEY" and key.partition(" ")[0] in _WITH_SAVED:
        return (KEYS,)
    # The places of `diff` are called A and B.
    if name in _DYNAMIC or "mN, ~N" in told:
        return (_DYNAMIC.get(name, PLACES),)
    if name in _WORDS:
        return _WORDS[name]
    return _in_help(told) if name in _NAMED_IN_HELP else ()


def _list(place: str) -> tuple[str, ...]:
    module_name, _, name = place.partition(":")
    found: Iterable[str] | Callable[[], Iterable[str]] = getattr(import_module(module_name), name)
    return tuple(found() if callable(found) else found)


def _in_help(told: str) -> tuple[str, ...]:
    """Read the words of ``text, markdown or json`` out of a line of help."""
    rows = [row[0] for row in _ROW.finditer(told)]
    longest = max(rows, key=lambda row: row.count(",") * 1_000 + len(row), default="")
    return tuple(re.split(r"(?: it)?,? or |, ", longest)) if longest else ()
