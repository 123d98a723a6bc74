"""What a redaction did, to be kept: who, when, where, how many; and nothing of what it was.

Of bytes that may have held secrets there is a keyed digest only, under the
user's key; of what stands there now a plain one.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.beside import NOTES
from agentmem_cli.operations.imports.maps import MAP_END
from agentmem_cli.operations.secrets.masks import bare
from agentmem_cli.operations.secrets.sessions import file_name, log_name
from agentmem_cli.session.codec import JSON, Object, loads_object
from agentmem_cli.session.meta import META
from agentmem_cli.session.refiling import copied
from agentmem_cli.storage.store import open_file_of, open_log_of

if TYPE_CHECKING:
    from agentmem_cli.operations.secrets.findings import Findings
    from agentmem_cli.operations.secrets.looking import Looking
    from agentmem_cli.operations.secrets.masking import Masker
    from agentmem_cli.session.staged import Staged
    from agentmem_cli.storage.store import LogFile

SCHEMA: Final = "agentmem.redaction/1"

ADVICE: Final = "Masking does not revoke: change every key and password that was found."


def session_receipt(staged: Staged, findings: Findings, masker: Masker, looking: Looking) -> Object:
    """Return the receipt of a session that is staged."""
    changed: list[JSON] = []
    for log in sorted(staged.records):
        with open_log_of(staged.store, log) as old, staged.open_log(log) as new:
            numbers: list[JSON] = [*sorted(staged.records[log])]
            told = digests(old, new, looking)
            changed.append({"in": masker.text(log_name(log)), "n": numbers, **told})
    before = set(staged.store.files())
    for name in sorted(staged.changed):
        with staged.open_file(name) as new:
            if name in before:
                with open_file_of(staged.store, name) as old:
                    told = digests(old, new, looking)
            else:
                told = {"after": _digest(new, hashlib.sha256())}
        changed.append({"in": masker.text(file_name(name)), **told})
    return {
        "schema": SCHEMA,
        "at_ms": staged.now_ms,
        "by": None if staged.by is None else staged.by.to_value(),
        "changed": changed,
        **told_of(findings, masker),
        "sources": _sources(staged, masker),
        "forked_from": _fork(staged, masker),
        "advice": ADVICE,
    }


def told_of(findings: Findings, masker: Masker) -> Object:
    """Return the counts that every receipt has."""
    return {
        "masks": {kind: masker.kinds[kind] for kind in sorted(masker.kinds)},
        "values": len(
            {bare(value) for value in findings.values}
            | {bare(row.value) for row in findings.rows if row.fate == "mask"}
        ),
        "strings": masker.strings,
        "signatures_removed": masker.signatures,
        "encrypted_not_looked_into": findings.opaque,
        "encrypted_beside_masks": masker.sealed,
        "unread": [
            {"in": masker.text(each.place.name), "line": each.place.line, "why": each.why}
            for each in findings.unread
        ],
    }


def digests(old: LogFile, new: LogFile, looking: Looking) -> Object:
    """Return a keyed digest of what was, and a plain one of what is."""
    keyed = hmac.new(looking.masks.digest_key, digestmod="sha256")
    return {"before_keyed": _digest(old, keyed), "after": _digest(new, hashlib.sha256())}


def _digest(opened: LogFile, hasher: hashlib._Hash | hmac.HMAC) -> str:
    for data in copied(opened, 0, opened.size):
        hasher.update(data)
    return hasher.hexdigest()


def _sources(staged: Staged, masker: Masker) -> list[JSON]:
    """Return the files that were imported: they still hold what was masked here."""
    found: list[JSON] = []
    for name in staged.store.files():
        if name.endswith(MAP_END):
            with open_file_of(staged.store, name) as opened:
                first = next(iter(opened.lines()), b"")
            source = _member(first, "source")
            if isinstance(source, str):
                found.append(masker.text(source))
        elif name == NOTES:
            lines = staged.store.read_file(name).splitlines()
            beside = (_member(line, "name") for line in lines)
            found += (masker.text(each) for each in beside if isinstance(each, str))
    return found


def _fork(staged: Staged, masker: Masker) -> JSON:
    """Return the session that this one was forked from, which holds the same text."""
    try:
        listed = _member(staged.store.read_file(META), "listed")
    except FileNotFoundError:
        return None
    fork = listed.get("forked_from") if isinstance(listed, dict) else None
    session = fork.get("session") if isinstance(fork, dict) else fork
    return masker.text(session) if isinstance(session, str) else None


def _member(data: bytes, name: str) -> JSON:
    try:
        return loads_object(data).get(name)
    except ValueError:
        return None
