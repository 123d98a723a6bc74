"""Changes of core memory on a session that are refused. Nothing was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.errors import BlockNotFound, CoreMemoryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.core_memory import MemoryBlockType


class BlockProtected(CoreMemoryError):
    """Blocks are read-only."""

    exit_code = 4
    kind = "conflict"

    def __init__(self, block_types: Sequence[str]) -> None:
        """Name the *block_types*, in the order they are shown in."""
        names = [str(each) for each in block_types]
        told = ", ".join(map(repr, names))
        are = "is a read-only block" if len(names) == 1 else "are read-only blocks"
        hint = f"agentmem core unprotect SESSION {names[0]} lets it be changed."
        super().__init__(f"{told} {are}; nothing was changed", hint=hint)
        self.block_types = tuple(names)


class BoundTooLow(CoreMemoryError):
    """A bound is below what is used already."""

    exit_code = 6
    kind = "limit"
    hint = "Make the contents less first; agentmem core list SESSION shows them."

    def __init__(self, used_bytes: int, max_bytes: int) -> None:
        """Keep what the contents have, and what the bound was to be, in bytes."""
        over = used_bytes - max_bytes
        super().__init__(
            f"the contents have {used_bytes} bytes, which is {over} more than "
            f"a bound of {max_bytes} allows; nothing was changed"
        )
        self.used_bytes = used_bytes
        self.max_bytes = max_bytes


class NotABlock(CoreMemoryError):
    """A saved value of another program stands where a block would."""

    exit_code = 5
    kind = "damaged"

    def __init__(self, key: str, why: str, *, forcible: bool = True) -> None:
        """Name the saved value's *key*, and *why* it cannot be used.

        With *forcible* the verb would replace it if it were told to.
        """
        force = "; --force replaces it" if forcible else ""
        super().__init__(
            f"the saved value {key} is not as core memory is kept ({why}); it was left as it is",
            hint=f"agentmem log SESSION --agent LOG --key {key} shows it{force}.",
        )
        self.key = key
        self.why = why


class BlockNotThen(BlockNotFound):
    """There was no block of the type at a place in time."""

    def __init__(self, block_type: str, place: str) -> None:
        """Keep the *block_type* that was asked for, and the words of the *place*."""
        super().__init__(block_type)
        kind = str(block_type)
        self.args = (f"there was no block {kind!r} as of {place}",)
        self.hint = f"agentmem core history SESSION {kind} shows when there was one."
        self.place = place


class DescriptionTooLong(CoreMemoryError):
    """What a block is said to be for is too long."""

    exit_code = 6
    kind = "limit"

    def __init__(self, size_bytes: int, max_bytes: int) -> None:
        """Keep the description's *size_bytes* and what one may have."""
        super().__init__(f"the description is {size_bytes} bytes; {max_bytes} are allowed")
        self.size_bytes = size_bytes
        self.max_bytes = max_bytes


class BlockChanged(CoreMemoryError):
    """What was to be changed is not what the caller had seen."""

    exit_code = 4
    kind = "conflict"
    hint = "Read it again, and decide anew."

    def __init__(
        self, what: str, found: str, by: str | None = None, *, merges: bool = False
    ) -> None:
        """Keep *what* it is about, the hash *found* instead, and who made it that.

        With *merges* the verb could have been asked to merge both.
        """
        who = f", by {by}" if by is not None else ""
        super().__init__(f"{what} is not as it was seen: its hash is now {found}{who}")
        if merges:
            self.hint = "Read it again, or let edits of different lines be merged by --merge."
        self.what = what
        self.found = found
        self.by = by

    @property
    def brief(self) -> str:
        """The message on one line, whatever the name in it."""
        return " ".join(str(self).split())


class MergeConflict(CoreMemoryError):
    """Two changes touch the same lines; both sides are told."""

    exit_code = 4
    kind = "conflict"
    hint = "Decide which lines are to stay, and set the block again."

    def __init__(self, block_type: MemoryBlockType | str, text: str) -> None:
        """Keep the block's type and the merged *text*, both sides between marks."""
        super().__init__(f"both changed the same lines of {str(block_type)!r}:\n{text}")
        self.block_type = str(block_type)
        self.text = text

    @property
    def brief(self) -> str:
        """The message without what both sides say."""
        return str(self).partition(":\n")[0]
