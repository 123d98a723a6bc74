"""Every check there is: finds damage and names it, changes nothing.

It counts what it read, and says what it did not: a report is never cleaner
than the reading was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import SessionError
from agentmem_cli.operations.imports.maps import FOLDER, MAP_END
from agentmem_cli.operations.strays import BAD_NAME, LINK, STRAY, strays
from agentmem_cli.session.fold import LogFold
from agentmem_cli.session.images import BLOB_FOLDER, blob_names, check_blob
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.lines import TOO_DEEP
from agentmem_cli.session.meta import META, BadMeta, SessionMeta
from agentmem_cli.session.pairing import MERGEABLE, UNANSWERED, UNASKED, Waiting, calls_of
from agentmem_cli.session.reader import open_log
from agentmem_cli.session.source import LogSource
from agentmem_cli.session.writer import RECOVERED
from agentmem_cli.storage.layout import FILES, LOGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.lines import Line
    from agentmem_cli.storage.directory import DirStore

PROBLEM: Final = "problem"
"""Damage, or what breaks a promise: the exit status is 1."""
NOTICE: Final = "notice"
"""Worth knowing, no damage: the exit status stays 0."""


_NOTICES_MAX: Final = 20
"""Notices of one kind in one log that are told one by one; the rest is counted."""


class Finding(NamedTuple):
    """One place that is not as it should be."""

    level: str
    """`PROBLEM` or `NOTICE`."""
    kind: str
    """A word that scripts can rely on."""
    where: str
    """The log or file it is in; empty: the session itself."""
    line: int | None
    """The line of the log, from 1."""
    byte: int | None
    """Where it begins, in bytes from the beginning."""
    length: int | None
    """How many bytes it concerns."""
    why: str


class Checked(NamedTuple):
    """How much was read."""

    logs: int
    records: int
    messages: int
    blobs: int
    bytes: int
    unchecked_files: int
    """Plugins' files: their bytes are theirs, and were not looked into."""


class Report(NamedTuple):
    """What a verification found."""

    findings: tuple[Finding, ...]
    checked: Checked

    @property
    def problems(self) -> int:
        """How many findings are problems."""
        return sum(finding.level == PROBLEM for finding in self.findings)


def verify(store: DirStore, progress: Callable[[int], None] | None = None) -> Report:
    """Check a whole session.

    Args:
        store: The session; nothing in it is changed.
        progress: Called with the bytes read since the last call.

    Returns:
        Every finding, logs first in the order of their names.
    """
    work = _Work(store, progress)
    work.layout()
    for log in work.names(store.logs, LOGS):
        work.log(log)
    work.agents()
    work.files()
    work.meta()
    work.maps()
    return Report(tuple(work.found), work.checked())


class _Work:
    """One verification under way."""

    def __init__(self, store: DirStore, progress: Callable[[int], None] | None) -> None:
        self.store = store
        self.found: list[Finding] = []
        self._progress = progress
        self._logs: dict[str, LogFold] = {}
        self._records = 0
        self._messages = 0
        self._bytes = 0
        self._blobs: dict[str, tuple[str, int]] = {}
        self._blobs_read = 0
        self._unchecked = 0
        self._there = self.names(store.files, FILES)
        self._imported = any(name.startswith(FOLDER) for name in self._there)

    def checked(self) -> Checked:
        return Checked(
            len(self._logs),
            self._records,
            self._messages,
            self._blobs_read,
            self._bytes,
            self._unchecked,
        )

    def add(self, level: str, kind: str, where: str, why: str) -> None:
        self.found.append(Finding(level, kind, where, None, None, None, why))

    def names(self, read: Callable[[], list[str]], folder: str) -> list[str]:
        """Return the names that *read* gives; none where the folder cannot be read."""
        try:
            return read()
        except OSError as error:
            self.add(
                PROBLEM,
                "unreadable",
                folder,
                f"{error.strerror or error}; nothing in it was checked",
            )
            return []

    def layout(self) -> None:
        if self.store.pending():
            why = "a change was cut short; the next command that changes something finishes it"
            self.add(PROBLEM, "unfinished-change", "", why)
        for name in self.store.leftovers():
            why = "left behind by a program that was stopped; the next change takes ours away"
            self.add(PROBLEM, "leftover", name, why)
        for name in self.store.loose():
            self.add(PROBLEM, "loose-mode", name, "other users of this machine may read it")
        told = {
            LINK: "a symbolic link: it is not followed, and nothing behind it was checked",
            BAD_NAME: "a log of a name that no reader takes: it was not checked",
            STRAY: "no log and no file of a session; not looked into",
        }
        for stray in strays(self.store.path):
            level = NOTICE if stray.kind == STRAY else PROBLEM
            self.add(level, stray.kind, stray.where, told[stray.kind])

    def log(self, log: str) -> None:
        try:
            opened = open_log(self.store, log)
            watch = _LogWatch(self, log, opened.size)
            fold = LogFold(log, LogSource(opened, self.store), strict=False)
            fold.run(None, watch.look)
        except (SessionError, OSError) as error:
            self.add(PROBLEM, "unreadable", log, str(error))
            return
        self._logs[log] = fold
        self._records += fold.records
        self._messages += len(fold.conversation)
        self._bytes += opened.size
        if fold.records == 0 and not fold.damages:
            self.add(NOTICE, "empty-log", log, f"{opened.size} bytes, no record")
        for damage in fold.damages:
            why = damage.why
            if damage.kind == TOO_DEEP:
                why = f"{why}: this line was not checked"
            self.found.append(
                Finding(PROBLEM, damage.kind, log, damage.line, damage.offset, damage.length, why)
            )
        watch.finish(fold)

    def pairing(self, log: str, problems: list[tuple[str, int, str | None]]) -> None:
        told = {
            UNANSWERED: "no result answers the call {call!r}",
            UNASKED: "a result for {call!r}, which no call asked for",
            MERGEABLE: "two replies stand side by side that could be one",
        }
        counts: dict[str, int] = {}
        for kind, entry, call in problems:
            # Why: what an import brought is history as it happened, not damage.
            severe = kind == UNASKED and not self._imported
            counts[kind] = counts.get(kind, 0) + 1
            if severe or counts[kind] <= _NOTICES_MAX:
                why = f"message {entry}: {told[kind].format(call=call)}"
                self.add(PROBLEM if severe else NOTICE, kind, log, why)
        for kind, count in counts.items():
            if count > _NOTICES_MAX and (kind != UNASKED or self._imported):
                self.add(NOTICE, kind, log, f"{count - _NOTICES_MAX} more of this kind")

    def refers(self, log: str, line: int, names: list[str]) -> None:
        for name in names:
            self._blobs.setdefault(name, (log, line))

    def advance(self, size: int) -> None:
        if self._progress is not None:
            self._progress(size)

    def agents(self) -> None:
        for log, fold in self._logs.items():
            header = fold.header
            if header is not None and header.parent is not None and header.parent not in self._logs:
                why = f"its parent {header.parent!r} has no log"
                self.add(NOTICE, "missing-parent", log, why)
            if log == SESSION and len(fold.conversation):
                why = "the session's own log holds a conversation"
                self.add(PROBLEM, "stray-conversation", log, why)

    def files(self) -> None:
        there = set(self._there)
        for name, (log, line) in sorted(self._blobs.items()):
            if BLOB_FOLDER + name not in there:
                why = f"blob {name} is missing"
                self.found.append(Finding(PROBLEM, "missing-blob", log, line, None, None, why))
        for name in sorted(there):
            if name.startswith(BLOB_FOLDER):
                self._blob(name)
            elif name.startswith(RECOVERED):
                self._recovered(name)
            elif name != META and not (name.startswith(FOLDER) and name.endswith(MAP_END)):
                self._unchecked += 1

    def _blob(self, name: str) -> None:
        data = self._read(name)
        if data is None:
            return
        self._blobs_read += 1
        short = name.removeprefix(BLOB_FOLDER)
        try:
            check_blob(short, data)
        except ValueError:
            why = "its bytes are not those that its name says"
            self.add(PROBLEM, "mismatched-blob", name, why)
        if short not in self._blobs:
            self.add(NOTICE, "unused-blob", name, f"no record names it ({len(data)} bytes)")

    def _recovered(self, name: str) -> None:
        named = _DIGEST.search(name)
        try:
            # Why in pieces: what was set aside may be larger than memory.
            digest = self.store.file_sha256(name)
            size = self.store.file_stat(name).size
        except (OSError, SessionError) as error:
            self.add(PROBLEM, "unreadable", name, str(error))
            return
        self._bytes += size
        self.advance(size)
        if named is not None and named[1] != digest:
            why = "its bytes are not those that its name says"
            self.add(PROBLEM, "mismatched-recovered", name, why)

    def _read(self, name: str) -> bytes | None:
        try:
            data = self.store.read_file(name)
        except (OSError, SessionError) as error:
            self.add(PROBLEM, "unreadable", name, str(error))
            return None
        self._bytes += len(data)
        self.advance(len(data))
        return data

    def meta(self) -> None:
        from agentmem_cli.operations.listing import is_fresh, noted_sizes
        from agentmem_cli.storage.survey import survey

        seen = survey(str(self.store.path))
        if not seen.meta_size:
            return
        if seen.meta is None:
            why = f"{seen.meta_size} bytes, more than a meta may have; it was not read"
            self.add(PROBLEM, "meta", META, why)
            return
        self._bytes += seen.meta_size
        try:
            meta = SessionMeta.decode(seen.meta)
        except BadMeta as error:
            self.add(PROBLEM, "meta", META, f"{error}; the logs tell the same")
            return
        lost = self._lost(noted_sizes(meta) or {}, {log: size for log, size, _ in seen.logs})
        if not (lost or is_fresh(seen, meta)):
            why = "not of the logs as they stand; a listing goes by the logs"
            self.add(NOTICE, "stale-meta", META, why)

    def _lost(self, noted: dict[str, JSON], sizes: dict[str, int]) -> bool:
        """Name the logs that are gone, or shorter than the meta noted; logs only ever grow."""
        lost = False
        for log, bytes_noted in noted.items():
            fold = self._logs.get(log)
            rewritten = fold is not None and fold.header is not None and fold.header.rewrites
            size = sizes.get(log, 0)
            if type(bytes_noted) is not int or size >= bytes_noted or rewritten:
                continue
            lost = True
            stands = f"{size} bytes stand there" if log in sizes else "there is no such log"
            why = f"it had {bytes_noted} bytes when it was last written here, and {stands}"
            self.add(PROBLEM, "lost-log" if log not in sizes else "shorter-log", log, why)
        return lost

    def maps(self) -> None:
        """Check the maps of imports, which say what of a source stands in the logs."""
        if not self._imported:
            return
        from agentmem_cli.operations.imports.checking import AWAITED, check_maps

        try:
            for bad in check_maps(self.store, self._logs):
                self.add(NOTICE if bad.kind == AWAITED else PROBLEM, bad.kind, bad.file, bad.why)
        except (OSError, SessionError) as error:
            self.add(PROBLEM, "unreadable", FOLDER, str(error))


class _LogWatch:
    """Looks into the messages of one log as it is folded."""

    def __init__(self, work: _Work, log: str, size: int) -> None:
        self._work = work
        self._log = log
        self._size = size
        self._told = 0
        self._waiting: Waiting | None = Waiting()
        self._ids: list[int] = []

    def look(self, line: Line, _: LogFold) -> None:
        fields = line.fields
        kind = fields.get("type")
        if kind == "push":
            self._entries(line, fields.get("entries"), paired=True)
        elif kind in ("splice", "reset"):
            # Why: what pairs is the conversation as it stands, so it is looked at in the end.
            self._waiting = None
            state = fields.get("state")
            inner = state.get("entries") if isinstance(state, dict) else fields.get("with")
            self._entries(line, inner, paired=False)
        if line.offset - self._told > _TELL_BYTES:
            self._work.advance(line.offset - self._told)
            self._told = line.offset

    def _entries(self, line: Line, entries: object, *, paired: bool) -> None:
        for entry in entries if isinstance(entries, list) else []:
            if not isinstance(entry, dict):
                continue
            message = entry.get("message")
            if not isinstance(message, dict):
                continue
            if paired and self._waiting is not None:
                calls = self._waiting.feed(message)
                self._ids.append(entry.get("id", -1))
            else:
                calls = calls_of(message)
            if calls.images and (names := blob_names(message)):
                self._work.refers(self._log, line.number, names)

    def finish(self, fold: LogFold) -> None:
        self._work.advance(self._size - self._told)
        waiting, ids = self._waiting, self._ids
        # Why: a push that was refused left the conversation without its entries.
        if waiting is None or len(ids) != len(fold.conversation):
            waiting = Waiting()
            ids = [entry.id for entry in fold.conversation.entries]
            for entry in fold.conversation.entries:
                waiting.feed(entry.stored.value)
        # Why: calls that wait at the very end may still be answered.
        problems = [(problem.kind, ids[problem.at], problem.call) for problem in waiting.problems]
        self._work.pairing(self._log, problems)


_TELL_BYTES: Final = 4 << 20

_DIGEST: Final = re.compile(r"-([0-9a-f]{64})\.part$")
