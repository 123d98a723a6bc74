"""What tells who somebody is: groups that are looked for only when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentmem_cli.operations.secrets.spans import Span

GROUPS: Final = frozenset({"email", "home", "card", "iban", "ipv4"})


def finders(groups: frozenset[str]) -> list[Callable[[bytes], Iterable[Span]]]:
    """Return what looks for *groups*.

    Raises:
        ValueError: A name is no group.
    """
    unknown = groups - GROUPS
    if unknown:
        raise ValueError(f"no such group: {', '.join(sorted(unknown))}")
    return []
