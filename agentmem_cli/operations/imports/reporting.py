"""Reports of imports, made of what they counted or of what was noted before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.operations.imports.adapter import Tally
from agentmem_cli.operations.imports.report import Report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Transcript
    from agentmem_cli.operations.imports.importing import Options
    from agentmem_cli.operations.imports.maps import MapHeader
    from agentmem_cli.operations.imports.recognised import Exported
    from agentmem_cli.operations.imports.sources import SourceIn
    from agentmem_cli.operations.imports.writing import Importing
    from agentmem_cli.storage.store import Store


def report_of(
    importing: Importing,
    sources: Sequence[SourceIn],
    transcript: Transcript,
    path: Path,
    options: Options,
    *,
    created: bool,
) -> Report:
    """Return the report of an import that was done, or tried."""
    counts = importing.counts
    tallies = [source.tally for source in sources]
    types = sum((tally.types for tally in tallies), start=Tally().types)
    left = sum((tally.left for tally in tallies), start=Tally().left)
    ends = tuple(
        (source.stream.path, source.tally.torn)
        for source in sources
        if source.tally.torn is not None
    )
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
        unusable=tuple(
            flaw._replace(file=source.stream.path)
            for source in sources
            for flaw in source.tally.flaws
        ),
        forked_from=importing.facts.fork,
        torn=ends[0][1] if ends else None,
        torn_ends=ends,
        titled=counts.titled,
        created=created,
        older=importing.is_older,
        kept_source=options.keep_source,
        dry_run=options.dry_run,
        files=tuple(stream.path for stream in transcript.streams),
    )


def known_report(
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
        forked_from=_fork_of(store),
        kept_source=all(header.kept for header in headers),
        files=tuple(stream.path for stream in transcript.streams),
    )


def _fork_of(store: Store) -> tuple[str, int | None] | None:
    from agentmem_cli.operations.listing import fork_of
    from agentmem_cli.session.meta import BadMeta, SessionMeta

    try:
        meta = SessionMeta.read(store)
    except BadMeta:
        return None
    return fork_of(meta.listed.get("forked_from"))


def exported_report(exported: Exported, transcript: Transcript, root: Path) -> Report:
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
