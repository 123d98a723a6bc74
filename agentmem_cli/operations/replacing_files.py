"""Replacements in files outside any session."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.operations.outside import Care, changing, check_may_change
from agentmem_cli.operations.replacing import Replacements, Replacing
from agentmem_cli.session.refiling import FilePass
from agentmem_cli.session.rewriting import HEAD_BYTES, File

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.storage.swapping import Swap


class Replaced(NamedTuple):
    """What was done to a file."""

    changed: bool
    lines: int
    """Lines that changed; a file that is no JSON lines counts as one."""
    size: int
    """Bytes that were read."""


def replace_in_file(
    path: str,
    wanted: Replacements,
    care: Care,
    *,
    dry_run: bool,
    progress: Callable[[int], None] | None = None,
) -> Replaced:
    """Replace what is *wanted* in one file, whole or not at all.

    Raises:
        ConflictError: It may not be changed now (`outside.check_may_change`).
        OSError: The system refused; the file is as it was.
    """

    def work(swap: Swap) -> tuple[Replaced, bool]:
        with_ = _Counting(wanted)
        changed = _staged(swap, with_, dry_run=dry_run, progress=progress or _pass_by)
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
    swap: Swap, with_: _Counting, *, dry_run: bool, progress: Callable[[int], None]
) -> bool:
    sink = _Nowhere() if dry_run else swap
    with swap.opened() as opened:
        how = with_.reading("", opened.read_at(0, HEAD_BYTES))
        if how == "skip":
            return False
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


def _pass_by(_: int) -> None:
    """Take no notice."""
