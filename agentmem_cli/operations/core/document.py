"""Blocks as a text that a person edits, and what was saved as the wanted end state.

One block is its content. All of them are the text that a model sees, below a
few lines of help, so that half a document is seen to be one by its missing end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import NotCoreMemory, UsageError
from agentmem_cli.operations.core.changing import (
    Changed,
    Current,
    Request,
    Wish,
    change,
    merged,
    side_of,
)
from agentmem_cli.operations.core.exchange import decode
from agentmem_cli.operations.core.lines import THEIRS, YOURS, merge
from agentmem_cli.operations.core.looking import digest, encode, hash_of, rendered
from agentmem_cli.operations.core.planning import draft
from agentmem_cli.operations.core.refusals import (
    BlockChanged,
    BlockProtected,
    MergeConflict,
    NotABlock,
)
from agentmem_cli.session.core_memory import MemoryBlock, MemoryBlockType
from agentmem_cli.session.core_text import BEGIN, parse, render
from agentmem_cli.session.core_values import key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.operations.core.history import Edit
    from agentmem_cli.operations.core.planning import Wanted
    from agentmem_cli.session.core_values import CoreValues, StoredBlock
    from agentmem_cli.storage.directory import DirStore

_HELP: Final = """\
# All blocks as they are to be; a block that is taken out here is removed.
# Types: system, persona, human, facts, goals, scratch; label="..." may follow.
# In a content, &lt; before block or core_memory stands for <.
"""

_EMPTYING: Final = (
    "agentmem core set SESSION TYPE '' empties a block, "
    "agentmem core remove SESSION TYPE takes it out."
)

Blocks = dict[MemoryBlockType, "StoredBlock"]


class Document(NamedTuple):
    """A text to be edited."""

    kind: MemoryBlockType | None
    """Whose block it is; None: all blocks."""
    base: Blocks
    """The blocks that it was made of."""
    data: bytes
    added_end: bool = False
    """Whether a newline was put at the end, since editors do so."""
    both_sides: bool = False
    """Whether both sides of a conflict stand in it."""


def match_of(values: CoreValues, kind: MemoryBlockType | None, request: Request) -> None:
    """See whether what is to be edited is what the caller had seen: a block, or all.

    Raises:
        BlockChanged: It is not.
    """
    if request.match is None:
        return
    found = digest(rendered(values)) if kind is None else hash_of(values.blocks.get(kind))
    if found != request.match:
        raise BlockChanged("core memory" if kind is None else f"the block {kind.value!r}", found)


def document(
    values: CoreValues, kind: MemoryBlockType | None, *, force: bool | None = False
) -> Document:
    """Return what is to be edited; a block that is not there is an empty one.

    Raises:
        NotABlock: Another program put something else there, which stays unless *force*.
        BlockProtected: It is read-only.
    """
    if kind is None:
        text = _HELP + render(values.shown()) + "\n"
        return Document(None, dict(values.blocks), encode(text))
    stored = values.blocks.get(kind)
    key = key_of(kind)
    if key in values.bad and not force:
        raise NotABlock(key, values.bad[key], forcible=force is not None)
    if stored is None:
        return of_content({}, kind, "")
    if stored.read_only:
        raise BlockProtected([kind])
    return of_content({kind: stored}, kind, stored.content)


def of_content(base: Blocks, kind: MemoryBlockType, content: str) -> Document:
    """Return a document of one block's *content*."""
    added = content != "" and not content.endswith("\n")
    return Document(kind, base, encode(f"{content}\n" if added else content), added)


class Saved(NamedTuple):
    """What a person saved: the blocks as they are to be, label and content."""

    texts: dict[MemoryBlockType, tuple[str | None, str]]


def saved(of: Document, data: bytes) -> Saved:
    """Read what was saved.

    Raises:
        UsageError: It is empty, still holds both sides of a conflict, or is no UTF-8.
        NotCoreMemory: It is half a document, or another text.
        CoreMemoryError: A block is larger than it may be.
    """
    text = decode(data, "what was saved")
    if data == of.data and not of.both_sides:
        return Saved({kind: (each.label, each.content) for kind, each in of.base.items()})
    if not text.strip() and of.data.strip():
        msg = "the editor saved an empty text"
        raise UsageError(msg, hint=_EMPTYING)
    marks = (YOURS, THEIRS)
    if of.both_sides and any(line.startswith(marks) for line in text.split("\n")):
        msg = "both sides of a conflict still stand in what was saved"
        raise UsageError(msg)
    if of.kind is not None:
        if of.added_end and text.endswith("\n"):
            text = text[:-1]
        base = of.base.get(of.kind)
        return Saved({of.kind: (None if base is None else base.label, text)})
    begin = text.find(BEGIN)
    head = text[: max(begin, 0)]
    if any(line and not line.startswith("#") for line in head.split("\n")):
        begin = 0
    begin = max(begin, 0)
    try:
        memory = parse(text[begin:].rstrip("\n"))
    except NotCoreMemory as error:
        # Why: whoever edits it looks for the place in the whole text.
        at = begin + error.at
        line = text.count("\n", 0, at) + 1
        raise NotCoreMemory(at, f"line {line}: {error.why}") from None
    return Saved(
        {block.block_type: (block.label, block.content) for block in memory.blocks_ordered()}
    )


def keep(store: DirStore, log: str, of: Document, wanted: Saved, request: Request) -> Changed:
    """Make core memory what was saved, with what others changed meanwhile where that can be.

    Raises:
        MergeConflict: Others changed the same lines meanwhile.
        BlockChanged: Others took a block out that was edited, or edited one that was taken out.
        CoreMemoryError: See `change`. Nothing was written.
    """

    def make(current: Current) -> Wish:
        blocks: Wanted = {}
        for kind in MemoryBlockType:
            if of.kind is not None and kind is not of.kind:
                continue
            base, now = of.base.get(kind), current.values.blocks.get(kind)
            made = _made(kind, base, now, wanted, current)
            if made is not None or now is not None:
                blocks[kind] = made
        return Wish(blocks)

    return change(store, log, request, make)


def _made(
    kind: MemoryBlockType,
    base: StoredBlock | None,
    now: StoredBlock | None,
    wanted: Saved,
    current: Current,
) -> StoredBlock | None:
    text = wanted.texts.get(kind)
    said = None if base is None else (base.label, base.content)
    if text == said:
        return now
    yours = None if text is None else draft(kind, text[1], text[0], like=base)
    if _same(base, now):
        return yours
    if yours is None or now is None:
        raise BlockChanged(
            f"the block {kind.value!r}",
            "none" if now is None else now.digest(),
            None if now is None else now.by,
        )
    return merged(base, yours, now, current.past)


def _same(one: StoredBlock | None, other: StoredBlock | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.digest() == other.digest()


def again(of: Document, wanted: Saved, values: CoreValues, past: Sequence[Edit]) -> Document:
    """Return the document to be edited again after a conflict, with both sides in it.

    Args:
        of: What was edited.
        wanted: What was saved.
        values: Core memory as others left it.
        past: Its changes, to tell whose the other side is.
    """
    base = dict(values.blocks)
    if of.kind is not None:
        label_and_text = wanted.texts[of.kind]
        now = base.get(of.kind)
        content = _both(of.base.get(of.kind), label_and_text[1], now, past)
        kept = {} if now is None else {of.kind: now}
        return of_content(kept, of.kind, content)._replace(both_sides=True)
    blocks: list[MemoryBlock] = []
    for kind in MemoryBlockType:
        stood, now = of.base.get(kind), base.get(kind)
        text = wanted.texts.get(kind)
        if _same(stood, now) or now is None:
            if text is not None:
                made = draft(kind, text[1], text[0], like=now)
                blocks.append(made.block)
            continue
        said = None if stood is None else (stood.label, stood.content)
        if text is None or text == said:
            blocks.append(now.block)
            continue
        both = _both(stood, text[1], now, past)
        blocks.append(now.block._replace(content=both))
    return Document(None, base, encode(_HELP + render(blocks) + "\n"), both_sides=True)


def _both(
    base: StoredBlock | None, yours: str, now: StoredBlock | None, past: Sequence[Edit]
) -> str:
    began = "" if base is None else base.content
    if now is None:
        return merge(began, yours, "", name="removed meanwhile").text
    return merge(began, yours, now.content, name=side_of(base, now, past)).text


CONFLICTS = (MergeConflict, BlockChanged)
"""What makes the editor be opened again."""
