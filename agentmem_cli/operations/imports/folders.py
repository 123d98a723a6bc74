"""Several sources, and folders of them: which files are transcripts, and importing each.

In a folder every file is looked at that a transcript could be by its ending.
What belongs to another file (a subagent's transcript) is read with that one;
indexes and histories that tools keep beside their transcripts are no
transcripts, whatever they hold.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError, NoMessageYet, Unrecognised
from agentmem_cli.operations.imports.claude_files import parts_in as claude_parts
from agentmem_cli.operations.imports.codex_tree import parts_in as codex_parts
from agentmem_cli.operations.imports.importing import Options, import_one
from agentmem_cli.operations.imports.naming import session_name
from agentmem_cli.operations.imports.opening import open_regular
from agentmem_cli.operations.imports.report import Outcome
from agentmem_cli.operations.imports.restored import import_tar
from agentmem_cli.operations.imports.sniff import ADAPTERS, check_kind, choose, for_many, kinds
from agentmem_cli.operations.imports.tarred import is_tar
from agentmem_cli.operations.imports.walking import ENDINGS, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agentmem_cli.operations.imports.adapter import Adapter
    from agentmem_cli.operations.imports.walking import Passed

PARTS: Final[tuple[Callable[[Sequence[Path]], Iterable[Path]], ...]] = (claude_parts, codex_parts)
"""One of every format whose sessions have several files: it takes the files found in a
folder, sorted, and returns those that are read together with another one of them."""

SIDECARS: Final = frozenset(
    {"history.jsonl", "session_index.jsonl", "sessions-index.json", "settings.json"}
)
"""Files that tools keep beside their transcripts."""

_ID_AT_END: Final = re.compile(r"([0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.")

_PASSED_FOLDERS: Final = frozenset({".git", "node_modules"})

_LOOK_BYTES: Final = 64 << 10
"""Of a JSON document, the beginning that tells whether it can hold messages."""

OTHER: Final = "other"
"""`Outcome.skipped` of a file in a folder that is plainly no transcript."""

WAITING: Final = "no message yet"
"""`Outcome.skipped` of a file in a folder that is empty, or only begins."""

OLD: Final = "old"
"""`Outcome.skipped` of a source that has not changed since the time asked for."""


class Source(NamedTuple):
    """One file that is to be imported."""

    path: Path
    found: bool
    """Whether it was found in a folder, not named itself."""


class Gathered(NamedTuple):
    """The files that paths stand for."""

    sources: tuple[Source, ...]
    """In the order of the paths; a folder's by name. Each once."""
    parts: tuple[Path, ...]
    """Files that are read with one of the sources."""
    unread: tuple[OSError, ...]
    """Folders that could not be looked into."""
    passed: tuple[Passed, ...]
    """What in folders has a transcript's name, or leads somewhere, and is not followed."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all of them; what is not there counts as nothing."""
        return sum(map(_size, (*(source.path for source in self.sources), *self.parts)))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # Why: it is told where it is read, as one source of several.


def sources_of(path: Path) -> list[Path]:
    """Return the transcripts that *path* stands for: itself, or a folder's, sorted by name.

    Symbolic links inside a folder are not followed.
    """
    return [source.path for source in gather([path]).sources]


def gather(paths: Sequence[Path]) -> Gathered:
    """Find what *paths* stand for, without opening any of it.

    Raises:
        Nothing: what cannot be looked into is in ``unread``.
    """
    sources: dict[Path, Source] = {}
    parts: dict[Path, None] = {}
    unread: list[OSError] = []
    passed: dict[Path, Passed] = {}
    # Why absolute: what is read together with a source is told by no other path.
    for path in map(Path.absolute, paths):
        if not _is_folder(path):
            sources.setdefault(path, Source(path, found=False))
            continue
        found = walk(path, ENDINGS, SIDECARS | _PASSED_FOLDERS)
        unread += found.unread
        passed.update((each.path, each) for each in found.passed)
        files = found.files
        belonging = {part for find in PARTS for part in find(files)}
        parts.update(dict.fromkeys(sorted(belonging)))
        for file in files:
            if file not in belonging:
                sources.setdefault(file, Source(file, found=True))
    return Gathered(tuple(sources.values()), tuple(parts), tuple(unread), tuple(passed.values()))


def import_paths(  # noqa: PLR0913 - one option of the command each
    paths: Sequence[Path],
    root: Path,
    *,
    now_ms: int,
    kind: str | None = None,
    dry_run: bool = False,
    keep_source: bool = True,
    again: bool = False,
    lock_wait_s: float | None = None,
    since_ms: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Outcome]:
    """Import several sources; of a folder every transcript beneath it.

    The arguments are `import_source`'s, and *since_ms*: only sources with a
    file that was changed at this time or later. One source that fails stops
    no other.

    Yields:
        One a source, in order; a folder's files by name. Before them what of
        folders could not be looked into, and what was passed by.

    Raises:
        UsageError: There is no such *kind*.
    """
    options = Options(now_ms, dry_run, keep_source, again, lock_wait_s, progress)
    return import_gathered(gather(paths), root, options, kind=kind, since_ms=since_ms)


def import_gathered(
    gathered: Gathered,
    root: Path,
    options: Options,
    *,
    kind: str | None = None,
    since_ms: int | None = None,
) -> Iterator[Outcome]:
    """Import what was gathered, as `import_paths` does."""
    check_kind(kind)
    options = options._replace(adapters=for_many())
    for error in gathered.unread:
        yield Outcome(Path(os.fsdecode(error.filename)), error=error)
    for passed in gathered.passed:
        yield Outcome(passed.path, skipped=passed.why)
    for source in gathered.sources:
        if since_ms is not None and not changed_since(
            source.path, since_ms, kind, options.adapters
        ):
            yield Outcome(source.path, skipped=OLD)
        else:
            yield import_found(source, root, options, kind=kind)


def import_found(
    source: Source, root: Path, options: Options, *, kind: str | None = None
) -> Outcome:
    """Import one source; what goes wrong is in the outcome."""
    path = source.path
    document = source.found and path.suffix.lower() == ".json"
    try:
        if document and not _can_be_messages(path):
            return Outcome(path, skipped=OTHER)
        is_session = not source.found and kind is None and is_tar(path)
        report = (
            import_tar(path, root, options)
            if is_session
            else import_one(path, root, options, kind=kind)
        )
        return Outcome(path, report)
    except NoMessageYet as error:
        if document:
            return Outcome(path, skipped=OTHER)
        # Why not of a session that is there: what it was imported from holds nothing any more.
        waits = source.found and not was_imported(path, root)
        return Outcome(path, error=error, skipped=WAITING if waits else None)
    except Unrecognised as error:
        # Why: tools keep settings and states in such files, dozens of them.
        return Outcome(path, skipped=OTHER) if document else Outcome(path, error=error)
    except (AgentMemError, OSError) as error:
        return Outcome(path, error=error)


def was_imported(path: Path, root: Path) -> bool:
    """Whether a session of the id that the name of *path* ends in was made by an import."""
    found = _ID_AT_END.search(path.name)
    id_ = path.name.partition(".")[0] if found is None else found[1]
    return any((root / session_name(kind, id_)).is_dir() for kind in kinds())


def _can_be_messages(path: Path) -> bool:
    with open_regular(path) as file:
        head = file.read(_LOOK_BYTES)
    return b'"role"' in head and head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"[", b"{")


def changed_since(
    path: Path, since_ms: int, kind: str | None = None, adapters: Sequence[Adapter] = ADAPTERS
) -> bool:
    """Whether a file of the source *path* has a time of *since_ms* or later.

    What cannot be looked at counts as changed, so that it is told where it is read.
    """
    try:
        if _modified_ms(path) >= since_ms:
            return True
        adapter, head = choose(path, kind, adapters)
        streams = adapter.open(path, head).streams
        return any(_modified_ms(stream.path) >= since_ms for stream in streams)
    except AgentMemError:
        return False
    except OSError:
        return True


def _modified_ms(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000
