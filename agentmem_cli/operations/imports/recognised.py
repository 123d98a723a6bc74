"""Knowing sources again that bear no id: a file moved or renamed, and what `export` wrote.

Chat-completions messages say nothing of where they come from, so a session's
name is made of the file's. The same messages under another name would become
a second session, and so would those that a session of ours was exported as.
Both are told by what is in them: by the keyed digest that a map holds, and by
exporting the sessions that begin with the same words and comparing messages.
"""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.catalog import names
from agentmem_cli.operations.imports.documents import Elements
from agentmem_cli.operations.imports.foreign import ForeignFile
from agentmem_cli.operations.imports.maps import FOLDER, MAP_END, OldMap
from agentmem_cli.operations.imports.naming import session_name
from agentmem_cli.session.codec import loads, loads_fast
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.message import parts_of
from agentmem_cli.storage.directory import DirStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentmem_cli.operations.imports.adapter import Transcript
    from agentmem_cli.session.codec import JSON, Object

WITHOUT_IDS: Final = frozenset({"openai-messages"})
"""Kinds whose sources do not say which session they are."""

_HEAD_BYTES: Final = 256 << 10
"""Of a log, the beginning in which the first words of the user are looked for."""

_LOOK_BYTES: Final = 1 << 20
"""Of a file of messages, the beginning that is looked at."""

_FIRST_TEXTS: Final = 5
"""Texts of a file that may be the first of a session: instructions can stand before them."""


class Exported(NamedTuple):
    """A session that a file of messages was exported from."""

    session: str
    """Its name under the root."""
    agent: str
    """The agent's log."""
    messages: int
    """Messages in the file."""


def moved_from(transcript: Transcript, root: Path) -> str | None:
    """Return the session that the same file was imported into under another name."""
    kind, path = transcript.kind, transcript.streams[0].path
    # Why: these names end in a digest of the first record, which does not change.
    _, dash, digest = transcript.id.rpartition("-")
    end, begin = f"{dash}{digest}", f"{kind}-"
    own = session_name(kind, transcript.id)
    for name in names(str(root)):
        if name != own and name.startswith(begin) and end in name:
            try:
                if _holds(DirStore.open(root / name), path, kind):
                    return name
            except (AgentMemError, OSError):
                continue
    return None


def _holds(store: DirStore, path: Path, kind: str) -> bool:
    for name in store.files():
        if name.startswith(FOLDER) and name.endswith(MAP_END):
            header = OldMap(name.removesuffix(MAP_END), store.read_file(name)).header
            if header.kind != kind:
                continue
            with ForeignFile(path) as file:
                if header.size <= file.size:
                    digest = file.digest(bytes.fromhex(header.key), header.size)
                    if digest == header.digest:
                        return True
    return False


def exported_from(path: Path, root: Path) -> Exported | None:
    """Return the session under *root* whose export the file *path* is; None: it is none.

    It is one where the file's messages are those that the session's export
    begins with, in either shape.
    """
    texts = set(_first_texts(path))
    if not texts:
        return None
    found: list[Object] | None = None
    for name in names(str(root)):
        session = root / name
        try:
            store = DirStore.open(session)
            likely = (log for log in store.logs() if log != SESSION)
            for log in [log for log in likely if _first_text(str(session), log) in texts]:
                # Why not earlier: most files are no export, and this reads all of it.
                found = _array(path) if found is None else found
                if found and _is_export(found, store, log):
                    return Exported(name, log, len(found))
        except (AgentMemError, OSError):
            # Why: what is wrong with another session is no reason to refuse this source.
            continue
    return None


def _first_texts(path: Path) -> list[str]:
    """Return what the user says first in an array of messages; empty: it is none, or says nothing.

    Only its beginning is read, or as far as the first of these texts.
    """
    texts: list[str] = []
    with path.open("rb") as file:
        if file.read(1) != b"[":
            return texts
        chunks = chain((b"[",), iter(partial(file.read, _LOOK_BYTES), b""))
        for piece in Elements().cut(chunks):
            if len(texts) >= _FIRST_TEXTS or (texts and piece.offset > _LOOK_BYTES):
                break
            message = _message(piece.data)
            if message is None:
                return []
            if message.get("role") == "user":
                texts += _texts_of(message)
    return texts[:_FIRST_TEXTS]


def _message(data: bytes) -> Object | None:
    try:
        value = loads_fast(data)
    except ValueError:
        try:
            value = loads(data)  # Why: it can hold half a character.
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def _array(path: Path) -> list[Object]:
    """Return the file's messages where it is one JSON array of objects, as an export is."""
    with path.open("rb") as file:
        if file.read(1) != b"[":
            return []
        data = b"[" + file.read()
    try:
        value = loads(data)
    except ValueError:
        return []
    items = value if isinstance(value, list) else []
    messages = [item for item in items if isinstance(item, dict)]
    return messages if len(messages) == len(items) else []


def _texts_of(message: Object) -> Iterator[str]:
    for part in parts_of(message):
        if part.get("type") == "text":
            text = part.get("text")
            if isinstance(text, str) and text.strip():
                yield text


@lru_cache(maxsize=100_000)
def _first_text(session: str, log: str) -> str | None:
    """Return the first words of the user in a log; a log only grows, so they stay."""
    from agentmem_cli.storage.survey import head_and_tail

    head, _, _ = head_and_tail(session, log, _HEAD_BYTES, 0)
    for line in head.split(b"\n")[:-1]:
        if b'"user"' not in line:
            continue
        try:
            record = loads_fast(line)
        except ValueError:
            continue
        entries: JSON = record.get("entries") if isinstance(record, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            message = entry.get("message") if isinstance(entry, dict) else None
            if isinstance(message, dict) and message.get("role") == "user":
                for text in _texts_of(message):
                    return text
    return None


def _is_export(found: list[Object], store: DirStore, log: str) -> bool:
    from agentmem_cli.operations.export import SHAPES, kind_of, messages
    from agentmem_cli.operations.exports.turns import Left
    from agentmem_cli.session.reader import fold_log

    entries = fold_log(store, log, strict=False).conversation.entries
    kind = kind_of(store, log)
    for shape in SHAPES:
        told = messages(entries, shape, Left(), kind=kind)
        if all(message == next(told, None) for message in found):
            return True
    return False
