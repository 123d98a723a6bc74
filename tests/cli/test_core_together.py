"""`core` by several processes at once: nothing is lost, and who comes second is told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import ok, run
from tests.cli.terminal import in_process

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

WRITERS = 5


@pytest.fixture(autouse=True)
def _session(root: Path) -> None:
    ok("new", "one")


def _at_once(*commands: list[str]) -> list[tuple[int, str]]:
    with ThreadPoolExecutor(len(commands)) as pool:
        return [(status, err) for status, _, err in pool.map(in_process, commands)]


def test_edits_at_once_are_all_made_and_none_is_lost(root: Path) -> None:
    done = _at_once(
        *(["core", "append", "one", "human", f"line {number}"] for number in range(WRITERS))
    )

    assert [status for status, _ in done] == [0] * WRITERS
    lines = ok("core", "get", "one", "human").out.split("\n")
    assert sorted(lines) == [f"line {number}" for number in range(WRITERS)]
    history = ok("core", "history", "one", "--json").objects
    assert len({each["n"] for each in history}) == WRITERS
    for _ in range(WRITERS):
        ok("core", "undo", "one")
    assert run("core", "get", "one", "human").status == 3
    assert ok("verify", "one").status == 0


def test_of_edits_that_saw_the_same_block_one_wins_and_the_others_are_told() -> None:
    ok("core", "set", "one", "human", "seen")
    seen = ok("core", "get", "one", "human", "--hash").out.strip()

    done = _at_once(
        *(
            ["core", "set", "one", "human", f"mine {number}", "--if-match", seen]
            for number in range(WRITERS)
        )
    )

    assert sorted(status for status, _ in done) == [0, *[4] * (WRITERS - 1)]
    (winner,) = (number for number, (status, _) in enumerate(done) if status == 0)
    assert ok("core", "get", "one", "human").out == f"mine {winner}"
    assert all("is not as it was seen" in err for status, err in done if status)


def test_edits_of_different_lines_that_saw_the_same_block_are_all_merged() -> None:
    texts = [f"line {number}" for number in range(WRITERS)]
    ok("core", "set", "one", "human", "\n".join(texts))
    seen = ok("core", "get", "one", "human", "--hash").out.strip()

    merging = ["--if-match", seen, "--merge"]
    done = _at_once(
        *(
            ["core", "replace", "one", "human", "--old", text, "--new", text.upper(), *merging]
            for text in texts
        )
    )

    assert [status for status, _ in done] == [0] * WRITERS
    assert ok("core", "get", "one", "human").out == "\n".join(texts).upper()
