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


UNKNOWN: Final = "unknown"
"""The name of a tool that a source does not name."""


class Unusable(ValueError):
    """A foreign record has a shape that nothing can be made of; the text says why."""


def rest(value: Object, known: Container[str]) -> Object:
    """Return the fields of *value* that are not *known*, in their order."""
    return {key: item for key, item in value.items() if key not in known}


def tool_name(name: JSON) -> str:
    """Return a tool's *name*, or what stands for one that the source does not tell.

    A name may not be empty, nor a call's id: other readers refuse the whole log.
    """
    return name if isinstance(name, str) and name else UNKNOWN


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


_BASE64: Final = ";base64,"


def image_of_url(url: JSON, extra: Object) -> Object:
    """Return an image part of an address; a base64 ``data:`` address becomes the image's data.

    Args:
        url: The address; anything but a text gives an image without data.
        extra: Further fields, kept. Where the address began otherwise than
            its type alone tells, its beginning is kept as ``data_prefix``.
    """
    if not isinstance(url, str):
        return {"type": "image", "data": {"type": "unknown"}, **extra}
    # Why within the first characters: the rest is as long as the image.
    comma = url.find(_BASE64, 0, 200)
    if not url.startswith("data:") or comma < 0:
        return {"type": "image", "data": {"type": "url", "value": url}, **extra}
    mime = url[5:comma]
    prefix = url[: comma + len(_BASE64)]
    part = image_part(url[len(prefix) :], mime, extra)
    if prefix != data_prefix(part):
        part["data_prefix"] = prefix
    return part


def data_prefix(part: Object) -> str:
    """Return how the ``data:`` address of a part begins, by what the part says of its type."""
    word, mime = part.get("media_type"), part.get("mimeType")
    if isinstance(word, str):
        mime = next((mime for mime, known in _MEDIA.items() if known == word), None)
    return f"data:{mime if isinstance(mime, str) else ''}{_BASE64}"
