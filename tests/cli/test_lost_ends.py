"""A log whose newest records are zeros, after a power cut: said by who writes to it, and later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.running import join, ok, run, turns, write

if TYPE_CHECKING:
    from pathlib import Path

WRITING = (
    ("append", "one", "--role", "user"),
    ("meta", "title", "one", "Tides"),
    ("value", "set", "one", "mood", "calm", "--text"),
    ("core", "set", "one", "human", "Ada", "--agent", "main"),
    ("splice", "one", "0:1", "--force"),
)


def _notices() -> list[str]:
    found = run("verify", "one", "--json").object["findings"]
    return [each["kind"] for each in found if each["level"] == "notice"]


def _zeroed(path: Path, count: int) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    size = sum(map(len, lines[-count:]))
    path.write_bytes(path.read_bytes()[:-size] + bytes(size))


@pytest.mark.parametrize("words", WRITING, ids=" ".join)
def test_zeros_in_the_place_of_records_leave_a_notice(root: Path, words: tuple[str, ...]) -> None:
    path = write(root, "one", "main", join(turns(4)))
    ok("append", "one", "--role", "user", stdin=b"five")
    assert "shorter-log" not in _notices()
    _zeroed(path, 2)

    done = run(*words, stdin=b"more")

    assert done.status == 0, done
    assert "shorter-log" in _notices()
    ok("append", "one", "--role", "user", stdin=b"more")
    assert "shorter-log" in _notices()
    assert run("repair", "one", "--force", "--json").object["mended"] == []
    assert "shorter-log" in _notices()


def test_a_record_that_was_only_begun_leaves_none(root: Path) -> None:
    path = write(root, "one", "main", join(turns(2)))
    ok("append", "one", "--role", "user", stdin=b"three")
    path.write_bytes(path.read_bytes() + b'{"seq":4,"n"')

    ok("append", "one", "--role", "user", stdin=b"four")

    assert _notices() == []
