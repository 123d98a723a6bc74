"""A transcript's line as the one text that the detector is measured with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentmem_cli.session import codec

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON

SECRET_NAMED = re.compile(r"(?i)pass|pwd|secret|token|key|auth|credential|cookie|bearer")


def event_text(line: bytes) -> bytes:
    """Return the strings and keys of *line*, decoded, one below another.

    A string that is JSON is decoded too. The value of a secret-named key stands
    behind it, as ``key=value``. What is no JSON is returned as it is.
    """
    try:
        value = codec.loads(line)
    except ValueError:
        return line
    texts: list[str] = []
    _collect(value, texts)
    return "\n".join(texts).encode("utf-8", "surrogatepass")


def _collect(value: JSON, texts: list[str]) -> None:
    if isinstance(value, str):
        inner = _inside(value)
        if inner is None:
            texts.append(value)
        else:
            _collect(inner, texts)
    elif isinstance(value, dict):
        for key, member in value.items():
            if isinstance(member, str) and SECRET_NAMED.search(key) and _inside(member) is None:
                texts.append(f"{key}={member}")
            else:
                texts.append(key)
                _collect(member, texts)
    elif isinstance(value, list):
        for member in value:
            _collect(member, texts)


def _inside(text: str) -> JSON:
    if text[:1] not in {"{", "["}:
        return None
    try:
        return codec.loads(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        return None
