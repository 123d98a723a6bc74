"""A file outside any session: looked at, masked into a new one, and that proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.secrets.blocks import BOM, Block, blocks, lines_of, searched
from agentmem_cli.operations.secrets.find import Search
from agentmem_cli.operations.secrets.findings import Findings
from agentmem_cli.operations.secrets.marks import Marks
from agentmem_cli.operations.secrets.masking import Masker, is_document

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from agentmem_cli.operations.secrets.blocks import Readable
    from agentmem_cli.operations.secrets.findings import Finding
    from agentmem_cli.operations.secrets.looking import Looking
    from agentmem_cli.storage.store import Sink

DOCUMENT_BYTES_MAX: Final = 32 << 20
"""Bytes of a JSON document that is read whole; a larger one is looked at as text, by lines."""


class Masked(NamedTuple):
    """What was masked."""

    lines: int
    """Lines that changed; 1 where a document did."""
    strings: int
    """Strings in them that changed."""
    kinds: dict[str, int]
    """Masks, by kind."""
    signatures: int
    """Signatures that went, since the text they vouched for was changed."""
    sealed: int
    """Encrypted contents beside what was masked, which most likely say it, too."""
    left: list[Finding]
    """Values that stay where they are, since they are part of the form there."""


class SingleFile:
    """One file on its way: `scan` it, `mask` it into a new one, and `prove` that.

    Args:
        name: What it is called in findings.
        looking: What is looked for.
        advance: Told the number of bytes that passed, in each of the three.

    Attributes:
        findings: What `scan` found.
    """

    def __init__(
        self, name: str, looking: Looking, advance: Callable[[int], None] | None = None
    ) -> None:
        self.name = name
        self.findings = Findings()
        self._looking = looking
        self._advance = advance
        self._marks = Marks()
        self._is_document = False
        self._masker: Masker | None = None

    def scan(self, source: BinaryIO) -> Findings:
        """Look at an open file, from its beginning on."""
        source.seek(0)
        document = document_of(source)
        source.seek(0)
        with Search(self._looking, self._advance) as search:
            if document is None:
                search.lines(self.name, source)
            else:
                search.whole(self.name, document)
        self._is_document = document is not None
        self.findings, self._marks = search.findings, search.marks
        return self.findings

    @property
    def masker(self) -> Masker:
        """What masks the values that were found."""
        if self._masker is None:
            self._masker = Masker(self.findings, self._marks, self._looking)
        return self._masker

    def mask(self, source: BinaryIO, sink: Sink) -> Masked:
        """Write an open file to *sink*, with all that was found masked wherever it stands.

        Lines in which nothing is masked keep their bytes, and so does all else in the others.
        """
        masker = self.masker
        if self._marks.streamed:
            source.seek(0)
            masker.joined(self.name, events(source, self.name, self._marks))
        source.seek(0)
        if self._is_document:
            sink.write(masker.line(self.name, 0, source.read()))
        else:
            for block, hits in searched(source, masker.hits, self._looking.threads):
                for piece in self._block(block, hits):
                    sink.write(piece)
                self._passed(block)
        kinds = dict(sorted(masker.kinds.items()))
        return Masked(
            masker.lines, masker.strings, kinds, masker.signatures, masker.sealed, masker.left
        )

    def _block(self, block: Block, hits: list[int]) -> Iterator[bytes]:
        """Yield a block's bytes, masked; where nothing changes, as they are."""
        passed = 0
        for number, start, end in places(block, hits):
            raw = block.data[start:end]
            new = self.masker.line(self.name, number, raw)
            if new is not raw:
                yield block.data[passed:start]
                yield new
                passed = end
        yield block.data[passed:] if passed else block.data

    def prove(self, source: BinaryIO) -> list[Finding]:
        """Read what was written again, and return each value that is still in it.

        What is part of the form there (``structural``) stays on purpose;
        anything else should not be there, and its fate is ``mask``.
        """
        left: list[Finding] = []
        source.seek(0)
        if self._is_document:
            left += self.masker.remains(self.name, 0, source.read())
        else:
            for block, hits in searched(source, self.masker.hits, self._looking.threads):
                for number, start, end in places(block, hits):
                    left += self.masker.remains(self.name, number, block.data[start:end])
                self._passed(block)
        if self._marks.streamed:
            source.seek(0)
            left += self.masker.joined(self.name, events(source, self.name, self._marks))
        return left

    def _passed(self, block: Block) -> None:
        if self._advance is not None:
            self._advance(len(block.data))


def places(block: Block, hits: Iterable[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the lines in which *hits* are: number, first byte, and the byte behind the last."""
    data = block.data
    number, counted, at = block.line, 0, -1
    for hit in hits:
        if hit < at:
            continue
        start = data.rfind(b"\n", 0, hit) + 1
        end = data.find(b"\n", hit)
        at = len(data) if end < 0 else end
        number += data.count(b"\n", counted, start)
        counted = start
        if number == 1 and data.startswith(BOM):
            start += len(BOM)
        yield number, start, at


def numbered(source: Readable) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a source with their numbers."""
    for block in blocks(source):
        yield from enumerate(lines_of(block.data), block.line)


def events(source: Readable, name: str, marks: Marks) -> Iterator[tuple[int, bytes]]:
    """Yield the events of a source in which pieces of messages were, with their numbers."""
    if name not in marks.documents:
        yield from numbered(source)
        return
    yield 0, b"".join(block.data for block in blocks(source))


def document_of(source: BinaryIO) -> bytes | None:
    """Return all of a file that is one JSON value on several lines; None: it is not."""
    head = source.read(HEAD_BYTES)
    stripped = head.lstrip(b" \t\r\n")
    if stripped[:1] not in {b"{", b"["}:
        return None
    first, newline, _ = stripped.partition(b"\n")
    if not newline and len(head) == HEAD_BYTES:
        return None
    if newline and is_document(first):
        return None
    data = head + source.read(DOCUMENT_BYTES_MAX + 1 - len(head))
    return data if len(data) <= DOCUMENT_BYTES_MAX and is_document(data) else None


HEAD_BYTES: Final = 64 << 10
"""Bytes by which it is told whether a file is a document."""
