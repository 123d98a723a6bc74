"""The records of logs, as `log` shows them: stamps, who, what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.fold import BAD_RECORD, BAD_STAMP
from agentmem_cli.session.lines import Damage, scan
from agentmem_cli.session.message import Message
from agentmem_cli.session.meta import excerpt, title_of
from agentmem_cli.session.reader import open_log
from agentmem_cli.session.source import LogSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.lines import Line
    from agentmem_cli.storage.store import Store

TYPES: Final = ("header", "state", "retired", "push", "splice", "halt", "aside", "reset")
"""The types of records, in the order they are told of."""


class Shown(NamedTuple):
    """One record."""

    log: str
    line: int
    """The line it stands in, from 1."""
    n: int | None
    seq: int | None
    t: int | None
    type: str
    by: str | None
    """Who made it, in a word."""
    gist: str
    """What it does, in one line."""
    details: tuple[str, ...]
    """What it holds, a line each: entries, keys."""
    fields: Object
    """All of it, decoded exactly."""


def records(  # noqa: PLR0913 - one option of the command each
    store: Store,
    log: str,
    report: Callable[[str, Damage], None],
    *,
    kinds: frozenset[str] = frozenset(),
    key: str | None = None,
    details: bool = True,
    exact: bool = True,
) -> Iterator[Shown]:
    """Yield a log's records in its order, leniently.

    Args:
        store: Where the log is.
        log: Its name.
        report: Called with the log and each damaged place.
        kinds: Only these types; empty: all, unknown ones too.
        key: Only saved values of this key.
        details: Say what the records hold; without it only what they do.
        exact: Decode ``fields`` exactly; else numbers may be inexact beyond 64 bits.

    Raises:
        FileNotFoundError: There is no such log.
        SessionError: The operating system refused.
    """
    source = LogSource(open_log(store, log), store)
    stamps = _Stamps(lambda damage: report(log, damage))
    for line in scan(source.log, stamps.report):
        fields = line.fields
        stamps.look(line)
        if kinds and fields.get("type") not in kinds:
            continue
        if key is not None and (fields.get("type") != "state" or fields.get("key") != key):
            continue
        yield _shown(log, line, source, details=details, exact=exact)


class _Stamps:
    """Reports stamps that are missing, or do not follow the one before."""

    def __init__(self, report: Callable[[Damage], None]) -> None:
        self.report = report
        self._seq = -1
        self._n = -1

    def look(self, line: Line) -> None:
        seq, n = line.fields.get("seq"), line.fields.get("n")
        if type(seq) is not int or type(n) is not int:
            self._fault(line, BAD_RECORD, "a record without a stamp (seq, n and t)")
            return
        if seq != self._seq + 1:
            self._fault(line, BAD_STAMP, f"seq {seq} follows {self._seq}")
        elif n <= self._n:
            self._fault(line, BAD_STAMP, f"n {n} does not increase (it was {self._n})")
        self._seq, self._n = seq, max(self._n, n)

    def _fault(self, line: Line, kind: str, why: str) -> None:
        self.report(Damage(line.number, line.offset, line.length, kind, why))


def merged(parts: list[Iterator[Shown]]) -> Iterator[Shown]:
    """Merge the records of several logs, by ``n`` and then by log; each log keeps its own order."""
    import heapq

    pairs = heapq.merge(*map(_in_order, parts), key=lambda pair: pair[0])
    return (shown for _, shown in pairs)


def _in_order(part: Iterator[Shown]) -> Iterator[tuple[tuple[int, str], Shown]]:
    # Why: a damaged log's n may fall; its order must stay all the same.
    latest = -1
    for shown in part:
        latest = max(latest, -1 if shown.n is None else shown.n)
        yield (latest, shown.log), shown


def _shown(log: str, line: Line, source: LogSource, *, details: bool, exact: bool) -> Shown:
    fields = line.fields
    kind = fields.get("type")
    if exact or kind in ("state", "aside"):
        fields = source.exact(line.offset, line.length)
    gist, held = _gist(kind, fields)
    by = fields.get("by")
    return Shown(
        log,
        line.number,
        _number(fields.get("n")),
        _number(fields.get("seq")),
        _number(fields.get("t")),
        kind if isinstance(kind, str) else "?",
        None if by is None else _who(by),
        gist,
        tuple(map(_detail, held)) if details else (),
        fields,
    )


def _gist(kind: JSON, fields: Object) -> tuple[str, list[Object]]:
    if kind == "push":
        entries = _entries(fields.get("entries"))
        return f"{_ids(entries)} added", entries
    if kind == "splice":
        entries = _entries(fields.get("with"))
        removed = fields.get("removed")
        count = len(removed) if isinstance(removed, list) else 0
        told = (
            f"entries {fields.get('from')}:{fields.get('to')} ({count}) replaced by {len(entries)}"
        )
        return told, entries
    if kind == "state":
        value = fields.get("value")
        return f"{fields.get('key')} {'removed' if value is None else '= ' + _short(value)}", []
    if kind == "aside":
        return _aside(fields), []
    return _rare(kind, fields)


def _rare(kind: JSON, fields: Object) -> tuple[str, list[Object]]:
    if kind == "header":
        parent = fields.get("parent")
        rewrites = fields.get("rewrites")
        told = f"log {fields.get('log')}, {fields.get('format')}"
        told += f", spawned by {parent}" if parent is not None else ""
        count = len(rewrites) if isinstance(rewrites, list) else 0
        return told + (f", rewritten {count} times" if count else ""), []
    if kind == "halt":
        halt = fields.get("halt")
        return ("halt cleared" if halt is None else f"halt: {halt}"), []
    if kind == "reset":
        state = fields.get("state")
        entries = _entries(state.get("entries")) if isinstance(state, dict) else []
        return f"all replaced by {len(entries)} entries", entries
    if kind == "retired":
        return "gone for good", []
    rest: Object = {key: value for key, value in fields.items() if key not in _STAMP}
    return f"a record of the unknown type {kind!r}", [rest] if rest else []


def _aside(fields: Object) -> str:
    aside = fields.get("aside")
    if not isinstance(aside, dict):
        return f"aside {fields.get('id')} removed"
    after = aside.get("after")
    where = "before the first" if after is None else f"after {after}"
    value = aside.get("value")
    told = f"aside {fields.get('id')} {aside.get('kind')} {where}"
    return told if value is None else f"{told}: {_short(value)}"


def _entries(value: JSON) -> list[Object]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _ids(entries: list[Object]) -> str:
    ids = [str(entry.get("id")) for entry in entries]
    if len(ids) > 3:  # noqa: PLR2004 - a few are told one by one
        return f"messages {ids[0]} to {ids[-1]}"
    return f"message{'s' if len(ids) != 1 else ''} {', '.join(ids)}"


def _detail(value: Object) -> str:
    """Return one line about an entry, or about the fields of an unknown record."""
    return _entry(value) if "message" in value or "id" in value else _cut(value)


def _entry(value: Object) -> str:
    from agentmem_cli.session.author import Author
    from agentmem_cli.session.entry import Entry

    message = value.get("message")
    if not isinstance(message, dict):
        return f"{value.get('id')} (no message)"
    try:
        author = Author.of(value["author"]) if "author" in value else None
    except ValueError:
        author = None
    id_ = value.get("id")
    number = id_ if type(id_) is int else -1
    told = excerpt(Entry(number, Message.of(message), author))
    error = message.get("errorMessage")
    if isinstance(error, str) and not message.get("content"):
        told = f"{told.removesuffix('(empty)')}error: {title_of(error)}"
    return f"{id_} {told}"


def _who(by: JSON) -> str:
    from agentmem_cli.session.author import Author

    try:
        author = Author.of(by)
    except ValueError:
        return "unknown"
    return author.title if isinstance(author.title, str) else author.name


_STAMP: Final = frozenset({"seq", "n", "t", "type"})


def _short(value: JSON) -> str:
    return title_of(_cut(value))


def _cut(value: JSON) -> str:
    from agentmem_cli.session.codec import dumps

    return dumps(value)[:4_000].decode("utf-8", "replace")


def _number(value: JSON) -> int | None:
    return value if type(value) is int else None
