"""What a command will wait for, begun before the command tree is imported.

The rules for secrets take 0.3 s of a processor to load, and none of Python's
time: they are loaded while this program imports what it is made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOK_FOR_SECRETS: Final = frozenset({"scan", "redact"})

_WITHOUT: Final = frozenset({"--help", "--no-rules"})
"""Words with which such a command needs no rules."""


def begin(words: Sequence[str]) -> None:
    """Begin what the command that *words* name will wait for.

    Where global options stand before its name, the command itself begins it.
    """
    if words[0] in LOOK_FOR_SECRETS and _WITHOUT.isdisjoint(words):
        from agentmem_cli.cli.settings import Settings
        from agentmem_cli.operations.secrets.loading import begin

        begin(Settings().cache_folder)
