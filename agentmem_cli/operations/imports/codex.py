"""Codex's rollouts: JSON lines, one after another.

A rollout says most things twice, as response items (what the model saw) and
as events (what the screen showed). Response items are what is read; an event
counts where no response item says the same.

Source: Codex CLI's protocol and history crates as of 2026; recorded rollouts
of 2025, whose lines are flat; of its first months, in TypeScript, one JSON
document ``{"session": header, "items": [...]}``.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.adapter import MAIN, Said, Tally, Transcript
from agentmem_cli.operations.imports.codex_notes import Around, copied_from
from agentmem_cli.operations.imports.codex_parts import COMPACTIONS, ITEMS
from agentmem_cli.operations.imports.codex_reading import QUIET, RECORDS, Reading
from agentmem_cli.operations.imports.codex_tree import (
    document_of,
    family_of,
    is_header,
    origin_of,
    tree_around,
)
from agentmem_cli.operations.imports.foreign import ForeignFile, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Item, Line
    from agentmem_cli.operations.imports.codex_notes import Copied
    from agentmem_cli.operations.imports.codex_tree import Rollout, Tree
    from agentmem_cli.session.codec import Object

KIND: Final = "codex"

_CERTAIN: Final = 2
_POSSIBLE: Final = 1
_FLAT: Final = ITEMS - COMPACTIONS
"""Response items that old rollouts have as whole lines."""


class CodexAdapter:
    """The adapter of Codex's rollouts."""

    kind = KIND
    quiet = QUIET

    def __init__(self, *, remembers: bool = False) -> None:
        """Make one; with *remembers* it looks at each folder once only, for many sources."""
        self._trees: dict[Path, Tree] | None = {} if remembers else None

    def recognises(self, value: Object) -> int:
        """How sure a record makes it, as `Adapter.recognises` says."""
        kind = value.get("type")
        if document_of(value) is not None:
            return _CERTAIN
        if isinstance(value.get("payload"), dict):
            if isinstance(kind, str) and kind in RECORDS:
                return _CERTAIN
            return _POSSIBLE if "timestamp" in value else 0
        if is_header(value) or value.get("record_type") == "state":
            return _CERTAIN
        return _POSSIBLE if _is_flat(value) else 0

    def open(self, path: Path, head: tuple[Object, ...]) -> Transcript:
        """Return the session that the rollout at *path* belongs to.

        A child thread belongs to its parent's session where the parent's
        rollout lies in the same tree. *head* holds its first records.
        """
        if path.is_symlink():
            # Why: a link to a rollout is that rollout, no further file of its thread.
            path = path.resolve()
        own = origin_of(path, head)
        tree = tree_around(path, self._trees)
        main, children = family_of(path.absolute(), own, tree)
        streams = [CodexStream(main, tree, MAIN, None, main.path.name)]
        agents = [(child, parent or MAIN) for child, parent in children]
        streams += _agents(tree, agents, main.path.name)
        title = tree.title_of(main.origin.thread)
        own_name = tree.name_of(main)
        above = main.origin.parent
        if above is None or own_name != main.origin.thread:
            return Transcript(KIND, own_name, tuple(streams), title)
        agents = [(main, MAIN)]
        agents += [(child, parent or main.origin.thread) for child, parent in children]
        whole = Transcript(KIND, above, tuple(_agents(tree, agents, "")))
        return Transcript(KIND, own_name, tuple(streams), title, whole)


def _agents(
    tree: Tree, agents: Iterable[tuple[Rollout, str]], main_name: str
) -> Iterator[CodexStream]:
    """Yield the rollouts of *agents*, each with the agent that spawned it."""
    names = {main_name}
    for child, parent in agents:
        thread = child.origin.thread
        name = child.path.name
        if name in names:
            name = f"{thread}/{name}"
        names.add(name)
        yield CodexStream(child, tree, thread, parent, name)


class CodexStream:
    """One rollout of a session."""

    def __init__(
        self, rollout: Rollout, tree: Tree, agent: str, parent: str | None, name: str
    ) -> None:
        """Keep where it lies and whose it is; the arguments are `Stream`'s fields."""
        self.path = rollout.path
        self.name = name
        self.agent = agent
        self.parent = parent
        self.alone = None if parent is None else agent
        self._rollout = rollout
        self._tree = tree

    def accepts(self, value: Object) -> bool:
        """Whether *value*, salvaged from a damaged line, is a record of a rollout."""
        kind = value.get("type")
        if isinstance(value.get("payload"), dict):
            return isinstance(kind, str)
        return is_header(value) or _is_flat(value) or document_of(value) is not None

    def items(self, lines: Iterable[Line], tally: Tally) -> Iterator[Item]:
        """Yield what the records are, as `Stream.items` says."""
        thread = self._rollout.origin.thread
        double_of = None if self._tree.is_first(self._rollout) else thread
        reading = Reading(tally, Around(self._copied(), double_of))
        yield from reading.items(_unfolded(lines, tally))

    def _copied(self) -> Copied | None:
        """Return what this rollout copied of the one it was forked from."""
        parent = self._tree.first_of(self._rollout.origin.forked_from)
        if parent is None or parent.path == self.path:
            return None
        copied = copied_from(parent.path, self.path)
        with ForeignFile(self.path) as source:
            lines = read_lines(source.chunks(), self.accepts, Tally())
            prefix = takewhile(lambda line: line.number <= copied.own_line, lines)
            items = Reading(Tally(), Around()).items(prefix)
            messages = sum(isinstance(item, Said) for item in items)
        return copied._replace(messages=messages)


def _unfolded(lines: Iterable[Line], tally: Tally) -> Iterator[Line]:
    """Yield *lines*, and of one that is a whole rollout its header and its items."""
    for line in lines:
        document = document_of(line.value)
        if document is None:
            yield line
            continue
        header, items = document
        yield line._replace(value=header)
        for item in items:
            if isinstance(item, dict):
                yield line._replace(value=item)
            else:
                tally.flaw(line.number, line.byte, "an item that is no object", lost=True)


def _is_flat(value: Object) -> bool:
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in _FLAT or "payload" in value:
        return False
    if kind == "message":
        return isinstance(value.get("role"), str) and "content" in value
    return not {"uuid", "sessionId", "parentId"} & value.keys()
