"""Asking a `Rewrite` for every part of a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.rewriting import Record, Rewrite


def rewrite_record(record: Object, at: Record, with_: Rewrite) -> bool:
    """Ask the hooks of *with_* for every part of a record; return whether any changed it."""
    changed = _author(record, "by", at, with_)
    part = _PARTS.get(str(record.get("type")))
    return (part is not None and part(record, at, with_)) or changed


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _author(holder: Object, key: str, at: Record, with_: Rewrite) -> bool:
    author = holder.get(key)
    return isinstance(author, dict) and with_.author(at, author)


def _entries(entries: JSON, at: Record, with_: Rewrite) -> bool:
    changed = False
    for entry in _list(entries):
        if isinstance(entry, dict):
            message = entry.get("message")
            if isinstance(message, dict):
                changed |= with_.message(at, message)
            changed |= _author(entry, "author", at, with_)
    return changed


def _aside(holder: Object, at: Record, with_: Rewrite) -> bool:
    aside = holder.get("aside")
    if not isinstance(aside, dict):
        return False
    changed = with_.aside(at, aside)
    return _author(aside, "author", at, with_) or changed


def _saved(record: Object, at: Record, with_: Rewrite) -> bool:
    key = record.get("key")
    if not isinstance(key, str):
        return False
    value = record.get("value")
    changed = False
    if value is not None:
        record["value"], changed = with_.value(at, key, value)
    record["key"] = with_.key(at, key)
    return changed or record["key"] != key


def _header(record: Object, at: Record, with_: Rewrite) -> bool:
    items = _list(record.get("rewrites"))
    told = [_author(item, "by", at, with_) for item in items if isinstance(item, dict)]
    return any(told)


def _reset(record: Object, at: Record, with_: Rewrite) -> bool:
    state = record.get("state")
    if not isinstance(state, dict):
        return False
    changed = _entries(state.get("entries"), at, with_)
    items = _list(state.get("asides"))
    told = [_aside(item, at, with_) for item in items if isinstance(item, dict)]
    return any(told) or changed


_PARTS: Final[dict[str, Callable[[Object, Record, Rewrite], bool]]] = {
    "header": _header,
    "push": lambda record, at, with_: _entries(record.get("entries"), at, with_),
    "splice": lambda record, at, with_: _entries(record.get("with"), at, with_),
    "aside": _aside,
    "state": _saved,
    "reset": _reset,
}
