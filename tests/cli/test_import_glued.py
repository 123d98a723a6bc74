"""`import` of transcripts whose lines were cut and glued: whole records in them are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.cli.running import ok, texts
from tests.unit.imports import claude_building as claude
from tests.unit.imports import codex_building as codex

if TYPE_CHECKING:
    from pathlib import Path


class Source(NamedTuple):
    """A transcript of three things that were said."""

    name: str
    head: bytes
    said: tuple[bytes, bytes, bytes]
    inner: bytes
    """An object that stands in a record, and is none itself."""


SOURCES = {
    "claude": Source(
        f"{claude.SID}.jsonl",
        b"",
        (
            claude.prompt("u1", None, "first", 1),
            claude.piece("a1", "u1", "m1", claude.text("second"), second=2),
            claude.prompt("u2", "a1", "third", 3),
        ),
        b'{"type":"text","text":"inner"}',
    ),
    "codex": Source(
        f"rollout-2026-01-01T00-00-00-{codex.THREAD}.jsonl",
        codex.meta() + b"\n",
        (codex.prompt(1, "first"), codex.answer(2, "second"), codex.prompt(3, "third")),
        b'{"type":"input_text","text":"inner"}',
    ),
}
WORDS = ["first", "second", "third"]


def shown(path: Path, data: bytes) -> tuple[list[str], str]:
    """Import *data*; return what was said, and what was told."""
    path.write_bytes(data)
    done = ok("import", path)
    return texts(ok("show", "@last", "--json").objects), done.err + done.out


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("cut", [0, 1, 40, 90])
def test_a_whole_record_behind_one_that_was_cut_is_kept(
    root: Path, tmp_path: Path, kind: str, cut: int
) -> None:
    source = SOURCES[kind]
    one, two, three = source.said

    said, told = shown(
        tmp_path / source.name, source.head + one + b"\n" + three[:cut] + two + b"\n" + three
    )

    assert said == WORDS
    assert ("not a whole record" in told) == (cut > 0)
    assert root.is_dir()


@pytest.mark.parametrize("kind", SOURCES)
def test_two_records_on_one_line_are_two(root: Path, tmp_path: Path, kind: str) -> None:
    source = SOURCES[kind]
    one, two, three = source.said

    said, _ = shown(tmp_path / source.name, source.head + one + b"\n" + two + three + b"\n")

    assert said == WORDS
    assert root.is_dir()


@pytest.mark.parametrize("kind", SOURCES)
def test_an_object_in_a_record_that_was_cut_is_no_record(
    root: Path, tmp_path: Path, kind: str
) -> None:
    source = SOURCES[kind]
    one, two, three = source.said
    broken = b'{"message":[' + source.inner + b',{"type":7,"uuid":"x"},{"payload":{}}'

    said, told = shown(
        tmp_path / source.name,
        b"\n".join([source.head + one, broken, two, three, b""]),
    )

    assert said == WORDS
    assert "not a whole record" in told
    assert root.is_dir()
