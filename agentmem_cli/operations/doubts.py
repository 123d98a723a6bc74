"""What a session may still name that nobody can read: why a blob is not called unused.

A blob that no log names is garbage only where every log was read, and none ever
lost a record. Else it may be all that is left of a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import DamageError, SessionError
from agentmem_cli.operations.lost import lost_in
from agentmem_cli.operations.set_aside import may_hide_names
from agentmem_cli.operations.strays import LINK, NO_FILE, STRAY, strays
from agentmem_cli.session.fold import BAD_STAMP, NOT_APPLIED
from agentmem_cli.session.images import BLOB_FOLDER
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.meta import META, BadMeta, SessionMeta
from agentmem_cli.session.reader import fold_log
from agentmem_cli.storage.layout import FILES, LOGS, RECOVERED, is_leftover

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.lines import Line
    from agentmem_cli.storage.directory import DirStore


class Doubt(NamedTuple):
    """One reason why not all is known that a session names."""

    where: str
    """The log or file; empty: the session itself."""
    why: str


class Doubts(NamedTuple):
    """Why not all is known that a session names."""

    unread: tuple[Doubt, ...]
    """Logs that are gone, damaged, or cannot be read as they stand."""
    lost: tuple[Doubt, ...]
    """What is gone for good, as marks say that a repair or a next change left."""


def doubts_of(store: DirStore) -> Doubts:
    """Look for what may hide a name; nothing is changed.

    Cost: a fold of each log.
    """
    unread = list(_not_logs(store))
    headers: dict[str, str | None] = {}
    lost: list[Doubt] = []
    rewritten: set[str] = set()
    for log in store.logs():
        look = _Look()
        try:
            fold = fold_log(store, log, strict=False, on_record=look.take)
        except (SessionError, OSError) as error:
            unread.append(Doubt(log, f"it cannot be read: {error}"))
            continue
        headers[log] = None if fold.header is None else fold.header.parent
        if fold.header is not None and fold.header.rewrites:
            rewritten.add(log)
        unread += [Doubt(log, why) for why in look.why_unread(fold)]
        if look.lost:
            lost.append(Doubt(log, "a record of it is lost, as it says itself"))
    lost += [
        Doubt(log, f"its parent {parent!r} has no log")
        for log, parent in headers.items()
        if parent is not None and parent not in headers
    ]
    unread += _noted(store, rewritten, lost)
    blobs = any(name.startswith(BLOB_FOLDER) for name in store.files())
    if blobs and not lost and not set(headers) - {SESSION}:
        unread.append(Doubt(LOGS, "no log of an agent stands there"))
    lost += _set_aside(store)
    return Doubts(tuple(unread), tuple(lost))


def refuse_unread(store: DirStore, doubts: Doubts) -> None:
    """See that every log was read, since what is removed is gone.

    Raises:
        DamageError: One was not.
    """
    if not doubts.unread:
        return
    first = doubts.unread[0]
    more = f" (and {len(doubts.unread) - 1} more)" if len(doubts.unread) > 1 else ""
    where = f"{store.path}, {first.where}" if first.where else str(store.path)
    msg = f"{where}: {first.why}{more}, so it is not known which blobs are needed"
    hint = "Nothing was removed. Put back what is missing, or mend it first: agentmem repair."
    raise DamageError(msg, hint=hint)


class _Look:
    """What the records of one log tell besides what they come to."""

    def __init__(self) -> None:
        self.lost = False
        self._last_seq = -1
        self._gap: str | None = None

    def take(self, line: Line, _: LogFold) -> None:
        seq = line.fields.get("seq")
        if type(seq) is int:
            if seq > self._last_seq + 1 and self._gap is None:
                self._gap = f"line {line.number}: records are missing before it"
            self._last_seq = max(self._last_seq, seq)
        # Why only without names: a lost image says which one it is, and hides no other.
        self.lost = self.lost or lost_in(line.fields) == []

    def why_unread(self, fold: LogFold) -> Iterator[str]:
        if self._gap is not None:
            yield self._gap
        for damage in fold.damages:
            # Why not those: the records are whole, and every name in them was seen.
            if damage.kind not in {BAD_STAMP, NOT_APPLIED}:
                yield f"line {damage.line}: {damage.why}"
                return


def _not_logs(store: DirStore) -> Iterator[Doubt]:
    """Yield what no reader opens where a log or a file belongs."""
    told = {
        LINK: "a symbolic link, which is not followed",
        NO_FILE: "a folder, a pipe or a device stands where a file belongs",
    }
    for stray in strays(store.path):
        above, _, name = stray.where.partition("/")
        if stray.kind == STRAY or is_leftover(name):
            continue
        if above in {LOGS, FILES}:
            why = told.get(stray.kind, "a log of a name that no reader takes")
            yield Doubt(stray.where, why)


def _noted(store: DirStore, rewritten: set[str], lost: list[Doubt]) -> Iterator[Doubt]:
    """Yield the logs that are gone or shorter than the meta noted; add those known to *lost*."""
    from agentmem_cli.operations.listing import noted_sizes
    from agentmem_cli.operations.lost_logs import lost_logs

    seen = store.survey()
    if META not in store.files():
        return
    try:
        meta = SessionMeta.decode(seen.meta or b"")
    except BadMeta:
        yield Doubt(META, "it cannot be read, and so not which logs there were")
        return
    lost += [
        Doubt(log, f"it had {each.size} bytes once, as the meta says")
        for log, each in lost_logs(store, meta).items()
    ]
    sizes: Mapping[str, int] = {log: size for log, size, _ in seen.logs}
    for log, was in (noted_sizes(meta) or {}).items():
        if type(was) is int and sizes.get(log, 0) < was and log not in rewritten:
            stands = f"{sizes[log]} bytes stand there" if log in sizes else "it is gone"
            yield Doubt(log, f"it had {was} bytes when it was last written here, and {stands}")


def _set_aside(store: DirStore) -> Iterator[Doubt]:
    """Yield what was set aside and does not tell what it named."""
    for name in store.files():
        if name.startswith(RECOVERED) and may_hide_names(store, name):
            yield Doubt(name, "bytes were set aside that do not tell what they named")
