"""What `import` says of a source that was imported, in words and in JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agentmem_cli.cli.output import warn
from agentmem_cli.cli.render import GAP, Column, count, table
from agentmem_cli.cli.text import cut, one_line, width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.imports.report import Report
    from agentmem_cli.session.codec import JSON

TOLD = 5
"""Lines of one source that could not be used, and files that were not understood, told one by
one."""


_ALONE = (
    "an agent of it is a session of its own too, {session}, as it was imported without this one; "
    "both were left as they are"
)


def fitted(report: Report, columns: int | None) -> list[str]:
    """Return what is told of a source on one line; where that is too wide for a screen, on more."""
    from textwrap import wrap

    session, told = one_line(report.session), _line(report)
    line = f"{session}{GAP}{told}"
    if columns is None or width(line) <= columns:
        return [line]
    return [cut(session, columns), *wrap(told, columns, initial_indent=GAP, subsequent_indent=GAP)]


def _line(report: Report) -> str:
    told = [_messages(report)]
    if report.older:
        return f"nothing new (an older copy, {told[0]})"
    if report.nothing_new:
        return f"nothing new ({told[0]})"
    if report.agents > 1:
        told.append(count(report.agents, "agent"))
    if report.asides:
        told.append(count(report.asides, "aside"))
    if report.blobs:
        told.append(count(report.blobs, "blob"))
    told += _compared(report)
    if report.left:
        told.append(f"not made into anything: {_types(report.left)}")
    if report.lost:
        told.append(f"{count(report.lost, 'line')} not usable")
    return f"from {report.kind}: {one_line(', '.join(told))}"


def _messages(report: Report) -> str:
    told = count(report.messages, "message")
    if report.forked_from is None or not report.shared:
        return told
    return f"{told}, {count(report.shared)} of them in {one_line(report.forked_from[0])} too"


def _compared(report: Report) -> list[str]:
    """Say what is new beside what was known."""
    told = []
    if report.restored:
        told.append(f"{count(report.restored)} restored")
    if report.known or report.restored:
        told.append(f"{count(report.new)} new")
    if report.edited:
        told.append(f"{count(report.edited)} gone on with or completed")
    if report.titled and not report.created:
        told.append("a title")
    return told


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
            sum(report.messages for report in own) - _twice(own),
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


def _twice(reports: Sequence[Report]) -> int:
    """Return how many messages of *reports* forks hold that another one of these holds too."""
    sessions = {report.session for report in reports}
    twice = 0
    without: dict[str, list[int]] = {}
    for report in reports:
        if report.forked_from is None:
            continue
        if report.forked_from[0] in sessions:
            twice += report.shared
        else:
            without.setdefault(report.forked_from[0], []).append(report.shared)
    # Why: of forks of one session that is not among them, the longest copy counts.
    return twice + sum(sum(shared) - max(shared) for shared in without.values())


def _types(types: Mapping[str, int]) -> str:
    return ", ".join(f"{count(number)} {name}" for name, number in sorted(types.items()))


def details(report: Report) -> None:
    """Tell what was mended of a session, and which lines of its source could not be used."""
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
    _tell_alone(report)
    for flaw in report.unusable[:TOLD]:
        where = f"line {flaw.line}" + ("" if flaw.byte is None else f", byte {flaw.byte}")
        warn(f"{flaw.file or report.source}: {where}: {flaw.why}")
    more = report.lost + report.mended - min(len(report.unusable), TOLD)
    if more > 0:
        warn(f"{report.source}: {count(more, 'more line')} like these")
    _tell_torn(report)


def _tell_alone(report: Report) -> None:
    for session in report.alone[:TOLD]:
        warn(f"{report.session}: {_ALONE.format(session=session)}")
    if len(report.alone) > TOLD:
        warn(f"{report.session}: {count(len(report.alone) - TOLD, 'more session')} like these")


def _tell_torn(report: Report) -> None:
    for path, (line, byte, length) in report.torn_ends[:TOLD]:
        at = "" if byte is None else f", byte {byte}"
        warn(f"{path}: cut off in line {line}{at} ({length} bytes not used yet)")
    if len(report.torn_ends) > TOLD:
        more_files = count(len(report.torn_ends) - TOLD, "more file")
        warn(f"{report.source}: {more_files} of it cut off at the end")


def flawed(reports: Sequence[Report]) -> None:
    """Tell which of many sources have lines that could not be used, or a session to be mended."""
    found = [(report, told) for report in reports if (told := _flaws(report))]
    for report, told in found[:TOLD]:
        warn(f"{report.source}: {', '.join(told)}")
    if len(found) > TOLD:
        more = count(len(found) - TOLD, "more source")
        warn(f"{more} like these; --verbose names them and the lines")


def _flaws(report: Report) -> list[str]:
    told = []
    if report.alone:
        told.append(f"{count(len(report.alone), 'agent')} of it a session of its own too")
    if report.restored:
        told.append(f"{count(report.restored)} restored that its session had lost")
    if report.set_aside:
        told.append(f"{count(len(report.set_aside), 'torn end')} of logs set aside")
    if report.lost:
        told.append(f"{count(report.lost, 'line')} not usable")
    if report.mended:
        told.append(f"{count(report.mended, 'line')} damaged or in want of a file, and read")
    if report.torn is not None:
        told.append("cut off at the end")
    return told


def _fork(report: Report) -> JSON:
    if report.forked_from is None:
        return None
    session, at = report.forked_from
    return {"session": session, "at": at}


def _torn(path: Path, torn: tuple[int, int | None, int]) -> JSON:
    return {"file": str(path), "line": torn[0], "byte": torn[1], "length": torn[2]}


def value_of(report: Report) -> dict[str, JSON]:
    """Return what JSON says of a source."""
    return {
        "source": str(report.source),
        "kind": report.kind,
        "session": report.session,
        "path": str(report.path),
        "created": report.created,
        "titled": report.titled,
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
            {
                "file": str(flaw.file or report.source),
                "line": flaw.line,
                "byte": flaw.byte,
                "why": flaw.why,
            }
            for flaw in report.unusable
        ],
        "torn": _torn(*report.torn_ends[0]) if report.torn_ends else None,
        "torn_ends": [_torn(*end) for end in report.torn_ends],
        "forked_from": _fork(report),
        "alone": [*report.alone],
        "kept_source": report.kept_source,
    }
