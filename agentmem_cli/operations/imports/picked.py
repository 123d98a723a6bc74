"""What a listing shows of an imported session, picked up on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.operations.imports.adapter import CWD, MAIN, Kept, Noted, Said
from agentmem_cli.session.keys import FORKED_FROM, MODEL, TITLE
from agentmem_cli.session.meta import SessionMeta, title_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.operations.imports.adapter import Item
    from agentmem_cli.operations.imports.logs import LogOut
    from agentmem_cli.session.codec import JSON, Object


class Facts:
    """What a listing shows, picked up from the main agent's items."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._first_text: str | None = None
        self._fork: Object = {}
        self._part: Object = {}

    @property
    def has_title(self) -> bool:
        """Whether the source said a title that is new."""
        return TITLE in self._values

    @property
    def fork(self) -> tuple[str, int | None] | None:
        """The session that the source is a fork of, and how many messages it copied."""
        session, at = self._fork.get("session"), self._fork.get("at")
        if not isinstance(session, str):
            return None
        return session, at if type(at) is int else None

    def look(self, item: Item, agent: str) -> None:
        """Pick up the first text that the user wrote, what was copied, what it is a part of."""
        if agent != MAIN:
            return
        if isinstance(item, Noted):
            at = item.value.get("messages", item.value.get("at"))
            if item.kind == "import.fork" and type(at) is int:
                self._fork["at"] = at
            self._part = part_of(item.value) or self._part
        elif isinstance(item, Kept):
            if item.key == FORKED_FROM and isinstance(item.value, dict):
                self._fork["session"] = item.value.get("session")
        elif self._first_text is None:
            self._say(item)

    def _say(self, item: Said) -> None:
        if item.message.get("role") == "user" and item.author is None:
            text = "\n".join(_texts(item.message))
            self._first_text = text if text.strip() else None

    def keep(self, item: Item, agent: str) -> None:
        """Pick up a saved value that is new."""
        if not isinstance(item, Kept) or agent != MAIN:
            return
        if isinstance(item.value, str):
            self._values[item.key] = item.value

    def meta(self, old: SessionMeta | None, kind: str, main: LogOut | None) -> SessionMeta:
        """Return the session's meta; what stands in *old* stays unless the source says it anew."""
        base = SessionMeta() if old is None else old
        saved = {} if main is None or main.fold is None else main.fold.saved
        known = {key: value for key, value in saved.items() if isinstance(value, str)}
        title = self._values.get(TITLE) or base.title or known.get(TITLE)
        if title is None and self._first_text is not None:
            title = title_of(self._first_text)
        listed: dict[str, JSON] = {**base.listed, "source": kind}
        cwd = self._values.get(CWD) or known.get(CWD)
        if cwd is not None:
            listed["cwd"] = cwd
        if "session" in self._fork:
            listed["forked_from"] = {**self._fork}
        if self._part:
            listed["part_of"] = {**self._part}
        return base._replace(
            title=title,
            model=self._values.get(MODEL) or known.get(MODEL) or base.model,
            messages=None if main is None else main.entries,
            listed=listed,
        )


def part_of(value: JSON) -> Object | None:
    """Return what an aside of an import says of the session that this one is an agent of.

    Returns:
        ``{"session", "agent"}``: the session's name under the root and the
        agent's in it; None: it says nothing of the kind.
    """
    if not isinstance(value, dict):
        return None
    session, agent = value.get("part_of"), value.get("agent")
    if not isinstance(session, str) or not isinstance(agent, str):
        return None
    return {"session": session, "agent": agent}


def _texts(message: Object) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and isinstance(text := part.get("text"), str):
                yield text
