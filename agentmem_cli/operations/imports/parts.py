"""Message parts, made of what foreign transcripts hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Container

    from agentmem_cli.session.codec import JSON, Object

_MEDIA: Final = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/heic": "heic",
    "image/heif": "heif",
    "image/svg+xml": "svg",
}
"""MIME types and the words that a message's image part has for them."""


class Unusable(ValueError):
    """A foreign record has a shape that nothing can be made of; the text says why."""


def rest(value: Object, known: Container[str]) -> Object:
    """Return the fields of *value* that are not *known*, in their order."""
    return {key: item for key, item in value.items() if key not in known}


def text_part(text: str) -> Object:
    """Return a text part."""
    return {"type": "text", "text": text}


def image_part(data: JSON, mime: JSON, extra: Object) -> Object:
    """Return an image part.

    Args:
        data: Base64 text; anything else gives an image without data.
        mime: Its MIME type. One that the format has no word for is kept as ``mimeType``.
        extra: Further fields, kept.
    """
    part: Object = {"type": "image"}
    if isinstance(data, str):
        part["data"] = {"type": "base64", "value": data}
    else:
        part["data"] = {"type": "unknown"}
    word = _MEDIA.get(mime.lower()) if isinstance(mime, str) else None
    if word is not None:
        part["media_type"] = word
    elif mime is not None:
        part["mimeType"] = mime
    part.update(extra)
    return part


def readable(content: JSON) -> bool:
    """Whether *content* is a text, or parts of which one holds a text, that is not empty."""
    if isinstance(content, str):
        return bool(content)
    if not isinstance(content, list):
        return False
    return any(
        isinstance(part, dict) and isinstance(text := part.get("text"), str) and text
        for part in content
    )
