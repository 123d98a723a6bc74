"""Importing a foreign transcript."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from os.path import lexists
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import (
    AgentMemError,
    Appeared,
    ConflictError,
    DamageError,
    NoMessageYet,
    Record,
    Unrecognised,
    UsageError,
)
from agentmem_cli.operations.imports.belonging import at_home, standing_alone
from agentmem_cli.operations.imports.beside import is_all_kept, keep_beside
from agentmem_cli.operations.imports.naming import session_name
from agentmem_cli.operations.imports.places import place_in
from agentmem_cli.operations.imports.recognised import WITHOUT_IDS, Exported, known_again
from agentmem_cli.operations.imports.report import plural
from agentmem_cli.operations.imports.reporting import exported_report, known_report, report_of
from agentmem_cli.operations.imports.sniff import ADAPTERS, choose, kinds, quiet_of
from agentmem_cli.operations.imports.sources import SourceIn, find_maps
from agentmem_cli.operations.imports.standing import folded, is_kept, seems_whole
from agentmem_cli.operations.imports.targets import (
    free_name,
    map_of,
    names_there,
    refuse_rewritten,
    refuse_without_map,
    rewritten_part,
)
from agentmem_cli.operations.imports.unchanged import unchanged
from agentmem_cli.storage.directory import DirStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Adapter, Stream, Transcript
    from agentmem_cli.operations.imports.maps import MapHeader, OldMap
    from agentmem_cli.operations.imports.report import Report
    from agentmem_cli.storage.store import Batch


_DAMAGED: Final = (
    "agentmem verify names every damaged place; --again imports the source whole, as a session "
    "of its own."
)


class Options(NamedTuple):
    """How `import_source` is asked to import; its arguments say what each is."""

    now_ms: int
    dry_run: bool = False
    keep_source: bool = True
    again: bool = False
    lock_wait_s: float | None = None
    progress: Callable[[int, int], None] | None = None
    adapters: Sequence[Adapter] = ADAPTERS
    sealing: Callable[[], None] | None = None
    """Called when a session is about to be written, after all that it needs was read."""


def import_source(  # noqa: PLR0913 - one option of the command each
    path: Path,
    root: Path,
    *,
    now_ms: int,
    kind: str | None = None,
    dry_run: bool = False,
    keep_source: bool = True,
    again: bool = False,
    lock_wait_s: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Import the foreign session at *path* into a session under *root*.

    The source is opened for reading only. The session is named by the kind
    and the source's own session id. Importing again adds what is new.

    Args:
        path: The transcript.
        root: The folder of the sessions. It need not exist.
        now_ms: The time now, ms since 1970-01-01 UTC; noted in the map.
        kind: The source's kind; None: it is recognised by its content.
        dry_run: Read and count, and write nothing.
        keep_source: Keep the source's bytes in the session, beside the map.
        again: Import as a new session, where one of that name is there.
        lock_wait_s: Seconds to wait for the session's lock; None: the usual time.
        progress: Called with the bytes read so far and the bytes there are.

    Returns:
        What was made of the source, and what could not be used of it.

    Raises:
        OSError: The source cannot be read, or the session not be written.
        UsageError: *path* is a folder, or there is no such *kind*.
        ConflictError: The session was rewritten since (a redaction), was not
            made from this source, or the source has parted from it.
        Unrecognised: The source is empty, of no known kind, or holds no message;
            `NoMessageYet` where it is merely empty, or only begins.
        DamageError: The session that is there, or its map, is damaged, or lacks
            what the source cannot restore.
        SessionError: It does not read for another reason.
        Busy: Another program is writing to it.
    """
    options = Options(now_ms, dry_run, keep_source, again, lock_wait_s, progress)
    return import_one(path, root, options, kind=kind)


def import_one(path: Path, root: Path, options: Options, *, kind: str | None = None) -> Report:
    """Import the foreign session at *path*, as `import_source` does."""
    if path.is_dir():
        msg = f"{path}: a folder"
        raise UsageError(msg, hint="Give a transcript file, or import the folder as several.")
    adapter, head = choose(path, kind, options.adapters)
    transcript = adapter.open(path, head)
    return import_transcript(transcript, root, options)


def import_transcript(transcript: Transcript, root: Path, options: Options) -> Report:
    """Import a *transcript* that an adapter has opened, as `import_source` does."""
    if not options.again:
        transcript = at_home(transcript, root)
    report = _import_named(transcript, root, options)
    return replace(report, alone=standing_alone(transcript, root))


def _import_named(transcript: Transcript, root: Path, options: Options) -> Report:
    name = session_name(transcript.kind, transcript.id)
    if options.again:
        return _import_into(transcript, root / free_name(root, name), options)
    if transcript.kind in WITHOUT_IDS:
        known = known_again(transcript, root)
        if isinstance(known, Exported):
            return exported_report(known, transcript, root)
        return _import_into(transcript, root / known, options)
    names = names_there(root, name)
    if len(names) > 1:
        # Why: --again made the others, and the source goes on with the one that it was.
        name = next((each for each in names if _goes_on(transcript, root / each)), name)
        for each in names if name == names[0] else ():
            report = _older_copy(transcript, root / each, options)
            if report is not None:
                return report
    return _import_into(transcript, root / name, options)


def _import_into(transcript: Transcript, folder: Path, options: Options) -> Report:
    begins = not lexists(folder)
    try:
        return _import_once(transcript, folder, options)
    except AgentMemError as error:
        # Why once more: another import made the session meanwhile, so it is gone on with.
        if not isinstance(error, Appeared) and not (begins and lexists(folder)):
            raise
        return _import_once(transcript, folder, options)


def _import_once(transcript: Transcript, folder: Path, options: Options) -> Report:
    store = DirStore.open(folder)
    store.look_only = folder.is_symlink()
    refuse_rewritten(store, transcript.streams[0].path)
    headers, read = _as_before(transcript, store, options)
    if headers is not None:
        if not options.dry_run:
            _tidy(store)
        report = known_report(headers, store, transcript, folder)
        return replace(report, bytes=report.bytes if read else 0, dry_run=options.dry_run)
    older = _older_copy(transcript, folder, options)
    if older is not None:
        return older
    report = _import(transcript, store, folder, options)
    if not (options.dry_run or report.created):
        _note_sizes(store, written=not report.nothing_new)
    return report


def _as_before(
    transcript: Transcript, store: DirStore, options: Options
) -> tuple[Sequence[MapHeader] | None, bool]:
    """Return the maps' headers where sources and session are as the last import left them.

    Returns:
        None for the headers: there is something to do. And whether the
        sources had to be read to know that.

    Raises:
        ConflictError: A session of its name is there that no import made.
        DamageError: A map is damaged.
    """
    headers, read = unchanged(transcript, store, keep_source=options.keep_source)
    maps = find_maps(store)
    if headers is not None:
        # Why: that the sources are as they were says nothing of the session.
        return (headers if _needs_nothing(transcript, store, maps) else None), read
    if not maps:
        refuse_without_map(store, transcript.streams[0].path)
        return None, True
    with _opened(transcript, maps) as sources:
        if _nothing_new(sources, maps, options) and _needs_nothing(transcript, store, maps):
            return [source.told for source in sources], True
    return None, True


def _needs_nothing(transcript: Transcript, store: DirStore, maps: Sequence[OldMap]) -> bool:
    """Whether a session needs nothing of sources that are as they were.

    That is where it is whole, and no file that it refers to and lacks has come since.
    """
    if not seems_whole(store, maps):
        return False
    if any(old.header.kept for old in maps) and not is_all_kept(transcript, store):
        return False
    for stream in transcript.streams:
        finds = getattr(stream, "finds", None)
        old = None if finds is None else map_of(stream.name, stream.agent, maps)
        awaited = [] if old is None else [known.awaited for known in old.awaiting()]
        if finds is not None and any(finds(told) for each in awaited for told in each):
            return False
    return True


def _goes_on(transcript: Transcript, folder: Path) -> bool:
    """Whether the main source begins with all that was imported of it into a session."""
    store = DirStore.open(folder)
    try:
        if rewritten_part(store) is not None:
            return False
        with _opened(transcript, find_maps(store)) as sources:
            return sources[0].same_prefix
    except DamageError:
        return False


def _older_copy(transcript: Transcript, folder: Path, options: Options) -> Report | None:
    """Return the report of a source that is a beginning of what was imported of it."""
    store = DirStore.open(folder)
    if rewritten_part(store) is not None:
        return None
    maps = find_maps(store)
    if not any(_can_be_shorter(stream, maps) for stream in transcript.streams):
        return None
    with _opened(transcript, maps) as sources:
        if not any(source.is_shorter for source in sources):
            return None
    tried = options._replace(dry_run=True, progress=None)
    try:
        report = _import(transcript, store, folder, tried, older=True)
    except ConflictError:
        return None
    return replace(report, dry_run=options.dry_run) if report.older else None


def _can_be_shorter(stream: Stream, maps: Sequence[OldMap]) -> bool:
    # Why before opening: to open it is to read what was read of it before.
    old = map_of(stream.name, stream.agent, maps)
    return old is not None and stream.path.stat().st_size < old.header.size


def _tidy(store: DirStore) -> None:
    """Remove what a killed import left; where nothing is new no change comes that would."""
    try:
        if store.leftovers():
            store.tidy()
    except (OSError, AgentMemError):
        return  # Why: nothing is wrong with the session; verify names what stays.


def _note_sizes(store: DirStore, *, written: bool) -> None:
    """Note in the meta the logs it is true of, all read or written whole just now.

    Args:
        store: The session.
        written: Whether the import wrote the meta; else it may be an old one.
    """
    from agentmem_cli.operations.metas import is_current, refresh
    from agentmem_cli.session.heads import read_head

    try:
        with store.lock():
            times = [read_head(store, log).t for log in store.logs()]
            started = min((t for t in times if t is not None), default=None)
            current = written or is_current(store)
            refresh(store, lambda meta: meta, current=current, started_ms=started, damaged=0)
    except (OSError, AgentMemError):
        return


def _no_message(transcript: Transcript, sources: Sequence[SourceIn]) -> Unrecognised:
    lines = sum(source.tally.lines for source in sources)
    path = transcript.streams[0].path
    cut = "; cut off at the end" if any(source.tally.torn for source in sources) else ""
    msg = f"{path}: {plural(lines)}, no message recognised (read as {transcript.kind}{cut})"
    quiet = quiet_of(transcript.kind)
    if all(source.tally.is_quiet(quiet) for source in sources):
        return NoMessageYet(msg, hint="Nothing was imported; it holds no message yet.")
    other = "; --from KIND reads it as another kind" if len(kinds()) > 1 else ""
    return Unrecognised(msg, hint=f"Nothing was imported{other}.")


@contextmanager
def _opened(transcript: Transcript, maps: Sequence[OldMap]) -> Iterator[list[SourceIn]]:
    with ExitStack() as stack:
        sources = []
        for stream in transcript.streams:
            old = map_of(stream.name, stream.agent, maps)
            source = SourceIn(stream, transcript.kind, old)
            stack.callback(source.close)
            sources.append(source)
        yield sources


def _nothing_new(sources: Sequence[SourceIn], maps: Sequence[OldMap], options: Options) -> bool:
    wanted = not options.keep_source or all(old.header.kept for old in maps)
    return wanted and all(source.unchanged for source in sources)


def _keep_beside(transcript: Transcript, batch: Batch, main: SourceIn, *, wanted: bool) -> None:
    if wanted:
        keep_beside(transcript, batch, main.tally)


def _import(
    transcript: Transcript, store: DirStore, path: Path, options: Options, *, older: bool = False
) -> Report:
    from agentmem_cli.operations.imports.nowhere import Nowhere
    from agentmem_cli.operations.imports.writing import Importing, Target, Wishes

    with ExitStack() as stack:
        if options.dry_run:
            batch: Batch = Nowhere(store)
        else:
            batch = stack.enter_context(store.beginning(wait_s=options.lock_wait_s))
        # Why read again: only what is there under the lock is what will be written to.
        source = transcript.streams[0].path
        refuse_rewritten(store, source)
        maps = find_maps(store)
        if not maps:
            refuse_without_map(store, source)
        try:
            folds, standing = folded(store, maps)
        except Record as error:
            msg = f"{source}: its session {path.name} is damaged: {error}"
            raise DamageError(msg, hint=_DAMAGED) from error
        sources = stack.enter_context(_opened(transcript, maps))
        for kept in sources:
            kept.kept_whole = kept.kept_whole and kept.old is not None and is_kept(store, kept.old)

        def place_of(session: str, raw: str) -> int | None:
            return place_in(path.parent / session, raw)

        title = transcript.title
        wishes = Wishes(
            options.keep_source, options.now_ms, options.progress, place_of, title, older
        )
        target = Target(store, batch, folds, standing, maps)
        importing = Importing(sources, target, wishes)
        importing.run()
        if not importing.counts.messages:
            raise _no_message(transcript, sources)
        _keep_beside(transcript, batch, sources[0], wanted=options.keep_source and not older)
        created = not (folds or maps)
        report = report_of(importing, sources, transcript, path, options, created=created)
        if options.sealing is not None and not options.dry_run:
            options.sealing()
        return report
