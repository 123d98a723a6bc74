"""How `import` tells what became of each source."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from agentmem_cli.cli.failure import explain
from agentmem_cli.cli.imported_words import TOLD, details, fitted, flawed, print_sums, value_of
from agentmem_cli.cli.output import talk, warn
from agentmem_cli.cli.render import count, summary
from agentmem_cli.cli.text import one_line
from agentmem_cli.errors import Unrecognised
from agentmem_cli.operations.imports.folders import OLD, OTHER, WAITING
from agentmem_cli.operations.imports.watching import GONE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agentmem_cli.cli.failure import Failure
    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.imports.report import Outcome, Report
    from agentmem_cli.session.codec import JSON

SCHEMA = "agentmem.import/1"
"""One imported source."""

SCHEMA_OF_ERROR = "agentmem.import-error/1"
"""One of several sources that failed."""

_COUNTED = (None, OTHER, OLD, WAITING)
"""Of what was skipped, that of which only the number is told; and what was not skipped."""

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
        self._failing: dict[Path, tuple[str, bool]] = {}
        """What is wrong with a watched source, and whether that was told."""
        self._empty: set[Path] = set()
        """Watched sources without a message yet."""

    def outcomes(self, done: Sequence[Outcome]) -> None:
        """Print what became of all sources: a line each, or of many a sum by kind."""
        reports = [outcome.report for outcome in done if outcome.report is not None]
        one_by_one = self._verbose or len(reports) <= _FEW
        with self._settings.output() as out:
            if self._json:
                self._objects(out, done)
            elif one_by_one:
                for report in reports:
                    self._lines(out, report)
            else:
                print_sums(out, reports, self._settings)
        if self._json:
            return
        if one_by_one:
            for report in reports:
                details(report)
        else:
            flawed(reports)

    def _objects(self, out: Output, done: Sequence[Outcome]) -> None:
        tried = [outcome for outcome in done if outcome.skipped is None]
        for outcome in tried:
            # Why not of the only one that fails: it fails as any command does.
            if outcome.report is not None or len(tried) > 1:
                self._object(out, outcome)

    def _lines(self, out: Output, report: Report) -> None:
        for line in fitted(report, self._settings.columns):
            out.line(line)

    def _object(self, out: Output, outcome: Outcome) -> None:
        if outcome.report is not None:
            out.object(SCHEMA, value_of(outcome.report))
        elif outcome.error is not None:
            out.object(SCHEMA_OF_ERROR, _failed(outcome))

    def change(self, out: Output, outcome: Outcome) -> None:
        """Print what a look at a watched source brought, if it brought something."""
        report, source = outcome.report, outcome.source
        self._empty.discard(source)
        if outcome.skipped == WAITING:
            self._failing.pop(source, None)
            self._empty.add(source)
            return
        if outcome.error is not None:
            # Why not: a file that has just been made holds no message yet.
            self._fail(outcome, at_once=not isinstance(outcome.error, Unrecognised))
            return
        self._failing.pop(source, None)
        if report is not None and report.older:
            warn(f"{source}: an older copy of what was imported; what was imported stays")
        if report is None or report.nothing_new:
            return
        self._changes[source] = (
            self._changes.get(source, 0) + report.new + report.edited + report.restored
        )
        if self._json:
            self._object(out, outcome)
        else:
            self._lines(out, report)

    def _fail(self, outcome: Outcome, *, at_once: bool) -> None:
        """Note why a source failed; with *at_once* tell it, if that was not told already."""
        source, words = outcome.source, _why(outcome)
        told = self._failing.get(source) == (words, True)
        if at_once and not told:
            warn(words)
        self._failing[source] = (words, at_once or told)

    def noticed(self, notices: Sequence[Outcome]) -> None:
        """Tell what looks at watched sources found out besides; of many the first ones."""
        for outcome in notices[:TOLD]:
            if outcome.error is not None:
                self._fail(outcome, at_once=True)
            else:
                self._failing.pop(outcome.source, None)
                passed = "" if outcome.skipped == GONE else "passed by: "
                warn(f"{outcome.source}: {passed}{outcome.skipped}")
        more = len(notices) - TOLD
        if more > 0:
            warn(f"{count(more, 'more file')} gone, passed by or not understood")

    def end_of_watch(self) -> None:
        """Tell what a watch brought in all, and what it could not read and did not tell yet."""
        waiting = [
            words
            for source, (words, told) in self._failing.items()
            if not told and os.path.lexists(source)
        ]
        empty = sum(map(os.path.lexists, self._empty))
        for words in waiting[:TOLD]:
            warn(words)
        more = len(waiting) - TOLD
        if more > 0:
            warn(f"{count(more, 'more file')} not understood")
        if empty:
            talk(_without(empty))
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
            self._warn_of_passed(done)
            raise failed[0].error
        self.sum_up(done)
        if not tried:
            if any(outcome.skipped in (OLD, WAITING) for outcome in done):
                return None
            where = ", ".join(str(path) for path in self._paths)
            warn(f"{where}: no transcript of a known kind found")
            return 1
        return _failure(failed[0]).exit_code if failed else None

    def sum_up(self, done: Sequence[Outcome]) -> None:
        """Tell what was not understood, and how much was read in what time."""
        tried = [outcome for outcome in done if outcome.skipped is None]
        failed = [outcome for outcome in tried if outcome.error is not None]
        self._warn_of_passed(done)
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
        empty = [outcome for outcome in done if outcome.skipped == WAITING]
        if empty:
            told += f", {_without(len(empty))}"
        for outcome in empty if self._verbose else ():
            talk(_why(outcome, hint=False))
        other = sum(outcome.skipped == OTHER for outcome in done)
        if other:
            told += f", {count(other, 'other file')} passed by"
        dry = "; nothing was written (dry run)" if self._dry_run else ""
        work = summary(lines, "line", read, elapsed_s)
        if reports and not read:
            work = "nobody wrote to them since, so they were not read again"
        talk(f"{told}: {work}{dry}")

    def _not_understood(self, failed: Sequence[Outcome]) -> None:
        shown = failed if self._verbose else failed[:TOLD]
        for outcome in shown:
            warn(_why(outcome, hint=False))
        for hint in dict.fromkeys(_failure(outcome).hint for outcome in shown):
            if hint:
                talk(f"hint: {one_line(hint)}")
        if len(failed) > len(shown):
            more = count(len(failed) - len(shown), "more file")
            warn(f"{more} not understood; --verbose names them all")

    def _warn_of_passed(self, done: Sequence[Outcome]) -> None:
        """Name what stood in a folder and was not tried, but for documents of other things."""
        passed = [outcome for outcome in done if outcome.skipped not in _COUNTED]
        shown = passed if self._verbose else passed[:TOLD]
        for outcome in shown:
            warn(f"{outcome.source}: passed by: {outcome.skipped}")
        more = len(passed) - len(shown)
        if more > 0:
            things = count(more, "more link or special file", "more links and special files")
            warn(f"{things} passed by")


def _without(files: int) -> str:
    return f"{count(files, 'file')} without a message yet"


def _failure(outcome: Outcome) -> Failure:
    """Say why a source failed, in the words of a command that fails, with its path once."""
    assert outcome.error is not None
    failure = explain(outcome.error)
    if str(outcome.source) in failure.message:
        return failure
    return failure._replace(message=f"{outcome.source}: {failure.message}")


def _failed(outcome: Outcome) -> dict[str, JSON]:
    failure = _failure(outcome)
    told: dict[str, JSON] = {"kind": failure.kind, "message": failure.message}
    return {"source": str(outcome.source), "error": told}


def _why(outcome: Outcome, *, hint: bool = True) -> str:
    failure = _failure(outcome)
    return f"{failure.message} ({failure.hint})" if hint and failure.hint else failure.message


def _warn_of_readers(reports: Sequence[Report]) -> None:
    """Warn of the first session, if any, that other users may read."""
    from agentmem_cli.cli.opening import warn_of_readers
    from agentmem_cli.storage.directory import DirStore

    for report in reports:
        if warn_of_readers(report.session, DirStore(str(report.path), 0)):
            return
