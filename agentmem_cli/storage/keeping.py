"""The old states of files while a change of several of them is made, to take it back if it fails.

A file that is replaced or removed keeps a second name (a hard link) until all
is made; of what an append cuts off there is a copy. These are part files like
others: whoever finishes a change after a crash removes them. Where a disk has
no hard links, a change that failed half-way waits to be finished.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Final

from agentmem_cli.storage.layout import beside, split, staged_name
from agentmem_cli.storage.streams import chunks, is_start_of, token, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem_cli.storage.files import Folder
    from agentmem_cli.storage.redo import Step

NO_LINKS: Final = frozenset(
    {errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
)
"""How a disk says that it has no hard links."""


class Kept:
    """What is kept of the files that one change touches."""

    def __init__(self, note: Callable[[str], None]) -> None:
        """Tell *note* the relative path of each part file that is about to exist."""
        self._note = note
        self._parts: dict[Step, str] = {}

    def keep(self, folder: Folder, name: str, step: Step) -> None:
        """Keep what *step* is about to do away with of the file *name* in *folder*.

        Raises:
            OSError: The system refused; the file is as it was.
        """
        if step.old is None or (step.kind == "append" and step.keep == step.old):
            return
        part = beside(step.target, staged_name(token()))
        self._note(part)
        if step.kind == "append":
            _copy_end(folder, name, split(part)[1], step.keep)
        elif not _linked(folder, name, split(part)[1]):
            return
        self._parts[step] = part

    def check(self, root: Folder) -> None:
        """See that nobody added to a file in the moment in which it was replaced or removed.

        Raises:
            ConflictError: Somebody did; `take_back` brings that back.
            OSError: The system refused.
        """
        for step, part in self._parts.items():
            if step.kind != "append":
                folders, name = split(part)
                with root.walk(folders) as folder:
                    folder.expect(split(step.target)[1], folder.lstat(name).st_size, step.old or 0)

    def drop(self, root: Folder) -> None:
        """Remove what was kept: the change is made.

        Raises:
            OSError: The system refused.
        """
        for part in self._parts.values():
            folders, name = split(part)
            with root.walk(folders) as folder:
                folder.remove(name)
        self._parts.clear()

    def take_back(self, root: Folder, begun: Sequence[Step]) -> bool:
        """Take back the steps in *begun*; return False, nothing done, where that cannot be.

        Raises:
            OSError: The system refused.
        """
        made = [step for step in begun if not _is_untouched(root, step)]
        if not all(self._can_be_undone(root, step) for step in made):
            return False
        for step in reversed(made):
            folders, name = split(step.target)
            with root.walk(folders) as folder:
                self._undo(folder, name, step)
                folder.sync()
        return True

    def _can_be_undone(self, root: Folder, step: Step) -> bool:
        kept = step in self._parts
        if step.kind == "append":
            return (kept or step.keep == step.old) and _is_ours(root, step)
        return kept or (step.kind == "replace" and step.old is None)

    def _undo(self, folder: Folder, name: str, step: Step) -> None:
        part = split(self._parts.get(step, ""))[1]
        if step.kind == "append":
            folder.cut(name, step.keep)
            if part:
                folder.append(name, step.keep, folder.read(part))
        elif part:
            folder.replace(part, name)
        else:
            folder.remove(name)


def _linked(folder: Folder, name: str, part: str) -> bool:
    try:
        folder.link(name, part)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        return False
    return True


def _copy_end(folder: Folder, name: str, part: str, start: int) -> None:
    with folder.opened(name) as source:
        folder.add(part, b"", new=True)
        with folder.opened(part, os.O_WRONLY | os.O_APPEND) as target:
            for chunk in chunks(source, start, os.fstat(source).st_size):
                write_whole(target, chunk)


def _is_untouched(root: Folder, step: Step) -> bool:
    """Return whether the target is as it was; of what is not sure the answer is no."""
    # A rename and a removal are made or not made, so one look tells.
    is_append = step.kind == "append"
    folders, name = split(step.target if is_append else step.part or step.target)
    with root.walk(folders) as folder:
        found = folder.found(name)
    if is_append:
        return found is not None and found.st_size == step.old == step.keep
    return found is not None


def _is_ours(root: Folder, step: Step) -> bool:
    """Return whether nothing but bytes of *step* stands behind those that it keeps."""
    folders, name = split(step.target)
    with root.walk(folders) as folder, folder.opened(name) as target:
        size = os.fstat(target).st_size
        if not step.size:
            return size in {step.keep, step.old}
        with folder.opened(split(step.part)[1]) as source:
            return is_start_of(target, step.keep, size, source) or size == step.old
