from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem_cli.session.images import (
    BLOB_FOLDER,
    BadBlob,
    blob_name,
    blob_names,
    check_blob,
    decode_base64,
    get_blob,
    image_parts,
    load_images,
    put_back,
    put_blob,
    referred,
    store_images,
)
from agentmem_cli.session.message import Message
from agentmem_cli.session.pairing import calls_of
from agentmem_cli.storage.memory import MemoryStore
from tests.strategies import base64_data, messages

if TYPE_CHECKING:
    from agentmem_cli.session.codec import JSON, Object

PIXELS = b"\x89PNG pixels"


def image(data: JSON, media_type: JSON = "png") -> Object:
    return {"type": "image", "data": data, "media_type": media_type, "detail": "low"}


@pytest.mark.parametrize(
    ("media_type", "extension"),
    [
        ("png", "png"),
        ("jpeg", "jpg"),
        ("gif", "gif"),
        ("webp", "webp"),
        ("heic", "heic"),
        ("heif", "heif"),
        ("svg", "svg"),
        ("tiff", "bin"),
        ("../x", "bin"),
        (None, "bin"),
        (["png"], "bin"),
    ],
)
def test_a_blob_is_named_by_its_content_and_kind(media_type: JSON, extension: str) -> None:
    name = blob_name(PIXELS, media_type)

    assert name == f"{hashlib.sha256(PIXELS).hexdigest()}.{extension}"


@given(data=st.binary(max_size=20))
def test_an_image_becomes_a_blob_and_comes_back_equal(data: bytes) -> None:
    store = MemoryStore()
    message = Message.user([image(base64_data(data)), {"type": "text", "text": "see"}])

    stored = store_images(message, store)
    restored = load_images(stored, store)

    assert store.files() == [BLOB_FOLDER + blob_name(data, "png")]
    assert blob_names(stored.value) == [blob_name(data, "png")]
    assert restored == message


def test_raw_data_comes_back_as_base64_of_the_same_bytes() -> None:
    store = MemoryStore()
    message = Message.user([image({"type": "raw", "value": list(PIXELS)})])

    restored = load_images(store_images(message, store), store)

    assert restored == Message.user([image(base64_data(PIXELS))])


def test_images_inside_tool_results_are_kept_the_same_way() -> None:
    store = MemoryStore()
    message = Message.tool_result("a", "shot", [image(base64_data(PIXELS))])

    stored = store_images(message, store)

    assert len(list(image_parts(stored.value))) == 1
    assert store.files() == [BLOB_FOLDER + blob_name(PIXELS, "png")]
    assert load_images(stored, store) == message


def test_one_content_is_written_once() -> None:
    class Counting(MemoryStore):
        writes = 0

        def write_file(self, name: str, data: bytes) -> None:
            type(self).writes += 1
            super().write_file(name, data)

    store = Counting()
    message = Message.user([image(base64_data(PIXELS)), image(base64_data(PIXELS))])

    store_images(message, store)
    store_images(message, store)

    assert Counting.writes == 1


@pytest.mark.parametrize(
    "data",
    [
        {"type": "base64", "value": "not base64!"},
        {"type": "base64", "value": "QQ"},
        {"type": "base64", "value": "QR=="},
        {"type": "base64", "value": "QQ==\n"},
        {"type": "base64", "value": "é"},
        {"type": "base64", "value": 7},
        {"type": "base64"},
        {"type": "raw", "value": [256]},
        {"type": "raw", "value": [True]},
        {"type": "raw", "value": "x"},
        {"type": "url", "value": "https://example.org/a.png"},
        {"type": "fileId", "value": "f"},
        {"type": "unknown"},
        "QQ==",
        None,
    ],
)
def test_data_that_does_not_decode_stays_inline(data: JSON) -> None:
    store = MemoryStore()
    message = Message.user([image(data)])

    stored = store_images(message, store)

    assert stored is message
    assert store.files() == []


def test_a_blob_with_other_bytes_is_written_anew() -> None:
    store = MemoryStore()
    name = put_blob(store, PIXELS, "png")
    store.write_file(BLOB_FOLDER + name, b"rotten")

    put_blob(store, PIXELS, "png")

    assert get_blob(store, name) == PIXELS


LOST = "0" * 64 + ".png"


@pytest.mark.parametrize(
    "name",
    [LOST, "../../etc/passwd", "/etc/passwd", "", "a\0b", "a\\b", "x" * 300, "..", "rotten.png"],
)
def test_a_blob_that_is_not_there_loses_the_image_and_fails_no_reading(name: str) -> None:
    store = MemoryStore()
    store.write_file(BLOB_FOLDER + "rotten.png", b"rotten")
    good = put_blob(store, PIXELS, "png")
    parts = [image({"type": "url", "value": "blob:" + each}) for each in (name, good)]

    restored, failures = put_back(Message.user(parts), store)
    kept, _ = put_back(Message.user(parts), store, keep_lost=True)

    assert len(failures) == 1
    assert isinstance(failures[0], OSError | ValueError)
    assert restored == Message.user([image({"type": "unknown"}), image(base64_data(PIXELS))])
    assert kept == Message.user([parts[0], image(base64_data(PIXELS))])


def test_loading_raises_the_first_failure_after_all_were_tried() -> None:
    store = MemoryStore()
    store.write_file(BLOB_FOLDER + "1.png", b"rotten")
    parts = [image({"type": "url", "value": f"blob:{name}"}) for name in (LOST, "1.png")]

    with pytest.raises(FileNotFoundError):
        load_images(Message.user(parts), store)
    with pytest.raises(BadBlob, match=r"1\.png"):
        load_images(Message.user(parts[1:]), store)


def test_a_blob_is_checked_against_its_name() -> None:
    check_blob(blob_name(PIXELS), PIXELS)

    with pytest.raises(BadBlob, match="not those"):
        check_blob(blob_name(PIXELS), PIXELS + b"x")


@pytest.mark.parametrize("data", [None, "blob:x", {"type": "url"}, {"type": "url", "value": 7}])
def test_what_is_no_reference_refers_to_nothing(data: JSON) -> None:
    assert referred(data) is None


@given(message=messages())
def test_storing_and_loading_any_message_gives_an_equal_one(message: Message) -> None:
    store = MemoryStore()

    restored = load_images(store_images(message, store), store)

    assert restored == message


@given(text=st.text("QUJDREVG+/=é ", max_size=8))
def test_base64_decodes_only_where_it_encodes_to_the_same_text(text: str) -> None:
    data = decode_base64(text)

    assert data is None or base64.b64encode(data).decode() == text


def test_a_type_that_is_no_string_is_no_attachment() -> None:
    odd: Object = {"role": "user", "content": [{"type": ["image"], "data": {}}]}

    assert blob_names(odd) == []
    assert calls_of(odd).images is False
