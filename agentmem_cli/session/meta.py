"""What a listing shows of a session: a cache of what the logs hold.

Source: DESIGN.md, "Meta".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.limits import META_BYTES_MAX, TITLE_CHARACTERS_MAX, U64_MAX
from agentmem_cli.session.codec import dumps, loads_fast, loads_object

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.images import BlobFiles
    from agentmem_cli.session.session import SavedAgent, Session

META = "meta.json"
"""Its name among a session's files."""

_SHAPES: Final = {
    "title": str,
    "labels": dict,
    "updated": int,
    "model": str,
    "messages": int,
    "listed": dict,
}


class BadMeta(ValueError):
    """The bytes are no meta; the message says where they go wrong."""


class SessionMeta(NamedTuple):
    """What a listing shows. Every field may be missing; unknown ones are kept."""

    title: str | None = None
    labels: dict[str, str] = {}  # noqa: RUF012 - never changed in place
    updated: int | None = None
    """The newest record's time, milliseconds since 1970-01-01 UTC."""
    model: str | None = None
    messages: int | None = None
    """Entries of the main agent's conversation."""
    listed: dict[str, JSON] = {}  # noqa: RUF012 - never changed in place
    """Any JSON of those who list."""
    extra: dict[str, JSON] = {}  # noqa: RUF012 - never changed in place
    """Fields this version does not know, kept."""
    odd: tuple[str, ...] = ()
    """Known fields of another shape than theirs, which count as missing and are not written."""

    @classmethod
    def decode(cls, data: bytes, *, exact: bool = True) -> SessionMeta:
        """Read a meta from its JSON; a field of another shape counts as missing.

        So does an empty title or model, which rig writes where it knows none.

        Args:
            data: Its bytes.
            exact: Keep every number of unknown fields as it is written, which
                who only shows does not need.

        Raises:
            BadMeta: Not a JSON object, or larger than a meta may be.
        """
        if len(data) > META_BYTES_MAX:
            msg = f"{len(data)} bytes; a meta has at most {META_BYTES_MAX}"
            raise BadMeta(msg)
        try:
            value = loads_object(data) if exact else _loads_quickly(data)
        except ValueError as error:
            raise BadMeta(_where(data, error)) from None
        return cls._of_value(value)

    @classmethod
    def _of_value(cls, value: Object) -> SessionMeta:
        title, model = value.get("title"), value.get("model")
        updated, messages = value.get("updated"), value.get("messages")
        labels, listed = value.get("labels"), value.get("listed")
        named = labels.items() if isinstance(labels, dict) else ()
        meta = cls(
            title if isinstance(title, str) and title else None,
            {key: label for key, label in named if isinstance(label, str)},
            updated if type(updated) is int else None,
            model if isinstance(model, str) and model else None,
            messages if type(messages) is int else None,
            listed if isinstance(listed, dict) else {},
            {} if value.keys() <= _SHAPES.keys() else _unknown(value),
        )
        odd = _odd(value, meta.labels)
        if not odd:
            return meta
        return meta._replace(
            odd=odd,
            updated=None if "updated" in odd else meta.updated,
            messages=None if "messages" in odd else meta.messages,
        )

    @property
    def trouble(self) -> str | None:
        """What is wrong with its known fields, in words; None: nothing."""
        return f"not of their shape: {', '.join(self.odd)}" if self.odd else None

    @classmethod
    def read(cls, files: BlobFiles) -> SessionMeta:
        """Read a session's meta; an absent one is empty.

        Raises:
            BadMeta: It cannot be read.
        """
        try:
            return cls.decode(files.read_file(META))
        except FileNotFoundError:
            return cls()

    @classmethod
    def of(cls, session: Session) -> SessionMeta:
        """Return what *session* says of itself."""
        main = session.main_agent()
        agents = session.agents
        times = [agent.updated_ms for agent in agents if agent.updated_ms is not None]
        return cls(
            title=None if main is None else main.title() or first_title(main),
            updated=max(times, default=None),
            model=None if main is None else main.model(),
            messages=None if main is None else len(main.conversation),
        )

    def encode(self) -> bytes:
        """Return its JSON, missing fields left out."""
        value: Object = {}
        if self.title is not None:
            value["title"] = self.title
        if self.labels:
            value["labels"] = {**self.labels}
        for key, item in (
            ("updated", self.updated),
            ("model", self.model),
            ("messages", self.messages),
        ):
            if item is not None:
                value[key] = item
        if self.listed:
            value["listed"] = self.listed
        value.update(self.extra)
        return dumps(value)

    def write(self, files: BlobFiles) -> None:
        """Write it whole.

        Raises:
            OSError: It could not be written; what was there stays.
        """
        files.write_file(META, self.encode())


def _loads_quickly(data: bytes) -> Object:
    try:
        value = loads_fast(data)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else loads_object(data)


def _odd(value: Object, labels: dict[str, str]) -> tuple[str, ...]:
    """Name the known fields of another shape; *labels* are those that were taken."""
    odd = [
        key
        for key, shape in _SHAPES.items()
        if (item := value.get(key)) is not None
        and (type(item) is not shape or (shape is int and not _is_number(key, item)))
    ]
    told = value.get("labels")
    if isinstance(told, dict) and len(told) != len(labels):
        odd.append("labels")
    return tuple(odd)


def _is_number(key: str, item: JSON) -> bool:
    """Whether a number is one that a time or a count can be, to a reader of 64 bits too."""
    assert isinstance(item, int)
    return (0 if key == "messages" else _TIME_MIN) <= item <= U64_MAX


_TIME_MIN: Final = -1 << 63


def _unknown(value: Object) -> Object:
    return {key: item for key, item in value.items() if key not in _SHAPES}


def title_of(text: str) -> str:
    """Return a title made of *text*: one line, at most 60 characters.

    Runs of white space become one space; where it was cut, the last
    character is an ellipsis.
    """
    words: list[str] = []
    length = -1
    # Why: a title needs the text's beginning only, and a text may have megabytes.
    for word in re.finditer(r"\S+", text):
        words.append(text[word.start() : min(word.end(), word.start() + TITLE_CHARACTERS_MAX + 1)])
        length += 1 + len(words[-1])
        if length > TITLE_CHARACTERS_MAX:
            break
    line = " ".join(words)
    if length <= TITLE_CHARACTERS_MAX:
        return line
    return line[: TITLE_CHARACTERS_MAX - 1].rstrip() + "…"


def first_title(agent: SavedAgent) -> str | None:
    """Return a title made of the first text that the user wrote; None: there is none."""
    for entry in agent.conversation.entries:
        if entry.author is None or entry.author.kind == "user":
            message = entry.stored
            if message.role == "user" and message.text.strip():
                return title_of(message.text)
    return None


def excerpt(entry: Entry) -> str:
    """Return one line about *entry*: who wrote it, then its text's start or the tools it called."""
    message = entry.stored
    who = message.role or "unknown"
    if entry.author is not None:
        title = entry.author.title
        who = title if isinstance(title, str) else entry.author.name
    return f"{title_of(who)}: {_gist(message.parts)}"


def _gist(parts: list[Object]) -> str:
    said: list[str] = []
    for part in parts:
        text = part.get("text")
        if part.get("type") == "text" and isinstance(text, str) and text.strip():
            return title_of(text)
        if part.get("type") == "toolcall":
            function = part.get("function")
            name = function.get("name") if isinstance(function, dict) else None
            said.append(name if isinstance(name, str) else "a tool")
        elif part.get("type") == "toolresult":
            said.append(f"result of {part.get('name') or 'a tool'}")
        else:
            said.append(str(part.get("type") or "a part"))
    return title_of(", ".join(said)) if said else "(empty)"


def _where(data: bytes, error: ValueError) -> str:
    """Say where a meta goes wrong: NULs, a cut, or a valid document with bytes behind it."""
    from agentmem_cli.session.codec import scan_text

    if not data.strip(b"\0 \t\r\n"):
        return f"{len(data)} bytes, none of them JSON (NULs or nothing)"
    text = data.decode("utf-8", "surrogateescape")
    try:
        value, end = scan_text(text, len(text) - len(text.lstrip(" \t\r\n")))
    except ValueError:
        return f"{len(data)} bytes, not JSON: {error}"
    after = len(text[:end].encode("utf-8", "surrogateescape"))
    if not data[after:].strip():
        if isinstance(value, dict):
            return f"{len(data)} bytes, not JSON: {error}"
        return "JSON, but no object"
    return f"the valid document ends at byte {after}, {len(data) - after} bytes follow it"
