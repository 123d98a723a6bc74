"""Saved sessions of AI agents, as a library: the public names, loaded when asked for.

Importing this package imports nothing else. A name of the table in `_exports` is
fetched from its module when it is first used, so that a program (and the
command line, whose start is measured) pays for what it uses only.
"""

from __future__ import annotations

# Why: `typing` itself would cost the start of every command.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from agentmem_cli.errors import (
        AgentMemError,
        AmbiguousError,
        BadBlockType,
        BadConfig,
        BlockNotFound,
        BlockTooLarge,
        Busy,
        Changed,
        ConflictError,
        CoreMemoryError,
        DamageError,
        Format,
        Full,
        Io,
        LabelTooLong,
        LimitError,
        LogChanged,
        LogWriteError,
        NotCoreMemory,
        NotFoundError,
        OldLayout,
        Record,
        SessionError,
        Stale,
        UsageError,
    )
    from agentmem_cli.session.aside import Aside
    from agentmem_cli.session.author import Author
    from agentmem_cli.session.change import (
        Change,
        ChangeRecord,
        Push,
        Reset,
        SetAside,
        SetHalt,
        Splice,
        State,
    )
    from agentmem_cli.session.clearing import Cleared, ClearPlan, ClearToolOutputs, NearWindow
    from agentmem_cli.session.compaction import Uncompacted, apply_summary, undo_summary
    from agentmem_cli.session.conversation import CannotApply, Conversation
    from agentmem_cli.session.core_memory import (
        CoreMemory,
        CoreMemoryConfig,
        MemoryBlock,
        MemoryBlockId,
        MemoryBlockType,
    )
    from agentmem_cli.session.core_text import Suspicion, lint, parse
    from agentmem_cli.session.counting import (
        ATTACHMENT_TOKENS,
        OUTPUT_MARGIN,
        Anchor,
        HeuristicTokenCounter,
        Prepared,
        RequestStart,
        TokenCounter,
        estimate_tokens,
        next_request_tokens,
        output_room,
    )
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.heads import read_conversation
    from agentmem_cli.session.images import BadBlob, load_images, store_images
    from agentmem_cli.session.keys import CURRENT, FORMAT, MODEL, SESSION, TITLE
    from agentmem_cli.session.live import Writer
    from agentmem_cli.session.mapping import map_strings
    from agentmem_cli.session.message import Message
    from agentmem_cli.session.meta import BadMeta, SessionMeta, excerpt, title_of
    from agentmem_cli.session.pairing import Problem, normalize, pending_calls, safe_start, validate
    from agentmem_cli.session.policy import (
        Asked,
        CompactionPolicy,
        CompactReason,
        Overflow,
        SummaryCut,
        SummaryPlan,
        Threshold,
    )
    from agentmem_cli.session.reader import as_of, history, load, load_async
    from agentmem_cli.session.recent import LastMessages, Recent, TokenBudget, view
    from agentmem_cli.session.record import Header, LogRecord, LogRewrite, Retired, Saved
    from agentmem_cli.session.refusals import (
        CalledTool,
        Empty,
        Load,
        Nothing,
        NotInLog,
        NotSmaller,
        SummaryError,
        SummaryGone,
        SummaryStale,
        TooLong,
        Truncated,
        UndoError,
    )
    from agentmem_cli.session.rewriter import rewrite
    from agentmem_cli.session.rewriting import (
        FilePlace,
        Messages,
        Place,
        RecordPlace,
        Rewrite,
        Rewritten,
        RewrittenLog,
        Strings,
        rewrite_file,
        rewrite_value,
    )
    from agentmem_cli.session.session import (
        LostImage,
        Repair,
        SavedAgent,
        Session,
        TornTail,
        Unreadable,
        main_order,
    )
    from agentmem_cli.session.stamp import Stamp
    from agentmem_cli.session.summaries import (
        COMPACTED,
        Compacted,
        SummaryState,
        TrackArgument,
        TrackedSet,
        summarized_prefix,
        summary_author,
        summary_in,
        summary_state,
    )
    from agentmem_cli.session.summarizer import (
        Summarizer,
        SummaryLimits,
        SummaryPrompts,
        SummaryRequest,
    )
    from agentmem_cli.session.writer import save, save_async
    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.dirfiles import DirFiles, PluginFiles
    from agentmem_cli.storage.layout import BLOBS, META, PLUGINS
    from agentmem_cli.storage.memory import MemoryStore
    from agentmem_cli.storage.names import check_log_name, check_name
    from agentmem_cli.storage.store import AsyncStore, Batch, Files, LogFile, Store, as_async

__version__ = "0.1.0"

__all__ = [
    "ATTACHMENT_TOKENS",
    "BLOBS",
    "COMPACTED",
    "CURRENT",
    "FORMAT",
    "META",
    "MODEL",
    "OUTPUT_MARGIN",
    "PLUGINS",
    "SESSION",
    "TITLE",
    "AgentMemError",
    "AmbiguousError",
    "Anchor",
    "Aside",
    "Asked",
    "AsyncStore",
    "Author",
    "BadBlob",
    "BadBlockType",
    "BadConfig",
    "BadMeta",
    "Batch",
    "BlockNotFound",
    "BlockTooLarge",
    "Busy",
    "CalledTool",
    "CannotApply",
    "Change",
    "ChangeRecord",
    "Changed",
    "ClearPlan",
    "ClearToolOutputs",
    "Cleared",
    "CompactReason",
    "Compacted",
    "CompactionPolicy",
    "ConflictError",
    "Conversation",
    "CoreMemory",
    "CoreMemoryConfig",
    "CoreMemoryError",
    "DamageError",
    "DirFiles",
    "DirStore",
    "Empty",
    "Entry",
    "FilePlace",
    "Files",
    "Format",
    "Full",
    "Header",
    "HeuristicTokenCounter",
    "Io",
    "LabelTooLong",
    "LastMessages",
    "LimitError",
    "Load",
    "LogChanged",
    "LogFile",
    "LogRecord",
    "LogRewrite",
    "LogWriteError",
    "LostImage",
    "MemoryBlock",
    "MemoryBlockId",
    "MemoryBlockType",
    "MemoryStore",
    "Message",
    "Messages",
    "NearWindow",
    "NotCoreMemory",
    "NotFoundError",
    "NotInLog",
    "NotSmaller",
    "Nothing",
    "OldLayout",
    "Overflow",
    "Place",
    "PluginFiles",
    "Prepared",
    "Problem",
    "Push",
    "Recent",
    "Record",
    "RecordPlace",
    "Repair",
    "RequestStart",
    "Reset",
    "Retired",
    "Rewrite",
    "Rewritten",
    "RewrittenLog",
    "Saved",
    "SavedAgent",
    "Session",
    "SessionError",
    "SessionMeta",
    "SetAside",
    "SetHalt",
    "Splice",
    "Stale",
    "Stamp",
    "State",
    "Store",
    "Strings",
    "Summarizer",
    "SummaryCut",
    "SummaryError",
    "SummaryGone",
    "SummaryLimits",
    "SummaryPlan",
    "SummaryPrompts",
    "SummaryRequest",
    "SummaryStale",
    "SummaryState",
    "Suspicion",
    "Threshold",
    "TokenBudget",
    "TokenCounter",
    "TooLong",
    "TornTail",
    "TrackArgument",
    "TrackedSet",
    "Truncated",
    "Uncompacted",
    "UndoError",
    "Unreadable",
    "UsageError",
    "Writer",
    "apply_summary",
    "as_async",
    "as_of",
    "check_log_name",
    "check_name",
    "estimate_tokens",
    "excerpt",
    "history",
    "lint",
    "load",
    "load_async",
    "load_images",
    "main_order",
    "map_strings",
    "next_request_tokens",
    "normalize",
    "output_room",
    "parse",
    "pending_calls",
    "read_conversation",
    "rewrite",
    "rewrite_file",
    "rewrite_value",
    "safe_start",
    "save",
    "save_async",
    "store_images",
    "summarized_prefix",
    "summary_author",
    "summary_in",
    "summary_state",
    "title_of",
    "undo_summary",
    "validate",
    "view",
]


def __getattr__(name: str) -> object:
    """Fetch a public name from its module, once.

    Raises:
        AttributeError: The package has no such public name.
    """
    module_name = _table().get(name)
    if module_name is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value: object = getattr(import_module(module_name), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what is loaded and what can be."""
    return sorted({*globals(), *_table()})


def _table() -> dict[str, str]:
    # Why late: the start of every command would pay for the table.
    from importlib import import_module

    table: dict[str, str] = import_module("agentmem_cli._exports").EXPORTS
    return table
