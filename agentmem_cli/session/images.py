"""Images and other attachments: bytes as blobs beside the log, a reference in the message.

Source: DESIGN.md, "Blobs".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from agentmem_cli.session.codec import loads_object
from agentmem_cli.session.message import Message, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.codec import JSON, Object

BLOB_FOLDER: Final = "blobs/"
"""Where blobs stand among a session's files."""

REFERENCE: Final = "blob:"
"""How the address of a blob begins."""

TEXT: Final = "txt"
"""The media type, and the extension of the blob, of a tool's long output kept as a text."""

_EXTENSIONS: Final = {"jpeg": "jpg", TEXT: TEXT}
_AS_THEY_ARE: Final = frozenset({"png", "gif", "webp", "heic", "heif", "svg"})

# Why no set: what is looked up comes from JSON, and an array has no hash.
ATTACHMENTS: Final = ("image", "document", "audio", "video")
"""The types of parts that can refer to a blob. Only an image's data is made one on saving."""


class BlobFiles(Protocol):
    """As much of a session's files as blobs need."""

    def read_file(self, name: str) -> bytes:
        """Return a file's bytes; ``FileNotFoundError`` without one."""
        ...

    def write_file(self, name: str, data: bytes) -> None:
        """Write a file whole."""
        ...


class BadBlob(ValueError):
    """A blob's bytes are not those that its name says."""


def blob_name(data: bytes, media_type: JSON = None) -> str:
    """Return the name of the blob of *data*: SHA-256 in hex, an extension by the media type."""
    import hashlib

    known = isinstance(media_type, str) and media_type in _AS_THEY_ARE
    extension = media_type if known else _EXTENSIONS.get(str(media_type), "bin")
    return f"{hashlib.sha256(data).hexdigest()}.{extension}"


def put_blob(files: BlobFiles, data: bytes, media_type: JSON = None) -> str:
    """Keep *data* once per content; return the blob's name.

    A blob that stands there with other bytes (damage) is written anew.
    """
    name = blob_name(data, media_type)
    try:
        if files.read_file(BLOB_FOLDER + name) == data:
            return name
    except FileNotFoundError:
        pass
    files.write_file(BLOB_FOLDER + name, data)
    return name


def get_blob(files: BlobFiles, name: str) -> bytes:
    """Return a blob's bytes, checked against its name.

    Raises:
        FileNotFoundError: It is not there.
        BadBlob: Its bytes are not those that its name says.
        ValueError: *name* is no blob's name.
    """
    data = files.read_file(BLOB_FOLDER + name)
    check_blob(name, data)
    return data


def check_blob(name: str, data: bytes) -> None:
    """Raise `BadBlob` unless *data* is what the blob's *name* says."""
    import hashlib

    if hashlib.sha256(data).hexdigest() != name.partition(".")[0]:
        msg = f"blob {name}: its bytes are not those that its name says"
        raise BadBlob(msg)


def attachment_parts(value: Object) -> Iterator[Object]:
    """Yield the parts of the message *value* that are `ATTACHMENTS`, those in results too."""
    for part in parts_of(value):
        kind = part.get("type")
        if kind in ATTACHMENTS:
            yield part
        elif kind == "toolresult":
            for inner in parts_of(part):
                if inner.get("type") in ATTACHMENTS:
                    yield inner


def image_parts(value: Object) -> Iterator[Object]:
    """Yield the image parts of the message *value*, those inside tool results too."""
    return (part for part in attachment_parts(value) if part.get("type") == "image")


def blob_names(value: Object) -> list[str]:
    """Return the names of the blobs that the message *value* refers to."""
    datas = (part.get("data") for part in attachment_parts(value))
    return [name for data in datas if (name := referred(data)) is not None]


def referred(data: JSON) -> str | None:
    """Return the blob's name that an attachment's *data* refers to; None: it is no reference."""
    if not isinstance(data, dict) or data.get("type") != "url":
        return None
    address = data.get("value")
    if not isinstance(address, str) or not address.startswith(REFERENCE):
        return None
    return address[len(REFERENCE) :]


def store_images(message: Message, files: BlobFiles) -> Message:
    """Return *message* with its images' data kept as blobs of *files*.

    Base64 that does not decode to bytes that encode to the same text again
    stays inline, so that nothing is lost.

    Raises:
        OSError: A blob could not be written.
    """
    if b'"image"' not in message.raw:
        return message
    value = loads_object(message.raw)
    changed = False
    for part in image_parts(value):
        data = inline_bytes(part.get("data"))
        if data is not None:
            name = put_blob(files, data, part.get("media_type"))
            part["data"] = {"type": "url", "value": REFERENCE + name}
            changed = True
    return Message.of(value) if changed else message


def load_images(message: Message, files: BlobFiles) -> Message:
    """Return *message* with its blobs' data put back as base64.

    Raises:
        FileNotFoundError: A blob is missing.
        BadBlob: A blob's bytes are not those that its name says.
        OSError: A blob cannot be read.
        ValueError: A reference names no blob.
            The first failure is raised, after all were tried.
    """
    restored, failures = put_back(message, files)
    if failures:
        raise failures[0]
    return restored


def put_back(
    message: Message, files: BlobFiles, *, keep_lost: bool = False
) -> tuple[Message, list[Exception]]:
    """Return *message* with its blobs' data put back, and what could not be.

    The data of a lost one becomes ``{"type": "unknown"}``, or with *keep_lost*
    stays the reference that it is.
    """
    if REFERENCE.encode() not in message.raw:
        return message, []
    import base64

    value = loads_object(message.raw)
    failures: list[Exception] = []
    changed = False
    for part in attachment_parts(value):
        name = referred(part.get("data"))
        if name is None:
            continue
        changed = True
        try:
            data = get_blob(files, name)
        except (OSError, ValueError) as error:
            failures.append(error)
            if not keep_lost:
                part["data"] = {"type": "unknown"}
        else:
            part["data"] = {"type": "base64", "value": base64.b64encode(data).decode()}
    return (Message.of(value) if changed else message), failures


def inline_bytes(data: JSON) -> bytes | None:
    """Return the bytes that stand in an attachment's *data*; None: it refers to them.

    None too where base64 would not encode to the same text again.
    """
    if not isinstance(data, dict):
        return None
    kind, value = data.get("type"), data.get("value")
    if kind == "base64" and isinstance(value, str):
        return decode_base64(value)
    if kind == "raw" and isinstance(value, list):
        numbers = [item for item in value if type(item) is int and 0 <= item <= 255]  # noqa: PLR2004
        return bytes(numbers) if len(numbers) == len(value) else None
    return None


def decode_base64(text: str) -> bytes | None:
    """Return the bytes of *text*; None where they would not encode to the same text again."""
    import base64
    import binascii

    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError):
        return None
    # Why only the end: strictly decoded, all before it has one spelling.
    groups, over = divmod(len(data), 3)
    end = base64.b64encode(data[-(over or 3) :]).decode()
    same = len(text) == 4 * (groups + bool(over)) and text.endswith(end)
    return data if same else None
