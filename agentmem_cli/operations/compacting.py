"""Compacting an agent's conversation: planned from one reading of its log, applied under the lock.

Source: DESIGN.md, "Compaction".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.changing import Written, change, refuse_retired
from agentmem_cli.operations.summarizing import Command, Embedded, GivenText, run_command
from agentmem_cli.operations.weighing import Weighed
from agentmem_cli.session.compaction import check_read, put_summary, summary_entry
from agentmem_cli.session.cutting import find_cut
from agentmem_cli.session.policy import Asked, CompactionPolicy, Threshold
from agentmem_cli.session.refusals import NotSmaller, SummaryStale
from agentmem_cli.session.summaries import (
    SummaryState,
    TrackArgument,
    newest_request,
    summarized_prefix,
    summary_state,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.operations.summarizing import Source
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.record import LogRecord
    from agentmem_cli.session.summarizer import Summarizer, SummaryRequest
    from agentmem_cli.storage.directory import DirStore

READ_FILES: Final = "read-files"
CHANGED_FILES: Final = "changed-files"

TRACKED: Final = tuple(
    TrackArgument(tool, argument, name)
    for name, argument, tools in (
        (READ_FILES, "path", ("read", "Read", "read_file", "view")),
        (READ_FILES, "file_path", ("read", "Read", "read_file")),
        (CHANGED_FILES, "path", ("edit", "write", "Edit", "Write", "edit_file", "write_file")),
        (CHANGED_FILES, "file_path", ("edit", "write", "Edit", "Write", "MultiEdit")),
        (CHANGED_FILES, "notebook_path", ("NotebookEdit",)),
    )
    for tool in tools
)
"""What is kept track of where no policy says so: files, by the names that agents give tools."""

DEFAULT_POLICY: Final = CompactionPolicy(tracked=TRACKED)


class Wish(NamedTuple):
    """What is asked of a compaction."""

    policy: CompactionPolicy = DEFAULT_POLICY
    keep_tokens: int | None = None
    """Tokens of the newest messages to keep; None: as the policy says."""
    window: int | None = None
    """The model's window in tokens; None: not known."""
    focus: str = ""
    near: bool = False
    """Because the window nears, not because somebody asked; see `nearing`."""


class Plan(NamedTuple):
    """What a compaction would do."""

    weighed: Weighed
    start: int
    """How many of the first messages are summaries already."""
    cut: int
    """Where the kept part begins."""
    state: SummaryState
    """The earlier summary, and the sets with what goes now."""
    wish: Wish

    @property
    def keep_from(self) -> int:
        """The id of the first message that stays."""
        return self.weighed.conversation.entries[self.cut].id

    @property
    def read(self) -> Sequence[Entry]:
        """What the summary is to stand for."""
        return self.weighed.conversation.entries[: self.cut]

    @property
    def tokens_gone(self) -> int:
        """What goes is estimated to take."""
        return sum(shape.tokens for shape in self.weighed.shapes[: self.cut])

    @property
    def tokens_kept(self) -> int:
        """What stays is estimated to take."""
        return self.weighed.tokens - self.tokens_gone

    def request(self) -> SummaryRequest:
        """Return what a model would be asked."""
        older = [entry.stored for entry in self.read[self.start :]]
        summarizer, wish = self.wish.policy.summarizer, self.wish
        return summarizer.request(older, self.state.summary, wish.focus, wish.window)


class Compaction(NamedTuple):
    """What a compaction came to."""

    tokens_before: int
    tokens_after: int | None
    """None: not known, since no summary was made."""
    replaced: tuple[int, ...] = ()
    """The ids of the entries that went; none: nothing was done."""
    kept: int = 0
    """How many messages stay as they are."""
    summary: int | None = None
    """The id of the summary's entry."""
    state: SummaryState = SummaryState()
    why_not: str | None = None
    """Why nothing was done."""
    written: Written = Written()


def plan(weighed: Weighed, wish: Wish) -> Plan | None:
    """Say what a compaction would do; None: there is nothing to do."""
    policy, conversation = wish.policy, weighed.conversation
    reason = Threshold() if wish.near else Asked(wish.focus)
    keep = policy.keep(reason, wish.window) if wish.keep_tokens is None else wish.keep_tokens
    if wish.window is not None:
        keep = min(keep, wish.window // 4)
    start = summarized_prefix(conversation)
    cut = find_cut(weighed.shapes, start, keep, forced=not wish.near)
    if cut is None:
        return None
    pairs = (pair for found in weighed.tracked[start:cut] for pair in found)
    state = summary_state(conversation).tracking(pairs, policy.tracked)
    return Plan(weighed, start, cut, state, wish)


def read_plan(store: DirStore, log: str, wish: Wish) -> tuple[Weighed, Plan | None]:
    """Read a log and plan its compaction; nothing changes.

    Raises:
        SessionError: The log does not read.
        ConflictError: The agent is retired.
    """
    weighed = Weighed.read(store, log, wish.policy.tracked)
    refuse_retired(weighed.fold)
    return weighed, plan(weighed, wish)


def compact(
    store: DirStore, log: str, wish: Wish, source: Source, *, at_ms: int, dry_run: bool = False
) -> Compaction:
    """Compact an agent's conversation.

    A command runs without the session's lock; what it was given must be the
    same when its summary is put in place. Whatever fails, nothing is changed.

    Args:
        store: The session.
        log: The agent's log.
        wish: What is asked.
        source: Where the summary comes from.
        at_ms: When, ms since 1970-01-01 UTC.
        dry_run: Change nothing, and start no command.

    Raises:
        SummaryError: There is no summary, or it cannot be used.
        SummaryStale: What was summarized changed meanwhile.
        SessionError: The log does not read.
        ConflictError: The agent is retired, or the log was changed.
    """
    if dry_run:
        weighed, planned = read_plan(store, log, wish)
        if planned is None or isinstance(source, Command):
            return _without_summary(weighed, planned)
        return _put(planned, _text(planned, source), source, at_ms)[0]
    first: Plan | None = None
    text: str | None = None
    if isinstance(source, Command):
        weighed, first = read_plan(store, log, wish)
        if first is None:
            return _without_summary(weighed, None)
        text = run_command(source, first.request(), wish.policy.summarizer)
    done: list[Compaction] = []

    def prepare() -> list[tuple[LogFold, Sequence[LogRecord]]]:
        weighed, planned = read_plan(store, log, wish)
        if first is not None:
            planned = _same_place(first, weighed)
        if planned is None:
            done.append(_without_summary(weighed, None))
            return []
        made = _text(planned, source) if text is None else text
        compaction, records = _put(planned, made, source, at_ms)
        done.append(compaction)
        return [(weighed.fold, records)]

    written = change(store, log, prepare, at_ms=at_ms)
    return done[0]._replace(written=written)


def _without_summary(weighed: Weighed, planned: Plan | None) -> Compaction:
    if planned is None:
        why = "nothing stands before what is kept that could go"
        count = len(weighed.conversation)
        return Compaction(weighed.tokens, weighed.tokens, kept=count, why_not=why)
    ids = tuple(entry.id for entry in planned.read)
    kept = len(weighed.conversation) - planned.cut
    return Compaction(weighed.tokens, None, ids, kept, state=planned.state)


def _text(planned: Plan, source: Source) -> str:
    """Return the summary of a *source* that is at hand."""
    summarizer = planned.wish.policy.summarizer
    if isinstance(source, GivenText):
        return summarizer.read_answer(source.text)
    assert isinstance(source, Embedded)
    from agentmem_cli.operations.summary.writing import summarize

    values = [entry.stored.value for entry in planned.read[planned.start :]]
    most = _embedded_tokens(planned, summarizer)
    focus = planned.wish.focus
    return summarize(values, planned.state.summary, most, carried=_carries(planned), focus=focus)


def _embedded_tokens(planned: Plan, summarizer: Summarizer) -> int:
    # Why half: a summary as long as what it stands for is of no use.
    return max(1, min(summarizer.max_tokens(planned.wish.window), planned.tokens_gone // 2))


def _carries(planned: Plan) -> bool:
    """Whether the newest request follows the summary word for word."""
    weighed = planned.weighed
    entries = weighed.conversation.entries
    return bool(newest_request(entries, planned.cut, weighed.may_ask()))


def _put(
    planned: Plan, text: str, source: Source, at_ms: int
) -> tuple[Compaction, list[LogRecord]]:
    """Put a summary into the conversation that was read; return what it came to."""
    weighed = planned.weighed
    conversation = weighed.conversation
    state = planned.state._replace(summary=text)
    before, kept = weighed.tokens, planned.tokens_kept
    entry = summary_entry(conversation, planned.cut, state, at_ms, weighed.may_ask())
    if entry is None:
        return _no_gain(conversation, before, before - kept), []
    try:
        compacted = put_summary(conversation, planned.cut, state, entry, before - kept)
    except NotSmaller as error:
        if not isinstance(source, Embedded):
            raise
        return _no_gain(conversation, before, error.before), []
    after = kept + _tokens(entry)
    left = len(conversation) - 1
    done = Compaction(before, after, compacted.replaced, left, entry.id, state)
    return done, list(conversation.take_unsaved())


def _no_gain(conversation: Conversation, tokens: int, gone: int) -> Compaction:
    why = f"no summary within the limits is smaller than the {gone:,} tokens that would go"
    return Compaction(tokens, tokens, kept=len(conversation), why_not=why)


def _tokens(entry: Entry) -> int:
    from agentmem_cli.session.counting import DEFAULT_COUNTER

    return DEFAULT_COUNTER(entry.message)


def _same_place(first: Plan, weighed: Weighed) -> Plan:
    """Return the plan *first* for the log as it stands now.

    Raises:
        SummaryStale: What it read is not the same any more.
    """
    cut = weighed.conversation.index_of(first.keep_from)
    if cut is None:
        msg = f"message {first.keep_from}, which was to stay, is gone"
        raise SummaryStale(msg)
    found = weighed.conversation.entries[:cut]
    if not _is_same_log(first, weighed) or not _stand_alike(first.read, found):
        check_read(first.read, found)
    return first._replace(weighed=weighed, cut=cut)


def _is_same_log(first: Plan, weighed: Weighed) -> bool:
    one, other = first.weighed.fold.header, weighed.fold.header
    return one is not None and other is not None and one.lineage == other.lineage


def _stand_alike(read: Sequence[Entry], found: Sequence[Entry]) -> bool:
    """Whether the same entries stand at the same bytes of a log that was only added to."""
    return [(e.id, e.located()) for e in read] == [(e.id, e.located()) for e in found]
