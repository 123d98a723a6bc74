"""Outputs of tools that were too long for their line and stand in a file of their own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem_cli.session.images import TEXT

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.operations.imports.claude_files import Outputs
    from agentmem_cli.session.codec import JSON, Object

_MARK: Final = "<persisted-output>"
_SAVED = re.compile(r"saved to:[ \t]*([^\r\n]+)")


def long_output(
    result: Object, mirror: Object, outputs: Outputs | None
) -> tuple[Object, Path | None, str] | None:
    """Put a document into a result whose output stands in a file.

    Args:
        result: The result's part; changed.
        mirror: The line's ``toolUseResult``, if it is about this result alone.
        outputs: Where such files stand; None: nowhere.

    Returns:
        The document, the file (None: it is not there) and why it is not; or
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
    return document, path, f"the output in {told} {_WHY.get(why, why)}"


_WHY: Final = {
    "missing": "is missing",
    "outside": "stands outside of the session's own folder",
    "large": "is too large",
}


def _saved_to(content: JSON) -> str | None:
    for part in content if isinstance(content, list) else []:
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str) and text.lstrip().startswith(_MARK):
            found = _SAVED.search(text)
            return None if found is None else found[1].strip()
    return None
