"""What a mistyped name may have been meant to be."""

from __future__ import annotations

import pytest

from agentmem_cli.operations.suggesting import near

NAMES = ["pi-019eab7c-3f5d-7d21", "codex-77aa-0001", "notes", "Work", "emoji 🙂"]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("ntoes", "notes"),
        ("NOTES", "notes"),
        ("work", "Work"),
        ("pi-019aeb", "pi-019eab7c-3f5d-7d21"),
        ("019eab", "pi-019eab7c-3f5d-7d21"),
        ("codx-77aa", "codex-77aa-0001"),
        ("emoji", "emoji 🙂"),
        ("zzzz", None),
        ("", None),
    ],
)
def test_a_slip_a_case_or_a_piece_is_enough(words: str, meant: str | None) -> None:
    assert near(words, NAMES) == meant


def test_among_very_many_names_those_that_begin_alike_are_compared() -> None:
    names = [f"session-{number:06d}" for number in range(50_000)]

    assert near("sessoin-031415", [*names, "notes"]) is not None
    assert near("ntoes", [*names, "notes"]) == "notes"
