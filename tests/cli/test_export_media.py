"""`export --as messages` of attachments in every form: each API gets what it takes, or words."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.cli.running import header, join, ok, pushed, said, write

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli.session.codec import JSON, Object

DATA = base64.b64encode(b"\x89PNG x").decode()
RAW = base64.b64encode(bytes([1, 2, 255])).decode()
TEXT = base64.b64encode(b"hello").decode()
WEB = "https://tides.example/a.png"


class Case(NamedTuple):
    """A part, and what each API is to get."""

    part: Object
    openai: JSON
    anthropic: JSON


def _words(text: str) -> Object:
    return {"type": "text", "text": text}


def _part(kind: str, word: str, form: str, value: JSON, **more: JSON) -> Object:
    return {"type": kind, "media_type": word, "data": {"type": form, "value": value}, **more}


def _url(url: str, **more: JSON) -> Object:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def _source(kind: str, **source: JSON) -> Object:
    return {"type": kind, "source": source}


def _base64(kind: str, mime: str, data: str) -> Object:
    return _source(kind, type="base64", media_type=mime, data=data)


LOST = _words("[image/png: its data is missing]")
CASES = {
    "numbers": Case(
        _part("image", "png", "raw", [1, 2, 255]),
        _url(f"data:image/png;base64,{RAW}"),
        _base64("image", "image/png", RAW),
    ),
    "no bytes": Case(_part("image", "png", "raw", [1, 2, 256]), LOST, LOST),
    "no numbers": Case(_part("image", "png", "raw", []), LOST, LOST),
    "no base64": Case(_part("image", "png", "base64", "!!"), LOST, LOST),
    "an address": Case(
        _part("image", "png", "url", WEB), _url(WEB), _source("image", type="url", url=WEB)
    ),
    "a file of theirs": Case(
        _part("image", "png", "fileId", "f1"),
        _words("[image/png]"),
        _source("image", type="file", file_id="f1"),
    ),
    "a detail": Case(
        _part("image", "png", "base64", DATA, detail="low"),
        _url(f"data:image/png;base64,{DATA}", detail="low"),
        _base64("image", "image/png", DATA),
    ),
    "a sound": Case(
        _part("audio", "mp3", "base64", DATA),
        {"type": "input_audio", "input_audio": {"data": DATA, "format": "mp3"}},
        _words("[audio/mpeg]"),
    ),
    "a sound that nobody takes": Case(
        _part("audio", "ogg", "base64", DATA), _words("[audio/ogg]"), _words("[audio/ogg]")
    ),
    "a paper": Case(
        _part("document", "pdf", "base64", DATA),
        {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{DATA}"}},
        _base64("document", "application/pdf", DATA),
    ),
    "a paper of theirs": Case(
        _part("document", "pdf", "fileId", "f1"),
        {"type": "file", "file": {"file_id": "f1"}},
        _source("document", type="file", file_id="f1"),
    ),
    "a text": Case(
        _part("document", "txt", "base64", TEXT),
        _words("hello"),
        _source("document", type="text", media_type="text/plain", data="hello"),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("shape", ["openai", "anthropic"])
def test_an_attachment_is_what_the_api_takes_or_words(root: Path, name: str, shape: str) -> None:
    case = CASES[name]
    message: Object = {"role": "user", "content": [_words("see"), case.part]}
    write(root, "one", "main", join([header(), pushed(1, message), said(2, "ok", "assistant")]))

    done = ok("export", "one", "--as", "messages", "--shape", shape)

    first, *_ = json.loads(done.stdout)
    wanted = case.openai if shape == "openai" else case.anthropic
    assert first["content"] == [_words("see"), wanted]
