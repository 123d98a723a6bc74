"""The command that brings transcripts in: import."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentmem_cli.cli.options import DryRunOption, JsonOption, parse_path
from agentmem_cli.cli.settings import Settings
from agentmem_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.imported import Told
    from agentmem_cli.operations.imports.importing import Options
    from agentmem_cli.operations.imports.report import Outcome

_INTERVAL_S = 2.0
"""Seconds between two looks at watched sources."""

IntervalOption = Annotated[
    float,
    typer.Option(
        "--interval",
        metavar="SECONDS",
        min=0.05,
        help="How often --watch looks; every 2 seconds if not given.",
    ),
]


def _source(word: str) -> Path:
    path = parse_path(word)
    # Why: ./- is a file, and a path has no ./ any more.
    return path.absolute() if str(path) == "-" != word else path


def import_sources(
    context: typer.Context,
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE...",
            help="Transcript files, folders of them, or a tar of a session; - is standard input.",
            parser=_source,
        ),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="KIND", help="The kind of the source; recognised if not given."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="TIME", help="Only sources with a file changed at TIME or later."
        ),
    ] = None,
    no_source: Annotated[
        bool,
        typer.Option("--no-source", help="Do not keep the bytes of the source in the session."),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Import as a new session though one is there.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on importing as the sources grow; Ctrl-C ends it.")
    ] = False,
    interval: IntervalOption = _INTERVAL_S,
    dry_run: DryRunOption = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="A line for every session, however many.")
    ] = False,
    json: JsonOption = False,
) -> int | None:
    """Import transcripts of other agents, and leave these as they are.

    A folder stands for every transcript beneath it. Importing again adds only
    what is new. A line that cannot be used is counted, told by its number,
    and kept with the source. Of many sessions a sum by kind is printed.
    """
    from agentmem_cli.cli.imported import Told
    from agentmem_cli.cli.piped import spooled
    from agentmem_cli.operations.imports.importing import Options

    settings = Settings.of(context)
    if watch and (dry_run or again):
        msg = f"--watch does not go with {'--dry-run' if dry_run else '--again'}"
        raise UsageError(msg)
    since_ms = None
    if since is not None:
        from agentmem_cli.cli.clock import parse_time

        since_ms = parse_time(since, now_ms=settings.now_ms, zone=settings.zone)
    told = Told(settings, sources, dry_run=dry_run, verbose=verbose, json=json)
    options = Options(
        settings.now_ms,
        dry_run=dry_run,
        keep_source=not no_source,
        again=again,
        lock_wait_s=settings.lock_wait_s,
    )
    with spooled(sources, watch=watch) as files:
        if watch:
            _watch(settings, told, files, options, (kind, since_ms, interval))
        return _import(settings, told, files, options, (kind, since_ms))


def _import(
    settings: Settings,
    told: Told,
    sources: Sequence[Path],
    options: Options,
    wanted: tuple[str | None, int | None],
) -> int | None:
    """Import once; *wanted* is the kind and the time of ``--since``."""
    from agentmem_cli.cli.imported import Bar
    from agentmem_cli.cli.interrupts import hold, release
    from agentmem_cli.cli.piped import named
    from agentmem_cli.cli.render import progress
    from agentmem_cli.operations.imports.folders import gather, import_gathered

    kind, since_ms = wanted
    gathered = gather(sources)
    done: list[Outcome] = []
    total = gathered.size_bytes if settings.talks else None
    try:
        with progress("import", total, settings) as advance:
            bar = Bar(advance)
            options = options._replace(progress=bar.follow, sealing=hold)
            for outcome in import_gathered(
                gathered, settings.root, options, kind=kind, since_ms=since_ms
            ):
                bar.end(outcome)
                done.append(named(outcome))
                release()
    except KeyboardInterrupt:
        # Why: each source is a change of its own, so these are imported.
        told.outcomes(done)
        told.sum_up(done)
        raise
    told.outcomes(done)
    return told.finish(done)


def _watch(
    settings: Settings,
    told: Told,
    sources: Sequence[Path],
    options: Options,
    wanted: tuple[str | None, int | None, float],
) -> None:
    """Import what changes until Ctrl-C; *wanted* ends in the seconds between two looks."""
    from agentmem_cli.cli.clock import now_ms
    from agentmem_cli.cli.interrupts import hold, release
    from agentmem_cli.cli.output import talk
    from agentmem_cli.operations.imports.watching import Watcher

    kind, since_ms, interval_s = wanted
    options = options._replace(sealing=hold)
    watcher = Watcher(sources, settings.root, options, kind=kind, since_ms=since_ms)
    talk("Watching; Ctrl-C ends it.")
    try:
        while True:
            with settings.output() as out:
                for outcome in watcher.poll(now_ms()):
                    told.change(out, outcome)
                    release()
            told.noticed(watcher.notices())
            time.sleep(interval_s)
    finally:
        told.end_of_watch()
