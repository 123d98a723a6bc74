"""A batch that writes nothing, for dry runs, and a sink that writes only what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.storage.logfile import BytesLog
from agentmem_cli.storage.store import open_log_of

if TYPE_CHECKING:
    from agentmem_cli.storage.store import Batch, LogFile, Sink, Store


class Nowhere:
    """A batch that keeps nothing, for a dry run."""

    def __init__(self, store: Store) -> None:
        """Read from *store*."""
        self._store = store

    def append_log(self, name: str, length: int, data: bytes) -> None:
        """Drop it."""

    def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Drop it."""

    def cut_log(self, name: str, length: int, keep: int) -> None:
        """Drop it."""

    def open_append(self, name: str, length: int) -> Sink:  # noqa: ARG002 - the protocol's names
        """Return a sink that drops everything."""
        return Drain()

    def open_log_new(self, name: str, length: int) -> Sink:  # noqa: ARG002 - the protocol's names
        """Return a sink that drops everything."""
        return Drain()

    def open_file(self, name: str) -> Sink:  # noqa: ARG002 - the protocol's names
        """Return a sink that drops everything."""
        return Drain()

    def write_file(self, name: str, data: bytes) -> None:
        """Drop it."""

    def append_file(self, name: str, data: bytes) -> None:
        """Drop it."""

    def remove_file(self, name: str) -> None:
        """Drop it."""

    def read_file(self, name: str) -> bytes:
        """Return what the session holds."""
        return self._store.read_file(name)

    def open_staged_log(self, name: str) -> LogFile:
        """Open what the session holds."""
        return open_log_of(self._store, name)

    def open_staged_file(self, name: str) -> LogFile:
        """Open what the session holds."""
        return BytesLog(self._store.read_file(name))

    def files(self) -> list[str]:
        """Return what the session holds."""
        return self._store.files()


class Drain:
    """A sink that drops everything."""

    def write(self, data: bytes) -> int:
        """Return the length of *data*."""
        return len(data)


class Behind:
    """A sink that drops the bytes a file holds already and adds the rest to it."""

    def __init__(self, batch: Batch, name: str, held: int) -> None:
        """Add to the file *name*, which holds *held* bytes, through *batch*."""
        self._batch = batch
        self._name = name
        self._held = held

    def write(self, data: bytes) -> int:
        """Take *data* whole and return its length."""
        new = data[self._held :]
        self._held = max(0, self._held - len(data))
        if new:
            self._batch.append_file(self._name, new)
        return len(data)
