"""Whatever call of a command fails, or ends it: nothing is lost, and nothing is half done.

Every n-th point is tried, of every command; `make torture` tries all of them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.e2e.torture import LOOK_STEP, expected, points, try_point
from tests.e2e.torture_rows import known_rows
from tests.e2e.torture_server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.torture_rows import Row

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]

STEP = int(os.environ.get("AGENTMEM_TORTURE_STEP", "37"))
"""Of how many points one is tried."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("row", known_rows(), ids=lambda row: row.name)
def test_a_fault_at_any_call_loses_nothing_and_leaves_nothing_half_done(
    server: Server, tmp_path: Path, row: Row, record_property: Callable[[str, object], None]
) -> None:
    expect = expected(server, tmp_path, row)
    tried = points(expect.calls, STEP)
    wrong = {
        f"{how} at {at}, {expect.calls[at - 1]}": found
        for index, (at, how) in enumerate(tried)
        if (found := try_point(server, expect, row, at, how, look=not index % LOOK_STEP))
    }

    record_property("points", len(tried))
    assert expect.new != expect.old
    assert tried
    assert wrong == {}
