"""Every check there is: finds damage and names it, changes nothing.

It counts what it read, and says what it did not: a report is never cleaner
than the reading was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import SessionError
from agentmem_cli.limits import META_BYTES_MAX
from agentmem_cli.operations.findings import NOTICE, PROBLEM, Checked, Finding, Report
from agentmem_cli.operations.imports.maps import FOLDER
from agentmem_cli.operations.refused import words_of
from agentmem_cli.operations.strays import BAD_NAME, LINK, NO_FILE, STRAY, strays
from agentmem_cli.operations.verify_words import OVER, PAIRING, UNFINISHED
from agentmem_cli.operations.watching_logs import LogWatch
from agentmem_cli.session.fold import LogFold
from agentmem_cli.session.images import BLOB_FOLDER, check_blob
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.lines import TOO_DEEP, TORN
from agentmem_cli.session.meta import META, BadMeta, SessionMeta
from agentmem_cli.session.pairing import UNASKED
from agentmem_cli.session.reader import open_log
from agentmem_cli.session.source import LogSource
from agentmem_cli.storage.care import at_work, unfinished
from agentmem_cli.storage.layout import FILES, LOGS, RECOVERED, REDO

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.directory import DirStore

__all__ = ["NOTICE", "PROBLEM", "Checked", "Finding", "Report", "verify"]

_NOTICES_MAX: Final = 20
"""Notices of one kind in one log that are told one by one; the rest is counted."""


def verify(store: DirStore, progress: Callable[[int], None] | None = None) -> Report:
    """Check a whole session.

    Args:
        store: The session; nothing in it is changed.
        progress: Called with the bytes read since the last call.

    Returns:
        Every finding, logs first in the order of their names.
    """
    work = _Work(store, progress)
    for step in (work.layout, work.logs, work.agents, work.files, work.meta, work.maps):
        try:
            step()
        except (OSError, SessionError) as error:
            work.refused(error)
    return Report(tuple(work.found), work.checked())


class _Work:
    """One verification under way."""

    def __init__(self, store: DirStore, progress: Callable[[int], None] | None) -> None:
        self.store = store
        self.found: list[Finding] = []
        self._progress = progress
        self._logs: dict[str, LogFold] = {}
        self._sizes: dict[str, int] = {}
        self._records = 0
        self._messages = 0
        self._bytes = 0
        self._blobs: dict[str, tuple[str, int]] = {}
        self._blobs_read = 0
        self._unused: dict[str, int] = {}
        self._others: set[str] = set()
        self._looked: set[str] = set()
        self._lost_in: dict[str, set[str]] = {}
        self._lost_at: dict[str, set[int]] = {}
        self._there = self.names(store.files, FILES)
        self._imported = any(name.startswith(FOLDER) for name in self._there)

    def checked(self) -> Checked:
        return Checked(
            len(self._logs),
            self._records,
            self._messages,
            self._blobs_read,
            self._bytes,
            len(self._others - self._looked),
        )

    def add(self, level: str, kind: str, where: str, why: str) -> None:
        self.found.append(Finding(level, kind, where, None, None, None, why))

    def refused(self, error: OSError | SessionError) -> None:
        """Tell that a step came to an end where the system refused; the others still count."""
        path = str(getattr(error, "filename", None) or "")
        where = path.removeprefix(f"{self.store.path}/") if path else ""
        # Why not twice: a folder that cannot be read refuses whoever looks into it.
        if not any(self._is_unread(each) for each in (where, where.partition("/")[0])):
            self.add(PROBLEM, "unreadable", where, words_of(error))

    def names(self, read: Callable[[], list[str]], folder: str) -> list[str]:
        """Return the names that *read* gives; none where the folder cannot be read."""
        try:
            return read()
        except OSError as error:
            where = str(error.filename or "")
            own = f"{self.store.path}/"
            if where.startswith(own):
                folder = where.removeprefix(own)
            if not self._is_unread(folder):
                why = f"{error.strerror or error}; nothing in it was checked"
                self.add(PROBLEM, "unreadable", folder, why)
            return []

    def _is_unread(self, folder: str) -> bool:
        return any(each.kind == "unreadable" and each.where == folder for each in self.found)

    def layout(self) -> None:
        self.left()
        for name in self.names(self.store.loose, ""):
            self.add(PROBLEM, "loose-mode", name, "other users of this machine may read it")
        told = {
            LINK: "a symbolic link: it is not followed, and nothing behind it was checked",
            BAD_NAME: "a log of a name that no reader takes: it was not checked",
            NO_FILE: "a folder, a pipe or a device stands where a file belongs",
            STRAY: "no log and no file of a session; not looked into",
        }
        for stray in strays(self.store.path):
            level = NOTICE if stray.kind == STRAY else PROBLEM
            self.add(level, stray.kind, stray.where, told[stray.kind])

    def left(self) -> None:
        """Name what a program left that was stopped; one that is at work has left nothing yet."""
        found = set(self.names(self.store.leftovers, ""))
        if found and at_work(self.store):
            self._in_use()
            return
        # Why again: one may have ended since.
        for name in sorted(found.intersection(self.names(self.store.leftovers, ""))):
            if name == REDO:
                self.unfinished()
            else:
                why = "left behind by a program that was stopped; the next change takes ours away"
                self.add(PROBLEM, "leftover", name, why)

    def _in_use(self) -> None:
        if all(each.kind != "in-use" for each in self.found):
            why = "a program is changing the session now; look again when it has ended"
            self.add(NOTICE, "in-use", "", why)

    def unfinished(self) -> None:
        redo = self.store.path / REDO
        if redo.is_symlink() or not redo.is_file():
            return  # what stands there is told of as that
        try:
            # Why by its size: it is emptied first where the change has ended (see `redo.disarm`).
            is_over = redo.stat().st_size == 0
            why = OVER if is_over else UNFINISHED[unfinished(self.store)[0]]
        except (SessionError, OSError) as error:
            why = words_of(error)
        self.add(PROBLEM, "unfinished-change", "", why)

    def logs(self) -> None:
        for log in self.names(self.store.logs, LOGS):
            self.log(log)

    def log(self, log: str) -> None:
        try:
            opened = open_log(self.store, log)
            watch = LogWatch(self, log, opened.size)
            fold = LogFold(log, LogSource(opened, self.store), strict=False)
            fold.run(None, watch.look)
        except (SessionError, OSError) as error:
            self.add(PROBLEM, "unreadable", log, words_of(error))
            return
        self._logs[log] = fold
        self._sizes[log] = opened.size
        self._records += fold.records
        self._messages += len(fold.conversation)
        self._bytes += opened.size
        if fold.records == 0 and not fold.damages:
            self.add(NOTICE, "empty-log", log, f"{opened.size} bytes, no record")
        for damage in fold.damages:
            why = damage.why
            if damage.kind == TORN and at_work(self.store):
                self._in_use()
                continue
            if damage.kind == TOO_DEEP:
                why = f"{why}: this line was not checked"
            self.found.append(
                Finding(PROBLEM, damage.kind, log, damage.line, damage.offset, damage.length, why)
            )
        watch.finish(fold)

    def pairing(self, log: str, problems: list[tuple[str, int, str | None]]) -> None:
        # Why: what an import brought is history as it happened, and where a record is lost the
        # call may have been in it: no damage that anything could mend.
        history = self._imported or log in self._lost_in
        counts: dict[str, int] = {}
        for kind, entry, call in problems:
            severe = kind == UNASKED and not history
            counts[kind] = counts.get(kind, 0) + 1
            if severe or counts[kind] <= _NOTICES_MAX:
                why = f"message {entry}: {PAIRING[kind].format(call=call)}"
                self.add(PROBLEM if severe else NOTICE, kind, log, why)
        for kind, count in counts.items():
            if count > _NOTICES_MAX and (kind != UNASKED or history):
                self.add(NOTICE, kind, log, f"{count - _NOTICES_MAX} more of this kind")

    def refers(self, log: str, line: int, names: list[str]) -> None:
        for name in names:
            self._blobs.setdefault(name, (log, line))

    def lost(self, log: str, n: int, blobs: list[str]) -> None:
        self._lost_in.setdefault(log, set()).update(blobs)
        self._lost_at.setdefault(log, set()).add(n)

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
        lost: set[str] = set().union(*self._lost_in.values())
        unlisted = any(
            each.kind == "unreadable" and each.where.partition("/")[0] == FILES
            for each in self.found
        )
        for name, (log, line) in sorted(self._blobs.items()):
            # Why not where the files could not be listed: then nobody knows.
            if BLOB_FOLDER + name not in there and not unlisted:
                known = name in lost
                why = f"blob {name} is {'lost, as the log says' if known else 'missing'}"
                level = NOTICE if known else PROBLEM
                self.found.append(Finding(level, "missing-blob", log, line, None, None, why))
        for name in sorted(there):
            if name.startswith(BLOB_FOLDER):
                self._blob(name)
            elif name.startswith(RECOVERED):
                self._recovered(name)
            elif name != META:
                self._others.add(name)
        if self._unused:
            self._tell_unused()

    def _tell_unused(self) -> None:
        """Tell the blobs that nothing names, whatever kind of file it is."""
        from agentmem_cli.operations.collecting import unnamed
        from agentmem_cli.operations.doubts import doubts_of

        try:
            unused = [name for name in unnamed(self.store) if name in self._unused]
            doubts = doubts_of(self.store) if unused else None
        except (OSError, SessionError):
            return  # Why: what cannot be read is told where it is looked at.
        kind, told = "unused-blob", "nothing in the session names it"
        if doubts is not None and (doubts.unread or doubts.lost):
            kind = "unnamed-blob"
            told = "nothing that can be read names it; what cannot, or is lost, may have"
        for name in unused:
            self.add(NOTICE, kind, name, f"{told} ({self._unused[name]} bytes)")

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
            self._unused[name] = len(data)

    def _recovered(self, name: str) -> None:
        named = _DIGEST.search(name)
        try:
            # Why in pieces: what was set aside may be larger than memory.
            digest = self.store.file_sha256(name)
            size = self.store.file_stat(name).size
        except (OSError, SessionError) as error:
            self.add(PROBLEM, "unreadable", name, words_of(error))
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
            self.add(PROBLEM, "unreadable", name, words_of(error))
            return None
        self._bytes += len(data)
        self.advance(len(data))
        return data

    def meta(self) -> None:
        from agentmem_cli.operations.listing import is_fresh, noted_sizes
        from agentmem_cli.operations.metas_told import Told, told_wrong

        if META not in self._there or self._is_unread(LOGS):
            return  # Why: without the logs nothing can be said of it.
        seen = self.store.survey()
        if seen.meta is None:
            self.add(PROBLEM, "meta", META, self._why_unread(seen.meta_size))
            return
        self._bytes += seen.meta_size
        try:
            meta = SessionMeta.decode(seen.meta)
        except BadMeta as error:
            self.add(PROBLEM, "meta", META, f"{error}; the logs tell the same")
            return
        if meta.odd:
            self.add(PROBLEM, "meta", META, f"{meta.trouble}; the logs tell the same")
        self._known_lost(meta)
        lost = self._lost(noted_sizes(meta) or {}, {log: size for log, size, _ in seen.logs})
        fresh = is_fresh(seen, meta)
        if not (lost or meta.odd or fresh):
            why = "not of the logs as they stand; a listing goes by the logs"
            self.add(NOTICE, "stale-meta", META, why)
        # Why only then: one that grew meanwhile may have a meta that is newer than what was read.
        if fresh and all(self._sizes.get(log) == size for log, size, _ in seen.logs):
            told = {log: Told.of(fold) for log, fold in self._logs.items()}
            wrong = told_wrong(self.store, meta, told)
            if wrong is not None:
                self.add(PROBLEM, "meta", META, wrong)

    def _why_unread(self, size: int) -> str:
        if size > META_BYTES_MAX:
            return f"{size} bytes, more than a meta may have; it was not read"
        try:
            self.store.open_file(META).close()
        except OSError as error:
            return f"it cannot be read: {error.strerror or error}; the logs tell the same"
        return "it could not be read while another program changed it"

    def _known_lost(self, meta: SessionMeta) -> None:
        """Tell the logs that a repair found gone, or shorter than they were."""
        from agentmem_cli.operations.lost_logs import lost_logs

        for log, lost in lost_logs(self.store, meta).items():
            kind = "shorter-log" if log in self._logs else "lost-log"
            self.add(NOTICE, kind, log, f"it had {lost.size} bytes once, as the meta says")

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
        from agentmem_cli.operations.imports.checking import BAD, check_maps

        try:
            found = check_maps(
                self.store, self._logs, looked=self._looked, noted_lost=self._lost_at
            )
            for bad in found:
                self.add(PROBLEM if bad.kind == BAD else NOTICE, bad.kind, bad.file, bad.why)
        except (OSError, SessionError) as error:
            self.add(PROBLEM, "unreadable", FOLDER, words_of(error))


_DIGEST: Final = re.compile(r"-([0-9a-f]{64})\.part$")
