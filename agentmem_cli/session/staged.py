"""What a rewrite has staged: a session as it will be, before it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem_cli.session.refiling import copied

if TYPE_CHECKING:
    from agentmem_cli.session.author import Author
    from agentmem_cli.session.rewriting import Rewrite
    from agentmem_cli.storage.store import Batch, LogFile, Store


class Staged:
    """A session as a rewrite will leave it. Nothing of it stands yet.

    Who gets one may look at all of it, write further files, or raise: then
    nothing changes.
    """

    def __init__(self, store: Store, batch: Batch, by: Author | None, now_ms: int) -> None:
        """Begin with nothing changed."""
        self.store = store
        """The session as it is."""
        self.batch = batch
        """What is staged."""
        self.by = by
        """Who rewrites."""
        self.now_ms = now_ms
        """When, in ms since 1970-01-01 UTC."""
        self.with_: Rewrite
        """What is asked, digests that are renamed included."""
        self.records: dict[str, set[int]] = {}
        """By log, the ``n`` of each record that changed."""
        self.changed: set[str] = set()
        """Files that changed, by the names they have now."""
        self.removed: set[str] = set()
        """Files that go."""
        self.digests: dict[str, str] = {}
        """The digests by which blobs and recovered files are named: the old to the new."""
        self.dropped: frozenset[str] = frozenset()
        """Blobs that are given up, by their names after ``blobs/``."""

    def logs(self) -> list[str]:
        """Return the names of all logs, sorted."""
        return self.store.logs()

    def files(self) -> list[str]:
        """Return the names of all files as they will be, sorted."""
        return self.batch.files()

    def open_log(self, log: str) -> LogFile:
        """Open a log as it will be."""
        return self.batch.open_staged_log(log)

    def open_file(self, name: str) -> LogFile:
        """Open a file as it will be; ``FileNotFoundError`` where it will not be."""
        return self.batch.open_staged_file(name)

    def read_file(self, name: str) -> bytes:
        """Return a file's bytes as they will be; ``FileNotFoundError`` as above."""
        return self.batch.read_file(name)

    def write_file(self, name: str, data: bytes) -> None:
        """Put *data* at *name*."""
        self.batch.write_file(name, data)
        self.changed.add(name)

    def move_file(self, name: str, target: str) -> None:
        """Have what stands at *name* stand at *target*."""
        with self.open_file(name) as opened:
            sink = self.batch.open_file(target)
            for data in copied(opened, 0, opened.size):
                sink.write(data)
        self.changed.add(target)
        self.remove_file(name)

    def remove_file(self, name: str) -> None:
        """Remove *name*."""
        self.batch.remove_file(name)
        self.removed.add(name)
        self.changed.discard(name)
