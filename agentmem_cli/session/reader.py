"""Reading sessions from a store: strictly, leniently, or as of an earlier place."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentmem_cli import errors
from agentmem_cli.session.author import is_plain
from agentmem_cli.session.change import ChangeRecord
from agentmem_cli.session.conversation import DETACHED, Conversation
from agentmem_cli.session.fold import Cut, LogFold
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.record import (
    BadRecord,
    LogRecord,
    Retired,
    decode_by,
    decode_change,
    decode_saved,
)
from agentmem_cli.session.session import (
    LostImage,
    Repair,
    SavedAgent,
    Session,
    TornTail,
    Unreadable,
)
from agentmem_cli.session.source import LogSource
from agentmem_cli.session.stamp import Stamp
from agentmem_cli.storage.logfile import BytesLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.codec import Object
    from agentmem_cli.session.fold import OnRecord
    from agentmem_cli.session.lines import Line
    from agentmem_cli.session.source import OpenLog
    from agentmem_cli.storage.store import AsyncStore, Files, Store


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn the operating system's refusals into `errors.Io`, which names *what*."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        msg = f"{what}: {error.strerror or error}"
        raise errors.Io(msg) from error


def open_log(store: Store, log: str) -> OpenLog:
    """Open a log for reading; a store without ``open_log`` gives its bytes.

    Raises:
        FileNotFoundError: There is no such log.
        errors.Io: The operating system refused.
    """
    with reading(f"log {log!r}"):
        opener = getattr(store, "open_log", None)
        if opener is None:
            return BytesLog(store.read_log(log))
        opened: OpenLog = opener(log)
        return opened


def fold_log(
    store: Store,
    log: str,
    *,
    strict: bool = True,
    cut: Cut | None = None,
    on_record: OnRecord | None = None,
) -> LogFold:
    """Fold one log of *store*.

    Args:
        store: Where the log and its blobs are.
        log: Its name.
        strict: Raise at the first damage but a torn tail; else name every
            damage and fold what can be folded.
        cut: Stop there.
        on_record: Called with each record's line and the fold after it.

    Raises:
        FileNotFoundError: There is no such log.
        errors.SessionError: Damage (strict), another format, or the
            operating system refused.
    """
    source = LogSource(open_log(store, log), store)
    with reading(f"log {log!r}"):
        return LogFold(log, source, strict=strict).run(cut, on_record)


def history(store: Store, log: str) -> list[tuple[Stamp, LogRecord]]:
    """Return every record after the header, strictly; images are put back when asked for.

    Returns:
        In the log's order; empty without a log.

    Raises:
        errors.SessionError: A record cannot be read or applied.
    """
    records: list[tuple[Stamp, LogRecord]] = []

    def keep(line: Line, fold: LogFold) -> None:
        if fold.records > 1:
            records.append(record_of(line, fold.source))

    # Why: by way of the fold, so that a log that `load` refuses is refused here too.
    try:
        fold_log(store, log, on_record=keep)
    except FileNotFoundError:
        return []
    return records


def record_of(line: Line, source: LogSource) -> tuple[Stamp, LogRecord]:
    """Return the stamp and the record of one line that is no header.

    Raises:
        BadRecord: It is no record of this format.
    """
    fields = line.fields
    seq, n, t = fields.get("seq"), fields.get("n"), fields.get("t")
    if type(seq) is not int or type(n) is not int or type(t) is not int:
        msg = "a record without a stamp (seq, n and t)"
        raise BadRecord(msg)
    kind = fields.get("type")
    record: LogRecord
    if kind == "state":
        record = decode_saved(source.exact(line.offset, line.length))
    elif kind == "retired":
        record = Retired()
    else:
        if kind in ("aside", "reset") or ("by" in fields and not is_plain(fields["by"])):
            fields = source.exact(line.offset, line.length)
        change = decode_change(fields, t, source, line.offset, line.length)
        record = ChangeRecord(change, decode_by(fields), t)
    return Stamp(n, seq, t), record


def as_of(store: Store, log: str, n: int) -> Conversation:
    """Return the conversation as the records with a smaller ``n`` than *n* left it.

    Only what the log still holds can be seen: a rewrite in place (a
    redaction) changes the past on purpose.

    Args:
        store: Where the log is.
        log: Its name.
        n: A stamp's ``n``; not a time. The last one plus one is now.

    Returns:
        A conversation that continues no log; empty without a log.

    Raises:
        errors.SessionError: A record before that place cannot be read.
    """
    try:
        fold = fold_log(store, log, cut=Cut(n=n))
    except FileNotFoundError:
        return Conversation()
    fold.conversation.lineage = DETACHED
    return fold.conversation


def load(store: Store, log: str) -> Conversation:
    """Return the conversation of a log, strictly; empty without a log.

    Raises:
        errors.SessionError: A record cannot be read or applied.
    """
    try:
        return fold_log(store, log).conversation
    except FileNotFoundError:
        return Conversation()


async def load_async(store: AsyncStore, log: str) -> Conversation:
    """Return the conversation of a log of an asynchronous store, as `load` does.

    The log is read once; the blobs that its entries name now are read with it.

    Raises:
        errors.SessionError: A record cannot be read or applied.
    """
    from agentmem_cli.session.images import BLOB_FOLDER, blob_names

    try:
        with reading(f"log {log!r}"):
            data = await store.read_log_async(log)
    except FileNotFoundError:
        return Conversation()
    blobs: dict[str, bytes] = {}
    source = LogSource(BytesLog(data), HeldFiles(blobs))
    conversation = LogFold(log, source, strict=True).run().conversation
    if b"blob:" in data:
        for entry in conversation.entries:
            for name in blob_names(entry.stored.value):
                if BLOB_FOLDER + name not in blobs:
                    try:
                        found = await store.read_file_async(BLOB_FOLDER + name)
                    except (OSError, ValueError):
                        continue  # Why: a lost image never fails a read.
                    blobs[BLOB_FOLDER + name] = found
    return conversation


class HeldFiles:
    """Files held in memory, for blobs that were fetched."""

    def __init__(self, files: dict[str, bytes]) -> None:
        """Share *files*, by name."""
        self.held = files

    def read_file(self, name: str) -> bytes:
        """Return a file's bytes; ``FileNotFoundError`` without one."""
        try:
            return self.held[name]
        except KeyError:
            raise FileNotFoundError(name) from None

    def write_file(self, name: str, data: bytes) -> None:
        """Hold a file."""
        self.held[name] = data


def agent_of(fold: LogFold) -> SavedAgent:
    """Return the agent that a folded log is."""
    header = fold.header
    return SavedAgent(
        fold.log,
        None if header is None else header.parent,
        fold.started_ms or 0,
        fold.conversation,
        fold.saved,
        fold.retired,
        () if header is None else header.rewrites,
        fold.header_n,
        fold.last_t,
    )


def read_session(store: Store) -> Session:
    """Read every log strictly; see `Session.read`."""
    session = Session()
    for log in store.logs():
        _add(session, _fold_whole(store, log, session.repairs))
    _sort(session)
    return session


def read_session_lenient(store: Store) -> tuple[Session, list[Unreadable]]:
    """Read every log that reads; see `Session.read_lenient`."""
    session = Session()
    unreadable: list[Unreadable] = []
    for log in store.logs():
        repairs: list[Repair] = []
        try:
            fold = _fold_whole(store, log, repairs)
        except errors.SessionError as error:
            unreadable.append(Unreadable(log, error))
        else:
            session.repairs.extend(repairs)
            _add(session, fold)
    _sort(session)
    return session, unreadable


def _fold_whole(store: Store, log: str, repairs: list[Repair]) -> LogFold:
    lost = _LostImages(store, log)
    fold = fold_log(store, log, on_record=lost.look)
    if fold.header is None and fold.records == 0 and fold.torn is None:
        return fold
    torn = fold.torn
    if torn is not None:
        repairs.append(TornTail(log, torn.offset, torn.length, None))
    repairs.extend(lost.found)
    return fold


def _add(session: Session, fold: LogFold) -> None:
    if fold.log == SESSION:
        session.saved = fold.saved
    elif fold.records:
        session.agents.append(agent_of(fold))


def _sort(session: Session) -> None:
    session.agents.sort(key=lambda agent: (agent.started_n, agent.id))


class _LostImages:
    """Looks whether the blobs that records name are there; each once."""

    def __init__(self, files: Files, log: str) -> None:
        self.found: list[Repair] = []
        self._files = files
        self._log = log
        self._there: set[str] | None = None
        self._named: set[str] = set()

    def look(self, line: Line, _: LogFold) -> None:
        from agentmem_cli.session.images import BLOB_FOLDER

        for name in _blobs_in(line.fields):
            if name in self._named:
                continue
            self._named.add(name)
            if self._there is None:
                self._there = set(self._files.files())
            if BLOB_FOLDER + name not in self._there:
                why = f"blob {name} is missing (line {line.number})"
                self.found.append(LostImage(self._log, why))


def _blobs_in(fields: Object) -> list[str]:
    from agentmem_cli.session.images import blob_names

    names: list[str] = []
    for key in ("entries", "with"):
        entries = fields.get(key)
        if type(entries) is list:
            for entry in entries:
                if type(entry) is dict and type(message := entry.get("message")) is dict:
                    names.extend(blob_names(message))
    return names
