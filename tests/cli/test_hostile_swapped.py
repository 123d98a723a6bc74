"""Folders of a session are swapped between a look and a use: under every command that writes.

What is put there is a link to a folder outside with the same names in it, or another real
folder with the same content.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.cli.commands_made import Call, known_calls
from tests.cli.swapped import PARTS, WHOLE, Case, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.name == "nt", reason="an open folder is not renamed there")

WRITING = [each for each in known_calls() if each.writes and "one" in each.words]
READING = ("show one", "log one", "grep tides one", "export one --as messages -o")
MOMENTS = 5
"""Calls of `os` before which each folder is swapped, in each command."""
BACK_AFTER = (1, 4, 12)
"""Calls after which it is put back, where it is while the command runs."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("swapped"))


def _cases(calls: int, places: tuple[str, ...], back: tuple[int, ...] = (0,)) -> Iterator[Case]:
    """Yield cases spread over *calls*, others for each place; half of them links."""
    step = max(1, calls // MOMENTS)
    for number, where in enumerate(places):
        first = 1 + number * step // len(places)
        for turn, at in enumerate(range(first, calls + 1, step)):
            by = ("link", "folder")[(turn + number) % 2]
            yield Case(where, by, at, back[turn % len(back)])


def _tried(stage: Stage, each: Call, places: tuple[str, ...], *back: int) -> dict[Case, list[str]]:
    calls = stage.run(each, Case("one", "link", 0)).calls
    wrong: dict[Case, list[str]] = {}
    for case in _cases(calls, places, back or (0,)):
        came = stage.run(each, case)
        if found := stage.wrong(each, case, came):
            wrong[case] = found
    return wrong


@pytest.mark.parametrize("each", WRITING, ids=lambda each: each.name)
def test_what_is_swapped_at_any_moment_is_not_followed_told_of_or_changed(
    stage: Stage, each: Call
) -> None:
    wrong = _tried(stage, each, (*WHOLE, *PARTS))

    assert wrong == {}


@pytest.mark.parametrize("each", WRITING, ids=lambda each: each.name)
def test_what_is_swapped_and_put_back_is_not_followed_told_of_or_changed(
    stage: Stage, each: Call
) -> None:
    wrong = _tried(stage, each, ("one", "one/logs", "one/files"), *BACK_AFTER)

    assert wrong == {}


@pytest.mark.parametrize("words", READING)
def test_who_reads_tells_nothing_of_what_was_swapped_in_meanwhile(stage: Stage, words: str) -> None:
    more = (str(stage.export),) if words.endswith("-o") else ()
    each = Call((*words.split(), *more))

    wrong = _tried(stage, each, (*WHOLE, *PARTS[:3]))

    assert wrong == {}
