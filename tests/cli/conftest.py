"""What the tests of commands get besides: a disk that is not waited for."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _no_wait_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let fsync only look at its descriptor.

    What a power cut leaves is tried in tests/unit/storage and tests/e2e; here most of the
    time would go by waiting for a disk.
    """

    def look(descriptor: int) -> None:
        os.fstat(descriptor)

    monkeypatch.setattr("os.fsync", look)
