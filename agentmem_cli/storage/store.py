"""What every store can do, and how changes that belong together are made.

The protocols are structural: a class of anyone's that has the methods is a
store. `MemoryStore` and `DirStore` are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Self


class LogFile(Protocol):
    """An open log as it was when it was opened; ``size`` is its bytes then."""

    size: int

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to *length* bytes from *offset* on; none past ``size``."""

    def lines(self, start: int = 0) -> Iterator[bytes]:
        r"""Yield the lines from byte *start* on, split on ``\n`` alone, with its end."""

    def close(self) -> None:
        """Let go of it; a second time does nothing."""

    def __enter__(self) -> Self:
        """Return itself."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""


class Files(Protocol):
    """Files by name. Every name is checked (``names.check_name``: ``ValueError``)."""

    def write_file(self, name: str, data: bytes) -> None:
        """Put *data* at *name*: a reader sees the old content or the new, whole."""

    def append_file(self, name: str, data: bytes) -> None:
        """Put *data* at the end of *name*, which is made where missing."""

    def read_file(self, name: str) -> bytes:
        """Return the content of *name*; ``FileNotFoundError`` where there is none."""

    def remove_file(self, name: str) -> None:
        """Remove *name*; one that is absent is fine."""

    def files(self) -> list[str]:
        """Return the names of all files, sorted."""


class Store(Files, Protocol):
    """A session's logs and files."""

    def logs(self) -> list[str]:
        """Return the names of all logs, sorted."""

    def read_log(self, name: str) -> bytes:
        """Return the whole log; ``FileNotFoundError`` where there is none."""

    def append_log(self, name: str, length: int, data: bytes) -> None:
        """Put *data* at the log's end if it is *length* bytes long (0: or absent).

        Raises:
            LogChanged: It is not; nothing was written.
            OSError: The system refused; the log is as it was.
        """

    def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Put *data* in the log's place if it is *length* bytes long (0: or absent).

        Raises:
            LogChanged: It is not; nothing was written.
            OSError: The system refused; the log is as it was.
        """

    def open_log(self, name: str) -> LogFile:
        """Open the log as it is now; ``FileNotFoundError`` where there is none."""

    def destroy(self) -> None:
        """Remove the session with all it holds."""


class AsyncStore(Protocol):
    """What loading and saving one log needs of a store that must not block."""

    async def read_log_async(self, name: str) -> bytes:
        """Do ``read_log``."""

    async def append_log_async(self, name: str, length: int, data: bytes) -> None:
        """Do ``append_log``."""

    async def replace_log_async(self, name: str, length: int, data: bytes) -> None:
        """Do ``replace_log``."""

    async def read_file_async(self, name: str) -> bytes:
        """Do ``read_file``."""

    async def write_file_async(self, name: str, data: bytes) -> None:
        """Do ``write_file``."""


class Sink(Protocol):
    """Takes bytes, in pieces; they become the target's when the batch ends."""

    def write(self, data: bytes) -> int:
        """Take *data* whole and return its length."""


class Batch(Files, Protocol):
    """Changes made together: all of them when the ``with`` block ends, or none.

    Lengths are those of the logs as this batch has left them. An exception
    that leaves the block drops everything.
    """

    def append_log(self, name: str, length: int, data: bytes) -> None:
        """Add to a log of *length* bytes; ``LogChanged`` where it has another."""

    def replace_log(self, name: str, length: int, data: bytes) -> None:
        """Replace a log of *length* bytes; ``LogChanged`` where it has another."""

    def cut_log(self, name: str, length: int, keep: int) -> None:
        """Keep the first *keep* bytes of a log of *length*; before anything is added to it."""

    def open_append(self, name: str, length: int) -> Sink:
        """Return what adds to a log of *length* bytes."""

    def open_log_new(self, name: str, length: int) -> Sink:
        """Return what takes the whole new content of a log that is *length* bytes long now."""

    def open_file(self, name: str) -> Sink:
        """Return what takes the whole new content of a file."""

    def open_staged_log(self, name: str) -> LogFile:
        """Open a log as the batch has left it; ``FileNotFoundError`` where there is none.

        It stands for the log at this moment: nothing may be added meanwhile.
        """

    def open_staged_file(self, name: str) -> LogFile:
        """Open a file as the batch has left it, as `open_staged_log` does."""


def batch_of(store: Store, wait_s: float | None = None) -> AbstractContextManager[Batch]:
    """Return the ``with`` block in which changes of *store* belong together.

    A store without a ``batch`` of its own gets one that checks every length
    first and then makes the changes one after the other: files, logs, meta,
    removals. For such a store a crash between two of them shows.

    Args:
        store: Any store.
        wait_s: Seconds to wait for the lock; None for what the store was opened with.
    """
    own = getattr(store, "batch", None)
    if callable(own):
        return cast("AbstractContextManager[Batch]", own(wait_s=wait_s))
    from agentmem_cli.storage.staging import staged

    return staged(store)


def open_log_of(store: Store, name: str) -> LogFile:
    """Return ``store.open_log(name)``, by way of ``read_log`` where it has no such method.

    Raises:
        FileNotFoundError: There is no such log.
    """
    if callable(getattr(store, "open_log", None)):
        return store.open_log(name)
    from agentmem_cli.storage.logfile import BytesLog

    return BytesLog(store.read_log(name))


def open_file_of(store: Store, name: str) -> LogFile:
    """Open a file to read it in pieces; of a store that cannot, its bytes.

    Raises:
        FileNotFoundError: There is no such file.
    """
    opener: Callable[[str], LogFile] | None = getattr(store, "open_file", None)
    if opener is not None:
        return opener(name)
    from agentmem_cli.storage.logfile import BytesLog

    return BytesLog(store.read_file(name))


def as_async(store: Store | AsyncStore) -> AsyncStore:
    """Return *store* itself if it is an async one, else one that uses it in threads."""
    if callable(getattr(store, "append_log_async", None)):
        return cast("AsyncStore", store)
    return _Threaded(cast("Store", store))


class _Threaded:
    """An async face on a plain store: each call runs in a thread of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read_log_async(self, name: str) -> bytes:
        from asyncio import to_thread

        return await to_thread(self._store.read_log, name)

    async def append_log_async(self, name: str, length: int, data: bytes) -> None:
        from asyncio import to_thread

        await to_thread(self._store.append_log, name, length, data)

    async def replace_log_async(self, name: str, length: int, data: bytes) -> None:
        from asyncio import to_thread

        await to_thread(self._store.replace_log, name, length, data)

    async def read_file_async(self, name: str) -> bytes:
        from asyncio import to_thread

        return await to_thread(self._store.read_file, name)

    async def write_file_async(self, name: str, data: bytes) -> None:
        from asyncio import to_thread

        await to_thread(self._store.write_file, name, data)
