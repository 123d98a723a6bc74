"""An iterator that works ahead on a thread of its own."""

from __future__ import annotations

from contextlib import contextmanager
from queue import Empty, Queue
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

_WAITING = 2
"""Items made ahead; more would cost memory and bring nothing."""


class _End:
    """The end of the items, and the error that it is, if it is one."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


@contextmanager
def ahead(items: Iterator[T]) -> Iterator[Iterator[T]]:
    """Yield an iterator of the same *items*, which are made on another thread.

    What that raises is raised where the items are taken. When the block ends
    the thread has ended.
    """
    queue: Queue[T | _End] = Queue(_WAITING)
    stop = Event()

    def make() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                queue.put(item)
                if stop.is_set():
                    return
        except BaseException as found:  # noqa: BLE001 - raised again by who takes the items
            error = found
        queue.put(_End(error))

    thread = Thread(target=make, daemon=True)
    thread.start()
    try:
        yield _taken(queue)
    finally:
        stop.set()
        while thread.is_alive():
            try:
                queue.get(timeout=0.01)
            except Empty:
                continue
        thread.join()


def _taken(queue: Queue[T | _End]) -> Iterator[T]:
    while True:
        item = queue.get()
        if isinstance(item, _End):
            if item.error is not None:
                raise item.error
            return
        yield item
