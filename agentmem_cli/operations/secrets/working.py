"""One session or one file: looked at or redacted, and what may be told of it.

What comes out of here holds no value, so it can go to another process, to a
screen and to a file.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from agentmem_cli.operations.imports.packed import is_packed
from agentmem_cli.operations.outside import Care, changing, check_may_change
from agentmem_cli.operations.rewrites import TOOL
from agentmem_cli.operations.secrets.find import Search
from agentmem_cli.operations.secrets.findings import Findings, Place, Unread
from agentmem_cli.operations.secrets.looking import Eye
from agentmem_cli.operations.secrets.plain import Plain
from agentmem_cli.operations.secrets.proof import Unproven, prove
from agentmem_cli.operations.secrets.receipt import ADVICE, SCHEMA, digests, told_of
from agentmem_cli.operations.secrets.sessions import (
    how_to_read,
    look_at_packed,
    look_at_session,
    masker_of,
)
from agentmem_cli.operations.secrets.single import SingleFile
from agentmem_cli.operations.secrets.told import BLOBS, Row, Skipped, Veil, rows_of, skipped_of
from agentmem_cli.session.rewriting import HEAD_BYTES
from agentmem_cli.session.textual import why_unread
from agentmem_cli.storage.layout import is_part_of_ours
from agentmem_cli.storage.seen import IDLE_MS, refuse_busy
from agentmem_cli.storage.swapping import Swap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentmem_cli.operations.secrets.findings import Fate, Finding
    from agentmem_cli.operations.secrets.looking import Looking
    from agentmem_cli.operations.secrets.masks import AllowList
    from agentmem_cli.operations.secrets.sessions import Looked
    from agentmem_cli.operations.secrets.single import Masked
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.tokens import Path
    from agentmem_cli.storage.directory import DirStore


class Target(NamedTuple):
    """A session or a file."""

    id: str
    """What it is called: a session's id, a file's path as it was given."""
    path: str
    is_session: bool


class How(NamedTuple):
    """How targets are worked on."""

    now_ms: int
    if_idle_ms: int | None = IDLE_MS
    damaged: Literal["refuse", "as-text"] = "refuse"
    drop_blobs: bool = False
    """Give up blobs that are no text and hold something."""
    force: bool = False
    """Change settings of programs, and files with other names, too."""
    lock_wait_s: float = 10.0
    redact: bool = False
    """Mask what is found; else look only."""
    fingerprints: bool = True
    digests: AllowList | None = None
    """Give the digests of what was found, under the salt of this list."""


class Outcome(NamedTuple):
    """What was found in a target, and what was done."""

    target: Target
    rows: tuple[Row, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    left: tuple[Row, ...] = ()
    """After a redaction: what stays on purpose."""
    kinds: dict[str, int] = {}  # noqa: RUF012 - never changed
    """Masks, by kind."""
    strings: int = 0
    signatures: int = 0
    changed: bool = False
    opaque: int = 0
    events: int = 0
    size: int = 0
    """Bytes that were looked at."""
    receipt: Object | None = None
    digests: frozenset[str] = frozenset()
    """Of what was found, under the allow-list's salt; where they were asked for."""
    error: Exception | None = None
    name: str = ""
    """What the target is called, with what of that is a secret hidden; "": none is."""

    @property
    def found(self) -> tuple[Row, ...]:
        """What counts as a finding."""
        return tuple(row for row in self.rows if row.fate not in {"allowed", "unsure"})


def work(
    target: Target, how: How, looking: Looking, advance: Callable[[int], None] | None = None
) -> Outcome:
    """Look at a target, or redact it.

    Raises:
        AgentMemError: It cannot be done; nothing changed.
        OSError: The system refused; nothing changed.
    """
    if target.is_session:
        return _session(target, how, looking, advance)
    return _file(target, how, looking, advance)


def _told(
    findings: Findings, how: How, looking: Looking, target: Target, left: Iterable[Finding] = ()
) -> Outcome:
    """Tell what was found; of what could not be looked into what is *left* is hidden, too."""
    session = target.id if target.is_session else None
    hidden = {row.value for row in left}
    digests: frozenset[str] = frozenset()
    if how.digests is not None:
        digests = frozenset(how.digests.digest(row.value) for row in findings.rows)
    return Outcome(
        target,
        _rows(findings, looking, target, how),
        tuple(skipped_of(findings, session, {*name_values(target, looking), *hidden})),
        opaque=findings.opaque,
        events=findings.events,
        size=findings.size,
        digests=digests,
        name=veil_of(target, looking, findings)(target.id),
    )


def veil_of(target: Target, looking: Looking, findings: Findings | None = None) -> Veil:
    """Return what hides the secrets in a target's name, its folders' names and *findings*."""
    values = () if findings is None else (row.value for row in findings.rows)
    return Veil({*name_values(target, looking), *values})


def name_values(target: Target, looking: Looking) -> set[str]:
    """Return the secrets in a target's name and its folders' names."""
    eye = Eye(looking)
    if eye.is_blind:
        return set()
    text = target.path.replace(os.sep, "\n").encode("utf-8", "replace")
    return {row.value for row in eye.plain(Plain(text), Place(target.id)).rows}


def _rows(findings: Findings, looking: Looking, target: Target, how: How) -> tuple[Row, ...]:
    session = target.id if target.is_session else None
    told = rows_of(
        findings,
        looking.masks,
        session,
        fingerprints=how.fingerprints,
        also=name_values(target, looking),
    )
    return tuple(told)


# -- sessions --------------------------------------------------------------


def _session(
    target: Target, how: How, looking: Looking, advance: Callable[[int], None] | None
) -> Outcome:
    from agentmem_cli.operations.catalog import Found, open_session

    # Why by redact: what a crash left undone is finished by whoever changes.
    store = open_session(
        Found(target.id, target.path), lock_wait_s=how.lock_wait_s, finish=how.redact
    )
    name = os.path.basename(target.path)  # noqa: PTH119 - text is all that is needed
    if how.redact:
        # Why before the look: it is the long part.
        refuse_busy(store, how.if_idle_ms, how.now_ms, locked=False)
        if any(map(is_part_of_ours, store.leftovers())):
            # Why: what a redaction that was killed has left has the old bytes in it.
            store.tidy()
    looked = look_at_session(store, looking, advance, name)
    if not how.redact:
        if looked.findings.values:
            masker = masker_of(store, looked, looking)
            found = prove(store, store, masker, looked, name, None)
            looked.findings.rows = with_others(looked.findings.rows, found)
        return _told(looked.findings, how, looking, target)
    dropped = _given_up(store, looked, looking, name) if how.drop_blobs else ()
    if not (looked.findings.to_mask() or looked.findings.values or dropped):
        told = _told(looked.findings, how, looking, target)
        return told._replace(left=_left(looked.findings, looking, target, how))
    from agentmem_cli.operations.secrets.redaction import Wishes, redact_session

    wishes = Wishes(how.now_ms, how.if_idle_ms, how.damaged, dropped, name, how.lock_wait_s)
    done = redact_session(store, TOOL, looking, wishes, looked=looked, advance=advance)
    told = _told(done.findings, how, looking, target, done.left)
    also: list[JSON] = []
    if done.rewritten.changed:
        from agentmem_cli.operations.kin import kin_of

        folder = os.path.dirname(target.path)  # noqa: PTH120 - as above
        also += (told_name(done.findings, each) for each in kin_of(folder, name, how.now_ms))
    kept = Findings()
    kept.rows = done.left
    return told._replace(
        left=_rows(kept, looking, target, how),
        kinds=done.kinds,
        strings=done.strings,
        signatures=done.signatures,
        changed=done.rewritten.changed,
        receipt={
            "session": told_name(done.findings, target.id),
            **done.receipt,
            "also_in": also,
        },
    )


def with_others(rows: list[Finding], others: list[Finding]) -> list[Finding]:
    """Return *rows* and those of *others* that stand elsewhere: bare, or in another writing.

    They come by source and line, as *rows* do.
    """
    at: dict[tuple[str, int, Path], list[Finding]] = {}
    sources: dict[str, int] = {}
    for row in rows:
        at.setdefault((row.place.name, row.place.line, row.path), []).append(row)
    long = [row for row in rows if "\n" in row.value]
    added = [
        row
        for row in others
        if not any(
            row.start < other.end and other.start < row.end
            for other in at.get((row.place.name, row.place.line, row.path), ())
        )
        and not any(_is_line_of(row, other) for other in long)
    ]
    if not added:
        return rows
    for row in (*rows, *added):
        sources.setdefault(row.place.name, len(sources))
    return sorted((*rows, *added), key=lambda row: (sources[row.place.name], row.place.line))


def _is_line_of(row: Finding, long: Finding) -> bool:
    """Whether *row* is a line of a value that stands on several, and is told with the first."""
    passed = row.place.line - long.place.line
    same = row.place.name == long.place.name and row.value in long.value
    return same and 0 < passed <= long.value.count("\n")


def told_name(findings: Findings, name: str) -> str:
    """Return a target's name with whatever of it was found hidden."""
    return Veil(row.value for row in findings.rows)(name)


def _left(findings: Findings, looking: Looking, target: Target, how: How) -> tuple[Row, ...]:
    kept = Findings()
    kept.rows = findings.left()
    return _rows(kept, looking, target, how)


def _given_up(store: DirStore, looked: Looked, looking: Looking, name: str) -> tuple[str, ...]:
    """Return the blobs that are no text and in which something was found, or stands bare."""
    rows = looked.findings.rows
    if looked.findings.values:
        # Why once more: no rule knows a value that a file names, or that stands bare in a blob.
        rows = rows + prove(store, store, masker_of(store, looked, looking), looked, name, None)
    names = {
        row.place.name.removeprefix(BLOBS)
        for row in rows
        if row.fate == "bytes" and row.place.name.startswith(BLOBS)
    }
    return tuple(sorted(names))


# -- files -----------------------------------------------------------------


def _file(
    target: Target, how: How, looking: Looking, advance: Callable[[int], None] | None
) -> Outcome:
    if not how.redact:
        with Swap(target.path) as swap:
            single, findings = _look(swap, target, looking, advance)
            if findings.values and not single.is_packed:
                fate: Fate = "mask" if single.may_change else "bytes"
                found = [
                    row if row.fate != "mask" else row._replace(fate=fate)
                    for row in single.file.prove(swap.reader())
                ]
                findings.rows = with_others(findings.rows, found)
            return _told(findings, how, looking, target)

    def one(swap: Swap) -> tuple[Outcome, bool]:
        single, findings = _look(swap, target, looking, advance)
        told = _told(findings, how, looking, target)
        told = told._replace(left=_left(findings, looking, target, how))
        if not single.may_change or not (findings.to_mask() or findings.values):
            return told, False
        care = Care(how.now_ms, how.if_idle_ms, how.force)
        if findings.to_mask():
            check_may_change(swap, target.path, care)
        masked = single.file.mask(swap.reader(), swap)
        if not masked.lines:
            return told, False
        check_may_change(swap, target.path, care)
        left = single.file.prove(swap.staged_reader())
        _refuse_unproven(left)
        kept = Findings()
        kept.rows = [*findings.left(), *masked.left, *left]
        rows = _rows(kept, looking, target, how)
        told = told._replace(
            left=tuple(dict.fromkeys(rows)),
            kinds=masked.kinds,
            strings=masked.strings,
            signatures=masked.signatures,
            changed=True,
            receipt=_receipt(swap, single.file, masked, how, looking, target),
        )
        return told, True

    return changing(target.path, one)


class _Looked(NamedTuple):
    """A file that was looked at."""

    file: SingleFile
    may_change: bool
    """Whether it is text: in other bytes nothing is masked."""
    is_packed: bool = False
    """Whether it was looked at unpacked."""


def _look(
    swap: Swap, target: Target, looking: Looking, advance: Callable[[int], None] | None
) -> tuple[_Looked, Findings]:
    """Look at an open file and its name."""
    single = SingleFile(target.id, looking, advance)
    source = swap.reader()
    head = source.read(HEAD_BYTES)
    if is_packed(head):
        with swap.opened() as opened, Search(looking, advance) as search:
            look_at_packed(search, target.id, opened)
        single.findings = search.findings
    else:
        single.scan(source)
    findings = single.findings
    findings.rows += _name(target, looking)
    name = os.path.basename(target.path)  # noqa: PTH119 - text is all that is needed
    if not is_packed(head) and how_to_read(name, head) != "skip":
        return _Looked(single, may_change=True), findings
    findings.rows = [
        row._replace(fate="bytes") if row.fate == "mask" else row for row in findings.rows
    ]
    why = None if is_packed(head) else why_unread(head)
    if why is not None:
        findings.unread.append(Unread(Place(target.id), why))
    return _Looked(single, may_change=False, is_packed=is_packed(head)), findings


def _name(target: Target, looking: Looking) -> list[Finding]:
    """Look at a file's own name, which is not changed."""
    name = os.path.basename(target.path)  # noqa: PTH119 - text is all that is needed
    eye = Eye(looking)
    if eye.is_blind:
        return []
    rows = eye.plain(Plain(name.encode("utf-8", "replace")), Place(target.id)).rows
    return [row._replace(fate="name") if row.fate == "mask" else row for row in rows]


def _refuse_unproven(left: list[Finding]) -> None:
    bad = [row for row in left if row.fate == "mask"]
    if bad:
        raise Unproven(bad)


def _receipt(
    swap: Swap, single: SingleFile, masked: Masked, how: How, looking: Looking, target: Target
) -> Object:
    name = veil_of(target, looking, single.findings)(single.name)
    with swap.opened() as old, swap.staged() as new:
        changed: JSON = [{"in": name, "lines": masked.lines, **digests(old, new, looking)}]
    return {
        "file": name,
        "schema": SCHEMA,
        "at_ms": how.now_ms,
        "by": TOOL.to_value(),
        "changed": changed,
        **told_of(single.findings, single.masker),
        "advice": ADVICE,
    }
