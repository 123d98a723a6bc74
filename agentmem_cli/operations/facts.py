"""What the logs themselves tell a listing, where there is no fresh meta to go by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem_cli.limits import LISTING_HEAD_BYTES, LISTING_TAIL_BYTES
from agentmem_cli.operations.damage import causes
from agentmem_cli.operations.imports.adapter import CWD
from agentmem_cli.operations.imports.picked import part_of
from agentmem_cli.session.codec import loads_fast
from agentmem_cli.session.keys import CURRENT, FORKED_FROM, MODEL, SESSION, TITLE
from agentmem_cli.session.session import choose_main

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentmem_cli.session.codec import JSON, Object


class Facts(NamedTuple):
    """What heads and tails told; None where they did not."""

    title: str | None
    """The saved title; None: nobody saved one."""
    first_text: str | None
    """A title made of the first text that the user wrote."""
    model: str | None
    cwd: str | None
    """The folder that an imported session was about."""
    started_ms: int | None
    updated_ms: int | None
    agents: int
    messages: int | None
    """Known only where every byte of the main agent's log was read; 0 without any log."""
    damaged: int | None
    """Damaged places; None where not every byte of every log was read."""
    forked_from: JSON
    """The saved note of the session that it was forked from."""
    part_of: JSON
    """What an import noted of the session that it is an agent of."""


class Seen:
    """One log as its head and tail show it; None where they do not tell."""

    def __init__(self, log: str) -> None:
        """Begin with nothing known of *log*."""
        self.log = log
        self.parent: str | None = None
        self.retired = False
        self.saved: dict[str, JSON] = {}
        self.first_text: str | None = None
        self.part_of: JSON = None
        self.started_ms: int | None = None
        self.updated_ms: int | None = None
        self.messages: int | None = None
        self.damaged: int | None = None


def from_logs(path: str, logs: Sequence[tuple[str, int, int]]) -> Facts:
    """Read the facts of the session at *path* from the ends of its logs.

    Args:
        path: The session directory.
        logs: Name, bytes and time of each log.

    Returns:
        What they tell. Memory does not grow with the logs.

    Raises:
        OSError: A log cannot be read.
    """
    seen = seen_in(path, logs)
    agents = [one for log, one in seen.items() if log != SESSION]
    own = seen.get(SESSION)
    current = None if own is None else own.saved.get(CURRENT)
    main = choose_main([(one.log, one.parent, one.retired) for one in agents], current)
    chosen = None if main is None else seen[main]
    started = [one.started_ms for one in seen.values() if one.started_ms is not None]
    updated = [one.updated_ms for one in seen.values() if one.updated_ms is not None]
    damaged = [one.damaged for one in seen.values()]
    saved = {} if chosen is None else chosen.saved
    return Facts(
        _string(saved.get(TITLE)),
        _first_title(chosen),
        _string(saved.get(MODEL)),
        _string(saved.get(CWD)),
        min(started, default=None),
        max(updated, default=None),
        len(agents),
        chosen.messages if chosen is not None else (None if agents else 0),
        None if None in damaged else sum(count or 0 for count in damaged),
        saved.get(FORKED_FROM),
        None if chosen is None else chosen.part_of,
    )


def seen_in(path: str, logs: Sequence[tuple[str, int, int]]) -> dict[str, Seen]:
    """Read the ends of each of *logs*, as `from_logs` does."""
    from agentmem_cli.storage.survey import head_and_tail

    seen: dict[str, Seen] = {}
    for log, size, _ in logs:
        head, tail, _ = head_and_tail(path, log, LISTING_HEAD_BYTES, LISTING_TAIL_BYTES)
        if size <= LISTING_HEAD_BYTES:
            seen[log] = _whole(log, head)
        else:
            seen[log] = _ends(log, head, tail)
    return seen


def _first_title(seen: Seen | None) -> str | None:
    from agentmem_cli.session.meta import title_of

    return None if seen is None or seen.first_text is None else title_of(seen.first_text)


def _string(value: JSON) -> str | None:
    return value if isinstance(value, str) else None


def _whole(log: str, data: bytes) -> Seen:
    """Fold a log that is small enough, leniently."""
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.reader import HeldFiles
    from agentmem_cli.session.source import LogSource
    from agentmem_cli.storage.logfile import BytesLog

    seen = Seen(log)
    times: list[int] = []

    def look(line: Any, _: object) -> None:  # noqa: ANN401 - a Line
        if type(t := line.fields.get("t")) is int:
            times.append(t)
        _take(seen, line.fields, first_only=False)

    fold = LogFold(log, LogSource(BytesLog(data), HeldFiles({})), strict=False).run(None, look)
    seen.damaged = len(causes(fold.damages))
    seen.messages = len(fold.conversation)
    seen.saved = fold.saved
    seen.retired = fold.retired
    seen.parent = None if fold.header is None else fold.header.parent
    if times:
        seen.started_ms, seen.updated_ms = times[0], times[-1]
    return seen


def _ends(log: str, head: bytes, tail: bytes) -> Seen:
    """Read a large log's first lines up to the first text, and what its last lines save."""
    seen = Seen(log)
    lines = head.split(b"\n")
    if len(lines) > 1:
        lines.pop()  # Why: the window may have cut it.
    for line in lines:
        fields = _fields(line)
        if fields is None:
            continue
        if seen.started_ms is None:
            seen.started_ms = _time(fields)
            parent = fields.get("parent")
            seen.parent = parent if isinstance(parent, str) else None
        _take(seen, fields, first_only=True)
        if seen.first_text is not None:
            break
    _take_states(seen, lines)
    last = tail.split(b"\n")[1:-1]
    _take_states(seen, last)
    for line in reversed(last):
        fields = _fields(line)
        if fields is not None:
            seen.updated_ms = _time(fields)
            seen.retired = fields.get("type") == "retired"
            break
    return seen


def _take_states(seen: Seen, lines: Iterable[bytes]) -> None:
    for line in lines:
        # Why: a saved value is rare, and decoding every line would cost ten times this.
        if b'"state"' in line[:200] and (fields := _fields(line)) is not None:
            _take(seen, fields, first_only=False)


def _take(seen: Seen, fields: Object, *, first_only: bool) -> None:
    kind = fields.get("type")
    if kind == "state" and not first_only:
        key = fields.get("key")
        if isinstance(key, str):
            seen.saved[key] = fields.get("value")
    elif kind == "aside" and isinstance(aside := fields.get("aside"), dict):
        seen.part_of = part_of(aside.get("value")) or seen.part_of
    elif seen.first_text is None and kind == "push":
        entries = fields.get("entries")
        for entry in entries if isinstance(entries, list) else []:
            if seen.first_text is None:
                seen.first_text = _user_text(entry)


def _user_text(entry: JSON) -> str | None:
    from agentmem_cli.session.message import Message

    if not isinstance(entry, dict) or not isinstance(message := entry.get("message"), dict):
        return None
    author = entry.get("author")
    kind = author.get("kind", "user") if isinstance(author, dict) else "user"
    if message.get("role") != "user" or kind != "user":
        return None
    text = Message.of(message).text
    return text if text.strip() else None


def _fields(line: bytes) -> Object | None:
    try:
        value = loads_fast(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _time(fields: Object) -> int | None:
    t = fields.get("t")
    return t if type(t) is int else None
