"""Conversations with tools, the interrupted and disordered ones too, for tests of compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from agentmem_cli.session.message import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from agentmem_cli.session.codec import JSON, Object


def ask(text: str = "go on") -> Message:
    return Message.user(text)


def reply(text: str = "done", **extra: JSON) -> Message:
    return Message.assistant(text, **extra)


def call_part(id_: str, tool: str = "read", **arguments: JSON) -> Object:
    return {"type": "toolcall", "id": id_, "function": {"name": tool, "arguments": {**arguments}}}


def call(*ids: str, tool: str = "read", text: str = "", **arguments: JSON) -> Message:
    parts: list[Object] = [{"type": "text", "text": text}] if text else []
    return Message.assistant([*parts, *(call_part(id_, tool, **arguments) for id_ in ids)])


def result_part(id_: str, text: str = "ok", *, failed: bool = False) -> Object:
    (part,) = Message.tool_result(id_, "read", text, is_error=failed).parts
    return part


def result(id_: str, text: str = "ok", *, failed: bool = False, also: str = "") -> Message:
    more: list[Object] = [{"type": "text", "text": also}] if also else []
    return Message.user([result_part(id_, text, failed=failed), *more])


def results(*ids: str, text: str = "ok") -> Message:
    return Message.user([result_part(id_, text) for id_ in ids])


def pairs(messages: Sequence[Message]) -> list[tuple[int, int]]:
    """Every call with the result that answers it, wherever that stands, as two indexes.

    A result belongs to the first call with its id that waits; calling the id
    again in a later message ends the waiting of the earlier ones.
    """
    found: list[tuple[int, int]] = []
    waiting: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        asked: dict[str, list[int]] = {}
        for part in message.parts:
            if part["type"] == "toolcall":
                asked.setdefault(str(part["id"]), []).append(index)
        waiting.update(asked)
        for part in message.parts:
            calls = waiting.get(str(part.get("call")), [])
            if part["type"] == "toolresult" and calls:
                found.append((calls.pop(0), index))
    return found


IDS = ("a", "b", "c")


@st.composite
def turns(draw: DrawFn) -> list[Message]:
    """One request and what came of it: calls in parallel, answered in any order, late or never."""
    made = [ask(draw(st.sampled_from(["do this", "and that", "  ", "yes", "é" * 40])))]
    for _ in range(draw(st.integers(0, 3))):
        ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=3))
        stop: dict[str, JSON] = draw(st.sampled_from([{}, {}, {"stop": "aborted"}]))
        path = draw(st.sampled_from(["x.py", "y.py", "z<&>.py"]))
        tool = draw(st.sampled_from(["read", "edit"]))
        made.append(Message.assistant([call_part(id_, tool, path=path) for id_ in ids], **stop))
        answers = draw(st.permutations(ids))[: draw(st.integers(0, len(ids)))]
        if draw(st.booleans()):
            made += [result(id_, "out " * draw(st.integers(0, 300))) for id_ in answers]
        elif answers:
            made.append(results(*answers, text="long " * 200))
        made += draw(
            st.sampled_from(
                [
                    [],
                    [],
                    [Message.system("be brief")],
                    [result("a", also="and this")],
                    [ask("wait")],
                ]
            )
        )
        if draw(st.integers(0, 5)) == 0:
            made.append(result(draw(st.sampled_from(IDS)), "late"))
    if draw(st.booleans()):
        made.append(reply(draw(st.sampled_from(["done", "", "I decided to keep it. " * 20]))))
    return made


def talks(max_turns: int = 5) -> SearchStrategy[list[Message]]:
    """Whole conversations; call ids repeat."""

    def joined(parts: Iterable[list[Message]]) -> list[Message]:
        return [message for part in parts for message in part]

    return st.lists(turns(), max_size=max_turns).map(joined)
