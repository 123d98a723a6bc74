"""The commands that take care: verify."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from agentmem_cli.cli.many import EveryOption, check_named
from agentmem_cli.cli.options import JsonOption, SessionsArg
from agentmem_cli.cli.settings import Settings

if TYPE_CHECKING:
    from agentmem_cli.cli.output import Output
    from agentmem_cli.operations.catalog import Found
    from agentmem_cli.operations.verify import Finding, Report
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.directory import DirStore


def verify(
    context: typer.Context,
    sessions: SessionsArg = None,
    everything: EveryOption = False,
    json: JsonOption = False,
) -> int | None:
    """Check sessions for every damage there is; change nothing.

    Problems are damage, or break a promise: then the exit status is 1.
    Notices are worth knowing. Each names the log or file, the line, the byte
    and its kind, and the end says how much was read and what was not.
    """
    from agentmem_cli.cli.opening import find_shown, warn_of_places
    from agentmem_cli.cli.output import talk
    from agentmem_cli.operations.catalog import Found, find_all

    settings = Settings.of(context)
    check_named(sessions, everything=everything)
    found = [find_shown(settings, words) for words in sessions or ()]
    found = found or find_all(settings.root, ())
    warn_of_places(settings, found)
    problems = 0
    with settings.output(paged=not json) as out:
        for one in found:
            report = _verified(settings, one)
            problems += report.problems
            if json:
                _print_json(out, one, report)
            else:
                _print_text(settings, out, one, report)
        if not sessions and (left := _root_report(settings)) is not None:
            root = Found(str(settings.root), str(settings.root))
            problems += left.problems
            if json:
                _print_json(out, root, left)
            else:
                _print_text(settings, out, root, left)
    if not found:
        talk(f"No sessions under {settings.root}: nothing was checked.")
    return 1 if problems else None


def _root_report(settings: Settings) -> Report | None:
    """Return what stands under the root of sessions half made or removed; None: nothing does."""
    from agentmem_cli.operations.findings import PROBLEM, Checked, Finding, Report
    from agentmem_cli.storage.care import left_in_root

    found = tuple(
        Finding(PROBLEM, "leftover", name, None, None, None, f"{why}; gc --all removes it")
        for name, why in left_in_root(str(settings.root))
    )
    return Report(found, Checked(0, 0, 0, 0, 0, 0)) if found else None


def _verified(settings: Settings, found: Found) -> Report:
    from agentmem_cli.cli.render import progress
    from agentmem_cli.errors import OldLayout, SessionError
    from agentmem_cli.operations.catalog import open_session
    from agentmem_cli.operations.verify import PROBLEM, Checked, Finding, Report, verify

    try:
        store = open_session(found, lock_wait_s=settings.lock_wait_s, finish=False)
    except SessionError as error:
        kind = "old-layout" if isinstance(error, OldLayout) else "unreadable"
        finding = Finding(PROBLEM, kind, "", None, None, None, str(error))
        return Report((finding,), Checked(0, 0, 0, 0, 0, 0))
    with progress(f"verify {found.id}", _bytes_of(store), settings) as advance:
        return verify(store, advance)


def _bytes_of(store: DirStore) -> int | None:
    try:
        return sum(store.log_stat(log).size for log in store.logs())
    except OSError:
        return None  # Why: what cannot be read is a finding, told with the others.


def _print_json(out: Output, found: Found, report: Report) -> None:
    checked = report.checked
    out.object(
        "agentmem.verify/1",
        {
            "session": found.id,
            "clean": not report.problems,
            "problems": report.problems,
            "findings": [_finding(finding) for finding in report.findings],
            "checked": {
                "logs": checked.logs,
                "records": checked.records,
                "messages": checked.messages,
                "blobs": checked.blobs,
                "bytes": checked.bytes,
            },
            "not_checked": {"plugin_files": checked.unchecked_files},
        },
    )


def _finding(finding: Finding) -> dict[str, JSON]:
    return {
        "level": finding.level,
        "kind": finding.kind,
        "where": finding.where,
        "line": finding.line,
        "byte": finding.byte,
        "length": finding.length,
        "why": finding.why,
    }


def _print_text(settings: Settings, out: Output, found: Found, report: Report) -> None:
    from agentmem_cli.cli.render import count, size, styled
    from agentmem_cli.cli.text import one_line, wrapped
    from agentmem_cli.operations.verify import PROBLEM

    for finding in report.findings:
        place = [one_line(found.id), one_line(finding.where)]
        if finding.line is not None:
            place.append(f"line {finding.line}")
        if finding.byte is not None:
            place.append(f"byte {finding.byte}")
        style = "red" if finding.level == PROBLEM else "yellow"
        told = f"{', '.join(word for word in place if word)}: {finding.kind}: {finding.why}"
        lines = wrapped(f"{finding.level}  {one_line(told)}", settings.columns)
        rest = lines.removeprefix(finding.level)
        out.line(f"{styled(finding.level, style, settings)}{rest}")
    checked = report.checked
    read = [
        count(checked.logs, "log"),
        count(checked.records, "record"),
        count(checked.messages, "message"),
        count(checked.blobs, "blob"),
        size(checked.bytes),
    ]
    notices = len(report.findings) - report.problems
    verdict = count(report.problems, "problem") if report.problems else "no problems"
    told = f"{one_line(found.id)}: {verdict}"
    if notices:
        told += f", {count(notices, 'notice')}"
    told += f" ({', '.join(read)} read"
    if checked.unchecked_files:
        told += f"; not looked into: {count(checked.unchecked_files, 'plugin file')}"
    out.line(wrapped(told + ")", settings.columns))
