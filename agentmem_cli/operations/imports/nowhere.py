"""Where a dry run writes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentmem_cli.storage.store import Sink, Store


class Nowhere:
    """A batch that keeps nothing, for a dry run."""

    def __init__(self, store: Store) -> None:
        """Read what there is from *store*."""
        self._store = store

    def append_log(self, name: str, length: int, data: bytes) -> None:
        """Drop it."""

    def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Drop it."""

    def cut_log(self, name: str, length: int, keep: int) -> None:
        """Drop it."""

    def open_append(self, name: str, length: int) -> Sink:  # noqa: ARG002 - the protocol's names
        """Return a sink that drops everything."""
        return _Drain()

    def open_log_new(self, name: str, length: int) -> Sink:  # noqa: ARG002 - the protocol's names
        """Return a sink that drops everything."""
        return _Drain()

    def open_file(self, name: str) -> Sink:  # noqa: ARG002 - the protocol's names
        """Return a sink that drops everything."""
        return _Drain()

    def write_file(self, name: str, data: bytes) -> None:
        """Drop it."""

    def append_file(self, name: str, data: bytes) -> None:
        """Drop it."""

    def remove_file(self, name: str) -> None:
        """Drop it."""

    def read_file(self, name: str) -> bytes:
        """Return what the session holds."""
        return self._store.read_file(name)

    def files(self) -> list[str]:
        """Return what the session holds."""
        return self._store.files()


class _Drain:
    """A sink that drops everything."""

    def write(self, data: bytes) -> int:
        """Return the length of *data*."""
        return len(data)
