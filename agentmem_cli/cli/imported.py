"""How `import` tells what became of each source."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agentmem_cli.cli.failure import explain
from agentmem_cli.cli.output import talk, warn
from agentmem_cli.cli.render import GAP, count, summary
from agentmem_cli.cli.text import cut, one_line, width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from agentmem_cli.cli.failure import Failure
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.imports.report import Outcome, Report
    from agentmem_cli.session.codec import JSON

SCHEMA = "agentmem.import/1"
"""One imported source."""

SCHEMA_OF_ERROR = "agentmem.import-error/1"
"""One of several sources that failed."""

_TOLD = 5
"""Lines that could not be used which are told one by one."""


class Told:
    """Tells the outcomes of one run of `import`."""

    def __init__(self, settings: Settings, *, dry_run: bool) -> None:
        """Begin the clock of the summary."""
        self._settings = settings
        self._dry_run = dry_run
        self._begun = time.monotonic()

    def total(self, sources: Sequence[Path]) -> int | None:
        """Return the bytes of all sources, where they are plain files."""
        if not self._settings.talks:
            return None
        try:
            return sum(path.stat().st_size for path in sources if path.is_file()) or None
        except OSError:
            return None

    def follow(self, advance: Callable[[int], None] | None) -> Callable[[int, int], None] | None:
        """Return a callback for bytes read so far and in all, per source."""
        if advance is None:
            return None
        before = 0

        def follow(done: int, _: int) -> None:
            nonlocal before
            advance(done - before if done >= before else done)
            before = done

        return follow

    def outcomes(self, done: Sequence[Outcome], *, json: bool) -> None:
        """Print what became of every source; trouble goes to standard error."""
        tried = [outcome for outcome in done if outcome.skipped is None]
        with self._settings.output() as out:
            for outcome in tried:
                report = outcome.report
                if report is not None and json:
                    out.object(SCHEMA, _value(report))
                elif report is not None:
                    for line in _fitted(report, self._settings.columns):
                        out.line(line)
                    self._details(report)
                elif json and len(tried) > 1:
                    # Why not of the only one: it fails as any command does.
                    out.object(SCHEMA_OF_ERROR, self._failed(outcome))

    def _details(self, report: Report) -> None:
        for torn in report.set_aside:
            warn(
                f"{report.session}/logs/{torn.log}.jsonl: {torn.cut} torn bytes at byte "
                f"{torn.kept} were set aside in files/{torn.set_aside}"
            )
        if report.restored:
            thing = "message, side record, value or blob"
            things = count(report.restored, thing, "messages, side records, values and blobs")
            put = "can be put" if report.dry_run else "put"
            warn(f"{report.session}: {things} that it had lost, {put} in again from the source")
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

    def _failed(self, outcome: Outcome) -> dict[str, JSON]:
        failure = _failure(outcome)
        told: dict[str, JSON] = {"kind": failure.kind, "message": failure.message}
        return {"source": str(outcome.source), "error": told}

    def finish(self, done: Sequence[Outcome]) -> int | None:
        """Tell the sum, and return the exit status.

        Raises:
            AgentMemError: The only source failed.
            OSError: The only source failed.
        """
        tried = [outcome for outcome in done if outcome.skipped is None]
        failed = [outcome for outcome in tried if outcome.error is not None]
        _warn_of_passed([outcome for outcome in done if outcome.skipped is not None])
        if len(tried) == 1 and failed:
            assert failed[0].error is not None
            raise failed[0].error
        for outcome in failed:
            failure = _failure(outcome)
            warn(failure.message + (f" ({failure.hint})" if failure.hint else ""))
        reports = [outcome.report for outcome in done if outcome.report is not None]
        _warn_of_readers(reports)
        lines = sum(report.lines for report in reports)
        read = sum(report.bytes for report in reports)
        elapsed_s = time.monotonic() - self._begun
        sources = count(len(tried), "source")
        also = f", {count(len(failed))} failed" if failed else ""
        dry = "; nothing was written (dry run)" if self._dry_run else ""
        talk(f"{sources}{also}: {summary(lines, 'line', read, elapsed_s)}{dry}")
        if not tried:
            return 1
        return _failure(failed[0]).exit_code if failed else None


def _warn_of_passed(passed: Sequence[Outcome]) -> None:
    """Name what stood in a folder and was not tried."""
    for outcome in passed[:_TOLD]:
        warn(f"{outcome.source}: passed by: {outcome.skipped}")
    more = len(passed) - _TOLD
    if more > 0:
        things = count(more, "more link or special file", "more links and special files")
        warn(f"{things} passed by")


def _failure(outcome: Outcome) -> Failure:
    """Say why a source failed, in the words of a command that fails, with its path once."""
    assert outcome.error is not None
    failure = explain(outcome.error)
    if str(outcome.source) in failure.message:
        return failure
    return failure._replace(message=f"{outcome.source}: {failure.message}")


def _warn_of_readers(reports: Sequence[Report]) -> None:
    """Warn of the first session, if any, that other users may read."""
    from agentmem_cli.cli.opening import warn_of_readers
    from agentmem_cli.storage.directory import DirStore

    for report in reports:
        if warn_of_readers(report.session, DirStore(str(report.path), 0)):
            return


def _fitted(report: Report, columns: int | None) -> list[str]:
    """Return what is told of a source on one line; where that is too wide for a screen, on more."""
    from textwrap import wrap

    session, told = one_line(report.session), _line(report)
    line = f"{session}{GAP}{told}"
    if columns is None or width(line) <= columns:
        return [line]
    return [cut(session, columns), *wrap(told, columns, initial_indent=GAP, subsequent_indent=GAP)]


def _line(report: Report) -> str:
    if report.older:
        return f"nothing new (an older copy, {count(report.messages, 'message')})"
    if report.nothing_new:
        return f"nothing new ({count(report.messages, 'message')})"
    told = [count(report.messages, "message")]
    if report.agents > 1:
        told.append(count(report.agents, "agent"))
    if report.asides:
        told.append(count(report.asides, "aside"))
    if report.blobs:
        told.append(count(report.blobs, "blob"))
    told += _compared(report)
    if report.left:
        left = ", ".join(f"{number} {name}" for name, number in sorted(report.left.items()))
        told.append(f"not made into anything: {left}")
    if report.lost:
        told.append(f"{count(report.lost, 'line')} not usable")
    return f"from {report.kind}: {one_line(', '.join(told))}"


def _compared(report: Report) -> list[str]:
    """Say what is new beside what was known."""
    told = []
    if report.restored:
        told.append(f"{count(report.restored)} restored")
    if report.known or report.restored:
        told.append(f"{count(report.new)} new")
    return told


def _value(report: Report) -> dict[str, JSON]:
    torn = report.torn
    return {
        "source": str(report.source),
        "kind": report.kind,
        "session": report.session,
        "path": str(report.path),
        "created": report.created,
        "nothing_new": report.nothing_new,
        "older": report.older,
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
        "restored": report.restored,
        "set_aside": [torn.set_aside for torn in report.set_aside],
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
