"""Sources with lines as long as an image: they are looked at briefly, and read whole."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from agentmem_cli.errors import Unrecognised
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.imports.sniff import choose
from agentmem_cli.session.codec import dumps
from tests.unit.imports.building import entry, header, lines, put, store_of, take

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import Object

IMAGE = bytes(3 * CHUNK_BYTES)


@pytest.fixture
def first_shown(tmp_path: Path) -> Path:
    """Return a transcript whose first line holds an image of several chunks."""
    data = base64.b64encode(IMAGE).decode()
    message: Object = {
        "role": "user",
        "content": [{"type": "image", "data": data, "mimeType": "image/png"}],
    }
    return put(tmp_path / "x.jsonl", lines(entry("message", 1, message=message), header()))


def test_the_kind_is_told_without_an_image_that_stands_first(first_shown: Path) -> None:
    adapter, head = choose(first_shown)

    assert adapter.kind == "pi"
    assert head[0]["type"] == "message"
    assert len(dumps(head[0])) < len(IMAGE)


def test_an_image_that_stands_first_is_kept_whole(first_shown: Path, tmp_path: Path) -> None:
    report = take(first_shown, tmp_path / "root")

    assert report.messages == 1
    store = store_of(report)
    (blob,) = (name for name in store.files() if name.startswith("blobs/"))
    assert store.read_file(blob) == IMAGE


def test_a_source_of_long_lines_without_a_message_makes_no_session(tmp_path: Path) -> None:
    long = entry("custom", 1, data="x" * 4 * CHUNK_BYTES)
    source = put(tmp_path / "x.jsonl", lines(header(), long, header()))

    with pytest.raises(Unrecognised, match="3 lines, no message recognised"):
        take(source, tmp_path / "root")

    assert not (tmp_path / "root").exists()
