"""What a log says is lost: side records of `keys.LOST`, and the blobs that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.session.images import blob_names
from agentmem_cli.session.keys import LOST
from agentmem_cli.session.mending import BY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.lines import Line


class NamedBlobs:
    """The blobs that the records of a log name, and those that it says are lost."""

    def __init__(self) -> None:
        """Begin with none."""
        self.names: dict[str, None] = {}
        self.noted: set[str] = set()

    def look(self, line: Line, _: LogFold) -> None:
        """Take one record."""
        for message in messages_in(line.fields):
            self.names.update(dict.fromkeys(blob_names(message)))
        noted = lost_in(line.fields)
        if noted is not None:
            self.noted.update(noted)


def messages_in(fields: Object) -> Iterator[Object]:
    """Yield the messages that a record holds."""
    kind = fields.get("type")
    state = fields.get("state")
    if kind == "push":
        entries = fields.get("entries")
    elif kind == "splice":
        entries = fields.get("with")
    else:
        entries = state.get("entries") if kind == "reset" and isinstance(state, dict) else None
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and isinstance(message := entry.get("message"), dict):
            yield message


def is_repair(by: JSON) -> bool:
    """Whether a record's author is a repair."""
    return by == BY.to_value()


def lost_in(fields: Object) -> list[str] | None:
    """Return the blobs that a record says are lost; None: it says nothing of anything lost."""
    if fields.get("type") == "reset":
        return [] if is_repair(fields.get("by")) else None
    aside = fields.get("aside")
    if fields.get("type") != "aside" or not isinstance(aside, dict) or aside.get("kind") != LOST:
        return None
    value = aside.get("value")
    blobs = value.get("blobs") if isinstance(value, dict) else None
    return [name for name in blobs if isinstance(name, str)] if isinstance(blobs, list) else []
