"""One way through a Claude Code transcript, and what has to be remembered on it.

Items come in the file's order. A reply stands where its first line does; what
follows waits until no more lines of the reply are to be expected.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.operations.imports.adapter import CWD, MAIN, Kept, Noted, Said, any_ms
from agentmem_cli.operations.imports.claude_marks import (
    Fork,
    Rewritten,
    Sides,
    system_note,
    task_of,
)
from agentmem_cli.operations.imports.claude_messages import (
    KIND,
    Calls,
    block_part,
    by_text,
    content_of,
    result_part,
    text_of,
    vendored,
    written_by,
)
from agentmem_cli.operations.imports.claude_outputs import Beside, long_output
from agentmem_cli.operations.imports.claude_replies import Reply, content_key
from agentmem_cli.operations.imports.claude_titles import Titles
from agentmem_cli.operations.imports.claude_tree import PROMPT, Tree
from agentmem_cli.operations.imports.parts import Unusable, rest
from agentmem_cli.session.author import Author
from agentmem_cli.session.keys import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentmem_cli.operations.imports.adapter import Item, Line, Tally
    from agentmem_cli.operations.imports.claude_files import Outputs
    from agentmem_cli.session.codec import JSON, Object

WAIT_MESSAGES: Final = 16
"""User and reply lines after which a reply that another one follows is complete."""

WAIT_BYTES: Final = 8 << 20
"""Bytes of the source after which it is, too: what waits is held in memory."""

WAIT_MESSAGES_MAX: Final = 1_000
"""User and reply lines after which it is complete even if no other one of its agent follows."""

WAIT_BYTES_MAX: Final = 2 * WAIT_BYTES
"""Bytes after which a reply is complete even if no other one follows."""

_MESSAGE: Final = frozenset({"role", "content", "type"})


class Own(NamedTuple):
    """Whose transcript is read."""

    agent: str
    """The agent whose log its messages go into."""
    session: str | None
    """The session's id; None: an agent's transcript, which is no fork of anything."""
    outputs: Outputs | None
    """Where long outputs stand."""
    is_child: bool = False
    """Whether it is an agent's transcript, whose prompts another agent wrote."""


class Reading:
    """One way through a transcript."""

    def __init__(self, tally: Tally, own: Own) -> None:
        """Read for *own*; what is found is counted in *tally*."""
        self._tally = tally
        self._own = own
        self._queue: deque[Item | Reply] = deque()
        self._open: dict[tuple[str, str], Reply] = {}
        self._newest: dict[str, Reply] = {}
        self._done: set[tuple[str, str]] = set()
        self._done_blocks: set[int] = set()
        self._count = 0
        self._tree = Tree()
        self._calls: dict[str, Calls] = {}
        self._titles = Titles()
        self._cwd_told = False
        self._models: dict[str, str] = {}
        self._linked_agents: set[str] = set()
        self._sides = Sides()
        self._rewritten = Rewritten()
        self._fork = Fork(own.session)
        self._said = 0
        self._last_raw = ""

    def items(self, lines: Iterable[Line]) -> Iterator[Item]:
        """Yield what the records are, as `Stream.items` says."""
        queue = self._queue
        for line in lines:
            self._line(line)
            while queue:
                item = queue[0]
                if isinstance(item, Reply):
                    if not self._is_complete(item, line.byte):
                        break
                    item = self._closed(item, ended=False)
                queue.popleft()
                yield item
        while queue:
            item = queue.popleft()
            yield self._closed(item, ended=True) if isinstance(item, Reply) else item

    def _is_complete(self, reply: Reply, byte: int | None) -> bool:
        """Whether no more lines of *reply* are waited for."""
        if reply.id is None or self._count - reply.last_count > WAIT_MESSAGES_MAX:
            return True
        behind = 0 if byte is None else byte - reply.last_byte
        if self._newest.get(reply.agent) is reply:
            return behind > WAIT_BYTES_MAX
        return self._count - reply.last_count > WAIT_MESSAGES or behind > WAIT_BYTES

    def _closed(self, reply: Reply, *, ended: bool) -> Said:
        if reply.id is not None:
            key = (reply.agent, reply.id)
            if self._open.get(key) is reply:
                del self._open[key]
            self._done.add(key)
            self._done_blocks.update(reply.keys)
        return reply.said(open_=ended and reply.id is not None)

    def _line(self, line: Line) -> None:
        value = line.value
        kind = value.get("type")
        if not isinstance(kind, str):
            message = value.get("message")
            kind = message.get("role") if isinstance(message, dict) else None
            if not isinstance(kind, str):
                self._tally.types["?"] += 1
                self._tally.flaw(line.number, line.byte, "a record without a type", lost=True)
                return
        time = any_ms(value.get("timestamp"))
        try:
            self._record(line, kind, time)
        except Unusable as error:
            self._tally.types[kind] += 1
            self._tally.flaw(line.number, line.byte, str(error), lost=True)

    def _record(self, line: Line, kind: str, time: int | None) -> None:
        match kind:
            case "user":
                self._user(line, time)
            case "assistant":
                self._assistant(line, time)
            case "system":
                self._system(line, time)
            case "attachment":
                self._attachment(line, time)
            case "progress":
                self._tree.add(line.value, self._agent(line.value), None)
                self._tally.leave(kind)
            case _:
                self._loose(line, kind, time)

    def _agent(self, value: Object) -> str:
        """Return whose record it is; one inside the main file can be an agent's."""
        own = self._own
        if own.is_child or value.get("isSidechain") is not True:
            return own.agent
        return self._sides.agent(value, self._tree.knows)

    def _stand(self, line: Line, time: int | None, agent: str, mark: str | None) -> None:
        """Take what a record of the tree tells by standing where it does."""
        value = line.value
        if agent == self._own.agent:
            if not self._fork.over and self._fork.sees(value):
                # Why now: this is the first record of the fork's own.
                self._queue.extend(self._fork.told(self._said, self._last_raw, agent))
            if not self._cwd_told and (cwd := _text(value, "cwd")):
                self._cwd_told = True
                self._put(Kept(line.number, time, CWD, cwd, _text(value, "uuid"), agent))
        told = self._tree.add(value, agent, mark)
        # Why not at a beginning: an agent's first record can hang on its parent's.
        if told is not None and (self._count or not self._own.is_child):
            raw = _text(value, "uuid")
            self._put(Noted(line.number, time, told[0], told[1], raw, agent))
        if self._titles.waits:
            self._queue.extend(self._titles.leaf(_text(value, "uuid"), agent))

    def _put(self, item: Item) -> None:
        self._queue.append(item)
        if isinstance(item, Said) and item.agent == self._own.agent:
            self._said += 1
            self._last_raw = item.raw

    def _user(self, line: Line, time: int | None) -> None:
        value = line.value
        message = value["message"] if "message" in value else value.get("content")
        blocks = content_of(message)
        key = content_key(blocks)
        if self._tree.repeats(value.get("uuid"), key):
            self._tally.leave("user/again")
            return
        agent = self._agent(value)
        if self._rewritten.again(value, agent, key):
            self._tree.add(value, agent, None)
            self._tally.leave("user/again")
            return
        is_result = any(
            isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks
        )
        author = written_by(value, [] if is_result else blocks)
        is_prompt = author is None and not is_result
        if is_prompt and (self._own.is_child or agent != self._own.agent):
            author = Author.agent(MAIN)
        self._stand(line, time, agent, PROMPT if is_prompt else None)
        calls = self._calls_of(agent)
        parts: list[JSON] = []
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                parts.append(result_part(block, line.number, calls))
            else:
                parts.append(block_part(block))
        spoken: Object = {"role": "user", "content": parts}
        if isinstance(message, dict) and not message.keys() <= _MESSAGE:
            spoken.update(rest(message, _MESSAGE))
        beside = Beside()
        if is_result:
            beside = self._results(line, time, agent, parts)
        self._tally.types["user"] += 1
        self._count += 1
        raw = _text(value, "uuid")
        said = Said(line.number, time, spoken, author, raw, agent)
        self._put(said._replace(attached=beside.attached, awaited=beside.awaited))

    def _results(self, line: Line, time: int | None, agent: str, parts: list[JSON]) -> Beside:
        """Take what the mirror of results tells: the agent that ran, an output in a file."""
        results = [
            part for part in parts if isinstance(part, dict) and part.get("type") == "toolresult"
        ]
        mirror = line.value.get("toolUseResult")
        if isinstance(mirror, dict) and isinstance(ran := mirror.get("agentId"), str):
            self._spawned(line, time, agent, ran, results[0].get("call"))
        beside = Beside()
        for part in results:
            only = mirror if len(results) == 1 and isinstance(mirror, dict) else {}
            found = long_output(part, only, self._own.outputs)
            if found is None:
                continue
            if found.path is None:
                self._tally.flaw(line.number, line.byte, found.why, lost=False)
            beside = beside.with_one(found)
        return beside

    def _calls_of(self, agent: str) -> Calls:
        calls = self._calls.get(agent)
        if calls is None:
            calls = self._calls[agent] = Calls()
        return calls

    def _spawned(self, line: Line, time: int | None, agent: str, spawned: str, call: JSON) -> None:
        if spawned not in self._linked_agents:
            self._linked_agents.add(spawned)
            told: Object = {"agent": spawned, "call": call}
            raw = _text(line.value, "uuid")
            self._put(Noted(line.number, time, "import.agent", told, raw, agent))

    def _assistant(self, line: Line, time: int | None) -> None:
        value = line.value
        message = value.get("message")
        agent = self._agent(value)
        id_ = None
        if isinstance(message, dict):
            id_ = _text(message, "id") or _text(value, "requestId") or None
        self._stand(line, time, agent, id_ or _text(value, "uuid"))
        key = (agent, id_ or "")
        reply = self._open.get(key)
        is_new = reply is None
        if reply is None:
            reply = Reply(line, time, agent, id_)
            reply.known = key in self._done
        reply.add(line, self._calls_of(agent), self._done_blocks)
        if is_new and reply.known and not reply.parts:
            self._tally.leave("assistant/again")
            return
        self._tally.types["assistant"] += 1
        self._count += 1
        reply.last_count = self._count
        reply.last_byte = line.byte or 0
        if is_new:
            self._begin(reply, key)
        if reply.model is not None and self._models.get(agent) != reply.model:
            self._models[agent] = reply.model
            self._put(Kept(line.number, time, MODEL, vendored(reply.model), reply.raw, agent))
        if value.get("isApiErrorMessage") is True:
            error: Object = {"message": text_of(content_of(message)), "error": value.get("error")}
            self._put(Noted(line.number, time, "import.error", error, reply.raw, agent))

    def _begin(self, reply: Reply, key: tuple[str, str]) -> None:
        self._queue.append(reply)
        self._newest[reply.agent] = reply
        if reply.id is not None:
            self._open[key] = reply
        if reply.agent == self._own.agent:
            self._said += 1
            self._last_raw = reply.raw

    def _system(self, line: Line, time: int | None) -> None:
        value = line.value
        subtype = _text(value, "subtype")
        name = f"system/{subtype}" if subtype else "system"
        if self._tree.knows(value.get("uuid")):
            self._tally.leave(f"{name}/again")
            return
        agent = self._agent(value)
        self._rewritten.compacted |= subtype == "compact_boundary"
        if subtype == "compact_boundary" and value.get("parentUuid") is None:
            logical = value.get("logicalParentUuid")
            value = {**value, "parentUuid": logical if self._tree.knows(logical) else None}
        self._stand(line._replace(value=value), time, agent, None)
        number, raw, content = line.number, _text(value, "uuid"), value.get("content")
        if subtype == "local_command" and isinstance(content, str):
            spoken: Object = {"role": "user", "content": [{"type": "text", "text": content}]}
            author = by_text(content) or Author.plugin(KIND, title="local-command")
            self._put(Said(number, time, spoken, author, raw, agent))
        elif (told := system_note(value, subtype)) is not None:
            self._put(Noted(number, time, told[0], told[1], raw, agent))
        else:
            self._tally.leave(name)
            return
        self._tally.types[name] += 1

    def _attachment(self, line: Line, time: int | None) -> None:
        value = line.value
        attachment = value.get("attachment")
        attachment = attachment if isinstance(attachment, dict) else {}
        kind = _text(attachment, "type")
        name = f"attachment/{kind}" if kind else "attachment"
        agent = self._agent(value)
        if kind != "queued_command" or attachment.get("prompt") is None:
            self._stand(line, time, agent, None)
            self._tally.leave(name)
            return
        blocks = content_of(attachment["prompt"])
        if self._tree.repeats(value.get("uuid"), content_key(blocks)):
            self._tally.leave(f"{name}/again")
            return
        self._stand(line, time, agent, None)
        mode = attachment.get("commandMode")
        author = written_by(attachment, blocks)
        if author is None and isinstance(mode, str) and mode != PROMPT:
            author = Author.plugin(KIND, title=mode)
        self._tally.types[name] += 1
        self._count += 1
        parts: list[JSON] = [block_part(block) for block in blocks]
        spoken: Object = {"role": "user", "content": parts}
        self._put(Said(line.number, time, spoken, author, _text(value, "uuid"), agent))

    def _loose(self, line: Line, kind: str, time: int | None) -> None:
        """Take a record that is not in the tree."""
        value = line.value
        agent = self._own.agent
        if kind == "queue-operation":
            self._queued(line, time)
        elif kind == "pr-link":
            told = rest(value, {"type", "sessionId", "timestamp", "uuid"})
            self._put(Noted(line.number, time, "import.pr-link", told, "", agent))
            self._tally.types[kind] += 1
        else:
            items = self._titles.items(line, kind, time, agent, self._tree.knows)
            for item in items:
                self._put(item)
            if items:
                self._tally.types[kind] += 1
            else:
                self._tally.leave(kind)

    def _queued(self, line: Line, time: int | None) -> None:
        """Take an operation on the queue: a prompt that waits, or a task's end."""
        operation, content = _text(line.value, "operation"), line.value.get("content")
        name = f"queue-operation/{operation}"
        agent = self._own.agent
        if not isinstance(content, str) or operation != "enqueue":
            self._tally.leave(name)
            return
        self._tally.types[name] += 1
        task, call = task_of(content)
        if task is None:
            self._put(Noted(line.number, time, "import.queued", {"content": content}, "", agent))
        else:
            self._spawned(line, time, agent, task, call)


def _text(value: Object, key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
