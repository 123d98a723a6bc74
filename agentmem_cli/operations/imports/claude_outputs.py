"""Outputs of tools that were too long for their line and stand in a file of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.images import TEXT

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.claude_files import Outputs
    from agentmem_cli.session.codec import JSON, Object

_MARK: Final = "<persisted-output>"
_SAVED = re.compile(r"saved to:[ \t]*([^\r\n]+)")


class Output(NamedTuple):
    """An output that stands in a file."""

    document: Object
    """The part that refers to it."""
    path: Path | None
    """The file; None: it is not to be had."""
    told: str
    """What the transcript calls it."""
    why: str
    """Why it is not to be had, for a person."""


class Beside(NamedTuple):
    """The outputs of one message; the fields are those of `adapter.Said`."""

    attached: tuple[tuple[Object, Path], ...] = ()
    awaited: tuple[str, ...] = ()

    def with_one(self, output: Output) -> Beside:
        """Return them with one more."""
        if output.path is None:
            return self._replace(awaited=(*self.awaited, output.told))
        return self._replace(attached=(*self.attached, (output.document, output.path)))


def long_output(result: Object, mirror: Object, outputs: Outputs | None) -> Output | None:
    """Put a document into a result whose output stands in a file.

    Args:
        result: The result's part; changed.
        mirror: The line's ``toolUseResult``, if it is about this result alone.
        outputs: Where such files stand; None: nowhere.

    Returns:
        None where the output is all in the line.
    """
    content = result.get("content")
    told = mirror.get("persistedOutputPath")
    if not isinstance(told, str) or not told:
        told = _saved_to(content)
    if told is None or not isinstance(content, list):
        return None
    path, why = (None, "missing") if outputs is None else outputs.find(told)
    document: Object = {"type": "document", "data": {"type": "unknown"}, "media_type": TEXT}
    if path is None:
        document["path"] = told
        document["lost"] = why
    content.append(document)
    return Output(document, path, told, f"the output in {told} {_WHY.get(why, why)}")


_WHY: Final = {
    "missing": "is missing",
    "outside": "stands outside of the session's own folder",
    "large": "is too large",
    "unreadable": "cannot be read",
}


def _saved_to(content: JSON) -> str | None:
    for part in content if isinstance(content, list) else []:
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str) and text.lstrip().startswith(_MARK):
            found = _SAVED.search(text)
            return None if found is None else found[1].strip()
    return None
