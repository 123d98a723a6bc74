"""Places in time: the words of a person to where a fold ends.

Source: DESIGN.md, "Places in time".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.errors import AmbiguousError, NotFoundError, UsageError
from agentmem_cli.session.fold import Cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.lines import Line
    from agentmem_cli.storage.store import Store

_WORDS: Final = re.compile(r"(?P<n>[0-9]{1,20})|m(?P<m>[0-9]{1,20})|~(?P<back>[0-9]{1,20})")


class Place(NamedTuple):
    """A place in time, resolved."""

    words: str
    """What the person wrote."""
    cut: Cut | None
    """Where each log's fold ends; None: now."""

    @property
    def n(self) -> int | None:
        """The ``n`` before which the records count; None for now and for a time."""
        return None if self.cut is None else self.cut.n


def resolve(
    store: Store,
    log: str,
    words: str,
    *,
    now_ms: int,
    read_time: Callable[[str], int],
) -> Place:
    """Resolve a place in time.

    ``n`` (the records with a smaller n), ``m12`` (before message 12), ``~3``
    (three records back), ``before-compaction``, ``start``, ``now``, or a
    time, which cuts each log by itself before the first record whose running
    latest time is later.

    Args:
        store: The session.
        log: The chosen agent's log, which ``m`` and ``~`` count in.
        words: What the person wrote.
        now_ms: The time now; later record times count for nothing.
        read_time: Reads a time in ms from words, or raises `UsageError`.

    Raises:
        NotFoundError: The session has no such place.
        AmbiguousError: The place's ``n`` stands at more than one record.
        UsageError: The words are no place.
    """
    if words in ("now", "start"):
        return Place(words, None if words == "now" else Cut(n=0))
    if words == "before-compaction":
        return Place(words, Cut(n=_before_compaction(store, log)))
    found = _WORDS.fullmatch(words)
    if found is None:
        try:
            return Place(words, Cut(t=read_time(words), future=now_ms))
        except UsageError as error:
            msg = f"no place in time: {words!r} ({error})"
            hint = "A place is N, mN, ~N, a time, before-compaction, start or now."
            raise UsageError(msg, hint=hint) from None
    if found["n"] is not None:
        return _by_n(store, words, int(found["n"]))
    if found["m"] is not None:
        return Place(words, Cut(n=_before_message(store, log, int(found["m"]))))
    return _back(store, log, words, int(found["back"]))


def _by_n(store: Store, words: str, n: int) -> Place:
    from agentmem_cli.session.writer import last_n

    last = last_n(store)
    if n > last + 1:
        told = f"the last record has n {last}, so {last + 1} is now"
        msg = f"no place {n}: {told if last >= 0 else 'there is no record yet'}"
        raise NotFoundError(msg, hint="agentmem log shows each record with its n.")
    return Place(words, Cut(n=n))


def check_unambiguous(fold: LogFold, cut: Cut | None) -> None:
    """Refuse a cut by an ``n`` that stands twice in a log, or that parts no beginning of it.

    Args:
        fold: The log, folded with *cut* up to its end.
        cut: Where the fold ended.

    Raises:
        AmbiguousError: The place names more than one state.
    """
    if cut is None or cut.n is None or not fold.clashes:
        return
    msg = f"log {fold.log!r}: n {cut.n} is ambiguous, since stamps repeat"
    candidates = [f"line {number}: n {n}" for number, n in fold.clashes]
    hint = "Two writers numbered on from the same place; agentmem log shows both."
    raise AmbiguousError(msg, candidates, hint=hint)


class _Watch:
    """Follows a fold and remembers the ``n`` of what it looks for."""

    def __init__(self) -> None:
        self.ns: list[int] = []
        self.before: int | None = None

    def message(self, id_: int) -> Callable[[Line, LogFold], None]:
        def look(line: Line, fold: LogFold) -> None:
            n = line.fields.get("n")
            if self.before is None and fold.conversation.next_message > id_ and type(n) is int:
                self.before = n

        return look

    def every(self, line: Line, _: LogFold) -> None:
        n = line.fields.get("n")
        if type(n) is int:
            self.ns.append(n)

    def compaction(self, line: Line, _: LogFold) -> None:
        n = line.fields.get("n")
        if type(n) is int and _is_compaction(line):
            self.before = n


def _before_message(store: Store, log: str, id_: int) -> int:
    from agentmem_cli.session.reader import fold_log

    watch = _Watch()
    fold_log(store, log, strict=False, on_record=watch.message(id_))
    if watch.before is None:
        msg = f"log {log!r} has no message {id_}"
        raise NotFoundError(msg, hint="agentmem show numbers the messages.")
    return watch.before


def _back(store: Store, log: str, words: str, count: int) -> Place:
    from agentmem_cli.session.reader import fold_log

    if count == 0:
        return Place(words, None)
    watch = _Watch()
    fold_log(store, log, strict=False, on_record=watch.every)
    if count > len(watch.ns):
        msg = f"log {log!r} has {len(watch.ns)} records, not {count}"
        raise NotFoundError(msg)
    return Place(words, Cut(n=watch.ns[-count]))


def _before_compaction(store: Store, log: str) -> int:
    from agentmem_cli.session.reader import fold_log

    watch = _Watch()
    fold_log(store, log, strict=False, on_record=watch.compaction)
    if watch.before is None:
        msg = f"log {log!r} was never compacted"
        raise NotFoundError(msg)
    return watch.before


def _is_compaction(line: Line) -> bool:
    """Whether a record is a compaction: a splice by its author, or one that came with an import."""
    fields = line.fields
    if fields.get("type") == "splice":
        with_ = fields.get("with")
        authors = [fields.get("by")]
        # Why one alone: what an undo puts back may have an earlier summary among others.
        if isinstance(with_, list) and len(with_) == 1 and isinstance(with_[0], dict):
            authors.append(with_[0].get("author"))
        return any(
            isinstance(author, dict) and author.get("kind") == {"plugin": "compaction"}
            for author in authors
        )
    aside = fields.get("aside")
    return (
        fields.get("type") == "aside"
        and isinstance(aside, dict)
        and aside.get("kind") == "import.compaction"
    )
