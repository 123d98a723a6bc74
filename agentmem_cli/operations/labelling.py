"""What a listing shows of a session, changed by hand: its title and its labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import SessionError, UsageError
from agentmem_cli.operations.damage import causes
from agentmem_cli.operations.metas import Refreshed, is_current, refresh
from agentmem_cli.operations.refused import words_of
from agentmem_cli.session.codec import same
from agentmem_cli.session.heads import main_log
from agentmem_cli.session.keys import TITLE
from agentmem_cli.session.meta import META, BadMeta, SessionMeta, first_title
from agentmem_cli.session.reader import agent_of, fold_log
from agentmem_cli.session.record import Saved
from agentmem_cli.session.writer import append_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.record import LogRecord
    from agentmem_cli.session.session import TornTail
    from agentmem_cli.storage.directory import DirStore


class Listed(NamedTuple):
    """A session's meta as it stands after a change, or without one."""

    meta: SessionMeta
    changed: bool
    refreshed: Refreshed
    """What was set aside on the way."""
    torn: TornTail | None = None
    """A torn tail of the main agent's log that was set aside first."""
    meta_error: str | None = None
    """Why the meta could not be written after its log was; None: it was, or nothing changed."""


def meta_of(store: DirStore) -> Listed:
    """Return a session's meta as it is kept; an unreadable one as empty, with why.

    Raises:
        OSError: It cannot be read.
    """
    try:
        return Listed(SessionMeta.read(store), changed=False, refreshed=Refreshed())
    except BadMeta as error:
        return Listed(SessionMeta(), changed=False, refreshed=Refreshed(why=str(error)))


def set_title(store: DirStore, title: str | None, *, now_ms: int) -> Listed:
    """Give a session a title, or with None the first words of its user again.

    The title is a saved value of the main agent, so that its past stays and
    every reader of the session finds it; without an agent it stands in the
    meta alone.

    Raises:
        UsageError: It is empty, or no text in UTF-8.
        SessionError: The log does not read. Nothing was written.
        Busy: The lock was not free in time.
    """
    if title is not None:
        _check_text("the title", title)

    def make(fold: LogFold | None) -> list[LogRecord]:
        before = None if fold is None else fold.saved.get(TITLE)
        return [] if same(before, title) else [Saved(TITLE, title)]

    with store.lock():
        before = meta_of(store).meta
        current = is_current(store)
        main = main_log(store)
        written = torn = None
        shown = title
        if main is not None:
            written = append_records(store, main, make, at=now_ms)
            torn = written.torn
            shown = title or first_title(agent_of(fold_log(store, main, strict=False)))
        records = written is not None and written.records > 0

        def update(meta: SessionMeta) -> SessionMeta:
            updated = max(meta.updated or 0, now_ms) if records else meta.updated
            return meta._replace(title=shown, updated=updated)

        error = None
        try:
            done = refresh(store, update, current=current)
        except (OSError, SessionError) as refused:
            if not records:
                raise
            # Why: the log has it, and a listing goes by the logs until the next change.
            done, error = Refreshed(), words_of(refused)
    after = meta_of(store).meta if error is None else before._replace(title=shown)
    return Listed(after, records or after.title != before.title, done, torn, error)


def set_labels(store: DirStore, put: Mapping[str, str], remove: Sequence[str]) -> Listed:
    """Change labels, which stand in the meta alone; a label that is not there is removed already.

    Raises:
        UsageError: A key or a value is no text in UTF-8, or the key is empty.
        Busy: The lock was not free in time.
    """
    for key, value in put.items():
        _check_text("a label", key)
        if value:
            _check_text("a label", value)
    with store.lock():
        before = meta_of(store).meta

        def update(meta: SessionMeta) -> SessionMeta:
            labels = {key: value for key, value in meta.labels.items() if key not in remove}
            return meta._replace(labels={**labels, **put})

        done = refresh(store, update, current=is_current(store))
    after = meta_of(store).meta
    return Listed(after, before.labels != after.labels, done)


def make_anew(store: DirStore) -> Listed:
    """Make a session's meta anew from its logs; labels, and what only it says, stay.

    Raises:
        SessionError: It could not be written; what was there stays.
        Busy: The lock was not free in time.
    """
    with store.lock():
        try:
            before = store.read_file(META)
        except FileNotFoundError:
            before = b""
        folds = [fold_log(store, log, strict=False) for log in store.logs()]
        damaged = sum(len(causes(fold.damages)) for fold in folds)
        done = refresh(store, lambda meta: meta, current=False, damaged=damaged)
        after = store.read_file(META)
    return Listed(meta_of(store).meta, before != after, done)


def _check_text(what: str, text: str) -> None:
    if not text.strip():
        raise UsageError(f"{what} is empty")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{what} is not UTF-8") from None
