"""What every test gets: a root of its own, a fixed zone and width, one profile."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Busy machines make single examples slow; that is nothing a test should fail on.
_SLOW = (HealthCheck.too_slow,)
settings.register_profile(
    "dev", max_examples=50, deadline=None, derandomize=True, suppress_health_check=_SLOW
)
settings.register_profile(
    "ci",
    max_examples=200,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=_SLOW,
)
settings.register_profile(
    "deep", max_examples=5000, deadline=None, print_blob=True, suppress_health_check=_SLOW
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# A shell starts what it runs behind itself with the interrupt ignored, and so would every
# process that a test starts: what interrupts do can only be tried where they are taken.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_UNSET = ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PAGER", "LESS", "AGENTMEM_PAGER", "TERM")


@pytest.fixture(autouse=True)
def root(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Point the session root into the test's folder, so that no test meets real sessions.

    The folder is not made: a root that is not there yet is an empty one. The key of
    masks is the test's own, and the compiled rules are those of all tests and runs.
    """
    sessions = tmp_path / "root"
    rules = tmp_path_factory.getbasetemp().parent / "agentmem-rules"
    monkeypatch.setenv("AGENTMEM_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTMEM_CACHE", str(rules))
    for name in _UNSET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTMEM_ROOT", str(sessions))
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "50")
    _apply_zone()
    yield sessions
    monkeypatch.undo()
    _apply_zone()


def _apply_zone() -> None:
    # tzset exists on POSIX only; elsewhere TZ is read by nobody.
    if hasattr(time, "tzset"):
        time.tzset()
