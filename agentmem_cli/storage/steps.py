"""The steps of a redo file, made of what is staged: sizes and digests of old and new bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.storage import redo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem_cli.storage.files import Folder
    from agentmem_cli.storage.target import Target

_THREADS: Final = 2
_THREAD_BYTES: Final = 4 << 20
"""Bytes to be hashed from which threads are worth it: hashing lets go of the interpreter."""


def steps_of(root: Folder, targets: Sequence[Target], key: bytes) -> tuple[redo.Step, ...]:
    """Return what is to be done with each of *targets*, whose bytes are staged.

    Why hashed only here: while the bytes come, whoever makes them needs the
    processor, and a change of one file needs no digests at all.

    Args:
        root: The session directory.
        targets: In the order in which they are made.
        key: Of all digests.

    Raises:
        OSError: A file cannot be read.
    """
    works: list[Callable[[], str]] = []
    size = 0
    for target in targets:
        works += [_old(root, target, key), _new(root, target, key)]
        size += target.spool.size + (target.old or 0 if target.kind != "append" else 0)
    digests = _all(works) if size >= _THREAD_BYTES else [work() for work in works]
    pairs = zip(digests[::2], digests[1::2], strict=True)
    steps = (_step(target, *pair) for target, pair in zip(targets, pairs, strict=True))
    return tuple(steps)


def _old(root: Folder, target: Target, key: bytes) -> Callable[[], str]:
    path, keep = target.path, target.keep
    if target.old is None:
        return str
    if target.kind == "append":
        return lambda: redo.tail_digest_of(root, path, keep, key)
    return lambda: redo.digest_of(root, path, key)


def _new(root: Folder, target: Target, key: bytes) -> Callable[[], str]:
    part = target.spool.part
    if not part:
        return lambda: redo.empty_digest(key)
    return lambda: redo.digest_of(root, part, key)


def _step(target: Target, old_digest: str, digest: str) -> redo.Step:
    keep = target.keep if target.kind == "append" else 0
    part, size = target.spool.part, target.spool.size
    assert target.kind == "replace" or bool(part) == (size > 0)
    return redo.Step(target.kind, target.path, target.old, keep, old_digest, part, size, digest)


def _all(works: Sequence[Callable[[], str]]) -> list[str]:
    """Return what *works* return; they are done on two threads."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(lambda work: work(), works))
