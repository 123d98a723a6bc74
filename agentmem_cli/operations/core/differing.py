"""What differs between two states of core memory."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.operations.core.lines import split_lines
from agentmem_cli.session.core_memory import MemoryBlockType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.core_values import CoreValues, StoredBlock


class Difference(NamedTuple):
    """What became of one block, or of the bound."""

    block_type: MemoryBlockType | None
    """None: it is the bound."""
    before: StoredBlock | int | None
    """None: there was none."""
    after: StoredBlock | int | None

    @property
    def change(self) -> str:
        """``added``, ``removed`` or ``changed``."""
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"

    def diff(self) -> list[str]:
        """Return the lines that came and went, as a unified diff without its heads."""
        old, new = (split_lines(_content(each)) for each in (self.before, self.after))
        lines: list[str] = []
        for line in list(unified_diff(old, new))[2:]:
            lines.append(line.removesuffix("\n"))
            if not line.endswith("\n"):
                lines.append("\\ No newline at end of block")
        return lines

    def lines(self, first: str, second: str) -> Iterator[str]:
        """Yield the difference as a person reads it; the words are the two places."""
        if self.block_type is None:
            yield f"bound: {self.before} -> {self.after} bytes"
            return
        name = self.block_type.value
        yield f"--- {name} as of {first}" if self.before is not None else "--- (no block)"
        yield f"+++ {name} as of {second}" if self.after is not None else "+++ (no block)"
        for word, old, new in self._others():
            yield f"{word}: {old} -> {new}"
        yield from self.diff()

    def _others(self) -> Iterator[tuple[str, str, str]]:
        one, other = self.before, self.after
        if isinstance(one, int) or isinstance(other, int) or one is None or other is None:
            return
        told = (
            ("label", one.label, other.label),
            ("read-only", one.read_only, other.read_only),
            ("description", one.description, other.description),
        )
        for word, old, new in told:
            if old != new:
                yield word, repr(old), repr(new)

    def to_object(self) -> Object:
        """Return it as JSON shows it."""
        return {
            "type": None if self.block_type is None else self.block_type.value,
            "change": self.change,
            "before": _object(self.before),
            "after": _object(self.after),
            "diff": [*self.diff()],
        }


def _content(state: StoredBlock | int | None) -> str:
    return "" if state is None or isinstance(state, int) else state.content


def _object(state: StoredBlock | int | None) -> JSON:
    if state is None:
        return None
    return {"max_bytes": state} if isinstance(state, int) else state.to_value()


def differences(old: CoreValues, new: CoreValues) -> list[Difference]:
    """Return the blocks that are not the same in both, in the order they are shown in.

    By whom, when and why alone are no difference.
    """
    found: list[Difference] = []
    for kind in MemoryBlockType:
        before, after = old.blocks.get(kind), new.blocks.get(kind)
        same = before is after if before is None or after is None else before.says_as(after)
        if not same:
            found.append(Difference(kind, before, after))
    if old.max_bytes != new.max_bytes:
        found.append(Difference(None, old.max_bytes, new.max_bytes))
    return found
