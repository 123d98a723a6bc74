"""What of a session's core memory may deceive, or is not as it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.session.core_text import lint_blocks
from agentmem_cli.session.core_values import CONFIG, key_of

if TYPE_CHECKING:
    from agentmem_cli.session.core_values import CoreValues


class Finding(NamedTuple):
    """One thing that was found."""

    key: str
    """The saved value's key."""
    kind: str
    """``tag``, ``invisible``, ``bidi``, ``control``, ``surrogate``, ``unusable`` or ``over``."""
    where: str | None
    """``content`` or ``label``; None: the value as a whole."""
    line: int | None
    """Counted from 1."""
    column: int | None
    """In characters, counted from 1."""
    shown: str
    """What stands there, made visible, or what is wrong."""


def findings(values: CoreValues) -> list[Finding]:
    """Return what may deceive a reader, values that are no blocks, and what is too much."""
    found = [
        Finding(key_of(each.block_type), each.kind, each.where, each.line, each.column, each.shown)
        for each in lint_blocks(values.shown())
    ]
    found += [Finding(key, "over", None, None, None, why) for key, why in values.large.items()]
    found += [Finding(key, "unusable", None, None, None, why) for key, why in values.bad.items()]
    if values.over_bytes:
        why = f"the contents are {values.over_bytes} bytes more than {values.max_bytes}"
        found.append(Finding(CONFIG, "over", None, None, None, why))
    return found
