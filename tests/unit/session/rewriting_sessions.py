"""A session with a word in every place it can stand in, for the tests of rewriting."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from agentmem_cli.session.aside import Aside
from agentmem_cli.session.author import Author
from agentmem_cli.session.change import ChangeRecord, Reset
from agentmem_cli.session.codec import dumps
from agentmem_cli.session.conversation import Conversation
from agentmem_cli.session.images import BLOB_FOLDER, blob_name
from agentmem_cli.session.message import Message
from agentmem_cli.session.reader import load
from agentmem_cli.session.record import Saved
from agentmem_cli.session.rewriting import Strings
from agentmem_cli.session.writer import append_records, save
from agentmem_cli.storage.layout import RECOVERED
from tests.strategies import base64_data

if TYPE_CHECKING:
    from agentmem_cli.session.codec import Object
    from agentmem_cli.storage.store import Store

WORD = "s3cr3t-w0rd"
MASK = "[gone]"
AT = 1_700_000_000_000

MASKING = Strings(lambda text: text.replace(WORD, MASK))

SVG = f"<svg>{WORD}</svg>".encode()
PIXELS = b"\x89PNG\0\xff pixels"


def image(data: bytes, media_type: str) -> Object:
    return {"type": "image", "media_type": media_type, "data": base64_data(data)}


def said(text: str, *more: Object) -> Message:
    return Message.of({"role": "user", "content": [{"type": "text", "text": text}, *more]})


def fill(store: Store, word: str = WORD) -> None:
    """Make a session of two agents and its own log; *word* stands wherever it can."""
    conversation = Conversation()
    conversation.push(said(f"first {word}"), at=AT)
    conversation.push(said("plain"), at=AT + 1)
    author = Author.plugin("tool", title=f"by {word}")
    conversation.push(said(f"{word} twice {word}"), author, by=author, at=AT + 2)
    conversation.splice(0, 1, [said("instead")], at=AT + 3)
    conversation.put_aside(Aside("note", author, {f"key {word}": [word, 2**70]}), at=AT + 4)
    conversation.set_halt("kept", at=AT + 5)
    save(store, "main", conversation)
    append_records(store, "main", lambda _: [Saved(f"my {word}", {"v": word})], at=AT + 6)
    append_records(store, "main", lambda _: [Saved("rig::title", f"T {word}")], at=AT + 6)
    reset = ChangeRecord(Reset(conversation.state()), Author.user(word), AT + 7)
    append_records(store, "main", lambda _: [reset], at=AT + 7)
    # Behind the reset, since that would hold them as base64.
    conversation = load(store, "main")
    picture = said("look", image(SVG.replace(WORD.encode(), word.encode()), "svg"))
    conversation.push(picture, at=AT + 8)
    conversation.push(said("pixels", image(PIXELS, "png")), at=AT + 9)
    save(store, "main", conversation)
    other = Conversation()
    other.push(said("nothing here"), at=AT)
    save(store, "other", other)
    append_records(store, "session", lambda _: [Saved("shared", word)], at=AT)
    files(store, word)


def files(store: Store, word: str) -> None:
    meta: Object = {
        "title": f"first {word}",
        "labels": {f"l {word}": word},
        "listed": {"cwd": word},
    }
    store.write_file("meta.json", dumps(meta))
    store.write_file("plugins/p/one.json", dumps({f"k{word}": [word, 1e400]}) + b"\n")
    store.write_file("plugins/p/lines.jsonl", f'{{"a":"{word}"}}\n{{"b":1}}\nno {word}\n'.encode())
    store.write_file("plugins/p/text.md", f"# {word}\nand more\n".encode())
    store.write_file("plugins/p/plain.txt", b"nothing of it\n")
    store.write_file("plugins/p/bytes.bin", b"\0\xff" + b"x" * 9)
    torn = f'{{"seq":9,"text":"{word}'.encode()
    name = f"{RECOVERED}main-{hashlib.sha256(torn).hexdigest()}.part"
    store.write_file(name, torn)


def all_bytes(store: Store) -> bytes:
    """Everything that a session holds, names too."""
    logs = [store.read_log(log) for log in store.logs()]
    names = "\n".join([*store.logs(), *store.files()]).encode()
    return b"\n".join([*logs, names, *(store.read_file(name) for name in store.files())])


def everything(store: Store) -> dict[str, bytes]:
    """All logs and files by their names."""
    logs = {f"logs/{log}": store.read_log(log) for log in store.logs()}
    return logs | {f"files/{name}": store.read_file(name) for name in store.files()}


def svg_blob(word: str = WORD) -> str:
    """The name of the blob that holds *word*."""
    return BLOB_FOLDER + blob_name(SVG.replace(WORD.encode(), word.encode()), "svg")
