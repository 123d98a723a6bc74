"""A whole session that appears at once: staged beside its place, then renamed to it.

A session that is not there yet needs no redo file, since one rename makes it:
before that there is none, after it all of it is there. What is staged stands
in ``STAGES`` of the folder that the session is to stand in, each in a folder
of its own whose lock its maker holds; one whose lock is free was left by a
crash, and the next who stages removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import AgentMemError, Appeared
from agentmem_cli.limits import LOCK_WAIT_S
from agentmem_cli.storage.batch import DirBatch
from agentmem_cli.storage.files import FOLDER_MODE, Folder, make_folders, rename_folder
from agentmem_cli.storage.layout import META, STAGES, file_path, split
from agentmem_cli.storage.locks import held
from agentmem_cli.storage.owning import make_folder
from agentmem_cli.storage.streams import token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SYNCS: Final = 8
"""Files and folders that are synced at once: a disk makes one journal entry of many."""

_TRIES: Final = 100
"""Times that the folder of stages is made, where others remove it whenever it is empty."""

_THERE: Final = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR})


class FreshBatch(DirBatch):
    """A `DirBatch` over a stage, in which nothing stands yet and nobody else looks."""

    def folder(self, path: str) -> Folder:
        """Open, and make where missing, the folder of the relative *path*; not durably yet."""
        return self._root.reach(split(path)[0], self._made, durably=False)

    def commit(self) -> None:
        """Put everything in its place in the stage, durably."""
        targets = [target for target in self._targets.values() if target.settle()]
        targets.sort(key=lambda target: target.rank)
        for target in targets:
            target.spool.complete()
            part = split(target.spool.part)[1]
            folders, name = split(target.path)
            with self._root.walk(folders) as folder:
                if target.path == file_path(META):
                    folder.touch(part)  # it was staged before the logs were written
                folder.replace(part, name)
        used = {target.spool.part for target in targets}
        self._parts = [path for path in self._parts if path not in used]
        self._discard_parts()  # of what was written twice
        self._made.clear()
        self._mark(targets)
        self._sync([target.path for target in targets])

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to make a session of."""
        return not any(target.settle() for target in self._targets.values())

    def _sync(self, paths: list[str]) -> None:
        """Make the files at *paths*, and all folders of the stage, durable."""
        folders: dict[tuple[str, ...], None] = {(): None}
        for path in paths:
            above, _ = split(path)
            folders.update(dict.fromkeys(above[:depth] for depth in range(1, len(above) + 1)))
        steps: list[Callable[[], None]] = [_file_sync(self._root, path) for path in paths]
        steps += [_folder_sync(self._root, each) for each in folders]
        _all_at_once(steps)

    def _found(self, path: str) -> os.stat_result | None:  # noqa: ARG002 - nothing is there yet
        return None


def _file_sync(root: Folder, path: str) -> Callable[[], None]:
    def sync() -> None:
        folders, name = split(path)
        with root.walk(folders) as folder:
            folder.sync_contents(name)

    return sync


def _folder_sync(root: Folder, folders: tuple[str, ...]) -> Callable[[], None]:
    def sync() -> None:
        with root.walk(folders) as folder:
            folder.sync()

    return sync


def _all_at_once(steps: list[Callable[[], None]]) -> None:
    """Take *steps*, several at a time; the first error is raised when all workers stopped."""
    waiting = iter(steps)
    taking = Lock()
    errors: list[BaseException] = []

    def work() -> None:
        while not errors:
            with taking:
                step = next(waiting, None)
            if step is None:
                return
            try:
                step()
            except BaseException as error:  # noqa: BLE001 - it is raised below
                errors.append(error)

    workers = [Thread(target=work, daemon=True) for _ in range(min(_SYNCS, len(steps)) - 1)]
    for worker in workers:
        worker.start()
    work()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]


@contextlib.contextmanager
def fresh_batch(target: str) -> Iterator[FreshBatch]:
    """Make the session directory *target*, which is not there, when the block ends well.

    It appears with all that was staged, or not at all; nothing staged makes none.

    Raises:
        Appeared: It is there after all; nothing was made.
        OSError: The system refused; nothing was made, but where only the last
            step failed (the fsync of the folder that it stands in).
    """
    above, _ = os.path.split(target)
    stages = os.path.join(above, STAGES)
    stage, made = _make_stage(stages)
    try:
        with held(stage, LOCK_WAIT_S) as lock:
            _sweep(stages, os.path.basename(stage))
            with Folder.at(stage) as root:
                batch = FreshBatch(root, lock)
                try:
                    yield batch
                    empty = batch.is_empty
                    batch.commit()
                finally:
                    batch.close()
                if not empty:
                    _appear(stage, target)
    finally:
        _remove(stage)
        with contextlib.suppress(OSError):
            os.rmdir(stages)
            if made:
                os.rmdir(above)  # where no session came of it


def _make_stage(stages: str) -> tuple[str, bool]:
    """Make a stage; return its path, and whether the folder that all stand in is new."""
    stage = os.path.join(stages, token())
    above = os.path.dirname(stages)
    made = False
    for left in reversed(range(_TRIES)):
        # Why not durably: a stage is of no use to anybody after a crash.
        made = make_folders(above) or made
        try:
            with contextlib.suppress(FileExistsError):
                make_folder(stages, FOLDER_MODE)
            make_folder(stage, FOLDER_MODE)
        except FileNotFoundError:
            if not left:
                raise
        else:
            break
    return stage, made


def _appear(stage: str, target: str) -> None:
    try:
        rename_folder(stage, target)
    except OSError as error:
        if error.errno in _THERE:
            msg = f"{target}: a session stands here already"
            raise Appeared(msg) from error
        raise


def _sweep(stages: str, own: str) -> None:
    """Remove stages that a crash left: their locks are free."""
    for name in os.listdir(stages):
        if name != own:
            with contextlib.suppress(OSError, AgentMemError):
                stage = os.path.join(stages, name)
                with held(stage, 0.0) as lock:
                    if lock.depth == 1:  # else this very thread is making it
                        _remove(stage)


def _remove(stage: str) -> None:
    """Remove a stage as far as it goes; links inside are not followed."""
    import shutil

    shutil.rmtree(stage, ignore_errors=True)
