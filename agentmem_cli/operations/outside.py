"""Files outside any session: which ones are meant, which are left alone, and changing one.

They are transcripts of other programs, or whatever a person names. A folder
stands for all files beneath it.
"""

# ruff: noqa: PTH100, PTH111, PTH112, PTH114, PTH116, PTH118, PTH119, PTH120, PTH207 - thousands of
# names are joined and asked for, and Path costs ten times as much

from __future__ import annotations

import glob
import os
import stat
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from agentmem_cli.errors import ConflictError, NotFoundError, UsageError
from agentmem_cli.storage.layout import FILES, LOCK, LOGS
from agentmem_cli.storage.seen import IDLE_MS
from agentmem_cli.storage.swapping import PART, Swap, is_left, take_away

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

TRIES: Final = 3
"""How often a file that changes meanwhile is begun again."""

_NEVER: Final = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"})
"""Folders that hold what others made and made anew."""

_SETTINGS: Final = frozenset(
    {".env", ".envrc", ".npmrc", ".yarnrc", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".pypirc"}
    | {
        ".git-credentials",
        ".htpasswd",
        ".dockercfg",
        ".s3cfg",
        ".boto",
        "credentials",
        "kubeconfig",
    }
    | {"credentials.json", ".credentials.json", "auth.json", "id_rsa", "id_ecdsa", "id_ed25519"}
)
_SETTINGS_END: Final = (".env", ".pem", ".key", ".p12", ".pfx", ".tfvars", ".jks", ".kdbx")
_SESSION_DEPTH: Final = 8
"""Folders above a file that are looked at for a session it belongs to."""


class Passed(NamedTuple):
    """What stands in a folder and is not looked at."""

    path: str
    why: str


class Gathered(NamedTuple):
    """The files that words stand for."""

    files: list[str]
    passed: list[Passed]
    removed: list[str]
    """Part files that a killed run had left, and that are gone now."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all files; what cannot be asked counts nothing."""
        return sum(map(_size, self.files))


LEFT: Final = "left by a run that was killed, and may hold what it was to mask"


def gather(words: Sequence[str], *, changes: bool = False) -> Gathered:
    """Return the files that *words* (files, folders, patterns of either) stand for, each once.

    Args:
        words: As they were given.
        changes: Whether files will be changed: then part files that a killed run left
            beside them are removed, else told.

    Raises:
        NotFoundError: A word fits nothing.
        UsageError: There is none, or one is empty or ``-``.
    """
    if not words:
        msg = "--files names no file"
        raise UsageError(msg, hint="Write files, folders or patterns behind it.")
    found = _Gathering()
    for word in words:
        if word in ("", "-"):
            msg = "standard input is no file" if word else "an empty word is no file"
            raise UsageError(msg, hint="Put it into a file first.")
        for path in _fitting(word):
            if stat.S_ISDIR(_mode(path)):
                found.walk(path)
            else:
                found.named(path)
    removed = found.left(changes=changes)
    told = [each for path, each in found.passed.items() if path not in found.files]
    return Gathered(list(found.files), told, removed)


class _Gathering:
    """What words stand for, on its way."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.passed: dict[str, Passed] = {}
        self._parts: dict[str, None] = {}

    def named(self, path: str) -> None:
        """Take what a word names, whatever it is."""
        is_part = PART.fullmatch(os.path.basename(path)) is not None
        (self._parts if is_part else self.files)[path] = None

    def walk(self, top: str) -> None:
        """Take all that lies beneath a folder."""

        def note(error: OSError) -> None:
            path = str(error.filename)
            self.passed[path] = Passed(path, error.strerror or "it cannot be read")

        for folder, folders, names in os.walk(top, onerror=note):
            folders[:] = sorted(name for name in folders if name not in _NEVER)
            for name in folders:
                path = os.path.join(folder, name)
                if os.path.islink(path):
                    self.passed[path] = Passed(path, "a symbolic link")
            for name in sorted(names):
                self._entry(os.path.join(folder, name))

    def _entry(self, path: str) -> None:
        mode = os.lstat(path).st_mode
        if stat.S_ISREG(mode):
            self.named(path)
        else:
            link = stat.S_ISLNK(mode)
            why = "a symbolic link" if link else "a pipe, a socket or a device"
            self.passed[path] = Passed(path, why)

    def left(self, *, changes: bool) -> list[str]:
        """Remove what killed runs left beside the files, and return it; tell what stays."""
        for folder in dict.fromkeys(map(os.path.dirname, self.files)):
            self._parts.update(dict.fromkeys(_parts_in(folder)))
        removed = [path for path in self._parts if changes and take_away(path)]
        for path in self._parts:
            if path not in removed and is_left(path):
                self.passed[path] = Passed(path, LEFT)
        return removed


def _parts_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder or os.curdir) as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if PART.fullmatch(name)]


def _fitting(word: str) -> list[str]:
    if os.path.lexists(word):
        return [word]
    found = sorted(glob.glob(os.path.expanduser(word), recursive=True, include_hidden=True))
    if not found:
        msg = f"{word}: no such file or folder"
        raise NotFoundError(msg)
    return found


def _mode(path: str) -> int:
    try:
        # Why through links here: a folder may be reached by one, a file may not.
        return os.stat(path).st_mode
    except OSError:
        return os.lstat(path).st_mode


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


class Care(NamedTuple):
    """What a file must be like to be changed."""

    now_ms: int
    if_idle_ms: int | None = IDLE_MS
    """For how long nobody must have written to it; None: they may have."""
    force: bool = False
    """Change settings of programs, and files that have other names, too."""


def check_may_change(swap: Swap, path: str, care: Care) -> None:
    """See that a file may be changed.

    Raises:
        ConflictError: It has just been written to, is a program's settings, or has other names.
        UsageError: It is a session's.
    """
    session = session_of(path)
    if session is not None:
        msg = f"{path}: it belongs to the session {session}"
        raise UsageError(msg, hint="Name the session, without --files.")
    idle_ms = care.now_ms - swap.seen.mtime_ns // 1_000_000
    if care.if_idle_ms is not None and idle_ms < care.if_idle_ms:
        told = f"{max(0, idle_ms) // 1000} s ago"
        msg = f"{path}: it was changed {told}; a program may be writing to it"
        raise ConflictError(msg, hint="End that program, or wait; --if-idle says how long.")
    if care.force:
        return
    if is_settings(path):
        msg = (
            f"{path}: programs read their keys from a file like this, and would no longer find them"
        )
        raise ConflictError(msg, hint="--force changes it all the same.")
    if swap.links > 1:
        msg = f"{path}: the file has {swap.links} names, and the others would keep what it holds"
        raise ConflictError(msg, hint="Remove them, or give --force to change this one.")


def is_settings(path: str) -> bool:
    """Whether a file is one that programs read their keys from, by its name."""
    name = os.path.basename(path).lower()
    return name in _SETTINGS or name.startswith(".env.") or name.endswith(_SETTINGS_END)


def session_of(path: str) -> str | None:
    """Return the folder of the session that a file belongs to; None: it belongs to none."""
    folder = os.path.dirname(os.path.abspath(path))
    for _ in range(_SESSION_DEPTH):
        if os.path.lexists(os.path.join(folder, LOCK)) or _has_both(folder):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return None


def _has_both(folder: str) -> bool:
    logs, files = (os.path.join(folder, name) for name in (LOGS, FILES))
    return os.path.isdir(logs) and os.path.isdir(files) and _holds_logs(logs)


def _holds_logs(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.name.endswith(".jsonl") for entry in entries)
    except OSError:
        return False


def changing(path: str, work: Callable[[Swap], tuple[T, bool]]) -> T:
    """Change a file by *work*, which is done again where the file changed meanwhile.

    Args:
        path: The file.
        work: Gets it, open; stages new bytes, and returns its result and whether the file is
            to have them.

    Raises:
        ConflictError: It changed again and again.
        OSError: The system refused; the file is as it was.
    """
    for _ in range(TRIES):
        with Swap(path) as swap:
            result, staged = work(swap)
            if not staged or swap.install():
                return result
    msg = f"{path}: another program keeps writing to it"
    raise ConflictError(msg, hint="Run the command again when that program has ended.")
