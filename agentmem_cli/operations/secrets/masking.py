"""What was found, taken out of the lines it stands in, wherever else it stands too."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from operator import is_not
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.secrets.bookkeeping import book_of
from agentmem_cli.operations.secrets.deltas import MARKS, joined
from agentmem_cli.operations.secrets.events import Document, event_of
from agentmem_cli.operations.secrets.findings import Finding, Place
from agentmem_cli.operations.secrets.given import LITERAL
from agentmem_cli.operations.secrets.literals import Hit, Literals
from agentmem_cli.operations.secrets.marks import Spot, event_key
from agentmem_cli.operations.secrets.masks import MASK
from agentmem_cli.operations.secrets.plain import Characters
from agentmem_cli.session.codec import loads
from agentmem_cli.session.tokens import apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.operations.secrets.findings import Fate, Findings
    from agentmem_cli.operations.secrets.looking import Looking
    from agentmem_cli.operations.secrets.marks import Marks
    from agentmem_cli.operations.secrets.masks import Masks
    from agentmem_cli.operations.secrets.plain import Plain
    from agentmem_cli.session.tokens import Path


NAMES: Final = frozenset({"field", "form", "word"})
"""What the form says of itself: names of fields and tags, which are nobody's secret."""


class Masker:
    """Masks lines, documents and texts; one for a run, used by one thread at a time.

    Attributes:
        threads: How many may search at once.
        kinds: How many masks of each kind were put in.
        lines: Lines (documents, texts) that changed.
        strings: Strings in them that changed.
        signatures: Signatures that went, since the text they vouched for was changed.
        sealed: Encrypted contents beside what was masked, which most likely say it, too.
        left: Values that stay where they are, since they are part of the form there.
    """

    def __init__(self, findings: Findings, marks: Marks, looking: Looking) -> None:
        self._marks = marks
        values = [value for value in findings.values if not looking.masks.stays(value)]
        parts = [part for part in findings.parts if part not in findings.values]
        self._values = [*values, *parts]
        self._kinds = [findings.values.get(each) or findings.parts[each] for each in self._values]
        self._masks = looking.masks
        self._one = _one_each(findings, looking.masks)
        self.threads = looking.threads
        self.literals = Literals(values, parts, [*marks.probes, *_marks_of(marks)])
        self.kinds: Counter[str] = Counter()
        self.lines = 0
        self.strings = 0
        self.signatures = 0
        self.sealed = 0
        self.left: list[Finding] = []

    def hits(self, block: bytes) -> list[int]:
        """Return offsets of *block*, with at least one on each line that `line` may change."""
        return self.literals.candidates(block)

    def line(self, name: str, number: int, raw: bytes, *, is_record: bool = False) -> bytes:
        """Return what is to stand for one event; *raw* itself where nothing is to change.

        Args:
            name: The source.
            number: The line, from 1; 0 where the event is the whole source.
            raw: It, without its end.
            is_record: Whether it is a record of a session's log.
        """
        spots = self._marks.spots.get(event_key(raw), []) if self._marks.spots else []
        parts = self._marks.parts_of(name, number, raw, is_record=is_record)
        event = event_of(raw, is_record=is_record, book=book_of(name))
        place = Place(name, number)
        if isinstance(event, Document):
            wanted = self._in_document(event, place, spots)
            wanted += [
                Spot(index, start, end, mask)
                for path, start, end, mask in parts
                for index, leaf in enumerate(event.leaves)
                if leaf.path == path and not leaf.token.is_key
            ]
        else:
            # Why first: of two that are as wide, the one that knows the lines around counts.
            wanted = [Spot(0, start, end, mask) for path, start, end, mask in parts if not path]
            wanted += self._in_text(event, spots)
        if not wanted:
            return raw
        if isinstance(event, Document):
            self.sealed += _sealed(event, wanted)
        return self._changed(event, wanted)

    def whole(self, name: str, data: bytes) -> bytes:
        """Return what is to stand for a file that is read at once: a document, or lines."""
        return self.line(name, 0, data) if is_document(data) else self.lines_of(name, data)

    def lines_of(self, name: str, data: bytes) -> bytes:
        """Return what is to stand for lines that are read at once."""
        lines = data.split(b"\n")
        new = [
            self.line(name, number, raw) if self.hits(raw) else raw
            for number, raw in enumerate(lines, 1)
        ]
        return b"\n".join(new) if any(map(is_not, new, lines)) else data

    def text(self, text: str) -> str:
        """Return a text with the values in it masked."""
        data = text.encode("utf-8", "replace")
        hits = self._found(data)
        changes = [(hit.start, hit.end, self._mask(hit.value).encode()) for hit in hits]
        return apply_edits(data, changes).decode("utf-8", "replace") if changes else text

    def _mask(self, index: int) -> str:
        mask = self._masks.mask(self._values[index], self._kinds[index])
        return self._one.get(mask, mask)

    def _changed(self, event: Document | Plain, wanted: list[Spot]) -> bytes:
        changes = _merged(
            [spot._replace(mask=self._one.get(spot.mask, spot.mask)) for spot in wanted]
        )
        new = event.masked(changes, unsigned=self._unsigned)
        self.lines += 1
        self.strings += len(changes)
        for spans in changes.values():
            for _, _, mask in spans:
                if mask:
                    self.kinds[mask.split(":")[1].rstrip("]")] += 1
        return new

    def _unsigned(self) -> None:
        self.signatures += 1

    def _in_document(self, event: Document, place: Place, spots: list[Spot]) -> list[Spot]:
        wanted = [spot for spot in spots if spot.leaf < len(event.leaves)]
        for index, leaf in enumerate(event.leaves):
            text = Characters(leaf.text)
            for start, end, value in self._found(text.data):
                first, last = text.at(start), text.at(end)
                if leaf.structure is None:
                    mask = self._mask(value)
                    wanted.append(Spot(index, first, last, mask))
                elif leaf.structure not in NAMES:
                    hit = Hit(first, last, value)
                    fate = _fate(leaf.structure)
                    row = self._row(place, leaf.path, hit, fate, is_key=leaf.token.is_key)
                    self.left.append(row)
        return wanted

    def _in_text(self, event: Plain, spots: list[Spot]) -> list[Spot]:
        wanted = list(spots)
        for layer, text in enumerate(event.texts()):
            for start, end, value in self._found(text):
                first, last = event.place(layer, start, end)
                mask = self._mask(value)
                wanted.append(Spot(0, first, last, mask))
        return wanted

    def _found(self, text: bytes) -> list[Hit]:
        hits = self.literals.find(text)
        if not hits or b"[REDACTED:" not in text:
            return hits
        starts = [each.start() for each in MASK.finditer(text)]
        return [hit for hit in hits if not _in_mask(text, hit, starts)]

    def remains(
        self, name: str, number: int, raw: bytes, *, is_record: bool = False
    ) -> list[Finding]:
        """Return the values that are still in an event; ``structural`` where they are form."""
        event = event_of(raw, is_record=is_record, book=book_of(name))
        place = Place(name, number)
        found: list[Finding] = []
        if isinstance(event, Document):
            for leaf in event.leaves:
                if leaf.structure in NAMES:
                    continue
                fate = _fate(leaf.structure)
                data = leaf.text.encode("utf-8", "replace")
                found += [
                    self._row(place, leaf.path, hit, fate, is_key=leaf.token.is_key)
                    for hit in self._found(data)
                ]
        else:
            for text in event.texts():
                found += [self._row(place, (), hit, "mask") for hit in self._found(text)]
        return found

    def in_bytes(self, place: Place, data: bytes) -> list[Finding]:
        """Return the values in bytes that are no text."""
        return [self._row(place, (), hit, "bytes") for hit in self._found(data)]

    def _row(
        self, place: Place, path: Path, hit: Hit, fate: Fate, *, is_key: bool = False
    ) -> Finding:
        start, end, value = hit
        kind = self._kinds[value]
        return Finding(
            place, path, is_key, start, end, kind, "high", LITERAL, self._values[value], fate
        )

    def joined(self, name: str, lines: Iterable[tuple[int, bytes]]) -> list[Finding]:
        """Look for the values in messages of *lines* that were streamed in pieces.

        What is found is masked when these lines pass.
        """
        found: list[Finding] = []
        for run in joined(lines):
            text = Characters(run.text)
            for hit in self._found(text.data):
                parts = list(run.parts(text.at(hit.start), text.at(hit.end)))
                if len(parts) < 2:  # noqa: PLR2004 - in one piece it is found with the line
                    continue
                found.append(self._row(Place(name, parts[0].line), parts[0].path, hit, "mask"))
                mask = self._mask(hit.value)
                self._marks.take(name, run.keys, parts, mask)
        return found


def _one_each(findings: Findings, masks: Masks) -> dict[str, str]:
    """Return the masks to be put in the place of others, where rules call one secret two things."""
    if not masks.tells:
        return {}
    first: dict[str, str] = {}
    others: dict[str, str] = {}
    rows = ((row.value, row.kind) for row in findings.rows if row.fate == "mask")
    for value, kind in dict.fromkeys((*rows, *findings.values.items())):
        mask = masks.mask(value, kind)
        one = first.setdefault(masks.fingerprint(value), mask)
        if one != mask:
            others[mask] = one
    return others


def _fate(structure: str | None) -> Fate:
    if structure is None:
        return "mask"
    return "name" if structure == "name" else "structural"


def _sealed(event: Document, wanted: list[Spot]) -> int:
    """Return how many encrypted contents stand beside what is masked: they may say it, too."""
    changed = [event.leaves[spot.leaf].path for spot in wanted]
    return sum(
        any(path[: len(leaf.path) - 1] == leaf.path[:-1] for path in changed)
        for leaf in event.leaves
        if leaf.structure == "encrypted"
    )


def is_document(data: bytes) -> bool:
    """Is *data* one JSON value, whether or not on one line?"""
    if data.lstrip(b" \t\r\n")[:1] not in {b"{", b"["}:
        return False
    try:
        loads(data)
    except ValueError:
        return False
    return True


def _in_mask(text: bytes, hit: Hit, starts: list[int]) -> bool:
    """Does *hit* lie in a mask, of those that begin at *starts*?"""
    index = bisect_right(starts, hit.start) - 1
    mask = MASK.match(text, starts[index]) if index >= 0 else None
    return mask is not None and hit.end <= mask.end()


def _marks_of(marks: Marks) -> Iterable[str]:
    return [mark.decode() for mark in MARKS] if marks.streamed else []


def _merged(wanted: list[Spot]) -> dict[int, list[tuple[int, int, str]]]:
    """Return the changes of each string: what overlaps is one, with the mask of the widest."""
    changes: dict[int, list[tuple[int, int, str]]] = {}
    widest: dict[int, int] = {}
    for leaf, start, end, mask in sorted(
        wanted, key=lambda spot: (spot.leaf, spot.start, -spot.end)
    ):
        spans = changes.setdefault(leaf, [])
        if not spans or start >= spans[-1][1]:
            spans.append((start, end, mask))
            widest[leaf] = end - start
            continue
        first, last, name = spans[-1]
        if end - start > widest[leaf]:
            name, widest[leaf] = mask, end - start
        spans[-1] = (first, max(last, end), name)
    return changes
