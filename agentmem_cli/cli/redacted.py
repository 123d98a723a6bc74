"""How `redact` tells what it masked, and what of it is kept: the receipt."""

from __future__ import annotations

import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from agentmem_cli.cli.clock import utc_time
from agentmem_cli.cli.output import json_line, talk, warn
from agentmem_cli.cli.render import count, summary
from agentmem_cli.cli.scanned import (
    FAILED,
    failed_value,
    finding_value,
    kinds_told,
    place_of,
    raise_only,
    tell_failure,
    unread_value,
    why_kept,
)
from agentmem_cli.cli.text import one_line, wrapped
from agentmem_cli.operations.secrets.told import Skipped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agentmem_cli.cli.output import Output
    from agentmem_cli.cli.settings import Settings
    from agentmem_cli.operations.outside import Passed
    from agentmem_cli.operations.secrets.stopping import Stopped
    from agentmem_cli.operations.secrets.working import Outcome, Target
    from agentmem_cli.session.codec import JSON, Object

REDACT: Final = "agentmem.redact/1"
RECEIPT: Final = "agentmem.receipt/1"

_STATES: Final = {
    "masked": "was being worked on; it is masked",
    "unchanged": "was being worked on; it is as it was",
    "unfinished": "is being changed; the next command that changes it does the rest",
}

_TOLD: Final = 20

_DETAILED: Final = 5
"""Targets of which the whole receipt is shown; of more, --receipt and --json have it."""


class Receipts:
    """A file that gets a record of a run: one JSON object a line."""

    def __init__(self, path: Path) -> None:
        """See, before any work, that *path* can be written.

        Raises:
            OSError: It cannot.
        """
        self._path = path
        os.close(self._open())

    def add(self, record: bytes) -> None:
        """Add *record*, a line; it is on the disk when this returns."""
        from agentmem_cli.storage.named import names_file
        from agentmem_cli.storage.streams import write_whole

        descriptor = self._open()
        try:
            with names_file(self._path):
                write_whole(descriptor, record)
        finally:
            os.close(descriptor)

    def _open(self) -> int:
        # Why so: of what was found it holds nothing, but where it was found is nobody's business.
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


class Redacted:
    """Tells what one run of `redact` did."""

    def __init__(
        self,
        settings: Settings,
        targets: Sequence[Target],
        passed: Sequence[Passed],
        *,
        json: bool,
    ) -> None:
        """Begin the clock; *passed* is what in folders was passed by."""
        self._settings = settings
        self._targets = targets
        self._json = json
        self._begun_s = time.monotonic()
        self._done: list[Outcome] = []
        self._failed: list[Outcome] = []
        self._passed = [Skipped(None, each.path, 0, each.why) for each in passed]

    def take(self, outcome: Outcome) -> None:
        """Take up what came of one target.

        Raises:
            AgentMemError: It is the only one, and it failed.
            OSError: Likewise.
        """
        if outcome.error is not None:
            raise_only(outcome, self._targets)
            self._failed.append(outcome)
        else:
            self._done.append(outcome)

    def stopped(self, stopped: Stopped, receipts: Receipts | None) -> None:
        """Print what was done before the run was ended, and write the receipt of that."""
        told = {id(outcome) for outcome in (*self._done, *self._failed)}
        for outcome in stopped.outcomes:
            if id(outcome) in told:
                continue
            (self._done if outcome.error is None else self._failed).append(outcome)
        begun: list[JSON] = [
            {"target": one_line(each.name), "state": each.state} for each in stopped.begun
        ]
        receipt = {**self._receipt(), "stopped": begun}
        if receipts is not None:
            receipts.add(json_line(receipt))
        with self._settings.output() as out:
            self._print(out, receipt)
        for outcome in self._failed:
            tell_failure(outcome, quiet=self._json)
        for each in stopped.begun:
            talk(f"{one_line(each.name)}: {_STATES[each.state]}")
        states = Counter(each.state for each in stopped.begun)
        thing = "session" if self._targets[0].is_session else "file"
        changed = sum(outcome.changed for outcome in self._done) + states["masked"]
        more = f", {states['unfinished']} half changed" if states["unfinished"] else ""
        talk(f"Ended early: {changed} of {count(len(self._targets), thing)} changed{more}.")

    def finish(self, receipts: Receipts | None, *, allow_unread: bool) -> int | None:
        """Print all of it, write the receipt, and return the exit status."""
        receipt = self._receipt()
        if receipts is not None:
            receipts.add(json_line(receipt))
        with self._settings.output() as out:
            self._print(out, receipt)
        status = None
        for outcome in self._failed:
            failed = tell_failure(outcome, quiet=self._json)
            status = status or failed
        self._tell()
        if status is not None:
            return status
        stays = any(outcome.left or outcome.skipped for outcome in self._done) or self._passed
        return 1 if stays and not allow_unread else None

    def _print(self, out: Output, receipt: Object) -> None:
        for outcome in self._done:
            if self._json:
                out.object(REDACT, _value(outcome))
            else:
                self._lines(out, outcome)
        if self._json:
            for outcome in self._failed:
                out.object(FAILED, failed_value(outcome))
            out.write_bytes(json_line(receipt))

    def _lines(self, out: Output, outcome: Outcome) -> None:
        columns = self._settings.columns
        if not (outcome.changed or outcome.left or outcome.skipped):
            if len(self._targets) <= _TOLD:
                out.line(wrapped(one_line(f"{_name(outcome)}: nothing to mask"), columns))
            return
        out.line(wrapped(one_line(f"{_name(outcome)}: {_words(outcome)}"), columns))
        if outcome.receipt is not None and len(self._targets) <= _DETAILED:
            for line in receipt_lines(outcome.receipt):
                out.line(wrapped(one_line(f"  {line}"), columns))
        for row in outcome.left[:_TOLD]:
            where = place_of(None, row.name, row.line)
            out.line(wrapped(one_line(f"  stays: {row.kind} at {where}: {why_kept(row)}"), columns))
        if len(outcome.left) > _TOLD:
            out.line(f"  and {count(len(outcome.left) - _TOLD)} more that stay")

    def _tell(self) -> None:
        skipped = [*(each for one in self._done for each in one.skipped), *self._passed]
        for each in skipped[:_TOLD]:
            if not self._json:
                warn(f"{place_of(each.session, each.name, each.line)}: {each.why}")
        if not self._targets:
            talk("Nothing fits: nothing was changed.")
            return
        thing = "session" if self._targets[0].is_session else "file"
        changed = sum(outcome.changed for outcome in self._done)
        size = sum(outcome.size for outcome in self._done)
        events = sum(outcome.events for outcome in self._done)
        work = summary(events, "event", size, time.monotonic() - self._begun_s)
        targets = f"{count(changed)} of {count(len(self._targets), thing)} changed"
        talk(f"{targets}; {work}")
        self._remind(changed)

    def _remind(self, changed: int) -> None:
        if not changed:
            return
        sources = sorted(
            {
                str(source)
                for outcome in self._done
                if outcome.receipt is not None
                for source in _listed(outcome.receipt.get("sources"))
            }
        )
        if sources:
            more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
            talk(
                f"What was imported still holds what it held: {one_line(sources[0])}{more}; "
                "agentmem redact --files masks such files."
            )
        others = self._others()
        if others:
            more = f" and {len(others) - 1} more" if len(others) > 1 else ""
            talk(f"So may a session with messages of the same: {one_line(others[0])}{more}")
        talk("Masking does not revoke: change every key and password that was found.")

    def _others(self) -> list[str]:
        """Return the sessions that hold messages of those that changed, and were not looked at."""
        told: set[str] = set()
        for outcome in self._done:
            if outcome.receipt is not None:
                told.update(map(str, _listed(outcome.receipt.get("also_in"))))
                told.add(str(outcome.receipt.get("forked_from") or ""))
        return sorted(told - {"", *map(_name, self._done)})

    def _receipt(self) -> Object:
        masks: Counter[str] = Counter()
        changed = sum(outcome.changed for outcome in self._done)
        for outcome in self._done:
            masks.update(outcome.kinds)
        targets: list[JSON] = [
            {**outcome.receipt, **_ends(outcome)}
            for outcome in self._done
            if outcome.receipt is not None
        ]
        return {
            "schema": RECEIPT,
            "at": utc_time(self._settings.now_ms),
            "masks": dict(sorted(masks.items())),
            "changed": changed,
            "unchanged": len(self._done) - changed,
            "failed": len(self._failed),
            "targets": targets,
            "stopped": None,
        }


def _words(outcome: Outcome) -> str:
    """Say what was masked."""
    if not outcome.changed:
        return "nothing to mask"
    masks, dropped = sum(outcome.kinds.values()), len(dropped_of(outcome))
    parts = [f"{count(masks, 'mask')} ({kinds_told(outcome.kinds)})"] if masks else []
    parts += [f"{count(dropped, 'blob')} given up"] if dropped else []
    told = ", ".join(parts) or "changed"
    if outcome.signatures:
        told += f"; {count(outcome.signatures, 'signature')} of changed text removed"
    if not (outcome.left or outcome.skipped):
        told += "; proven: no masked value is left"
    return told


def dropped_of(outcome: Outcome) -> list[JSON]:
    """Return the blobs that were given up."""
    return [] if outcome.receipt is None else _listed(outcome.receipt.get("dropped"))


def receipt_lines(receipt: Object) -> list[str]:
    """Write a target's receipt for a person."""
    at, by = receipt.get("at_ms"), receipt.get("by")
    kind = by.get("kind") if isinstance(by, dict) else None
    who = kind.get("plugin") if isinstance(kind, dict) else kind
    when = utc_time(at) if isinstance(at, int) else "?"
    lines = [f"receipt: {when}, by {who}, {_values(receipt)}"]
    for each in _listed(receipt.get("changed")):
        if isinstance(each, dict):
            numbers = each.get("n")
            where = f", records n {ranges(numbers)}" if isinstance(numbers, list) else ""
            if isinstance(each.get("lines"), int):
                where = f", {count(each['lines'], 'line')}"  # type: ignore[arg-type]
            lines.append(f"changed: {each.get('in')}{where}")
    lines += [f"given up: {each}" for each in _listed(receipt.get("dropped"))]
    return lines


def _values(receipt: Object) -> str:
    number = receipt.get("values")
    return f"{count(number if isinstance(number, int) else 0, 'different value')} looked for"


def ranges(numbers: Sequence[JSON]) -> str:
    """Write numbers, those in a row as one: ``3, 22-24``."""
    told: list[list[int]] = []
    for number in numbers:
        assert isinstance(number, int)
        if told and number == told[-1][-1] + 1:
            told[-1][1:] = [number]
        else:
            told.append([number])
    shown = ["-".join(map(str, each)) for each in told[:_TOLD]]
    return ", ".join([*shown, "..."] if len(told) > _TOLD else shown)


def _ends(outcome: Outcome) -> Object:
    left: list[JSON] = [
        {"in": row.name, "line": row.line, "kind": row.kind, "why": row.fate}
        for row in outcome.left
    ]
    return {"left": left}


def _listed(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _name(outcome: Outcome) -> str:
    told = outcome.receipt
    name = None if told is None else told.get("session") or told.get("file")
    return name if isinstance(name, str) else outcome.name or outcome.target.id


def _value(outcome: Outcome) -> Object:
    what = "session" if outcome.target.is_session else "file"
    left: list[JSON] = [finding_value(row) for row in outcome.left]
    unread: list[JSON] = [unread_value(each) for each in outcome.skipped]
    return {
        what: _name(outcome),
        "changed": outcome.changed,
        "masks": dict(sorted(outcome.kinds.items())),
        "strings": outcome.strings,
        "signatures_removed": outcome.signatures,
        "dropped": dropped_of(outcome),
        "left": left,
        "unread": unread,
        "encrypted": outcome.opaque,
        "events": outcome.events,
        "bytes": outcome.size,
    }
