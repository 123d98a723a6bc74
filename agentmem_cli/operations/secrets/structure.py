"""Strings that hold a transcript together: ids, times, links, signatures, names of the form.

A mask in one of these would make a record unreadable, part a call from its
result or break a provider's check. So they are told by where they stand and by
their shape: an ``id`` in the arguments of a tool is anybody's, and a text where
an id should stand is a text.

Source: the formats in docs and DESIGN.md, "Messages"; of Claude Code, Codex, pi,
OpenAI and goose as their programs write them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentmem_cli.session.tokens import Path

_FORMS: Final = frozenset(
    {"type", "role", "message", "messages", "payload", "seq", "item", "choices", "entries", "map"}
)
"""One of these stands at the top of every record of a transcript."""

_WAY: Final = frozenset(
    {
        "message", "messages", "content", "entries", "with", "aside", "asides", "author", "by",
        "payload", "item", "items", "state", "delta", "event", "usage", "summary", "source",
        "origin", "function", "call", "tool_calls", "tool_call", "toolCall", "toolResult",
        "choices", "response", "native", "part", "parts", "reasoning", "kind", "data", "rewrites",
        "content_block", "snapshot", "reasoning_details", "stop", "replacement_history", "model",
        "removed", "halt", "info", "msg", "turn", "attachment",
    }
)  # fmt: skip
"""What leads from the top of a record to its parts, and to nothing that people write."""

_IDS: Final = re.compile(
    r"(?:.*[a-z_](?:Id|_id|Uuid|_uuid|ID|UUID)|id|uuid|parent|call|local|provider|openai|request"
    r"|removed|fp|digest|body|lineage|turn|thread)"
)
_TIMES: Final = re.compile(
    r"(?:timestamp|time|t|at|created|updated|.*(?:_at|At|_time|Time|Timestamp))"
)
_SIGNED: Final = re.compile(r"(?:.*_)?signature|.*Signature")
SEALED: Final = frozenset({"encrypted_content", "encryptedContent"})
_WORDS: Final = frozenset(
    {
        "type", "role", "kind", "format", "log", "model", "stop_reason", "stopReason", "stop",
        "halt", "media_type", "mediaType", "mimeType", "mime_type", "version", "subtype", "api",
        "finish_reason", "status", "phase", "userType", "isMeta", "object", "service_tier",
        "vendor", "plugin", "modelId", "originator", "cli_version", "detail", "name",
    }
)  # fmt: skip

_ID: Final = re.compile(r"[A-Za-z0-9_.:/+=|@~-]{1,256}")
_TIME: Final = re.compile(r"[0-9][0-9T:.Z +-]{3,40}")
_WORD: Final = re.compile(r"[A-Za-z0-9_.:/+-]{1,128}")
_BLOB: Final = re.compile(r"blob:[0-9a-f]{64}\.[a-z0-9]{1,8}|[0-9a-f]{64}\.[a-z0-9]{1,8}")
_OPAQUE: Final = re.compile(r"[A-Za-z0-9+/=_|.:-]{16,}")

_FIELDS: Final = (
    _FORMS
    | _WAY
    | _WORDS
    | SEALED
    | frozenset(
        {
            "n", "t", "id", "uuid", "parentUuid", "sessionId", "parentId", "timestamp", "cwd",
            "text", "thinking", "input", "output", "arguments", "name", "value", "key", "removed",
            "from", "to", "made", "request", "title", "after", "saved", "call", "is_error",
            "tool_use_id", "toolUseID", "call_id", "toolCallId", "signature", "thinkingSignature",
            "details", "isError", "result", "toolUseResult", "stdout", "stderr",
            "lineage", "parent", "next_message", "next_aside", "labels", "listed", "messages",
            "media_type", "line", "fp", "raw", "blobs", "updated", "log", "native", "detail",
            "gitBranch", "isSidechain", "userType", "requestId", "stop_sequence", "level",
        }
    )
)  # fmt: skip
"""Names of fields that the forms have, so that a key is known from a text."""


def is_form(top: frozenset[str]) -> bool:
    """Is a JSON value with the keys *top* at its top a record of a transcript?"""
    return not top.isdisjoint(_FORMS)


def _leads(path: Path) -> bool:
    return all(isinstance(part, int) or part in _WAY for part in path)


def structure_of(path: Path, text: str, *, is_key: bool, beside: str = "") -> str | None:
    """Say what a string of a record is to its form: None for what people and programs say.

    Args:
        path: Where it stands, from the record's top.
        text: What it says.
        is_key: Whether it is a key.
        beside: What the member ``type`` of the same object says.
    """
    if not path or not _leads(path[:-1]):
        return None
    name = _name(path)
    if is_key:
        return "field" if name in _FIELDS else None
    if _BLOB.fullmatch(text):
        return "blob"
    if name in SEALED or (name == "data" and beside.lower().startswith("redacted")):
        return "encrypted" if _OPAQUE.fullmatch(text) else None
    return _by_name(name, text)


def _by_name(name: str, text: str) -> str | None:
    if _SIGNED.fullmatch(name):
        return "signature" if _OPAQUE.fullmatch(text) or len(text) < _ID_MAX else None
    if _TIMES.fullmatch(name) and _TIME.fullmatch(text):
        return "time"
    if _IDS.fullmatch(name) and _ID.fullmatch(text):
        return "id"
    if name in _WORDS and _WORD.fullmatch(text):
        return "word"
    return None


_ID_MAX: Final = 16


def _name(path: Path) -> str:
    """Return the last key of *path*; that of the list, for what stands in one."""
    for part in reversed(path):
        if isinstance(part, str):
            return part
    return ""


def is_signature(name: str) -> bool:
    """Is *name* that of a member which vouches for the text beside it?"""
    return _SIGNED.fullmatch(name) is not None
