"""What a conversation tells by itself: requests and what came of them, findings, errors, work.

Everything is taken word for word from the messages, by rules that know no
language model: what stands where, and which words mark a decision.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem_cli.session.codec import dumps
from agentmem_cli.session.message import call_id, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentmem_cli.session.codec import JSON, Object

_PATHS: Final = ("path", "file_path", "filePath", "filename", "notebook_path")
_CHANGES: Final = re.compile(r"edit|write|patch|create|replace|update", re.IGNORECASE)
_COMMANDS: Final = ("command", "cmd", "script")

_STRONG: Final = re.compile(
    r"\b(root cause|decided|decision|turns out|the (?:real )?(?:issue|problem|bug|cause|reason|"
    r"fix|solution) (?:is|was)|found (?:it|the)|we agreed|instead of|must not|must be|never|"
    r"the plan is|works now|now works|all (?:tests|checks) pass)\b",
    re.IGNORECASE,
)
_TALK: Final = re.compile(
    r"(?:now |so |then |ok(?:ay)?,? |first,? )*(?:i need to|i'll|i will|let me|let's|should i|"
    r"would you|want me|may need|do you|shall i)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says what is about to be done, not what was found."""
_WEAK: Final = re.compile(
    r"\b(because|so that|rather than|should|needs? to|means that|therefore|otherwise)\b",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"'(])|\n+")
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_COMMIT: Final = re.compile(
    r"git\s+(?:-C\s+\S+\s+)?commit\b[^|;&]*?-[a-zA-Z]*m\s*(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')"
)
_SUBSTANTIAL: Final = 200
"""Characters of a reply that says more than that something was done."""
_LEAST, _MOST = 25, 400
"""Characters of a sentence that is worth keeping, and that is one at all."""


class Step(NamedTuple):
    """One call of a tool, and what came back."""

    tool: str
    what: str
    """What it was called with, in one line."""
    outcome: str
    """The first line of what came back; empty: nothing did."""
    failed: bool


class Exchange(NamedTuple):
    """A request, and the last thing that was said before the next one."""

    request: str
    outcome: str


class Finding(NamedTuple):
    """A sentence that says a decision, a cause or a rule."""

    text: str
    weight: int
    """2: it says so in as many words; 1: it gives a reason."""


class Facts:
    """What the messages tell, in their order."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.requests: list[str] = []
        """What the user wrote, whole."""
        self.exchanges: list[Exchange] = []
        self.findings: list[Finding] = []
        self.focused: list[str] = []
        """Sentences of both that say most of the words of the focus."""
        self.commits: list[str] = []
        """The first lines of messages of commits."""
        self.steps: list[Step] = []
        """All calls of tools."""
        self.since: int = 0
        """How many of the steps came before the last request."""
        self.tools: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()
        """Files by how often they were changed."""
        self.last_reply: str = ""
        """The last thing that the agent said."""
        self.last_long_reply: str = ""
        """The last thing it said that is more than a word or two."""

    def open_errors(self) -> list[Step]:
        """Return the calls that failed and did not succeed later with the same words."""
        worked: set[tuple[str, str]] = set()
        found: list[Step] = []
        seen: set[tuple[str, str]] = set()
        for step in reversed(self.steps):
            key = (step.tool, step.what)
            if not step.failed:
                worked.add(key)
            elif key not in worked and key not in seen and _is_error(step.outcome):
                seen.add(key)
                found.append(step)
        return found[::-1]


def facts_of(values: Iterable[Object], focus: str = "") -> Facts:
    """Return what the messages whose JSON are *values* tell; *focus*: what is looked for."""
    facts = Facts()
    reader = _Reader(facts, focus)
    for value in values:
        reader.feed(value)
    reader.end()
    return facts


class _Reader:
    """Goes through messages one by one."""

    def __init__(self, facts: Facts, focus: str) -> None:
        self.facts = facts
        self._focus = {word for word in _words(focus) if len(word) >= _WORD}
        self._calls: dict[str, int] = {}
        self._said = ""
        self._request: str | None = None

    def feed(self, value: Object) -> None:
        role = value.get("role")
        for part in parts_of(value):
            kind, text = part.get("type"), part.get("text")
            if kind == "toolcall":
                self._call(part)
            elif kind == "toolresult":
                self._result(part)
            elif kind == "text" and isinstance(text, str) and text.strip():
                if role == "user":
                    self._ask(text.strip())
                elif role == "assistant":
                    self._say(text.strip())

    def end(self) -> None:
        if self._request is not None:
            self.facts.exchanges.append(Exchange(self._request, self._said))
        self.facts.last_reply = self._said or self.facts.last_reply

    def _ask(self, text: str) -> None:
        if self._request is not None:
            self.facts.exchanges.append(Exchange(self._request, self._said))
        self.facts.last_reply = self._said or self.facts.last_reply
        self._request, self._said = text, ""
        self._look(text)
        self.facts.requests.append(text)
        self.facts.since = len(self.facts.steps)

    def _look(self, text: str) -> None:
        if self._focus:
            for sentence in sentences(text):
                if 2 * len(self._focus.intersection(_words(sentence))) >= len(self._focus):
                    self.facts.focused.append(sentence)

    def _say(self, text: str) -> None:
        self._said = text
        self._look(text)
        if len(text) >= _SUBSTANTIAL:
            self.facts.last_long_reply = text
        for sentence in sentences(text):
            if sentence.endswith("?") or _TALK.match(sentence):
                continue
            if _STRONG.search(sentence):
                self.facts.findings.append(Finding(sentence, 2))
            elif _WEAK.search(sentence):
                self.facts.findings.append(Finding(sentence, 1))

    def _call(self, part: Object) -> None:
        function = part.get("function")
        if not isinstance(function, dict):
            return
        name = function.get("name")
        tool = name if isinstance(name, str) else "?"
        arguments = function.get("arguments")
        facts = self.facts
        facts.tools[tool] += 1
        path = _argument(arguments, _PATHS)
        command = _argument(arguments, _COMMANDS)
        if path is not None and _CHANGES.search(tool):
            facts.changed[path] += 1
        if command is not None:
            for found in _COMMIT.finditer(command):
                message = (found[1] or found[2] or "").strip().partition("\n")[0]
                facts.commits.append(message.partition("\\n")[0])
        what = path or command or ("" if arguments in (None, {}) else dumps(arguments).decode())
        self._calls[call_id(part.get("id")) or ""] = len(facts.steps)
        facts.steps.append(Step(tool, one_line(what), "", failed=False))

    def _result(self, part: Object) -> None:
        place = self._calls.pop(call_id(part.get("call")) or "", None)
        if place is None:
            return
        texts = [str(inner.get("text") or "") for inner in parts_of(part)]
        failed = part.get("is_error") is True
        lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
        outcome = _telling(lines) if failed else (lines[0] if lines else "")
        step = self.facts.steps[place]
        self.facts.steps[place] = step._replace(outcome=one_line(outcome), failed=failed)


def sentences(text: str) -> list[str]:
    """Return the sentences of *text* that are prose: no code, no tables, no headings."""
    found: list[str] = []
    for piece in _SENTENCE_END.split(_FENCE.sub("\n", text)):
        plain = piece.replace("**", "").strip().lstrip("-*>#0123456789. ").strip()
        if _LEAST <= len(plain) <= _MOST and "|" not in plain and not plain.endswith(":"):
            found.append(one_line(plain))
    return found


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


_WORD: Final = 3
"""Characters of a word that counts; shorter ones are in every sentence."""


def one_line(text: str) -> str:
    """Return *text* with every run of white space as one space."""
    return " ".join(text.split())


def _argument(arguments: JSON, names: tuple[str, ...]) -> str | None:
    if not isinstance(arguments, dict):
        return None
    found = (arguments.get(name) for name in names)
    return next((item for item in found if isinstance(item, str) and item), None)


_ERROR: Final = re.compile(r"error|exception|fail|not found|denied|cannot|fatal", re.IGNORECASE)
_NO_MORE: Final = re.compile(r"\W*(?:no output|(?:command )?exited with code 1)\W*", re.IGNORECASE)


_ABORTED: Final = re.compile(r"(?:\w+ )?(?:aborted|cancell?ed|interrupted)\b", re.IGNORECASE)
"""How the output of a call begins that somebody stopped, which is no error of it."""


def _is_error(outcome: str) -> bool:
    return bool(outcome) and not _ABORTED.match(outcome)


def _telling(lines: list[str]) -> str:
    """Return the line of a failed output that says most; empty: it says no more than that."""
    short = [line for line in lines if len(line) <= _MOST and not _NO_MORE.fullmatch(line)]
    return next((line for line in short if _ERROR.search(line)), short[-1] if short else "")
