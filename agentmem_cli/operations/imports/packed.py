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

MAGIC: Final = b"\x28\xb5\x2f\xfd"
"""How a zstd frame begins (RFC 8878, section 3.1.1)."""


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
        fresh, error = _library()
        unpacker = fresh()
        begun = False
        for chunk in self._chunks:
            data = chunk
            while data or not (unpacker.needs_input or unpacker.eof):
                if unpacker.eof:
                    unpacker = fresh()
                try:
                    made = unpacker.decompress(data, CHUNK_BYTES)
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


def packed(data: bytes) -> bytes:
    """Return *data* as one zstd frame.

    Raises:
        AgentMemError: The library is not installed.
    """
    _library()
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    made: bytes = zstd.compress(data)
    return made


def _library() -> tuple[Callable[[], _Unpacker], type[Exception]]:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError:
        msg = "a source is compressed with zstd, and the library for it is not installed"
        hint = 'Install the extra: pip install "agentmem-cli[zstd]"; or unpack the file (zstd -d).'
        raise AgentMemError(msg, hint=hint) from None
    return zstd.ZstdDecompressor, zstd.ZstdError
