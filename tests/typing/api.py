"""What type checkers see of the library; checked by mypy, never run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, assert_type

from agentmem_cli import (
    ATTACHMENT_TOKENS,
    OUTPUT_MARGIN,
    Anchor,
    Aside,
    Asked,
    AsyncStore,
    Author,
    Batch,
    Changed,
    ChangeRecord,
    Cleared,
    ClearPlan,
    ClearToolOutputs,
    Compacted,
    CompactionPolicy,
    CompactReason,
    Conversation,
    CoreMemory,
    CoreMemoryConfig,
    DirFiles,
    DirStore,
    Entry,
    FilePlace,
    Files,
    Format,
    Full,
    HeuristicTokenCounter,
    LastMessages,
    Load,
    LogRecord,
    MemoryBlock,
    MemoryBlockId,
    MemoryBlockType,
    MemoryStore,
    Message,
    Messages,
    Overflow,
    Place,
    PluginFiles,
    Prepared,
    Push,
    Recent,
    Record,
    RecordPlace,
    Repair,
    RequestStart,
    Reset,
    Retired,
    Rewrite,
    Rewritten,
    RewrittenLog,
    Saved,
    SavedAgent,
    Session,
    SessionError,
    SessionMeta,
    SetAside,
    SetHalt,
    Splice,
    Stamp,
    Store,
    Strings,
    SummaryCut,
    SummaryPlan,
    SummaryRequest,
    SummaryState,
    Threshold,
    TokenBudget,
    TokenCounter,
    TornTail,
    TrackArgument,
    TrackedSet,
    Uncompacted,
    Unreadable,
    Writer,
    apply_summary,
    as_async,
    as_of,
    estimate_tokens,
    excerpt,
    history,
    lint,
    load,
    load_async,
    load_images,
    main_order,
    map_strings,
    next_request_tokens,
    output_room,
    parse,
    pending_calls,
    read_conversation,
    rewrite,
    rewrite_file,
    rewrite_value,
    safe_start,
    save,
    save_async,
    store_images,
    summarized_prefix,
    summary_author,
    summary_in,
    summary_state,
    title_of,
    undo_summary,
    validate,
    view,
)
from agentmem_cli.session.codec import Object

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem_cli import Change, Problem, Suspicion


def stores(path: Path) -> list[Store]:
    directory = DirStore.open(path)
    memory = MemoryStore()
    as_files: list[Files] = [directory, memory, DirFiles(path), PluginFiles(directory)]
    assert_type(directory.logs(), list[str])
    assert_type(memory.read_log("main"), bytes)
    assert_type(as_async(memory), AsyncStore)
    assert_type(as_files[0].read_file("meta.json"), bytes)
    with memory.batch() as batch:
        changing: Batch = batch
        changing.append_log("main", 0, b"")
    return [directory, memory, MemoryStore(memory)]


def conversations(store: Store) -> Conversation:
    conversation = load(store, "main")
    assert_type(conversation.push(Message.user("a"), Author.user(), by=Author.rig(), at=1), int)
    assert_type(conversation.extend([Message.assistant("b", stop="end")]), list[int])
    gone = conversation.splice(0, 1, [Message.system("c"), conversation.entries[0]])
    assert_type(gone, list[Entry])
    assert_type(conversation.restore(0, 0, gone), list[Entry])
    assert_type(conversation.put_aside(Aside("note", Author.plugin("p"), {"a": [1]})), int)
    assert_type(conversation.messages, list[Message])
    assert_type(conversation.entries, list[Entry])
    assert_type(conversation.unsaved, tuple[ChangeRecord, ...])
    assert_type(conversation.take_unsaved(), list[ChangeRecord])
    assert_type(conversation.continues(1, 2), bool)
    assert_type(conversation.normalize(), bool)
    assert_type(conversation.halt, str | None)
    assert_type(conversation.asides, dict[int, Aside])
    assert_type(conversation.lineage, int)
    conversation.set_halt("kept")
    conversation.remove_aside(0)
    conversation.apply(SetHalt(None))
    save(store, "main", conversation)
    return as_of(store, "main", 3)


def told(record: LogRecord) -> int | str | None:
    """Every record has a case; mypy would miss a return otherwise."""
    match record:
        case ChangeRecord(change, by, at):
            assert_type(by, Author | None)
            return told_change(change) or at
        case Saved(key, _):
            return key
        case Retired():
            return None


def told_change(change: Change) -> int | str | None:
    """Every change has a case."""
    match change:
        case Push(entries):
            return len(entries)
        case Splice(from_, to, removed, with_):
            return from_ + to + len(removed) + len(with_)
        case SetHalt(halt):
            return halt
        case SetAside(id_, aside):
            return id_ if aside is None else aside.kind
        case Reset(state):
            return state.next_message


def sessions(store: Store) -> None:
    assert_type(history(store, "main"), list[tuple[Stamp, LogRecord]])
    assert_type(read_conversation(store), tuple[str, Conversation] | None)
    session, unreadable = Session.read_lenient(store)
    assert_type(session, Session)
    assert_type(unreadable, list[Unreadable])
    assert_type(Session.read(store).agents, list[SavedAgent])
    assert_type(session.main_agent(), SavedAgent | None)
    assert_type(session.repairs, list[Repair])
    for agent in sorted(session.agents, key=main_order):
        assert_type(agent.model(), str | None)
        assert_type(agent.parent, str | None)
        assert_type(agent.started_ms, int)
        assert_type(excerpt(agent.conversation.entries[0]), str)
    for repair in session.repairs:
        if isinstance(repair, TornTail):
            assert_type(repair.set_aside, str | None)
    session.save(store)
    meta = SessionMeta.of(session)
    meta.write(store)
    assert_type(SessionMeta.read(store).labels, dict[str, str])
    assert_type(title_of("a"), str)


def writers(store: Store) -> None:
    writer, session = Writer.open(store)
    assert_type(session, Session)
    writer.start()
    writer.open_log("kid", parent="main")
    writer.set_value("main", "k", {"a": [1, None]})
    assert_type(writer.fork_log("main", "copy", through=3), bool)
    assert_type(writer.is_live(), bool)
    writer.retire("kid")
    writer.flush()


def messages(store: Store, talk: list[Message]) -> list[Problem]:
    assert_type(store_images(talk[0], store), Message)
    assert_type(load_images(talk[0], store), Message)
    assert_type(talk[0].raw, bytes)
    assert_type(talk[0].role, str)
    assert_type(safe_start(talk, 3), int)
    assert_type(pending_calls(talk), list[str])
    return validate(talk)


class Shouting(Rewrite):
    def message(self, at: RecordPlace, message: dict[str, Any]) -> bool:
        message["role"] = message["role"].upper()
        return at.log == "main"

    def file(self, name: str, data: bytes) -> bytes:
        return data + name.encode()


def rewritten(store: Store) -> tuple[RewrittenLog, ...]:
    done = rewrite(store, Author.user(), Strings(str.upper), if_idle_ms=None)
    assert_type(done, Rewritten)
    assert_type(done.files, tuple[str, ...])
    place: Place = FilePlace("meta.json")
    assert_type(rewrite_value({"a": 1}, place, "", Shouting())[1], bool)
    assert_type(rewrite_file(store, "meta.json", Messages(lambda at, _: at.log == "a")), bool)
    assert_type(map_strings("a", str.upper)[1], bool)
    return done.logs


async def waiting(store: AsyncStore) -> None:
    conversation = await load_async(store, "main")
    assert_type(conversation, Conversation)
    await save_async(store, "main", conversation)


def blocks() -> list[Suspicion]:
    memory = CoreMemory(CoreMemoryConfig(max_bytes=4096))
    memory.set_clock_ms(1)
    assert_type(memory.set_block(MemoryBlockType.HUMAN, "a"), MemoryBlockId)
    assert_type(memory.set_block_with_label("facts", "l", "b"), MemoryBlockId)
    assert_type(memory.get_block("human"), MemoryBlock | None)
    assert_type(memory.get_content("human"), str | None)
    assert_type(memory.remove_block("facts"), MemoryBlock)
    assert_type([block.size_bytes for block in memory.blocks_ordered()], list[int])
    assert_type(memory.utilization(), float)
    assert_type(memory.config().max_bytes, int)
    try:
        memory.set_block("human", "x" * 5000)
    except Full as error:
        assert_type(error.over_bytes, int)
    return lint(parse(memory.render(escape=True)))


def refused(store: Store) -> int | str | None:
    try:
        load(store, "main")
    except Record as error:
        return error.line
    except Format as error:
        return error.found
    except Changed as error:
        return error.log
    return None


def estimates(talk: list[Message], history: Conversation) -> int:
    counter: TokenCounter = HeuristicTokenCounter.anthropic()
    plain: TokenCounter = lambda message: len(message.raw)  # noqa: E731 - a plain function counts
    assert_type(HeuristicTokenCounter(3.0, 1, 2).count(talk[0]), int)
    assert_type(HeuristicTokenCounter().count_tool({"name": "a"}), int)
    assert_type(output_room(200_000, None, estimate_tokens(talk)), int | None)
    rules: list[Recent] = [LastMessages(3), TokenBudget(9, counter), TokenBudget(9, plain)]
    assert_type(view(talk, rules[0]), Sequence[Message])
    prepared = Prepared("m", None, [], history)
    assert_type(prepared.start(), RequestStart)
    assert_type(prepared.whole_tokens(), int)
    return next_request_tokens(prepared, Anchor(ATTACHMENT_TOKENS, 3), prepared.start())


def compactions(store: Store, history: Conversation) -> SummaryState | None:
    policy = CompactionPolicy.from_json({"keep_recent": 1_000})
    reasons: list[CompactReason] = [Asked("x"), Threshold(), Overflow()]
    assert_type(policy.over_threshold(OUTPUT_MARGIN, None), bool)
    assert_type(policy.keep(reasons[0], 200_000), int)
    assert_type(policy.cut_summary(history, reasons[1]), SummaryCut | None)
    plan = policy.plan_summary(history, Asked())
    if plan is None:
        return None
    assert_type(plan, SummaryPlan)
    assert_type(plan.request, SummaryRequest)
    assert_type(policy.summarizer.instruction("x"), str)
    state = plan.state._replace(summary=policy.summarizer.read_answer("notes"))
    done = apply_summary(history, plan.keep_from, state, read=plan.read)
    assert_type(done, Compacted | None)
    assert_type(Compacted.of(history), list[Compacted])
    assert_type(summary_in(history.unsaved[0].change), Entry | None)
    assert_type(summarized_prefix(history), int)
    assert_type(summary_author(), Author)
    assert_type(state.track(history.messages, [TrackArgument("read", "path", "f")]), SummaryState)
    assert_type(state.tracked, tuple[TrackedSet, ...])
    assert_type(state.message(), str | None)
    try:
        assert_type(undo_summary(history, store, "main", Author.rig()), Uncompacted)
    except Load as error:
        assert_type(error.error, SessionError)
    return summary_state(history)


def clearings(talk: list[Message], history: Conversation) -> int:
    rule = ClearToolOutputs(keep_tokens=1, keep_under=0)
    assert_type(rule.clear(talk), Cleared)
    plan: ClearPlan = rule.plan(history)
    assert_type(next(plan.results(history)), Object)
    assert_type(plan.through, int | None)
    return plan.apply(history, "notes", Author.user()).tokens
