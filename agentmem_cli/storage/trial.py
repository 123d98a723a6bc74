"""A batch that is never made: what a dry run stages, outside of the session.

The session's folder is only read, and its lock is not taken. What is staged
stands in temporary files without a name, so memory does not grow with it.
"""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from agentmem_cli.storage.logfile import OpenLog

if TYPE_CHECKING:
    from types import TracebackType
    from typing import BinaryIO, Self

    from agentmem_cli.storage.directory import DirStore


class TrialBatch:
    """As much of a `DirBatch` as a repair needs. Use it in a ``with``."""

    def __init__(self, store: DirStore) -> None:
        """Stage changes of *store* that will not be made."""
        self._store = store
        self._logs: dict[str, BinaryIO] = {}
        self._files: dict[str, BinaryIO] = {}
        self._cuts: dict[str, int] = {}
        self._gone: set[str] = set()
        self._gone_logs: set[str] = set()
        self._new_logs: set[str] = set()
        self._cleared: set[str] = set()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Drop all of it."""
        self.close()

    def close(self) -> None:
        """Drop all of it."""
        for file in (*self._logs.values(), *self._files.values()):
            file.close()

    def open_log_new(self, name: str, length: int) -> BinaryIO:  # noqa: ARG002 - a batch's
        """Return what takes the whole new content of a log."""
        self._gone_logs.discard(name)
        self._new_logs.add(name)
        file = self._logs[name] = _temporary()
        return file

    def remove_log(self, name: str) -> None:
        """Remove the log *name*."""
        self._gone_logs.add(name)

    def logs(self) -> list[str]:
        """Return the names of all logs as the batch has left them, sorted."""
        return sorted({*self._store.logs(), *self._logs} - self._gone_logs)

    def holds_log(self, name: str) -> bool:
        """Whether a log is not as it stands in the session."""
        return name in self._logs or name in self._cuts or name in self._gone_logs

    def renews_log(self, name: str) -> bool:
        """Whether a log is put in the place of the one in the session, or goes."""
        return name in self._new_logs or name in self._gone_logs

    def clear_place(self, name: str) -> None:
        """Remove what stands at *name*, a file's place or a folder's, and is neither."""
        self._cleared.add(name)

    def holds_file(self, name: str) -> bool:
        """Whether a file is not as it stands in the session."""
        above = (name[:at] for at, character in enumerate(name) if character == "/")
        cleared = not self._cleared.isdisjoint((name, *above))
        return cleared or name in self._files or name in self._gone

    def cut_log(self, name: str, length: int, keep: int) -> None:  # noqa: ARG002 - a batch's
        """Keep the first *keep* bytes of a log."""
        self._cuts[name] = keep

    def append_log(self, name: str, length: int, data: bytes) -> None:
        """Add *data* to a log of *length* bytes."""
        if name not in self._logs:
            copy = _temporary()
            with self.open_staged_log(name) as opened:
                for at in range(0, opened.size, _CHUNK_BYTES):
                    copy.write(opened.read_at(at, _CHUNK_BYTES))
            self._logs[name] = copy
        assert self._logs[name].seek(0, os.SEEK_END) == length
        self._logs[name].write(data)

    def open_staged_log(self, name: str) -> OpenLog:
        """Open a log as the batch has left it; ``FileNotFoundError`` where there is none."""
        if name in self._gone_logs:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        if name in self._logs:
            return _reopened(self._logs[name])
        opened = self._store.open_log(name)
        opened.size = self._cuts.get(name, opened.size)
        return opened

    def open_file(self, name: str) -> BinaryIO:
        """Return what takes the whole new content of a file."""
        if not self.holds_file(name):
            with suppress(FileNotFoundError):
                self._store.file_stat(name)  # what is no file cannot be replaced
        self._gone.discard(name)
        file = self._files[name] = _temporary()
        return file

    def write_file(self, name: str, data: bytes) -> None:
        """Put *data* at *name*."""
        self.open_file(name).write(data)

    def remove_file(self, name: str) -> None:
        """Remove *name*."""
        self._gone.add(name)

    def open_staged_file(self, name: str) -> OpenLog:
        """Open a file as the batch has left it; ``FileNotFoundError`` where there is none."""
        if name in self._files and name not in self._gone:
            return _reopened(self._files[name])
        if self.holds_file(name):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return self._store.open_file(name)

    def read_file(self, name: str) -> bytes:
        """Return the content of *name* as the batch has left it."""
        with self.open_staged_file(name) as opened:
            return opened.read_at(0, opened.size)

    def files(self) -> list[str]:
        """Return the names of all files as the batch has left them, sorted."""
        return sorted({*self._store.files(), *self._files} - self._gone)


_CHUNK_BYTES = 1 << 20


def _temporary() -> BinaryIO:
    return tempfile.TemporaryFile()


def _reopened(file: BinaryIO) -> OpenLog:
    file.flush()
    return OpenLog(os.dup(file.fileno()))
