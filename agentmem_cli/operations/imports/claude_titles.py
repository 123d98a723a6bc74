"""The titles of a Claude Code session: one that a person gave, one by the model, old summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.adapter import Kept, Noted
from agentmem_cli.session.keys import TITLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.operations.imports.adapter import Item, Line

_FIELDS: Final = {
    "custom-title": ("customTitle", 3),
    "ai-title": ("aiTitle", 2),
    "summary": ("summary", 1),
}
"""The records that give a title: the field it stands in, and which of them goes first."""


class Titles:
    """Which title a transcript has so far.

    A summary can be that of another conversation: it is this one's where the
    record that it names is here. One alone at the head of a file, where no
    record has come yet, is taken until there is a better one.
    """

    def __init__(self) -> None:
        """Begin without one."""
        self._rank = -1
        self._told: dict[str, str] = {}
        self._waiting: dict[str, tuple[int, str]] = {}
        self._headed = False
        self.waits = True
        """Whether `leaf` is to be called."""

    def items(
        self, line: Line, kind: str, time: int | None, agent: str, knows: Callable[[str], bool]
    ) -> list[Item]:
        """Return what a record tells; nothing where it gives no title, or the same one again."""
        field, rank = _FIELDS.get(kind, ("", 0))
        text = line.value.get(field)
        if not isinstance(text, str) or not text.strip() or self._told.get(kind) == text:
            return []
        self._told[kind] = text
        found: list[Item] = [Noted(line.number, time, f"import.{kind}", {"title": text}, "", agent)]
        leaf = line.value.get("leafUuid")
        if kind == "summary" and isinstance(leaf, str) and not knows(leaf):
            self._waiting[leaf] = (line.number, text)
            self.waits = True
            return found
        return found + self._title(line.number, time, text, rank, agent)

    def leaf(self, uuid: str, agent: str) -> list[Item]:
        """Return what follows from the record *uuid* being here."""
        found: list[Item] = []
        if not self._headed:
            self._headed = True
            if len(self._waiting) == 1:
                ((number, text),) = self._waiting.values()
                found = self._title(number, None, text, 0, agent)
        if self._waiting and uuid in self._waiting:
            number, text = self._waiting.pop(uuid)
            found += self._title(number, None, text, 1, agent)
        self.waits = bool(self._waiting)
        return found

    def _title(self, number: int, time: int | None, text: str, rank: int, agent: str) -> list[Item]:
        if rank < self._rank:
            return []
        self._rank = rank
        if self._told.get("") == text:
            return []
        self._told[""] = text
        return [Kept(number, time, TITLE, text, "", agent)]
