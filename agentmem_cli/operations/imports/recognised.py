"""Knowing sources again that bear no id: a file moved or renamed, and what `export` wrote.

Chat-completions messages say nothing of where they come from, so a session's
name is made of the file's, and its map notes where that stands. The same
messages elsewhere would become a second session, and so would those that a
session of ours was exported as. Both are told by what is in them: by the keyed
digest that a map holds, and by exporting the sessions that begin with the same
words and comparing messages.
"""

# ruff: noqa: PTH116, PTH118 - every session is looked at; Path costs ten times a join

from __future__ import annotations

import os
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError
from agentmem_cli.operations.catalog import names
from agentmem_cli.operations.imports.documents import Elements
from agentmem_cli.operations.imports.foreign import ForeignFile
from agentmem_cli.operations.imports.maps import FOLDER, MAP_END
from agentmem_cli.operations.imports.naming import session_name
from agentmem_cli.operations.imports.targets import free_name, rewritten_part
from agentmem_cli.operations.imports.unchanged import headers_of
from agentmem_cli.session.codec import loads, loads_fast
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.message import parts_of
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import FILES, LOGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.operations.imports.adapter import Transcript
    from agentmem_cli.operations.imports.maps import MapHeader
    from agentmem_cli.session.codec import JSON, Object

WITHOUT_IDS: Final = frozenset({"openai-messages"})
"""Kinds whose sources do not say which session they are."""

_HEAD_BYTES: Final = 256 << 10
"""Of a log, the beginning in which the first words of the user are looked for."""

_LOOK_BYTES: Final = 1 << 20
"""Of a file of messages, the beginning that is looked at."""

_COMPARED_BYTES: Final = 64 << 20
"""Of kept sources, the largest that a file is compared with but for its end."""

_END: Final = b" \t\r\n]"
"""What an array of messages ends with; where it has grown, more messages stand there."""

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


def known_again(transcript: Transcript, root: Path) -> str | Exported:
    """Return which session under *root* a source without an id goes into.

    What a user calls the same conversation is the file that it was imported
    from, as it has grown; or another one with the same bytes; or one that goes
    on from them where the first is not there any more (it was moved). Two files
    that are both there and differ are two conversations, even where one
    begins with all of the other.

    Args:
        transcript: The source.
        root: The folder of the sessions.

    Returns:
        The session's name, that of a new one included; or what it is the export of.

    Raises:
        OSError: The source cannot be read.
    """
    path = transcript.streams[0].path
    name = session_name(transcript.kind, transcript.id)
    found = list(_candidates(transcript, root))
    place = os.path.realpath(path)
    own = [each for each in found if each.header.path == place]
    if own:
        return next((each for each in own if _goes_on(path, each)), own[0]).name
    size = path.stat().st_size
    for each in found:
        if each.header.size == size and _begins(path, each.header):
            return each.name
    for each in found:
        # Why a rewritten one: what went from it would come back as another session.
        if (each.rewritten or not _is_there(each.header)) and (
            _goes_on(path, each) or _is_older(path, each)
        ):
            return each.name
    exported = exported_from(path, root)
    if exported is not None:
        return exported
    return name if _is_free(root, name) else free_name(root, name)


class _Candidate(NamedTuple):
    """A session of an import whose source began with the same record."""

    name: str
    folder: Path
    map_of: str
    """Its kept source's name among its files."""
    header: MapHeader
    rewritten: bool


def _candidates(transcript: Transcript, root: Path) -> Iterator[_Candidate]:
    # Why: these names end in a digest of the first record, which does not change.
    _, dash, digest = transcript.id.rpartition("-")
    end, begin = f"{dash}{digest}", f"{transcript.kind}-"
    top = str(root)
    for name in names(top):
        if not name.startswith(begin) or end not in name:
            continue
        session = os.path.join(top, name)
        try:
            yield from _made_of(session, _changed(session), transcript.kind)
        except (AgentMemError, OSError):
            continue


def _changed(session: str) -> tuple[int, int]:
    """Return what changes with a session's maps and, but for their growth, its logs."""
    logs, maps = os.path.join(session, LOGS), os.path.join(session, FILES, FOLDER)
    return os.stat(logs).st_mtime_ns, os.stat(maps).st_mtime_ns


@lru_cache(maxsize=20_000)
def _made_of(session: str, _: tuple[int, int], kind: str) -> tuple[_Candidate, ...]:
    """Return what sources of a *kind* a session was made of.

    Many sources of one run can begin alike, so it is kept as long as nothing was replaced.
    """
    folder = Path(session)
    store = DirStore.open(folder)
    rewritten = rewritten_part(store) is not None
    return tuple(
        _Candidate(folder.name, folder, kept, header, rewritten)
        for kept, header in headers_of(store).items()
        if header.kind == kind
    )


def _is_free(root: Path, name: str) -> bool:
    """Whether no import has made the session *name*, as far as can be told."""
    if not (root / name).exists():
        return True
    try:
        store = DirStore.open(root / name)
        maps = [each for each in store.files() if each.startswith(FOLDER)]
        # Why: a map that is damaged is told where the session is opened, not passed by.
        return len(headers_of(store)) < sum(each.endswith(MAP_END) for each in maps) or not (
            maps or store.logs()
        )
    except (AgentMemError, OSError):
        return True


def _begins(path: Path, header: MapHeader) -> bool:
    """Whether the file at *path* begins with all bytes that were read of a source."""
    try:
        with ForeignFile(path) as file:
            if header.size > file.size:
                return False
            return file.digest(bytes.fromhex(header.key), header.size) == header.digest
    except (AgentMemError, OSError):
        return False


def _is_there(header: MapHeader) -> bool:
    """Whether the source still stands where it was imported from."""
    if not header.path:
        return False
    try:
        found = os.stat(header.path)
    except OSError:
        return False
    # Why first: there can be thousands that begin alike, and this reads none of them.
    seen = (found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
    return (found.st_size, seen) == (header.size, header.seen) or _begins(Path(header.path), header)


def _goes_on(path: Path, known: _Candidate) -> bool:
    """Whether the file at *path* is a source as it may have grown, an array's end left out."""
    if _begins(path, known.header):
        return True
    kept = _kept(known)
    return kept is not None and _head_is(path, kept.rstrip(_END))


def _is_older(path: Path, known: _Candidate) -> bool:
    """Whether a source begins with the file at *path*, an array's end left out."""
    kept = _kept(known) if path.stat().st_size < known.header.size else None
    return kept is not None and kept.startswith(path.read_bytes().rstrip(_END))


def _kept(known: _Candidate) -> bytes | None:
    """Return what is kept of a source; None: not all of it, or it is too large to compare."""
    header = known.header
    if not 0 < header.kept == header.size <= _COMPARED_BYTES:
        return None
    try:
        return DirStore.open(known.folder).read_file(known.map_of)
    except (AgentMemError, OSError):
        return None


def _head_is(path: Path, head: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(head)) == head


def exported_from(path: Path, root: Path) -> Exported | None:
    """Return the session under *root* whose export the file *path* is; None: it is none.

    It is one where the file's messages are those that the session's export
    begins with, in either shape.
    """
    texts = set(_first_texts(path))
    if not texts:
        return None
    found: list[Object] | None = None
    top = str(root)
    for name in names(top):
        session = os.path.join(top, name)
        try:
            changed = os.stat(os.path.join(session, LOGS)).st_mtime_ns
            likely = [log for log, text in _texts_in(session, changed) if text in texts]
            for log in likely:
                # Why not earlier: most files are no export, and this reads all of it.
                found = _array(path) if found is None else found
                if found and _is_export(found, DirStore.open(Path(session)), log, path):
                    return Exported(name, log, len(found))
        except (AgentMemError, OSError):
            # Why: what is wrong with another session is no reason to refuse this source.
            continue
    return None


@lru_cache(maxsize=100_000)
def _texts_in(session: str, _: int) -> tuple[tuple[str, str | None], ...]:
    """Return the first words of the user in each log; they stay as long as none is replaced."""
    logs = DirStore.open(Path(session)).logs()
    return tuple((log, _first_text(session, log)) for log in logs if log != SESSION)


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


def _first_text(session: str, log: str) -> str | None:
    """Return the first words of the user in a log."""
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


def _is_export(found: list[Object], store: DirStore, log: str, path: Path) -> bool:
    """Whether *found*, the messages of the file *path*, are what an agent is exported as."""
    from agentmem_cli.operations.export import SHAPES, as_array, kind_of, messages
    from agentmem_cli.operations.exports.turns import Left
    from agentmem_cli.session.reader import fold_log

    entries = fold_log(store, log, strict=False).conversation.entries
    kind = kind_of(store, log)
    for shape in SHAPES:
        told = messages(entries, shape, Left(), kind=kind)
        last = len(found) - 1
        if all(
            _is_told(message, next(told, None), grown=at == last)
            for at, message in enumerate(found)
        ):
            if kind not in WITHOUT_IDS or next(told, None) is None:
                return True
            # Why: a file of messages can be the beginning of another one; an export is
            # told from it by how it is written.
            return path.read_bytes() == b"".join(as_array(found, []))
    return False


def _is_told(message: Object, told: Object | None, *, grown: bool) -> bool:
    """Whether *message* is what is *told* now; the last one may have *grown* since."""
    if message == told or told is None or not grown:
        return message == told
    was, now = message.get("content"), told.get("content")
    if not (isinstance(was, list) and isinstance(now, list)):
        return False
    return {**told, "content": now[: len(was)]} == message
