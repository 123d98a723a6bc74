"""What `remap` and `rewrite` share: looking at what would change, and changing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from agentmem_cli.errors import Record as BadRecord
from agentmem_cli.session.author import Author
from agentmem_cli.session.images import BLOB_FOLDER
from agentmem_cli.session.passing import blocks, changed_lines
from agentmem_cli.session.rawlines import fields_of, stamp_of, strings_changed, torn_at
from agentmem_cli.session.refiling import FilePass
from agentmem_cli.session.rewriting import HEAD_BYTES, File, Record, RewrittenLog
from agentmem_cli.storage.seen import IDLE_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.errors import AgentMemError
    from agentmem_cli.session.rewriting import Rewrite
    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.logfile import OpenLog
    from agentmem_cli.storage.store import LogFile

TOOL: Final = Author.plugin("agentmem")
"""Who rewrites, in the headers of logs that a command changed."""


class Wanted(NamedTuple):
    """How a rewrite is to be done."""

    now_ms: int
    if_idle_ms: int | None = IDLE_MS
    """For how long another program must have left the session alone; None: it need not have."""
    damaged: Literal["refuse", "as-text"] = "refuse"
    dry_run: bool = False
    progress: Callable[[int], None] | None = None


class Done(NamedTuple):
    """What a rewrite changed, or would change."""

    logs: tuple[RewrittenLog, ...] = ()
    files: tuple[str, ...] = ()
    unread: tuple[tuple[str, int], ...] = ()
    """Of a dry run: lines that cannot be read, by log or file and number."""
    blobs: int = 0
    """Blobs that get, or would get, other bytes and another name."""
    set_aside: tuple[str, ...] = ()
    """Torn tails that were set aside, by the files they are in now."""

    @property
    def strings(self) -> int:
        """How many strings of logs changed."""
        return sum(log.strings for log in self.logs)

    @property
    def records(self) -> int:
        """How many records changed."""
        return sum(log.records for log in self.logs)

    @property
    def changed(self) -> bool:
        """Whether anything changed, or would."""
        return bool(self.logs or self.files or self.blobs)


def change(store: DirStore, with_: Rewrite, wanted: Wanted) -> Done:
    """Rewrite a session, or look at what that would change.

    Raises:
        SessionError: A log does not read.
        ConflictError: Another program writes to the session.
        OSError: The system refused. Nothing changed.
    """
    if wanted.dry_run:
        return preview(store, with_, wanted.progress)
    from agentmem_cli.operations.rewriting import rewrite_session

    done = rewrite_session(
        store,
        TOOL,
        with_,
        damaged=wanted.damaged,
        if_idle_ms=wanted.if_idle_ms,
        now_ms=wanted.now_ms,
        progress=wanted.progress,
    )
    aside = tuple(torn.set_aside for torn in done.set_aside if torn.set_aside is not None)
    return Done(done.logs, done.files, blobs=len(done.blobs_added), set_aside=aside)


def hint_at_text(error: AgentMemError) -> None:
    """Say, of a log that does not read, how a rewrite can take it all the same."""
    if isinstance(error, BadRecord):
        error.hint = "agentmem verify names each damaged place; --damaged as-text changes it, too."


def preview(store: DirStore, with_: Rewrite, progress: Callable[[int], None] | None) -> Done:
    """Return what *with_* would change; nothing is written and no lock is taken."""
    looking = _Looking(with_, progress)
    for log in store.logs():
        with store.open_log(log) as opened:
            looking.log(log, opened)
    for name in store.files():
        with store.open_file(name) as opened:
            looking.file(name, opened)
    return looking.done()


class _Looking:
    """A look at one session."""

    def __init__(self, with_: Rewrite, progress: Callable[[int], None] | None) -> None:
        self._with = with_
        self._told = progress or _pass_by
        self._logs: list[RewrittenLog] = []
        self._files: list[str] = []
        self._unread: list[tuple[str, int]] = []
        self._blobs = 0

    def done(self) -> Done:
        return Done(tuple(self._logs), tuple(self._files), tuple(self._unread), self._blobs)

    def log(self, log: str, opened: OpenLog) -> None:
        records = strings = 0
        passed, block = 0, b""

        def look(start: int, raw: bytes) -> bytes:
            nonlocal records, strings
            if not raw.strip():
                return raw
            try:
                new = self._with.line(Record(log, stamp_of(fields_of(raw))), raw)
            except ValueError:
                number = passed + block.count(b"\n", 0, start) + 1
                self._unread.append((f"logs/{log}.jsonl", number))
                return raw
            if new != raw:
                records += 1
                strings += strings_changed(raw, new)
            return raw

        for found in blocks(opened, torn_at(opened)):
            block = found.data
            changed_lines(block, self._with.hits(block), look)
            passed += block.count(b"\n")
            self._told(len(block))
        if records:
            self._logs.append(RewrittenLog(log, records, strings))

    def file(self, name: str, opened: LogFile) -> None:
        how = self._with.reading(name, opened.read_at(0, HEAD_BYTES))
        if how == "skip":
            return
        if how == "lines":
            passing = FilePass(File(name), opened, self._with)
            for _ in passing.run(self._told):
                pass
            changed = passing.changed
        else:
            data = opened.read_at(0, opened.size)
            self._told(len(data))
            hits = self._with.hits(data)
            changed = hits != [] and self._with.file(name, data) != data
        if changed and name.startswith(BLOB_FOLDER):
            self._blobs += 1
        elif changed:
            self._files.append(name)


def _pass_by(_: int) -> None:
    """Take no notice."""
