"""How `scan` tells what it found; `redact` shows its plan in the same words."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from agentmem_cli.cli.failure import explain, with_name
from agentmem_cli.cli.output import json_line, talk, warn
from agentmem_cli.cli.render import Column, count, fits, summary, table
from agentmem_cli.operations.secrets.told import BLOBS, Skipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.outside import Passed
    from agentmem_cli.operations.secrets.told import Row
    from agentmem_cli.operations.secrets.working import Outcome, Target
    from agentmem_cli.session.codec import JSON, Object

FINDING: Final = "agentmem.finding/1"
UNREAD: Final = "agentmem.unread/1"
SCAN: Final = "agentmem.scan/1"
FAILED: Final = "agentmem.failed/1"

FATES: Final = {
    "mask": "",
    "structural": "in an id, a time, a signature or a number; never masked",
    "name": "in a name; rename gives another",
    "bytes": "in bytes that are no text; never masked",
    "stray": "in no log and no file of the session; gc removes what a stopped command left",
    "allowed": "kept on purpose",
    "unsure": "not sure; --aggressive masks it",
}

_TOLD: Final = 20

_KINDS: Final = 12
"""Kinds that a summary tells one by one; --json has them all."""


class Scanned:
    """Tells what one run of `scan` found."""

    def __init__(
        self,
        settings: Settings,
        targets: Sequence[Target],
        passed: Sequence[Passed],
        form: str,
        *,
        begun_s: float,
    ) -> None:
        """Tell in the *form* table, json or sarif."""
        self._settings = settings
        self._targets = targets
        self._form = form
        self._begun_s = begun_s
        self._rows: list[Row] = []
        self._allowed = 0
        self._skipped = [Skipped(None, each.path, 0, each.why) for each in passed]
        self._events = 0
        self._size = 0
        self._opaque = 0
        self._with = 0
        self._status: int | None = None
        self._failed: list[Outcome] = []

    def take(self, outcome: Outcome) -> None:
        """Take up what came of one target.

        Raises:
            AgentMemError: It is the only one, and it failed.
            OSError: Likewise.
        """
        if outcome.error is not None:
            raise_only(outcome, self._targets)
            self._failed.append(outcome)
            return
        self._rows += outcome.rows
        self._skipped += outcome.skipped
        self._events += outcome.events
        self._size += outcome.size
        self._opaque += outcome.opaque
        self._with += bool(outcome.found)

    def finish(self) -> int | None:
        """Print all of it, and return the exit status."""
        counts = Counter(row.fate for row in self._rows)
        shown = [row for row in self._rows if row.fate not in ("unsure", "allowed")]
        with self._settings.output(paged=self._form == "table") as out:
            if self._form == "sarif":
                self._sarif(out)
            elif self._form == "json":
                self._objects(out, shown)
            elif shown:
                print_rows(out, shown, self._settings, alone=len(self._targets) == 1)
        for outcome in self._failed:
            failed = tell_failure(outcome, quiet=self._form == "json")
            self._status = self._status or failed
        self._tell(shown, counts)
        if self._status is not None:
            return self._status
        return 1 if shown or self._skipped else None

    def _sarif(self, out: Output) -> None:
        from agentmem_cli import __version__
        from agentmem_cli.operations.secrets.sarif import sarif_log

        rows = [row for row in self._rows if row.fate != "unsure"]
        failed = [Skipped(_session(each), _named(each), 0, _why(each)) for each in self._failed]
        log = sarif_log(rows, [*self._skipped, *failed], version=__version__)
        out.write_bytes(json_line(log))

    def _objects(self, out: Output, shown: Sequence[Row]) -> None:
        for row in shown:
            out.object(FINDING, finding_value(row))
        for skipped in self._skipped:
            out.object(UNREAD, unread_value(skipped))
        for outcome in self._failed:
            out.object(FAILED, failed_value(outcome))
        kinds = Counter(row.kind for row in shown)
        fates = Counter(row.fate for row in self._rows)
        told: Object = {
            "clean": not (shown or self._skipped or self._failed),
            "targets": len(self._targets),
            "failed": len(self._failed),
            "findings": len(shown),
            "kinds": dict(sorted(kinds.items())),
            "kept": fates["allowed"],
            "unsure": fates["unsure"],
            "unread": len(self._skipped),
            "encrypted": self._opaque,
            "events": self._events,
            "bytes": self._size,
        }
        out.object(SCAN, told)

    def _tell(self, shown: Sequence[Row], counts: Counter[str]) -> None:
        for skipped in self._skipped[:_TOLD]:
            if self._form == "table":
                warn(f"{place_of(skipped.session, skipped.name, skipped.line)}: {skipped.why}")
        more = len(self._skipped) - _TOLD
        if more > 0 and self._form == "table":
            warn(f"{count(more, 'more place')} could not be looked into; --json names them all")
        if not self._targets:
            talk("Nothing fits: nothing was looked at.")
            return
        thing = "session" if self._targets[0].is_session else "file"
        read = len(self._targets) - len(self._failed)
        if not read:
            talk(f"Nothing was looked into: {count(len(self._failed), thing)} could not be read.")
            return
        kinds = Counter(row.kind for row in shown)
        told = count(len(shown), "finding") if shown else "nothing found"
        if kinds:
            told += f" ({kinds_told(kinds)})"
        notes = [
            f"{count(counts['unsure'])} not sure (--aggressive has them)"
            if counts["unsure"]
            else "",
            f"{count(counts['allowed'])} kept on purpose" if counts["allowed"] else "",
            f"{count(len(self._skipped))} not looked into" if self._skipped else "",
            f"{count(self._opaque, 'encrypted content')} nobody can look into"
            if self._opaque
            else "",
        ]
        if self._failed:
            notes.append(f"{count(len(self._failed), thing)} could not be read")
        work = summary(self._events, "event", self._size, time.monotonic() - self._begun_s)
        said = "; ".join([told, *(note for note in notes if note)])
        talk(f"{said}. {count(read, thing)}, {work}")


def kinds_told(kinds: Counter[str] | dict[str, int]) -> str:
    """Write counts of kinds, the most frequent first; what would make a line too long as one."""
    order = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{number:,} {kind}" for kind, number in order[:_KINDS]]
    rest = order[_KINDS:]
    if rest:
        told.append(f"{sum(number for _, number in rest):,} of {count(len(rest), 'other kind')}")
    return ", ".join(told)


def print_rows(
    out: Output, rows: Sequence[Row], settings: Settings, *, alone: bool = False
) -> None:
    """Print a table of findings; where a session is looked at *alone*, it is not named.

    Where the screen is too narrow for all of it, where in a line a finding stands, and why it
    is not masked, stand below it: cut short they would tell nothing.
    """
    marked = any(row.fingerprint for row in rows)
    noted = any(why_kept(row) for row in rows)
    columns = [Column("WHERE", least=24, style="cyan"), Column("KIND", least=10)]
    columns.append(Column("SURE", spare=1))
    if marked:
        columns.append(Column("MARK", spare=2))
    columns.append(Column("IN", least=8))
    if noted:
        columns.append(Column("NOT MASKED", least=8, style="yellow"))
    cells = []
    for row in rows:
        session = None if alone else row.session
        line = [place_of(session, row.name, row.line), row.kind, row.confidence]
        if marked:
            line.append(row.fingerprint)
        line.append(f"{'key ' if row.is_key else ''}{row.path}" or "text")
        if noted:
            line.append(why_kept(row))
        cells.append(line)
    if fits(columns, cells, settings):
        table(out, columns, cells, settings)
        return
    first = 3 + marked
    below = [
        [f"in {line[first]}", *(f"not masked: {why}" for why in line[first + 1 :] if why)]
        for line in cells
    ]
    table(out, columns[:first], [line[:first] for line in cells], settings, below)


def place_of(session: str | None, name: str, line: int) -> str:
    """Write where something stands: ``pi-1 logs/main.jsonl:12``."""
    place = f"{name}:{line}" if line > 0 else name
    return place if session is None or session == name else f"{session} {place}"


def why_kept(row: Row) -> str:
    """Say why what was found is not masked; "": it is."""
    if row.fate == "bytes" and row.name.startswith(BLOBS):
        return "in a blob that is no text; redact --drop-blobs gives it up"
    return FATES[row.fate]


def finding_value(row: Row) -> Object:
    """Return a finding as JSON."""
    return {
        "session": row.session,
        "file": row.name,
        "line": row.line or None,
        "seq": row.seq,
        "n": row.n,
        "path": row.path or None,
        "is_key": row.is_key,
        "kind": row.kind,
        "confidence": row.confidence,
        "rule": row.rule,
        "fingerprint": row.fingerprint or None,
        "masked": row.fate == "mask",
        "fate": row.fate,
    }


def unread_value(skipped: Skipped) -> Object:
    """Return what could not be looked into as JSON."""
    return {
        "session": skipped.session,
        "file": skipped.name,
        "line": skipped.line or None,
        "why": skipped.why,
    }


def failed_value(outcome: Outcome) -> Object:
    """Return a target that failed as JSON."""
    assert outcome.error is not None
    failure = explain(outcome.error)
    told: dict[str, JSON] = {
        "kind": failure.kind,
        "message": failure.message,
        "hint": failure.hint,
        "exit_code": failure.exit_code,
    }
    what = "session" if outcome.target.is_session else "file"
    return {what: _named(outcome), "error": told}


def raise_only(outcome: Outcome, targets: Sequence[Target]) -> None:
    """Raise what failed if it is all that was asked for.

    Raises:
        AgentMemError: It is.
        OSError: It is.
    """
    if len(targets) == 1 and outcome.error is not None:
        raise outcome.error


def tell_failure(outcome: Outcome, *, quiet: bool = False) -> int:
    """Tell why a target failed, and return the exit status of that."""
    assert outcome.error is not None
    failure = explain(outcome.error)
    if not quiet:
        hint = f" ({failure.hint})" if failure.hint else ""
        warn(_why(outcome) + hint)
    return failure.exit_code


def _why(outcome: Outcome) -> str:
    assert outcome.error is not None
    return with_name(_named(outcome), explain(outcome.error).message)


def _session(outcome: Outcome) -> str | None:
    return _named(outcome) if outcome.target.is_session else None


def _named(outcome: Outcome) -> str:
    return outcome.name or outcome.target.id
