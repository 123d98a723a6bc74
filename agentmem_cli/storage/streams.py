"""Moving bytes by descriptor: whole writes, reads at a place, in pieces."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from agentmem_cli.limits import CHUNK_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

if hasattr(os, "pread"):
    pread = os.pread
else:

    def pread(descriptor: int, length: int, offset: int, /) -> bytes:
        """Read *length* bytes at *offset*; not for two threads at once (Windows only)."""
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)


if hasattr(os, "preadv"):

    def pread_into(descriptor: int, view: memoryview, offset: int) -> int:
        """Read into *view* from *offset*; return how many bytes came."""
        return os.preadv(descriptor, [view], offset)
else:

    def pread_into(descriptor: int, view: memoryview, offset: int) -> int:
        """Read into *view* from *offset*; return how many bytes came."""
        data = pread(descriptor, len(view), offset)
        view[: len(data)] = data
        return len(data)


def chunks(descriptor: int, start: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from *start* to *end* in pieces; fewer where the file ends before."""
    while start < end:
        chunk = pread(descriptor, min(CHUNK_BYTES, end - start), start)
        if not chunk:
            return
        yield chunk
        start += len(chunk)


def write_whole(descriptor: int, data: bytes | bytearray) -> None:
    """Write all of *data*: one call, and more only where the system took less."""
    written = os.write(descriptor, data)
    if written == len(data):
        return
    with memoryview(data) as view:
        while written < len(data):
            taken = os.write(descriptor, view[written:])
            if taken <= 0:
                raise OSError(errno.EIO, "the system writes nothing and names no reason")
            written += taken


def is_start_of(descriptor: int, start: int, end: int, source: int) -> bool:
    """Whether the bytes from *start* to *end* are the first ones of the open file *source*.

    Zeros count as well: after a power cut a file system can have the new size
    and zeros for what did not reach the disk.
    """
    place = 0
    for chunk in chunks(descriptor, start, end):
        wanted = pread(source, len(chunk), place)
        place += len(chunk)
        if chunk == wanted:
            continue
        pairs = enumerate(zip(chunk, wanted, strict=False))
        same = next((at for at, (one, other) in pairs if one != other), len(wanted))
        if chunk[same:].strip(b"\0"):
            return False
    return True


def start_writing(descriptor: int, start: int, end: int) -> None:
    """Have the system begin to put the bytes from *start* to *end* on the disk, where it can.

    It is not waited for: a later ``fsync`` then finds little left to do.
    """
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, start, end - start, os.POSIX_FADV_DONTNEED)


def token() -> str:
    """Return 32 random hex digits, for a name nobody else takes."""
    return os.urandom(16).hex()
