"""What an adapter is, and what it yields.

An adapter knows one foreign format. It turns a source into a stream of items
in the source's own order and counts the rest; it numbers nothing, writes
nothing, and knows nothing of blobs, maps or sessions. `writing` does that for
every format alike.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from agentmem_cli.session.author import Author
    from agentmem_cli.session.codec import JSON, Object

MAIN: Final = "main"
"""The name of the main agent's log in an imported session."""

CWD: Final = "agentmem.cwd"
"""The saved value (in the main agent's log) of the folder the session worked in."""

FLAWS_MAX: Final = 200
"""Flaws that are kept one by one; beyond them only their number grows."""


class Said(NamedTuple):
    """A message. Its fields are the format's own; ``message`` must not change afterwards."""

    line: int
    """The source line it came from, counted from 1 (of several: the first)."""
    time: int | None
    """The source's time, ms since 1970-01-01 UTC; None: the source does not say."""
    message: Object
    """The message as an entry holds it; images as base64 data."""
    author: Author | None = None
    """None: what the user typed, the model's reply, a tool's result."""
    raw: str = ""
    """The source's own id of the record, where it has one."""
    agent: str = MAIN
    """The log it goes into, as the source names it; made safe by the writer."""
    open: bool = False
    """Whether later lines of a growing source may still change it."""
    attached: tuple[tuple[Object, Path], ...] = ()
    """Parts of the message whose data is to be a blob of the file's bytes. A file that
    cannot be read leaves its part as it is. Links are not followed in the last step only."""
    awaited: tuple[str, ...] = ()
    """Files beside the source, as it calls them, that the message refers to and that are not
    to be had. Once `Stream.finds` finds one, the same line gives the message with it."""


class Noted(NamedTuple):
    """A record that matters for reading and is no message: it becomes an aside."""

    line: int
    """As in `Said`."""
    time: int | None
    """As in `Said`."""
    kind: str
    """The aside's kind, ``import.<type>``."""
    value: Object
    """The aside's value; the writer puts the line in front."""
    raw: str = ""
    """As in `Said`."""
    agent: str = MAIN
    """As in `Said`."""


class Kept(NamedTuple):
    """A saved value of an agent: its title, its model, its folder."""

    line: int
    """As in `Said`."""
    time: int | None
    """As in `Said`."""
    key: str
    """The saved value's key."""
    value: JSON
    """The saved value."""
    raw: str = ""
    """As in `Said`."""
    agent: str = MAIN
    """As in `Said`."""


Item: TypeAlias = Said | Noted | Kept
"""One thing that an adapter found."""


class Line(NamedTuple):
    """One record of a foreign JSON-lines file."""

    number: int
    """The line it stands on, counted from 1. Two records can share one."""
    value: Object
    """The record."""
    byte: int | None
    """Where the line begins in the source, in bytes from 0; None as in `Flaw`."""


class Flaw(NamedTuple):
    """A place in a source that is not as it should be."""

    line: int
    """Counted from 1."""
    byte: int | None
    """Where in the source, in bytes from 0; None in a source that is not UTF-8."""
    why: str
    """What is wrong, for a person."""
    lost: bool
    """Whether nothing became of these bytes; they are still in the kept source."""
    file: Path | None = None
    """The file, where a source has several; None: not told yet."""


class Tally:
    """What was counted on the way through one source."""

    __slots__ = ("flaws", "left", "lines", "lost", "mended", "records", "torn", "types")

    def __init__(self) -> None:
        """Start at nothing."""
        self.lines = 0
        """Lines, blank ones and a torn last one included."""
        self.records = 0
        """JSON objects found."""
        self.types: Counter[str] = Counter()
        """Every record by its type's name."""
        self.left: Counter[str] = Counter()
        """The records that nothing was made of, by type: they are in the kept source only."""
        self.flaws: list[Flaw] = []
        """The first `FLAWS_MAX` flaws, in order."""
        self.lost = 0
        """Places that could not be used."""
        self.mended = 0
        """Places that were read in spite of a flaw."""
        self.torn: tuple[int, int | None, int] | None = None
        """A torn end: its line (from 1), byte (as in `Flaw`) and bytes; None: a whole end."""

    def flaw(self, line: int, byte: int | None, why: str, *, lost: bool) -> None:
        """Count a flaw; its fields are those of `Flaw`."""
        if lost:
            self.lost += 1
        else:
            self.mended += 1
        if len(self.flaws) < FLAWS_MAX:
            self.flaws.append(Flaw(line, byte, why, lost))

    def is_quiet(self, quiet: frozenset[str]) -> bool:
        """Whether all was understood, and is of the *quiet* types that `Adapter.quiet` has."""
        types = self.types.keys() - quiet
        return not self.lost and all(name.partition("/")[0] in quiet for name in types)

    def leave(self, name: str) -> None:
        """Count a record of the type *name* that nothing is made of."""
        self.types[name] += 1
        self.left[name] += 1


class Stream(Protocol):
    """One file of a source: the main transcript, or one of a subagent."""

    @property
    def path(self) -> Path:
        """The file. It is only ever opened for reading."""
        ...

    @property
    def name(self) -> str:
        """The name its bytes are kept under, ``/``-separated; made safe by the writer."""
        ...

    @property
    def agent(self) -> str:
        """The agent whose items these are unless an item says otherwise."""
        ...

    @property
    def parent(self) -> str | None:
        """The agent that spawned it; None: the main agent. Asked when its log is begun.

        A stream may also have ``begins``, an int or None: when its first item
        was made, ms since 1970 UTC. It is then not opened before the others
        have come that far. And where its items can have ``awaited``, a method
        ``finds(told: str) -> bool``: whether such a file is to be had now.
        And ``anew``, a bool: whether the tool replaces the file, so that its
        saved values can change. And ``alone``, a str or None: the id of the
        session that it is where the files it belongs with are not at hand.
        """
        ...

    def accepts(self, value: Object) -> bool:
        """Whether *value*, salvaged from a damaged line, is a record of this format."""
        ...

    def items(self, lines: Iterable[Line], tally: Tally) -> Iterator[Item]:
        """Yield what the records are, in their order.

        It must give the same items for the same lines every time, and for
        more lines at the end the same ones first (but for open ones): that
        is how importing again finds out what is new.
        """
        ...


class Transcript(NamedTuple):
    """A foreign session, opened."""

    kind: str
    """The adapter's kind."""
    id: str
    """The session's id in the source; made safe by the writer."""
    streams: tuple[Stream, ...]
    """Its files, the main one first."""
    title: str | None = None
    """The title that something beside the source has for it; one in the source goes before."""
    whole: Transcript | None = None
    """Of an agent whose session's own file is not there: the same file as a part of that
    session, which may have been imported before."""
    beside: tuple[Path, ...] = ()
    """Folders beside its main file that are the session's own: all in them is kept with it."""


class Adapter(Protocol):
    """A foreign format."""

    @property
    def kind(self) -> str:
        """The word for ``--from`` and in front of a session's name."""
        ...

    @property
    def quiet(self) -> frozenset[str]:
        """Types of records, as `Tally.types` has them, that a session has before its first message.

        Of ``type/subtype`` the first half is enough.
        """
        ...

    def recognises(self, value: Object) -> int:
        """How sure one record makes it: 0 not at all, 1 could be, 2 certain."""
        ...

    def open(self, path: Path, head: tuple[Object, ...]) -> Transcript:
        """Return the session at *path*, whose first records are *head*. Reads nothing else yet."""
        ...


def iso_ms(text: JSON) -> int | None:
    """Return an ISO time as ms since 1970-01-01 UTC; without a zone it is taken as UTC.

    Returns:
        None for what is no such time, or lies before 1970.
    """
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        at = round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return at if at > 0 else None


_MS_FROM: Final = 100_000_000_000
"""A number from here on is milliseconds (1973 and later), below it is seconds (until 5138)."""

_MS_TO: Final = 253_402_300_800_000
"""The year 10000: no program's clock says so."""


def epoch_ms(number: JSON) -> int | None:
    """Return a number of seconds or milliseconds since 1970 UTC as ms; None: it is no time."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    if not 0 < number < _MS_TO:
        return None
    return round(number if number >= _MS_FROM else number * 1000) or None


def any_ms(value: JSON) -> int | None:
    """Return a time written as ISO text or as a number (also in a text) as ms since 1970 UTC."""
    if not isinstance(value, str):
        return epoch_ms(value)
    if value.isdecimal() and len(value) in _EPOCH_DIGITS:
        return epoch_ms(int(value))
    return iso_ms(value)


_EPOCH_DIGITS: Final = range(9, 15)
"""Digits of a text that is a number of seconds or milliseconds: from 1973 on."""
