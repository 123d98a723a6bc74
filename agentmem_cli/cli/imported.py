"""How `import` tells what became of each source."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from agentmem_cli.cli.output import talk, warn
from agentmem_cli.cli.render import Column, count, summary, table
from agentmem_cli.cli.text import one_line
from agentmem_cli.errors import AgentMemError, Unrecognised
from agentmem_cli.operations.imports.folders import OLD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.imports.report import Outcome, Report
    from agentmem_cli.session.codec import JSON

SCHEMA = "agentmem.import/1"
"""One imported source."""

SCHEMA_OF_ERROR = "agentmem.import-error/1"
"""One of several sources that failed."""

_TOLD = 5
"""Lines of one source that could not be used, and files that were not understood, told one by
one."""

_FEW = 20
"""Sources that are told one by one; of more a sum by kind is printed."""


class Bar:
    """Tells a progress bar how far the sources are read."""

    def __init__(self, advance: Callable[[int], None] | None) -> None:
        """Tell *advance* the bytes since the last time; None: there is no bar."""
        self._advance = advance
        self._told = 0
        self.follow = None if advance is None else self._follow
        """Takes the bytes read of a source so far, and those there are."""

    def _follow(self, done: int, _: int) -> None:
        if self._advance is not None and done > self._told:
            self._advance(done - self._told)
            self._told = done

    def end(self, outcome: Outcome) -> None:
        """A source is done, whether or not its bytes were read to the end."""
        if self._advance is None:
            return
        files = (outcome.source,) if outcome.report is None else outcome.report.files
        self._follow(sum(map(_size, files)), 0)
        self._told = 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


class Told:
    """Tells the outcomes of one run of `import`."""

    def __init__(
        self,
        settings: Settings,
        paths: Sequence[Path],
        *,
        dry_run: bool,
        verbose: bool,
        json: bool,
    ) -> None:
        """Begin the clock of the summary; *paths* are what was to be imported."""
        self._settings = settings
        self._paths = paths
        self._dry_run = dry_run
        self._verbose = verbose
        self._json = json
        self._begun = time.monotonic()
        self._changes: dict[Path, int] = {}
        self._failing: dict[Path, str] = {}

    def outcomes(self, done: Sequence[Outcome]) -> None:
        """Print what became of all sources: a line each, or of many a sum by kind."""
        reports = [outcome.report for outcome in done if outcome.report is not None]
        with self._settings.output() as out:
            if self._json:
                for outcome in done:
                    self._object(out, outcome)
            elif self._verbose or len(reports) <= _FEW:
                for report in reports:
                    out.line(f"{one_line(report.session)}  {_line(report)}")
            else:
                print_sums(out, reports, self._settings)
        if self._json:
            return
        if self._verbose or len(reports) <= _FEW:
            for report in reports:
                _details(report)
        else:
            _flawed(reports)

    def _object(self, out: Output, outcome: Outcome) -> None:
        if outcome.report is not None:
            out.object(SCHEMA, _value(outcome.report))
        elif outcome.error is not None:
            out.object(SCHEMA_OF_ERROR, _failed(outcome))

    def change(self, out: Output, outcome: Outcome) -> None:
        """Print what a look at a watched source brought, if it brought something."""
        report, source = outcome.report, outcome.source
        if outcome.error is not None:
            words = _why(outcome)
            # Why not: a file that has just been made holds no message yet.
            if not isinstance(outcome.error, Unrecognised) and self._failing.get(source) != words:
                warn(words)
            self._failing[source] = words
            return
        self._failing.pop(source, None)
        if report is None or report.nothing_new:
            return
        self._changes[source] = self._changes.get(source, 0) + report.new + report.edited
        if self._json:
            self._object(out, outcome)
        else:
            out.line(f"{one_line(report.session)}  {_line(report)}")

    def end_of_watch(self) -> None:
        """Tell what a watch brought in all, and what it could not read to the end."""
        for words in list(self._failing.values())[:_TOLD]:
            warn(words)
        more = len(self._failing) - _TOLD
        if more > 0:
            warn(f"{count(more, 'more file')} not understood")
        added = sum(self._changes.values())
        talk(f"{count(added)} new in {count(len(self._changes), 'source')}")

    def finish(self, done: Sequence[Outcome]) -> int | None:
        """Tell the sum, and return the exit status.

        Raises:
            AgentMemError: The only source failed.
            OSError: The only source failed.
        """
        tried = [outcome for outcome in done if outcome.skipped is None]
        failed = [outcome for outcome in tried if outcome.error is not None]
        if len(tried) == 1 and failed:
            assert failed[0].error is not None
            raise failed[0].error
        self.sum_up(done)
        if not tried:
            if any(outcome.skipped == OLD for outcome in done):
                return None
            where = ", ".join(str(path) for path in self._paths)
            warn(f"{where}: no transcript of a known kind found")
            return 1
        if not failed:
            return None
        error = failed[0].error
        return error.exit_code if isinstance(error, AgentMemError) else 2

    def sum_up(self, done: Sequence[Outcome]) -> None:
        """Tell what was not understood, and how much was read in what time."""
        tried = [outcome for outcome in done if outcome.skipped is None]
        failed = [outcome for outcome in tried if outcome.error is not None]
        self._not_understood(failed)
        reports = [outcome.report for outcome in tried if outcome.report is not None]
        _warn_of_readers(reports)
        lines = sum(report.lines for report in reports)
        read = sum(report.bytes for report in reports)
        elapsed_s = time.monotonic() - self._begun
        told = count(len(tried), "source")
        if failed:
            told += f", {count(len(failed))} failed"
        old = sum(outcome.skipped == OLD for outcome in done)
        if old:
            told += f", {count(old)} not changed since"
        other = len(done) - len(tried) - old
        if other:
            told += f", {count(other, 'other file')} passed by"
        dry = "; nothing was written (dry run)" if self._dry_run else ""
        work = summary(lines, "line", read, elapsed_s)
        if reports and not read:
            work = "nobody wrote to them since, so they were not read again"
        talk(f"{told}: {work}{dry}")

    def _not_understood(self, failed: Sequence[Outcome]) -> None:
        shown = failed if self._verbose else failed[:_TOLD]
        for outcome in shown:
            warn(_why(outcome, hint=False))
        for hint in dict.fromkeys(getattr(outcome.error, "hint", None) for outcome in shown):
            if hint:
                talk(f"hint: {one_line(hint)}")
        if len(failed) > len(shown):
            more = count(len(failed) - len(shown), "more file")
            warn(f"{more} not understood; --verbose names them all")


def print_sums(out: Output, reports: Sequence[Report], settings: Settings) -> None:
    """Print a row a kind, and what nothing was made of."""
    columns = [
        Column("KIND", style="cyan"),
        *(Column(title, "right") for title in ("SESSIONS", "MESSAGES", "NEW", "KNOWN")),
    ]
    kinds = sorted({report.kind for report in reports})
    rows = []
    left: list[str] = []
    for kind in kinds:
        own = [report for report in reports if report.kind == kind]
        numbers = (
            len({report.session for report in own}),
            sum(report.messages for report in own),
            sum(report.new for report in own),
            sum(report.known for report in own),
        )
        rows.append([kind, *(count(number) for number in numbers)])
        types: Counter[str] = Counter()
        for report in own:
            types.update(report.left)
        if types:
            left.append(f"{kind}, not made into anything: {_types(types)}")
    table(out, columns, rows, settings)
    for words in left:
        out.line(one_line(words))


def _types(types: Mapping[str, int]) -> str:
    return ", ".join(f"{count(number)} {name}" for name, number in sorted(types.items()))


def _details(report: Report) -> None:
    for flaw in report.unusable[:_TOLD]:
        where = f"line {flaw.line}" + ("" if flaw.byte is None else f", byte {flaw.byte}")
        warn(f"{report.source}: {where}: {flaw.why}")
    more = report.lost + report.mended - min(len(report.unusable), _TOLD)
    if more > 0:
        warn(f"{report.source}: {count(more, 'more line')} like these")
    if report.torn is not None:
        line, byte, length = report.torn
        at = "" if byte is None else f", byte {byte}"
        warn(f"{report.source}: cut off in line {line}{at} ({length} bytes not used yet)")


def _flawed(reports: Sequence[Report]) -> None:
    """Tell which of many sources have lines that could not be used."""
    flawed = [report for report in reports if report.lost or report.mended or report.torn]
    for report in flawed[:_TOLD]:
        told = []
        if report.lost:
            told.append(f"{count(report.lost, 'line')} not usable")
        if report.mended:
            told.append(f"{count(report.mended, 'line')} read in spite of damage")
        if report.torn is not None:
            told.append("cut off at the end")
        warn(f"{report.source}: {', '.join(told)}")
    if len(flawed) > _TOLD:
        more = count(len(flawed) - _TOLD, "more source")
        warn(f"{more} like these; --verbose names them and the lines")


def _failed(outcome: Outcome) -> dict[str, JSON]:
    error = outcome.error
    kind = error.kind if isinstance(error, AgentMemError) else "io"
    return {"source": str(outcome.source), "error": {"kind": kind, "message": str(error)}}


def _why(outcome: Outcome, *, hint: bool = True) -> str:
    error = outcome.error
    words = str(error)
    if isinstance(error, OSError):
        words = error.strerror or words
    if not words.startswith(str(outcome.source)):
        words = f"{outcome.source}: {words}"
    advice = getattr(error, "hint", None) if hint else None
    return f"{words} ({advice})" if advice else words


def _warn_of_readers(reports: Sequence[Report]) -> None:
    """Warn of the first session, if any, that other users may read."""
    from agentmem_cli.cli.opening import warn_of_readers
    from agentmem_cli.storage.directory import DirStore

    for report in reports:
        if warn_of_readers(report.session, DirStore(str(report.path), 0)):
            return


def _line(report: Report) -> str:
    if report.nothing_new:
        return f"nothing new ({count(report.messages, 'message')})"
    told = [count(report.messages, "message")]
    if report.agents > 1:
        told.append(count(report.agents, "agent"))
    if report.asides:
        told.append(count(report.asides, "aside"))
    if report.blobs:
        told.append(count(report.blobs, "blob"))
    if report.known:
        told.append(f"{count(report.new)} new")
    if report.left:
        told.append(f"not made into anything: {_types(report.left)}")
    if report.lost:
        told.append(f"{count(report.lost, 'line')} not usable")
    return f"from {report.kind}: {one_line(', '.join(told))}"


def _value(report: Report) -> dict[str, JSON]:
    torn = report.torn
    return {
        "source": str(report.source),
        "kind": report.kind,
        "session": report.session,
        "path": str(report.path),
        "created": report.created,
        "nothing_new": report.nothing_new,
        "dry_run": report.dry_run,
        "lines": report.lines,
        "bytes": report.bytes,
        "messages": report.messages,
        "asides": report.asides,
        "values": report.values,
        "agents": report.agents,
        "blobs": report.blobs,
        "new": report.new,
        "edited": report.edited,
        "known": report.known,
        "types": {**report.types},
        "left": {**report.left},
        "lost": report.lost,
        "mended": report.mended,
        "unusable": [
            {"line": flaw.line, "byte": flaw.byte, "why": flaw.why} for flaw in report.unusable
        ],
        "torn": None if torn is None else {"line": torn[0], "byte": torn[1], "length": torn[2]},
        "kept_source": report.kept_source,
    }
