"""Making a conversation what it was at an earlier place; and replacing messages of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.errors import NotFoundError, UsageError
from agentmem_cli.operations.changing import Written, alike, change, compared, refuse_retired
from agentmem_cli.operations.places import check_unambiguous
from agentmem_cli.session.author import Author
from agentmem_cli.session.cutting import loose_problems, shape_of
from agentmem_cli.session.journal import OURS
from agentmem_cli.session.pairing import MERGEABLE, Waiting
from agentmem_cli.session.reader import fold_log
from agentmem_cli.session.summaries import COMPACTED
from agentmem_cli.session.takeback import restore_in_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentmem_cli.operations.places import Place
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.cutting import Shape
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.message import Message
    from agentmem_cli.session.record import LogRecord
    from agentmem_cli.storage.directory import DirStore


class Replaced(NamedTuple):
    """What became of a range of a conversation."""

    gone: tuple[int, ...]
    """The ids of messages that are not there any more."""
    put: tuple[int, ...]
    """The ids of those that are there instead: new, or put back."""
    changed: tuple[int, ...]
    """The ids of those whose content is another."""
    messages: int
    """How many messages the conversation has then."""
    written: Written = Written()

    @property
    def is_nothing(self) -> bool:
        """Whether everything is as it was."""
        return not (self.gone or self.put or self.changed)


def restore(
    store: DirStore, log: str, place: Place, *, at_ms: int, dry_run: bool = False
) -> Replaced:
    """Make an agent's conversation what it was at *place*, as one change that can be undone.

    Its messages, its halt and which compactions stand become what they were;
    other side records stay.

    Args:
        store: The session.
        log: The agent's log.
        place: Where, resolved.
        at_ms: When, ms since 1970-01-01 UTC.
        dry_run: Change nothing.

    Raises:
        AmbiguousError: The place names more than one state.
        SessionError: The log does not read.
        ConflictError: The agent is retired, or the log was changed.
    """

    def edit(fold: LogFold) -> None:
        then = fold_log(store, log, cut=place.cut)
        check_unambiguous(fold_log(store, log, strict=False, cut=place.cut), place.cut)
        _restore(fold.conversation, then.conversation, at_ms)

    return _edit(store, log, edit, at_ms=at_ms, dry_run=dry_run)


def _restore(now: Conversation, then: Conversation, at_ms: int) -> None:
    by = Author.plugin(OURS, "restore")
    old, new = now.entries, then.entries
    most = min(len(old), len(new))
    first = next((i for i in range(most) if not _same(old[i], new[i])), most)
    last = next(
        (i for i in range(most - first) if not _same(old[-1 - i], new[-1 - i])), most - first
    )
    marks = {id_: each for id_, each in then.asides.items() if each.kind == COMPACTED}
    stale = [id_ for id_, each in now.asides.items() if each.kind == COMPACTED and id_ not in marks]
    missing = [id_ for id_, each in marks.items() if now.asides.get(id_) != each]
    if first == len(old) == len(new):
        if not old or not (stale or missing or now.halt != then.halt):
            return
        # Why the same message again: what belongs to a splice is undone with it.
        first = len(old) - 1
    put = new[first : len(new) - last]
    restore_in_parts(now, first, len(old) - last, put, by=by, at=at_ms)
    for id_ in stale:
        now.remove_aside(id_, by=by, at=at_ms)
    for id_ in missing:
        now.put_aside(marks[id_], id_, by=by, at=at_ms)
    now.set_halt(then.halt, by=by, at=at_ms)


def _same(one: Entry, other: Entry) -> bool:
    return one.id == other.id and alike(one, other)


def splice(  # noqa: PLR0913 - one option of the command each
    store: DirStore,
    log: str,
    bounds: tuple[int | None, int | None],
    messages: Sequence[Message],
    *,
    at_ms: int,
    force: bool = False,
    dry_run: bool = False,
) -> Replaced:
    """Replace messages of an agent's conversation, or take them out.

    Args:
        store: The session.
        log: The agent's log.
        bounds: The number (id) of the first message that goes, and of the
            first behind it that stays; None: the beginning, the end.
        messages: What stands there instead.
        at_ms: When, ms since 1970-01-01 UTC.
        force: Do it although calls and results do not pair then.
        dry_run: Change nothing.

    Raises:
        NotFoundError: There is no such message.
        UsageError: The range runs backwards, nothing would change, or calls
            and results would not pair.
        SessionError: The log does not read.
        ConflictError: The agent is retired, or the log was changed.
    """

    def edit(fold: LogFold) -> None:
        conversation = fold.conversation
        from_ = _place(conversation, bounds[0], 0)
        to = _place(conversation, bounds[1], len(conversation))
        if from_ > to:
            msg = f"message {bounds[0]} stands behind message {bounds[1]}"
            raise UsageError(msg, hint="A range goes from A up to B, without B.")
        if from_ == to and not messages:
            msg = "the range is empty, and nothing is put there"
            raise UsageError(msg, hint="--with FILE puts messages in.")
        before = _problems(conversation)
        conversation.splice(from_, to, messages, by=Author.plugin(OURS, "splice"), at=at_ms)
        worse = [found - old for found, old in zip(_problems(conversation), before, strict=True)]
        if any(worse) and not force:
            told = ", ".join(sorted(f"{kind} {call}" for kind, call in worse[0] | worse[1])[:5])
            msg = f"calls and results would not pair: {told}"
            raise UsageError(msg, hint="Take a call and its result together, or use --force.")

    return _edit(store, log, edit, at_ms=at_ms, dry_run=dry_run)


def _place(conversation: Conversation, id_: int | None, default: int) -> int:
    if id_ is None:
        return default
    place = conversation.index_of(id_)
    if place is None:
        msg = f"the conversation has no message {id_}"
        raise NotFoundError(msg, hint="agentmem show numbers the messages.")
    return place


def _problems(conversation: Conversation) -> list[Counter[tuple[str, str | None]]]:
    """Count what does not pair: as a provider looks at it, and wherever a result may lie."""
    waiting = Waiting()
    shapes: list[Shape] = []
    for entry in conversation.entries:
        value = entry.stored.value
        waiting.feed(value)
        shapes.append(shape_of(value))
    waiting.end()
    found = (problem for problem in waiting.problems if problem.kind != MERGEABLE)
    return [Counter((problem.kind, problem.call) for problem in found), loose_problems(shapes)]


def _edit(
    store: DirStore,
    log: str,
    edit: Callable[[LogFold], None],
    *,
    at_ms: int,
    dry_run: bool,
) -> Replaced:
    """Read a log, edit its conversation, and append what that changed."""
    done: list[Replaced] = []

    def prepare() -> list[tuple[LogFold, Sequence[LogRecord]]]:
        fold = fold_log(store, log)
        refuse_retired(fold)
        before = list(fold.conversation.entries)
        edit(fold)
        after = fold.conversation.entries
        done.append(Replaced(*compared(before, after), len(after)))
        return [(fold, fold.conversation.take_unsaved())]

    if dry_run:
        prepare()
        return done[0]
    written = change(store, log, prepare, at_ms=at_ms)
    return done[0]._replace(written=written)
