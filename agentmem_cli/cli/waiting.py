"""A sign of life, where a command reads for more than a second and nothing else shows it.

What has a bar of its own shows that. Everything else that reads long, in
whatever command, shows one line on standard error with how much it has read;
it is taken away before anything else is printed.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TextIO

AFTER_S: Final = 1.0
"""Seconds of silence before anything is shown."""

_EVERY_S: Final = 0.1
"""Seconds between two drawings."""

_FEW_BYTES: Final = 1_000_000
"""Less is not worth telling beside a number of sessions."""


class Waiting:
    """What is shown meanwhile."""

    def __init__(self, stream: TextIO) -> None:
        """Show on *stream*, a terminal that knows escapes."""
        self._stream = stream
        self._silent_since = monotonic()
        self._drawn_at = 0.0
        self._drawn = False
        self._held = 0
        self._bytes = 0
        self._sessions = 0

    def read(self, size_bytes: int, sessions: int) -> None:
        """So much was read; show it, if it is time."""
        self._bytes += size_bytes
        self._sessions += sessions
        if self._held:
            return
        now = monotonic()
        if now - self._silent_since >= AFTER_S and now - self._drawn_at >= _EVERY_S:
            self._drawn_at = now
            self._draw()

    def _draw(self) -> None:
        from agentmem_cli.cli.render import count, size

        told = []
        if self._sessions:
            told.append(count(self._sessions, "session"))
        if self._bytes >= _FEW_BYTES or not self._sessions:
            told.append(size(self._bytes))
        self._put(f"\r\x1b[Kreading: {', '.join(told)}")
        self._drawn = True

    def clear(self) -> None:
        """Take away what is shown: something else is printed now."""
        self._silent_since = monotonic()
        if self._drawn:
            self._drawn = False
            self._put("\r\x1b[K")

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Show nothing for the block: it has a bar of its own."""
        self.clear()
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            self._silent_since = monotonic()

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            return  # nobody looks on any more


class _Shown:
    """What this run shows."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: Waiting | None = None


_SHOWN: Final = _Shown()


def begin(environ: Mapping[str, str]) -> None:
    """Show a sign of life from now on; standard error is a terminal."""
    if environ.get("TERM", "") in ("", "dumb") or sys.stderr is None:
        return
    from agentmem_cli.storage.watching import WATCH

    _SHOWN.waiting = Waiting(sys.stderr)
    WATCH.tell = _SHOWN.waiting.read


def end() -> None:
    """Show nothing any more."""
    if _SHOWN.waiting is None:
        return
    from agentmem_cli.storage.watching import WATCH

    clear()
    _SHOWN.waiting = None
    WATCH.tell = None


def clear() -> None:
    """Take away what is shown, since something else is printed now."""
    if _SHOWN.waiting is not None:
        _SHOWN.waiting.clear()


@contextmanager
def held() -> Iterator[None]:
    """Show nothing for the block."""
    if _SHOWN.waiting is None:
        yield
        return
    with _SHOWN.waiting.hold():
        yield
