"""A store as plain lists and dicts: what stands in it now, and at each past n."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.operations.secrets.masks import MASK
from agentmem_cli.session.codec import dumps, loads
from agentmem_cli.session.keys import SESSION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.entry import Entry

LITERAL = "zq7-Hunter_Fox"
"""What is redacted."""
MASKED = "<masked>"
"""What the model says where a mask stands."""

Said = tuple[tuple[int, "JSON"], ...]
"""Messages with their ids."""
Blocks = dict[str, str]


class Change(NamedTuple):
    """A change that an undo can take back, and what stood before it."""

    n: int
    before: object


class Moment(NamedTuple):
    """What stands behind the record ``n``, until the next moment."""

    n: int
    state: object
    stack: tuple[Change, ...]


class Line:
    """The history of one thing: of an agent's messages, or of a session's blocks."""

    def __init__(self, empty: object, moments: Iterable[Moment] = ()) -> None:
        self.empty = empty
        self.moments = [*moments]

    @property
    def now(self) -> Moment:
        return self.moments[-1] if self.moments else Moment(-1, self.empty, ())

    def at(self, n: int) -> Moment:
        """What the records with a smaller n left."""
        found = [moment for moment in self.moments if moment.n < n]
        return found[-1] if found else Moment(-1, self.empty, ())

    def becomes(self, n: int, state: object) -> None:
        """A change whose first record is *n*, to be undone like any."""
        self.moments.append(Moment(n, state, (*self.now.stack, Change(n, self.now.state))))

    def goes_back(self, n: int) -> None:
        """The newest change that stands is undone by the record *n*."""
        *rest, last = self.now.stack
        self.moments.append(Moment(n, last.before, tuple(rest)))

    def masked(self) -> None:
        self.moments = [
            Moment(
                each.n,
                masked(each.state),
                tuple(Change(done.n, masked(done.before)) for done in each.stack),
            )
            for each in self.moments
        ]

    def before(self, n: int) -> Line:
        """A copy of it that ends before *n*."""
        return Line(self.empty, [moment for moment in self.moments if moment.n < n])

    def cuts(self) -> set[int]:
        """Every n at which it changes, and the ones behind."""
        return {moment.n + step for moment in self.moments for step in (0, 1)}


class Agent(Line):
    """An agent: its messages."""

    def __init__(self, moments: Iterable[Moment] = ()) -> None:
        super().__init__((), moments)

    @property
    def said(self) -> Said:
        state = self.now.state
        assert isinstance(state, tuple)
        return state

    @property
    def given(self) -> set[int]:
        """Every id that a message of it ever had."""
        states = [moment.state for moment in self.moments]
        return {id_ for state in states if isinstance(state, tuple) for id_, _ in state}

    def copy(self, n: int) -> Agent:
        return Agent(self.before(n).moments)


class Kept:
    """One session."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.agents: dict[str, Agent] = {}
        self.blocks = Line({})
        self.labels: dict[str, str] = {}
        self.title: str | None = None
        """None: whatever it is."""
        self.main: str | None = None
        self.lines: int = 0
        """Lines of the transcript that it was imported from; 0: it was not."""
        self.rewritten = False
        """Whether it was changed since in a way that its transcript does not go on with."""
        self.hurt: str | None = None
        """What kind of damage was done to it, and not mended yet."""
        self.where: str = SESSION
        """The log that is damaged."""

    @property
    def is_whole(self) -> bool:
        return self.hurt is None

    @property
    def is_strict(self) -> bool:
        """Whether a strict reader takes it."""
        return self.hurt in (None, "torn", "cut", "meta")

    def masked(self) -> None:
        for line in (*self.agents.values(), self.blocks):
            line.masked()
        self.labels = {key: value.replace(LITERAL, MASKED) for key, value in self.labels.items()}
        self.title = None if self.title is None else self.title.replace(LITERAL, MASKED)


def masked(state: object) -> object:
    """The state, with the literal masked in every text of it."""
    if isinstance(state, str):
        return state.replace(LITERAL, MASKED)
    if isinstance(state, dict):
        return {masked(key): masked(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(masked(each) for each in state)
    return state


def plain(value: JSON) -> JSON:
    """A value as the model says it: any mask as `MASKED`."""
    data = dumps(value)
    return loads(MASK.sub(MASKED.encode(), data)) if b"[REDACTED:" in data else value


def said_in(entries: Iterable[Entry]) -> Said:
    """Entries as the model says them."""
    return tuple((entry.id, plain(entry.message.value)) for entry in entries)


def blocks_in(saved: dict[str, JSON]) -> Blocks:
    """Blocks of core memory among saved values."""
    found = {}
    for key, value in saved.items():
        if key.startswith("core_memory."):
            assert isinstance(value, dict)
            found[key.partition(".")[2]] = str(plain(value["content"]))
    return found


def cleared(said: Said, text: str) -> Said:
    """Messages of which every tool output but the last message's is cleared."""
    *old, last = said
    return (*((id_, _cleared(value, text)) for id_, value in old), last)


def _cleared(value: JSON, text: str) -> JSON:
    assert isinstance(value, dict)
    content = value["content"]
    if not isinstance(content, list):
        return value
    place: JSON = [{"type": "text", "text": text}]
    items: list[JSON] = []
    for part in content:
        assert isinstance(part, dict)
        made: Object = {**part, "content": place} if part["type"] == "toolresult" else part
        items.append(made)
    return {**value, "content": items}
