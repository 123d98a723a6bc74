"""Importing foreign transcripts: one source, or several."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import (
    AgentMemError,
    ConflictError,
    DamageError,
    Record,
    Unrecognised,
    UsageError,
)
from agentmem_cli.operations.imports.adapter import Said, Tally
from agentmem_cli.operations.imports.foreign import ForeignFile, read_lines
from agentmem_cli.operations.imports.naming import session_name
from agentmem_cli.operations.imports.nowhere import Nowhere
from agentmem_cli.operations.imports.places import place_in
from agentmem_cli.operations.imports.report import Outcome, Report, plural
from agentmem_cli.operations.imports.sniff import choose, kinds
from agentmem_cli.operations.imports.sources import SourceIn, find_maps
from agentmem_cli.operations.imports.standing import folded, is_kept, seems_whole
from agentmem_cli.operations.imports.targets import (
    free_name,
    map_of,
    names_there,
    refuse_rewritten,
    refuse_without_map,
    rewritten_log,
)
from agentmem_cli.operations.imports.walking import Walk, walk
from agentmem_cli.operations.imports.writing import Importing, Target, Wishes
from agentmem_cli.session.heads import read_head
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.store import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agentmem_cli.operations.imports.adapter import Stream, Transcript
    from agentmem_cli.operations.imports.maps import OldMap
    from agentmem_cli.storage.store import Batch, Store


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
        Unrecognised: The source is empty, of no known kind, or holds no message.
        DamageError: The session that is there, or its map, is damaged, or lacks
            what the source cannot restore.
        SessionError: It does not read for another reason.
        Busy: Another program is writing to it.
    """
    options = Options(now_ms, dry_run, keep_source, again, lock_wait_s, progress)
    return _import_file(path, root, options, kind)


def _import_file(path: Path, root: Path, options: Options, kind: str | None) -> Report:
    if path.is_dir():
        msg = f"{path}: a folder"
        raise UsageError(msg, hint="Give a transcript file, or import the folder as several.")
    adapter, head = choose(path, kind)
    transcript = adapter.open(path, head)
    return import_transcript(transcript, root, options)


def import_transcript(transcript: Transcript, root: Path, options: Options) -> Report:
    """Import a *transcript* that an adapter has opened, as `import_source` does."""
    name = session_name(transcript.kind, transcript.id)
    if options.again:
        return _import_into(transcript, root / free_name(root, name), options)
    names = names_there(root, name)
    if len(names) > 1:
        # Why: --again made the others, and the source goes on with the one that it was.
        name = next((each for each in names if _goes_on(transcript, root / each)), name)
    if name == names[0]:
        for each in names:
            report = _older_copy(transcript, root / each, options)
            if report is not None:
                return report
    return _import_into(transcript, root / name, options)


def _import_into(transcript: Transcript, folder: Path, options: Options) -> Report:
    path = transcript.streams[0].path
    store = DirStore.open(folder)
    refuse_rewritten(store, path)
    maps = find_maps(store)
    if not maps:
        refuse_without_map(store, path)
        _check_messages(transcript)
    elif not options.dry_run:
        with _opened(transcript, maps) as sources:
            if _nothing_new(sources, maps, options) and seems_whole(store, maps):
                return _known_report(sources, store, transcript, folder)
    report = _import(transcript, store, folder, options)
    if not options.dry_run:
        _note_sizes(store, written=not report.nothing_new)
    return report


def _goes_on(transcript: Transcript, folder: Path) -> bool:
    """Whether the main source begins with all that was imported of it into a session."""
    store = DirStore.open(folder)
    try:
        if rewritten_log(store) is not None:
            return False
        with _opened(transcript, find_maps(store)) as sources:
            return sources[0].same_prefix
    except DamageError:
        return False


def _older_copy(transcript: Transcript, folder: Path, options: Options) -> Report | None:
    """Return the report of a source that is a beginning of what was imported of it."""
    store = DirStore.open(folder)
    if rewritten_log(store) is not None:
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


def _note_sizes(store: DirStore, *, written: bool) -> None:
    """Note in the meta the logs it is true of, all read or written whole just now.

    Args:
        store: The session.
        written: Whether the import wrote the meta; else it may be an old one.
    """
    from agentmem_cli.operations.metas import is_current, refresh

    try:
        with store.lock():
            times = [read_head(store, log).t for log in store.logs()]
            started = min((t for t in times if t is not None), default=None)
            current = written or is_current(store)
            refresh(store, lambda meta: meta, current=current, started_ms=started, damaged=0)
    except (OSError, AgentMemError):
        return


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
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Outcome]:
    """Import several sources; of a folder every transcript beneath it.

    The arguments are `import_source`'s. One source that fails stops no other.

    Yields:
        One a source, in order; of a folder first what could not be looked
        into and what was passed by, then its files by name.
    """
    options = Options(now_ms, dry_run, keep_source, again, lock_wait_s, progress)
    for path in paths:
        try:
            found = walk(path) if path.is_dir() else Walk([path], [], [])
        except OSError as error:
            yield Outcome(path, error=error)
            continue
        for unread in found.unread:
            yield Outcome(Path(os.fsdecode(unread.filename or path)), error=unread)
        for passed in found.passed:
            yield Outcome(passed.path, skipped=passed.why)
        for source in found.files:
            try:
                yield Outcome(source, _import_file(source, root, options, kind))
            except (AgentMemError, OSError) as error:
                yield Outcome(source, error=error)


def _check_messages(transcript: Transcript) -> None:
    """See that there is a message at all, before anything is written.

    Raises:
        Unrecognised: There is none.
    """
    lines = 0
    for stream in transcript.streams:
        tally = Tally()
        with ForeignFile(stream.path) as source:
            found = stream.items(read_lines(source.chunks(), stream.accepts, tally), tally)
            if any(isinstance(item, Said) for item in found):
                return
        lines += tally.lines
    path = transcript.streams[0].path
    msg = f"{path}: {plural(lines)}, no message recognised (read as {transcript.kind})"
    other = "; --from KIND reads it as another kind" if len(kinds()) > 1 else ""
    raise Unrecognised(msg, hint=f"Nothing was imported{other}.")


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


def _import(
    transcript: Transcript, store: DirStore, path: Path, options: Options, *, older: bool = False
) -> Report:
    with ExitStack() as stack:
        if options.dry_run:
            batch: Batch = Nowhere(store)
        else:
            batch = stack.enter_context(batch_of(store, options.lock_wait_s))
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

        wishes = Wishes(options.keep_source, options.now_ms, options.progress, place_of, older)
        target = Target(store, batch, folds, standing, maps)
        importing = Importing(sources, target, wishes)
        importing.run()
        if not importing.counts.messages:
            msg = f"{source}: no message recognised"
            raise Unrecognised(msg)
        created = not (folds or maps)
        return _report(importing, sources, transcript, path, options, created=created)


def _report(
    importing: Importing,
    sources: Sequence[SourceIn],
    transcript: Transcript,
    path: Path,
    options: Options,
    *,
    created: bool,
) -> Report:
    counts = importing.counts
    tallies = [source.tally for source in sources]
    types = sum((tally.types for tally in tallies), start=Tally().types)
    left = sum((tally.left for tally in tallies), start=Tally().left)
    return Report(
        source=transcript.streams[0].path,
        kind=transcript.kind,
        session=path.name,
        path=path,
        lines=sum(tally.lines for tally in tallies),
        messages=counts.messages,
        asides=counts.asides,
        values=counts.values,
        agents=len(importing.out.logs),
        new=counts.new,
        edited=counts.edited,
        known=counts.known,
        blobs=counts.blobs,
        restored=counts.restored + len(importing.standing.blobs_lost),
        set_aside=() if options.dry_run else tuple(importing.out.set_aside),
        bytes=sum(source.bytes_read for source in sources),
        types=dict(types),
        left=dict(left),
        lost=sum(tally.lost for tally in tallies),
        mended=sum(tally.mended for tally in tallies),
        unusable=tuple(flaw for tally in tallies for flaw in tally.flaws),
        torn=next((tally.torn for tally in tallies if tally.torn is not None), None),
        created=created,
        older=importing.is_older,
        kept_source=options.keep_source,
        dry_run=options.dry_run,
    )


def _known_report(
    sources: Sequence[SourceIn], store: Store, transcript: Transcript, path: Path
) -> Report:
    """Return the report of sources that hold, byte for byte, what was read of them earlier."""
    maps = [source.old for source in sources if source.old is not None]
    headers = [old.header for old in maps]
    messages, asides, values = (
        sum(each) for each in zip(*(old.counts() for old in maps), strict=True)
    )
    return Report(
        source=transcript.streams[0].path,
        kind=transcript.kind,
        session=path.name,
        path=path,
        lines=sum(header.lines for header in headers),
        messages=messages,
        asides=asides,
        values=values,
        agents=len(store.logs()),
        new=0,
        edited=0,
        known=sum(header.items for header in headers),
        blobs=0,
        bytes=sum(header.size for header in headers),
        kept_source=all(header.kept for header in headers),
    )
