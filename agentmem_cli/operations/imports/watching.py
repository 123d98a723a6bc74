"""Sources that grow: looking at them again and again, and importing those that changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import AgentMemError, Busy, Unrecognised
from agentmem_cli.operations.imports.folders import OTHER, changed_since, gather, import_found
from agentmem_cli.operations.imports.report import Outcome
from agentmem_cli.operations.imports.sniff import check_kind, choose, for_many

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentmem_cli.operations.imports.folders import Gathered
    from agentmem_cli.operations.imports.importing import Options

    Stats = dict[Path, tuple[int, int, int] | None]

GONE: Final = "gone; what was imported of it stays"
"""`Outcome.skipped` of a source that is not there any more."""


class Watcher:
    """Imports what changed of some sources, each time it is asked to look."""

    def __init__(
        self,
        paths: Sequence[Path],
        root: Path,
        options: Options,
        *,
        kind: str | None = None,
        since_ms: int | None = None,
    ) -> None:
        """Watch *paths*; the other arguments are those of `folders.import_paths`."""
        check_kind(kind)
        self._paths = [path.absolute() for path in paths]
        self._root = root
        self._options = options
        self._kind = kind
        self._since_ms = since_ms
        self._seen: dict[Path, Stats] = {}
        self._files: dict[Path, tuple[Path, ...]] = {}
        self._sessions: dict[Path, str] = {}
        self._odd: dict[Path, Outcome] = {}
        self._unread: set[Path] = set()
        self._passed: set[Path] = set()
        self._parts: set[Path] = set()
        self._notices: list[Outcome] = []

    def poll(self, now_ms: int) -> Iterator[Outcome]:
        """Import every source of which a file changed since the last time, once.

        A change is told by size, time and identity; nothing else is opened.
        New files in watched folders are taken. What failed for a reason that
        passes (a lock, a disk) is tried again even if it did not change.
        Folders that cannot be looked into come first, each once.
        """
        gathered = gather(self._paths)
        yield from self._unreadable(gathered)
        self._pass_by(gathered)
        stats = {source.path: _stat(source.path) for source in gathered.sources}
        stats.update((part, _stat(part)) for part in gathered.parts)
        below = _below(gathered.parts)
        # Why each time: what these remember of the folders is true of this look only.
        options = self._options._replace(now_ms=now_ms, adapters=for_many())
        grown = self._grown(gathered, options)
        for source in gathered.sources:
            path = source.path
            near = below.get(path.with_suffix(""), [])
            files = {path, *self._files.get(path, ()), *near}
            if path not in grown and self._seen.get(path) == _state(files, stats):
                if path in self._odd:
                    self._notices.append(self._odd.pop(path))
                continue
            # Why the state from before: what comes while it is read is new the next time.
            before = {file: stats.get(file) for file in files}
            if path not in self._seen and not self._is_wanted(path):
                self._seen[path] = before
                continue
            outcome = import_found(source, self._root, options, kind=self._kind)
            if outcome.report is not None:
                self._files[path] = outcome.report.files
                self._sessions[path] = outcome.report.session
                before |= {file: stats.get(file) for file in outcome.report.files}
            if _passes(outcome.error):
                self._seen.pop(path, None)
            else:
                self._seen[path] = before
            self._judge(path, outcome)
            yield outcome
        self._miss(gathered)

    def notices(self) -> list[Outcome]:
        """Return what the looks so far found out besides, each once.

        It is what was imported and is gone (`GONE`), or is no transcript any
        more; what is of no known kind and stayed so for a look; and links and special files in
        a folder, with why they are passed by. A file
        that is empty, or of a known kind without a message, may just have
        been made, and is none of these.
        """
        found, self._notices = self._notices, []
        return found

    def _unreadable(self, gathered: Gathered) -> Iterator[Outcome]:
        unread = {Path(os.fsdecode(error.filename)): error for error in gathered.unread}
        for path, error in unread.items():
            if path not in self._unread:
                yield Outcome(path, error=error)
        self._unread = {*unread}

    def _pass_by(self, gathered: Gathered) -> None:
        """Notice links, pipes and the like that were not there at the last look."""
        for path, why in gathered.passed:
            if path not in self._passed:
                self._notices.append(Outcome(path, skipped=why))
        self._passed = {passed.path for passed in gathered.passed}

    def _grown(self, gathered: Gathered, options: Options) -> set[Path]:
        """Return the sources that a file has come to which is read with them."""
        come = set(gathered.parts).difference(self._parts) if self._seen else set()
        self._parts = set(gathered.parts)
        known = {file.absolute() for files in self._files.values() for file in files}
        mains = set()
        for part in come:
            if part.absolute() not in known:
                mains.add(_main_of(part, self._kind, options))
        return {source.path for source in gathered.sources if source.path.absolute() in mains}

    def _judge(self, path: Path, outcome: Outcome) -> None:
        """See whether what was not understood is to be told, now or at the next look."""
        self._odd.pop(path, None)
        if path in self._sessions:
            if outcome.skipped == OTHER:
                error = Unrecognised(f"{path}: not a known kind of transcript any more")
                outcome = Outcome(path, error=error)
            if isinstance(outcome.error, Unrecognised):
                self._notices.append(outcome)
        elif isinstance(outcome.error, Unrecognised) and not _may_begin(path, self._kind):
            self._odd[path] = outcome

    def _miss(self, gathered: Gathered) -> None:
        """Notice which sources are gone, but for those of a folder that cannot be looked into."""
        there = {source.path for source in gathered.sources}
        there.update(gathered.parts)
        hidden = {*self._unread, *(path for path in self._paths if path in there)}
        for path in [path for path in self._seen if path not in there]:
            if not self._unread.isdisjoint(path.parents):
                continue
            del self._seen[path]
            self._odd.pop(path, None)
            self._files.pop(path, None)
            session = self._sessions.pop(path, None)
            moved = session in self._sessions.values()
            if session is not None and not moved and hidden.isdisjoint(path.parents):
                self._notices.append(Outcome(path, skipped=GONE))

    def _is_wanted(self, path: Path) -> bool:
        since_ms = self._since_ms
        return since_ms is None or changed_since(path, since_ms, self._kind)


def _below(parts: Iterable[Path]) -> dict[Path, list[Path]]:
    """Return which of *parts* lie somewhere below each folder."""
    below: dict[Path, list[Path]] = {}
    for part in parts:
        for above in part.parents:
            below.setdefault(above, []).append(part)
    return below


def _state(files: Iterable[Path], stats: Stats) -> Stats:
    return {file: stats[file] if file in stats else _stat(file) for file in files}


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _main_of(part: Path, kind: str | None, options: Options) -> Path | None:
    """Return the main file of the session that *part* is read with."""
    try:
        adapter, head = choose(part, kind, options.adapters)
        return adapter.open(part, head).streams[0].path.absolute()
    except (AgentMemError, OSError):
        return None


def _may_begin(path: Path, kind: str | None) -> bool:
    """Whether a file that holds no message is the beginning of a transcript."""
    try:
        if path.stat().st_size:
            choose(path, kind)
    except AgentMemError:
        return False
    except OSError:
        return True
    return True


def _passes(error: AgentMemError | OSError | None) -> bool:
    """Whether what failed can succeed although the source stays as it is."""
    return isinstance(error, OSError | Busy)
