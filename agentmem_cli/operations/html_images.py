"""Images on a page: those of a form that only pictures have, as data; all else is told of.

A browser runs nothing that a PNG, a JPEG, a GIF or a WebP says; an SVG is a document
with scripts and addresses in it, so its source is shown as text, folded.
"""

from __future__ import annotations

import base64
import codecs
from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import AgentMemError
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.blobs import bytes_of, is_whole
from agentmem_cli.operations.html_words import BLOCK_CHARACTERS, is_link, link
from agentmem_cli.session.images import TEXT, inline_bytes, referred

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.operations.html_words import Look
    from agentmem_cli.operations.transcript import Attachment
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.directory import DirStore

_FORMS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_RIFF, _WEBP = b"RIFF", b"WEBP"
_PIECE_BYTES: Final = 3 << 16
"""Bytes that are encoded at once: a multiple of three."""

_TEXTS: Final = ("svg", "svg+xml", TEXT)


def form_of(head: bytes) -> str | None:
    """Return the media type that the first bytes of a picture tell; None: of none shown here."""
    for mark, media in _FORMS:
        if head.startswith(mark):
            return media
    return "image/webp" if head[:4] == _RIFF and head[8:12] == _WEBP else None


def attachment(store: DirStore, look: Look, part: Attachment) -> Iterator[str]:
    """Yield an image or another attachment as HTML."""
    data = part.data
    name = referred(data)
    told = part.media if part.size is None else f"{part.media}, {look.size(part.size)}"
    if part.missing:
        yield _line(look, f"{part.media}, missing")
    elif name is not None:
        yield from _blob(store, look, name, told)
    elif (held := inline_bytes(data)) is not None:
        is_text = part.media.endswith(tuple(f"/{kind}" for kind in _TEXTS))
        yield from _shown(look, [held], told, is_text=is_text)
    else:
        yield _line(look, told, _address(data))


def _blob(store: DirStore, look: Look, name: str, told: str) -> Iterator[str]:
    try:
        if not is_whole(store, name):
            yield _line(look, f"{told}, its bytes are not those that its name says")
            return
        pieces = bytes_of(store, name)
        first = next(pieces, b"")
    except (OSError, ValueError, AgentMemError) as error:
        yield _line(look, f"{told}, cannot be read: {error}")
        return
    is_text = name.endswith(tuple(f".{kind}" for kind in _TEXTS))
    yield from _shown(look, _chain(first, pieces), told, is_text=is_text)


def _chain(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _shown(look: Look, pieces: Iterable[bytes], told: str, *, is_text: bool) -> Iterator[str]:
    """Yield bytes as a picture, as text, or as a line about them."""
    rest = iter(pieces)
    first = next(rest, b"")
    media = form_of(first)
    if media is not None:
        # Why the form and not the word: what a session says of it may be anything.
        yield f'<figure><img decoding="async" alt="{look.line(told)}" src="data:{media};base64,'
        yield from _encoded(_chain(first, rest))
        yield f'"><figcaption>{look.line(told)}</figcaption></figure>\n'
    elif is_text:
        yield from look.fold("source", look.line(told), _text(look, _chain(first, rest)))
    else:
        yield _line(look, told)


def _encoded(pieces: Iterable[bytes]) -> Iterator[str]:
    left = b""
    for piece in pieces:
        held = left + piece
        whole = len(held) - len(held) % 3
        for start in range(0, whole, _PIECE_BYTES):
            yield base64.b64encode(held[start : min(whole, start + _PIECE_BYTES)]).decode()
        left = held[whole:]
    yield base64.b64encode(left).decode()


def _text(look: Look, pieces: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    held = ""
    for piece in pieces:
        held += decoder.decode(piece)
        end = held.rfind("\n")
        if end >= BLOCK_CHARACTERS:
            yield from look.plain(held[:end])
            held = held[end + 1 :]
        elif len(held) > CHUNK_BYTES:
            yield from look.plain(held)
            held = ""
    yield from look.plain(held + decoder.decode(b"", final=True))


def _line(look: Look, told: str, address: str | None = None) -> str:
    shown = "" if address is None else f" {_linked(look, address)}"
    return f'<p class="attached">[{look.line(told)}]{shown}</p>\n'


def _linked(look: Look, address: str) -> str:
    shown = look.line(address)
    return link(look.one_line(address), shown) if is_link(address) else shown


def _address(data: JSON) -> str | None:
    value = data.get("value") if isinstance(data, dict) else None
    is_address = isinstance(data, dict) and data.get("type") in ("url", "fileId")
    return value if is_address and isinstance(value, str) else None
