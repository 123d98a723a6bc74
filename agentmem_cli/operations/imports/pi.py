"""pi's sessions: JSON lines that form a tree.

Every entry stands in the file once, in the order it was made, so file order
is kept; the tree only tells where the user went back, which becomes an aside.
Version 1 files have no ids and a header that can be younger than what follows
it; forks hold copies of their parent's entries, older than their own header.

Source: pi's docs/session.md and session-manager.ts as of 2026.
"""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.imports.adapter import (
    CWD,
    MAIN,
    Kept,
    Noted,
    Said,
    Transcript,
    any_ms,
)
from agentmem_cli.operations.imports.naming import session_name
from agentmem_cli.operations.imports.parts import Unusable, rest
from agentmem_cli.operations.imports.pi_messages import (
    Bash,
    Calls,
    custom_of,
    message_of,
    role_of,
)
from agentmem_cli.session.keys import FORKED_FROM, MODEL, TITLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.operations.imports.adapter import Item, Line, Tally
    from agentmem_cli.session.codec import JSON, Object

KIND: Final = "pi"

LEFT_MAX: Final = 1_000
"""Ids of entries left behind that a branch's aside names; their number is always told."""

_ENTRIES: Final = frozenset(
    {
        "message",
        "model_change",
        "thinking_level_change",
        "compaction",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
    }
)
_CERTAIN: Final = 2
_POSSIBLE: Final = 1
_FOREIGN: Final = frozenset({"payload", "uuid", "sessionId", "messages"})
"""Fields of other tools' records that share a type's name with pi."""

_NOTED: Final = frozenset({"compaction", "branch_summary", "label"})
_OWN: Final = frozenset({"type", "id", "parentId", "timestamp"})


_QUIET: Final = frozenset(
    {"session", "model_change", "thinking_level_change", "session_info", "title", "label", "custom"}
)


class PiAdapter:
    """The adapter of pi's session files."""

    kind = KIND
    quiet = _QUIET

    def recognises(self, value: Object) -> int:
        """How sure a record makes it, as `Adapter.recognises` says."""
        kind = value.get("type")
        if not isinstance(kind, str) or not _FOREIGN.isdisjoint(value):
            return 0
        if kind == "session":
            whole = isinstance(value.get("id"), str) and "timestamp" in value
            return _CERTAIN if whole else _POSSIBLE
        if kind == "message" and isinstance(message := value.get("message"), dict):
            return _CERTAIN if "role" in message and "timestamp" in value else _POSSIBLE
        return _POSSIBLE if kind in _ENTRIES and "timestamp" in value else 0

    def open(self, path: Path, head: tuple[Object, ...]) -> Transcript:
        """Return the session at *path*, whose first records are *head*."""
        for value in head:
            session = value.get("id")
            if value.get("type") == "session" and isinstance(session, str) and session:
                return Transcript(KIND, session, (PiStream(path),))
        return Transcript(KIND, _id_of(path.name), (PiStream(path),))


class PiStream:
    """A pi session file."""

    agent = MAIN
    parent = None

    def __init__(self, path: Path) -> None:
        """Keep the *path*."""
        self.path = path
        self.name = path.name

    def accepts(self, value: Object) -> bool:
        """Whether *value*, salvaged from a damaged line, is an entry or a header."""
        kind = value.get("type")
        if kind == "session":
            return "id" in value or "cwd" in value
        return isinstance(kind, str) and kind in _ENTRIES and "timestamp" in value

    def items(self, lines: Iterable[Line], tally: Tally) -> Iterator[Item]:
        """Yield what the entries are, as `Stream.items` says."""
        yield from _Reading(tally).items(lines)


class _Fork(NamedTuple):
    """A fork whose copied entries are still being read."""

    line: int
    time: int | None
    session: str


class _Reading:
    """One way through a pi file, and what has to be remembered on it."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._calls = Calls()
        self._tree = _Tree()
        self._header_seen = False
        self._held: list[Item] = []
        self._fork: _Fork | None = None
        self._model: str | None = None
        self._model_told = False
        # Why a list and no chain of generators: a large file spends its time here.
        self._found: list[Item] = []

    def items(self, lines: Iterable[Line]) -> Iterator[Item]:
        found = self._found
        for line in lines:
            self._line(line)
            if found:
                yield from found
                found.clear()
        self._release(None)
        yield from found

    def _line(self, line: Line) -> None:
        kind = line.value.get("type")
        if not isinstance(kind, str):
            self._tally.types["?"] += 1
            self._tally.flaw(line.number, line.byte, "a record without a type", lost=True)
            return
        try:
            self._entry(line, kind)
        except Unusable as error:
            self._tally.types[kind] += 1
            self._tally.flaw(line.number, line.byte, str(error), lost=True)

    def _entry(self, line: Line, kind: str) -> None:
        if kind == "session":
            self._header(line)
            return
        value = line.value
        time = any_ms(value.get("timestamp"))
        if self._held:
            self._release(time)
        fork = self._fork
        if fork is not None and time is not None and (fork.time is None or time >= fork.time):
            if self._tree.last is not None:
                self._found.append(self._forked(fork, self._tree.last))
            self._fork = None
        self._branch(line, time)
        if kind == "message":
            self._message(line, time)
        else:
            self._other(line, kind, time)

    def _other(self, line: Line, kind: str, time: int | None) -> None:
        number, value = line.number, line.value
        raw = _text(value.get("id"))
        if kind == "custom_message":
            spoken = custom_of(value)
            self._found.append(Said(number, time, spoken.message, spoken.author, raw))
        elif kind in _NOTED:
            self._found.append(Noted(number, time, f"import.{kind}", rest(value, _OWN), raw))
        elif kind in ("session_info", "title"):
            self._found.append(Noted(number, time, f"import.{kind}", rest(value, _OWN), raw))
            title = value.get("name", value.get("title"))
            if isinstance(title, str) and title:
                self._found.append(Kept(number, time, TITLE, title, raw))
        elif kind == "model_change":
            self._model_told = True
            self._change_model(line, time, _model(value, "modelId"))
        else:
            self._tally.leave(kind)
            return
        self._tally.types[kind] += 1

    def _message(self, line: Line, time: int | None) -> None:
        number, value = line.number, line.value
        message = value.get("message")
        if not isinstance(message, dict):
            msg = "a message entry whose message is no object"
            raise Unusable(msg)
        role = role_of(message)
        spoken = message_of(message, role, number, self._calls)
        if spoken is None:
            self._tally.leave(f"message/{role}")
            return
        self._tally.types[f"message/{role}"] += 1
        if time is None:
            time = any_ms(message.get("timestamp"))
        raw = _text(value.get("id"))
        if isinstance(spoken, Bash):
            self._found.append(Noted(number, time, "import.bash", spoken.value, raw))
            return
        self._found.append(Said(number, time, spoken.message, spoken.author, raw))
        if role == "assistant":
            self._replied(line, time, spoken.message)

    def _replied(self, line: Line, time: int | None, message: Object) -> None:
        origin = message.get("origin")
        if not self._model_told and isinstance(origin, dict):
            self._change_model(line, time, _model(origin, "model"))
        if message.get("stop") == "error":
            error: Object = {"message": message.get("errorMessage")}
            raw = _text(line.value.get("id"))
            self._found.append(Noted(line.number, time, "import.error", error, raw))

    def _change_model(self, line: Line, time: int | None, model: str | None) -> None:
        if model is not None and model != self._model:
            self._model = model
            raw = _text(line.value.get("id"))
            self._found.append(Kept(line.number, time, MODEL, model, raw))

    def _header(self, line: Line) -> None:
        number, value = line.number, line.value
        if self._header_seen:
            # Why: a fork may copy its parent's header too; the first one is the file's own.
            self._tally.leave("session")
            return
        self._header_seen = True
        self._tally.types["session"] += 1
        time = any_ms(value.get("timestamp"))
        raw = _text(value.get("id"))
        cwd = value.get("cwd")
        if isinstance(cwd, str) and cwd:
            self._held.append(Kept(number, time, CWD, cwd, raw))
        if (model := _model(value, "modelId")) is not None:
            self._model_told = True
            self._model = model
            self._held.append(Kept(number, time, MODEL, model, raw))
        parent = value.get("parentSession", value.get("branchedFrom"))
        if isinstance(parent, str) and parent:
            self._held.append(Noted(number, time, "import.fork", {"parent": parent}, raw))
            self._fork = _Fork(number, time, session_name(KIND, _id_of(parent)))
            self._held.append(self._forked(self._fork, ""))

    def _release(self, first: int | None) -> None:
        """Pass on what the header told, now that the first entry's time is known.

        A header that is younger than the entries behind it (written late, or
        a fork's) takes the first one's time: as of a time between the two,
        the session is to be seen.
        """
        for item in self._held:
            late = first is not None and item.time is not None and item.time > first
            self._found.append(item._replace(time=None) if late else item)
        self._held.clear()

    def _forked(self, fork: _Fork, last: str) -> Kept:
        """Return the note of a fork; its raw id is that of the *last* entry that was copied.

        It comes twice: with the header, where nothing that the file grows by
        can move it, and with the place once the first entry of its own is
        there. Where the file only ends, more copied entries may follow.
        """
        value: Object = {"session": fork.session, "agent": MAIN}
        return Kept(fork.line, fork.time, FORKED_FROM, value, last)

    def _branch(self, line: Line, time: int | None) -> None:
        value = line.value
        own = value.get("id")
        if not isinstance(own, str):
            return
        tree = self._tree
        last = tree.last
        parent = value.get("parentId") if "parentId" in value else last
        parent = parent if isinstance(parent, str) else None
        if parent != last and last is not None:
            told: Object = {"parent": parent}
            kind = "import.gap"
            if parent is None or tree.knows(parent):
                kind = "import.branch"
                left, told["count"] = tree.left(parent)
                told["left"] = [*left]
            self._found.append(Noted(line.number, time, kind, told, own))
        tree.add(own, parent)


class _Tree:
    """The entries' ids and parents. An id that repeats means its newest entry."""

    def __init__(self) -> None:
        self.last: str | None = None
        """The id of the newest entry."""
        self._index: dict[str, int] = {}
        self._ids: list[str] = []
        self._parents: list[int] = []

    def knows(self, entry: str) -> bool:
        return entry in self._index

    def add(self, entry: str, parent: str | None) -> None:
        self.last = entry
        above = -1 if parent is None else self._index.get(parent, -1)
        self._index[entry] = len(self._ids)
        self._ids.append(entry)
        self._parents.append(above)

    def left(self, parent: str | None) -> tuple[list[str], int]:
        """Name what is left behind when the talk goes on from *parent*.

        Returns:
            The entries from the newest up to the last one that *parent*'s
            line shares, oldest first, at most `LEFT_MAX`; and their number.
        """
        left: list[str] = []
        one = len(self._ids) - 1
        other = -1 if parent is None else self._index[parent]
        # Why it ends: a parent's index is always smaller than its child's.
        while one != other:
            if one > other:
                left.append(self._ids[one])
                one = self._parents[one]
            else:
                other = self._parents[other]
        left.reverse()
        return left[-LEFT_MAX:], len(left)


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""


def _model(value: Object, key: str) -> str | None:
    """Return ``provider/model``; None where no model is named."""
    model, provider = value.get(key), value.get("provider")
    if not isinstance(model, str) or not model:
        return None
    return f"{provider}/{model}" if isinstance(provider, str) and provider else model


def _id_of(path: str) -> str:
    """Return the session id that a pi file's name ends in, whatever system wrote the path."""
    name = PureWindowsPath(path).name or path
    stem = name.removesuffix(".jsonl")
    return stem.rpartition("_")[2] or stem
