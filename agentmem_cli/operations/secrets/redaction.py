"""Secrets out of a session: found, masked in every past state, and the result proven.

Finding takes no lock. The masking does: where a log or a file is not as it was
looked at, all of it begins again. Before anything is swapped, every staged and
every kept byte is read again; a value that is still there stops the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from agentmem_cli.errors import AgentMemError, Stale
from agentmem_cli.operations.imports.besidemending import is_mended, mend_imports
from agentmem_cli.operations.imports.packed import Unpacked, is_packed, packed
from agentmem_cli.operations.secrets.proof import Unproven, prove
from agentmem_cli.operations.secrets.receipt import session_receipt
from agentmem_cli.operations.secrets.sessions import (
    Looked,
    file_name,
    how_to_read,
    log_name,
    look_at_session,
    masker_of,
)
from agentmem_cli.session.images import BLOB_FOLDER
from agentmem_cli.session.rewriter import rewrite
from agentmem_cli.session.rewriting import Record, Rewrite, Rewritten
from agentmem_cli.storage.seen import IDLE_MS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from agentmem_cli.operations.secrets.findings import Finding, Findings, Unread
    from agentmem_cli.operations.secrets.looking import Looking
    from agentmem_cli.operations.secrets.masking import Masker
    from agentmem_cli.session.author import Author
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.rewriting import File, How, Place
    from agentmem_cli.session.staged import Staged
    from agentmem_cli.storage.store import Store

TRIES: int = 3
"""Looks without the lock; after these the session is looked at once more while it is held."""


class Masking(Rewrite):
    """The rewrite that masks what a look has found."""

    def __init__(self, masker: Masker) -> None:
        self.masker = masker

    def hits(self, block: bytes) -> Sequence[int]:
        """Return where values may stand; what is packed is unpacked later."""
        return [0] if is_packed(block) else self.masker.hits(block)

    def line(self, at: Record, raw: bytes) -> bytes:
        """Mask a record."""
        number = 0 if at.stamp is None else at.stamp.seq + 1
        return self.masker.line(log_name(at.log), number, raw, is_record=True)

    def file_line(self, at: File, number: int, raw: bytes) -> bytes:
        """Mask a line of a file, whether it is JSON or not."""
        return self.masker.line(file_name(at.name), number, raw)

    def damaged_line(self, at: Place, raw: bytes) -> bytes:
        """Mask bytes that are no JSON."""
        name = log_name(at.log) if isinstance(at, Record) else file_name(at.name)
        lines = raw.split(b"\n")
        new = [self.masker.line(name, 0, line) for line in lines]
        return raw if new == lines else b"\n".join(new)

    def file(self, name: str, data: bytes) -> bytes:
        """Mask a file that is read at once."""
        if is_packed(data):
            return self._packed(name, data)
        return self.masker.whole(file_name(name), data)

    def _packed(self, name: str, data: bytes) -> bytes:
        unpacked = Unpacked([data])
        try:
            whole = b"".join(unpacked)
        except AgentMemError:
            return data  # it was told as unread
        new = self.masker.lines_of(file_name(name), whole)
        return data if new is whole else packed(new)

    def key(self, at: Place, key: str) -> str:  # noqa: ARG002 - as in `Rewrite`
        """Mask a saved value's key where a map repeats it."""
        return self.masker.text(key)

    def text(self, at: Place, text: str) -> str:  # noqa: ARG002 - as in `Rewrite`
        """Mask a text."""
        return self.masker.text(text)

    def reading(self, name: str, head: bytes) -> How:
        """Read text by lines, documents at once, and leave the rest."""
        return how_to_read(name, head)


class Wishes(NamedTuple):
    """How a session is to be redacted."""

    now_ms: int
    if_idle_ms: int | None = IDLE_MS
    """For how long another program must have left it alone; None: it need not have."""
    damaged: Literal["refuse", "as-text"] = "refuse"
    drop_blobs: Collection[str] = ()
    """Names of blobs to give up."""
    name: str | None = None
    """The session's own name, which is looked at as well."""
    wait_s: float | None = None


class Redacted(NamedTuple):
    """What was done to a session."""

    findings: Findings
    rewritten: Rewritten
    kinds: dict[str, int]
    """Masks, by kind."""
    strings: int
    signatures: int
    """Signatures that went, since the text they vouched for was changed."""
    left: list[Finding]
    """What stays on purpose: in ids, times and signatures, in names, in bytes that are no text."""
    unread: list[Unread]
    """What could not be looked into."""
    receipt: Object

    @property
    def is_whole(self) -> bool:
        """Whether nothing that is known to be secret is left, and all was looked into."""
        return not self.left and not self.unread


def redact_session(
    store: Store,
    by: Author,
    looking: Looking,
    wishes: Wishes,
    *,
    looked: Looked | None = None,
    advance: Callable[[int], None] | None = None,
) -> Redacted:
    """Mask in a session what is found in it, everywhere and in every past state.

    Args:
        store: The session.
        by: Who does it, for the logs' headers.
        looking: What is looked for.
        wishes: How.
        looked: What a look has found that was just made; None: it is made here.
        advance: Told the bytes that were read, in each step.

    Raises:
        Unproven: A value would have stayed; nothing was changed.
        errors.Record: A log does not read strictly.
        errors.ConflictError: Another program writes to the session.
        OSError: The system refused.
    """
    for _ in range(TRIES):
        now = looked or look_at_session(store, looking, advance, wishes.name)
        try:
            return _masked(store, by, looking, wishes, now, advance)
        except Stale:
            looked = None
    lock = getattr(store, "lock", None)
    if lock is None:
        now = look_at_session(store, looking, advance, wishes.name)
        return _masked(store, by, looking, wishes, now, advance)
    with lock(wishes.wait_s):
        now = look_at_session(store, looking, advance, wishes.name)
        return _masked(store, by, looking, wishes, now, advance)


def _masked(
    store: Store,
    by: Author,
    looking: Looking,
    wishes: Wishes,
    looked: Looked,
    advance: Callable[[int], None] | None,
) -> Redacted:
    masker = masker_of(store, looked, looking)
    left: list[Finding] = []
    told: list[Object] = []
    renamed: list[str] = []
    gone = {f"files/blobs/{name}" for name in wishes.drop_blobs}

    def check(staged: Staged) -> None:
        found = prove(store, staged, masker, looked, wishes.name, advance)
        if any(row.fate == "mask" for row in found):
            raise Unproven([row for row in found if row.fate == "mask"])
        left.extend(found)
        gone.update(map(file_name, staged.removed))
        renamed.extend(staged.digests)
        told.append(session_receipt(staged, looked.findings, masker, looking))

    rewritten = rewrite(
        store,
        by,
        Masking(masker),
        damaged=wishes.damaged,
        expect=looked.seen,
        skip=is_mended,
        finish=mend_imports,
        check=check,
        if_idle_ms=wishes.if_idle_ms,
        now_ms=wishes.now_ms,
        drop_blobs=wishes.drop_blobs,
        progress=advance,
        wait_s=wishes.wait_s,
    )
    stays = _once([row for row in looked.findings.left() if row.place.name not in gone] + left)
    receipt = told[0]
    dropped = [
        f"{BLOB_FOLDER}{name}"
        for name in rewritten.blobs_removed
        if name.partition(".")[0] not in renamed
    ]
    receipt["dropped"] = [masker.text(file_name(name)) for name in dropped]
    receipt["left"] = [_place_of(row, masker) for row in stays]
    return Redacted(
        looked.findings,
        rewritten,
        dict(sorted(masker.kinds.items())),
        masker.strings,
        masker.signatures,
        stays,
        looked.findings.unread,
        receipt,
    )


def _once(rows: list[Finding]) -> list[Finding]:
    seen: dict[object, Finding] = {}
    for row in rows:
        seen.setdefault((row.place.name, row.place.line, row.path, row.value), row)
    return list(seen.values())


def _place_of(row: Finding, masker: Masker) -> JSON:
    return {
        "in": masker.text(row.place.name),
        "line": row.place.line,
        "kind": row.kind,
        "why": row.fate,
    }
