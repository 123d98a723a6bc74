"""Which format a source has: by what stands in it, never by its name or its first line alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import Unrecognised, UsageError
from agentmem_cli.operations.imports.adapter import Tally
from agentmem_cli.operations.imports.claude import ClaudeAdapter
from agentmem_cli.operations.imports.codex import CodexAdapter
from agentmem_cli.operations.imports.foreign import ForeignFile, read_lines
from agentmem_cli.operations.imports.openai import OpenAIMessagesAdapter
from agentmem_cli.operations.imports.pi import PiAdapter
from agentmem_cli.operations.imports.report import plural

if TYPE_CHECKING:
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


def choose(path: Path, kind: str | None = None) -> tuple[Adapter, tuple[Object, ...]]:
    """Find the adapter for the file *path*.

    Args:
        path: The source. It is read only.
        kind: The adapter's kind, if that is to be forced.

    Returns:
        The adapter, and the records at the source's head.

    Raises:
        OSError: The source cannot be read.
        UsageError: There is no such *kind*.
        Unrecognised: The source is empty, or no adapter knows it.
    """
    forced = None if kind is None else _forced(kind)
    scores = dict.fromkeys(kinds(), 0)
    head: list[Object] = []
    tally = Tally()
    with ForeignFile(path) as source:
        for count, line in enumerate(read_lines(source.chunks(), lambda _: True, tally), 1):
            if count <= HEAD_RECORDS:
                head.append(line.value)
            for adapter in ADAPTERS:
                scores[adapter.kind] = max(scores[adapter.kind], adapter.recognises(line.value))
            sure = forced is not None or max(scores.values()) >= _CERTAIN
            if count >= (HEAD_RECORDS if sure else SEARCH_RECORDS):
                break
        size = source.size
    if size == 0 or not (tally.records or tally.lost or tally.torn):
        msg = f"{path}: 0 records (the file is {size} bytes long)"
        raise Unrecognised(msg, hint="Nothing was imported.")
    if forced is not None:
        return forced, tuple(head)
    best = max(ADAPTERS, key=lambda adapter: scores[adapter.kind])
    if not scores[best.kind]:
        msg = (
            f"{path}: {plural(tally.lines)}, no message recognised: not a known kind of transcript"
        )
        hint = f"Known kinds: {', '.join(kinds())}; --from KIND forces one."
        raise Unrecognised(msg, hint=hint)
    return best, tuple(head)


def _forced(kind: str) -> Adapter:
    for adapter in ADAPTERS:
        if adapter.kind == kind:
            return adapter
    msg = f"no adapter for {kind!r}"
    raise UsageError(msg, hint=f"Known kinds: {', '.join(kinds())}.")
