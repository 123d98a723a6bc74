"""Codex's response items, put together to the messages they were.

One answer of the model is several lines: reasoning, a text, its calls. They
become one reply, and the results of its calls follow it. A reply ends where
the model speaks again behind a result, where the user does, and where a turn
ends; until then it is held, because what comes can still be part of it: its
usage, or that it was aborted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.adapter import Said

if TYPE_CHECKING:
    from agentmem_cli.operations.imports.adapter import Item
    from agentmem_cli.session.codec import JSON, Object


class Turns:
    """The messages of a rollout, as they come to be whole."""

    __slots__ = (
        "_asked",
        "_behind",
        "_line",
        "_parts",
        "_raw",
        "_stop",
        "_time",
        "_usage",
        "found",
        "origin",
    )

    def __init__(self) -> None:
        """Start without a message."""
        self.found: list[Item] = []
        """What is whole and was not taken yet, in order."""
        self.origin: Object = {}
        """Where replies come from: ``provider`` and ``model``."""
        self._parts: list[JSON] | None = None
        self._behind: list[Item] = []
        self._asked: list[str] = []
        self._line = 0
        self._time: int | None = None
        self._raw = ""
        self._usage: JSON = None
        self._stop: str | None = None

    def reply(self, line: int, time: int | None, parts: list[JSON], raw: str) -> None:
        """Add *parts* of the model: to the reply that is held, unless a result stands between."""
        held = self._parts
        if held is not None and not any(isinstance(each, Said) for each in self._behind):
            held.extend(parts)
            return
        self.flush()
        self._line, self._time, self._raw = line, time, raw
        self._parts = parts

    def asked(self, call: str) -> None:
        """Note a call of the reply that is held."""
        self._asked.append(call)

    def result(self, said: Said, call: str) -> None:
        """Add the result of the call *call*."""
        if call in self._asked:
            self._asked.remove(call)
        self.beside(said)

    def beside(self, item: Item) -> None:
        """Add what ends no reply."""
        (self.found if self._parts is None else self._behind).append(item)

    def spoken(self, item: Item) -> None:
        """Add a message that is none of the model's, or what ends a turn."""
        self.flush()
        self.found.append(item)

    def used(self, usage: Object) -> None:
        """Note the usage of the reply that is held; told again, the last one counts."""
        if self._parts is not None:
            self._usage = usage

    def aborted(self) -> None:
        """The turn was cut off: what the reply that is held still asks for, nobody owes."""
        if self._asked:
            self._stop = "aborted"

    def flush(self, *, open_: bool = False) -> None:
        """End the reply that is held; with *open_* the source's end did, not the source."""
        if self._parts is None:
            return
        message: Object = {"role": "assistant", "content": self._parts}
        if self.origin:
            message["origin"] = self.origin
        if self._stop is not None:
            message["stop"] = self._stop
        if self._usage is not None:
            message["usage"] = self._usage
        said = Said(self._line, self._time, message, raw=self._raw, open=open_)
        self.found.append(said)
        self.found.extend(self._behind)
        self._parts = self._usage = self._stop = None
        self._behind.clear()
        self._asked.clear()


class Step:
    """A record that may have to wait for what an event before it turns out to be."""

    __slots__ = ("carried", "event", "item", "kind", "line", "role", "text", "time")

    def __init__(self, line: int, time: int | None, kind: str, item: Object) -> None:
        """Keep the record *item*, of the type *kind*."""
        self.line = line
        self.time = time
        self.kind = kind
        self.item = item
        self.role = ""
        """Whose words it may be: ``user`` or ``assistant``; empty: nobody's."""
        self.text: tuple[str, ...] = ()
        """What it says: whole, and part by part."""
        self.event = False
        """Whether it is an event, which may only mirror words."""
        self.carried: Item | None = None
        """What is made of it, where that is known already."""


LOOKAHEAD: Final = 64
"""Records within which the response item that an event mirrors is looked for behind it."""


class Doubles:
    """Events that mirror a message, and those that are all there is of it.

    Codex writes what is said twice: as a response item and, before or behind
    it in the same turn, as an event. So an event counts where no response
    item of its turn says the same; prompt by prompt and reply by reply.
    """

    __slots__ = ("_late", "_pending", "_queue", "_seen", "dropped")

    def __init__(self) -> None:
        """Start at a rollout's beginning."""
        self._queue: list[Step] = []
        self._pending = 0
        self._seen: dict[str, list[tuple[str, ...]]] = {"user": [], "assistant": []}
        self._late: dict[str, list[str]] = {"user": [], "assistant": []}
        self.dropped: list[Step] = []
        """Records that said again what was said; not yet counted."""

    @property
    def waits(self) -> bool:
        """Whether an event waits to be known as a double or not."""
        return self._pending > 0

    def feed(self, step: Step) -> list[Step]:
        """Take the next record; return those that are to be used now, in order."""
        if step.role:
            if self._is_double(step):
                self.dropped.append(step)
                return []
            self._turn_to("user" if step.role == "assistant" else "assistant")
            self._pending += step.event
        if not self._queue and not self._pending:
            return [step]
        self._queue.append(step)
        if len(self._queue) > LOOKAHEAD:
            self._settle("user")
            self._settle("assistant")
        return self._drain()

    def answered(self) -> list[Step]:
        """The model said or did something: prompts before it are whole."""
        self._settle("user")
        return self._drain()

    def end(self) -> list[Step]:
        """A turn begins or ends, or the source does: nothing before is mirrored behind."""
        for role in ("user", "assistant"):
            self._settle(role)
            self._seen[role].clear()
            self._late[role].clear()
        return self._drain()

    def _is_double(self, step: Step) -> bool:
        """Whether *step* says again what a record before it said."""
        role = step.role
        if step.event:
            for index, texts in enumerate(self._seen[role]):
                if _says(texts, step.text[0]):
                    del self._seen[role][index]
                    return True
            return False
        for event in self._late[role]:
            if _says(step.text, event):
                self._late[role].remove(event)
                return True
        for index, waiting in enumerate(self._queue):
            if waiting.event and waiting.role == role and _says(step.text, waiting.text[0]):
                del self._queue[index]
                self.dropped.append(waiting)
                self._pending -= 1
                return False
        self._seen[role].append(step.text)
        return False

    def _turn_to(self, other: str) -> None:
        """What the one says ends what the *other* said."""
        self._settle(other)
        self._late[other].clear()
        self._seen[other].clear()

    def _settle(self, role: str) -> None:
        """Let the waiting events of *role* count."""
        if not self._pending:
            return
        for step in self._queue:
            if step.event and step.role == role:
                step.event = False
                self._late[role].append(step.text[0])
                self._pending -= 1

    def _drain(self) -> list[Step]:
        if self._pending:
            return []
        ready, self._queue = self._queue, []
        return ready


def _says(texts: tuple[str, ...], event: str) -> bool:
    """Whether a response item that says *texts* is what *event* mirrors."""
    if event in texts:
        return True
    return bool(event) and bool(texts) and texts[0].endswith(f"\n{event}")
