"""Clearing old tool outputs of an agent's conversation; the log keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.changing import Written, change
from agentmem_cli.session.author import Author
from agentmem_cli.session.counting import estimate_tokens
from agentmem_cli.session.reader import fold_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem_cli.session.clearing import Cleared, ClearPlan, ClearToolOutputs
    from agentmem_cli.session.conversation import Conversation
    from agentmem_cli.session.fold import LogFold
    from agentmem_cli.session.record import LogRecord
    from agentmem_cli.storage.directory import DirStore

BY: Final = "clearing"
"""The plugin that clears, as the author of its records."""


class Clearing(NamedTuple):
    """What a clearing came to."""

    cleared: Cleared
    tokens_before: int
    tokens_after: int
    ids: tuple[int, ...]
    """The messages whose outputs were cleared."""
    written: Written = Written()


def clear(
    store: DirStore, log: str, rule: ClearToolOutputs, *, at_ms: int, dry_run: bool = False
) -> Clearing:
    """Clear old tool outputs of an agent's conversation.

    Args:
        store: The session.
        log: The agent's log.
        rule: How much is kept.
        at_ms: When, ms since 1970-01-01 UTC.
        dry_run: Change nothing.

    Raises:
        SessionError: The log does not read.
        ConflictError: The agent is retired, or the log was changed.
    """
    done: list[Clearing] = []

    def prepare() -> list[tuple[LogFold, Sequence[LogRecord]]]:
        fold = fold_log(store, log)
        conversation = fold.conversation
        before = estimate_tokens(entry.stored for entry in conversation.entries)
        plan = rule.plan(conversation)
        old = _taking(conversation, plan)
        plan.apply(conversation, by=Author.plugin(BY), at=at_ms)
        after = before - old + _taking(conversation, plan)
        done.append(Clearing(plan.cleared, before, after, tuple(sorted(plan.places))))
        return [(fold, conversation.take_unsaved())]

    if dry_run:
        prepare()
        return done[0]
    written = change(store, log, prepare, at_ms=at_ms)
    return done[0]._replace(written=written)


def _taking(conversation: Conversation, plan: ClearPlan) -> int:
    """Return what the messages that *plan* clears are estimated to take now."""
    entries = (entry for entry in conversation.entries if entry.id in plan.places)
    return estimate_tokens(entry.stored for entry in entries)
