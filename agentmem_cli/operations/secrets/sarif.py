"""Findings as SARIF 2.1.0, which code hosts and editors show beside the line.

Source: the OASIS standard "Static Analysis Results Interchange Format (SARIF)
Version 2.1.0"; tests validate what is made here against its schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.operations.secrets.told import Row, Skipped
    from agentmem_cli.session.codec import JSON, Object

VERSION: Final = "2.1.0"
_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS: Final = {"high": "error", "medium": "warning", "low": "note"}

_FATES: Final = {
    "mask": "redact masks it",
    "structural": "it is an id, a signature or the like, which is never masked",
    "name": "it stands in a name; rename gives another one",
    "bytes": "it stands in bytes that are no text; redact --drop-blobs gives them up",
    "stray": "it stands in no log and no file of the session; "
    "gc removes what a stopped command left",
    "allowed": "it is kept on purpose",
    "unsure": "it is unsure; --aggressive masks it",
}


def sarif_log(rows: Sequence[Row], skipped: Sequence[Skipped], *, version: str) -> Object:
    """Return a SARIF log of one run.

    Args:
        rows: What was found. Those that are kept on purpose are marked as suppressed.
        skipped: What could not be looked into.
        version: This program's.
    """
    kinds = sorted({row.kind for row in rows})
    at = {kind: number for number, kind in enumerate(kinds)}
    notes: list[JSON] = [_note(each) for each in skipped]
    driver: Object = {
        "name": "agentmem",
        "version": version,
        "rules": [_rule(kind, rows) for kind in kinds],
    }
    run: Object = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
        "results": [_result(row, at[row.kind]) for row in rows],
    }
    return {"$schema": _SCHEMA, "version": VERSION, "runs": [run]}


def _rule(kind: str, rows: Sequence[Row]) -> Object:
    order = list(_LEVELS)
    best = min((row.confidence for row in rows if row.kind == kind), key=order.index)
    return {
        "id": kind,
        "shortDescription": {"text": f"A secret or private value of the kind {kind}"},
        "help": {
            "text": "Mask it with agentmem redact, and change it where it is used: what was "
            "written to a file may have been read."
        },
        "defaultConfiguration": {"level": _LEVELS[best]},
    }


def _result(row: Row, index: int) -> Object:
    told = f"{row.kind} ({row.confidence} confidence)"
    if row.path:
        told += f" in {'a key at ' if row.is_key else ''}{row.path}"
    result: Object = {
        "ruleId": row.kind,
        "ruleIndex": index,
        "level": _LEVELS[row.confidence],
        "message": {"text": f"{told}; {_FATES[row.fate]}."},
        "locations": [_location(row.session, row.name, row.line, row.seq)],
        "properties": {"rule": row.rule, "fate": row.fate},
    }
    if row.fingerprint:
        result["partialFingerprints"] = {"agentmem/v1": row.fingerprint}
    if row.fate == "allowed":
        result["suppressions"] = [{"kind": "external"}]
    return result


def _location(session: str | None, name: str, line: int, seq: int | None) -> Object:
    uri = quote(name.replace("\\", "/"), safe="/-._~")
    if name[1:2] == ":":
        uri = f"file:///{quote(name.replace(chr(92), '/'), safe='/-._~:')}"
    elif name.startswith("/"):
        uri = f"file://{uri}"
    physical: Object = {"artifactLocation": {"uri": uri}}
    if line > 0:
        physical["region"] = {"startLine": line}
    location: Object = {"physicalLocation": physical}
    if session is not None:
        place = name if seq is None else f"{name}, record {seq}"
        logical: Object = {"name": session, "fullyQualifiedName": f"{session}: {place}"}
        location["logicalLocations"] = [logical]
    return location


def _note(skipped: Skipped) -> Object:
    return {
        "level": "warning",
        "message": {"text": f"Not looked into: {skipped.why}."},
        "locations": [_location(skipped.session, skipped.name, skipped.line, None)],
    }
