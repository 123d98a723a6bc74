"""Where everything lies in a session directory; pure."""

from __future__ import annotations

from typing import Final

LOGS: Final = "logs"
"""Folder of the logs."""

FILES: Final = "files"
"""Folder of everything else a session keeps."""

LOG_END: Final = ".jsonl"
"""How a log's file name ends; at the top of a directory it marks an older layout."""

BLOBS: Final = "blobs/"
"""Where attachments lie among the files."""

PLUGINS: Final = "plugins/"
"""Where plugins keep their files; a plugin's begin with its name."""

META: Final = "meta.json"
"""The file that a listing shows."""

RECOVERED: Final = "recovered/"
"""Where bytes that were set aside lie among the files."""

_STEM_BYTES: Final = 180

LOCK: Final = ".rig-memory.lock"
"""The lock that every change takes; it stays for as long as the session does."""

REDO: Final = ".agentmem.redo"
"""What is still to be done of a change of several files."""

PART: Final = ".rig-part"
"""How the name of a file being written ends."""

TRASH: Final = ".rig-trash"
"""How the name of a folder being destroyed ends."""

STAGED: Final = ".agentmem-"
"""How a part file of ours begins; only these are ever removed unasked."""

STAGES: Final = f".agentmem{PART}"
"""Folder, beside the sessions, of those that are being made."""

TOKEN_HEX: Final = 32
"""Hex digits between ``STAGED`` and ``PART``."""

_HEX = frozenset("0123456789abcdef")


def log_path(log: str) -> str:
    """Return the relative path of the log named *log*."""
    return f"{LOGS}/{log}{LOG_END}"


def file_path(name: str) -> str:
    """Return the relative path of the file named *name*."""
    return f"{FILES}/{name}"


def log_of(path: str) -> str | None:
    """Return the log that lies at the relative *path*, None for any other file."""
    folder, _, name = path.partition("/")
    return name[: -len(LOG_END)] if folder == LOGS and name.endswith(LOG_END) else None


def split(path: str) -> tuple[tuple[str, ...], str]:
    """Return the folders of a relative *path*, outermost first, and its last part."""
    *folders, name = path.split("/")
    return tuple(folders), name


def beside(path: str, name: str) -> str:
    """Return the relative path of *name* in the folder that holds *path*."""
    folder, slash, _ = path.rpartition("/")
    return f"{folder}{slash}{name}"


def staged_name(token: str) -> str:
    """Return a part file's name for *token*, ``TOKEN_HEX`` hex digits."""
    assert is_staged(f"{STAGED}{token}{PART}")
    return f"{STAGED}{token}{PART}"


def is_staged(name: str) -> bool:
    """Return whether *name* is that of a part file which a batch of ours staged."""
    if not (name.startswith(STAGED) and name.endswith(PART)):
        return False
    token = name[len(STAGED) : -len(PART)]
    return len(token) == TOKEN_HEX and _HEX.issuperset(token)


def is_part_of_ours(path: str) -> bool:
    """Return whether a relative *path* is that of such a part file."""
    return is_staged(split(path)[1])


def is_leftover(name: str) -> bool:
    """Return whether readers pass over an entry of this *name*."""
    return name.endswith((PART, TRASH))


def recovered_stem(name: str) -> str:
    """Return how the files begin that hold bytes of the log or file *name*, set aside."""
    # Why cut: the digest behind it would make the longest of names too long.
    return f"{RECOVERED}{name.encode()[:_STEM_BYTES].decode('utf-8', 'ignore')}-"


def recovered_name(name: str, digest: str) -> str:
    """Return the name of the file for bytes of *name* that have the SHA-256 *digest*."""
    return f"{recovered_stem(name)}{digest}.part"
