"""What in some bytes is a secret: with `loading`, all that knows which engine looks.

The engine is the package ``kingfisher-secret-scanner``. It holds a catalogue of
vendors' token forms, compiles it with the rules of ``rules.yaml`` and matches all
of them in one pass. What it finds is then judged by `policy`: a match is a
place where a secret may stand, and not yet one.

Only its scanner is used. It never touches the network; its validator and its
revoker, which do, are not imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.limits import FINDINGS_MAX
from agentmem_cli.operations.secrets.encoded import decoded
from agentmem_cli.operations.secrets.escaped import unescaped
from agentmem_cli.operations.secrets.kinds import kind_of
from agentmem_cli.operations.secrets.loading import load
from agentmem_cli.operations.secrets.pii import finders
from agentmem_cli.operations.secrets.policy import judge
from agentmem_cli.operations.secrets.spans import RANK, Confidence, Span, Spans, merged

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.operations.secrets.loading import Match

__all__ = ["Confidence", "Detector", "Span", "Spans"]

DEPTH_MAX = 2
"""Layers of base64 that are looked into: what stands in one, and in one in that."""


class Detector:
    """Finds secrets; used by any number of threads.

    Args:
        groups: What else is looked for, of `pii.GROUPS`.
        cache_dir: Where the engine keeps its compiled rules. The first run makes it
            (some 5 s); None keeps nothing, so that every start takes that long.
        slow: Called once where the rules must be compiled.

    Raises:
        EngineMissing: The engine's package is not installed.
        ValueError: A name in *groups* is none.
    """

    def __init__(
        self,
        *,
        groups: frozenset[str] = frozenset(),
        cache_dir: Path | None = None,
        slow: Callable[[], None] | None = None,
    ) -> None:
        self._private = finders(groups)
        self._groups = groups
        self._load = load(cache_dir, slow)

    @property
    def is_ready(self) -> bool:
        """Whether a look begins at once; else it waits for the rules."""
        return self._load.is_ready

    def kinds(self) -> frozenset[str]:
        """Return the kinds that this one finds."""
        return self._groups.union(
            kind_of(str(rule["id"])) for rule in self._load.result().rules.metadata()
        )

    def scan(self, data: bytes) -> Spans:
        """Return the secrets in *data*, in their order.

        Where matches overlap, all that they cover is one span, named by the surest.
        """
        return self._look(data, depth=0)

    def _look(self, data: bytes, depth: int) -> Spans:
        matches = self._load.result().scan(data, timeout=None, cancellation=None)
        found = self._unescaped(data, depth) if depth < DEPTH_MAX else []
        if not matches and not self._private and not found:
            return Spans()
        for match in matches[:FINDINGS_MAX]:
            found.extend(self._judge(data, match, depth))
        for finder in self._private:
            found.extend(finder(data))
        spans = merged(found)
        spans.capped = max(0, len(matches) - FINDINGS_MAX)
        return spans

    def _unescaped(self, data: bytes, depth: int) -> list[Span]:
        """Return what is a secret only for whoever reads escapes of URLs and HTML."""
        found = []
        for text in unescaped(data):
            for each in self._look(text.data, depth + 1):
                place = text.place(each.start, each.end)
                if place is not None:
                    found.append(each._replace(start=place[0], end=place[1]))
        return found

    def _judge(self, data: bytes, match: Match, depth: int) -> list[Span]:
        place = match.location
        start, end = place["start_offset"], place["end_offset"]
        if not match.is_base64_encoded:
            return judge(data, start, end, match.rule_id, visible=match.visible)
        # The offsets are those of the whole encoded text, so its inside is looked at anew.
        plain = decoded(data[start:end]) if depth < DEPTH_MAX else None
        if plain is None:
            return []
        sure = [each for each in self._look(plain, depth + 1) if each.confidence != "low"]
        if not sure:
            return []
        best = max(sure, key=lambda each: RANK[each.confidence])
        return [Span(start, end, best.kind, best.confidence, best.rule)]
