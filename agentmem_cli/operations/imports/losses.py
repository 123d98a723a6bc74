"""What a session has lost since it was imported, and whether an import restored all of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import DamageError
from agentmem_cli.operations.imports.adapter import MAIN
from agentmem_cli.operations.imports.maplines import is_print
from agentmem_cli.operations.listing import noted_sizes
from agentmem_cli.session.images import BLOB_FOLDER

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from pathlib import Path

    from agentmem_cli.operations.imports.maps import OldMap
    from agentmem_cli.operations.imports.standing import Standing
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.meta import SessionMeta

_SLACK_BYTES: Final = 8
"""By how much a record can be shorter than the lost one that it restores."""
_HINT: Final = (
    "Not all of it can be restored from the source, so nothing was changed; --again imports "
    "the source whole, as a session of its own."
)

UNMEASURED: Final = 1 << 60
"""Bytes that restore any number of lost ones."""


class GivenBack(NamedTuple):
    """What an import restored."""

    things: int
    """Messages, asides and saved values."""
    main_messages: int
    """Messages of the main agent."""
    bytes: Mapping[str, int]
    """Bytes of records, by log."""


def check_others(standing: Standing, maps: Iterable[OldMap]) -> None:
    """Look for the things of *maps* whose sources are not at hand.

    Raises:
        DamageError: A map is damaged.
    """
    for old in maps:
        key = bytes.fromhex(old.header.key)
        for known in old.known():
            standing.has(known, partial(is_print, key, known))


def check_lost(
    path: Path,
    standing: Standing,
    folds: Mapping[str, LogFold],
    meta: SessionMeta | None,
    back: GivenBack,
) -> None:
    """See that all that a session has lost since the last import was restored.

    Args:
        path: The source, for the error.
        standing: What was looked for.
        folds: The logs as they were.
        meta: The meta as it was; it knows how much stood there.
        back: What was restored.

    Raises:
        DamageError: Something was not, or was not at a log's end, so that it
            would come to stand in another order.
    """
    log = standing.broken()
    if standing.lost > back.things or log is not None:
        raise lacking(path, standing, log)
    if meta is None:
        return
    main = folds.get(MAIN)
    there = 0 if main is None else len(main.conversation)
    if standing.lost and (meta.messages or 0) > there + back.main_messages:
        raise lacking(path, standing, MAIN)
    slack = _SLACK_BYTES * (1 + back.things) if standing.lost else 0
    for name, size in (noted_sizes(meta) or {}).items():
        have = _size_of(folds.get(name)) + back.bytes.get(name, 0) + slack
        if isinstance(size, int) and size > have:
            raise lacking(path, standing, name)


def check_blobs(path: Path, lost: Iterable[str], there: Container[str]) -> None:
    """See that all blobs that a session has lost were restored.

    Args:
        path: The source, for the error.
        lost: Names of the blobs that were looked for in vain.
        there: Names of the files that are there now.

    Raises:
        DamageError: One was not: the file that it was made of is gone too.
    """
    gone = sum(BLOB_FOLDER + name not in there for name in lost)
    if gone:
        msg = f"{path}: its session lacks {_counted(gone, 'blob')} that it had of it"
        raise DamageError(msg, hint=_HINT)


def _size_of(fold: LogFold | None) -> int:
    if fold is None:
        return 0
    return fold.end + (0 if fold.torn is None else fold.torn.length)


def lacking(path: Path, standing: Standing, log: str | None) -> DamageError:
    """Return the error of a session that lacks what *standing* looked for in vain.

    Args:
        path: The source.
        standing: It may have found everything: then other bytes are missing.
        log: The log that it concerns; None: several may.
    """
    told = []
    if standing.lost_messages:
        told.append(_counted(standing.lost_messages, "message"))
    if others := standing.lost - standing.lost_messages:
        told.append(_counted(others, "side record or value", "side records or values"))
    where = "" if log is None else f" (log {log!r})"
    if told:
        msg = f"{path}: its session lacks {' and '.join(told)} that it had of it{where}"
    else:
        msg = f"{path}: its session lacks bytes that it had when it was last written{where}"
    return DamageError(msg, hint=_HINT)


def _counted(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
