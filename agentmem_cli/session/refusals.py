"""Summaries and undos that are refused. Nothing was changed by any of them."""

from __future__ import annotations

from agentmem_cli.errors import AgentMemError, SessionError


class SummaryError(AgentMemError):
    """A summary cannot be used."""

    kind = "summary"
    hint = "Nothing was changed."


class Truncated(SummaryError):
    """The answer was cut off before its end."""

    def __init__(self, why: str = "the answer was cut off before its end") -> None:
        """Say *why* it is known to be."""
        super().__init__(why)


class CalledTool(SummaryError):
    """The answer calls a tool instead of summing up."""

    def __init__(self, tool: str | None = None) -> None:
        """Keep the *tool*'s name, where there is one."""
        named = "" if tool is None else f" ({tool})"
        super().__init__(f"the answer calls a tool{named} and is no summary")
        self.tool = tool


class Empty(SummaryError):
    """The answer holds no text."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("the answer holds no text")


class TooLong(SummaryError):
    """The answer is much longer than was asked for."""

    def __init__(self, tokens: int, most: int) -> None:
        """Keep what it is estimated to take (*tokens*, at least), and the *most* asked for."""
        super().__init__(f"the answer is {tokens} tokens or more; {most} were asked for")
        self.tokens = tokens
        self.most = most


class NotSmaller(SummaryError):
    """The summary takes as much as what it would stand for."""

    def __init__(self, before: int, after: int) -> None:
        """Keep the estimates of what would go (*before*) and of the summary (*after*)."""
        super().__init__(
            f"the summary takes {after} tokens, and what it would stand for takes {before}"
        )
        self.before = before
        self.after = after


class SummaryStale(SummaryError):
    """The messages that a summary was made of are not as it read them."""

    exit_code = 4
    kind = "changed"
    hint = "They were changed meanwhile; compact again. Nothing was changed."

    def __init__(self, where: str) -> None:
        """Say *where* they differ."""
        super().__init__(f"what was summarized changed meanwhile: {where}")
        self.where = where


class SummarizerFailed(SummaryError):
    """The command that was to sum up ended without a summary."""


class UndoError(AgentMemError):
    """Nothing was undone."""

    exit_code = 4
    kind = "undo"


class Nothing(UndoError):
    """There is nothing left to undo, or to redo."""

    exit_code = 3
    kind = "not_found"

    def __init__(self, why: str = "no compaction is left to undo") -> None:
        """Say *why*."""
        super().__init__(why)


class SummaryGone(UndoError):
    """The newest compaction's summary is not in the conversation any more."""

    hint = "A later change took it out; undo that one first."

    def __init__(self, summary: int) -> None:
        """Keep the id of the *summary*'s entry."""
        super().__init__(f"the summary (message {summary}) is not in the conversation any more")
        self.summary = summary


class NotInLog(UndoError):
    """The log does not hold what the compaction replaced."""

    exit_code = 3
    kind = "not_found"
    hint = "Save the conversation before undoing a compaction of it."

    def __init__(self, log: str, summary: int) -> None:
        """Keep the *log*'s name and the id of the *summary*'s entry."""
        super().__init__(f"log {log!r} does not hold what the summary {summary} replaced")
        self.log = log
        self.summary = summary


class Load(UndoError):
    """The log could not be read."""

    def __init__(self, error: SessionError) -> None:
        """Keep the *error* that reading it came to."""
        super().__init__(f"the log could not be read: {error}", hint=error.hint)
        self.error = error


class Moved(UndoError):
    """What a change put is not where it was put, so it cannot be taken back."""

    hint = "agentmem log shows the changes since; agentmem restore goes back past them."

    def __init__(self, n: int, why: str) -> None:
        """Keep the change's *n* and *why* it cannot be."""
        super().__init__(f"the change at n {n} cannot be taken back: {why}")
        self.n = n
        self.why = why
