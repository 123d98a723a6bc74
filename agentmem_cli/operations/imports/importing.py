"""Importing a foreign transcript."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError, ConflictError, Unrecognised, UsageError
from agentmem_cli.operations.imports.adapter import MAIN, Said, Tally
from agentmem_cli.operations.imports.foreign import ForeignFile, read_lines
from agentmem_cli.operations.imports.maps import source_name
from agentmem_cli.operations.imports.naming import session_name
from agentmem_cli.operations.imports.nowhere import Nowhere
from agentmem_cli.operations.imports.places import place_in
from agentmem_cli.operations.imports.recognised import WITHOUT_IDS, exported_from, moved_from
from agentmem_cli.operations.imports.report import Report, plural
from agentmem_cli.operations.imports.sniff import ADAPTERS, choose
from agentmem_cli.operations.imports.sources import SourceIn, find_maps
from agentmem_cli.operations.imports.unchanged import unchanged
from agentmem_cli.operations.imports.writing import Importing, Target, Wishes
from agentmem_cli.session.heads import read_head
from agentmem_cli.session.reader import fold_log
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.store import batch_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Adapter, Transcript
    from agentmem_cli.operations.imports.maps import MapHeader, OldMap
    from agentmem_cli.operations.imports.recognised import Exported
    from agentmem_cli.storage.store import Batch, Store

_AGAIN_MAX: Final = 10_000
"""Sessions of one source under one root, made by ``--again``."""


class Options(NamedTuple):
    """How `import_source` is asked to import; its arguments say what each is."""

    now_ms: int
    dry_run: bool = False
    keep_source: bool = True
    again: bool = False
    lock_wait_s: float | None = None
    progress: Callable[[int, int], None] | None = None
    adapters: Sequence[Adapter] = ADAPTERS


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
        AgentMemError: The source is empty, of no known kind, or holds no message.
        SessionError: The session that is there does not read.
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
    path = transcript.streams[0].path
    name = session_name(transcript.kind, transcript.id)
    if options.again:
        name = _free_name(root, name)
    elif transcript.kind in WITHOUT_IDS and not (root / name).exists():
        moved = moved_from(transcript, root)
        if moved is None and (exported := exported_from(path, root)) is not None:
            return _exported_report(exported, transcript, root)
        name = moved or name
    store = DirStore.open(root / name)
    _refuse_rewritten(store, path)
    headers, read = _as_before(transcript, store, options)
    if headers is not None:
        report = _known_report(headers, store, transcript, root / name)
        return replace(report, bytes=report.bytes if read else 0, dry_run=options.dry_run)
    report = _import(transcript, store, root / name, options)
    if not (options.dry_run or report.nothing_new):
        _note_sizes(store)
    return report


def _as_before(
    transcript: Transcript, store: DirStore, options: Options
) -> tuple[Sequence[MapHeader] | None, bool]:
    """Return the headers of the maps where no source holds another byte than was read.

    Returns:
        None for the headers: there is something to do. And whether the
        sources had to be read to know that.

    Raises:
        ConflictError: A session of its name is there that no import made.
        AgentMemError: The source is new, and holds no message.
    """
    headers, read = unchanged(transcript, store, keep_source=options.keep_source)
    if headers is not None:
        return headers, read
    maps = find_maps(store)
    if not maps:
        _refuse_without_map(store, transcript.streams[0].path)
        _check_messages(transcript)
        return None, True
    with _opened(transcript, maps) as sources:
        if _nothing_new(sources, maps, options):
            return [source.told for source in sources], True
    return None, True


def _note_sizes(store: DirStore) -> None:
    """Note in the meta the logs it is true of, all read or written whole just now."""
    from agentmem_cli.operations.metas import refresh

    try:
        with store.lock():
            times = [read_head(store, log).t for log in store.logs()]
            started = min((t for t in times if t is not None), default=None)
            refresh(store, lambda meta: meta, current=True, started_ms=started, damaged=0)
    except (OSError, AgentMemError):
        return


def _free_name(root: Path, name: str) -> str:
    """Return *name*, or the first of ``name-2``, ``name-3``, … that no session has."""
    for number in range(1, _AGAIN_MAX):
        free = name if number == 1 else f"{name}-{number}"
        if not (root / free).exists():
            return free
    msg = f"{root / name}: {_AGAIN_MAX} sessions of this source are there already"
    raise AgentMemError(msg)


def _refuse_rewritten(store: Store, path: Path) -> None:
    for log in store.logs():
        header = read_head(store, log).header
        if header is not None and header.rewrites:
            msg = (
                f"{path}: its session was rewritten since (log {log!r}); what went would come back"
            )
            raise ConflictError(msg, hint="Give --again to import it as a session of its own.")


def _refuse_without_map(store: Store, path: Path) -> None:
    if store.logs():
        msg = f"{path}: a session of its name is there that no import made"
        raise ConflictError(msg, hint="Give --again to import it under another name.")


def _check_messages(transcript: Transcript) -> None:
    """See that there is a message at all, before anything is written.

    Raises:
        AgentMemError: There is none.
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
    raise Unrecognised(msg, hint="Nothing was imported; --from KIND reads it as another kind.")


@contextmanager
def _opened(transcript: Transcript, maps: Sequence[OldMap]) -> Iterator[list[SourceIn]]:
    with ExitStack() as stack:
        sources = []
        for stream in transcript.streams:
            old = _map_of(stream.name, stream.agent, maps)
            source = SourceIn(stream, transcript.kind, old)
            stack.callback(source.close)
            sources.append(source)
        yield sources


def _map_of(name: str, agent: str, maps: Sequence[OldMap]) -> OldMap | None:
    """Find a source's map: by its name, or (the main one, which may have moved) by its agent."""
    wanted = source_name(name)
    for old in maps:
        if old.name == wanted:
            return old
    if agent == MAIN:
        return next((old for old in maps if old.header.agent == MAIN), None)
    return None


def _nothing_new(sources: Sequence[SourceIn], maps: Sequence[OldMap], options: Options) -> bool:
    wanted = not options.keep_source or all(old.header.kept for old in maps)
    return wanted and all(source.unchanged for source in sources)


def _import(transcript: Transcript, store: DirStore, path: Path, options: Options) -> Report:
    with ExitStack() as stack:
        if options.dry_run:
            batch: Batch = Nowhere(store)
        else:
            batch = stack.enter_context(batch_of(store, options.lock_wait_s))
        # Why read again: only what is there under the lock is what will be written to.
        source = transcript.streams[0].path
        _refuse_rewritten(store, source)
        maps = find_maps(store)
        if not maps:
            _refuse_without_map(store, source)
        folds = {log: fold_log(store, log) for log in store.logs()}
        sources = stack.enter_context(_opened(transcript, maps))

        def place_of(session: str, raw: str) -> int | None:
            return place_in(path.parent / session, raw)

        wishes = Wishes(
            options.keep_source, options.now_ms, options.progress, place_of, transcript.title
        )
        importing = Importing(sources, Target(store, batch, folds), wishes)
        importing.run()
        if not importing.counts.messages:
            msg = f"{source}: no message recognised"
            raise AgentMemError(msg)
        return _report(importing, sources, transcript, path, options, created=not folds)


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
        bytes=sum(source.bytes_read for source in sources),
        types=dict(types),
        left=dict(left),
        lost=sum(tally.lost for tally in tallies),
        mended=sum(tally.mended for tally in tallies),
        unusable=tuple(flaw for tally in tallies for flaw in tally.flaws),
        torn=next((tally.torn for tally in tallies if tally.torn is not None), None),
        created=created,
        kept_source=options.keep_source,
        dry_run=options.dry_run,
        files=tuple(stream.path for stream in transcript.streams),
    )


def _known_report(
    headers: Sequence[MapHeader], store: Store, transcript: Transcript, path: Path
) -> Report:
    """Return the report of sources that hold what was read of them earlier."""
    made = [header.made or (0, 0, 0) for header in headers]
    messages, asides, values = (sum(each) for each in zip(*made, strict=True))
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
        files=tuple(stream.path for stream in transcript.streams),
    )


def _exported_report(exported: Exported, transcript: Transcript, root: Path) -> Report:
    """Return the report of a source that is what a session was exported as."""
    source = transcript.streams[0].path
    return Report(
        source=source,
        kind=transcript.kind,
        session=exported.session,
        path=root / exported.session,
        lines=0,
        messages=exported.messages,
        asides=0,
        values=0,
        agents=1,
        new=0,
        edited=0,
        known=exported.messages,
        blobs=0,
        bytes=source.stat().st_size,
        files=(source,),
    )
