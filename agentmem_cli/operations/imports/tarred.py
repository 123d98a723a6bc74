"""The members of a tar that holds one session, each checked before it is believed.

A tar can come from anybody. Only plain files and folders are taken, under one
folder and there below ``logs`` and ``files``, by names that a store takes;
everything else is refused by its name. Nothing is read whole, and a packed tar
may become so much larger, and no more.
"""

from __future__ import annotations

import sys
import tarfile
import unicodedata
import zlib
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError, DamageError, LimitError
from agentmem_cli.limits import (
    CHUNK_BYTES,
    TAR_MEMBERS_MAX,
    TAR_NAME_BYTES_MAX,
    TAR_RATIO_MAX,
    TAR_UNPACKED_FREE,
)
from agentmem_cli.operations.imports.packed import Unpacked, is_packed
from agentmem_cli.storage.layout import FILES, LOCK, LOG_END, LOGS, META
from agentmem_cli.storage.names import check_log_name, check_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import BinaryIO

_BLOCK: Final = 512
_MAGIC_AT: Final = 257
_MAGIC: Final = b"ustar"
_GZIP: Final = b"\x1f\x8b"
_GZIP_BITS: Final = 31

_PLAIN: Final = (tarfile.REGTYPE, tarfile.AREGTYPE)
_MORE: Final = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_WHAT: Final = {
    tarfile.LNKTYPE: "a link",
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a file with holes",
    tarfile.GNUTYPE_LONGLINK: "a link",
}

_UNPACKED: Final = "Nothing was written."
_HINT: Final = (
    "Nothing was written. A tar of a session has one folder, and in it logs/ and files/, "
    "as agentmem export --as tar makes it."
)


class Member(NamedTuple):
    """A file of the session."""

    top: str
    """The folder that the session is in the tar."""
    path: str
    """Its path below that: ``logs/...`` or ``files/...``."""
    size: int
    data: Iterator[bytes]
    """Its bytes; to be read before the next member is."""


def is_tar(path: Path) -> bool:
    """Whether the file at *path* is a tar, packed or not; only its beginning is read.

    Raises:
        OSError: It cannot be read.
    """
    if not path.is_file():
        return False
    with path.open("rb", buffering=0) as file:
        head = b""
        try:
            for chunk in _unpacked(path, file, _Size(path)):
                head += chunk
                if len(head) >= _BLOCK:
                    break
        except AgentMemError:
            return False  # Why: whoever reads it as a transcript says what is wrong with it.
    return head[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] == _MAGIC


def members(path: Path) -> Iterator[Member]:
    """Yield the files of the tar at *path*, one after the other.

    Raises:
        DamageError: A member is none of a session's, or the tar is damaged or
            cut off; the message names the member.
        LimitError: It becomes too large.
        OSError: It cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        chunks = _unpacked(path, file, _Size(path))
        yield from _Tar(path, _Reader(path, chunks)).members()


class _Size:
    """How many bytes a tar had packed, and has unpacked, so far."""

    def __init__(self, path: Path) -> None:
        self.packed = 0
        self.made = 0
        self._path = path

    def add(self, made: int) -> None:
        self.made += made
        if self.made > TAR_UNPACKED_FREE and self.made > TAR_RATIO_MAX * self.packed:
            msg = f"{self._path}: {self.packed:,} packed bytes become {self.made:,} and more"
            hint = "Nothing was written. If it is meant to be so, unpack it, and import the tar."
            raise LimitError(msg, hint=hint)


def _unpacked(path: Path, file: BinaryIO, size: _Size) -> Iterator[bytes]:
    head = file.read(_BLOCK)
    chunks = _counted(head, file, size)
    if is_packed(head):
        unpacked = Unpacked(chunks)
        for chunk in unpacked:
            size.add(len(chunk))
            yield chunk
        if unpacked.why is not None:
            raise DamageError(f"{path}: {unpacked.why}", hint=_UNPACKED)
    elif head.startswith(_GZIP):
        for chunk in _ungzipped(path, chunks):
            size.add(len(chunk))
            yield chunk
    else:
        yield from chunks


def _counted(head: bytes, file: BinaryIO, size: _Size) -> Iterator[bytes]:
    chunk = head
    while chunk:
        size.packed += len(chunk)
        yield chunk
        chunk = file.read(CHUNK_BYTES)


def _ungzipped(path: Path, chunks: Iterable[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(_GZIP_BITS)
    for chunk in chunks:
        data = chunk
        while data:
            if unpacker.eof:
                if not data.strip(b"\0"):
                    break  # what fills up a block of the tape
                unpacker = zlib.decompressobj(_GZIP_BITS)
            try:
                made = unpacker.decompress(data, CHUNK_BYTES)
            except zlib.error as error:
                msg = f"{path}: gzip: {error}"
                raise DamageError(msg, hint=_UNPACKED) from None
            data = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
            if made:
                yield made
    if not unpacker.eof:
        msg = f"{path}: gzip: it is cut off"
        raise DamageError(msg, hint=_UNPACKED)


class _Reader:
    """Bytes in pieces, read by length."""

    def __init__(self, path: Path, chunks: Iterator[bytes]) -> None:
        self._path = path
        self._chunks = chunks
        self._held = b""

    def pieces(self, size: int, of: str) -> Iterator[bytes]:
        """Yield the next *size* bytes; *of* says what they are where the tar ends before."""
        while size:
            if not self._held:
                self._held = next(self._chunks, b"")
                if not self._held:
                    msg = f"{self._path}: cut off in {of}"
                    raise DamageError(msg, hint=_UNPACKED)
            piece, self._held = self._held[:size], self._held[size:]
            size -= len(piece)
            yield piece

    def drain(self) -> None:
        """Read to the end, so that the sum that a packed file ends with is looked at."""
        for _ in self._chunks:
            self._held = b""

    def exactly(self, size: int, of: str) -> bytes:
        return b"".join(self.pieces(size, of))


class _Tar:
    def __init__(self, path: Path, reader: _Reader) -> None:
        self._path = path
        self._reader = reader
        self._top: str | None = None
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._count = 0

    def members(self) -> Iterator[Member]:
        name: str | None = None
        size: int | None = None
        while True:
            block = self._reader.exactly(_BLOCK, "the header of a member")
            if not block.strip(b"\0"):
                break
            told = self._header(block)
            self._count += 1
            if self._count > TAR_MEMBERS_MAX:
                msg = f"{self._path}: more than {TAR_MEMBERS_MAX:,} members"
                raise LimitError(msg, hint=_UNPACKED)
            if told.type in _MORE or told.type == tarfile.GNUTYPE_LONGNAME:
                found = self._more(told)
                if told.type != tarfile.XGLTYPE:
                    name, size = found[0] or name, size if found[1] is None else found[1]
                continue
            told_name = told.name if name is None else name
            told_size = told.size if size is None else size
            name = size = None
            yield from self._member(told, told_name, told_size)
        self._reader.drain()
        # Why the meta too: a session that nothing was said in yet has no log.
        is_session = f"{FILES}/{META}" in self._files or any(map(_is_log, self._files))
        if self._top is None or not is_session:
            msg = f"{self._path}: a tar without a log of a session"
            raise DamageError(msg, hint=_HINT)

    def _header(self, block: bytes) -> tarfile.TarInfo:
        try:
            return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError) as error:
            msg = f"{self._path}: no header of a tar's member: {error}"
            raise DamageError(msg, hint=_UNPACKED) from None

    def _more(self, told: tarfile.TarInfo) -> tuple[str | None, int | None]:
        """Read what is said about the next member: its name and its size, where they are."""
        if not 0 <= told.size <= TAR_NAME_BYTES_MAX:
            raise self._bad(told.name, f"{told.size:,} bytes about the next member")
        data = self._reader.exactly(told.size, "what is said about a member")
        self._reader.exactly(-told.size % _BLOCK, "what is said about a member")
        if told.type == tarfile.GNUTYPE_LONGNAME:
            return data.rstrip(b"\0").decode("utf-8", "surrogateescape"), None
        name, size = None, None
        for key, value in self._fields(told.name, data):
            if key.startswith("GNU.sparse."):
                raise self._bad(told.name, "a file with holes")
            if key == "path":
                name = value
            elif key == "size":
                size = int(value) if value.isascii() and value.isdigit() else -1
        return name, size

    def _fields(self, name: str, data: bytes) -> Iterator[tuple[str, str]]:
        while data.strip(b"\0"):
            number, space, _ = data.partition(b" ")
            size = int(number) if number.isdigit() and len(number) < len("1000000") else 0
            field = data[len(number) + 1 : size - 1]
            key, sign, value = field.partition(b"=")
            if not space or not sign or data[size - 1 : size] != b"\n":
                raise self._bad(name, "fields that cannot be read")
            yield (
                key.decode("utf-8", "surrogateescape"),
                value.decode("utf-8", "surrogateescape"),
            )
            data = data[size:]

    def _member(self, told: tarfile.TarInfo, name: str, size: int) -> Iterator[Member]:
        if told.type not in _PLAIN and told.type != tarfile.DIRTYPE:
            raise self._bad(name, _WHAT.get(told.type, f"of the unknown type {told.type!r}"))
        folder = told.type == tarfile.DIRTYPE or name.endswith("/")
        if size < 0 or (folder and size):
            raise self._bad(name, "a size that is none")
        path = self._checked(name, folder=folder)
        if folder:
            return
        if path != LOCK:
            yield Member(self._top or "", path, size, self._reader.pieces(size, repr(name)))
        else:
            self._reader.exactly(min(size, _BLOCK), repr(name))
            for _ in self._reader.pieces(max(0, size - _BLOCK), repr(name)):
                pass
        self._reader.exactly(-size % _BLOCK, repr(name))

    def _checked(self, name: str, *, folder: bool) -> str:
        """Return the path of a member below the session; empty: its folder itself."""
        plain = name.removeprefix("./").rstrip("/") if folder else name.removeprefix("./")
        if folder and plain in ("", "."):
            return ""
        top, _, path = plain.partition("/")
        try:
            # Why by itself: it need not be a name of a file of ours, but it must be one name.
            check_name(path or "x")
            if top in ("", ".", ".."):
                check_name(plain)
        except ValueError as error:
            raise self._bad(name, str(error)) from None
        if self._top is None:
            self._top = top
        if top != self._top:
            raise self._bad(name, f"of another session than {self._top!r}")
        if path == LOCK and not folder:
            return path
        self._check_place(name, path, folder=folder)
        self._check_once(name, path, folder=folder)
        return path

    def _check_place(self, name: str, path: str, *, folder: bool) -> None:
        above, _, rest = path.partition("/")
        if (folder and path in ("", LOGS)) or (above == FILES and (rest or folder)):
            return
        if above == LOGS and rest.endswith(LOG_END) and not folder:
            try:
                check_log_name(rest.removesuffix(LOG_END))
            except ValueError as error:
                raise self._bad(name, str(error)) from None
            return
        raise self._bad(name, "no log and no file of a session")

    def _check_once(self, name: str, path: str, *, folder: bool) -> None:
        known = _known(path)
        parts = known.split("/")
        above = {"/".join(parts[:count]) for count in range(1, len(parts))}
        if known in self._files or (not folder and known in self._folders):
            raise self._bad(name, "there twice")
        if not above.isdisjoint(self._files):
            raise self._bad(name, "below a file")
        self._folders |= above
        if folder:
            self._folders.add(known)
        else:
            self._files.add(known)

    def _bad(self, name: str, why: str) -> DamageError:
        return DamageError(f"{self._path}: the member {name!r} is refused: {why}", hint=_HINT)


def _is_log(path: str) -> bool:
    return path.startswith(f"{LOGS}/")


def _known(path: str) -> str:
    """Return what *path* is to a disk that takes some names for one."""
    if sys.platform in ("darwin", "win32"):
        return unicodedata.normalize("NFC", path).casefold()
    return path
