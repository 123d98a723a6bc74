"""The redo file: what is to be done when several files change together.

A batch stages its new bytes in part files, writes the redo file, makes the
changes and removes the redo file. Whoever takes the session's lock next after
a crash finds the redo file and finishes. So the next command sees the old
state or the new one, never a mixture.

The file is two lines: a JSON object, and the digest of that line. In the
object, ``key`` keys all digests (so that they tell nothing of what they are
of), and ``steps`` come in the order in which they are made.
"""

from __future__ import annotations

import contextlib
import json
import os
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import ConflictError
from agentmem_cli.limits import REDO_BYTES_MAX
from agentmem_cli.storage.files import sync_file
from agentmem_cli.storage.layout import (
    FILES,
    LOGS,
    META,
    REDO,
    beside,
    file_path,
    is_staged,
    log_of,
    split,
)
from agentmem_cli.storage.names import is_log_name, is_name
from agentmem_cli.storage.streams import chunks, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.storage.files import Folder
    from agentmem_cli.storage.keeping import Kept

FORMAT: Final = "agentmem-redo/1"
"""What the first key says; another one is left for the program that knows it."""

TAIL_BYTES: Final = 4096
"""Bytes before the place of an append that are looked at to know the file again."""

DIGEST_BYTES: Final = 32
"""Bytes of a keyed digest."""

KINDS: Final = ("append", "replace", "remove", "extend")


class Step(NamedTuple):
    """One change of one file.

    ``kind`` is one of `KINDS`. ``target`` and ``part`` are relative paths in
    one folder; ``part`` is empty where no bytes are staged. ``old`` is the target's size in bytes
    before, None where there was none. An append keeps the first ``keep``
    bytes. ``old_digest`` is of the old content, for an append of the last
    `TAIL_BYTES` of what is kept. ``size`` and ``digest`` are the part's.

    One of the kind ``extend`` stands alone: `heads` lines are being added, and
    are cut off again unless the redo file goes (see `extending`).
    """

    kind: str
    target: str
    old: int | None
    keep: int
    old_digest: str
    part: str
    size: int
    digest: str
    heads: tuple[str, ...] = ()
    """How each line begins that is being added."""


class Redo(NamedTuple):
    """A whole redo file."""

    key: bytes
    steps: tuple[Step, ...]


# -- the file --------------------------------------------------------------


def encode(redo: Redo) -> bytes:
    """Return the redo file's bytes for *redo*."""
    body = {
        "format": FORMAT,
        "key": redo.key.hex(),
        "steps": [_told(step) for step in redo.steps],
    }
    # Not a record of a log, so not the codec's business.
    line = json.dumps(body, separators=(",", ":")).encode()  # noqa: TID251
    return line + b"\n" + blake2b(line, key=redo.key).hexdigest().encode() + b"\n"


def _told(step: Step) -> dict[str, object]:
    value = step._asdict()
    if not step.heads:
        del value["heads"]
    return value


def decode(data: bytes) -> Redo | None:
    """Return what a redo file says, None where it is not whole.

    Raises:
        ConflictError: It is whole and of another format.
    """
    line, _, rest = data.partition(b"\n")
    rest = rest[: rest.find(b"\n") + 1]  # lengths of lines may follow
    try:
        body = json.loads(line)
        key = bytes.fromhex(body["key"])
        if rest != blake2b(line, key=key).hexdigest().encode() + b"\n":
            return None
        if body["format"] != FORMAT:
            raise ConflictError(
                f"{REDO}: an unfinished change of another format ({str(body['format'])[:40]!r})",
                hint="Finish it with the program that began it, most likely a newer agentmem.",
            )
        steps = tuple(
            Step(**{**step, "heads": tuple(step.get("heads", ()))}) for step in body["steps"]
        )
        alone = len(steps) == 1 or all(step.kind != "extend" for step in steps)
        return Redo(key, steps) if alone and all(map(_is_sound, steps)) else None
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _is_sound(step: Step) -> bool:
    """Return whether *step* stays within the session and its numbers fit together."""
    folder, _, name = step.target.partition("/")
    log = log_of(step.target)
    named = is_log_name(log) if log is not None else folder == FILES and is_name(name)
    part = split(step.part)[1]
    parted = is_staged(part) and beside(step.target, part) == step.part if step.part else True
    sizes = (step.old or 0, step.keep, step.size)
    return (
        step.kind in KINDS
        and folder in {LOGS, FILES}
        and named
        and parted
        and all(type(size) is int and size >= 0 for size in sizes)
        and step.keep <= (step.old or 0)
        and bool(step.part) == (step.kind == "replace" or step.size > 0)
        and bool(step.heads) == (step.kind == "extend")
        and all(type(head) is str for head in step.heads)
    )


def read(root: Folder) -> Redo | None:
    """Return what the redo file in *root* says, None where it is not whole.

    Raises:
        FileNotFoundError: There is none.
        ConflictError: It is of another format.
        OSError: Something else stands in its place.
    """
    with root.opened(REDO) as descriptor:
        size = os.fstat(descriptor).st_size
        if size > REDO_BYTES_MAX:
            return None
        return decode(b"".join(chunks(descriptor, 0, size)))


# -- digests ---------------------------------------------------------------


def digest_of(root: Folder, path: str, key: bytes) -> str:
    """Return the keyed digest of a whole file's bytes, read in pieces."""
    folders, name = split(path)
    with root.walk(folders) as folder, folder.opened(name) as descriptor:
        return digest_at(descriptor, 0, os.fstat(descriptor).st_size, key)


def tail_digest_of(root: Folder, path: str, keep: int, key: bytes) -> str:
    """Return the keyed digest of the last `TAIL_BYTES` before byte *keep*."""
    folders, name = split(path)
    with root.walk(folders) as folder, folder.opened(name) as descriptor:
        return digest_at(descriptor, max(0, keep - TAIL_BYTES), keep, key)


def empty_digest(key: bytes) -> str:
    """Return the keyed digest of nothing."""
    return blake2b(key=key, digest_size=DIGEST_BYTES).hexdigest()


def digest_at(descriptor: int, start: int, end: int, key: bytes) -> str:
    """Return the keyed digest of the bytes from *start* to *end*."""
    digest = blake2b(key=key, digest_size=DIGEST_BYTES)
    for chunk in chunks(descriptor, start, end):
        digest.update(chunk)
    return digest.hexdigest()


# -- making the changes ----------------------------------------------------


def apply(root: Folder, steps: Iterable[Step], begun: list[Step], kept: Kept | None = None) -> None:
    """Make *steps* in order, durably; each can be made again.

    Args:
        root: The session directory.
        steps: What is to be done.
        begun: Gets each step just before its target changes.
        kept: Keeps what is done away with.

    Raises:
        ConflictError: A target has changed since it was looked at.
        OSError: The system refused; the steps in *begun* may be done, the last one by half.
    """
    touched: dict[tuple[str, ...], None] = {}
    for step in steps:
        folders, name = split(step.target)
        with root.walk(folders) as folder:
            if kept is not None:
                kept.keep(folder, name, step)
            _apply_one(folder, name, step, begun)
        touched[folders] = None
    for folders in touched:
        with root.walk(folders) as folder:
            folder.sync()


def _apply_one(folder: Folder, name: str, step: Step, begun: list[Step]) -> None:
    part = split(step.part)[1]
    if step.kind == "append":
        _apply_append(folder, name, part, step, begun)
        return
    # Why once more: making and hashing the new bytes takes a while, and what another program
    # has added meanwhile would go.
    found = folder.found(name)
    folder.expect(
        name, -1 if found is None else found.st_size, -1 if step.old is None else step.old
    )
    begun.append(step)
    if step.kind == "remove":
        folder.remove(name)
    else:
        if step.target == file_path(META):
            # It was staged before the logs were written, and must not look older than they are.
            folder.touch(part)
        folder.replace(part, name)


def _apply_append(folder: Folder, name: str, part: str, step: Step, begun: list[Step]) -> None:
    with folder.opened(name, os.O_WRONLY | os.O_APPEND) as target:
        size = os.fstat(target).st_size
        folder.expect(name, size, step.old or 0, step.keep)
        begun.append(step)  # not before: what another program added is not ours to cut off
        if size != step.keep:
            os.ftruncate(target, step.keep)
        if step.size:
            for chunk in _bytes_of(folder, part, step.size):
                write_whole(target, chunk)
        sync_file(target)


def _bytes_of(folder: Folder, part: str, size: int) -> Iterator[bytes]:
    # Why a generator: what goes wrong at the target is not told of this file.
    with folder.opened(part) as source:
        yield from chunks(source, 0, size)


def disarm(root: Folder) -> None:
    """Take the redo file away: what it says is made, or taken back.

    It is emptied first, durably: then it says nothing, though its name should
    come back after a power cut, or stay.

    Raises:
        OSError: The system refused both; what it says stands.
    """
    found = root.found(REDO)
    if found is None:
        return
    try:
        if found.st_nlink == 1:  # else it is another file, too
            root.cut(REDO, 0)
    except OSError:
        root.remove(REDO)
        root.sync()
        return
    with contextlib.suppress(OSError):
        root.remove(REDO)


def forget(root: Folder) -> None:
    """Do `disarm` as far as it goes, on the way out of a failure; nothing is changed."""
    with contextlib.suppress(OSError):
        disarm(root)
