"""A session, or one agent of it, as it stands or stood."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.operations.places import check_unambiguous
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.reader import fold_log

if TYPE_CHECKING:
    from agentmem_cli.operations.places import Place
    from agentmem_cli.session.codec import JSON
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.storage.store import Store

CORE_MEMORY = "core_memory."
"""How the keys of saved values that are core-memory blocks begin."""


class View(NamedTuple):
    """A session at a place in time."""

    place: Place
    chosen: LogFold
    """The chosen agent's log, folded up to the place."""
    others: tuple[LogFold, ...]
    """The other agents that were there, in the order their logs were started."""
    saved: dict[str, JSON]
    """The session's own saved values."""

    @property
    def core_memory(self) -> dict[str, JSON]:
        """The saved values of the chosen agent that are core-memory blocks."""
        saved = {**self.saved, **self.chosen.saved}
        return {key: value for key, value in saved.items() if key.startswith(CORE_MEMORY)}


def view_agent(store: Store, log: str, place: Place) -> LogFold:
    """Fold one agent's log leniently up to a place.

    Damage is named in the fold, never raised. After the place the log is
    read on, for stamps that repeat.

    Raises:
        AmbiguousError: The place's ``n`` stands twice in the log.
        SessionError: The operating system refused.
    """
    fold = fold_log(store, log, strict=False, cut=place.cut)
    check_unambiguous(fold, place.cut)
    return fold


def view_session(store: Store, log: str, place: Place) -> View:
    """Fold every log leniently up to a place; *log* is the chosen agent's.

    Raises:
        AmbiguousError: The place's ``n`` stands twice in a log.
        SessionError: The operating system refused.
    """
    chosen = view_agent(store, log, place)
    others: list[LogFold] = []
    # Why: of a session without an agent, the one that is looked at is its own log.
    saved: dict[str, JSON] = chosen.saved if log == SESSION else {}
    for other in store.logs():
        if other == log:
            continue
        fold = view_agent(store, other, place)
        if other == SESSION:
            saved = fold.saved
        elif fold.records:
            others.append(fold)
    others.sort(key=lambda fold: (fold.header_n, fold.log))
    return View(place, chosen, tuple(others), saved)
