"""Adding many lines to one log where it lies: written once, cut back unless it ended well.

An append too large to be held in memory needs no staged copy, since its old
state is the log's first bytes. The redo file says so before the first line is
written: how long the log was, and how each line begins. Behind that it gets
the length of each line just before it is written. Emptying it, durably, is
what makes the change.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import ConflictError
from agentmem_cli.limits import CHUNK_BYTES
from agentmem_cli.storage import redo
from agentmem_cli.storage.files import cut_back, sync_file
from agentmem_cli.storage.layout import (
    FILES,
    RECOVERED,
    REDO,
    log_of,
    recovered_name,
    split,
    staged_name,
)
from agentmem_cli.storage.streams import chunks, pread, start_writing, token, write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentmem_cli.storage.files import Folder
    from agentmem_cli.storage.target import Target

HELD_BYTES: Final = 8 * CHUNK_BYTES
"""Bytes of an append that are held in memory; more of them are written where the log lies."""

KIND: Final = "extend"

THREAD_BYTES: Final = 1 << 18
"""Bytes of a line from which a thread that writes it is worth it."""

_HEAD_BYTES: Final = 4096
"""Bytes of a line that are looked at; a head has some sixty."""

_NUL: Final = 0


def hold(lines: Iterable[bytes], most_bytes: int) -> tuple[bool, Iterator[bytes]]:
    """Return whether *lines* are no more than *most_bytes*, and all of them."""
    rest = iter(lines)
    held: list[bytes] = []
    size = 0
    for line in rest:
        held.append(line)
        size += len(line)
        if size > most_bytes:
            return False, itertools.chain(held, rest)
    return True, iter(held)


def step_of(root: Folder, target: Target, heads: Sequence[bytes], key: bytes) -> redo.Step:
    """Return what the redo file says before lines are added to *target*.

    Args:
        root: The session directory.
        target: An append to a log that is there.
        heads: How each line begins, in their order; it tells them from those of others.
        key: Of all digests.

    Raises:
        OSError: The log cannot be read.
    """
    old = target.old
    assert old
    digest = redo.tail_digest_of(root, target.path, old, key)
    texts = tuple(head.decode("ascii") for head in heads)
    return redo.Step(KIND, target.path, old, old, digest, "", 0, redo.empty_digest(key), texts)


def write(root: Folder, step: redo.Step, lines: Iterable[bytes]) -> None:
    """Add *lines* to the log of *step*, durably, and then make that the log's new state.

    Raises:
        ConflictError: The log is not as long as it was; nothing was written.
        BaseException: What making a line or the system raised. The log is as it was; where
            a note says otherwise the next command makes it so.
    """
    begun: list[bool] = []
    try:
        _write(root, step, lines, begun)
    except BaseException:
        if not begun or _has_old_size(root, step):
            redo.forget(root)
        raise


def _write(root: Folder, step: redo.Step, lines: Iterable[bytes], begun: list[bool]) -> None:
    folders, name = split(step.target)
    with (
        root.walk(folders) as folder,
        root.opened(REDO, os.O_WRONLY | os.O_APPEND) as noting,
        folder.opened(name, os.O_WRONLY | os.O_APPEND) as target,
    ):
        folder.expect(name, os.fstat(target).st_size, step.keep)
        begun.append(True)
        try:
            writing = _Writing(noting, target, step.keep)
            try:
                for line in lines:
                    writing.add(line)
            finally:
                writing.wait()
            writing.check()
            sync_file(target)
            # Why emptied and not only removed: on a disk that does not keep the names of a
            # folder when told to, a removed file may come back, and would have it all cut off.
            os.ftruncate(noting, 0)
            sync_file(noting)
        except BaseException as error:
            cut_back(target, step.keep, error)
            raise


class _Writing:
    """Writes one line while the next is made: a system call lets go of the interpreter."""

    def __init__(self, noting: int, target: int, place: int) -> None:
        self._noting = noting
        self._target = target
        self._told = self._place = place
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def add(self, line: bytes) -> None:
        """Write *line* behind the others; raise what went wrong with an earlier one."""
        self.wait()
        self.check()
        if len(line) < THREAD_BYTES:
            self._write(line)
            self.check()
            return
        self._thread = threading.Thread(target=self._write, args=(line,), daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Return when nothing is being written any more, whatever interrupts."""
        while self._thread is not None and self._thread.is_alive():
            try:
                self._thread.join()
            except KeyboardInterrupt as error:
                self._error = error
        self._thread = None

    def check(self) -> None:
        """Raise what went wrong."""
        if self._error is not None:
            raise self._error

    def _write(self, line: bytes) -> None:
        try:
            write_whole(self._noting, b"%d\n" % len(line))
            write_whole(self._target, line)
            self._place += len(line)
            if self._place - self._told >= CHUNK_BYTES:
                start_writing(self._target, self._told, self._place)
                self._told = self._place
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            self._error = error


def _has_old_size(root: Folder, step: redo.Step) -> bool:
    folders, name = split(step.target)
    with root.walk(folders) as folder:
        found = folder.found(name)
    return found is not None and found.st_size == step.keep


class Added(NamedTuple):
    """What a crash left of lines that were being added."""

    size: int
    """The log's bytes with them."""
    is_told: bool
    """Whether they are as long as was said; as after a power cut, they may not be."""


def added(root: Folder, step: redo.Step, key: bytes) -> Added | None:
    """Look at what a crash left of the lines of *step*; None where nothing of them is there.

    Raises:
        ConflictError: Another program added a line of its own behind them.
        OSError: The log or the redo file cannot be read.
    """
    folders, name = split(step.target)
    try:
        folder = root.walk(folders)
    except FileNotFoundError:
        return None
    with folder:
        if folder.found(name) is None:
            return None
        with folder.opened(name) as descriptor:
            size = os.fstat(descriptor).st_size
            start = max(0, step.keep - redo.TAIL_BYTES)
            if size <= step.keep or (
                redo.digest_at(descriptor, start, step.keep, key) != step.old_digest
            ):
                return None  # nothing was added, or another program replaced the log
            ends = _line_ends(descriptor, step.keep, size)
            if not _begin_so(descriptor, step, ends, size):
                msg = (
                    f"{root.where(step.target)}: changed by another program before an "
                    "interrupted change could be taken back"
                )
                hint = (
                    f"Keep a copy of {root.path}, look at this file, then run agentmem repair: "
                    "it leaves what stands there."
                )
                raise ConflictError(msg, hint=hint)
            return Added(size, _are_as_long(_lengths(root), step.keep, ends, size))


def take_back(root: Folder, step: redo.Step, key: bytes) -> bool:
    """Cut off what a crash left of the lines of *step*; return whether anything was.

    What cannot be told to be theirs by its length, as after a power cut, is
    set aside first.

    Raises:
        ConflictError: Another program added a line of its own behind them.
        OSError: The system refused; a later try goes on.
    """
    found = added(root, step, key)
    if found is None:
        return False
    folders, name = split(step.target)
    with root.walk(folders) as folder:
        if not found.is_told:
            with folder.opened(name) as descriptor:
                _set_aside(root, descriptor, step, found.size)
        # Why once more: what another program has added meanwhile would go.
        folder.expect(name, folder.lstat(name).st_size, found.size)
        folder.cut(name, step.keep)
    return True


def _line_ends(descriptor: int, start: int, size: int) -> list[int]:
    """Return where each line from *start* on ends; one without its newline is left out."""
    ends: list[int] = []
    place = start
    for chunk in chunks(descriptor, start, size):
        at = chunk.find(b"\n")
        while at >= 0:
            ends.append(place + at + 1)
            at = chunk.find(b"\n", at + 1)
        place += len(chunk)
    return ends


def _begin_so(descriptor: int, step: redo.Step, ends: Sequence[int], size: int) -> bool:
    """Whether each line begins as it was said, in that order.

    After a power cut there may be zeros for what did not reach the disk, the
    ends of lines too.
    """
    heads = (head.encode() for head in step.heads)
    begins = [step.keep, *ends]
    for begin, end in itertools.pairwise([*begins, size] if begins[-1] < size else begins):
        line = pread(descriptor, min(_HEAD_BYTES, end - begin), begin)
        if not any(_begins(line, head) for head in heads):
            return False
    return True


def _begins(line: bytes, head: bytes) -> bool:
    return all(byte in (wanted, _NUL) for byte, wanted in zip(line, head, strict=False))


def _lengths(root: Folder) -> list[int]:
    """Return the lengths of lines that the redo file was told, as far as it was."""
    with root.opened(REDO) as descriptor:
        size = os.fstat(descriptor).st_size
        told = b"".join(chunks(descriptor, 0, size)).split(b"\n")[2:-1]
    return [int(number) for number in itertools.takewhile(bytes.isdigit, told)]


def _are_as_long(lengths: Sequence[int], start: int, ends: Sequence[int], size: int) -> bool:
    """Whether the lines from *start* on are as long as was said; the last may be cut off."""
    expected = list(itertools.accumulate(lengths, initial=start))[1:]
    if list(ends) != expected[: len(ends)]:
        return False
    torn = size > (ends[-1] if ends else start)
    return not torn or (len(expected) > len(ends) and size < expected[len(ends)])


def _set_aside(root: Folder, descriptor: int, step: redo.Step, size: int) -> None:
    digest = hashlib.sha256()
    part = staged_name(token())
    with root.reach((FILES, RECOVERED.rstrip("/"))) as folder:
        folder.add(part, b"", new=True)
        try:
            for chunk in chunks(descriptor, step.keep, size):
                digest.update(chunk)
                folder.add(part, chunk, new=False)
            folder.sync_contents(part)
            name = recovered_name(log_of(step.target) or "", digest.hexdigest())
            folder.replace(part, split(name)[1])
        except BaseException:
            folder.discard(part)
            raise
        folder.sync()
