"""Tool calls and their results: what answers what, and what must not be parted.

A result answers the first call with its id that still waits; ids match as a
multiset, so a turn that repeats an id needs a result for each. Waiting ends
at a user message that holds more than results, at the next reply, or at the
end. System messages do not end it. A reply that ended in error or was
aborted owes no results.

Source: DESIGN.md, "Messages".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.session.author import Author
from agentmem_cli.session.entry import Entry
from agentmem_cli.session.images import ATTACHMENTS
from agentmem_cli.session.message import Message, call_id, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentmem_cli.session.codec import JSON, Object

UNANSWERED = "unanswered-call"
UNASKED = "unasked-result"
MERGEABLE = "consecutive-replies"

NO_RESULT = "There is no result: the call was not answered."
"""The text of the result that `normalize` puts where a call has none."""


class Problem(NamedTuple):
    """A place where calls and results do not pair, or two replies could be one."""

    kind: str
    """`UNANSWERED`, `UNASKED` or `MERGEABLE`."""
    at: int
    """The message's index, from 0."""
    call: str | None
    """The call's id, where the problem is one of a call."""


class Calls(NamedTuple):
    """What a message asks for and answers."""

    asked: tuple[str, ...]
    answered: tuple[str, ...]
    only_results: bool
    """A user message that holds results and nothing else."""
    images: bool
    """It may refer to blobs: an attachment, or a result that could have one."""


_NOTHING = Calls((), (), only_results=False, images=False)


def calls_of(value: Object) -> Calls:
    """Return the call ids that the message *value* asks for and answers, in order."""
    content = value.get("content")
    if type(content) is not list:
        return _NOTHING
    asked: list[str] = []
    answered: list[str] = []
    others = images = False
    # Why: a verification comes here for every message, so plain ones must be quick.
    for part in content:
        if type(part) is not dict:
            continue
        kind = part.get("type")
        if kind == "text":
            others = True
        elif kind == "toolcall":
            asked.append(call_id(part.get("id")) or "")
        elif kind == "toolresult":
            answered.append(call_id(part.get("call")) or "")
            images = True
        else:
            others = True
            images = images or kind in ATTACHMENTS
    if not (asked or answered or images):
        return _NOTHING
    return Calls(tuple(asked), tuple(answered), bool(answered) and not others, images)


def owes_nothing(value: Object) -> bool:
    """Whether the reply *value* ended in error or was aborted, so that its calls need no result."""
    stop = value.get("stop")
    if isinstance(stop, dict):
        stop = stop.get("kind") or stop.get("type") or next(iter(stop), None)
    if not isinstance(stop, str):
        return False
    return stop.lower() in {"error", "aborted", "abort", "cancelled", "canceled"}


class Waiting:
    """The calls that wait for a result, fed a message at a time."""

    __slots__ = ("_index", "_mergeable", "open", "problems")

    def __init__(self) -> None:
        """Begin before the first message."""
        self.open: list[tuple[str, int]] = []
        """The calls that wait, in order: id and the index of their message."""
        self.problems: list[Problem] = []
        """What did not pair so far."""
        self._index = -1
        self._mergeable: Object | None = None

    def feed(self, value: Object) -> Calls:
        """Take the next message; return what it asks for and answers."""
        self._index += 1
        role = value.get("role")
        calls = calls_of(value)
        if role == "assistant":
            self._reply(value, calls)
        elif role == "user":
            self._mergeable = None
            for id_ in calls.answered:
                self._answer(id_)
            if self.open and not calls.only_results:
                self.end()
        else:
            self._mergeable = None
        return calls

    def end(self) -> None:
        """Count every call that still waits as unanswered."""
        if self.open:
            self.problems.extend(Problem(UNANSWERED, index, id_) for id_, index in self.open)
            self.open.clear()

    def _reply(self, value: Object, calls: Calls) -> None:
        if self._mergeable is not None and _can_merge(self._mergeable, value):
            self.problems.append(Problem(MERGEABLE, self._index, None))
        self.end()
        if calls.asked and not owes_nothing(value):
            index = self._index
            self.open = [(id_, index) for id_ in calls.asked]
        self._mergeable = value

    def _answer(self, id_: str) -> None:
        for place, (waiting, _) in enumerate(self.open):
            if waiting == id_:
                del self.open[place]
                return
        self.problems.append(Problem(UNASKED, self._index, id_))


def validate(messages: Iterable[Message]) -> list[Problem]:
    """Return every place of *messages* that a provider would refuse, in order of discovery."""
    waiting = Waiting()
    for message in messages:
        waiting.feed(message.value)
    waiting.end()
    return waiting.problems


def pending_calls(messages: Iterable[Message]) -> list[str]:
    """Return the ids of the calls that wait for a result after the last message."""
    waiting = Waiting()
    for message in messages:
        waiting.feed(message.value)
    return [id_ for id_, _ in waiting.open]


def at_rest(messages: Sequence[Message]) -> bool:
    """Whether *messages* owe no reply and have no open call."""
    if not messages:
        return True
    last = next((message for message in reversed(messages) if message.role != "system"), None)
    if last is None:
        return True
    return last.role == "assistant" and not pending_calls(messages)


def safe_start(messages: Sequence[Message], start: int) -> int:
    """Move *start* forward past results whose calls it cut off.

    Args:
        messages: The whole conversation.
        start: The index where a window of it is to begin.

    Returns:
        The first index at or after *start* where the window begins with no
        orphan result; ``len(messages)`` where there is none. A message that
        holds a text beside an orphan result is passed over too.
    """
    cut = validate_window(messages, start)
    while start < len(messages) and start in cut:
        start += 1
    return start


def validate_window(messages: Sequence[Message], start: int) -> set[int]:
    """Return the indexes from *start* on whose results answer calls before *start*."""
    orphans: set[int] = set()
    waiting = Waiting()
    for index in range(start, len(messages)):
        before = len(waiting.problems)
        waiting.feed(messages[index].value)
        if any(problem.kind == UNASKED for problem in waiting.problems[before:]):
            orphans.add(index)
    return orphans


def normalize(entries: Sequence[Entry], next_id: int) -> tuple[int, int, list[Entry]] | None:
    """Mend *entries* so that `validate` finds nothing.

    A reply right after another that it can be one with is merged into it
    (the later stop stands; the first's id, author and time stay). A result
    nobody asked for goes, and an entry left empty goes with it. A call that
    nothing answers gets an error result: in front of the user entry that
    follows, else in an entry of its own by `Author.rig`, before system entries
    that came while it waited. What `validate` finds nothing in stays as it is.

    Args:
        entries: The conversation's entries.
        next_id: The id of the next new entry.

    Returns:
        The range to replace and what stands there then; None: nothing to mend.
    """
    mended = _Mender(next_id).run(entries)
    first = 0
    while first < min(len(entries), len(mended)) and entries[first] is mended[first]:
        first += 1
    last = 0
    while last < min(len(entries), len(mended)) - first and entries[-1 - last] is mended[-1 - last]:
        last += 1
    if first == len(entries) == len(mended):
        return None
    return first, len(entries) - last, mended[first : len(mended) - last]


class _Mender:
    """The work of `normalize`, an entry at a time."""

    def __init__(self, next_id: int) -> None:
        self.next_id = next_id
        self.done: list[Entry] = []
        self.open: list[tuple[str, str]] = []

    def run(self, entries: Sequence[Entry]) -> list[Entry]:
        for entry in entries:
            value = entry.stored.value
            role = value.get("role")
            if role == "assistant":
                self._reply(entry, value)
            elif role == "user":
                self._user(entry, value)
            else:
                self.done.append(entry)
        self._close()
        return self.done

    def _reply(self, entry: Entry, value: Object) -> None:
        self._close()
        before = self.done[-1] if self.done else None
        if before is not None and _can_merge(before.stored.value, value):
            # Why not as stored: what is made anew is in no log, so its images have to be in it.
            value = _merged(before.message.value, entry.message.value)
            self.done[-1] = _same_made(before, Message.of(value))
        else:
            self.done.append(entry)
        if not owes_nothing(value):
            self.open = [
                (call_id(part.get("id")) or "", _tool_name(part))
                for part in parts_of(value)
                if part.get("type") == "toolcall"
            ]

    def _user(self, entry: Entry, value: Object) -> None:
        items = _items(value)
        kept = [place for place, item in enumerate(items) if not self._is_unasked(item)]
        made_up: list[JSON] = []
        if not calls_of(value).only_results:
            if _is_whole(value):
                made_up = self._made_up()
            else:
                self._close()
        if items and not kept:
            return
        if made_up or len(kept) != len(items):
            value = entry.message.value
            whole = _items(value)
            content = [*made_up, *(whole[place] for place in kept)]
            entry = _same_made(entry, Message.of({**value, "content": content}))
        self.done.append(entry)

    def _is_unasked(self, item: JSON) -> bool:
        if not isinstance(item, dict) or item.get("type") != "toolresult":
            return False
        return not self._answers(call_id(item.get("call")) or "")

    def _answers(self, id_: str) -> bool:
        for place, (waiting, _) in enumerate(self.open):
            if waiting == id_:
                del self.open[place]
                return True
        return False

    def _made_up(self) -> list[JSON]:
        results: list[JSON] = []
        for id_, name in self.open:
            results.extend(Message.tool_result(id_, name, NO_RESULT, is_error=True).parts)
        self.open = []
        return results

    def _close(self) -> None:
        results = self._made_up()
        if results:
            message = Message.of({"role": "user", "content": results})
            at = len(self.done)
            while at and self.done[at - 1].stored.role == "system":
                at -= 1
            self.done.insert(at, Entry(self.next_id, message, Author.rig()))
            self.next_id += 1


def _same_made(entry: Entry, message: Message) -> Entry:
    return Entry(entry.id, message, entry.author, entry.made)


def _can_merge(one: Object, other: Object) -> bool:
    """Whether two replies side by side could be one: same origin, neither cut short.

    The earlier may not have asked for anything: its calls wait for results.
    """
    if one.get("role") != "assistant" or other.get("role") != "assistant":
        return False
    if owes_nothing(one) or owes_nothing(other) or calls_of(one).asked:
        return False
    if not (_is_whole(one) and _is_whole(other)):
        return False
    return one.get("origin") == other.get("origin")


def _is_whole(value: Object) -> bool:
    """Whether the content is of a known kind, so that it can be put into another."""
    return isinstance(value.get("content"), list | str)


def _items(value: Object) -> list[JSON]:
    """Return the content's items, those that are no parts too; a string is one text part."""
    content = value.get("content")
    return content if isinstance(content, list) else [*parts_of(value)]


def _merged(one: Object, other: Object) -> Object:
    content: list[JSON] = [*_items(one), *_items(other)]
    merged: Object = {**one, "content": content}
    if "stop" in other:
        merged["stop"] = other["stop"]
    else:
        merged.pop("stop", None)
    return merged


def _tool_name(part: Object) -> str:
    function = part.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else ""
