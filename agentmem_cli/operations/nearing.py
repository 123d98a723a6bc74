"""Compacting only where a conversation nears the model's window, as a policy says.

Source: DESIGN.md, "Compaction".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentmem_cli.operations.clearing import Clearing, clear
from agentmem_cli.operations.compacting import Compaction, compact, read_plan
from agentmem_cli.session.clearing import NearWindow

if TYPE_CHECKING:
    from agentmem_cli.operations.compacting import Wish
    from agentmem_cli.operations.summarizing import Source
    from agentmem_cli.storage.directory import DirStore


class Nearing(NamedTuple):
    """What was done to a conversation that nears the window."""

    compaction: Compaction
    clearing: Clearing | None = None
    """What was cleared first; None: nothing was."""


def compact_if_over(
    store: DirStore, log: str, wish: Wish, source: Source, *, at_ms: int, dry_run: bool = False
) -> Nearing:
    """Make room where less of the window is free than the policy's reserve.

    Where the policy says so, old outputs of tools are cleared first, and a
    summary is made only if that is not enough. Each is a change of its own.

    Args:
        store: The session.
        log: The agent's log.
        wish: What is asked; its window is known.
        source: Where a summary comes from.
        at_ms: When, ms since 1970-01-01 UTC.
        dry_run: Change nothing. What is said of a summary is then said of the
            conversation before the clearing.

    Raises:
        As `compact`. What was cleared before stays cleared.
    """
    policy = wish.policy
    assert wish.window is not None
    free = policy.summarizer.limits.reserve
    wish = wish._replace(near=True)
    weighed, _ = read_plan(store, log, wish)
    before, count = weighed.tokens, len(weighed.conversation)
    if not policy.over_threshold(before, wish.window):
        why = f"{free:,} tokens and more of the window of {wish.window:,} are free"
        return Nearing(Compaction(before, before, kept=count, why_not=why))
    if policy.near_window is not NearWindow.CLEAR:
        done = compact(store, log, wish, source, at_ms=at_ms, dry_run=dry_run)
        return Nearing(done)
    cleared = clear(store, log, policy.clearing, at_ms=at_ms, dry_run=dry_run)
    found = cleared if cleared.cleared.results else None
    if not policy.over_threshold(cleared.tokens_after, wish.window):
        why = "clearing old outputs was enough"
        done = Compaction(before, cleared.tokens_after, kept=count, why_not=why)
        return Nearing(done._replace(written=cleared.written), found)
    # Why later: a change of its own has a time of its own.
    done = compact(store, log, wish, source, at_ms=at_ms + 1, dry_run=dry_run)
    return Nearing(done._replace(tokens_before=before), found)
