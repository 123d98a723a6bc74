"""The blobs of a session: which there are, what names them, and giving them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AmbiguousError, NotFoundError
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.operations.candidates import candidates
from agentmem_cli.operations.needles import probes_for
from agentmem_cli.operations.searching import entries_of, records_of
from agentmem_cli.session.images import BLOB_FOLDER, REFERENCE, attachment_parts, referred
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.reader import fold_log, open_log, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentmem_cli.session.codec import JSON
    from agentmem_cli.storage.directory import DirStore

USED: Final = "used"
"""A message that stands names it."""
PAST: Final = "past"
"""Only messages that were taken out or replaced name it."""
UNUSED: Final = "unused"
"""Nothing in the session names it: `gc` removes it once it is old."""
KEPT: Final = "kept"
"""No message names it; something else does, what is lost or unread may have, or it is no blob."""
MISSING: Final = "missing"
"""It is named, and not there."""
MISMATCHED: Final = "mismatched"
"""Its bytes are not those that its name says."""

NAMED_MAX: Final = 100
"""Places that are told of one blob; the rest is counted."""

_TYPES: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "heic": "image/heic",
    "heif": "image/heif",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
_PLAIN: Final = "application/octet-stream"


class Named(NamedTuple):
    """A message that names a blob."""

    agent: str
    id: int
    stands: bool


class Blob(NamedTuple):
    """One blob, there or missing."""

    name: str
    media: str
    size_bytes: int | None
    """None: it is missing."""
    state: str
    """`USED`, `PAST`, `UNUSED`, `KEPT`, `MISSING`, or `MISMATCHED` where it was read."""
    named: tuple[Named, ...]
    """The first `NAMED_MAX` messages that name it."""
    named_times: int


class _Uses:
    """What messages say of one blob."""

    def __init__(self) -> None:
        self.media: str | None = None
        self.named: list[Named] = []
        self.times = 0
        self.stands = False

    def add(self, named: Named, media: str | None) -> None:
        self.times += 1
        self.stands = self.stands or named.stands
        self.media = self.media or media
        if len(self.named) < NAMED_MAX:
            self.named.append(named)


def blobs_of(store: DirStore, *, check: bool) -> list[Blob]:
    """Return the blobs of a session by name, those too that are named and missing.

    Args:
        store: The session; nothing in it is changed.
        check: Read each, and see whether its bytes are those that its name says.

    Raises:
        SessionError: The operating system refused.
    """
    uses: dict[str, _Uses] = {}
    for log in store.logs():
        if log != SESSION:
            _look(store, log, uses)
    sizes = _there(store)
    unused = _unused(store) if sizes.keys() - uses.keys() else set()
    return [
        _blob(store, name, sizes.get(name), uses.get(name), unused, check=check)
        for name in sorted({*sizes, *uses})
    ]


def _unused(store: DirStore) -> set[str]:
    """Return the blobs that `gc` would remove once they are old."""
    from agentmem_cli.operations.collecting import unnamed
    from agentmem_cli.operations.doubts import doubts_of

    try:
        names = unnamed(store)
        doubts = doubts_of(store) if names else None
    except OSError:
        return set()  # Why: what cannot be read may name them.
    if doubts is not None and (doubts.unread or doubts.lost):
        return set()
    return {name.removeprefix(BLOB_FOLDER) for name in names}


def _there(store: DirStore) -> dict[str, int]:
    sizes = {}
    for name in store.files():
        if name.startswith(BLOB_FOLDER):
            try:
                sizes[name.removeprefix(BLOB_FOLDER)] = store.file_stat(name).size
            except (OSError, ValueError):
                continue  # Why: gone since it was listed.
    return sizes


def _look(store: DirStore, log: str, uses: dict[str, _Uses]) -> None:
    opened = open_log(store, log)
    standing: Mapping[int, int] | None = None
    probes = probes_for(REFERENCE, ignore_case=False)
    assert probes is not None
    with reading(f"log {log!r}"):
        for block in candidates(opened, (probes,)):
            for offset, line in block.lines:
                last = offset + len(line) >= opened.size
                for record in records_of(line, offset, last=last):
                    for entry in entries_of(record.fields):
                        found = list(references(entry))
                        if found and standing is None:
                            # Why here: a log that names no blob need not be folded.
                            standing = _standing(store, log)
                        for id_, name, media in found:
                            assert standing is not None
                            stands = standing.get(id_) == record.offset
                            use = uses.setdefault(name, _Uses())
                            use.add(Named(log, id_, stands), media)


def _standing(store: DirStore, log: str) -> dict[int, int]:
    entries = fold_log(store, log, strict=False).conversation.entries
    located = ((entry.id, entry.located()) for entry in entries)
    return {id_: place[0] for id_, place in located if place is not None}


def references(entry: JSON) -> Iterator[tuple[int, str, str | None]]:
    """Yield the blobs that an entry names: its id, the blob, and the type that is told of it."""
    message = entry.get("message") if isinstance(entry, dict) else None
    id_ = entry.get("id") if isinstance(entry, dict) else None
    if not isinstance(message, dict) or type(id_) is not int:
        return
    for part in attachment_parts(message):
        name = referred(part.get("data"))
        if name is not None:
            media, kind = part.get("media_type"), part.get("type")
            told = f"{kind}/{media}" if isinstance(media, str) and "/" not in media else media
            yield id_, name, told if isinstance(told, str) else None


def _blob(
    store: DirStore,
    name: str,
    size: int | None,
    use: _Uses | None,
    unused: set[str],
    *,
    check: bool,
) -> Blob:
    known = _TYPES.get(name.rpartition(".")[2])
    media = known or (use.media if use is not None else None) or _PLAIN
    if size is None:
        state = MISSING
    elif check and not is_whole(store, name):
        state = MISMATCHED
    elif use is None:
        state = UNUSED if name in unused else KEPT
    else:
        state = USED if use.stands else PAST
    named = () if use is None else tuple(use.named)
    return Blob(name, media, size, state, named, 0 if use is None else use.times)


def is_whole(store: DirStore, name: str) -> bool:
    """Whether a blob's bytes are those that its name says.

    Raises:
        OSError: It cannot be read.
    """
    return store.file_sha256(BLOB_FOLDER + name) == name.partition(".")[0]


def chosen_blob(store: DirStore, words: str) -> str:
    """Return the name of the blob that *words* are, or that begins with them.

    Raises:
        NotFoundError: There is none.
        AmbiguousError: There are several.
    """
    names = sorted(_there(store))
    wanted = words.removeprefix(REFERENCE)
    if wanted in names:
        return wanted
    fitting = [name for name in names if wanted and name.startswith(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        msg = f"{len(fitting)} blobs begin with {words!r}"
        raise AmbiguousError(msg, fitting, hint="Give more of the name.")
    hint = "agentmem blobs SESSION lists them; --missing those that are gone."
    raise NotFoundError(f"no such blob: {words!r}", hint=hint)


def bytes_of(store: DirStore, name: str) -> Iterator[bytes]:
    """Yield the bytes of a blob, whatever they are.

    Raises:
        FileNotFoundError: It is not there.
        OSError: It cannot be read.
    """
    with store.open_file(BLOB_FOLDER + name) as file:
        for offset in range(0, file.size, CHUNK_BYTES):
            yield file.read_at(offset, min(CHUNK_BYTES, file.size - offset))
