"""All of a session read again as it will be: no masked value may be in any byte of it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.imports.packed import is_packed
from agentmem_cli.operations.secrets.blocks import Reader, searched
from agentmem_cli.operations.secrets.findings import Place
from agentmem_cli.operations.secrets.masking import is_document
from agentmem_cli.operations.secrets.sessions import (
    Unpacking,
    astray,
    file_name,
    how_to_read,
    log_name,
    streamed_again,
    windows,
)
from agentmem_cli.operations.secrets.single import places
from agentmem_cli.session.rewriting import HEAD_BYTES
from agentmem_cli.storage.directory import DirStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem_cli.operations.secrets.blocks import Readable
    from agentmem_cli.operations.secrets.findings import Finding
    from agentmem_cli.operations.secrets.masking import Masker
    from agentmem_cli.operations.secrets.sessions import Looked
    from agentmem_cli.storage.store import LogFile, Store


class Unproven(AgentMemError):
    """A value that was to be masked is still there; nothing was changed."""

    kind = "unproven"
    hint = "This is a fault of this program; please report it, without the value."

    def __init__(self, left: Sequence[Finding]) -> None:
        """Name the places, and no value."""
        places = sorted({f"{row.place.name}, line {row.place.line}: {row.kind}" for row in left})
        super().__init__(f"not proven, so nothing was changed: {'; '.join(places[:5])}")
        self.places = tuple(places)


class Whole(Protocol):
    """All of a session, to be read: as a rewrite leaves it, or as it is."""

    def logs(self) -> list[str]:
        """Return the names of all logs."""
        ...

    def files(self) -> list[str]:
        """Return the names of all files."""
        ...

    def open_log(self, log: str, /) -> LogFile:
        """Open a log."""
        ...

    def open_file(self, name: str, /) -> LogFile:
        """Open a file."""
        ...


def prove(
    store: Store,
    staged: Whole,
    masker: Masker,
    looked: Looked,
    name: str | None,
    advance: Callable[[int], None] | None,
) -> list[Finding]:
    """Return every masked value that would still be in the session.

    What is no log and no file of it is read as it lies there.

    Their fate tells which stay on purpose (``structural``, ``name``, ``bytes``, ``stray``) and
    which should not be there (``mask``).
    """
    proof = _Proof(masker, advance or _pass_by)
    for log in staged.logs():
        proof.name(log_name(log), log)
        with staged.open_log(log) as opened:
            proof.lines(log_name(log), Reader(opened), is_record=True)
    for file in staged.files():
        proof.name(file_name(file), file)
        with staged.open_file(file) as opened:
            proof.file(file, opened)
    if name is not None:
        proof.name(name, name)
    proof.strays(store)
    for where in sorted(looked.marks.streamed):
        folder, _, rest = where.partition("/")
        if folder == "files" and rest in staged.files():
            with staged.open_file(rest) as opened:
                proof.left += streamed_again(masker, where, opened, looked.marks)
        elif folder == "logs" and rest.removesuffix(".jsonl") in staged.logs():
            with staged.open_log(rest.removesuffix(".jsonl")) as opened:
                proof.left += streamed_again(masker, where, opened, looked.marks)
    return proof.left


class _Proof:
    """One reading of everything."""

    def __init__(self, masker: Masker, advance: Callable[[int], None]) -> None:
        self.left: list[Finding] = []
        self._threads = masker.threads
        self._masker = masker
        self._advance = advance

    def name(self, where: str, name: str) -> None:
        self.left += [
            row._replace(fate="name")
            for row in self._masker.remains(where, 0, name.encode("utf-8", "replace"))
        ]

    def lines(self, where: str, source: Readable, *, is_record: bool = False) -> None:
        for block, hits in searched(source, self._masker.hits, self._threads):
            for number, start, end in places(block, hits):
                raw = block.data[start:end]
                self.left += self._masker.remains(where, number, raw, is_record=is_record)
            self._advance(len(block.data))

    def file(self, name: str, opened: LogFile) -> None:
        where = file_name(name)
        head = opened.read_at(0, HEAD_BYTES)
        if is_packed(head):
            with suppress(AgentMemError):  # it was told as unread
                self.lines(where, Unpacking(opened))
            return
        how = how_to_read(name, head)
        if how == "skip":
            for data in windows(opened):
                self._bytes(where, data)
            return
        if how == "whole":
            data = opened.read_at(0, opened.size)
            if is_document(data):
                if self._masker.hits(data):
                    self.left += self._masker.remains(where, 0, data)
                self._advance(len(data))
                return
        self.lines(where, Reader(opened))

    def strays(self, store: Store) -> None:
        for path in store.astray() if isinstance(store, DirStore) else ():
            self.name(path, path)
        before = len(self.left)
        for path, opened in astray(store, []):
            with opened:
                self.lines(path, Reader(opened))
        rows = self.left[before:]
        self.left[before:] = [
            row._replace(fate="stray") if row.fate == "mask" else row for row in rows
        ]

    def _bytes(self, where: str, data: bytes) -> None:
        if self._masker.hits(data):
            rows = self._masker.in_bytes(Place(where), data)
            self.left += [row._replace(fate="bytes") for row in rows]
        self._advance(len(data))


def _pass_by(_: int) -> None:
    """Take no notice."""
