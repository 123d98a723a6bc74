"""What the parts of a message say: texts, and media with their bytes or address."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.codec import dumps
from agentmem_cli.session.images import ATTACHMENTS
from agentmem_cli.session.message import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.session.codec import JSON, Object

_MIME: Final = {
    "image": {"svg": "image/svg+xml"},
    "audio": {"mp3": "audio/mpeg"},
    "video": {},
    "document": {
        "pdf": "application/pdf",
        "txt": "text/plain",
        "rtf": "application/rtf",
        "html": "text/html",
        "css": "text/css",
        "markdown": "text/markdown",
        "csv": "text/csv",
        "xml": "text/xml",
        "javascript": "text/javascript",
        "python": "text/x-python",
    },
}
"""The MIME types of words for media types that are not simply ``kind/word``."""

_PLAIN: Final = "text/"

_WEB: Final = ("http://", "https://")
"""How the addresses begin that providers fetch."""


class Media(NamedTuple):
    """An attachment."""

    kind: str
    """image, audio, video or document."""
    word: str
    """Its media type as the part says it; empty: it does not."""
    mime: str
    """Its MIME type; empty where the part does not say."""
    base64: str | None
    """Its bytes, never none; None where there is an address, or nothing."""
    url: str | None
    """Its address on the web."""
    file: str | None
    """Its id among a provider's files."""
    part: Object
    """The part."""

    @property
    def words(self) -> str:
        """What is said of it where it cannot be shown."""
        name = self.mime or self.kind
        known = self.base64 is not None or self.url is not None or self.file is not None
        return f"[{name}]" if known else f"[{name}: its data is missing]"

    @property
    def text(self) -> str | None:
        """What it says, where it is a document of plain text."""
        if self.kind != "document" or self.base64 is None or not self.mime.startswith(_PLAIN):
            return None
        return base64.b64decode(self.base64).decode("utf-8", "replace")


def is_blank(text: JSON) -> bool:
    """Whether *text* is no text, or one that providers refuse as empty."""
    return not isinstance(text, str) or not text.strip()


def text_of(value: Object) -> str:
    """Return all texts of the message *value*, joined by line ends."""
    texts = (part.get("text") for part in parts_of(value) if part.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def media_of(part: Object) -> Media | None:
    """Return the attachment that *part* is; None: it is none."""
    kind = part.get("type")
    if not isinstance(kind, str) or kind not in ATTACHMENTS:
        return None
    word = part.get("media_type")
    word = word if isinstance(word, str) else ""
    told = part.get("mimeType")
    mime = _mime(kind, word) or (told if isinstance(told, str) else "")
    data = part.get("data")
    form, value = (data.get("type"), data.get("value")) if isinstance(data, dict) else (None, None)
    if form == "raw" and isinstance(value, list):
        return Media(kind, word, mime, _of_numbers(value), None, None, part)
    if not isinstance(value, str):
        return Media(kind, word, mime, None, None, None, part)
    if form == "base64":
        return Media(kind, word, mime, value if _decodes(value) else None, None, None, part)
    web = value if form == "url" and value.lower().startswith(_WEB) else None
    return Media(kind, word, mime, None, web, value if form == "fileId" else None, part)


def _mime(kind: str, word: str) -> str:
    if not word or "/" in word:
        return word
    return _MIME[kind].get(word) or f"{'application' if kind == 'document' else kind}/{word}"


def _of_numbers(numbers: Sequence[JSON]) -> str | None:
    if not numbers or not all(type(each) is int and 0 <= each <= 255 for each in numbers):  # noqa: PLR2004
        return None
    return base64.b64encode(bytes(each for each in numbers if isinstance(each, int))).decode()


def _decodes(text: str) -> bool:
    try:
        return bool(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False


def result_parts(part: Object) -> Iterator[str | Media]:
    """Yield what a tool's result says: texts that are not blank, and attachments.

    A document of plain text is its text; whatever else there is comes as JSON.
    """
    content = part.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for item in content if isinstance(content, list) else []:
        if not isinstance(item, dict):
            yield dumps(item).decode("utf-8", "replace")
        elif item.get("type") == "text":
            text = item.get("text")
            if isinstance(text, str) and not is_blank(text):
                yield text
        elif (media := media_of(item)) is not None:
            text = media.text
            yield media if text is None else text
        else:
            told = item["value"] if item.get("type") == "json" and "value" in item else item
            yield dumps(told).decode("utf-8", "replace")


def tool_name(call: Object) -> str:
    """Return the name of the tool that *call* calls; empty where it says none."""
    function = call.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else ""


def arguments_of(call: Object) -> JSON:
    """Return the arguments of *call*; an empty object where there are none."""
    function = call.get("function")
    return function.get("arguments", {}) if isinstance(function, dict) else {}
