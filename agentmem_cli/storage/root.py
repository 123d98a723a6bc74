"""Where sessions, caches and settings lie unless a caller says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from pathlib import Path


def default_root() -> Path:
    """Return the folder ``sessions`` in the user's data folder for this program.

    It need not exist. Nothing is made.
    """
    from platformdirs import user_data_path

    return user_data_path("agentmem", appauthor=False) / "sessions"


def cache_root() -> Path:
    """Return the user's cache folder for this program; what is in it can be made anew.

    It need not exist. Nothing is made.
    """
    from platformdirs import user_cache_path

    return user_cache_path("agentmem", appauthor=False)


def config_root() -> Path:
    """Return the user's folder for settings of this program, and for the key of masks.

    It need not exist. Nothing is made.
    """
    from platformdirs import user_config_path

    return user_config_path("agentmem", appauthor=False)


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether what stands under a root is a folder, or a link that leads to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads to itself, or to where nobody may look
