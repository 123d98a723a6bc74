"""Which damaged places are causes, and which only follow from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.session.fold import BAD_STAMP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.session.lines import Damage


def causes(damages: Iterable[Damage]) -> list[Damage]:
    """Return *damages* without the gaps in the numbering that a damaged line before them left.

    Who looks at a session is told of a lost line once; `verify` names both.

    Args:
        damages: Of one log, in its order.
    """
    found: list[Damage] = []
    last_line = -1
    for damage in damages:
        if damage.kind != BAD_STAMP:
            last_line = damage.line
        elif damage.line - last_line <= 1:
            continue
        found.append(damage)
    return found
