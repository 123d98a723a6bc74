"""What TAB offers: the names of sessions. It never fails, locks or writes."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import typer

OFFERED_MAX: Final = 200
"""Names offered at once; more would not be read, and a shell asks before it shows more."""


def sessions(context: typer.Context, incomplete: str) -> list[str]:
    """Offer the sessions under the root whose names begin with *incomplete*."""
    import os
    from pathlib import Path

    from agentmem_cli.cli.settings import Settings

    names: list[str] = []
    # Why so wide: an error would be printed into the line that is being typed.
    with suppress(Exception):
        named = context.find_root().params.get("root")
        root = Settings(root=Path(named) if named else None).root
        with os.scandir(root) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if entry.name.startswith(incomplete)
                and not entry.name.startswith(".")
                and not entry.name.endswith(".rig-trash")
                and entry.name.isprintable()
                and entry.is_dir()
            )
    if "@last".startswith(incomplete):
        names.insert(0, "@last")
    return names[:OFFERED_MAX]
