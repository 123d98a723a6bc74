"""Changes of a session directory that are made together.

New bytes are staged in part files beside their targets while the ``with``
block runs; nothing of the session changes before its end. A single change
that is atomic by itself is then made as it is; several go through the redo
file (see `redo`).
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import TYPE_CHECKING

from agentmem_cli.errors import ConflictError, LogChanged
from agentmem_cli.storage import extending, redo, sweeping
from agentmem_cli.storage.keeping import Kept
from agentmem_cli.storage.layout import (
    FILES,
    REDO,
    file_path,
    log_of,
    log_path,
    split,
    staged_name,
)
from agentmem_cli.storage.listing import file_names
from agentmem_cli.storage.names import check_log_name, check_name
from agentmem_cli.storage.spool import Spool
from agentmem_cli.storage.steps import steps_of
from agentmem_cli.storage.streams import token
from agentmem_cli.storage.target import Target, open_target, unshare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentmem_cli.storage.files import Folder
    from agentmem_cli.storage.session_lock import SessionLock
    from agentmem_cli.storage.store import LogFile, Sink

_KEY_BYTES = 32


class DirBatch:
    """A `Batch` over a session directory; its maker holds the lock and calls `close`."""

    def __init__(self, root: Folder, lock: SessionLock) -> None:
        """Stage changes of the session directory *root*, whose *lock* is held."""
        self.key = os.urandom(_KEY_BYTES)
        self.waiting_bytes = 0
        self._root = root
        self._lock = lock
        self._targets: dict[str, Target] = {}
        self._parts: list[str] = []
        self._made: list[tuple[str, ...]] = []
        self.clears = False
        """Whether what other programs left half written goes too, before anything changes."""
        self.whole = False
        """Whether no part of an append may be left by a crash: its records belong together."""

    # -- what spools use ---------------------------------------------------

    def folder(self, path: str) -> Folder:
        """Open, and make where missing, the folder of the relative *path*."""
        return self._root.reach(split(path)[0], self._made)

    def part_made(self, path: str) -> None:
        """Note that the part file at the relative *path* is about to exist."""
        self._parts.append(path)
        self._lock.live.add(split(path)[1])

    def relieve(self) -> None:
        """Move what all spools hold to their part files."""
        for target in self._targets.values():
            if target.spool.waits:
                target.spool.flush()

    # -- logs --------------------------------------------------------------

    def append_log(self, name: str, length: int, data: bytes) -> None:
        """Add *data* to a log of *length* bytes; ``LogChanged`` where it has another."""
        self._log(name, length).spool.write(data)

    def open_append(self, name: str, length: int) -> Sink:
        """Return what adds to a log of *length* bytes."""
        return self._log(name, length).spool

    def append_lines(
        self, name: str, length: int, lines: Iterable[bytes], heads: Sequence[bytes]
    ) -> None:
        """Add *lines* to a log of *length* bytes, as the last that is done to it.

        They are made when the batch ends. Where that changes nothing else, and
        they are many, they are written where the log lies (see `extending`).

        Args:
            name: The log.
            length: Its bytes as the batch has left it.
            lines: Whole lines; what making them raises leaves everything as it was.
            heads: How each of them begins.
        """
        target = self._log(name, length)
        assert target.kind == "append"
        target.lines, target.heads = lines, heads

    def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Replace a log of *length* bytes; ``LogChanged`` where it has another."""
        self.open_log_new(name, length).write(data)

    def open_log_new(self, name: str, length: int) -> Sink:
        """Return what takes the whole new content of a log that is *length* bytes long now."""
        return self._renew(self._log(name, length))

    def cut_log(self, name: str, length: int, keep: int) -> None:
        """Keep the first *keep* bytes of a log of *length*; before anything is added to it."""
        target = self._log(name, length)
        assert target.kind == "append"
        assert target.spool.size == 0
        assert 0 <= keep <= length
        target.keep = keep

    def remove_log(self, name: str) -> None:
        """Remove a log; one that is absent is fine."""
        check_log_name(name)
        target = self._target(log_path(name))
        self._renew(target).closed = True
        target.kind = "remove"

    def _log(self, name: str, length: int) -> Target:
        check_log_name(name)
        target = self._target(log_path(name))
        if target.size != length:
            raise LogChanged(name, length, target.size)
        return target

    def open_staged_log(self, name: str) -> LogFile:
        """Open a log as the batch has left it; ``FileNotFoundError`` where there is none."""
        check_log_name(name)
        return open_target(self._root, log_path(name), self._targets.get(log_path(name)))

    # -- files -------------------------------------------------------------

    def write_file(self, name: str, data: bytes) -> None:
        """Put *data* at *name*."""
        spool = self.open_file(name)
        spool.write(data)
        spool.flush()

    def open_file(self, name: str) -> Spool:
        """Return what takes the whole new content of a file."""
        check_name(name)
        return self._renew(self._target(file_path(name)))

    def append_file(self, name: str, data: bytes) -> None:
        """Put *data* at the end of *name*, which is made where missing."""
        check_name(name)
        target = self._target(file_path(name))
        if target.kind == "remove":
            self._renew(target)
        target.spool.write(data)

    def remove_file(self, name: str) -> None:
        """Remove *name*; one that is absent is fine."""
        check_name(name)
        target = self._target(file_path(name))
        self._renew(target).closed = True
        target.kind = "remove"

    def read_file(self, name: str) -> bytes:
        """Return the content of *name* as the batch has left it."""
        check_name(name)
        path = file_path(name)
        target = self._targets.get(path)
        absent = target is not None and (
            target.kind == "remove" or (target.old is None and not target.settle())
        )
        if absent:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._root.where(path))
        if target is not None and target.kind == "replace":
            return target.spool.content()
        folders, last = split(path)
        with self._root.walk(folders) as folder:
            old = folder.read(last)
        return old if target is None else old[: target.keep] + target.spool.content()

    def open_staged_file(self, name: str) -> LogFile:
        """Open a file as the batch has left it; ``FileNotFoundError`` where there is none."""
        check_name(name)
        return open_target(self._root, file_path(name), self._targets.get(file_path(name)))

    def files(self) -> list[str]:
        """Return the names of all files as the batch has left them, sorted."""
        names = set(file_names(self._root))
        for path, target in self._targets.items():
            if path.startswith(f"{FILES}/"):
                change = names.discard if target.kind == "remove" else names.add
                change(path[len(FILES) + 1 :])
        return sorted(names)

    def _target(self, path: str) -> Target:
        target = self._targets.get(path)
        if target is None:
            found = self._found(path)
            target = Target(path, None if found is None else found.st_size, Spool(self, path))
            target.shared = found is not None and found.st_nlink > 1
            self._targets[path] = target
        return target

    def _renew(self, target: Target) -> Spool:
        target.spool.drop()
        target.spool = Spool(self, target.path)
        target.kind = "replace"
        return target.spool

    def _found(self, path: str) -> os.stat_result | None:
        folders, name = split(path)
        try:
            with self._root.walk(folders) as folder:
                return folder.found(name)
        except FileNotFoundError:
            return None

    # -- the end -----------------------------------------------------------

    def commit(self) -> None:
        """Make the changes, durably, or none of them.

        Raises:
            LogChanged: A log changed although the lock is held; nothing was done.
            ConflictError: So did a file.
            OSError: The system refused; nothing was done, or what is missing
                is done by whoever takes the lock next.
        """
        extended = self._take_lines()
        for target in self._targets.values():
            unshare(self._root, target, self._renew)
        targets = [target for target in self._targets.values() if target.settle()]
        targets.sort(key=lambda target: target.rank)
        for target in targets:
            self._check_unchanged(target)
        if targets and self.clears:
            sweeping.clear(self._root, self._lock.live)
        if extended is not None:
            self._extend(*extended)
            self._mark([extended[0]])
            self.sweep()
        elif len(targets) == 1 and self._make_alone(targets[0]):
            self._mark(targets)
        elif targets:
            self._make_together(targets)
        if targets:
            self.sweep()

    def _take_lines(self) -> tuple[Target, Iterable[bytes]] | None:
        """Move lines to their spools; return those that are to be written where the log lies."""
        for target in self._targets.values():
            if target.lines is None:
                continue
            lines, target.lines = target.lines, None
            alone = len(self._targets) == 1 and target.old == target.keep
            if alone and not target.spool.size and not target.shared:
                held, lines = extending.hold(lines, extending.HELD_BYTES)
                if target.old and not held:
                    return target, lines
            for line in lines:
                target.spool.write(line)
        return None

    def _extend(self, target: Target, lines: Iterable[bytes]) -> None:
        self._check_unchanged(target)
        step = extending.step_of(self._root, target, target.heads, self.key)
        try:
            self._write_redo(redo.encode(redo.Redo(self.key, (step,))))
        except BaseException:
            redo.forget(self._root)
            raise
        extending.write(self._root, step, lines)
        redo.disarm(self._root)

    def close(self) -> None:
        """Drop what is staged and not made. Quiet: nothing here can spoil the session."""
        for target in self._targets.values():
            target.spool.drop()
        self._discard_parts()
        for folders in reversed(self._made):
            with contextlib.suppress(OSError), self._root.walk(folders[:-1]) as folder:
                folder.remove_folder(folders[-1])
        self._made.clear()

    def _discard_parts(self) -> None:
        try:
            for path in self._parts:
                folders, name = split(path)
                with contextlib.suppress(OSError), self._root.walk(folders) as folder:
                    folder.discard(name)
        finally:
            self._let_go()  # whatever is left is swept by the next batch

    def _let_go(self) -> None:
        self._lock.live.difference_update(split(path)[1] for path in self._parts)
        self._parts.clear()

    def sweep(self) -> None:
        """Remove part files that a crash left; only ours, never one in use."""
        with contextlib.suppress(OSError):  # the change is made; this can wait for the next one
            sweeping.sweep(self._root, self._lock.live)

    def _check_unchanged(self, target: Target) -> None:
        there = self._found(target.path)
        found = None if there is None else there.st_size
        if found == target.old:
            return
        log = log_of(target.path)
        if log is not None:
            raise LogChanged(log, target.old or 0, found or 0)
        raise ConflictError(
            f"{self._root.where(target.path)}: another program changed it meanwhile",
            hint="Nothing was written; run the command again.",
        )

    def _make_alone(self, target: Target) -> bool:
        """Make a change that one call makes, and nobody's write is lost by; else return False."""
        folders, name = split(target.path)
        if target.old is not None and target.kind != "append" and log_of(target.path) is not None:
            return False  # what another program adds in that moment is seen by a second name only
        if target.kind == "replace":
            self._stage([target])
            self._check_unchanged(target)
            with self._root.walk(folders) as folder:
                folder.replace(split(target.spool.part)[1], name)
                folder.sync()
            return True
        data = target.spool.small
        cut = target.keep != target.old
        if target.kind == "append" and (data is None or ((cut or self.whole) and data)):
            return False
        with self._root.walk(folders) as folder:
            if target.kind == "remove":
                folder.remove(name)
                folder.sync()
            elif data:
                folder.append(name, target.keep, data)
            else:
                folder.cut(name, target.keep)
        return True

    def _stage(self, targets: list[Target]) -> None:
        """Have all new bytes in part files, durably."""
        touched: dict[tuple[str, ...], None] = {}
        for target in targets:
            if target.kind == "replace" or target.spool.size:
                target.spool.finish()
                touched[split(target.path)[0]] = None
        for folders in touched:
            with self._root.walk(folders) as folder:
                folder.sync()

    def _make_together(self, targets: list[Target]) -> None:
        begun: list[redo.Step] = []
        kept = Kept(self.part_made)
        try:
            self._stage(targets)
            steps = steps_of(self._root, targets, self.key)
            self._write_redo(redo.encode(redo.Redo(self.key, steps)))
            redo.apply(self._root, steps, begun, kept)
            kept.check(self._root)
        except BaseException as error:
            self._give_up(kept, begun, error)
            raise
        self._mark(targets)
        kept.drop(self._root)
        redo.disarm(self._root)

    def _write_redo(self, data: bytes) -> None:
        part = staged_name(token())
        self.part_made(part)
        self._root.write_new(part, data)
        self._root.replace(part, REDO)
        self._root.sync()

    def _give_up(self, kept: Kept, begun: list[redo.Step], error: BaseException) -> None:
        """Take back what was begun; where that cannot be, leave all for the next holder."""
        try:
            undone = kept.take_back(self._root, begun)
            if undone:
                redo.disarm(self._root)
        except OSError as second:
            error.add_note(f"what was begun could not be taken back: {second}")
            undone = False
        if not undone:
            self._let_go()  # the redo file stands and needs the parts
            error.add_note("the change was begun; the next command on this session finishes it")
        elif not isinstance(error, ConflictError):  # else another program's write goes unnoticed
            sweeping.mark(self._root, self._lock, [step.target for step in begun])

    def _mark(self, targets: list[Target]) -> None:
        sweeping.mark(self._root, self._lock, [target.path for target in targets])
