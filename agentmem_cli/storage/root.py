"""Where sessions lie unless a caller says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def default_root() -> Path:
    """Return the folder ``sessions`` in the user's data folder for this program.

    It need not exist. Nothing is made.
    """
    from platformdirs import user_data_path

    return user_data_path("agentmem", appauthor=False) / "sessions"
