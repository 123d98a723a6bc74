"""Reading what a person names: a file, a pipe, a device, standard input.

Such a thing need not end, so none is read beyond a bound.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentmem_cli.errors import LimitError
from agentmem_cli.limits import CHUNK_BYTES, GIVEN_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO


def read_named(path: str | Path) -> bytes:
    """Return the bytes of what stands at *path*, which a person named; links are followed.

    A pipe is read to its end, as a shell makes one of ``<(command)``.

    Raises:
        LimitError: More came than `GIVEN_BYTES_MAX`.
        OSError: It cannot be read.
    """
    with open(path, "rb") as stream:
        return read_bounded(stream, f"{path} ({_kind(os.fstat(stream.fileno()).st_mode)})")


def read_bounded(stream: BinaryIO, called: str) -> bytes:
    """Return what *stream* holds to its end; *called* is its name in an error.

    Raises:
        LimitError: More came than `GIVEN_BYTES_MAX`.
        OSError: It cannot be read.
    """
    pieces = []
    left = GIVEN_BYTES_MAX
    while piece := stream.read(CHUNK_BYTES):
        left -= len(piece)
        if left < 0:
            most = GIVEN_BYTES_MAX >> 20
            msg = f"{called}: more than {most} MiB come out of it, which is more than is read"
            raise LimitError(msg, hint="Nothing was changed. Is it what was meant?")
        pieces.append(piece)
    return b"".join(pieces)


def read_own(path: Path, bytes_max: int) -> bytes:
    """Return the bytes of a file that this program made, at most *bytes_max* of them.

    Raises:
        FileNotFoundError: It is not there.
        OSError: It is no regular file, or the system refused; nothing waits for a pipe.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"this is {_kind(mode)}, and no regular file", str(path))
        return os.read(descriptor, bytes_max)
    finally:
        os.close(descriptor)


@contextmanager
def names_file(path: str | Path) -> Iterator[None]:
    """Let what the system refuses in the block name *path*, where it names no file."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "a file"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a pipe" if stat.S_ISFIFO(mode) else "a device"
