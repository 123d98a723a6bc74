"""Sources that are not read again, and what makes them be read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.imports.importing import import_source
from agentmem_cli.operations.imports.sniff import choose
from agentmem_cli.operations.imports.unchanged import PIECE_BYTES, unchanged
from agentmem_cli.storage.directory import DirStore
from tests.unit.imports.building import NOW, header, lines, put, reply, store_of, take, user

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="sources are always read there")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return put(tmp_path / "a.jsonl", lines(header(id="a"), user(1, "one"), reply(2, "two")))


def test_a_source_that_nobody_wrote_to_is_not_read(source: Path, root: Path) -> None:
    first = take(source, root)

    again = take(source, root)

    assert again.nothing_new
    assert (again.messages, again.known, again.bytes) == (first.messages, 4, 0)


def test_a_touched_source_is_read_and_found_the_same(source: Path, root: Path) -> None:
    take(source, root)
    source.touch()

    again = take(source, root)

    assert again.nothing_new
    assert again.bytes == source.stat().st_size


def test_a_source_that_was_just_written_when_it_was_read_is_read_again(
    source: Path, root: Path
) -> None:
    just_ms = source.stat().st_mtime_ns // 1_000_000 + 1
    import_source(source, root, now_ms=just_ms)

    again = import_source(source, root, now_ms=NOW)

    assert (again.nothing_new, again.bytes) == (True, source.stat().st_size)


def test_a_copy_in_its_place_is_read(source: Path, root: Path) -> None:
    take(source, root)
    found = source.stat()
    other = put(source.with_name("copy"), source.read_bytes())
    other.replace(source)
    os.utime(source, ns=(found.st_atime_ns, found.st_mtime_ns))

    again = take(source, root)

    assert (again.nothing_new, again.bytes) == (True, source.stat().st_size)


def test_a_source_that_is_not_kept_yet_is_read_to_be_kept(source: Path, root: Path) -> None:
    take(source, root, keep_source=False)
    report = take(source, root)
    kept = report.path / "files" / "plugins" / "import" / "a.jsonl"

    assert kept.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("keep_source", [True, False])
def test_a_touched_source_that_grew_adds_what_is_new(
    source: Path, root: Path, keep_source: bool
) -> None:
    take(source, root, keep_source=keep_source)
    source.write_bytes(source.read_bytes() + lines(user(3, "three")))

    again = take(source, root, keep_source=keep_source)

    assert (again.new, again.messages) == (1, 3)


def test_a_damaged_copy_is_not_what_a_source_is_known_by(source: Path, root: Path) -> None:
    report = take(source, root)
    kept = report.path / "files" / "plugins" / "import" / "a.jsonl"
    kept.write_bytes(kept.read_bytes().replace(b"two", b"six"))
    source.touch()

    again = take(source, root)

    assert (again.nothing_new, again.messages) == (True, 2)


def _long(tmp_path: Path, over: int) -> Path:
    """Write a source of two pieces and *over* bytes."""
    head = lines(header(id="a"), user(1, "one"), reply(2, "two"))
    rest = 2 * PIECE_BYTES + over - len(head) - len(lines(user(3, "")))
    return put(tmp_path / "a.jsonl", head + lines(user(3, "x" * rest)))


def _seems_unchanged(source: Path, session: Path) -> bool:
    adapter, head = choose(source)
    transcript = adapter.open(source, head)
    return unchanged(transcript, DirStore.open(session), keep_source=True)[0] is not None


@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_touched_source_of_several_pieces_is_found_the_same(
    tmp_path: Path, root: Path, over: int
) -> None:
    source = _long(tmp_path, over)
    report = take(source, root)
    source.touch()

    assert source.stat().st_size == 2 * PIECE_BYTES + over
    assert _seems_unchanged(source, report.path)


@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("place", [0, PIECE_BYTES - 1, PIECE_BYTES, -2])
def test_a_source_that_differs_in_one_byte_is_not_the_same(
    tmp_path: Path, root: Path, over: int, place: int
) -> None:
    source = _long(tmp_path, over)
    report = take(source, root)
    kept = report.path / "files" / "plugins" / "import" / "a.jsonl"
    data = bytearray(kept.read_bytes())
    data[place] ^= 1
    kept.write_bytes(data)
    source.touch()

    assert not _seems_unchanged(source, report.path)


@pytest.mark.parametrize("change", [-1, 1])
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_copy_of_another_length_is_not_the_same(
    tmp_path: Path, root: Path, over: int, change: int
) -> None:
    source = _long(tmp_path, over)
    report = take(source, root)
    kept = report.path / "files" / "plugins" / "import" / "a.jsonl"
    kept.write_bytes((kept.read_bytes() + b" ")[: source.stat().st_size + change])
    source.touch()

    assert not _seems_unchanged(source, report.path)


def test_a_map_of_an_older_version_lets_the_source_be_read(source: Path, root: Path) -> None:
    report = take(source, root)
    path = report.path / "files" / "plugins" / "import" / "a.jsonl.map.jsonl"
    path.write_bytes(b"".join(_without(path.read_bytes())))

    again = take(source, root)

    assert (again.nothing_new, again.messages) == (True, 2)
    assert again.bytes == source.stat().st_size


@pytest.mark.parametrize("touched", [False, True])
@pytest.mark.parametrize(
    "file", ["logs/main.jsonl", "files/plugins/import/a.jsonl", "files/meta.json"]
)
@pytest.mark.parametrize("emptied", [False, True])
def test_an_unchanged_source_is_read_where_its_session_is_not_whole(
    source: Path, root: Path, touched: bool, file: str, emptied: bool
) -> None:
    path = take(source, root).path / file
    path.write_bytes(b"" if emptied else path.read_bytes()[:-5])
    if touched:
        source.touch()

    again = take(source, root)

    assert again.bytes == source.stat().st_size
    assert again.restored == ((4 if emptied else 1) if path.name == "main.jsonl" else 0)
    kept = again.path / "files" / "plugins" / "import" / "a.jsonl"
    assert kept.read_bytes() == source.read_bytes()
    source.touch()
    assert take(source, root).nothing_new


def test_a_dry_run_over_a_session_that_is_not_whole_tells_it(source: Path, root: Path) -> None:
    log = take(source, root).path / "logs" / "main.jsonl"
    log.write_bytes(b"")

    dry = import_source(source, root, now_ms=NOW, dry_run=True)

    assert (dry.restored, dry.nothing_new, log.read_bytes()) == (4, False, b"")


def _without(data: bytes) -> Iterator[bytes]:
    head, _, rest = data.partition(b"\n")
    yield head.partition(b',"seen":')[0] + b"}\n"
    yield rest


def test_an_import_with_nothing_new_takes_away_what_a_killed_one_left(
    source: Path, root: Path
) -> None:
    report = take(source, root)
    left = report.path / "files" / f".agentmem-{'0' * 32}.rig-part"
    left.write_bytes(b"staged")

    again = take(source, root)

    assert again.nothing_new
    assert not left.exists()
    assert store_of(report).leftovers() == []
