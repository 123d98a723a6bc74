"""What changed between two places of a session: messages, halt, values, core memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.core.differing import Difference, differences
from agentmem_cli.operations.travel import view_agent
from agentmem_cli.session.codec import same
from agentmem_cli.session.core_values import PREFIX, CoreValues
from agentmem_cli.session.counting import estimate_tokens
from agentmem_cli.session.keys import SESSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.operations.places import Place
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.lines import Damage
    from agentmem_cli.storage.directory import DirStore

ADDED: Final = "added"
GONE: Final = "gone"
EDITED: Final = "edited"
MOVED: Final = "moved"


class MessageChange(NamedTuple):
    """What became of one message."""

    change: str
    """`ADDED`, `GONE`, `EDITED` or `MOVED`."""
    before: Entry | None
    after: Entry | None

    @property
    def entry(self) -> Entry:
        """The message, as it is or was last."""
        entry = self.after if self.after is not None else self.before
        assert entry is not None
        return entry


class ValueChange(NamedTuple):
    """What became of one saved value; None: there is none."""

    log: str
    key: str
    before: JSON
    after: JSON


class Side(NamedTuple):
    """The conversation at one of the two places."""

    place: Place
    n: int
    """The place right behind the last record that counts."""
    messages: int
    tokens: int
    halt: str | None


class Differences(NamedTuple):
    """All that changed."""

    first: Side
    second: Side
    messages: tuple[MessageChange, ...]
    """In the conversation's order."""
    values: tuple[ValueChange, ...]
    core: tuple[tuple[str, Difference], ...]
    """Each with the log that it is in."""
    damages: dict[str, list[Damage]]
    """By log, what could not be read."""

    @property
    def is_nothing(self) -> bool:
        """Whether both are the same."""
        halts = self.first.halt == self.second.halt
        return halts and not (self.messages or self.values or self.core)

    def count(self, change: str) -> int:
        """Return how many messages changed so."""
        return sum(each.change == change for each in self.messages)


def compare(store: DirStore, log: str, first: Place, second: Place) -> Differences:
    """Compare a session at two places; damage is read around, and named.

    Args:
        store: The session.
        log: The agent whose conversation is compared.
        first: The one place.
        second: The other one.

    Raises:
        AmbiguousError: A place names more than one state.
        SessionError: The operating system refused.
    """
    folds = [view_agent(store, log, place) for place in (first, second)]
    one, other = folds
    found = tuple(_messages(one.conversation.entries, other.conversation.entries))
    values = list(_values(log, one.saved, other.saved))
    core = [(log, each) for each in _core(one, other)]
    damages = {log: list(other.damages)}
    if log != SESSION and SESSION in store.logs():
        before, after = (view_agent(store, SESSION, place) for place in (first, second))
        values += _values(SESSION, before.saved, after.saved)
        core += [(SESSION, each) for each in _core(before, after)]
        damages[SESSION] = list(after.damages)
    sides = [_side(place, fold) for place, fold in zip((first, second), folds, strict=True)]
    return Differences(sides[0], sides[1], found, tuple(values), tuple(core), damages)


def _side(place: Place, fold: LogFold) -> Side:
    conversation = fold.conversation
    tokens = estimate_tokens(entry.stored for entry in conversation.entries)
    n = place.n if place.n is not None else fold.last_n + 1
    return Side(place, n, len(conversation), tokens, conversation.halt)


def _messages(old: Sequence[Entry], new: Sequence[Entry]) -> Iterator[MessageChange]:
    """Yield the changes in the order of both, what went before what came."""
    there = {entry.id: entry for entry in new}
    before = {entry.id: entry for entry in old}
    passed: set[int] = set()
    at = 0
    for entry in old:
        if entry.id not in there:
            yield MessageChange(GONE, entry, None)
            continue
        while at < len(new) and (new[at].id not in before or new[at].id in passed):
            if new[at].id not in passed:
                yield MessageChange(ADDED, None, new[at])
            at += 1
        after = there[entry.id]
        passed.add(entry.id)
        if at < len(new) and new[at].id == entry.id:
            at += 1
        else:
            yield MessageChange(MOVED, entry, after)
        if entry.located() != after.located() and entry.message != after.message:
            yield MessageChange(EDITED, entry, after)
    yield from (MessageChange(ADDED, None, entry) for entry in new[at:] if entry.id not in passed)


def _values(log: str, old: dict[str, JSON], new: dict[str, JSON]) -> Iterator[ValueChange]:
    for key in {**old, **new}:
        if not key.startswith(PREFIX) and not same(old.get(key), new.get(key)):
            yield ValueChange(log, key, old.get(key), new.get(key))


def _core(old: LogFold, new: LogFold) -> list[Difference]:
    return differences(CoreValues.of(old.saved), CoreValues.of(new.saved))
