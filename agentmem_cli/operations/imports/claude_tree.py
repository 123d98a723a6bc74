"""The tree that Claude Code's records form: only to tell what is missing or was left.

The order of a session is its file's; records that are no message hang in the
tree too, and results of calls made at once are siblings. So a branch was left
only where a prompt or a reply does not descend from the messages before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

LEFT_MAX: Final = 1_000
"""Ids of records left behind that a branch's aside names; their number is always told."""

PROMPT: Final = "prompt"
"""The mark of a prompt; a reply's is its id, and other records have none."""


class Tree:
    """The records' ids and parents."""

    def __init__(self) -> None:
        """Begin without one."""
        self._index: dict[str, int] = {}
        self._ids: list[str] = []
        self._parents: list[int] = []
        self._marks: list[str | None] = []
        self._keys: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._linked = False

    def knows(self, uuid: JSON) -> bool:
        """Whether a record with this id was added."""
        return isinstance(uuid, str) and uuid in self._index

    def repeats(self, uuid: JSON, key: int) -> bool:
        """Whether the message *uuid* was there with the same content, of which *key* tells."""
        if not isinstance(uuid, str):
            return False
        return self._keys.setdefault(uuid, key) == key and uuid in self._index

    def add(self, value: Object, agent: str, mark: str | None) -> tuple[str, Object] | None:
        """Add a record.

        Args:
            value: The record.
            agent: Whose it is.
            mark: `PROMPT`, a reply's id, or None.

        Returns:
            What is to be told of its place: the kind of an aside and its value.
        """
        uuid = value.get("uuid")
        place = len(self._ids)
        if not isinstance(uuid, str) or self._index.setdefault(uuid, place) != place:
            return None
        last = self._last.get(agent)
        parent = value.get("parentUuid") if "parentUuid" in value else self._id(last)
        told: tuple[str, Object] | None = None
        above = -1
        if isinstance(parent, str):
            self._linked = True
            above = -1 if parent == uuid else self._index.get(parent, -1)
            if above < 0:
                told = ("import.gap", {"parent": parent})
        # Why: what only stands there is no place that somebody went back to.
        if last is not None and above < 0 and (told is not None or mark is None):
            above = last
        if told is None and mark is not None and last is not None and above != last:
            told = self._left(last, above, mark)
        if mark is not None or last is None:
            self._last[agent] = place
        self._ids.append(uuid)
        self._parents.append(above)
        self._marks.append(mark)
        return told

    def _id(self, index: int | None) -> str | None:
        return None if index is None else self._ids[index]

    def _left(self, last: int, above: int, mark: str) -> tuple[str, Object] | None:
        """Tell what is left behind where a record with *mark* goes on from *above*."""
        if above < 0 and not self._linked:
            return None  # Why: a file whose records have no parents is no tree.
        left: list[int] = []
        one, other = last, above
        # Why it ends: a parent's index is always smaller than its child's.
        while one != other:
            if one > other:
                left.append(one)
                one = self._parents[one]
            else:
                other = self._parents[other]
        shared = self._marks[one] if one >= 0 else None
        own = (None, mark if mark != PROMPT else None, shared if shared != PROMPT else None)
        if all(self._marks[index] in own for index in left):
            return None
        left.reverse()
        ids: list[JSON] = [self._ids[index] for index in left[-LEFT_MAX:]]
        value: Object = {
            "parent": self._ids[above] if above >= 0 else None,
            "count": len(left),
            "left": ids,
        }
        return "import.branch", value
