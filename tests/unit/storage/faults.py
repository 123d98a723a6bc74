"""Making the system fail, or the process die, at a chosen call."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CALLS = ("open", "write", "fsync", "replace", "rename", "unlink", "ftruncate", "mkdir")
"""The calls by which anything on a disk changes (and ``open``, which may)."""

KILLED = 137
"""Exit status of a process that died at the chosen call."""


class Faults:
    """Counts the calls in ``CALLS`` and acts at the one with number ``at`` (from 0)."""

    def __init__(self, act: Callable[[], None], at: int, *, after: bool = False) -> None:
        self.act = act
        self.at = at
        self.after = after
        self.seen: list[str] = []

    def wrap(self, name: str) -> Callable[..., object]:
        real = getattr(os, name)

        def call(*words: object, **named: object) -> object:
            mine = len(self.seen) == self.at
            self.seen.append(name)
            if mine and not self.after:
                self.act()
            result: object = None
            try:
                result = real(*words, **named)
            finally:
                if mine and self.after:
                    if name == "open" and isinstance(result, int):
                        os.close(result)  # nobody gets it
                    self.act()
            return result

        return call

    @contextmanager
    def active(self) -> Iterator[None]:
        with ExitStack() as stack:
            for name in CALLS:
                stack.enter_context(patch(f"os.{name}", self.wrap(name)))
            yield


def refuse() -> None:
    """Fail as a broken disk does."""
    raise OSError(errno.EIO, "broken disk")


def interrupt() -> None:
    """Fail as Ctrl-C does."""
    raise KeyboardInterrupt


def die() -> None:
    """Die as by ``kill -9``: nothing is cleaned up."""
    os._exit(KILLED)


def calls_of(work: Callable[[], None]) -> list[str]:
    """Return the calls that *work* makes."""
    faults = Faults(refuse, -1)
    with faults.active():
        work()
    return faults.seen


def die_at(at: int, work: Callable[[], None], *, after: bool = False) -> bool:
    """Do *work* in a process of its own that dies at call *at*; return whether it did."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            with Faults(die, at, after=after).active():
                work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in {0, KILLED}
    return code == KILLED


@contextmanager
def full_after(room: int) -> Iterator[None]:
    """Let ``os.write`` take *room* bytes in all, then fail as a full disk does."""
    real = os.write
    left = room

    def write(descriptor: int, data: bytes) -> int:
        nonlocal left
        if left <= 0:
            raise OSError(errno.ENOSPC, "full disk")
        taken = real(descriptor, data[:left])
        left -= taken
        return taken

    with patch("os.write", write):
        yield


@contextmanager
def short_writes(size: int) -> Iterator[None]:
    """Let ``os.write`` take no more than *size* bytes a call."""
    real = os.write
    with patch("os.write", lambda descriptor, data: real(descriptor, data[:size])):
        yield
