"""Replacements in files outside any session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.imports.packed import is_packed
from agentmem_cli.operations.outside import Care, changing, check_may_change
from agentmem_cli.operations.replacing import Replacements, Replacing
from agentmem_cli.session.refiling import FilePass
from agentmem_cli.session.rewriting import HEAD_BYTES, File
from agentmem_cli.session.textual import why_unread

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.rewriting import How
    from agentmem_cli.storage.store import LogFile
    from agentmem_cli.storage.swapping import Swap


class Replaced(NamedTuple):
    """What was done to a file."""

    changed: bool
    lines: int
    """Lines that changed; a file that is no JSON lines counts as one."""
    size: int
    """Bytes that were read."""
    unread: str | None = None
    """Why it, or what it says, was left though it may hold what is to be replaced; None: it was
    read."""


IN_BYTES: Final = "what is to be replaced stands in bytes that are no text, and stays"
_STEP_BYTES: Final = 1 << 20
_OVERLAP_BYTES: Final = 16 << 10


def replace_in_file(
    path: str,
    wanted: Replacements,
    care: Care,
    *,
    dry_run: bool,
    progress: Callable[[int], None] | None = None,
) -> Replaced:
    """Replace what is *wanted* in one file, whole or not at all.

    What is no text is left, and told where it may hold some of it.

    Raises:
        ConflictError: It may not be changed now (`outside.check_may_change`).
        OSError: The system refused; the file is as it was.
    """
    told = progress or _pass_by

    def work(swap: Swap) -> tuple[Replaced, bool]:
        with_ = _Counting(wanted)
        name = os.path.basename(path)  # noqa: PTH119 - text is all that is needed
        with swap.opened() as opened:
            head = opened.read_at(0, HEAD_BYTES)
            how = with_.reading(name, head)
            if how == "skip":
                told(opened.size)
                why = _why_left(wanted, opened, head)
                return Replaced(changed=False, lines=0, size=swap.size, unread=why), False
        changed = _staged(swap, with_, how, dry_run=dry_run, progress=told)
        if changed:
            check_may_change(swap, path, care)
        return Replaced(changed, with_.lines, swap.size), changed and not dry_run

    return changing(path, work)


class _Counting(Replacing):
    """Counts the lines that change."""

    def __init__(self, wanted: Replacements) -> None:
        super().__init__(wanted)
        self.lines = 0

    def file_line(self, at: File, number: int, raw: bytes) -> bytes:
        new = super().file_line(at, number, raw)
        self.lines += new is not raw
        return new

    def damaged_line(self, at: object, raw: bytes) -> bytes:
        new = super().damaged_line(at, raw)  # type: ignore[arg-type]
        self.lines += new is not raw
        return new


class _Nowhere:
    """Takes bytes and keeps none."""

    def write(self, data: bytes) -> int:
        return len(data)


def _staged(
    swap: Swap, with_: _Counting, how: How, *, dry_run: bool, progress: Callable[[int], None]
) -> bool:
    sink = _Nowhere() if dry_run else swap
    with swap.opened() as opened:
        if how == "lines":
            return FilePass(File(""), opened, with_).stage(lambda: sink, progress)
        data = opened.read_at(0, opened.size)
        progress(len(data))
        hits = with_.hits(data)
        new = data if hits is not None and not hits else with_.file("", data)
        if new == data:
            return False
        with_.lines = max(1, with_.lines)
        sink.write(new)
        return True


def _why_left(wanted: Replacements, opened: LogFile, head: bytes) -> str | None:
    """Say why bytes that are no text may hold what is to be replaced; None: they do not."""
    if is_packed(head):
        return "packed by zstd: unpack it to have it looked at"
    why = why_unread(head)
    if why is not None:
        return why
    for at in range(0, opened.size, _STEP_BYTES):
        data = opened.read_at(at, _STEP_BYTES + _OVERLAP_BYTES)
        text = data.decode("utf-8", "surrogateescape")
        if wanted.text(text) != text:
            return IN_BYTES
    return None


def _pass_by(_: int) -> None:
    """Take no notice."""
