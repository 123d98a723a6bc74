"""Undoing the newest change of a session, and taking an undo back.

A change is one of the chosen agent's conversation, or one of the core memory
in its log or in the session's own. The newest one that stands goes first,
whichever log it is in.

Source: DESIGN.md, "Undo".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.changing import Written, change, compared, refuse_retired
from agentmem_cli.operations.core import back, history
from agentmem_cli.operations.core.refusals import NotABlock
from agentmem_cli.session.aside import Aside
from agentmem_cli.session.author import Author
from agentmem_cli.session.core_values import PREFIX, CoreValues
from agentmem_cli.session.journal import OURS, UNDO, Unit, fold_journal, unit_of
from agentmem_cli.session.keys import SESSION
from agentmem_cli.session.refusals import Nothing
from agentmem_cli.session.takeback import resolve, take_back
from agentmem_cli.session.values import ValuesFold

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem_cli.errors import AgentMemError
    from agentmem_cli.operations.core.history import Edit
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.journal import JournalFold
    from agentmem_cli.session.record import LogRecord
    from agentmem_cli.storage.directory import DirStore

CORE: Final = "core memory"
"""The kind of a change of core memory."""


class Taken(NamedTuple):
    """A change that was taken back, or brought back."""

    log: str
    n: int
    """The ``n`` of its first record."""
    kind: str
    """``append``, ``compaction``, ``clearing``, ``restore``, ``splice`` or `CORE`."""
    gone: tuple[int, ...] = ()
    """The ids of messages that go by this."""
    back: tuple[int, ...] = ()
    """The ids of messages that come back."""
    changed: tuple[int, ...] = ()
    """The ids of messages whose content becomes another."""
    keys: tuple[str, ...] = ()
    """The saved values that become what they were."""


class Undoing(NamedTuple):
    """What an undo, or a redo, came to."""

    taken: tuple[Taken, ...]
    """What was taken back, in that order."""
    messages: int
    """How many messages the conversation has then."""
    written: Written = Written()
    passed: tuple[tuple[str, Edit], ...] = ()
    """Newer changes of core memory that were left, each with its log: they are of what is
    read-only."""


def undo(
    store: DirStore,
    log: str,
    *,
    steps: int = 1,
    compaction: bool = False,
    at_ms: int,
    dry_run: bool = False,
) -> Undoing:
    """Take the newest changes back that are not taken back yet, all of them or none.

    Args:
        store: The session.
        log: The agent's log.
        steps: How many changes.
        compaction: Only compactions; what came after them stays.
        at_ms: When, ms since 1970-01-01 UTC.
        dry_run: Change nothing.

    Raises:
        Nothing: There are not so many. Nothing was changed.
        Moved: One cannot be taken back. Nothing was changed.
        SessionError: A log does not read.
        ConflictError: The agent is retired, or a log was changed.
    """
    if dry_run or steps > 1:
        # Why also before several: where there are not so many, none is taken back.
        state = _State(store, log, at_ms)
        state.undo(steps, compaction=compaction, whole=True)
        if dry_run:
            messages = len(state.journal)
            state.records()  # Why: what would be refused is refused here, too.
            return Undoing(tuple(state.taken), messages, passed=tuple(state.passed()))

    def work(state: _State, left: int) -> None:
        state.undo(left, compaction=compaction)

    return _run(store, log, work, steps, at_ms)


def redo(
    store: DirStore, log: str, *, steps: int = 1, at_ms: int, dry_run: bool = False
) -> Undoing:
    """Take the newest undos back, if nothing was changed since; see `undo`."""
    if dry_run or steps > 1:
        state = _State(store, log, at_ms)
        state.redo(steps, whole=True)
        if dry_run:
            messages = len(state.journal)
            state.records()
            return Undoing(tuple(state.taken), messages)
    return _run(store, log, lambda state, left: state.redo(left), steps, at_ms)


def _run(
    store: DirStore, log: str, work: Callable[[_State, int], None], steps: int, at_ms: int
) -> Undoing:
    """Take *steps* back, mostly as one append.

    Each of core memory begins another, so that the order of the records is
    that of the steps, and each can be brought back by itself.
    """
    taken: list[Taken] = []
    written: Written | None = None
    passed: list[tuple[str, Edit]] = []
    messages = 0
    while len(taken) < steps:
        states: list[_State] = []
        left = steps - len(taken)
        at = at_ms + len(taken)

        done = change(store, log, partial(_prepare, store, log, work, left, at, states), at_ms=at)
        written = done if written is None else _both(written, done)
        taken += states[0].taken
        passed += [each for each in states[0].passed() if each not in passed]
        messages = len(states[0].journal)
    return Undoing(tuple(taken), messages, written or Written(), tuple(passed))


def _prepare(
    store: DirStore,
    log: str,
    work: Callable[[_State, int], None],
    left: int,
    at_ms: int,
    states: list[_State],
) -> list[tuple[LogFold, Sequence[LogRecord]]]:
    state = _State(store, log, at_ms)
    states.append(state)
    work(state, left)
    return state.records()


def _both(first: Written, second: Written) -> Written:
    return second._replace(
        first_n=first.first_n,
        records=first.records + second.records,
        torn=first.torn + second.torn,
    )


class _State:
    """The logs that an undo looks at, and what it does to them."""

    def __init__(self, store: DirStore, log: str, at_ms: int) -> None:
        self.at_ms = at_ms
        self.agent = fold_journal(store, log, PREFIX)
        refuse_retired(self.agent)
        self.journal = self.agent.journal
        self._done, self._undos = resolve(self.journal.units())
        cores = [self.agent]
        if SESSION in store.logs() and log != SESSION:
            cores.insert(0, fold_journal(store, SESSION, PREFIX))
        self._cores = [_Core(fold) for fold in cores]
        self.taken: list[Taken] = []
        """What was taken back so far, in that order."""
        self._undone: list[int] = []
        """The ``n`` of what an undo took back, but for compactions that were asked for."""
        self._by = Author.plugin(OURS)

    def undo(self, steps: int, *, compaction: bool, whole: bool = False) -> None:
        """Take up to *steps* changes back; one of core memory as the first, unless *whole*."""
        while len(self.taken) < steps:
            unit = self._newest(compaction=compaction)
            core = None if compaction else max(self._cores, key=lambda each: each.newest_n)
            if core is not None and core.newest_n > (-1 if unit is None else unit.n):
                if core.newest_n < self._barrier:
                    raise self._nothing(compaction=compaction)
                if self.taken and not whole:
                    return
                self.taken.append(core.undo())
            elif unit is not None:
                self._take_back(unit, unit, "undo")
                del self._done[unit.n]
            else:
                raise self._nothing(compaction=compaction)
            if not compaction:
                self._undone.append(self.taken[-1].n)

    def redo(self, steps: int, *, whole: bool = False) -> None:
        """Take up to *steps* undos back; one of core memory as the first, unless *whole*."""
        while len(self.taken) < steps:
            core = max(self._cores, key=lambda each: each.undo_n)
            n = max([*self._undos, core.undo_n])
            if n < 0:
                raise self._no_undo()
            cores = (each.changed_n for each in self._cores)
            newer = max([*self._done, *cores, self._barrier], default=-1)
            if newer > n:
                msg = f"there is no undo to take back: the session was changed since (n {newer})"
                raise Nothing(msg)
            if core.undo_n == n:
                if self.taken and not whole:
                    return
                self.taken.append(core.redo())
            else:
                undo, first = self._undos.pop(n)
                self._take_back(undo, first, "redo")
                self._done[first.n] = first

    def records(self) -> list[tuple[LogFold, Sequence[LogRecord]]]:
        """Return what is appended to each log."""
        by_fold = {id(core.fold): core.records(self.at_ms) for core in self._cores}
        own = self.journal.take_unsaved()
        parts: list[tuple[LogFold, Sequence[LogRecord]]] = [
            (core.fold, by_fold[id(core.fold)]) for core in self._cores if core.fold != self.agent
        ]
        return [*parts, (self.agent, [*by_fold[id(self.agent)], *own])]

    def passed(self) -> list[tuple[str, Edit]]:
        """Return what was left of what is newer than the oldest that was taken back."""
        if not self._undone:
            return []
        oldest = min(self._undone)
        return [
            (core.fold.log, each)
            for core in self._cores
            for each in reversed(core.passed)
            if each.n > oldest
        ]

    @property
    def _barrier(self) -> int:
        return -1 if self.journal.barrier is None else self.journal.barrier

    def _newest(self, *, compaction: bool) -> Unit | None:
        if compaction:
            units = (unit for unit in self._done.values() if isinstance(unit, Unit))
            found = [unit.n for unit in units if unit.kind == "compaction"]
        else:
            found = list(self._done)
        return unit_of(self._done[max(found)]) if found else None

    def _take_back(self, unit: Unit, told: Unit, title: str) -> None:
        before = list(self.journal.entries)
        by = Author.plugin(OURS, title)
        take_back(self.journal, unit, by=by, at=self.at_ms)
        last = self.journal.entries[-1].id if self.journal.entries else None
        mark = Aside(UNDO, self._by, {"undoes": unit.n}, last)
        self.journal.put_aside(mark, by=by, at=self.at_ms)
        gone, back, changed = compared(before, self.journal.entries)
        self.taken.append(Taken(self.agent.log, told.n, told.kind, gone, back, changed))

    def _no_undo(self) -> Nothing:
        if not self.taken:
            return Nothing("there is no undo to take back")
        return _too_few(len(self.taken), "undo", "taken back")

    def _nothing(self, *, compaction: bool) -> AgentMemError:
        held = [core for core in self._cores if core.held and core.held[-1].n > self._barrier]
        if held and not compaction:
            return back.protected_by(held[0].values, held[0].held)
        what = "compaction" if compaction else "change"
        if self.taken:
            return _too_few(len(self.taken), what, "undone")
        if self.journal.barrier is not None:
            msg = (
                f"there is no {what} left to undo: at n {self.journal.barrier} the whole "
                "conversation was replaced (a reset), and undo does not go back past that"
            )
            return Nothing(msg)
        return Nothing(f"there is no {what} left to undo")


def _too_few(count: int, what: str, done: str) -> Nothing:
    many = what if count == 1 else f"{what}s"
    return Nothing(f"only {count} {many} can be {done}; nothing was changed")


class _Core:
    """The core memory of one log."""

    def __init__(self, fold: JournalFold) -> None:
        self.fold = fold
        followed = ValuesFold(fold.log, fold.source, PREFIX)
        followed.noted = fold.noted
        past = history.edits(followed)
        self.values = CoreValues.of(fold.saved)
        guarded = back.guarded_keys(self.values)
        live = history.standing(past)
        self._open = [*history.takable(live, guarded)][::-1]
        going = {each.n for each in self._open}
        self.passed = [each for each in live if each.n not in going]
        """Changes that an undo passes by, since they are of what is read-only; oldest first."""
        self.held = [each for each in self.passed if not each.protects]
        """Those of them that it could take if nothing were read-only."""
        self._undos = _open_undos(past)
        self._taken: list[Edit] = []
        self._force = False

    @property
    def newest_n(self) -> int:
        """The ``n`` of the newest change that can be taken back; -1: there is none."""
        return self._open[-1].n if self._open else -1

    @property
    def changed_n(self) -> int:
        """The ``n`` of the newest change that stands; -1: there is none."""
        return max(self.newest_n, self.held[-1].n if self.held else -1)

    @property
    def undo_n(self) -> int:
        """The ``n`` of the newest undo that stands; -1: there is none."""
        return self._undos[-1].n if self._undos else -1

    def undo(self) -> Taken:
        """Take the newest change back."""
        return self._take(self._open.pop())

    def redo(self) -> Taken:
        """Take the newest undo back."""
        # Why: nothing was changed since, so what is no block now is what the undo brought back.
        self._force = True
        return self._take(self._undos.pop())

    def _take(self, edit: Edit) -> Taken:
        self._taken.append(edit)
        keys = tuple(version.key for version in edit.versions)
        return Taken(self.fold.log, edit.n, CORE, keys=keys)

    def records(self, at_ms: int) -> list[LogRecord]:
        """Return what makes core memory what it was.

        Raises:
            BlockProtected: A redo would change a read-only block.
            CoreMemoryError: It may not be made.
        """
        if not self._taken:
            return []
        from agentmem_cli.operations.core.planning import Told, plan

        wish = back.as_before(self._taken, self.values)
        told = Told(undoes=wish.undoes)
        planned = plan(
            self.values, wish.blocks, told, t=at_ms, config=wish.config, others=wish.others
        )
        try:
            planned.check(force=self._force)
        except NotABlock as error:
            error.hint = "agentmem core undo SESSION --force takes it back."
            raise
        return planned.records()


def _open_undos(past: Sequence[Edit]) -> list[Edit]:
    """Return the undos of core memory that were not taken back, oldest first."""
    found: dict[int, Edit] = {}
    for edit in past:
        if edit.undoes in found:
            del found[edit.undoes]
        elif edit.undoes is not None:
            found[edit.n] = edit
    return list(found.values())
