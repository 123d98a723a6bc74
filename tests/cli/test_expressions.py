"""Expressions that a later Python may read otherwise are taken without a word about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import join, run, turns, write

if TYPE_CHECKING:
    from pathlib import Path

ODD = "[[t]ext"


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("grep", ODD, "one"), ""),
        (("list", "--title", ODD), ""),
        (("scan", "one", "--no-rules", "--regexes", "-"), ODD),
        (("rewrite", "one", "--dry-run", "--replace-file", "-"), f"regex:{ODD} ==> word"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_an_expression_with_a_set_in_a_set_is_taken_quietly(
    root: Path, words: tuple[str, ...], stdin: str
) -> None:
    write(root, "one", "main", join(turns(2)))

    done = run(*words, stdin=stdin.encode())

    assert done.status in {0, 1}
    assert "Warning" not in done.err
