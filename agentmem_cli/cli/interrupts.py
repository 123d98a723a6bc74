"""Ctrl-C, SIGTERM and a closed terminal: all end a command the same way, not at every moment.

While a module is being imported an interrupt waits: one in the middle leaves
the module half made, and crashes one that is compiled. Where a command holds
it, it waits too: between the moment a change is made and the one it is told.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

_IMPORTS: Final = "<frozen importlib._bootstrap>"
"""What the code that imports modules says its file is."""

_AGAIN_S: Final = 0.005
"""Seconds until an interrupt that met an import is looked at again."""


class _Interrupts:
    """What is known of interrupts in this process."""

    __slots__ = ("came", "held")

    def __init__(self) -> None:
        self.held = False
        self.came = False

    def take(self, _: int, frame: FrameType | None) -> None:
        """Be the handler of a signal.

        Raises:
            KeyboardInterrupt: The command ends now.
        """
        if _is_import(frame) and _again(self.take):
            return
        if self.held and not self.came:
            self.came = True
            return
        raise KeyboardInterrupt


_INTERRUPTS: Final = _Interrupts()


def hold() -> None:
    """Let an interrupt wait until `release`; a second one does not wait."""
    _INTERRUPTS.held = True


def release() -> None:
    """Let interrupts come again.

    Raises:
        KeyboardInterrupt: One came meanwhile.
    """
    came = _INTERRUPTS.came
    _INTERRUPTS.held = _INTERRUPTS.came = False
    if came:
        raise KeyboardInterrupt


def listen() -> Callable[[], None]:
    """Take over the signals that end a command, where nobody else has done so.

    Returns:
        What gives them back.
    """
    before = {}
    for number in _SIGNALS:
        found = signal.getsignal(number)
        if found is signal.default_int_handler or found is signal.SIG_DFL:
            # Why suppressed: a thread other than the main one may not.
            with suppress(ValueError):
                before[number] = signal.signal(number, _INTERRUPTS.take)

    def give_back() -> None:
        _INTERRUPTS.held = _INTERRUPTS.came = False
        for number, handler in before.items():
            signal.signal(number, handler)

    return give_back


def deaf() -> None:
    """Pass over Ctrl-C from now on: the process is about to end."""
    # Why suppressed: a thread other than the main one may not.
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _is_import(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTS:
            return True
        frame = frame.f_back
    return False


def _again(handler: Callable[[int, FrameType | None], None]) -> bool:
    """Have *handler* called again in a moment; False: this system cannot."""
    if not hasattr(signal, "setitimer"):
        return False
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
    return True
