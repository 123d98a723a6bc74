"""What a session's own files say of its logs: their names, and the fields of the form.

The meta says how long each log is, a map which log an import went to. No rewrite
renames a log, so a mask there would make it seem lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agentmem_cli.operations.imports.maps import FOLDER, MAP_END
from agentmem_cli.session.forms import is_meta_form
from agentmem_cli.session.meta import META

if TYPE_CHECKING:
    from agentmem_cli.session.tokens import Path

Book: TypeAlias = Literal["meta", "map"]
"""A file of a session that this program keeps for itself."""

_FILES: Final = "files/"
_HEADER: Final = frozenset(
    {"map", "kind", "source", "agent", "size", "whole", "lines", "items", "kept", "key", "digest"}
    | {"imported", "ends", "body", "seen", "made", "path", "rewritten"}
)
_ITEM: Final = frozenset(
    {"line", "n", "fp", "id", "raw", "log", "aside", "key", "value", "open", "blobs", "awaited"}
    | {"time"}
)
_OURS: Final = ("listed", "agentmem")


def book_of(where: str) -> Book | None:
    """Say which of our own files a source is, by what it is called in findings; None: another."""
    if not where.startswith(_FILES):
        return None
    name = where.removeprefix(_FILES)
    if name == META:
        return "meta"
    return "map" if name.startswith(FOLDER) and name.endswith(MAP_END) else None


def part_of_book(book: Book, path: Path, text: str, *, is_key: bool) -> str | None:
    """Say what a string of such a file is: ``name`` of a log or session, ``field``; None: words.

    Args:
        book: The file.
        path: Where it stands in its JSON.
        text: What it says.
        is_key: Whether it is a key.
    """
    if book == "map":
        return _in_map(path, is_key=is_key)
    if not is_meta_form(path, is_key=is_key, text=text):
        return None
    is_field = is_key and (len(path) < 3 or (path[:2] == _OURS and len(path) == 3))  # noqa: PLR2004 - listed.agentmem.logs
    return "field" if is_field or (is_key and path[1] in ("forked_from", "part_of")) else "name"


def _in_map(path: Path, *, is_key: bool) -> str | None:
    if is_key and len(path) == 1:
        return "field" if path[0] in _HEADER or path[0] in _ITEM else None
    if is_key:
        return "name" if path[0] == "ends" else None
    return "name" if path in {("agent",), ("log",)} else None
