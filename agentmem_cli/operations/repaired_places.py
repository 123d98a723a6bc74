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
from agentmem_cli.storage.trial_store import finish

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.operations.findings import Finding
    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.trial import TrialBatch


def mend_places(store: DirStore) -> list[Mended]:
    """Clear a session's own places, and finish what a crash left undone, or give it up.

    Raises:
        ConflictError: A newer program left something undone.
        OSError: The system refused.
    """
    done = [_told(each) for each in oddities.clear_oddities(store)]
    if not store.pending():
        return done
    found, names = unfinished(store)
    if found == WHOLE:
        try:
            store.recover()
        except ConflictError:
            found = FOREIGN
        else:
            return [*done, _FINISHED]
    names = store.give_up()
    return [*done, *_given_up(found, names)]


def places_mended(store: DirStore, batch: TrialBatch) -> list[Mended]:
    """Return what `mend_places` would do; what it changes in logs and files is staged in *batch*.

    Raises:
        ConflictError: A newer program left something undone.
        OSError: The system refused.
    """
    odd = oddities.oddities(store)
    done = [_told(each) for each in odd]
    for each in odd:
        folder, _, name = each.path.partition("/")
        if folder == FILES:
            batch.clear_place(name)
    if not store.pending() or any(each.path == REDO for each in odd):
        return done
    found, names = unfinished(store)
    if found != WHOLE:
        return [*done, *_given_up(found, names)]
    finish(store, batch)
    return [*done, _FINISHED]


def _told(odd: oddities.Odd) -> Mended:
    kind = LINK if odd.what == oddities.LINK else NO_FILE
    if odd.target is None:
        return Mended(kind, odd.path, f"{odd.what} stood there and is removed; it held nothing")
    how = "a file says where it led" if odd.what == oddities.LINK else "it was renamed"
    file = odd.target.removeprefix(f"{FILES}/")
    return Mended(kind, odd.path, f"{odd.what} stood there; {how}", file)


def _given_up(found: str, names: list[str]) -> list[Mended]:
    why = "given up: what was to be done is not whole; nothing of it had been made"
    if found == FOREIGN:
        why = "given up, since another program wrote meanwhile; what was staged is set aside"
    files: list[str | None] = [*names] or [None]
    return [Mended(UNFINISHED, "", why, name) for name in files]


def left_as(found: Finding) -> Left:
    """Return a problem of `verify` as what a repair leaves, with what to do about it."""
    how = _BY_HAND.get(found.kind)
    return Left(found.kind, found.where, f"{found.why}; {how}" if how else found.why)


def left_alone(store: DirStore, progress: Callable[[int], None] | None = None) -> list[Left]:
    """Return all that `verify` names, with what to do about it."""
    return [left_as(each) for each in verify(store, progress).findings if each.level == PROBLEM]


_BY_HAND: Final = {
    LINK: "put what it leads to in its place, or remove it, by hand",
    NO_FILE: "move it elsewhere by hand",
    BAD_NAME: "give it another name by hand",
    # Why none goes: nothing says from which one the conversation went on.
    BAD_STAMP: "the records stay as they are, and show, log and export give them all; "
    "repair --keep-first sets all but the first aside",
}
UNFINISHED: Final = "unfinished-change"
_FINISHED: Final = Mended(UNFINISHED, "", "finished, or taken back")
