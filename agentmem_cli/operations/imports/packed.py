"""A source that zstd has compressed, read as a stream.

What is kept of such a source is its own compressed bytes; only the reading
unpacks, a chunk at a time. The library is an optional extra, and is imported
only for a source that needs it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, Protocol

from agentmem_cli.errors import AgentMemError
from agentmem_cli.limits import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_MAGIC: Final = b"\x28\xb5\x2f\xfd"
"""How a zstd frame begins (RFC 8878, section 3.1.1)."""

_SKIPPED: Final = b"\x2a\x4d\x18"
"""How a frame that holds nothing to unpack goes on behind a first byte of 0x50 to 0x5f
(section 3.1.2); tools put notes of their own into such."""

HEAD_BYTES: Final = 4
"""Bytes that `is_packed` needs."""

_PIECE_BYTES: Final = 1 << 10
"""Bytes unpacked in one step. What is made in the step that fails is lost, a step costs little."""


def is_packed(head: bytes) -> bool:
    """Whether a file that begins with *head* is compressed with zstd."""
    return head.startswith(_MAGIC) or (
        len(head) >= HEAD_BYTES and head[0] >> 4 == 5 and head.startswith(_SKIPPED, 1)  # noqa: PLR2004
    )


class Unpacked:
    """The bytes of zstd frames, one after another."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        """Unpack *chunks*."""
        self._chunks = iter(chunks)
        self.why: str | None = None
        """Why the reading stopped before the end; None: it did not."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield what can be unpacked, at most `CHUNK_BYTES` at once.

        Raises:
            AgentMemError: The library is not installed.
        """
        held: list[bytes] = []
        size = 0
        for piece in self._pieces():
            held.append(piece)
            size += len(piece)
            if size > CHUNK_BYTES - _PIECE_BYTES:
                yield b"".join(held)
                held.clear()
                size = 0
        if held:
            yield b"".join(held)

    def _pieces(self) -> Iterator[bytes]:
        fresh, error = _library()
        unpacker = fresh()
        begun = False
        for chunk in self._chunks:
            data = chunk
            while data or not (unpacker.needs_input or unpacker.eof):
                if unpacker.eof:
                    unpacker = fresh()
                try:
                    made = unpacker.decompress(data, _PIECE_BYTES)
                except error as broken:
                    self.why = f"zstd: {broken}"
                    return
                begun = True
                data = unpacker.unused_data if unpacker.eof else b""
                if made:
                    yield made
        if begun and not unpacker.eof:
            self.why = "zstd: the last frame is cut off"


class _Unpacker(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


def packed(data: bytes) -> bytes:
    """Return *data* as one zstd frame.

    Raises:
        AgentMemError: The library is not installed.
    """
    packer = compressor()
    return packer.compress(data) + packer.flush()


def compressor() -> _Packer:
    """Return what makes one zstd frame of bytes that come in pieces.

    Raises:
        AgentMemError: The library is not installed.
    """
    _library()
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    # Why: without it a flipped bit can come out as another text.
    made: _Packer = zstd.ZstdCompressor(options={zstd.CompressionParameter.checksum_flag: 1})
    return made


def _library() -> tuple[Callable[[], _Unpacker], type[Exception]]:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        msg = "zstd is needed for this, and the library for it is not installed"
        hint = 'Install the extra: pip install "agentmem-cli[zstd]"; or do without (zstd -d).'
        raise AgentMemError(msg, hint=hint) from None
    return zstd.ZstdDecompressor, zstd.ZstdError
