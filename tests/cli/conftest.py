"""What tests of commands get besides: no waiting for the disk, and parameters read once."""

from __future__ import annotations

import functools
import os

import pytest
import typer.utils

_parameters = functools.cache(typer.utils.get_params_from_function)


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let fsync only look at its descriptor, and a command's parameters be read once a run.

    What a power cut leaves is tried in tests/unit/storage and tests/e2e; here most of the
    time would go by waiting for a disk. Typer reads the annotations of each command of each
    call anew, which is half of what a call in one process costs.
    """

    def look(descriptor: int) -> None:
        os.fstat(descriptor)

    monkeypatch.setattr("os.fsync", look)
    monkeypatch.setattr("typer.main.get_params_from_function", _parameters)
