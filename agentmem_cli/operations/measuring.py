"""What a session is made of: bytes by kind, messages, tool calls, estimated tokens.

Every byte of the logs and files counts once. What is told about messages is
about those that stand; of what was taken out or replaced only the bytes.
"""

from __future__ import annotations

from array import array
from collections import Counter
from heapq import nlargest
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from agentmem_cli.limits import U64_MAX
from agentmem_cli.operations.damage import causes
from agentmem_cli.operations.imports.maps import FOLDER
from agentmem_cli.operations.searching import entries_of
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.counting import DEFAULT_COUNTER
from agentmem_cli.session.fold import LogFold
from agentmem_cli.session.images import ATTACHMENTS, BLOB_FOLDER
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.meta import excerpt
from agentmem_cli.session.reader import open_log, reading
from agentmem_cli.session.source import LogSource

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.lines import Line
    from agentmem_cli.storage.directory import DirStore

KINDS: Final = (
    "messages",
    "tool_output",
    "images",
    "asides",
    "values",
    "past",
    "other",
    "blobs",
    "sources",
    "files",
)
"""What bytes are of: messages that stand without what tools put out and inline images; these two;
side records and saved values that stand; what was taken out, replaced or only says so; headers and
damage; and beside the logs blobs, kept sources with their maps, other files."""

LARGEST: Final = 10
"""Messages that are told as the largest."""

_count = DEFAULT_COUNTER.count_value
_TELL_BYTES: Final = 4 << 20

_Key = TypeVar("_Key", int, str)


class Large(NamedTuple):
    """One of the largest messages."""

    agent: str
    id: int
    size_bytes: int
    """Of its record, or of its part of it."""
    gist: str


class Measures(NamedTuple):
    """What one session, or several together, are made of."""

    bytes: dict[str, int]
    """By `KINDS`."""
    agents: int
    records: int
    roles: dict[str, int]
    """Messages that stand, by role."""
    calls: dict[str, int]
    """Tool calls in them, by the tool's name."""
    tokens: int
    """Estimated tokens of them."""
    blobs: int
    sources: int
    """Files that imports keep, maps among them."""
    damaged: int
    """Places of the logs that could not be used."""
    largest: tuple[Large, ...]

    @property
    def size_bytes(self) -> int:
        """All of it."""
        return sum(self.bytes.values())

    @property
    def messages(self) -> int:
        """Messages that stand."""
        return sum(self.roles.values())


def measure(
    store: DirStore,
    logs: Sequence[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Measures:
    """Measure a session as it lies there, around damage.

    Args:
        store: The session.
        logs: Only these logs, and no files; None: all of it.
        progress: Called with the bytes read since the last call.

    Raises:
        SessionError: The operating system refused.
        FileNotFoundError: A log is gone since it was listed.
    """
    counts: Counter[str] = Counter()
    roles: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    large: list[Large] = []
    agents = records = tokens = damaged = 0
    for log in store.logs() if logs is None else logs:
        opened = open_log(store, log)
        with reading(f"log {log!r}"):
            fold = _Measured(log, LogSource(opened, store), progress)
            fold.run()
            tally = fold.finish(counts)
            large += fold.largest()
        roles.update(tally.roles)
        calls.update(tally.calls)
        tokens += tally.tokens
        agents += log != SESSION
        records += fold.records
        damaged += len(causes(fold.damages))
    files = _files(store) if logs is None else _Files(0, 0, 0, 0, 0)
    counts.update(blobs=files.blobs_bytes, sources=files.sources_bytes, files=files.other_bytes)
    return Measures(
        {kind: counts[kind] for kind in KINDS},
        agents,
        records,
        dict(roles),
        dict(calls.most_common()),
        tokens,
        files.blobs,
        files.sources,
        damaged,
        tuple(nlargest(LARGEST, large, key=_size_of)),
    )


def _size_of(large: Large) -> int:
    return large.size_bytes


class _Files(NamedTuple):
    blobs: int
    blobs_bytes: int
    sources: int
    sources_bytes: int
    other_bytes: int


def _files(store: DirStore) -> _Files:
    blobs = blobs_bytes = sources = sources_bytes = other_bytes = 0
    for name in store.files():
        try:
            size = store.file_stat(name).size
        except (OSError, ValueError):
            continue  # Why: gone since it was listed, or a name that nobody may read.
        if name.startswith(BLOB_FOLDER):
            blobs += 1
            blobs_bytes += size
        elif name.startswith(FOLDER):
            sources += 1
            sources_bytes += size
        else:
            other_bytes += size
    return _Files(blobs, blobs_bytes, sources, sources_bytes, other_bytes)


class _Measured(LogFold):
    """A fold that notes how large each entry is, and what is in it.

    Entries are in columns, a place each in the order they were put there.
    """

    def __init__(self, log: str, source: LogSource, progress: Callable[[int], None] | None) -> None:
        super().__init__(log, source, strict=False)
        self._progress = progress
        self._ids = array("Q")
        self._offsets = array("Q")
        self._sizes = array("Q")
        self._outputs: dict[int, int] = {}
        self._images: dict[int, int] = {}
        self._tokens = array("Q")
        self._roles = array("H")
        self._role_numbers: dict[str, int] = {}
        self._calls: list[tuple[int, str]] = []
        self._asides: dict[int, int] = {}
        self._values: dict[str, int] = {}
        self._past = 0
        self._edited = False
        self._told = 0
        # Why bound once: they are called for every message.
        self._add_id = self._ids.append
        self._add_offset = self._offsets.append
        self._add_size = self._sizes.append
        self._add_tokens = self._tokens.append
        self._add_role = self._roles.append

    def _push_plain(self, entry: Entry, fields: Object, offset: int, size: int) -> None:
        self.conversation.push_new(entry)
        message = fields["entries"][0]["message"]  # type: ignore[index, call-overload]
        self._note(entry.id, offset, size, message)  # type: ignore[arg-type]

    def _take(self, line: Line) -> None:
        super()._take(line)
        fields = line.fields
        kind, size = fields.get("type"), line.length + 1
        if kind in ("push", "splice", "reset"):
            self._edited = self._edited or kind != "push"
            self._note_entries(fields, line.offset, size)
        elif kind == "state":
            key = fields.get("key")
            self._put(self._values, key if type(key) is str else "", size, fields.get("value"))
        elif kind == "aside":
            id_ = fields.get("id")
            self._put(self._asides, id_ if type(id_) is int else -1, size, fields.get("aside"))
        elif kind == "halt":
            self._past += size

    def _put(self, held: dict[_Key, int], key: _Key, size: int, value: JSON) -> None:
        """Note what a saved value or an aside takes; what it replaces is past."""
        self._past += held.pop(key, 0)
        if value is None:
            self._past += size
        else:
            held[key] = size

    def _note_entries(self, fields: Object, offset: int, size: int) -> None:
        rest = size
        noted = []
        for entry in entries_of(fields):
            message = entry.get("message") if type(entry) is dict else None
            id_ = entry.get("id") if type(entry) is dict else None
            if type(message) is not dict or type(id_) is not int or not 0 <= id_ <= U64_MAX:
                continue
            own = min(rest, len(dumps(entry)))
            rest -= own
            noted.append((id_, own, message))
        if fields.get("type") != "push":
            self._past += rest
        elif noted:
            # What holds the entries together goes with the first of them.
            noted[0] = (noted[0][0], noted[0][1] + rest, noted[0][2])
        for id_, own, message in noted:
            self._note(id_, offset, own, message)

    def _note(self, id_: int, offset: int, size: int, message: Object) -> None:
        content = message.get("content")
        if type(content) is list:
            part = content[0] if len(content) == 1 else None
            # Why asked here: most contents are one text, and nothing is to be noted of that.
            if type(part) is not dict or part.get("type") != "text":
                self._parts(content, size)
        self._add_id(id_)
        self._add_offset(offset)
        self._add_size(size)
        self._add_tokens(_count(message))
        role = message.get("role")
        number = self._role_numbers.get(role) if type(role) is str else None
        if number is None:
            number = len(self._role_numbers)
            name = role if type(role) is str else "unknown"
            number = self._role_numbers.setdefault(name, number)
        self._add_role(number)
        if self._progress is not None and offset - self._told > _TELL_BYTES:
            self._progress(offset - self._told)
            self._told = offset

    def _parts(self, content: list[JSON], size: int) -> None:
        """Note which bytes of the next message are tools' output, and inline images; and calls."""
        at = len(self._ids)
        images = held = 0
        others = False
        results: list[Object] = []
        for part in content:
            if type(part) is not dict:
                continue
            kind = part.get("type")
            if kind == "toolresult":
                results.append(part)
                held += _inline_in(part)
                continue
            others = True
            if kind == "toolcall":
                self._calls.append((at, _tool(part)))
            elif kind in ATTACHMENTS:
                images += _inline(part)
        if results:
            whole = sum(len(dumps(part)) for part in results) if others else size
            self._outputs[at] = max(0, min(whole, size) - held)
            images += held
        if images:
            self._images[at] = min(images, size - self._outputs.get(at, 0))

    # -- what it comes to ------------------------------------------------------

    def _standing(self) -> Collection[int]:
        """Return the places in the columns of the entries that stand."""
        if not self._edited and len(self._ids) == len(self.conversation):
            return range(len(self._ids))
        located = {each.id: each.located() for each in self.conversation.entries}
        found: dict[int, int] = {}
        for at, id_ in enumerate(self._ids):
            place = located.get(id_)
            if place is not None and place[0] == self._offsets[at]:
                found[id_] = at
        return found.values()

    def finish(self, counts: Counter[str]) -> _Tally:
        """Add the bytes by kind to *counts*; return what else is told of what stands."""
        standing = self._standing()
        whole = len(standing) == len(self._ids)
        there = None if whole else frozenset(standing)
        sizes, tokens = (
            sum(column) if there is None else sum(column[at] for at in there)
            for column in (self._sizes, self._tokens)
        )
        outputs, images = (
            sum(size for at, size in found.items() if there is None or at in there)
            for found in (self._outputs, self._images)
        )
        asides = self.conversation.asides
        put = sum(size for id_, size in self._asides.items() if id_ in asides)
        own: dict[str, int] = {
            "messages": sizes - outputs - images,
            "tool_output": outputs,
            "images": images,
            "asides": put,
            "values": sum(self._values.values()),
            "past": self._past + sum(self._sizes) - sizes + sum(self._asides.values()) - put,
        }
        own["other"] = max(0, self.source.log.size - sum(own.values()))
        counts.update(own)
        names = list(self._role_numbers)
        roles = Counter(self._roles if whole else [self._roles[at] for at in standing])
        calls = Counter(name for at, name in self._calls if there is None or at in there)
        return _Tally({names[at]: number for at, number in roles.items()}, calls, tokens)

    def largest(self) -> list[Large]:
        """Return the largest messages that stand, each with a line about it."""
        found = nlargest(LARGEST, self._standing(), key=self._sizes.__getitem__)
        wanted = {self._ids[at]: self._sizes[at] for at in found}
        return [
            Large(self.log, entry.id, wanted[entry.id], excerpt(entry))
            for entry in self.conversation.entries
            if entry.id in wanted
        ]


class _Tally(NamedTuple):
    roles: dict[str, int]
    calls: Counter[str]
    tokens: int


def _tool(part: Object) -> str:
    function = part.get("function")
    name = function.get("name") if type(function) is dict else None
    return name if type(name) is str else "?"


def _inline_in(result: Object) -> int:
    """Return the bytes of the attachments that stand in a tool's result itself."""
    inner = result.get("content")
    if type(inner) is not list:
        return 0
    held = 0
    for each in inner:
        if type(each) is dict and each.get("type") != "text":
            held += _inline(each)
    return held


def _inline(part: Object) -> int:
    """Return the bytes of an attachment's data where it stands in the log itself."""
    data = part.get("data") if part.get("type") in ATTACHMENTS else None
    value = data.get("value") if type(data) is dict and data.get("type") == "base64" else None
    return len(value) if type(value) is str else 0
