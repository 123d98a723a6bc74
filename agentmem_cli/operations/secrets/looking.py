"""One event looked at: what in it is a secret, where, and what is to become of it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.secrets.bookkeeping import book_of
from agentmem_cli.operations.secrets.encoded import decoded
from agentmem_cli.operations.secrets.escaped import plainly
from agentmem_cli.operations.secrets.events import Document, event_of
from agentmem_cli.operations.secrets.findings import Finding, Findings, Unread
from agentmem_cli.operations.secrets.given import LITERAL, PATTERN, VARIABLE, Given
from agentmem_cli.operations.secrets.marks import Spot, Streamed
from agentmem_cli.operations.secrets.masks import MASK, Masks, bare, blanked, filling
from agentmem_cli.operations.secrets.plain import Characters
from agentmem_cli.operations.secrets.spans import Span, Spans, merged
from agentmem_cli.operations.secrets.words import is_shaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Protocol

    from agentmem_cli.operations.secrets.events import Leaf
    from agentmem_cli.operations.secrets.findings import Fate, Place
    from agentmem_cli.operations.secrets.plain import Plain

    class Scans(Protocol):
        """What finds secrets in bytes: `engine.Detector`."""

        @property
        def is_ready(self) -> bool:
            """Whether a look begins at once."""
            ...

        def scan(self, data: bytes) -> Spans:
            """Return them in their order."""
            ...


ROUNDS_MAX: Final = 40
"""Looks at one event with too many findings for one; what is left then is told as unread."""

BETWEEN: Final = b"\n,\n\n,\n"
"""What stands between events that are looked at in one go; no rule reaches over it."""

PIECE_MIN: Final = 8
"""Characters of what is left of a finding around a mask in it, for it to count."""

_OWN: Final = frozenset({LITERAL, PATTERN, VARIABLE})
_PEM_LINE: Final = re.compile(r"[A-Za-z0-9+/=]{40,}")


class Looking(NamedTuple):
    """What is looked for, and how."""

    detector: Scans | None
    """None: only what the user named."""
    masks: Masks
    given: Given = Given()
    aggressive: bool = False
    """Mask what is not sure, too."""
    kinds: frozenset[str] | None = None
    """Only these kinds."""
    threads: int = 2


class Found(NamedTuple):
    """What one event holds."""

    rows: list[Finding]
    spots: list[Spot]
    """What is to be masked in it."""
    unread: list[Unread]
    values: dict[str, str]
    """What is to be masked wherever it stands, and its kind."""
    parts: dict[str, str]
    """Lines of keys, to be masked wherever they stand as they are."""
    lines: dict[tuple[str, int], list[Streamed]]
    """What is to be masked in a line only because of those around it, by source and line."""
    probes: list[str]
    """Texts of which one is in every line that has a spot whose value is none of ``values``."""

    @classmethod
    def none(cls) -> Found:
        """Return one that holds nothing yet."""
        return cls([], [], [], {}, {}, {}, [])


class Eye:
    """Looks at events; one for a run, used by any number of threads."""

    def __init__(self, looking: Looking) -> None:
        self.looking = looking
        self._masks = looking.masks
        self._scan = looking.detector.scan if looking.detector is not None else None
        self._patterns = [*looking.given.patterns, *map(_beside, looking.given.beside)]

    @property
    def is_ready(self) -> bool:
        """Whether a look begins at once; else there is time for other things."""
        return self.looking.detector is None or self.looking.detector.is_ready

    @property
    def is_blind(self) -> bool:
        """Whether there is nothing to look for but literals."""
        return self._scan is None and not self._patterns

    def touched(self, texts: list[bytes]) -> list[int]:
        """Return which of *texts*, each one event's, may hold something; looked at in one go.

        Why in one go: a call of the detector costs as much as some kilobytes, and
        behind each the thread waits for its turn.
        """
        together = BETWEEN.join(texts)
        spans = Spans() if self._scan is None else self._scan(blanked(together))
        if spans.capped:
            return list(range(len(texts)))
        if not spans and not self._patterns:
            return []
        starts = [0, *accumulate(len(text) + len(BETWEEN) for text in texts)]
        found: set[int] = set()
        for span in spans:
            first = bisect_right(starts, span.start) - 1
            found.update(range(first, min(bisect_left(starts, span.end), len(texts))))
        for index, text in enumerate(texts) if self._patterns else ():
            said = text.decode("utf-8", "replace")
            if any(pattern.search(said) is not None for pattern in self._patterns):
                found.add(index)
        return sorted(found)

    def look(self, raw: bytes, place: Place, *, is_record: bool = False) -> Found:
        """Look at one event, at every string of it."""
        event = event_of(raw, is_record=is_record, book=book_of(place.name))
        if isinstance(event, Document):
            return self._document(event, place)
        return self.plain(event, place)

    def plain(self, event: Plain, place: Place) -> Found:
        """Look at a text; offsets are bytes of it."""
        found = Found.none()
        taken: list[tuple[int, int]] = []
        for layer, text in enumerate(event.texts()):
            for span in self._spans(text, place, found):
                start, end = event.place(layer, span.start, span.end)
                if layer and any(start < other[1] and end > other[0] for other in taken):
                    continue
                value = text[span.start : span.end].decode("utf-8", "replace")
                row = Finding(
                    place, (), is_key=False, start=start, end=end, kind=span.kind,
                    confidence=span.confidence, rule=span.rule, value=value, fate="mask",
                )  # fmt: skip
                self._take(found, span, row, 0)
                taken.append((start, end))
        return found

    def _document(self, event: Document, place: Place) -> Found:
        found = Found.none()
        text, starts = event.text()
        parting = _Parts(event, starts)
        for span in self._spans(text, place, found):
            parts = list(parting.of(span))
            for index, first, last in parts:
                leaf = event.leaves[index]
                fate: Fate = "mask"
                if leaf.structure is not None:
                    if len(parts) > 1 or not _is_told(leaf, first, last, span):
                        continue
                    fate = "name" if leaf.structure == "name" else "structural"
                row = Finding(
                    place, leaf.path, leaf.token.is_key, first, last, *span[2:],
                    leaf.text[first:last], fate,
                )  # fmt: skip
                self._take(found, span, row, index)
        return found

    def _take(self, found: Found, span: Span, row: Finding, leaf: int) -> None:
        fate = row.fate
        if self._masks.stays(row.value):
            fate = "allowed"
        elif span.confidence == "low" and not self.looking.aggressive:
            fate = "unsure"
        found.rows.append(row._replace(fate=fate))
        if fate == "mask":
            mask = self._masks.mask(row.value, row.kind)
            found.spots.append(Spot(leaf, row.start, row.end, mask))
            found.values.update(self._values_of(row))
            if "-----BEGIN" in row.value:
                found.parts.update((line, row.kind) for line in _lines_of_key(row.value)[1:])
            if row.value not in found.values:
                found.probes.append(row.value)

    def _values_of(self, row: Finding) -> Iterator[tuple[str, str]]:
        """Yield what is masked wherever it stands, since *row* was found."""
        # Why as a password: what the user named may be of any kind, a plain word among them.
        if is_shaped(row.value, "password" if row.kind in _OWN else row.kind):
            yield row.value, row.kind
        plain = plainly(row.value)
        for each in dict.fromkeys((plain, bare(row.value))):
            if each != row.value and row.kind not in _OWN and is_shaped(each, row.kind):
                yield each, row.kind
        if "-----BEGIN" in row.value:
            yield from ((line, row.kind) for line in _lines_of_key(row.value)[:1])
        inner = decoded(row.value.encode("utf-8", "replace"))
        if inner is not None and self._scan is not None and inner.isascii():
            for span in self._scan(inner):
                value = inner[span.start : span.end].decode()
                if span.confidence != "low" and is_shaped(value, span.kind):
                    yield value, span.kind

    def _spans(self, text: bytes, place: Place, found: Found) -> Iterable[Span]:
        """Return the spans in *text*; where they are too many for one look, of several."""
        blank = blanked(text)
        spans = merged([*self._detected(blank, place, found), *self._matched(text)])
        kinds = self.looking.kinds
        for span in spans:
            if kinds is not None and span.kind not in kinds and span.rule not in _OWN:
                continue
            yield from _without_masks(text, span)

    def _detected(self, blank: bytes, place: Place, found: Found) -> list[Span]:
        if self._scan is None:
            return []
        every: list[Span] = []
        for _ in range(ROUNDS_MAX):
            spans = self._scan(blank)
            every += spans
            if not spans.capped:
                return every
            if not spans:
                break
            blank = _filled(blank, spans)
        spans = self._scan(blank)
        every += spans
        left = spans.capped
        if not left:
            return every
        found.unread.append(Unread(place, f"too many findings: some {left} were not judged"))
        return every

    def _matched(self, text: bytes) -> list[Span]:
        if not self._patterns:
            return []
        said = text.decode("utf-8", "replace")
        spans: list[Span] = []
        for pattern in self._patterns:
            kind = VARIABLE if "variable" in pattern.groupindex else PATTERN
            group = "secret" if "secret" in pattern.groupindex else 0
            at = passed = 0
            for match in pattern.finditer(said):
                first, last = match.span(group)
                if first < last:
                    at += len(said[passed:first].encode("utf-8", "replace"))
                    end = at + len(said[first:last].encode("utf-8", "replace"))
                    spans.append(Span(at, end, kind, "high", kind))
                    at, passed = end, last
        return spans


_PEM_SAME: Final = "b3BlbnNzaC1rZXktdjE"
"""How the first line of every OpenSSH key begins, which tells nothing of it."""


def _lines_of_key(value: str) -> list[str]:
    """Return the lines of a key that tell something of it."""
    return [line for line in _PEM_LINE.findall(value) if not line.startswith(_PEM_SAME)]


def _is_told(leaf: Leaf, start: int, end: int, span: Span) -> bool:
    """Is a finding in a string that is part of the form worth telling?

    In long encrypted contents nearly every vendor's form turns up by chance, so
    there it must be all that the string says.
    """
    if span.rule in _OWN:
        return True
    if leaf.structure in {"encrypted", "signature"} and (start > 0 or end < len(leaf.text)):
        return False
    return span.confidence == "high"


def _beside(pair: tuple[str, str]) -> re.Pattern[str]:
    name, value = pair
    return re.compile(
        rf"(?P<variable>{re.escape(name)})[\"']?\s{{0,4}}[=:\n]\s{{0,4}}[\"']?"
        rf"(?P<secret>{re.escape(value)})(?!\w)"
    )


def _filled(data: bytes, spans: Iterable[Span]) -> bytes:
    made = bytearray(data)
    for span in spans:
        made[span.start : span.end] = filling(span.end - span.start)
    return bytes(made)


def _without_masks(text: bytes, span: Span) -> Iterator[Span]:
    """Yield the parts of *span* that are no mask and long enough to be something."""
    near = max(0, span.start - _MASK_BYTES_MAX)
    far = min(len(text), span.end + _MASK_BYTES_MAX)
    if text.find(b"[REDACTED:", near, far) < 0:
        yield span
        return
    masks = [each.span() for each in MASK.finditer(text, near, far)]
    yield from _cut(span, [each for each in masks if each[0] < span.end and each[1] > span.start])


_MASK_BYTES_MAX: Final = 96
"""Bytes of the longest mask, and some."""


def _cut(span: Span, masks: list[tuple[int, int]]) -> Iterator[Span]:
    if not masks:
        yield span
        return
    at = span.start
    for start, end in [*masks, (span.end, span.end)]:
        if start - at >= PIECE_MIN:
            yield span._replace(start=at, end=start)
        at = max(at, end)


class _Parts:
    """Parts spans of a document's text among its strings; the spans come in their order."""

    def __init__(self, event: Document, starts: list[int]) -> None:
        self._leaves = event.leaves
        self._starts = starts
        self._last = -1
        self._text = Characters("")

    def of(self, span: Span) -> Iterator[tuple[int, int, int]]:
        """Yield the strings that *span* covers: each leaf, and its characters."""
        starts = self._starts
        index = max(0, bisect_right(starts, span.start) - 1)
        while index < len(starts) and starts[index] < span.end:
            if index != self._last:
                self._last, self._text = index, Characters(self._leaves[index].text)
            first = max(0, span.start - starts[index])
            last = min(len(self._text.data), span.end - starts[index])
            if first < last:
                before, inside = self._text.at(first), self._text.at(last)
                if before < inside:
                    yield index, before, inside
            index += 1


def gathered(findings: Findings, found: Found) -> None:
    """Take up what one event holds."""
    findings.rows += found.rows
    findings.unread += found.unread
    findings.parts.update(found.parts)
    for value, kind in found.values.items():
        findings.values.setdefault(value, kind)
