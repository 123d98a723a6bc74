"""Whether a meta says what its logs say: a listing, and what goes by it, trust it unread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.listing import noted_sizes
from agentmem_cli.session.heads import main_log
from agentmem_cli.session.keys import MODEL, TITLE
from agentmem_cli.session.reader import fold_log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.lines import Line
    from agentmem_cli.session.meta import SessionMeta
    from agentmem_cli.storage.store import Store


class Told(NamedTuple):
    """What one whole log tells of what a meta repeats."""

    messages: int
    newest_ms: int | None
    title: str | None
    model: str | None

    @classmethod
    def of(cls, fold: LogFold) -> Told | None:
        """Return what a log tells; None: it is damaged, so nobody can say."""
        if fold.damages:
            return None
        title, model = (_text(fold.saved.get(key)) for key in (TITLE, MODEL))
        return cls(len(fold.conversation), fold.last_t, title, model)


def told_wrong(store: Store, meta: SessionMeta, logs: Mapping[str, Told | None]) -> str | None:
    """Return what a meta says otherwise than the logs, in words; None: nothing.

    Args:
        store: The session.
        meta: Its meta, one of ours and of these logs; of another's nothing is said.
        logs: What each log tells.

    Raises:
        OSError: A log cannot be read.
    """
    whole = [each for each in logs.values() if each is not None]
    main = main_log(store)
    if noted_sizes(meta) is None or len(whole) < len(logs) or main is None:
        return None
    told = logs.get(main)
    if told is None:
        return None
    updated = meta.updated
    times = [each.newest_ms for each in whole if each.newest_ms is not None]
    if updated is not None and times and updated > max(times):
        # Why read once more only here: a log whose clock was set back has its newest elsewhere.
        updated = min(updated, max(_newest(store, log) for log in logs))
    pairs = (
        ("messages", meta.messages, told.messages),
        ("updated", meta.updated, updated),
        ("title", meta.title, told.title or meta.title),
        ("model", meta.model, told.model or meta.model),
    )
    for name, said, found in pairs:
        if said != found:
            return f"it says {name} {_shown(said)}, and the logs say {_shown(found)}"
    return None


def _newest(store: Store, log: str) -> int:
    """Return the newest time that any record of a log has."""
    times = [_TIME_MIN]

    def look(line: Line, _: LogFold) -> None:
        t = line.fields.get("t")
        if type(t) is int:
            times[0] = max(times[0], t)

    fold_log(store, log, strict=False, on_record=look)
    return times[0]


_TIME_MIN: Final = -1 << 63


def _text(value: JSON) -> str | None:
    return value if isinstance(value, str) and value else None


def _shown(value: int | str | None) -> str:
    return repr(value[:60]) if isinstance(value, str) else str(value)
