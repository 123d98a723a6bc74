"""Which format a source has: by what stands in it, never by its name or its first line alone."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import NoMessageYet, Unrecognised, UsageError
from agentmem_cli.operations.imports.adapter import Tally
from agentmem_cli.operations.imports.claude import ClaudeAdapter
from agentmem_cli.operations.imports.codex import CodexAdapter
from agentmem_cli.operations.imports.foreign import ForeignFile, brief, read_lines
from agentmem_cli.operations.imports.openai import OpenAIMessagesAdapter
from agentmem_cli.operations.imports.pi import PiAdapter
from agentmem_cli.operations.imports.report import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Adapter
    from agentmem_cli.session.codec import Object

ADAPTERS: Final[tuple[Adapter, ...]] = (
    PiAdapter(),
    ClaudeAdapter(),
    CodexAdapter(),
    OpenAIMessagesAdapter(),
)
"""Every format that can be imported. Where two are equally sure, the first one has it."""

HEAD_RECORDS: Final = 64
"""Records that are looked at where the kind is found among them."""

SEARCH_RECORDS: Final = 2_000
"""Records that are looked at where it is not."""

_CERTAIN: Final = 2


def kinds() -> tuple[str, ...]:
    """Return the words that ``--from`` takes."""
    return tuple(adapter.kind for adapter in ADAPTERS)


def quiet_of(kind: str) -> frozenset[str]:
    """Return `Adapter.quiet` of the adapter of a *kind*."""
    return next((each.quiet for each in ADAPTERS if each.kind == kind), frozenset())


def for_many() -> tuple[Adapter, ...]:
    """Return adapters for many sources in one go: they look at a folder around them once."""
    return tuple(
        CodexAdapter(remembers=True) if isinstance(adapter, CodexAdapter) else adapter
        for adapter in ADAPTERS
    )


def choose(
    path: Path, kind: str | None = None, adapters: Sequence[Adapter] = ADAPTERS
) -> tuple[Adapter, tuple[Object, ...]]:
    """Find the adapter for the file *path*.

    Args:
        path: The source. It is read only.
        kind: The adapter's kind, if that is to be forced.
        adapters: `ADAPTERS`, or what `for_many` gave.

    Returns:
        The adapter, and the records at the source's head.

    Raises:
        OSError: The source cannot be read.
        UsageError: There is no such *kind*.
        Unrecognised: No adapter knows the source, or one does but not that of the
            *kind*; `NoMessageYet` where it is empty.
    """
    forced = None if kind is None else _forced(kind, adapters)
    try:
        return _recognised(path, forced, adapters)
    except Unrecognised:
        # Why: where a session's own file is empty or in ruins, its agents' are there yet.
        for adapter in adapters:
            if not isinstance(adapter, ClaudeAdapter) or forced not in (None, adapter):
                continue
            if adapter.has_agents(path):
                return adapter, ()
        raise


def _recognised(
    path: Path, forced: Adapter | None, adapters: Sequence[Adapter]
) -> tuple[Adapter, tuple[Object, ...]]:
    look = _Look(forced)
    with ForeignFile(path) as source:
        look.at(source)
        size = source.size
    tally, head, scores = look.tally, look.head, look.scores
    if size == 0 or not (tally.records or tally.lost or tally.torn):
        msg = f"{path}: 0 records (the file is {size} bytes long)"
        raise NoMessageYet(msg, hint="Nothing was imported.")
    best = max(adapters, key=lambda adapter: scores[adapter.kind])
    if forced is not None:
        # Why not where nothing knows it: what is read of it then tells whether it is of this kind.
        if scores[best.kind] and not scores[forced.kind]:
            raise _not_of_kind(path, forced.kind, best.kind, tally.lines)
        return forced, tuple(head)
    if not scores[best.kind]:
        msg = f"{path}: {plural(tally.lines)}, no message recognised: {_why_not(tally)}"
        hint = f"Known kinds: {', '.join(kinds())}; --from KIND forces one."
        raise Unrecognised(msg, hint=hint)
    return best, tuple(head)


def _why_not(tally: Tally) -> str:
    """Say why nothing was recognised; where nothing could be read, by what is wrong with it."""
    told = "not a known kind of transcript"
    if tally.records or not tally.flaws:
        return told
    return f"{told} ({tally.flaws[0].why})"


def _not_of_kind(path: Path, forced: str, looks: str, lines: int) -> Unrecognised:
    msg = f"{path}: {plural(lines)}, not one of them a record of {forced}; it looks like {looks}"
    return Unrecognised(msg, hint="Nothing was imported. Leave --from out, and it is read as that.")


class _Enough(Exception):
    """The source's beginning has told its kind."""


class _Look:
    """A look at a source's beginning."""

    def __init__(self, forced: Adapter | None) -> None:
        self.tally = Tally()
        self.head: list[Object] = []
        self.scores = dict.fromkeys(kinds(), 0)
        self._rivals: Sequence[Adapter] = ADAPTERS
        self._forced = None if forced is None else forced.kind
        self._most = SEARCH_RECORDS if forced is None else None
        self._sure = False

    def at(self, source: ForeignFile) -> None:
        with suppress(_Enough):
            lines = read_lines(self._chunks(source), lambda _: True, self.tally)
            for count, line in enumerate(lines, 1):
                self._record(line.value, count)
                # Why to the end where it is forced: what is refused then holds no such record.
                if count >= HEAD_RECORDS and (self._sure or count == self._most):
                    return

    def _chunks(self, source: ForeignFile) -> Iterator[bytes]:
        for index, chunk in enumerate(brief(source.lent_chunks())):
            if index and self._sure:
                # Why: the line that is cut here can be as large as an image.
                raise _Enough
            yield chunk

    def _record(self, value: Object, count: int) -> None:
        if count <= HEAD_RECORDS:
            self.head.append(value)
        for index, adapter in enumerate(self._rivals):
            score = adapter.recognises(value)
            self.scores[adapter.kind] = max(self.scores[adapter.kind], score)
            if self._forced is not None:
                self._sure = self._sure or (score > 0 and adapter.kind == self._forced)
            elif score >= _CERTAIN:
                # Why: of equally sure ones the first has it, so those behind need not look on.
                self._rivals = self._rivals[:index]
                self._sure = True
                return


def check_kind(kind: str | None) -> None:
    """See that ``--from`` names a kind, if it is given.

    Raises:
        UsageError: There is no such *kind*.
    """
    if kind is not None:
        _forced(kind, ADAPTERS)


def _forced(kind: str, adapters: Sequence[Adapter]) -> Adapter:
    for adapter in adapters:
        if adapter.kind == kind:
            return adapter
    msg = f"no such kind of transcript: {kind!r}"
    raise UsageError(msg, hint=f"Known kinds: {', '.join(kinds())}.")
