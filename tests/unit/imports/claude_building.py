"""Claude Code transcripts, made up, for the tests of their import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agentmem_cli.operations.imports.adapter import MAIN, Kept, Noted, Said, Tally
from agentmem_cli.operations.imports.claude import ClaudeStream
from agentmem_cli.operations.imports.claude_reading import Own
from agentmem_cli.operations.imports.foreign import read_lines
from agentmem_cli.session.codec import dumps
from tests.unit.imports.building import lines, stamp

if TYPE_CHECKING:
    from agentmem_cli.operations.imports.adapter import Item
    from agentmem_cli.session.codec import JSON, Object

SID = "0c1a0de0-0000-4000-8000-000000000001"
OTHER = "0c1a0de0-0000-4000-8000-000000000002"
CWD_OF = "/home/ada/tides"


def record(kind: str, uuid: str, parent: str | None, second: JSON = 1, **more: JSON) -> bytes:
    value: Object = {
        "parentUuid": parent,
        "isSidechain": False,
        "cwd": CWD_OF,
        "sessionId": SID,
        "type": kind,
        "uuid": uuid,
        "timestamp": stamp(second if isinstance(second, int) else 0),
    }
    return dumps({**value, **more})


def prompt(uuid: str, parent: str | None, content: JSON, second: JSON = 1, **more: JSON) -> bytes:
    message: Object = {"role": "user", "content": content}
    return record("user", uuid, parent, second, message=message, **more)


def result(
    uuid: str, parent: str | None, call: str | None, content: JSON, second: JSON = 1, **more: JSON
) -> bytes:
    block: Object = {"type": "tool_result", "content": content}
    if call is not None:
        block["tool_use_id"] = call
    return prompt(uuid, parent, [block], second, **more)


def piece(
    uuid: str, parent: str | None, id_: str | None, *blocks: JSON, second: JSON = 1, **more: JSON
) -> bytes:
    """A line of a reply; ``usage``, ``stop_reason`` and ``model`` go into its message."""
    message: Object = {"role": "assistant", "type": "message", "model": "claude-x"}
    if id_ is not None:
        message["id"] = id_
    for key in ("usage", "stop_reason", "model"):
        if key in more:
            message[key] = more.pop(key)
    message["content"] = [*blocks]
    return record("assistant", uuid, parent, second, message=message, **more)


def text(words: str) -> Object:
    return {"type": "text", "text": words}


def call(id_: str | None, name: str = "Bash", **arguments: JSON) -> Object:
    block: Object = {"type": "tool_use", "name": name, "input": arguments}
    return block if id_ is None else {**block, "id": id_}


def read(*records: bytes) -> tuple[list[Item], Tally]:
    """What a main transcript of these lines gives, and what was counted."""
    stream = ClaudeStream(Path("x.jsonl"), Own(MAIN, SID, None), "x.jsonl")
    tally = Tally()
    found = stream.items(read_lines([lines(*records)], stream.accepts, tally), tally)
    return list(found), tally


def said(*records: bytes) -> list[Said]:
    return [item for item in read(*records)[0] if isinstance(item, Said)]


def noted(*records: bytes) -> list[tuple[int, str, Object]]:
    """The asides: line, kind, value."""
    found = read(*records)[0]
    return [(item.line, item.kind, item.value) for item in found if isinstance(item, Noted)]


def kept(*records: bytes) -> list[tuple[str, JSON]]:
    return [(item.key, item.value) for item in read(*records)[0] if isinstance(item, Kept)]


def parts(item: Said) -> list[Object]:
    """A message's parts."""
    content = item.message["content"]
    assert isinstance(content, list)
    return [part for part in content if isinstance(part, dict)]


def words(item: Said) -> list[JSON]:
    """The texts of a message's parts; of other parts their type."""
    return [part.get("text", part.get("type")) for part in parts(item)]
