"""A log's last line while another program writes it: a reader without a lock waits for its end.

A system shows a large write to others as it goes on, so the end of a log can be half a
line for a moment. Whoever writes it holds the session's lock.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Final

from agentmem_cli.storage.layout import LOCK

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.storage.logfile import OpenLog

WAIT_S: Final = 1.0
"""Seconds that half a line is waited for; one that stays may be part of a long append."""

_FIRST_S: Final = 0.001
_LONGEST_S: Final = 0.05


def settled(log: OpenLog, opened: Callable[[], OpenLog], session: str) -> OpenLog:
    """Open a log again until its last line is whole, or nobody is writing it.

    Args:
        log: It, opened, with half a line at its end; closed here.
        opened: Opens it.
        session: The session's folder.

    Returns:
        It: with half a line at its end where a stopped program left that, or one is at work on
        more than a moment's writing.
    """
    end = time.monotonic() + WAIT_S
    pause = _FIRST_S
    while True:
        # Why asked before it is opened: who has let go of the lock since has ended its line.
        busy = is_held(session)
        log.close()
        log = opened()
        if not busy or log.is_ended() or time.monotonic() > end:
            return log
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_S)


def is_held(folder: str) -> bool:
    """Whether another program, or another part of this one, holds the lock in *folder*."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        descriptor = os.open(
            os.path.join(folder, LOCK), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        )
    except OSError:
        return False
    try:
        # Why shared: two that look at once do not take each other for one that changes it.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # no locks here, so nobody has one
    finally:
        os.close(descriptor)
    return False
