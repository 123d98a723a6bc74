"""Documents, audio and video that refer to blobs, as images do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentmem_cli.operations.verify import verify
from agentmem_cli.session.images import blob_name, blob_names, load_images, put_blob, store_images
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import load
from agentmem_cli.session.writer import save
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.memory import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object


def attachment(kind: str, name: str) -> Object:
    data: Object = {"type": "url", "value": f"blob:{name}"}
    return {"type": kind, "data": data, "media_type": "txt"}


def in_result(part: JSON) -> Message:
    return Message.user([{"type": "toolresult", "call": "c", "name": "Bash", "content": [part]}])


def test_a_text_blob_ends_in_txt() -> None:
    assert blob_name(b"words", "txt").endswith(".txt")


@pytest.mark.parametrize("kind", ["document", "audio", "video", "image"])
def test_a_reference_of_any_attachment_counts_and_is_put_back(kind: str) -> None:
    store = MemoryStore()
    name = put_blob(store, b"words", "txt")

    for message in (Message.user([attachment(kind, name)]), in_result(attachment(kind, name))):
        restored = load_images(message, store)

        assert blob_names(message.value) == [name]
        assert b'"type":"base64","value":"d29yZHM="' in restored.raw


def test_only_images_are_taken_out_on_saving() -> None:
    data: Object = {"type": "base64", "value": "d29yZHM="}
    document: Object = {"type": "document", "data": data, "media_type": "txt"}
    store = MemoryStore()

    message = store_images(Message.user([document]), store)

    assert message.parts == [document]
    assert store.files() == []


def test_a_blob_of_a_document_goes_with_its_entry_into_another_session() -> None:
    one, other = MemoryStore(), MemoryStore()
    name = put_blob(one, b"words", "txt")
    conversation = load(one, "main")
    conversation.push(in_result(attachment("document", name)), at=1)
    save(one, "main", conversation)

    copied = load(one, "main")
    fresh = load(other, "main")
    fresh.splice(0, 0, copied.entries, at=2)
    save(other, "main", fresh)

    assert other.read_file(f"blobs/{name}") == b"words"


def test_a_lost_blob_of_a_document_is_a_finding(tmp_path: Path) -> None:
    store = DirStore.open(tmp_path / "s")
    name = blob_name(b"words", "txt")
    conversation = load(store, "main")
    conversation.push(Message.user([attachment("document", name)]), at=1)
    save(store, "main", conversation)

    found = verify(store)

    assert [finding.kind for finding in found.findings] == ["missing-blob"]
