"""A whole session looked at: its logs, its files and their names; nothing is changed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.imports.packed import Unpacked, is_packed
from agentmem_cli.operations.secrets.blocks import Reader
from agentmem_cli.operations.secrets.find import Search
from agentmem_cli.operations.secrets.findings import Findings, Place, Unread
from agentmem_cli.operations.secrets.masking import Masker, is_document
from agentmem_cli.operations.secrets.plain import Plain
from agentmem_cli.operations.secrets.single import events
from agentmem_cli.session.mapping import seems_lines
from agentmem_cli.session.refiling import copied
from agentmem_cli.session.rewriting import HEAD_BYTES
from agentmem_cli.session.textual import is_textual, why_unread
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import RECOVERED
from agentmem_cli.storage.seen import Seen, see
from agentmem_cli.storage.store import open_file_of, open_log_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentmem_cli.operations.secrets.findings import Finding
    from agentmem_cli.operations.secrets.looking import Looking
    from agentmem_cli.operations.secrets.marks import Marks
    from agentmem_cli.session.rewriting import How
    from agentmem_cli.storage.store import LogFile, Store

OVERLAP_BYTES: Final = 16 << 10
"""Bytes that two looks at bytes which are no text have in common."""


class Looked(NamedTuple):
    """What a look at a session has found."""

    findings: Findings
    marks: Marks
    seen: dict[str, Seen]
    """How its logs and files were, so that they are known again."""


def log_name(log: str) -> str:
    """Return what the log *log* is called in findings."""
    return f"logs/{log}.jsonl"


def file_name(name: str) -> str:
    """Return what a file of a session is called in findings."""
    return f"files/{name}"


def look_at_session(
    store: Store,
    looking: Looking,
    advance: Callable[[int], None] | None = None,
    name: str | None = None,
) -> Looked:
    """Look at all of a session; no lock is taken.

    Args:
        store: The session.
        looking: What is looked for.
        advance: Told the number of bytes that were looked at.
        name: The session's own name, looked at as well.

    Raises:
        OSError: A log or a file could not be opened.
    """
    seen = see(store)
    with Search(looking, advance) as search:
        for log in store.logs():
            _name(search, log_name(log), log)
            with open_log_of(store, log) as opened:
                search.lines(log_name(log), Reader(opened), is_log=True)
        for file in store.files():
            _name(search, file_name(file), file)
            with open_file_of(store, file) as opened:
                _file(search, file, opened)
        for path in store.astray() if isinstance(store, DirStore) else ():
            _name(search, path, path)
        for path, stray in astray(store, search.findings.unread):
            with stray:
                _astray(search, path, stray)
        if name is not None:
            _name(search, name, name)
    return Looked(search.findings, search.marks, seen)


def astray(store: Store, unread: list[Unread]) -> Iterator[tuple[str, LogFile]]:
    """Yield what lies in a session and is no log and no file of it, opened, by its path.

    A command that was killed leaves such, with old bytes in it; or somebody has put it there.

    Args:
        store: The session.
        unread: Gets what cannot be looked into: a link, a pipe.
    """
    if not isinstance(store, DirStore):
        return
    for path in store.astray():
        if path.endswith("/"):
            continue
        try:
            yield path, store.open_astray(path)
        except FileNotFoundError:
            continue  # a program that is at work has taken it away
        except OSError as error:
            unread.append(Unread(Place(path), error.strerror or str(error)))


def _astray(search: Search, path: str, opened: LogFile) -> None:
    """Look at what no rewrite changes."""
    before = len(search.findings.rows)
    search.lines(path, Reader(opened))
    rows = search.findings.rows
    rows[before:] = [
        row._replace(fate="stray") if row.fate == "mask" else row for row in rows[before:]
    ]


def masker_of(store: Store, looked: Looked, looking: Looking) -> Masker:
    """Return what masks a session, its streamed messages looked at with all values known."""
    masker = Masker(looked.findings, looked.marks, looking)
    for name in sorted(looked.marks.streamed):
        with _opened(store, name) as opened:
            streamed_again(masker, name, opened, looked.marks)
    return masker


def streamed_again(masker: Masker, name: str, opened: LogFile, marks: Marks) -> list[Finding]:
    """Look for all values in the streamed messages of a log or file; return what was found."""
    if not is_packed(opened.read_at(0, HEAD_BYTES)):
        return masker.joined(name, events(Reader(opened), name, marks))
    with suppress(AgentMemError):  # it was told as unread
        return masker.joined(name, events(Unpacking(opened), name, marks))
    return []


def _opened(store: Store, name: str) -> LogFile:
    folder, _, rest = name.partition("/")
    if folder == "logs":
        return open_log_of(store, rest.removesuffix(".jsonl"))
    return open_file_of(store, rest)


def how_to_read(name: str, head: bytes) -> How:
    """Return how a file is gone through: line by line, at once, or not as text at all."""
    if name.startswith(RECOVERED):
        return "lines"
    if is_packed(head):
        return "whole"
    if not is_textual(name, head, HEAD_BYTES):
        return "skip"
    begins = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if begins in {b"{", b"["} and not seems_lines(name, head):
        return "whole"
    return "lines"


def _name(search: Search, where: str, name: str) -> None:
    """Look at a name, which no rewrite changes."""
    if search.eye.is_blind:
        return
    found = search.eye.plain(Plain(name.encode("utf-8", "replace")), Place(where))
    search.findings.rows += [
        row._replace(fate="name") if row.fate == "mask" else row for row in found.rows
    ]
    search.findings.values.update(found.values)


def _file(search: Search, name: str, opened: LogFile) -> None:
    head = opened.read_at(0, HEAD_BYTES)
    how = how_to_read(name, head)
    where = file_name(name)
    if is_packed(head):
        look_at_packed(search, where, opened)
        return
    if how == "skip":
        _bytes(search, where, opened, head)
        return
    if how == "whole":
        data = opened.read_at(0, opened.size)
        if is_document(data):
            search.whole(where, data)
            return
    search.lines(where, Reader(opened))


class Unpacking:
    """Reads what a file of zstd frames says: a source that was kept as it came."""

    def __init__(self, opened: LogFile) -> None:
        self.unpacked = Unpacked(copied(opened, 0, opened.size))
        self._chunks = iter(self.unpacked)

    def read(self, size: int, /) -> bytes:  # noqa: ARG002 - as of an open file
        """Return the next bytes, some mebibyte at most.

        Raises:
            AgentMemError: The library is not installed.
        """
        return next(self._chunks, b"")


def look_at_packed(search: Search, where: str, opened: LogFile) -> None:
    """Look at what zstd has packed; what cannot be read of it is told as unread."""
    source = Unpacking(opened)
    try:
        search.lines(where, source)
    except AgentMemError as error:
        search.findings.unread.append(Unread(Place(where), str(error)))
        return
    if source.unpacked.why is not None:
        search.findings.unread.append(Unread(Place(where), source.unpacked.why))


def _bytes(search: Search, where: str, opened: LogFile, head: bytes) -> None:
    """Look at bytes that are no text: what is found is told, and not changed."""
    why = why_unread(head)
    if why is not None:
        search.findings.unread.append(Unread(Place(where), why))
    for data in windows(opened):
        search.seen(data)
        if search.eye.is_blind:
            continue
        found = search.eye.plain(Plain(data), Place(where))
        search.findings.rows += [
            row._replace(fate="bytes") if row.fate == "mask" else row for row in found.rows
        ]
        search.findings.values.update(found.values)


def windows(opened: LogFile) -> Iterator[bytes]:
    """Yield the bytes of an open file in pieces that overlap."""
    at = 0
    while at < opened.size:
        yield opened.read_at(at, CHUNK_BYTES + OVERLAP_BYTES)
        at += CHUNK_BYTES
