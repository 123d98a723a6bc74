"""Bytes packed on their way out, as the name of the file asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ENDINGS: Final = {
    ".tar.gz": "gzip",
    ".tgz": "gzip",
    ".tar.zst": "zstd",
    ".tzst": "zstd",
}
"""Ends of names, and how what is called so is packed. Any other name: not at all."""

_GZIP_BITS: Final = 31
"""zlib's word for the format of gzip; the header that it writes has no name and no time."""

_LEVEL: Final = 6


class _Packer(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


def packing_of(name: str) -> str | None:
    """Return how a file called *name* is packed: ``gzip``, ``zstd``, or None."""
    lower = name.lower()
    return next((how for end, how in ENDINGS.items() if lower.endswith(end)), None)


def packed(pieces: Iterable[bytes], how: str | None) -> Iterator[bytes]:
    """Yield *pieces* packed; the same for the same bytes, with the same library.

    Raises:
        AgentMemError: The library for zstd is not installed.
    """
    if how is None:
        yield from pieces
        return
    packer = _packer(how)
    for piece in pieces:
        made = packer.compress(piece)
        if made:
            yield made
    yield packer.flush()


def _packer(how: str) -> _Packer:
    if how == "gzip":
        import zlib

        return zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP_BITS)
    from agentmem_cli.operations.imports.packed import compressor

    return compressor()
