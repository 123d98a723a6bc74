"""What of a rollout is no message but matters for reading: asides and saved values."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.imports.adapter import CWD, MAIN, Kept, Noted, Tally
from agentmem_cli.operations.imports.codex_tree import header_of, is_header
from agentmem_cli.operations.imports.foreign import ForeignFile, read_lines
from agentmem_cli.operations.imports.naming import session_name
from agentmem_cli.operations.imports.parts import rest
from agentmem_cli.operations.imports.places import BY_LINE
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.keys import FORKED_FROM

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Item, Line
    from agentmem_cli.session.codec import JSON, Object

SMALL_BYTES: Final = 16 << 10
"""Bytes of JSON of a compaction's new history, or of one sealed up, that an aside keeps."""

_SKIPPED_MAX: Final = 64
"""Records of the parent that a fork may have left out in one place."""

_CWD = re.compile(r"<cwd>\s*(.*?)\s*</cwd>", re.DOTALL)


class Copied(NamedTuple):
    """How much of its parent a fork begins with."""

    records: int
    """Records that were copied, without headers."""
    line: int
    """The parent's line up to which it was copied; 0: nothing was."""
    own_line: int
    """The fork's line up to which it is a copy."""
    messages: int = 0
    """The messages that these lines of the fork are."""


class Around(NamedTuple):
    """What lies around a rollout."""

    copied: Copied | None = None
    """What it copied of the rollout it was forked from, where that is at hand."""
    double_of: str | None = None
    """The thread that another, fuller rollout holds too."""


def header_items(line: int, time: int | None, item: Object, around: Around) -> list[Item]:
    """Return what a header tells: the folder, the fork, the parent.

    Args:
        line: The header's line.
        time: Its time, ms since 1970-01-01 UTC; None: it has none.
        item: The header.
        around: What lies around the rollout.
    """
    origin = header_of(item)
    found: list[Item] = []
    cwd = item.get("cwd")
    if isinstance(cwd, str) and cwd:
        found.append(Kept(line, time, CWD, cwd, origin.thread))
    if origin.parent is not None:
        told = _child(item, origin.parent)
        told.update(part_of=session_name("codex", origin.parent), agent=origin.thread)
        found.append(Noted(line, time, "import.child", told, origin.thread))
    if around.double_of is not None:
        double: Object = {"thread": around.double_of}
        found.append(Noted(line, time, "import.duplicate", double, origin.thread))
    if origin.forked_from is not None:
        session = session_name("codex", origin.forked_from)
        fork: Object = {"parent": origin.forked_from, "session": session}
        place = ""
        if around.copied is not None:
            copied = around.copied
            fork["at"], fork["records"] = copied.messages, copied.records
            fork["text"] = f"forked from {session} at {copied.messages}"
            place = f"{BY_LINE}{copied.line}"
        found.append(Noted(line, time, "import.fork", fork, origin.thread))
        value: Object = {"session": session, "agent": MAIN}
        if around.copied is not None:
            value["at"] = around.copied.messages
        found.append(Kept(line, time, FORKED_FROM, value, place))
    return found


def _child(item: Object, parent: str) -> Object:
    told: Object = {"parent": parent}
    spawn: JSON = item.get("source")
    for key in ("subagent", "thread_spawn"):
        spawn = spawn.get(key) if isinstance(spawn, dict) else None
    for source in (spawn, item):
        if isinstance(source, dict):
            for key in ("agent_nickname", "agent_role", "agent_path", "depth"):
                if source.get(key) is not None:
                    told[key] = source[key]
    return told


def copied_from(parent: Path, fork: Path) -> Copied:
    """Compare the beginnings of two rollouts.

    A fork writes its own times; what is compared is what the records hold.
    """
    records = line = own_line = 0
    try:
        with ForeignFile(parent) as old, ForeignFile(fork) as new:
            originals = _contents(old)
            for number, content in _contents(new):
                window = [*islice(originals, _SKIPPED_MAX)]
                found = next((i for i, each in enumerate(window) if each[1] == content), None)
                if found is None:
                    break
                line, own_line = window[found][0], number
                originals = chain(window[found + 1 :], originals)
                records += 1
    except (AgentMemError, OSError):
        # Why: a note of where a fork left is no reason to refuse the fork.
        return Copied(records, line, own_line)
    return Copied(records, line, own_line)


def _contents(source: ForeignFile) -> Iterator[tuple[int, Object]]:
    """Yield every record but headers: its line, and what it holds besides its time."""
    lines: Iterator[Line] = read_lines(source.chunks(), lambda _: False, Tally())
    for line in lines:
        value = line.value
        if value.get("type") != "session_meta" and not is_header(value):
            yield line.number, rest(value, ("timestamp", "ordinal"))


def note_of(item: Object, kind: str) -> Object:
    """Return an aside's value: the record's fields, but for what is long and only repeats.

    Args:
        item: The record's payload.
        kind: Its type.
    """
    told = rest(item, ("type",))
    for field in ("replacement_history", "encrypted_content"):
        value = told.get(field)
        if value is None:
            continue
        size = len(dumps(value))
        if size > SMALL_BYTES:
            # Why: all of it stands in the source, and most of it in the conversation.
            told[field] = {"bytes": size, "items": len(value) if isinstance(value, list) else 1}
    if kind not in ("compacted", "turn_aborted", "thread_rolled_back", "error"):
        told = {"event": kind, **told}
    return told


def cwd_told(parts: list[JSON]) -> str | None:
    """Return the folder that an environment's description names."""
    for part in parts:
        text = part.get("text") if isinstance(part, dict) else None
        found = _CWD.search(text) if isinstance(text, str) else None
        if found is not None and found[1]:
            return found[1]
    return None
