"""Response items, and events that stand for one, as messages of a session here."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from agentmem_cli.operations.imports.adapter import CWD, MAIN, Kept, Noted, Said
from agentmem_cli.operations.imports.codex_notes import cwd_told, note_of
from agentmem_cli.operations.imports.codex_parts import (
    CALLS,
    COMPACTIONS,
    OUTPUTS,
    REPLIES,
    Waiting,
    call_part,
    content_parts,
    injected,
    reply_part,
    result_part,
)
from agentmem_cli.operations.imports.parts import UNKNOWN, image_of_url, rest, text_part
from agentmem_cli.session.author import Author

if TYPE_CHECKING:
    from agentmem_cli.operations.imports.codex_turns import Step, Turns
    from agentmem_cli.session.codec import JSON, Object

_MESSAGE: Final = frozenset({"type", "role", "content", "id"})
_PROMPT: Final = frozenset({"type", "message", "images", "text_elements"})
_REPLY: Final = frozenset({"type", "message"})


class Messages:
    """Makes messages of records, and gives them to the turns."""

    def __init__(self, turns: Turns) -> None:
        """Give what is made to *turns*."""
        self.cwd: str | None = None
        """The folder that the rollout works in, as far as it was told."""
        self._turns = turns
        self._waiting = Waiting()

    def take(self, step: Step) -> None:
        """Make a message, or a part of one, of a record whose turn it is."""
        kind, item, turns = step.kind, step.item, self._turns
        raw = item.get("id", item.get("call_id"))
        raw = raw if isinstance(raw, str) else ""
        if kind in CALLS:
            part, call, name = call_part(item, kind, f"line-{step.line}")
            turns.reply(step.line, step.time, [part], raw)
            turns.asked(call)
            self._waiting.add(call, name)
        elif kind in OUTPUTS:
            self._answer(step, raw)
        elif kind in REPLIES:
            turns.reply(step.line, step.time, [reply_part(item, kind)], raw)
        elif kind == "message":
            self._say(step, raw)
        elif kind in COMPACTIONS:
            turns.beside(Noted(step.line, step.time, "import.compaction", note_of(item, kind), raw))
        elif step.role == "user":
            self._prompt(step)
        elif step.role == "assistant":
            text = text_part(_text(item.get("message")))
            turns.reply(step.line, step.time, [{**text, **rest(item, _REPLY)}], raw)
        else:
            self._letter(step, raw)

    def _answer(self, step: Step, raw: str) -> None:
        call = step.item.get("call_id")
        call = call if isinstance(call, str) and call else None
        answered = self._waiting.answer(call)
        own, name = answered or (call or f"line-{step.line}", UNKNOWN)
        result: Object = {
            "role": "user",
            "content": [result_part(step.item, own, name)],
        }
        self._turns.result(Said(step.line, step.time, result, raw=raw), own)

    def _say(self, step: Step, raw: str) -> None:
        item, role = step.item, step.item.get("role")
        parts = item["content"]
        assert isinstance(parts, list)
        extra = rest(item, _MESSAGE)
        if role == "assistant":
            if extra and parts and isinstance(last := parts[-1], dict):
                parts[-1] = {**last, **extra}
            self._turns.reply(step.line, step.time, parts, raw)
        elif role == "user":
            self._hear(step, parts, extra, raw)
        else:
            message = _system(role, parts, extra)
            title = next((word for part in parts if (word := injected(part))), None)
            author = Author.plugin("codex", title or str(role))
            self._turns.spoken(Said(step.line, step.time, message, author, raw))

    def _hear(self, step: Step, parts: list[JSON], extra: Object, raw: str) -> None:
        """Take a message in the user's role: the user's own words, and what Codex put in."""
        for title, group in groupby(parts, injected):
            author = None
            if title is not None:
                author = Author.plugin("codex", title)
                if title == "turn_aborted":
                    self._turns.aborted()
            listed = [*group]
            if self.cwd is None and title == "environment_context":
                self.cwd = cwd_told(listed)
                if self.cwd is not None:
                    self._turns.beside(Kept(step.line, step.time, CWD, self.cwd))
            if author is None:
                self._waiting.prompted()
            message: Object = {"role": "user", "content": listed, **extra}
            self._turns.spoken(Said(step.line, step.time, message, author, raw))
        if not parts:
            empty: Object = {"role": "user", "content": [], **extra}
            self._turns.spoken(Said(step.line, step.time, empty, None, raw))

    def _prompt(self, step: Step) -> None:
        """Take a prompt that stands in the rollout as an event only."""
        item = step.item
        parts: list[JSON] = [text_part(_text(item.get("message")))]
        images = item.get("images")
        if isinstance(images, list):
            parts += [image_of_url(url, {}) for url in images]
        extra: Object = {
            key: told for key, told in rest(item, _PROMPT).items() if told not in (None, [])
        }
        self._hear(step, parts, extra, "")

    def _letter(self, step: Step, raw: str) -> None:
        """Take what another agent wrote."""
        item = step.item
        author = item.get("author")
        content = item.get("content", item.get("message"))
        parts: list[JSON] = [{"type": "json", "value": content}]
        if content is None or isinstance(content, str | list):
            parts = content_parts(content)
        message: Object = {
            "role": "user",
            "content": parts,
            **rest(item, _MESSAGE | {"author", "message"}),
        }
        who = Author.agent(author if isinstance(author, str) and author else MAIN)
        self._turns.spoken(Said(step.line, step.time, message, who, raw))


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""


def _system(role: JSON, parts: list[JSON], extra: Object) -> Object:
    """Return a message of the system's or the developer's; its text is one string."""
    texts = [
        text
        for part in parts
        if isinstance(part, dict) and isinstance(text := part.get("text"), str)
    ]
    message: Object = {"role": "system", "content": "\n".join(texts)}
    if role != "system":
        message["source_role"] = role
    if len(texts) != len(parts):
        message["parts"] = parts
    return {**message, **extra}
