"""Codex rollouts, for the tests of their import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.operations.imports.adapter import Kept, Noted, Said, Tally
from agentmem_cli.operations.imports.codex_notes import Around
from agentmem_cli.operations.imports.codex_reading import Reading
from agentmem_cli.operations.imports.foreign import read_lines
from agentmem_cli.session.codec import dumps
from tests.unit.imports.building import lines, stamp

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Item
    from agentmem_cli.session.codec import JSON, Object

THREAD = "01900000-0000-7000-8000-00000000000a"
CHILD = "01900000-0000-7000-8000-00000000000b"
FORK = "01900000-0000-7000-8000-00000000000c"


def line(kind: str, second: int | None, payload: Object) -> bytes:
    value: Object = {} if second is None else {"timestamp": stamp(second)}
    return dumps({**value, "type": kind, "payload": payload})


def meta(thread: str = THREAD, second: int = 0, **more: JSON) -> bytes:
    payload: Object = {"id": thread, "timestamp": stamp(second), "cwd": "/home/ada/tides"}
    return line("session_meta", second, {**payload, "model_provider": "openai", **more})


def item(second: int | None, kind: str, **more: JSON) -> bytes:
    return line("response_item", second, {"type": kind, **more})


def event(second: int | None, kind: str, **more: JSON) -> bytes:
    return line("event_msg", second, {"type": kind, **more})


def prompt(second: int, *texts: str, role: str = "user") -> bytes:
    content: list[JSON] = [{"type": "input_text", "text": text} for text in texts]
    return item(second, "message", role=role, content=content)


def answer(second: int, text: str, **more: JSON) -> bytes:
    content: list[JSON] = [{"type": "output_text", "text": text}]
    return item(second, "message", role="assistant", content=content, **more)


def call(second: int, id_: str | None, name: str = "shell", arguments: JSON = "{}") -> bytes:
    more: Object = {} if id_ is None else {"call_id": id_}
    return item(second, "function_call", name=name, arguments=arguments, **more)


def output(second: int, id_: str | None, text: JSON) -> bytes:
    more: Object = {} if id_ is None else {"call_id": id_}
    return item(second, "function_call_output", output=text, **more)


def read(*records: bytes) -> tuple[list[Item], Tally]:
    tally = Tally()
    reading = Reading(tally, Around())
    found = reading.items(read_lines([lines(*records)], lambda _: True, tally))
    return list(found), tally


def said(*records: bytes) -> list[Said]:
    return [each for each in read(*records)[0] if isinstance(each, Said)]


def noted(*records: bytes) -> list[Noted]:
    return [each for each in read(*records)[0] if isinstance(each, Noted)]


def kept(*records: bytes) -> list[tuple[str, JSON]]:
    return [(each.key, each.value) for each in read(*records)[0] if isinstance(each, Kept)]


def parts_of(each: Said) -> list[Object]:
    """The parts of a message."""
    content = each.message["content"]
    assert isinstance(content, list)
    return [part for part in content if isinstance(part, dict)]


def result_of(each: Said) -> Object:
    """The one result that a message is."""
    (result,) = parts_of(each)
    assert result["type"] == "toolresult"
    return result


def spoken(*records: bytes) -> list[str]:
    """Who said what: the role's first letter, then the texts; calls and results by their ids."""
    told = []
    for each in said(*records):
        who = "plugin" if each.author is not None else str(each.message["role"])
        told.append(f"{who[0]}:{_words(each.message['content'])}")
    return told


def _words(content: JSON) -> str:
    if not isinstance(content, list):
        return str(content)
    words = []
    for part in content:
        assert isinstance(part, dict)
        match part["type"]:
            case "toolcall":
                words.append(f"->{part['id']}")
            case "toolresult":
                words.append(f"<-{part['call']}")
            case "reasoning":
                words.append("?")
            case _:
                words.append(str(part.get("text", part["type"])))
    return " ".join(words)


def rollout(home: Path, thread: str, *records: bytes, day: str = "05") -> Path:
    """Put a rollout into the tree of *home*."""
    name = f"rollout-2026-05-{day}T10-00-00-{thread}.jsonl"
    path = home / "sessions" / "2026" / "05" / day / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lines(*records))
    return path
