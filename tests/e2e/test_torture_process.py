"""The program itself, started as a user starts it, and killed where it changes something."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.e2e.torture import expected, try_point
from tests.e2e.torture_rows import ROWS
from tests.e2e.torture_server import Started

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.torture_rows import Row

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]

STARTED = [row for row in ROWS if row.name in {"append several", "redact", "repair"}]


@pytest.mark.parametrize("row", STARTED, ids=lambda row: row.name)
def test_a_killed_process_leaves_the_old_state_or_the_new(tmp_path: Path, row: Row) -> None:
    (tmp_path / "server").mkdir()
    with Started(tmp_path / "server") as server:
        expect = expected(server, tmp_path, row)
        chosen = _chosen(expect.calls)
        wrong = {
            f"{at}, {expect.calls[at - 1]}": found
            for at in chosen
            if (found := try_point(server, expect, row, at, "KILL"))
        }

    assert len(chosen) == 3
    assert expect.new != expect.old
    assert wrong == {}


def _chosen(calls: list[str]) -> list[int]:
    """The numbers of three calls: of renames, where there are so many, else of all."""
    numbers = [at for at, name in enumerate(calls, 1) if name == "replace"]
    if len(numbers) < 3:
        numbers = list(range(1, len(calls) + 1))
    return [numbers[0], numbers[len(numbers) // 2], numbers[-1]]
