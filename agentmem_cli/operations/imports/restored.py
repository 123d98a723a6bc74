"""A session out of a tar that `export --as tar` made."""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from os.path import lexists
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AgentMemError, ConflictError, LimitError, Stale
from agentmem_cli.operations.imports.naming import safe_name
from agentmem_cli.operations.imports.report import Report
from agentmem_cli.operations.imports.targets import free_name
from agentmem_cli.operations.imports.tarred import members
from agentmem_cli.session.codec import loads_fast, loads_object
from agentmem_cli.session.keys import SESSION
from agentmem_cli.storage.directory import DirStore
from agentmem_cli.storage.layout import BLOBS, FILES, file_path, log_of, log_path
from agentmem_cli.storage.names import is_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentmem_cli.operations.imports.importing import Options
    from agentmem_cli.operations.imports.tarred import Member
    from agentmem_cli.session.codec import Object
    from agentmem_cli.storage.store import Sink

KIND: Final = "tar"
"""What a tar of a session is called among the kinds of sources."""


class _Held(NamedTuple):
    """What a file of the tar is."""

    size: int
    sha256: bytes


def import_tar(path: Path, root: Path, options: Options) -> Report:
    """Make the session under *root* that the tar at *path* holds.

    The tar is read twice: all of it is checked before the first byte is
    written. The session appears whole, or not at all.

    Args:
        path: The tar, packed or not.
        root: The folder of the sessions.
        options: As of other imports. With ``again`` it gets another name
            where there is one of its own.

    Raises:
        DamageError: The tar is damaged, or a member is none of a session's.
        LimitError: It is too large.
        ConflictError: Another session of its name is there.
        OSError: It cannot be read, or the session not be written.
    """
    counted = _Counted()
    held: dict[str, _Held] = {}
    top = ""
    advance = _progress(path, options)
    for member in members(path):
        top = member.top
        digest = hashlib.sha256()
        counter = counted.of(member)
        for piece in member.data:
            digest.update(piece)
            counter(piece)
            advance(len(piece))
        counter(b"\n")
        held[member.path] = _Held(member.size, digest.digest())
    name = top if is_name(top) and not top.startswith((".", "@")) else safe_name(top)
    if options.again:
        name = free_name(root, name)
    target = root / name
    there = lexists(target)
    if there and not _is_same(target, held):
        msg = f"{path}: a session {name!r} is there already, and it is not the same"
        hint = "--again makes it a session of another name; agentmem rename frees this one."
        raise ConflictError(msg, hint=hint)
    if not there and not options.dry_run:
        _check_room(root, held, path)
        _write(path, target, held, options)
    blobs = sum(each.startswith(f"{FILES}/{BLOBS}") for each in held)
    return Report(
        path,
        KIND,
        name,
        target,
        lines=counted.lines,
        messages=counted.messages,
        asides=0,
        values=0,
        agents=sum(log_of(each) not in (None, SESSION) for each in held),
        new=0 if there else counted.messages,
        edited=0,
        known=counted.messages if there else 0,
        blobs=0 if there else blobs,
        bytes=sum(each.size for each in held.values()),
        created=not there,
        dry_run=options.dry_run,
        files=(path,),
    )


def _progress(path: Path, options: Options) -> Callable[[int], None]:
    whole = path.stat().st_size
    done = 0

    def advance(size: int) -> None:
        nonlocal done
        done += size
        if options.progress is not None:
            options.progress(min(done, whole), whole)

    return advance


class _Counted:
    """What the logs of a tar hold, counted as they go by."""

    def __init__(self) -> None:
        self.lines = 0
        self.messages = 0
        self._before = 0
        self._rest: list[bytes] = []

    def of(self, member: Member) -> Callable[[bytes], None]:
        """Return what takes the bytes of a member, and a line's end behind them."""
        self._rest = []
        self._before = self.messages
        return self._take if log_of(member.path) not in (None, SESSION) else _pass

    def _take(self, piece: bytes) -> None:
        *lines, rest = piece.split(b"\n")
        for line in lines:
            whole = b"".join([*self._rest, line])
            self._rest = []
            if whole.strip():
                self._line(whole)
        if rest:
            self._rest.append(rest)

    def _line(self, line: bytes) -> None:
        self.lines += 1
        try:
            fields = loads_fast(line)
        except ValueError:
            # Why again: half of a surrogate pair, or a great number, is no damage.
            with suppress(ValueError):
                self._record(loads_object(line))
            return
        if isinstance(fields, dict):
            self._record(fields)

    def _record(self, fields: Object) -> None:
        kind, state = fields.get("type"), fields.get("state")
        if kind == "push":
            self.messages += _length(fields.get("entries"))
        elif kind == "splice":
            self.messages += _length(fields.get("with")) - _length(fields.get("removed"))
        elif kind == "reset" and isinstance(state, dict):
            self.messages = self._before + _length(state.get("entries"))


def _pass(_: bytes) -> None:
    """Count nothing."""


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def _is_same(target: Path, held: dict[str, _Held]) -> bool:
    """Whether the session at *target* holds just these bytes."""
    try:
        store = DirStore.open(target)
        names = {log_path(log) for log in store.logs()}
        names |= {file_path(name) for name in store.files()}
        return names == held.keys() and all(
            _digest(store, name) == each for name, each in held.items()
        )
    except (OSError, AgentMemError):
        return False


def _digest(store: DirStore, path: str) -> _Held:
    log = log_of(path)
    opened = store.open_file(path.removeprefix(f"{FILES}/")) if log is None else store.open_log(log)
    digest = hashlib.sha256()
    with opened:
        for offset in range(0, opened.size, 1 << 20):
            digest.update(opened.read_at(offset, 1 << 20))
        return _Held(opened.size, digest.digest())


def _check_room(root: Path, held: dict[str, _Held], path: Path) -> None:
    needed = sum(each.size for each in held.values())
    above = next((each for each in (root, *root.absolute().parents) if each.is_dir()), root)
    free = shutil.disk_usage(above).free
    if needed > free:
        msg = f"{path}: {needed:,} bytes, and the disk has room for {free:,}"
        raise LimitError(msg, hint="Nothing was written.")


def _write(path: Path, target: Path, held: dict[str, _Held], options: Options) -> None:
    """Write what was checked; the tar must still be what it was."""
    store = DirStore.open(target)
    with store.beginning(wait_s=options.lock_wait_s) as batch:
        left = dict(held)
        for member in members(path):
            log = log_of(member.path)
            name = member.path.removeprefix(f"{FILES}/")
            sink: Sink = batch.open_file(name) if log is None else batch.open_log_new(log, 0)
            digest = hashlib.sha256()
            for piece in member.data:
                digest.update(piece)
                sink.write(piece)
            if left.pop(member.path, None) != _Held(member.size, digest.digest()):
                raise Stale(str(path))
        if left:
            raise Stale(str(path))
        if options.sealing is not None:
            options.sealing()
