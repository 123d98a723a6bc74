"""Saved sessions of AI agents, as a library: the public names, loaded when asked for.

Importing this package imports nothing else. A name of the table below is
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
    from agentmem_cli.session.conversation import (
        CannotApply,
        Conversation,
    )
    from agentmem_cli.session.core_memory import (
        CoreMemory,
        CoreMemoryConfig,
        MemoryBlock,
        MemoryBlockId,
        MemoryBlockType,
    )
    from agentmem_cli.session.core_text import Suspicion, lint, parse
    from agentmem_cli.session.entry import Entry
    from agentmem_cli.session.heads import read_conversation
    from agentmem_cli.session.images import (
        BadBlob,
        load_images,
        store_images,
    )
    from agentmem_cli.session.keys import CURRENT, FORMAT, MODEL, SESSION, TITLE
    from agentmem_cli.session.live import Writer
    from agentmem_cli.session.mapping import map_strings
    from agentmem_cli.session.message import Message
    from agentmem_cli.session.meta import (
        BadMeta,
        SessionMeta,
        excerpt,
        title_of,
    )
    from agentmem_cli.session.pairing import (
        Problem,
        normalize,
        pending_calls,
        safe_start,
        validate,
    )
    from agentmem_cli.session.reader import (
        as_of,
        history,
        load,
        load_async,
    )
    from agentmem_cli.session.record import Header, LogRecord, LogRewrite, Retired, Saved
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
    from agentmem_cli.session.writer import save, save_async
    from agentmem_cli.storage.directory import DirStore
    from agentmem_cli.storage.dirfiles import DirFiles, PluginFiles
    from agentmem_cli.storage.layout import BLOBS, META, PLUGINS
    from agentmem_cli.storage.memory import MemoryStore
    from agentmem_cli.storage.names import (
        check_log_name,
        check_name,
    )
    from agentmem_cli.storage.store import (
        AsyncStore,
        Batch,
        Files,
        LogFile,
        Store,
        as_async,
    )

__version__ = "0.1.0"

# Public name -> the module it lives in. Type checkers do not see through this
# table: a name that is to be typed for users also stands under TYPE_CHECKING.
_EXPORTS: dict[str, str] = {
    "AgentMemError": "agentmem_cli.errors",
    "AmbiguousError": "agentmem_cli.errors",
    "Aside": "agentmem_cli.session.aside",
    "AsyncStore": "agentmem_cli.storage.store",
    "Author": "agentmem_cli.session.author",
    "BLOBS": "agentmem_cli.storage.layout",
    "BadBlob": "agentmem_cli.session.images",
    "BadBlockType": "agentmem_cli.errors",
    "BadConfig": "agentmem_cli.errors",
    "BadMeta": "agentmem_cli.session.meta",
    "Batch": "agentmem_cli.storage.store",
    "BlockNotFound": "agentmem_cli.errors",
    "BlockTooLarge": "agentmem_cli.errors",
    "Busy": "agentmem_cli.errors",
    "CURRENT": "agentmem_cli.session.keys",
    "CannotApply": "agentmem_cli.session.conversation",
    "Change": "agentmem_cli.session.change",
    "ChangeRecord": "agentmem_cli.session.change",
    "Changed": "agentmem_cli.errors",
    "ConflictError": "agentmem_cli.errors",
    "Conversation": "agentmem_cli.session.conversation",
    "CoreMemory": "agentmem_cli.session.core_memory",
    "CoreMemoryConfig": "agentmem_cli.session.core_memory",
    "CoreMemoryError": "agentmem_cli.errors",
    "DamageError": "agentmem_cli.errors",
    "DirFiles": "agentmem_cli.storage.dirfiles",
    "DirStore": "agentmem_cli.storage.directory",
    "Entry": "agentmem_cli.session.entry",
    "FORMAT": "agentmem_cli.session.keys",
    "FilePlace": "agentmem_cli.session.rewriting",
    "Files": "agentmem_cli.storage.store",
    "Format": "agentmem_cli.errors",
    "Full": "agentmem_cli.errors",
    "Header": "agentmem_cli.session.record",
    "Io": "agentmem_cli.errors",
    "LabelTooLong": "agentmem_cli.errors",
    "LimitError": "agentmem_cli.errors",
    "LogChanged": "agentmem_cli.errors",
    "LogFile": "agentmem_cli.storage.store",
    "LogRecord": "agentmem_cli.session.record",
    "LogRewrite": "agentmem_cli.session.record",
    "LogWriteError": "agentmem_cli.errors",
    "LostImage": "agentmem_cli.session.session",
    "META": "agentmem_cli.storage.layout",
    "MODEL": "agentmem_cli.session.keys",
    "MemoryBlock": "agentmem_cli.session.core_memory",
    "MemoryBlockId": "agentmem_cli.session.core_memory",
    "MemoryBlockType": "agentmem_cli.session.core_memory",
    "MemoryStore": "agentmem_cli.storage.memory",
    "Message": "agentmem_cli.session.message",
    "Messages": "agentmem_cli.session.rewriting",
    "NotCoreMemory": "agentmem_cli.errors",
    "NotFoundError": "agentmem_cli.errors",
    "OldLayout": "agentmem_cli.errors",
    "PLUGINS": "agentmem_cli.storage.layout",
    "Place": "agentmem_cli.session.rewriting",
    "PluginFiles": "agentmem_cli.storage.dirfiles",
    "Problem": "agentmem_cli.session.pairing",
    "Push": "agentmem_cli.session.change",
    "Record": "agentmem_cli.errors",
    "RecordPlace": "agentmem_cli.session.rewriting",
    "Repair": "agentmem_cli.session.session",
    "Reset": "agentmem_cli.session.change",
    "Retired": "agentmem_cli.session.record",
    "Rewrite": "agentmem_cli.session.rewriting",
    "Rewritten": "agentmem_cli.session.rewriting",
    "RewrittenLog": "agentmem_cli.session.rewriting",
    "SESSION": "agentmem_cli.session.keys",
    "Saved": "agentmem_cli.session.record",
    "SavedAgent": "agentmem_cli.session.session",
    "Session": "agentmem_cli.session.session",
    "SessionError": "agentmem_cli.errors",
    "SessionMeta": "agentmem_cli.session.meta",
    "SetAside": "agentmem_cli.session.change",
    "SetHalt": "agentmem_cli.session.change",
    "Splice": "agentmem_cli.session.change",
    "Stale": "agentmem_cli.errors",
    "Stamp": "agentmem_cli.session.stamp",
    "State": "agentmem_cli.session.change",
    "Store": "agentmem_cli.storage.store",
    "Strings": "agentmem_cli.session.rewriting",
    "Suspicion": "agentmem_cli.session.core_text",
    "TITLE": "agentmem_cli.session.keys",
    "TornTail": "agentmem_cli.session.session",
    "Unreadable": "agentmem_cli.session.session",
    "UsageError": "agentmem_cli.errors",
    "Writer": "agentmem_cli.session.live",
    "as_async": "agentmem_cli.storage.store",
    "as_of": "agentmem_cli.session.reader",
    "check_log_name": "agentmem_cli.storage.names",
    "check_name": "agentmem_cli.storage.names",
    "excerpt": "agentmem_cli.session.meta",
    "history": "agentmem_cli.session.reader",
    "lint": "agentmem_cli.session.core_text",
    "load": "agentmem_cli.session.reader",
    "load_async": "agentmem_cli.session.reader",
    "load_images": "agentmem_cli.session.images",
    "main_order": "agentmem_cli.session.session",
    "map_strings": "agentmem_cli.session.mapping",
    "normalize": "agentmem_cli.session.pairing",
    "parse": "agentmem_cli.session.core_text",
    "pending_calls": "agentmem_cli.session.pairing",
    "read_conversation": "agentmem_cli.session.heads",
    "rewrite": "agentmem_cli.session.rewriter",
    "rewrite_file": "agentmem_cli.session.rewriting",
    "rewrite_value": "agentmem_cli.session.rewriting",
    "safe_start": "agentmem_cli.session.pairing",
    "save": "agentmem_cli.session.writer",
    "save_async": "agentmem_cli.session.writer",
    "store_images": "agentmem_cli.session.images",
    "title_of": "agentmem_cli.session.meta",
    "validate": "agentmem_cli.session.pairing",
}


__all__ = [
    "BLOBS",
    "CURRENT",
    "FORMAT",
    "META",
    "MODEL",
    "PLUGINS",
    "SESSION",
    "TITLE",
    "AgentMemError",
    "AmbiguousError",
    "Aside",
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
    "CannotApply",
    "Change",
    "ChangeRecord",
    "Changed",
    "ConflictError",
    "Conversation",
    "CoreMemory",
    "CoreMemoryConfig",
    "CoreMemoryError",
    "DamageError",
    "DirFiles",
    "DirStore",
    "Entry",
    "FilePlace",
    "Files",
    "Format",
    "Full",
    "Header",
    "Io",
    "LabelTooLong",
    "LimitError",
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
    "NotCoreMemory",
    "NotFoundError",
    "OldLayout",
    "Place",
    "PluginFiles",
    "Problem",
    "Push",
    "Record",
    "RecordPlace",
    "Repair",
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
    "Suspicion",
    "TornTail",
    "Unreadable",
    "UsageError",
    "Writer",
    "as_async",
    "as_of",
    "check_log_name",
    "check_name",
    "excerpt",
    "history",
    "lint",
    "load",
    "load_async",
    "load_images",
    "main_order",
    "map_strings",
    "normalize",
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
    "title_of",
    "validate",
]


def __getattr__(name: str) -> object:
    """Fetch a public name from its module, once.

    Raises:
        AttributeError: The package has no such public name.
    """
    module_name = _EXPORTS.get(name)
    if module_name is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module

    value: object = getattr(import_module(module_name), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what is loaded and what can be."""
    return sorted({*globals(), *_EXPORTS})
