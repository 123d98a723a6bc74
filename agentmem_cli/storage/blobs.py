"""Attachments, named by what they hold."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from agentmem_cli.storage.layout import BLOBS

DIGEST_HEX: Final = 64
"""Hex digits of a SHA-256."""

_HEX = frozenset("0123456789abcdef")


def blob_name(data: bytes, extension: str) -> str:
    """Return the name of the blob of *data*: its SHA-256 in hex, a dot, *extension*.

    The name as it stands after ``blob:`` in a record; `blob_file` makes the
    file's name of it.
    """
    return f"{sha256(data).hexdigest()}.{extension}"


def blob_file(name: str) -> str:
    """Return the file's name in a store for the blob *name*."""
    return BLOBS + name


def blob_digest(name: str) -> str | None:
    """Return the digest that a blob's *name*, or its file's name, begins with.

    None where it has none: then it is no blob of this format.
    """
    last = name.removeprefix(BLOBS)
    digest, dot, extension = last.partition(".")
    sound = len(digest) == DIGEST_HEX and _HEX.issuperset(digest) and dot and extension
    return digest if sound and "/" not in last else None


def is_blob(name: str, data: bytes) -> bool:
    """Return whether *data* is what a blob of this *name* must hold."""
    return blob_digest(name) == sha256(data).hexdigest()
