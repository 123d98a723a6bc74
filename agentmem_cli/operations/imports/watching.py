"""Sources that grow: looking at them again and again, and importing those that changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.errors import Busy
from agentmem_cli.operations.imports.folders import changed_since, gather, import_found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from agentmem_cli.errors import AgentMemError
    from agentmem_cli.operations.imports.importing import Options
    from agentmem_cli.operations.imports.report import Outcome

    Stats = dict[Path, tuple[int, int, int] | None]


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
        self._paths = paths
        self._root = root
        self._options = options
        self._kind = kind
        self._since_ms = since_ms
        self._seen: dict[Path, Stats] = {}
        self._files: dict[Path, tuple[Path, ...]] = {}

    def poll(self, now_ms: int) -> Iterator[Outcome]:
        """Import every source of which a file changed since the last time, once.

        A change is told by size, time and identity; nothing else is opened.
        New files in watched folders are taken. What failed for a reason that
        passes (a lock, a disk) is tried again even if it did not change.
        """
        gathered = gather(self._paths)
        stats = {source.path: _stat(source.path) for source in gathered.sources}
        stats.update((part, _stat(part)) for part in gathered.parts)
        below = _below(gathered.parts)
        options = self._options._replace(now_ms=now_ms)
        for source in gathered.sources:
            path = source.path
            near = below.get(path.with_suffix(""), [])
            files = {path, *self._files.get(path, ()), *near}
            if self._seen.get(path) == _state(files, stats):
                continue
            # Why the state from before: what comes while it is read is new the next time.
            before = {file: stats.get(file) for file in files}
            if path not in self._seen and not self._is_wanted(path):
                self._seen[path] = before
                continue
            outcome = import_found(source, self._root, options, kind=self._kind)
            if outcome.report is not None:
                self._files[path] = outcome.report.files
                before |= {file: stats.get(file) for file in outcome.report.files}
            if _passes(outcome.error):
                self._seen.pop(path, None)
            else:
                self._seen[path] = before
            yield outcome

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


def _passes(error: AgentMemError | OSError | None) -> bool:
    """Whether what failed can succeed although the source stays as it is."""
    return isinstance(error, OSError | Busy)
