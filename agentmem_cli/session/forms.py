"""Which strings of a record are its form, and what of a record a rewrite must leave.

A rewrite that maps every string would make records unreadable if it mapped the
names of fields and the tags by which a reader tells one thing from another. So
these are told apart by where they stand. What a person, a model or a tool
wrote is never form, whatever its keys are called.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.session.images import REFERENCE
from agentmem_cli.session.keys import CURRENT, FORKED_FROM, MODEL, NAME, TITLE

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.tokens import Path

_RECORD: Final = frozenset(
    {"seq", "n", "t", "by", "type", "format", "log", "lineage", "parent", "rewrites"}
    | {"key", "value", "entries", "from", "to", "removed", "with", "halt", "id", "aside", "state"}
)
_RECORD_TAGS: Final = frozenset({"type", "format", "log", "parent", "halt"})
_STATE: Final = frozenset({"entries", "asides", "halt", "next_message", "next_aside"})
_ENTRY: Final = frozenset({"message", "author", "id", "made"})
_ASIDE: Final = frozenset({"kind", "after", "author", "value", "saved"})
_AUTHOR: Final = frozenset({"kind", "from", "request", "title"})
_MESSAGE: Final = frozenset({"role", "content", "id", "name", "origin", "stop", "native"})
_PART: Final = frozenset(
    {"type", "text", "data", "media_type", "detail", "native", "signature", "value"}
    | {"id", "function", "call", "name", "content", "is_error"}
)
_CALL_IDS: Final = frozenset({"provider", "local"})
_META: Final = frozenset({"title", "labels", "updated", "model", "messages", "listed"})

FORM_KEYS: Final = frozenset({MODEL, TITLE, CURRENT, FORKED_FROM, NAME})
"""Keys of saved values that the format itself knows."""

NAMING: Final = frozenset({CURRENT, FORKED_FROM})
"""Those whose values name agents and sessions: what a rewrite cannot rename."""

_BLOB: Final = re.compile(re.escape(REFERENCE) + r"[0-9a-f]{64}\.[a-z0-9]+")


def is_form(path: Path, *, is_key: bool, text: str) -> bool:
    """Whether a string of a record is part of the record's form.

    Args:
        path: Where it stands in the record, as `tokens.Token.path` says it.
        is_key: Whether it is a key.
        text: What it says.
    """
    first, rest = path[0] if path else None, path[1:]
    if not rest:
        return _is_top(first, is_key=is_key, text=text)
    if first == "by":
        return _is_author(rest, is_key=is_key)
    if first == "rewrites":
        return _is_rewrite(rest, is_key=is_key)
    if first in ("entries", "with"):
        return _is_entry(rest[1:], is_key=is_key, text=text)
    if first == "aside":
        return _is_aside(rest, is_key=is_key)
    return first == "state" and _is_state(rest, is_key=is_key, text=text)


def _is_top(name: str | int | None, *, is_key: bool, text: str) -> bool:
    if is_key:
        return name in _RECORD
    return name in _RECORD_TAGS or (name == "key" and text in FORM_KEYS)


def _is_rewrite(path: Path, *, is_key: bool) -> bool:
    inner = path[1:]
    if len(inner) == 1:
        return is_key and inner[0] in ("t", "by")
    return bool(inner) and inner[0] == "by" and _is_author(inner[1:], is_key=is_key)


def _is_state(path: Path, *, is_key: bool, text: str) -> bool:
    first, rest = path[0], path[1:]
    if not rest:
        return first in _STATE if is_key else first == "halt"
    if first == "entries":
        return _is_entry(rest[1:], is_key=is_key, text=text)
    if first != "asides" or len(rest) < 2:  # noqa: PLR2004 - index and key
        return False
    if len(rest) == 2:  # noqa: PLR2004 - the same
        return is_key and rest[1] in ("id", "aside")
    return rest[1] == "aside" and _is_aside(rest[2:], is_key=is_key)


def _is_entry(path: Path, *, is_key: bool, text: str) -> bool:
    if len(path) == 1:
        return is_key and path[0] in _ENTRY
    if not path:
        return False
    if path[0] == "author":
        return _is_author(path[1:], is_key=is_key)
    return path[0] == "message" and is_message_form(path[1:], is_key=is_key, text=text)


def _is_author(path: Path, *, is_key: bool) -> bool:
    if len(path) == 1:
        return path[0] in _AUTHOR if is_key else path[0] in ("kind", "from")
    return path == ("kind", "plugin")


def _is_aside(path: Path, *, is_key: bool) -> bool:
    if len(path) == 1:
        return path[0] in _ASIDE if is_key else path[0] == "kind"
    return path[0] == "author" and _is_author(path[1:], is_key=is_key)


def is_author_form(path: Path, *, is_key: bool, text: str) -> bool:  # noqa: ARG001 - as the others
    """Whether a string of an author, at *path* within it, is form."""
    return _is_author(path, is_key=is_key)


def is_aside_form(path: Path, *, is_key: bool, text: str) -> bool:  # noqa: ARG001 - as the others
    """Whether a string of a side record, at *path* within it, is form."""
    return _is_aside(path, is_key=is_key)


def is_message_form(path: Path, *, is_key: bool, text: str) -> bool:
    """Whether a string of a message, at *path* within it, is form."""
    first = path[0]
    if len(path) == 1:
        return first in _MESSAGE if is_key else first in ("role", "stop")
    if first == "stop":
        return len(path) == 2 and (is_key or path[1] in ("kind", "type"))  # noqa: PLR2004 - stop.kind
    if first != "content" or not isinstance(path[1], int):
        return False
    return _is_part(path[2:], is_key=is_key, text=text, inner=False)


def _is_part(path: Path, *, is_key: bool, text: str, inner: bool) -> bool:
    first = path[0] if path else None
    if len(path) == 1:
        return first in _PART if is_key else first in ("type", "media_type")
    if first == "content":
        deeper = not inner and isinstance(path[1], int)
        return deeper and _is_part(path[2:], is_key=is_key, text=text, inner=True)
    if len(path) != 2:  # noqa: PLR2004 - what follows stands right below the part
        return False
    last = path[1]
    if first == "data":
        is_tag = last == "type" or (last == "value" and bool(_BLOB.fullmatch(text)))
        return last in ("type", "value") if is_key else is_tag
    if first == "function":
        return is_key and last in ("name", "arguments")
    return first in ("id", "call") and is_key and last in _CALL_IDS


def is_meta_form(path: Path, *, is_key: bool, text: str) -> bool:  # noqa: ARG001 - as the others
    """Whether a string of a session's meta is form: its fields, and names of logs and sessions."""
    if len(path) == 1:
        return is_key and path[0] in _META
    if not path or path[0] != "listed":
        return False
    if len(path) == 2:  # noqa: PLR2004 - listed.names
        return is_key and path[1] in ("agentmem", "names", "forked_from", "part_of", "cwd")
    return path[1] in ("agentmem", "forked_from", "part_of") or (is_key and path[1] == "names")


def form_of(fields: Object) -> JSON:
    """Return all of a record that a rewrite must leave: whatever decides how it folds.

    Two records of the same form are read and applied alike: stamps, types,
    ids and places are equal, and only what they say differs.
    """
    kind = fields.get("type")
    head: list[JSON] = [fields.get(key) for key in ("seq", "n", "t", "type")]
    if kind in ("push", "splice"):
        own = [fields.get(key) for key in ("from", "to", "removed")]
        return [*head, *own, _entries(fields.get("entries" if kind == "push" else "with"))]
    if kind == "aside":
        return [*head, _aside(fields)]
    if kind == "reset":
        return [*head, _state(fields.get("state"))]
    if kind == "state":
        key = fields.get("key")
        return [*head, key if key in FORM_KEYS else isinstance(key, str), "value" in fields]
    if kind == "header":
        return [*head, *(fields.get(key) for key in ("format", "log", "lineage", "parent"))]
    return [*head, fields.get("halt")]


def _entries(value: JSON) -> JSON:
    if not isinstance(value, list):
        return None
    return [
        [
            entry.get("id"),
            entry.get("made"),
            "author" in entry,
            isinstance(entry.get("message"), dict),
        ]
        if isinstance(entry, dict)
        else None
        for entry in value
    ]


def _aside(fields: Object) -> JSON:
    aside = fields.get("aside")
    if not isinstance(aside, dict):
        return [fields.get("id"), aside is None]
    kind = isinstance(aside.get("kind"), str)
    return [fields.get("id"), aside.get("after"), aside.get("saved"), kind, "author" in aside]


def _state(state: JSON) -> JSON:
    if not isinstance(state, dict):
        return None
    asides = state.get("asides")
    items = asides if isinstance(asides, list) else []
    own = [state.get(key) for key in ("halt", "next_message", "next_aside")]
    told = [_aside(item) if isinstance(item, dict) else None for item in items]
    return [*own, _entries(state.get("entries")), told]
