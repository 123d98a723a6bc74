"""The digest of a source that is read in large pieces."""

from __future__ import annotations

import threading
from hashlib import blake2b
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.imports.sources import _Hashing, find_maps
from tests.unit.imports.building import header, lines, put, store_of, take, user

if TYPE_CHECKING:
    from pathlib import Path

LARGE = bytes(range(256)) * (CHUNK_BYTES // 256)


@pytest.mark.parametrize(
    "chunks",
    [
        [],
        [b"a", b"b"],
        [LARGE, b"a"],
        [b"a", LARGE, b"b", LARGE],
        [LARGE + bytes([number]) for number in range(40)],
    ],
)
def test_the_digest_is_of_all_chunks_in_their_order(chunks: list[bytes]) -> None:
    hashing = _Hashing(blake2b())
    for chunk in chunks:
        hashing.update(chunk)

    assert hashing.settled().hexdigest() == blake2b(b"".join(chunks)).hexdigest()


def test_it_goes_on_after_it_was_asked_for() -> None:
    hashing = _Hashing(blake2b())
    hashing.update(LARGE)
    middle = hashing.settled().hexdigest()
    hashing.update(LARGE)

    assert middle == blake2b(LARGE).hexdigest()
    assert hashing.settled().hexdigest() == blake2b(LARGE * 2).hexdigest()


def test_a_source_of_several_chunks_has_the_digest_of_its_bytes(tmp_path: Path, root: Path) -> None:
    source = put(tmp_path / "a.jsonl", lines(header(id="a"), user(1, "x" * 3 * CHUNK_BYTES)))
    before = threading.active_count()

    report = take(source, root)

    found = find_maps(store_of(report))[0].header
    wanted = blake2b(source.read_bytes(), key=bytes.fromhex(found.key), digest_size=32)
    assert found.digest == wanted.hexdigest()
    assert threading.active_count() == before
