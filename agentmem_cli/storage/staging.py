"""A batch held in memory, for stores whose changes are made one by one at its end."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentmem_cli.errors import LogChanged
from agentmem_cli.storage.layout import META
from agentmem_cli.storage.logfile import BytesLog
from agentmem_cli.storage.names import check_log_name, check_name
from agentmem_cli.storage.store import open_log_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentmem_cli.storage.store import LogFile, Store


class _Log:
    """What is to become of one log: ``keep`` bytes of the old, then ``added``."""

    __slots__ = ("added", "keep", "length")

    def __init__(self, length: int) -> None:
        """Keep all *length* bytes of it, to begin with."""
        self.length = length
        self.keep = length
        self.added = bytearray()

    @property
    def size(self) -> int:
        """Its bytes as the batch has left it."""
        return self.keep + len(self.added)


class _Collector:
    """A sink into bytes."""

    __slots__ = ("_into",)

    def __init__(self, into: bytearray) -> None:
        self._into = into

    def write(self, data: bytes) -> int:
        """Take *data* whole and return its length."""
        self._into += data
        return len(data)


class StagedBatch:
    """A `Batch` that keeps everything in memory until `apply`."""

    def __init__(self, store: Store) -> None:
        """Stage changes of *store*."""
        self._store = store
        self._logs: dict[str, _Log] = {}
        self._files: dict[str, bytearray | None] = {}

    def append_log(self, name: str, length: int, data: bytes) -> None:
        """Add to a log of *length* bytes."""
        self._log(name, length).added += data

    def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Replace a log of *length* bytes."""
        self.open_log_new(name, length).write(data)

    def cut_log(self, name: str, length: int, keep: int) -> None:
        """Keep the first *keep* bytes of a log of *length*."""
        log = self._log(name, length)
        assert not log.added
        assert 0 <= keep <= length
        log.keep = keep

    def open_append(self, name: str, length: int) -> _Collector:
        """Return what adds to a log of *length* bytes."""
        return _Collector(self._log(name, length).added)

    def open_log_new(self, name: str, length: int) -> _Collector:
        """Return what takes a log's whole new content."""
        log = self._log(name, length)
        log.keep = 0
        log.added = bytearray()
        return _Collector(log.added)

    def open_file(self, name: str) -> _Collector:
        """Return what takes a file's whole new content."""
        check_name(name)
        into = self._files[name] = bytearray()
        return _Collector(into)

    def open_staged_log(self, name: str) -> LogFile:
        """Open a log as the batch has left it."""
        log = self._logs.get(name)
        if log is None:
            return open_log_of(self._store, name)
        if log.size == 0 and log.length == 0:
            raise FileNotFoundError(name)
        kept = self._store.read_log(name)[: log.keep] if log.keep else b""
        return BytesLog(kept + bytes(log.added))

    def open_staged_file(self, name: str) -> LogFile:
        """Open a file as the batch has left it."""
        return BytesLog(self.read_file(name))

    def write_file(self, name: str, data: bytes) -> None:
        """Put *data* at *name*."""
        self.open_file(name).write(data)

    def append_file(self, name: str, data: bytes) -> None:
        """Put *data* at the end of *name*."""
        try:
            old = self.read_file(name)
        except FileNotFoundError:
            old = b""
        self._files[name] = bytearray(old + data)

    def read_file(self, name: str) -> bytes:
        """Return the content of *name* as the batch has left it."""
        check_name(name)
        if name not in self._files:
            return self._store.read_file(name)
        content = self._files[name]
        if content is None:
            raise FileNotFoundError(name)
        return bytes(content)

    def remove_file(self, name: str) -> None:
        """Remove *name*; one that is absent is fine."""
        check_name(name)
        self._files[name] = None

    def files(self) -> list[str]:
        """Return the names of all files as the batch has left them, sorted."""
        names = set(self._store.files()).union(self._files)
        return sorted(name for name in names if self._files.get(name, b"") is not None)

    def _log(self, name: str, length: int) -> _Log:
        check_log_name(name)
        log = self._logs.get(name)
        if log is None:
            log = _Log(_length(self._store, name))
        if log.size != length:
            raise LogChanged(name, length, log.size)
        self._logs[name] = log
        return log

    def apply(self) -> None:
        """Make the changes: files, logs, meta, removals, once all lengths are right.

        Raises:
            LogChanged: A log has another length than when it was staged; nothing is done.
        """
        for name, log in self._logs.items():
            found = _length(self._store, name)
            if found != log.length:
                raise LogChanged(name, log.length, found)
        contents = {name: bytes(data) for name, data in self._files.items() if data is not None}
        meta = contents.pop(META, None)
        for name, content in contents.items():
            self._store.write_file(name, content)
        for name, log in self._logs.items():
            self._apply_log(name, log)
        if meta is not None:
            self._store.write_file(META, meta)
        self._remove()

    def _remove(self) -> None:
        for name, content in self._files.items():
            if content is None:
                self._store.remove_file(name)

    def _apply_log(self, name: str, log: _Log) -> None:
        if log.keep == log.length:
            if log.added:
                self._store.append_log(name, log.length, bytes(log.added))
            return
        kept = self._store.read_log(name)[: log.keep] if log.keep else b""
        self._store.replace_log(name, log.length, kept + bytes(log.added))


@contextmanager
def staged(store: Store) -> Iterator[StagedBatch]:
    """Stage changes of *store* and make them, one by one, when the block ends well."""
    batch = StagedBatch(store)
    yield batch
    batch.apply()


def _length(store: Store, name: str) -> int:
    try:
        with open_log_of(store, name) as log:
            return log.size
    except FileNotFoundError:
        return 0
