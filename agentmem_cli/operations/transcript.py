"""A conversation as people read it: turns, calls with their results, images told of.

The parts are plain values; how they look is the command line's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import NotFoundError, UsageError
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.images import referred
from agentmem_cli.session.message import call_id, parts_of
from agentmem_cli.session.pairing import owes_nothing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentmem_cli.session.aside import Aside
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.storage.directory import DirStore


class Text(NamedTuple):
    """Words: of the message, or (``kind`` "reasoning") of the model's thinking."""

    text: str
    kind: str = "text"


class Call(NamedTuple):
    """A tool call. ``answered`` is False where the conversation has no result for it."""

    id: str
    name: str
    arguments: JSON
    answered: bool
    kind: str = "call"


class Result(NamedTuple):
    """A tool's result. ``asked`` is False where no call of the conversation asked for it."""

    call: str
    name: str
    parts: tuple[Part, ...]
    is_error: bool
    asked: bool
    kind: str = "result"


class Attachment(NamedTuple):
    """An image or another attachment. ``size`` is bytes; None: not known, or it is missing."""

    media: str
    size: int | None
    missing: bool
    kind: str = "image"
    data: JSON = None
    """What the message has of it: a reference, or the bytes in one of their forms."""


class Other(NamedTuple):
    """A part this version does not know, by its own name."""

    name: str
    value: JSON
    kind: str = "other"


Part = Text | Call | Result | Attachment | Other


class Turn(NamedTuple):
    """One message."""

    id: int
    place: int
    """Its place in the conversation, from 0."""
    role: str
    author: str | None
    """Who wrote it, where that is not the user or the model."""
    made_ms: int | None
    stop: str | None
    """Why the model stopped, where it was no plain end."""
    error: str | None
    """What went wrong, where the reply ended in an error that says so."""
    parts: tuple[Part, ...]
    value: Object
    """The message as the log holds it."""


class Note(NamedTuple):
    """A side record, where it stands."""

    id: int
    aside: Aside


_PLAIN_STOPS: Final = frozenset({"stop", "end_turn", "tool_use", "toolUse", "tool_calls"})
# Why no set: a part's type comes from JSON, and an array has no hash.
_ATTACHMENTS: Final = ("image", "audio", "video", "document")


def window(
    conversation: Conversation,
    *,
    from_id: int | None = None,
    to_id: int | None = None,
    last: int | None = None,
) -> range:
    """Return which entries are meant, as a range of indexes.

    Args:
        conversation: The whole of it.
        from_id: Entries with this id or a greater one.
        to_id: Entries with this id or a smaller one.
        last: Only that many of them, the newest.

    Raises:
        NotFoundError: The conversation has not come to *from_id* yet.
        UsageError: *to_id* stands before *from_id*.
    """
    entries = conversation.entries
    if from_id is not None and to_id is not None and to_id < from_id:
        msg = f"message {to_id} stands before message {from_id}"
        raise UsageError(msg, hint="--from is the first one to be shown, --to the last one.")
    if from_id is not None and entries and from_id >= conversation.next_message:
        msg = f"there is no message {from_id}; the last one is {conversation.next_message - 1}"
        raise NotFoundError(msg, hint="agentmem show numbers the messages.")
    start, stop = 0, len(entries)
    if from_id is not None:
        while start < stop and entries[start].id < from_id:
            start += 1
    if to_id is not None:
        while stop > start and entries[stop - 1].id > to_id:
            stop -= 1
    if last is not None:
        start = max(start, stop - last)
    return range(start, stop)


def transcript(
    store: DirStore, conversation: Conversation, wanted: range, *, asides: bool = False
) -> Iterator[Turn | Note]:
    """Yield the turns of the *wanted* entries, with the side records among them where asked.

    A call counts as answered where a result for it follows before the next
    reply, inside or outside the window.
    """
    entries = conversation.entries
    placed = conversation.asides_after() if asides else {}
    open_calls = _asked_before(entries, wanted.start)
    if wanted.start == 0:
        yield from (Note(id_, aside) for id_, aside in placed.get(None, ()))
    for index in wanted:
        entry = entries[index]
        value = entry.stored.value
        if value.get("role") == "assistant":
            open_calls = []
        answered = _answers_after(entries, index) if _has(value, "toolcall") else []
        yield _turn(store, entry, index, value, answered, open_calls)
        yield from (Note(id_, aside) for id_, aside in placed.get(entry.id, ()))


def _turn(
    store: DirStore,
    entry: Entry,
    index: int,
    value: Object,
    answered: list[str],
    open_calls: list[str],
) -> Turn:
    parts: list[Part] = []
    for part in parts_of(value):
        kind = part.get("type")
        if kind == "toolcall":
            id_ = call_id(part.get("id")) or ""
            there = id_ in answered
            if there:
                answered.remove(id_)
            open_calls.append(id_)
            parts.append(_call(part, id_, answered=there or owes_nothing(value)))
        elif kind == "toolresult":
            id_ = call_id(part.get("call")) or ""
            asked = id_ in open_calls
            if asked:
                open_calls.remove(id_)
            parts.append(_result(store, part, id_, asked=asked))
        else:
            parts.append(_plain(store, part))
    role = value.get("role")
    author = entry.author
    title = None if author is None else author.title
    who = None if author is None else (title if isinstance(title, str) else author.name)
    return Turn(
        entry.id,
        index,
        role if isinstance(role, str) else "unknown",
        who,
        entry.made,
        _stop(value),
        _error(value),
        tuple(parts),
        value,
    )


def _call(part: Object, id_: str, *, answered: bool) -> Call:
    function = part.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return Call(id_, name if isinstance(name, str) else "?", arguments, answered)


def _result(store: DirStore, part: Object, id_: str, *, asked: bool) -> Result:
    name = part.get("name")
    inner = tuple(_plain(store, item) for item in parts_of(part))
    is_error = part.get("is_error") is True
    return Result(id_, name if isinstance(name, str) else "", inner, is_error, asked)


def _plain(store: DirStore, part: Object) -> Part:
    kind = part.get("type")
    text = part.get("text")
    if kind == "text" and isinstance(text, str):
        return Text(text)
    if kind == "json":
        return Text(dumps(part.get("value")).decode())
    if kind == "reasoning":
        return Text(_reasoning(part), "reasoning")
    if kind in _ATTACHMENTS:
        return _attachment(store, part, str(kind))
    return Other(str(kind), part)


def _reasoning(part: Object) -> str:
    """Return the text of reasoning, whichever of its forms it has."""
    found: list[str] = []
    todo: list[JSON] = [part.get("content", part.get("text")), part.get("summary")]
    while todo:
        value = todo.pop(0)
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            todo[:0] = value
        elif isinstance(value, dict):
            todo[:0] = [value.get("text"), value.get("content"), value.get("summary")]
    return "\n".join(text for text in found if text)


def _type_of(kind: str, media: str) -> str:
    whole = media if "/" in media else f"{kind}/{media}"
    return "image/svg+xml" if whole == "image/svg" else whole


def _attachment(store: DirStore, part: Object, kind: str) -> Attachment:
    media = part.get("media_type")
    told = _type_of(kind, media) if isinstance(media, str) else kind
    data = part.get("data")
    name = referred(data)
    if name is not None:
        try:
            return Attachment(told, store.file_stat(f"blobs/{name}").size, missing=False, data=data)
        except (OSError, ValueError):
            return Attachment(told, None, missing=True, data=data)
    value = data.get("value") if isinstance(data, dict) else None
    if isinstance(data, dict) and data.get("type") == "base64" and isinstance(value, str):
        return Attachment(
            told, len(value) * 3 // 4 - value[-2:].count("="), missing=False, data=data
        )
    if isinstance(data, dict) and data.get("type") == "raw" and isinstance(value, list):
        return Attachment(told, len(value), missing=False, data=data)
    missing = not isinstance(data, dict) or data.get("type") == "unknown"
    return Attachment(told, None, missing=missing, data=data)


def _stop(value: Object) -> str | None:
    stop = value.get("stop")
    if isinstance(stop, dict):
        stop = next(
            (key for key in (stop.get("kind"), stop.get("type")) if key), next(iter(stop), None)
        )
    return stop if isinstance(stop, str) and stop not in _PLAIN_STOPS else None


def _error(value: Object) -> str | None:
    stop = value.get("stop")
    found: list[JSON] = [value.get("errorMessage")]
    if isinstance(stop, dict):
        found += [stop.get("message"), stop.get("error")]
    return next((text for text in found if isinstance(text, str) and text.strip()), None)


def _has(value: Object, kind: str) -> bool:
    return any(part.get("type") == kind for part in parts_of(value))


def _answers_after(entries: Sequence[Entry], index: int) -> list[str]:
    """Return the ids of the results that follow before the next reply."""
    found: list[str] = []
    for entry in entries[index + 1 : index + 200]:
        value = entry.stored.value
        if value.get("role") == "assistant":
            break
        found.extend(
            call_id(part.get("call")) or ""
            for part in parts_of(value)
            if part.get("type") == "toolresult"
        )
    return found


def _asked_before(entries: Sequence[Entry], start: int) -> list[str]:
    """Return the ids of the calls that wait where a window begins."""
    answered: list[str] = []
    for index in range(start - 1, max(-1, start - 200), -1):
        value = entries[index].stored.value
        asked = [
            call_id(part.get("id")) or ""
            for part in parts_of(value)
            if part.get("type") == "toolcall"
        ]
        if value.get("role") == "assistant":
            for id_ in answered:
                if id_ in asked:
                    asked.remove(id_)
            return asked
        answered += [
            call_id(part.get("call")) or ""
            for part in parts_of(value)
            if part.get("type") == "toolresult"
        ]
    return []
