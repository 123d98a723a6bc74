"""What `verify` looks for in the messages of a log while that is folded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from agentmem_cli.operations.lost import lost_in
from agentmem_cli.session.images import blob_names
from agentmem_cli.session.pairing import Waiting, calls_of

if TYPE_CHECKING:
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.lines import Line


class Told(Protocol):
    """Who is told what is found."""

    def refers(self, log: str, line: int, names: list[str]) -> None:
        """Take the blobs that a record names."""

    def lost(self, log: str, n: int, blobs: list[str]) -> None:
        """Take that the record at *n* says of something that it is lost, and of which blobs."""

    def advance(self, size: int) -> None:
        """Take the bytes read since the last call."""

    def pairing(self, log: str, problems: list[tuple[str, int, str | None]]) -> None:
        """Take what is wrong with calls and results: kind, message, call."""


class LogWatch:
    """Looks into the messages of one log as it is folded."""

    def __init__(self, work: Told, log: str, size: int) -> None:
        """Look into *log*, which has *size* bytes, for *work*."""
        self._work = work
        self._log = log
        self._size = size
        self._told = 0
        self._waiting: Waiting | None = Waiting()
        self._ids: list[int] = []

    def look(self, line: Line, _: LogFold) -> None:
        """Take one record."""
        fields = line.fields
        kind = fields.get("type")
        if kind == "push":
            self._entries(line, fields.get("entries"), paired=True)
        elif kind in ("splice", "reset"):
            # Why: what pairs is the conversation as it stands, so it is looked at in the end.
            self._waiting = None
            state = fields.get("state")
            inner = state.get("entries") if isinstance(state, dict) else fields.get("with")
            self._entries(line, inner, paired=False)
        n = fields.get("n")
        if kind in ("aside", "reset") and type(n) is int:
            blobs = lost_in(fields)
            if blobs is not None:
                self._work.lost(self._log, n, blobs)
        if line.offset - self._told > _TELL_BYTES:
            self._work.advance(line.offset - self._told)
            self._told = line.offset

    def _entries(self, line: Line, entries: object, *, paired: bool) -> None:
        for entry in entries if isinstance(entries, list) else []:
            if not isinstance(entry, dict):
                continue
            message = entry.get("message")
            if not isinstance(message, dict):
                continue
            if paired and self._waiting is not None:
                calls = self._waiting.feed(message)
                self._ids.append(entry.get("id", -1))
            else:
                calls = calls_of(message)
            if calls.images and (names := blob_names(message)):
                self._work.refers(self._log, line.number, names)

    def finish(self, fold: LogFold) -> None:
        """Tell what the whole log comes to."""
        self._work.advance(self._size - self._told)
        waiting, ids = self._waiting, self._ids
        # Why: a push that was refused left the conversation without its entries.
        if waiting is None or len(ids) != len(fold.conversation):
            waiting = Waiting()
            ids = [entry.id for entry in fold.conversation.entries]
            for entry in fold.conversation.entries:
                waiting.feed(entry.stored.value)
        # Why: calls that wait at the very end may still be answered.
        problems = [(problem.kind, ids[problem.at], problem.call) for problem in waiting.problems]
        self._work.pairing(self._log, problems)


_TELL_BYTES: Final = 4 << 20
