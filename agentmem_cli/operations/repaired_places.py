"""The places of a session before its logs are mended: odd things cleared, a change finished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem_cli.errors import ConflictError
from agentmem_cli.operations.repaired import Left, Mended
from agentmem_cli.operations.strays import BAD_NAME, LINK, NO_FILE
from agentmem_cli.operations.verify import PROBLEM, verify
from agentmem_cli.session.fold import BAD_STAMP
from agentmem_cli.storage import oddities
from agentmem_cli.storage.care import unfinished
from agentmem_cli.storage.layout import FILES, REDO
from agentmem_cli.storage.recovery import FOREIGN, WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.operations.findings import Finding
    from agentmem_cli.storage.directory import DirStore


def mend_places(store: DirStore, *, dry_run: bool) -> list[Mended]:
    """Clear a session's own places, and finish what a crash left undone, or give it up.

    Raises:
        ConflictError: A newer program left something undone.
        OSError: The system refused.
    """
    odd = oddities.oddities(store)
    if odd and not dry_run:
        odd = oddities.clear_oddities(store)
    done = [_told(each) for each in odd]
    if store.pending() and all(each.path != REDO for each in odd):
        done += _unfinished(store, dry_run=dry_run)
    return done


def _told(odd: oddities.Odd) -> Mended:
    kind = LINK if odd.what == oddities.LINK else NO_FILE
    if odd.target is None:
        return Mended(kind, odd.path, f"{odd.what} stood there and is removed; it held nothing")
    how = "a file says where it led" if odd.what == oddities.LINK else "it was renamed"
    file = odd.target.removeprefix(f"{FILES}/")
    return Mended(kind, odd.path, f"{odd.what} stood there; {how}", file)


def _unfinished(store: DirStore, *, dry_run: bool) -> list[Mended]:
    found, names = unfinished(store)
    if found == WHOLE:
        try:
            if not dry_run:
                store.recover()
        except ConflictError:
            found, names = FOREIGN, store.give_up()
        else:
            return [Mended("unfinished-change", "", "finished, or taken back")]
    elif not dry_run:
        names = store.give_up()
    why = "given up: what was to be done is not whole; nothing of it had been made"
    if found == FOREIGN:
        why = "given up, since another program wrote meanwhile; what was staged is set aside"
    files: list[str | None] = [*names] or [None]
    return [Mended("unfinished-change", "", why, name) for name in files]


def left_as(found: Finding) -> Left:
    """Return a problem of `verify` as what a repair leaves, with what to do about it."""
    return left_with(found.kind, found.where, found.why)


def left_with(kind: str, where: str, why: str) -> Left:
    """Return what a repair leaves, with what to do about it."""
    how = _BY_HAND.get(kind)
    return Left(kind, where, f"{why}; {how}" if how else why)


def left_alone(store: DirStore, progress: Callable[[int], None] | None = None) -> list[Left]:
    """Return all that `verify` names, of a session in which nothing can be mended."""
    return [left_as(each) for each in verify(store, progress).findings if each.level == PROBLEM]


def left_by_hand(
    store: DirStore, done: list[Mended], progress: Callable[[int], None] | None
) -> list[Left]:
    """Return what a repair will leave, whatever it does: what only a person can clear."""
    cleared = {each.where for each in done}
    return [
        left_as(each)
        for each in verify(store, progress).findings
        if each.level == PROBLEM and each.kind in _STAYING and each.where not in cleared
    ]


_BY_HAND: Final = {
    LINK: "put what it leads to in its place, or remove it, by hand",
    NO_FILE: "move it elsewhere by hand",
    BAD_NAME: "give it another name by hand",
    # Why none goes: nothing says from which one the conversation went on.
    BAD_STAMP: "the records stay as they are, and show, log and export give them all; "
    "repair --keep-first sets all but the first aside",
}
_STAYING: Final = frozenset(
    {LINK, NO_FILE, BAD_NAME, "unreadable", "stray-conversation", "bad-map"}
)
