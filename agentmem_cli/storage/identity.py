"""Which folder a folder is, whatever it is called by now."""

from __future__ import annotations

import os

Identity = tuple[int, int]
"""The device and the number of a folder."""


def identity_of(folder: str | int) -> Identity | None:
    """Return which folder stands at a path, or is open; None: none."""
    try:
        found = os.stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino
